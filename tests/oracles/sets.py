"""Active sets to watch an oracle on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from imabo.arms import ActiveSet, Restart
from imabo.oracles import Oracle, Proposal
from imabo.space import Config, Space


def grown(space: Space, rows: Iterable[tuple[Config, float, int, str | None]]) -> ActiveSet:
    """Arms given by configuration, mean, number of rewards and the parameter that was mutated."""
    arms = ActiveSet(space)
    for arm, (config, mean, n_rewards, mutated) in enumerate(rows, start=1):
        row = arms.admit(arm, space.validate(config), mutated=mutated)
        for _ in range(n_rewards):
            arms.count_pull(row)
            arms.count_reward(row, mean, was_pending=True)
    return arms


def sampled(
    space: Space, n: int, reward: Callable[[Config], float], *, is_changed: bool = False
) -> ActiveSet:
    """n arms drawn from P0 with one reward each; ``is_changed`` as after ``update_space``."""
    rng = np.random.default_rng(0)
    found = {space.identity(config): config for config in (space.sample(rng) for _ in range(n))}
    arms = grown(space, ((config, reward(config), 1, None) for config in found.values()))
    if is_changed:
        arms.restart = Restart(n, n, 0, len(arms))
    return arms


def proposals(oracle: Oracle, arms: ActiveSet, n_seeds: int) -> list[Proposal]:
    """One proposal for each of the seeds 0, 1, ...; the scores are the means."""
    made = []
    for seed in range(n_seeds):
        proposal = oracle.propose(arms, arms.known_means(), np.random.default_rng(seed))
        assert isinstance(proposal, Proposal)
        made.append(proposal)
    return made
