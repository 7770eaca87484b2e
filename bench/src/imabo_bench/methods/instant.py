"""Players that know only instant feedback: one round is told before the next is asked."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from imabo.errors import InvalidSetting
from imabo.space import Config, Space
from imabo.space.scalars import show
from imabo_bench.methods.base import Player, Served

_STREAM = 3  # keeps a method's draws apart from other streams of the same seed


def rng_of(seed: int) -> np.random.Generator:
    """The random stream of a method."""
    return np.random.default_rng([seed, _STREAM])


class InstantPlayer(Player):
    """A player that chooses, then learns. Subclass it with ``choose`` and ``learn``."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._round = 0
        self._open: Served | None = None
        self._served: set[str] = set()

    @abstractmethod
    def choose(self) -> Config | None:
        """The configuration of this round; None when the schedule has ended."""

    @abstractmethod
    def learn(self, config: Config, reward: float) -> None:
        """The reward of what was chosen last."""

    def ask(self) -> Served | None:
        """The next round; the last one must have its reward."""
        if self._open is not None:
            raise InvalidSetting(
                f"round {self._open.key} has no reward yet",
                "this method learns only from instant feedback",
                "tell it first, or use a method that is a study for delayed feedback",
            )
        config = self.choose()
        if config is None:
            return None
        self._round += 1
        self._served.add(self.space.identity(config))
        self._open = Served(str(self._round), config)
        return self._open

    def tell(self, key: str, reward: float) -> None:
        """The reward of the round that is open."""
        if self._open is None or key != self._open.key:
            raise InvalidSetting(
                f"a reward came for round {show(key)}",
                "this method takes one reward, for the round asked last",
                "tell each round once, before the next ask()",
            )
        config, self._open = self._open.config, None
        self.learn(config, float(reward))

    @property
    def n_arms(self) -> int:
        """Distinct configurations that were served."""
        return len(self._served)
