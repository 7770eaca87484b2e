from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from imabo.space import Choice, Config, Float, Int, Space
from imabo_bench.problems.base import Problem
from imabo_bench.report.landscape import heat_map_of, landscape_of


class Known(Problem):
    """A problem whose mean is a given function."""

    name = "known"

    def __init__(self, space: Space, mean: Callable[[Config], float]) -> None:
        self._space, self._mean = space, mean

    @property
    def space(self) -> Space:
        return self._space

    def mean(self, config: Config) -> float:
        return self._mean(config)

    @property
    def optimum(self) -> float:
        return 1.0


def number(config: Config, name: str) -> float:
    """A parameter's value, 0.6 where it is not active."""
    return float(str(config.get(name, 0.6)))


def test_the_curve_is_the_distribution_of_means_under_p0() -> None:
    landscape = landscape_of(Known(Space(x=Float(0, 1)), lambda c: number(c, "x")), rho=0.05)
    assert landscape.shares[-1] == 1.0
    # x is uniform, so that the share up to a mean is the mean.
    assert landscape.shares == pytest.approx(landscape.means, abs=0.03)
    assert landscape.quantile == pytest.approx(0.95, abs=0.02)
    assert landscape.quantiles.median == pytest.approx(0.5, abs=0.03)
    assert landscape.heat_map is None


def test_two_parameters_are_mapped_value_by_value() -> None:
    space = Space(a=Int(1, 3), b=Choice("u", "v"), forbid=[{"a": 3, "b": "v"}])
    scores = {"u": 0.0, "v": 0.5}
    heat_map = heat_map_of(Known(space, lambda c: number(c, "a") / 10.0 + scores[str(c["b"])]))
    assert heat_map is not None
    assert heat_map.names == ("a", "b")
    assert heat_map.labels == (["1", "2", "3"], ["u", "v"])
    assert heat_map.values == [[0.1, 0.2, 0.3], [0.6, 0.7, None]]
    assert not heat_map.is_average


def test_of_more_parameters_the_two_that_matter_most_are_mapped() -> None:
    space = Space(idle=Float(0, 1), much=Choice(0, 1), some=Int(1, 4, log=True))
    heat_map = heat_map_of(Known(space, lambda c: number(c, "much") + number(c, "some") / 10.0))
    assert heat_map is not None
    assert heat_map.names == ("much", "some")
    assert heat_map.labels == (["0", "1"], ["1", "2", "3", "4"])
    assert np.array(heat_map.values, dtype=float) == pytest.approx(
        np.array([[0.1, 1.1], [0.2, 1.2], [0.3, 1.3], [0.4, 1.4]])
    )
    assert heat_map.is_average


def test_cells_where_a_parameter_is_not_active_stay_empty() -> None:
    space = Space(kind=Choice("x", "y"), deep=Choice(0, 1, when={"kind": "y"}), idle=Float(0, 1))
    heat_map = heat_map_of(Known(space, lambda c: 0.5 * number(c, "deep")))
    assert heat_map is not None
    assert heat_map.values == [[None, 0.0], [None, 0.5]]
