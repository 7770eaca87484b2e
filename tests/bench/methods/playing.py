"""Playing a method by hand."""

from __future__ import annotations

from imabo.space import Config
from imabo_bench.methods import Player


def played(player: Player, rewards: list[float]) -> list[Config]:
    """What is served while these rewards are told, each at once."""
    configs = []
    for reward in rewards:
        served = player.ask()
        if served is None:
            break
        configs.append(served.config)
        player.tell(served.key, reward)
    return configs
