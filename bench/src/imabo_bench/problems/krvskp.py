"""Logistic regression and a support vector machine on kr-vs-kp, over two continuous axes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from imabo.arms import Floats
from imabo.settings import check_one_of
from imabo.space import Config, Float, Space
from imabo_bench.problems.base import Problem
from imabo_bench.problems.data import shares

# Both axes of a model have the same ends: first axis, second axis, low, high.
AXES = {
    "lr": ("alpha", "eta0", 1e-5, 1.0),
    "svm": ("C", "gamma", 2.0**-10, 2.0**10),
}


def table_of(model: str) -> str:
    """The name of a model's shipped table."""
    return f"krvskp_{model}"


@dataclass(frozen=True)
class LogSurface:
    """Values on a square log-spaced grid, bilinear in between (in log space).

    Args:
        values: One row a value of the first axis, one column a value of the second; at least
            two of each.
        low: Smallest value of both axes, above 0.
        high: Largest value of both axes.

    Example:
        >>> import numpy as np
        >>> surface = LogSurface(np.array([[0.0, 0.2], [0.4, 0.6]]), 1.0, 100.0)
        >>> round(surface.at(10.0, 10.0), 12)
        0.3
    """

    values: Floats
    low: float
    high: float

    def at(self, first: float, second: float) -> float:
        """The value at a point; outside the grid, that of the nearest edge."""
        rows, columns = self.values.shape
        i, down = self._cell(first, rows)
        j, right = self._cell(second, columns)
        value = self.values.item
        above = (1.0 - right) * value(i, j) + right * value(i, j + 1)
        below = (1.0 - right) * value(i + 1, j) + right * value(i + 1, j + 1)
        return (1.0 - down) * above + down * below

    def _cell(self, x: float, n: int) -> tuple[int, float]:
        """The cell that a point lies in, and how far in, from 0 to 1."""
        place = math.log(x / self.low) / math.log(self.high / self.low) * (n - 1)
        place = min(max(place, 0.0), n - 1.0)
        cell = min(int(place), n - 2)
        return cell, place - cell


class KrVsKp(Problem):
    """A classifier of chess end games; a pull is one validation example, right or wrong.

    The mean is the validation accuracy of the model trained with the configuration, interpolated
    from the shipped table.

    Args:
        model: ``lr`` (logistic regression by SGD: alpha and eta0 in [1e-5, 1]) or ``svm`` (C and
            gamma in [2^-10, 2^10]); both axes on a log scale.

    Example:
        >>> problem = KrVsKp("svm")
        >>> problem.name, problem.space.names
        ('kr-vs-kp/svm', ('C', 'gamma'))
        >>> problem.mean({"C": 1.0, "gamma": 1024.0}) < 0.6 < 0.99 < problem.optimum
        True
    """

    def __init__(self, model: str) -> None:
        check_one_of("model", model, AXES)
        self.model = model
        self.name = f"kr-vs-kp/{model}"
        self._first, self._second, self._low, self._high = AXES[model]

    @cached_property
    def space(self) -> Space:
        """Two axes on a log scale."""
        axis = Float(self._low, self._high, log=True)
        return Space({self._first: axis, self._second: axis})

    @cached_property
    def surface(self) -> LogSurface:
        """The accuracies."""
        return LogSurface(shares(table_of(self.model)), self._low, self._high)

    def mean(self, config: Config) -> float:
        """The accuracy at a configuration."""
        point = np.array([config[self._first], config[self._second]], dtype=np.float64)
        return self.surface.at(*point.tolist())

    @property
    def optimum(self) -> float:
        """The highest accuracy; a bilinear surface has its maximum at a point of its grid."""
        return float(self.surface.values.max())

    def __getstate__(self) -> dict[str, Any]:
        """Leave the table behind: another process reads it again when it needs it."""
        return {name: value for name, value in vars(self).items() if name != "surface"}
