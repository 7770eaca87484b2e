"""Players that keep to a few configurations, drawn from P0 before the first round."""

from __future__ import annotations

import numpy as np

from imabo.space import Config, Space
from imabo_bench.methods.instant import rng_of
from imabo_bench.methods.late import LatePlayer
from imabo_bench.problems.base import Problem

_TRIES = 100  # draws for each configuration wanted, before fewer are taken


def distinct_draws(space: Space, count: int, rng: np.random.Generator) -> list[Config]:
    """``count`` different configurations from P0; fewer where the space hardly has as many.

    Example:
        >>> from imabo import Choice
        >>> len(distinct_draws(Space(a=Choice("x", "y")), 5, np.random.default_rng(0)))
        2
    """
    drawn: dict[str, Config] = {}
    count = min(count, space.n_configs or count)
    for _ in range(_TRIES * count):
        config = space.sample(rng)
        drawn.setdefault(space.identity(config), config)
        if len(drawn) == count:
            break
    return list(drawn.values())


class FixedPlayer(LatePlayer):
    """Counts and sums of the rewards of each configuration. Subclass it with ``choose``."""

    def __init__(self, problem: Problem, n_configs: int, seed: int) -> None:
        super().__init__(problem.space)
        self.rng = rng_of(seed)
        self.configs = distinct_draws(problem.space, n_configs, self.rng)
        self.counts = np.zeros(len(self.configs))
        self.sums = np.zeros(len(self.configs))

    def learn(self, number: int, reward: float) -> None:
        """A reward of a configuration."""
        self.counts[number] += 1
        self.sums[number] += reward

    @property
    def best(self) -> int | None:
        """The highest mean; of equals the one with more rewards; None before the first reward."""
        if not self.counts.any():
            return None
        means = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1.0), -np.inf)
        return int(np.lexsort((-self.counts, -means))[0])

    def recommend(self) -> Config | None:
        """The configuration with the highest mean."""
        return None if self.best is None else self.configs[self.best]
