"""Random serving: what is lost by not learning at all."""

from __future__ import annotations

import math
from dataclasses import dataclass

from imabo.space import Config, Space
from imabo_bench.methods.base import Method
from imabo_bench.methods.instant import InstantPlayer, rng_of
from imabo_bench.problems.base import Problem


class RandomPlayer(InstantPlayer):
    """A fresh draw from P0 each round; recommends what gave the best single reward, the first."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space)
        self._rng = rng_of(seed)
        self._best: Config | None = None
        self._reward = -math.inf

    def choose(self) -> Config:
        """A draw from P0."""
        return self.space.sample(self._rng)

    def learn(self, config: Config, reward: float) -> None:
        """Remember the first of the best."""
        if reward > self._reward:
            self._best, self._reward = config, reward

    def recommend(self) -> Config | None:
        """The configuration with the best single reward."""
        return self._best


@dataclass(frozen=True)
class Random(Method):
    """Serve a fresh draw from P0 each round."""

    name: str = "random"
    summary: str = "a fresh draw from P0 each round"

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> RandomPlayer:
        """Begin a run; neither horizon nor window is used."""
        del rounds, window
        return RandomPlayer(problem.space, seed)


METHODS = (Random(),)
