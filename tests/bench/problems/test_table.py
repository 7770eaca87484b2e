"""Finite problems by lookup, on a table small enough to write down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from imabo.arms import Floats
from imabo.space import Scalar
from imabo_bench.problems.table import TableProblem, grid_of


class Small(TableProblem):
    n_reads = 0

    @property
    def axes(self) -> Mapping[str, Sequence[Scalar]]:
        return {"size": [1, 10], "kind": ["a", "b", "c"]}

    @property
    def unordered(self) -> frozenset[str]:
        return frozenset({"kind"})

    def read(self) -> Floats:
        type(self).n_reads += 1
        return np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])


@pytest.mark.parametrize(
    ("size", "kind", "mean"), [(1, "a", 0.1), (1, "c", 0.3), (10, "a", 0.4), (10, "b", 0.5)]
)
def test_a_configuration_is_looked_up_by_its_values(size: int, kind: str, mean: float) -> None:
    assert Small("small/one").mean({"kind": kind, "size": size}) == mean


def test_the_table_is_read_once_and_late() -> None:
    Small.n_reads = 0
    problem = Small("small/one")
    assert problem.space.n_configs == 6
    assert Small.n_reads == 0
    assert problem.optimum == 0.6
    assert problem.mean({"size": 1, "kind": "b"}) == 0.2
    assert Small.n_reads == 1


def test_axes_are_ordered_unless_they_have_no_order_or_it_is_hidden() -> None:
    for is_plain, expected in ((False, [False, True]), (True, [True, True])):
        parameters = Small("small/one", is_plain=is_plain).space.parameters.values()
        assert [parameter.unordered for parameter in parameters] == expected


def test_a_grid_averages_repetitions_and_shows_what_is_missing() -> None:
    columns = {"x": np.array([2.0, 1.0, 2.0, 1.0]), "y": np.array([0.0, 0.0, 0.0, 5.0])}
    axes, means = grid_of(columns, np.array([0.2, 0.7, 0.4, 0.9]))
    assert axes == {"x": [1.0, 2.0], "y": [0.0, 5.0]}
    np.testing.assert_allclose(means, [[0.7, 0.9], [0.3, np.nan]])
