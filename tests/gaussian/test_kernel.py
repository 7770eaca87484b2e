"""The kernel: values by hand, choices, sleeping parameters, definiteness, derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from imabo.arms import Floats
from imabo.gaussian.kernel import (
    Pairs,
    Points,
    correlation,
    kernel,
    outwardness,
    squared_distances,
    variances,
)
from imabo.space import Space
from tests.space.strategies import random_spaces

from .samples import MIXED, cube, placed

SEEDS = st.integers(0, 2**32 - 1)


def numbers(*units: float) -> Points:
    return Points(np.array([units]), np.zeros(len(units), dtype=np.bool_))


def between(a: Points, b: Points, scales: list[float], share: float) -> float:
    return float(correlation(a, b, np.array(scales), share)[0, 0])


class TestValues:
    def test_matern_by_hand(self) -> None:
        # r = sqrt(5) * 0.5 / 1 = 1.1180340: (1 + r + r^2 / 3) exp(-r) = 2.5347007 * 0.3269220.
        assert between(numbers(0.2), numbers(0.7), [1.0], 0.0) == pytest.approx(0.8286495, abs=1e-6)

    def test_a_length_scale_stretches_its_axis(self) -> None:
        wide = between(numbers(0.0), numbers(1.0), [2.0], 0.0)
        assert wide == pytest.approx(between(numbers(0.0), numbers(0.5), [1.0], 0.0))

    def test_the_share_mixes_the_mean_over_axes_and_the_kernel_of_all(self) -> None:
        a, b, scales = numbers(0.1, 0.9), numbers(0.4, 0.5), [1.0, 1.0]
        each = [between(numbers(x), numbers(y), [1.0], 0.0) for x, y in [(0.1, 0.4), (0.9, 0.5)]]
        of_all = between(numbers(0.0), numbers(0.5), [1.0], 0.0)  # 0.3^2 + 0.4^2 = 0.5^2
        mixed = 0.25 * sum(each) / 2 + 0.75 * of_all
        assert between(a, b, scales, 0.25) == pytest.approx(mixed, abs=1e-12)

    def test_far_away_on_one_axis_the_others_still_count_by_the_share(self) -> None:
        a, b = numbers(0.0, 0.3), numbers(1.0, 0.3)
        assert between(a, b, [0.001, 1.0], 0.0) == pytest.approx(0.0, abs=1e-12)
        assert between(a, b, [0.001, 1.0], 0.6) == pytest.approx(0.3, abs=1e-12)

    def test_a_point_is_perfectly_correlated_with_itself(self) -> None:
        points = placed(MIXED, 20, 0)
        found = correlation(points, points, np.full(4, 0.3), 0.5)
        assert_allclose(np.diag(found), 1.0, atol=1e-9)


class TestOutwardness:
    def test_the_average_point_has_none(self) -> None:
        # The mean of (2 u - 1)^2 over a fine grid is 1/3.
        grid = (np.arange(1000)[:, None] + 0.5) / 1000
        found = outwardness(Points(grid, np.array([False])))
        assert float(found.mean()) == pytest.approx(0.0, abs=1e-6)

    def test_an_axis_more_counts_for_less(self) -> None:
        one, two = outwardness(numbers(1.0)), outwardness(numbers(1.0, 0.5))
        assert one[0] == pytest.approx(2.0 * (1.0 - 1.0 / 3.0))
        assert two[0] == pytest.approx(2.0 * (0.5 - 1.0 / 3.0))

    def test_unordered_choices_have_no_ends(self) -> None:
        units = np.array([[0.1, 0.5], [0.9, 0.5]])
        assert (outwardness(Points(units, np.array([True, True]))) == 0.0).all()
        mixed = outwardness(Points(units, np.array([True, False])))
        assert mixed[0] == mixed[1] == pytest.approx(-2.0 / 3.0)

    def test_the_kernel_has_it_on_top(self) -> None:
        points = placed(MIXED, 9, 2)
        out, scales = outwardness(points), np.full(4, 0.3)
        expected = correlation(points, points, scales, 0.5) + out[:, None] * out[None, :]
        found = kernel(points, points, scales, 0.5)
        assert_allclose(found, expected, atol=1e-12)
        assert_allclose(np.diag(found), variances(points), atol=1e-9)


class TestMixedSpaces:
    def at(self, *configs: dict[str, object]) -> Points:
        encoded = [MIXED.encode(MIXED.validate(config)) for config in configs]
        unordered = np.array([p.unordered for p in MIXED.parameters.values()])
        units, mask = (np.array(column) for column in zip(*encoded, strict=True))
        return Points.place(units, mask, unordered)

    def axes(self, *configs: dict[str, object]) -> list[float]:
        points = self.at(*configs)
        return [float(d[0, 1]) for d in squared_distances(points, points)]

    def test_two_values_of_a_choice_are_one_apart_whichever_they_are(self) -> None:
        points = self.at(*({"kind": k, "x": 0.5} | more for k, more in CHILDREN.items()))
        kinds = next(squared_distances(points, points))
        assert (kinds == 1.0 - np.eye(3)).all()

    def test_points_where_a_parameter_sleeps_do_not_differ_on_its_axis(self) -> None:
        asleep = {"kind": "a", "x": 0.5}
        assert self.axes(asleep, asleep | {"x": 0.75})[2:] == [0.0, 0.0]

    def test_what_lies_on_a_sleeping_axis_does_not_matter(self) -> None:
        mask = np.array([[True, False, False]] * 2)
        units = np.array([[0.2, 0.25, 0.1], [0.2, 0.75, 0.9]])
        first, second = Points.place(units, mask, np.array([False, True, False])).units
        assert (first == second).all()

    def test_a_choice_that_sleeps_differs_from_all_its_values(self) -> None:
        awake = {"kind": "c", "x": 0.5, "y": 0.5}
        for value in "pq":
            assert self.axes({"kind": "b", "x": 0.5, "y": 0.5}, awake | {"z": value})[3] == 1.0

    def test_a_number_that_sleeps_is_in_the_middle(self) -> None:
        awake = {"kind": "b", "x": 0.5, "y": 0.9}
        assert self.axes({"kind": "a", "x": 0.5}, awake)[2] == pytest.approx(0.16)


CHILDREN: dict[str, dict[str, object]] = {"a": {}, "b": {"y": 0.5}, "c": {"y": 0.5, "z": "p"}}


@settings(max_examples=60)
@given(space=random_spaces(), seed=SEEDS, share=st.floats(0, 1), log_scale=st.floats(-4, 3))
def test_it_is_positive_definite_on_any_space(
    space: Space, seed: int, share: float, log_scale: float
) -> None:
    points = placed(space, 25, seed)
    spread = np.random.default_rng(seed).normal(log_scale, 1.0, len(space))
    found = kernel(points, points, np.exp(spread), share)
    assert_allclose(found, found.T, atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > -1e-8
    most = np.sqrt(variances(points))  # Cauchy and Schwarz
    assert (np.abs(found) <= np.outer(most, most) + 1e-12).all()


@settings(max_examples=40)
@given(space=random_spaces(), seed=SEEDS, share=st.floats(0, 1))
def test_pairs_have_the_kernel_of_the_whole_matrix(space: Space, seed: int, share: float) -> None:
    points = placed(space, 8, seed)
    scales = np.exp(np.random.default_rng(seed).normal(-1.0, 1.0, len(space)))
    pairs = Pairs(points)
    whole = kernel(points, points, scales, share)
    assert_allclose(pairs.relate(scales, share).values, whole[pairs.above], atol=1e-12)


@pytest.mark.parametrize("points", [cube(7, 3, 0), placed(MIXED, 7, 1)], ids=["cube", "mixed"])
def test_the_derivatives_of_pairs_are_those_of_finite_differences(points: Points) -> None:
    pairs, d, step = Pairs(points), points.units.shape[1], 1e-5
    logs, share = np.linspace(-1.0, 0.5, d), 0.3

    def values(change: Floats, more: float = 0.0) -> Floats:
        return pairs.relate(np.exp(logs + change), share + more).values

    found, nothing = pairs.relate(np.exp(logs), share), np.zeros(d)
    by_share = (values(nothing, step) - values(nothing, -step)) / (2 * step)
    assert_allclose(found.by_share, by_share, atol=1e-8)
    for axis, one in enumerate(np.eye(d)):
        slope = (values(step * one) - values(-step * one)) / (2 * step)
        assert_allclose(found.by_scale[axis], slope, atol=1e-8)


def test_the_kernel_is_smooth_where_points_coincide() -> None:
    """No NaN from the root of 0: repeats are common in spaces of choices."""
    points = cube(1, 2, 0).take(np.array([0, 0, 0]))
    found = Pairs(points).relate(np.ones(2), 0.5)
    assert_allclose(found.values, variances(points)[0], atol=1e-9)
    assert_allclose(found.by_scale, 0.0, atol=1e-9)
    assert not math.isnan(found.by_share.sum())
