"""Problems that are a full table: every configuration of a finite space with its mean."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from imabo.arms import Floats
from imabo.space import Choice, Config, Scalar, Space
from imabo_bench.problems.base import Problem

PLAIN = "plain"  # the variant in which every axis is a plain category


class TableProblem(Problem):
    """A finite problem whose means are looked up; rewards are coin flips.

    Subclass it with ``axes``, ``read`` and, where some axes have no order, ``unordered``.

    Args:
        name: The problem's full name.
        is_plain: Whether every axis is a plain category, its order hidden from the oracles.
    """

    def __init__(self, name: str, *, is_plain: bool = False) -> None:
        self.name = name
        self.is_plain = is_plain

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, Sequence[Scalar]]:
        """Each parameter's values, in order."""

    @abstractmethod
    def read(self) -> Floats:
        """The means: one dimension an axis, in the order of ``axes``."""

    @property
    def unordered(self) -> frozenset[str]:
        """Axes whose values have no order in any case."""
        return frozenset()

    @cached_property
    def space(self) -> Space:
        """One choice an axis; equally spaced by rank where the axis is ordered."""
        hidden = frozenset(self.axes) if self.is_plain else self.unordered
        return Space(
            {name: Choice(*vs, ordered=name not in hidden) for name, vs in self.axes.items()}
        )

    @cached_property
    def table(self) -> Floats:
        """The means as they were read."""
        return self.read()

    @cached_property
    def _places(self) -> list[tuple[str, dict[Scalar, int]]]:
        """How far each value of each axis moves the place in the flattened table."""
        sizes = [len(values) for values in self.axes.values()]
        strides = [math.prod(sizes[j + 1 :]) for j in range(len(sizes))]
        return [
            (name, {value: i * stride for i, value in enumerate(values)})
            for (name, values), stride in zip(self.axes.items(), strides, strict=True)
        ]

    def mean(self, config: Config) -> float:
        """The stored mean."""
        return self.table.item(self.place(config))

    def place(self, config: Config) -> int:
        """Where a configuration stands in the flattened table."""
        return sum(places[config[name]] for name, places in self._places)

    @cached_property
    def optimum(self) -> float:
        """The highest mean of the table."""
        return float(self.table.max())

    def __getstate__(self) -> dict[str, object]:
        """Leave behind what was read: another process reads it again when it needs it."""
        cached = {
            k for k in vars(self) if isinstance(getattr(type(self), k, None), cached_property)
        }
        return {key: value for key, value in vars(self).items() if key not in cached}


def grid_of(columns: Mapping[str, Floats], means: Floats) -> tuple[dict[str, list[float]], Floats]:
    """Arrange rows (one a configuration and repetition) as a grid of averages.

    Args:
        columns: Each parameter's value in each row.
        means: What is averaged over the rows of a configuration.

    Returns:
        The sorted values of each axis, and the averages; NaN where there was no row.

    Example:
        >>> columns = {"a": np.array([1.0, 2.0, 2.0]), "b": np.array([5.0, 5.0, 5.0])}
        >>> grid_of(columns, np.array([0.1, 0.2, 0.4]))
        ({'a': [1.0, 2.0], 'b': [5.0]}, array([[0.1],
               [0.3]]))
    """
    axes, places = {}, []
    for name, column in columns.items():
        values, index = np.unique(column, return_inverse=True)
        axes[name] = values.tolist()
        places.append(index.reshape(-1))
    shape = tuple(len(values) for values in axes.values())
    flat = np.ravel_multi_index(tuple(places), shape)
    counts = np.bincount(flat, minlength=math.prod(shape))
    sums = np.bincount(flat, weights=means, minlength=math.prod(shape))
    averages = np.full(math.prod(shape), np.nan)
    np.divide(sums, counts, out=averages, where=counts > 0)
    return axes, averages.reshape(shape)
