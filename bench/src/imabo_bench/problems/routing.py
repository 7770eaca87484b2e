"""Which model to send a request to, within a budget: tables of real answers and what they cost.

README.md in ``data`` says where the tables come from. Only the quality and the cost of each answer
are shipped, and the kind of its question.
"""

from __future__ import annotations

import importlib.resources
import json
from functools import cached_property
from typing import Any, Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.objective import Objective, Signal
from imabo.space import Choice, Config, Space
from imabo_bench.problems import data
from imabo_bench.problems.budgets import BudgetProblem, Outcome, means_of
from imabo_bench.problems.data import open_table

FAMILY: Final = "routing"
BUDGETS: Final = {
    "paretobandit": ("0.0001", "0.0003", "0.0006", "0.002"),
    "routerbench": ("0.0001", "0.0005", "0.002"),
}  # dollars a request
INSTANCES: Final = tuple(f"{name}-{most}" for name, each in BUDGETS.items() for most in each)


class Routing(BudgetProblem):
    """A pull is one prompt, sent to one of the models; its cost is told with its quality.

    Args:
        instance: ``table-budget``, one of ``INSTANCES``.

    Example:
        >>> problem = Routing("paretobandit-0.0006")
        >>> problem.space.n_configs, round(problem.mix(), 3)
        (4, 0.926)
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self.name = f"{FAMILY}/{instance}"
        self._table, _, most = instance.rpartition("-")
        self.signals = {"cost": Signal(low=0.0, unit="$")}
        self.objective = Objective(budgets={"cost": float(most)})

    @cached_property
    def models(self) -> list[str]:
        """The models, in the order of the table's columns."""
        file = importlib.resources.files(data) / f"routing_{self._table}.json"
        found: list[str] = json.loads(file.read_text(encoding="utf-8"))["models"]
        return found

    @cached_property
    def space(self) -> Space:
        """Which model answers."""
        return Space(model=Choice(*self.models))

    @cached_property
    def _answers(self) -> tuple[Floats, Floats]:
        """Quality and cost; one row a prompt, one column a model."""
        stored = open_table(f"routing_{self._table}")
        return stored["quality"] / 1e4, stored["cost_nano"] / 1e9

    def mean(self, config: Config) -> float:
        """The mean quality of a model over all prompts."""
        return float(self._answers[0][:, self.models.index(str(config["model"]))].mean())

    def request(self, config: Config, rng: np.random.Generator) -> Outcome:
        """A prompt, drawn with replacement."""
        quality, cost = self._answers
        number, column = int(rng.integers(len(quality))), self.models.index(str(config["model"]))
        signals = {"cost": float(cost[number, column])}
        return Outcome(float(quality[number, column]), signals, number)

    def table(self, numbers: Ints | None = None) -> tuple[Floats, Floats]:
        """Of every model."""
        quality, cost = means_of(self._answers, numbers)
        return quality, cost[None]

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table behind: another process reads it again when it needs it."""
        return {"instance": self._instance}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["instance"])  # type: ignore[misc]  # as pickle would
