"""Problems with budgets and limits: what requests use, and the best that a fixed mix could do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linprog

from imabo.arms import Floats, Ints
from imabo.objective import Objective, Signal
from imabo.space import Config
from imabo_bench.problems.base import Problem


class Outcome(NamedTuple):
    """What a request gave: its reward, its signals, and which request of the problem it was."""

    reward: float
    signals: Mapping[str, float]
    number: int = 0


def best_mix(values: Floats, uses: Floats, allowed: Floats) -> float:
    """The highest mean value of a mix of arms whose mean uses are allowed; nan where none is.

    Args:
        values: Of each arm.
        uses: One row a constraint, one column an arm.
        allowed: Of each constraint.

    Example:
        >>> best_mix(np.array([0.8, 1.0]), np.array([[1.0, 3.0]]), np.array([2.0]))
        0.9
    """
    found = linprog(-values, uses, allowed, np.ones((1, len(values))), [1.0], (0.0, 1.0))
    return float("nan") if found.fun is None else round(-float(found.fun), 12)


class BudgetProblem(Problem):
    """A problem whose requests use something up; the optimum is the best fixed mix."""

    is_exact: ClassVar[bool] = False  # a configuration that is too dear may be better
    signals: Mapping[str, Signal]
    objective: Objective

    @abstractmethod
    def request(self, config: Config, rng: np.random.Generator) -> Outcome:
        """One request with a configuration; as many draws whatever the configuration."""

    @abstractmethod
    def table(self, numbers: Ints | None = None) -> tuple[Floats, Floats]:
        """Mean rewards of the arms of the frontier, and their mean uses, one row a constraint.

        ``numbers``: over these requests, where a problem has a table of them.
        """

    def mix(self, numbers: Ints | None = None) -> float:
        """The best fixed mix within the budgets and limits."""
        values, uses = self.table(numbers)
        return best_mix(values, uses, self.allowed)

    def single(self, numbers: Ints | None = None) -> float:
        """The best of the configurations that keep the budgets and limits alone; nan without any.

        A mix may earn more than all of them: it buys a dear one for some of the requests.
        """
        values, uses = self.table(numbers)
        within = (uses <= self.allowed[:, None]).all(axis=0)
        return float(values[within].max()) if within.any() else float("nan")

    @property
    def allowed(self) -> Floats:
        """What a request may use on average, of each constraint."""
        return np.array([one.budget for one in self.objective.constraints])

    @cached_property
    def optimum(self) -> float:
        """The best fixed mix."""
        return self.mix()

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """The reward of one request."""
        return self.request(config, rng).reward

    def uses(self, signals: Mapping[str, float]) -> list[float]:
        """What a request used of each constraint."""
        return [one.use(signals[one.signal]) for one in self.objective.constraints]


class Ledger:
    """What a run earned and used, round by round.

    Args:
        problem: A problem with budgets or limits.
    """

    def __init__(self, problem: BudgetProblem) -> None:
        self._problem = problem
        self._rewards: list[float] = []
        self._uses: list[list[float]] = []
        self._numbers: list[int] = []

    def add(self, outcome: Outcome) -> None:
        """One more request."""
        self._rewards.append(outcome.reward)
        self._uses.append(self._problem.uses(outcome.signals))
        self._numbers.append(outcome.number)

    def row(self, *, last: int = 3000, window: int = 1000, after: int = 500) -> dict[str, object]:
        """Figures of the last requests, and of the worst window of any after the first ones.

        ``spend`` and ``worst_spend`` are shares of what is allowed, of each constraint; ``value``
        is the share of what the best fixed mix would have earned with the same requests,
        ``value_single`` that of the best configuration within the budgets, None where there is
        none.
        """
        rewards, uses = np.array(self._rewards), np.array(self._uses)
        if not len(rewards):
            return {}
        part = slice(-min(last, len(rewards)), None)
        used = uses / self._problem.allowed
        sums = np.vstack([np.zeros(used.shape[1]), np.cumsum(used, axis=0)])
        starts = np.arange(after, len(rewards) - window + 1)
        worst = used[min(after, len(used) - 1) :].mean(axis=0)
        if len(starts):
            worst = ((sums[starts + window] - sums[starts]) / window).max(axis=0)
        numbers = np.array(self._numbers)
        single = self._problem.single(numbers[part])
        return {
            "spend": used[part].mean(axis=0).tolist(),
            "worst_spend": worst.tolist(),
            "value": float(rewards[part].mean() / self._problem.mix(numbers[part])),
            "value_all": float(rewards.mean() / self._problem.mix(numbers)),
            "value_single": None if np.isnan(single) else float(rewards[part].mean() / single),
        }


def means_of(rows: Sequence[Floats], numbers: Ints | None) -> list[Floats]:
    """The means of tables over some of their rows, or all."""
    return [(row if numbers is None else row[numbers]).mean(axis=0) for row in rows]
