"""What one would do by hand within a budget: pacing, a weight, the cheapest model, the best one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.arms import Floats
from imabo.bounds import kl_upper
from imabo.space import Config
from imabo_bench.methods.base import Method
from imabo_bench.methods.fixed import FixedPlayer
from imabo_bench.problems.base import Problem
from imabo_bench.problems.budgets import BudgetProblem

_CONFIGS: Final = 50  # drawn from P0, where the space has more
_A, _ETA, _MOST = 0.02, 0.05, 5.0  # of the pacing: a, eta, lambda_max
_WEIGHT: Final = 0.1  # of the scalarised reward: reward - weight * use / budget

Rule = Literal["pacing", "weight", "cheapest", "best"]


class BudgetedPlayer(FixedPlayer):
    """Keeps to a few configurations, and knows what each used."""

    def __init__(self, problem: Problem, rule: Rule, seed: int) -> None:
        n_configs = problem.space.n_configs or _CONFIGS
        super().__init__(problem, min(n_configs, _CONFIGS), seed)
        self._goal = problem if isinstance(problem, BudgetProblem) else None
        self._rule = rule
        m = 0 if self._goal is None else len(self._goal.allowed)
        self._spent: Floats = np.zeros((len(self.configs), m))
        self._told: Floats = np.zeros(len(self.configs))
        self._asked: Floats = np.zeros(len(self.configs))
        self._ends = problem.reward_range or (0.0, 1.0)
        self._ema, self._price = np.ones(m), np.zeros(m)

    def choose(self) -> tuple[int, Config]:
        """The next configuration, each once at first."""
        number = self._next()
        self._asked[number] += 1
        return number, self.configs[number]

    def learn(self, number: int, reward: float) -> None:
        """A reward, on [0, 1]."""
        low, high = self._ends
        super().learn(number, min(max((reward - low) / (high - low), 0.0), 1.0))

    def _next(self) -> int:
        fewest = int(self._asked.argmin())
        if not self._asked[fewest]:
            return fewest
        costs = self._spent / np.maximum(self._told, 1.0)[:, None]
        if self._rule == "cheapest":
            return int(costs.sum(axis=1).argmin())
        means = np.where(self.counts > 0, self.sums / np.maximum(self.counts, 1.0), 0.5)
        n = np.maximum(self.counts, 1.0)
        index = kl_upper(means, np.log1p(self._asked.sum()) / n)
        if self._rule == "pacing":
            index = index - costs @ self._price
        elif self._rule == "weight":
            index = index - _WEIGHT * costs.sum(axis=1)
        return int(index.argmax())

    def tell_all(self, key: str, reward: float, signals: Mapping[str, float]) -> None:
        """A reward with its signals; pacing: ema and lambda as in docs/benchmarks.md."""
        if self._goal is not None:
            number = self._open[key]
            used = np.array(self._goal.uses(signals)) / self._goal.allowed
            self._spent[number] += used
            self._told[number] += 1
            self._ema = (1.0 - _A) * self._ema + _A * used
            self._price = np.clip(self._price + _ETA * (self._ema - 1.0), 0.0, _MOST)
        self.tell(key, reward)


@dataclass(frozen=True)
class Budgeted(Method):
    """One of the rules."""

    name: str
    summary: str
    rule: Rule

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> BudgetedPlayer:
        """Begin a run."""
        del rounds, window
        return BudgetedPlayer(problem, self.rule, seed)


METHODS: Final = (
    Budgeted("pacing-kl", "KL indices less a price that follows the spend", "pacing"),
    Budgeted("weighted-kl", "KL indices less a fixed weight on what is used", "weight"),
    Budgeted("cheapest", "what used least when each was tried once", "cheapest"),
    Budgeted("best-kl", "KL indices, whatever it costs", "best"),
)
