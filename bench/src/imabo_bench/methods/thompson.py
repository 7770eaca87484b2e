"""Thompson sampling over a few configurations: the bandit that most teams would write."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from imabo.arms import Floats
from imabo.space import Config
from imabo_bench.methods.base import Method
from imabo_bench.methods.fixed import FixedPlayer
from imabo_bench.problems.base import Problem


class BetaPlayer(FixedPlayer):
    """For rewards in a range: Beta posteriors from Beta(1, 1).

    A reward r, on [0, 1], counts as r successes and 1 - r failures, which for coin flips is the
    exact posterior and for other rewards is wider than it need be.
    """

    def __init__(
        self, problem: Problem, reward_range: tuple[float, float], n_configs: int, seed: int
    ) -> None:
        super().__init__(problem, n_configs, seed)
        self._low, self._high = reward_range

    def posteriors(self) -> tuple[Floats, Floats]:
        """Both parameters of every posterior."""
        return 1.0 + self.sums, 1.0 + self.counts - self.sums

    def choose(self) -> tuple[int, Config]:
        """The highest of one draw from each posterior."""
        number = int(self.rng.beta(*self.posteriors()).argmax())
        return number, self.configs[number]

    def learn(self, number: int, reward: float) -> None:
        """A reward, on [0, 1]."""
        unit = (reward - self._low) / (self._high - self._low)
        super().learn(number, min(max(unit, 0.0), 1.0))


class NormalPlayer(FixedPlayer):
    """For rewards without a range: normal posteriors around the means.

    The spread of one reward is that of all rewards so far (1 while they are all equal), and the
    prior of a configuration counts as one reward at the mean of all (0 before the first).
    """

    def __init__(self, problem: Problem, n_configs: int, seed: int) -> None:
        super().__init__(problem, n_configs, seed)
        self._n = 0
        self._mean = 0.0
        self._squares = 0.0  # around the mean

    def posteriors(self) -> tuple[Floats, Floats]:
        """Mean and standard deviation of every posterior."""
        spread = math.sqrt(self._squares / max(self._n - 1, 1)) or 1.0
        counts = self.counts + 1.0
        return (self.sums + self._mean) / counts, spread / np.sqrt(counts)

    def choose(self) -> tuple[int, Config]:
        """The highest of one draw from each posterior."""
        number = int(self.rng.normal(*self.posteriors()).argmax())
        return number, self.configs[number]

    def learn(self, number: int, reward: float) -> None:
        """A reward, of which mean and spread of all rewards follow (Welford's sums)."""
        super().learn(number, reward)
        self._n += 1
        gap = reward - self._mean
        self._mean += gap / self._n
        self._squares += gap * (reward - self._mean)


@dataclass(frozen=True)
class Thompson(Method):
    """Thompson sampling over ``n_configs`` draws from P0; feedback may be late or lost."""

    name: str
    n_configs: int
    summary: str

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> FixedPlayer:
        """Begin a run; neither horizon nor window is used."""
        del rounds, window
        if problem.reward_range is None:
            return NormalPlayer(problem, self.n_configs, seed)
        return BetaPlayer(problem, problem.reward_range, self.n_configs, seed)


METHODS = tuple(
    Thompson(f"thompson-{k}", k, f"Thompson sampling over {k} configurations drawn from P0")
    for k in (10, 50)
)
