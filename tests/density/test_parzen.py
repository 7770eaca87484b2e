"""Parzen mixtures: values by hand, total mass, agreement of samples and density, bad inputs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chisquare, kstest, truncnorm

from imabo.density import Parzen, parzen
from imabo.density.parzen import Bandwidth, Bools, Ints
from imabo.density.truncated import Floats
from imabo.errors import InvalidSetting

RULES: list[Bandwidth] = ["scott", "neighbours"]


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def column(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)[:, None]


def fit(units: Any, categories: Ints, mask: Any = None, **options: Any) -> Parzen:
    rows = np.asarray(units, dtype=np.float64)
    there = np.ones(rows.shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    return Parzen.fit(rows, there, categories, **options)


def at(density: Parzen, *point: float, mask: Any = None) -> float:
    x = np.array([point])
    there = np.ones(x.shape, dtype=bool) if mask is None else np.array([mask])
    return float(np.exp(density.log_density(x, x, there))[0])


def cells(density: Parzen, edges: Floats) -> Floats:
    lo, hi = edges[:-1, None], edges[1:, None]
    return np.asarray(np.exp(density.log_density(lo, hi, np.ones(lo.shape, dtype=bool))))


def kernel_pdf(x: float, mean: float, sigma: float) -> float:
    return float(truncnorm.pdf(x, -mean / sigma, (1 - mean) / sigma, loc=mean, scale=sigma))


# --- values by hand -------------------------------------------------------------------------


def test_without_rows_only_the_prior_is_left() -> None:
    density = fit(np.empty((0, 2)), ints(0, 3))
    assert at(density, 0.2, 0.5) == pytest.approx(kernel_pdf(0.2, 0.5, 1.0) / 3, rel=1e-12)


def test_without_rows_the_prior_counts_whatever_its_weight() -> None:
    density = fit(np.empty((0, 1)), ints(2), prior_weight=0.0)
    assert at(density, 0.1) == pytest.approx(0.5)


def test_one_row_with_scotts_rule_is_clipped_to_a_third() -> None:
    # 0.2 · 1^(-1/5) = 0.2 is below the smallest width for one row, 1/(1 + 2).
    density = fit(column(0.2), ints(0))
    expected = (kernel_pdf(0.6, 0.2, 1 / 3) + kernel_pdf(0.6, 0.5, 1.0)) / 2
    assert at(density, 0.6) == pytest.approx(expected, rel=1e-12)


def test_one_row_with_neighbours_reaches_to_the_farther_end() -> None:
    density = fit(column(0.2), ints(0), bandwidth="neighbours")
    expected = (kernel_pdf(0.6, 0.2, 0.8) + kernel_pdf(0.6, 0.5, 1.0)) / 2
    assert at(density, 0.6) == pytest.approx(expected, rel=1e-12)


def test_twenty_rows_in_two_coordinates_have_scotts_width() -> None:
    # 0.2 · 20^(-1/6) = 0.1214..., above the smallest width 1/22.
    density = fit(np.full((20, 2), 0.4), ints(0, 0))
    width = 0.2 * 20 ** (-1 / 6)
    own = kernel_pdf(0.3, 0.4, width) * kernel_pdf(0.6, 0.4, width)
    prior = kernel_pdf(0.3, 0.5, 1.0) * kernel_pdf(0.6, 0.5, 1.0)
    assert at(density, 0.3, 0.6) == pytest.approx((20 * own + prior) / 21, rel=1e-11)


def test_neighbour_widths_of_three_rows_out_of_order() -> None:
    # Sorted 0.1, 0.4, 0.9: inner row max(0.3, 0.5), outer rows look inwards: 0.3 and 0.5.
    density = fit(column(0.9, 0.1, 0.4), ints(0), bandwidth="neighbours")
    parts = [(0.9, 0.5), (0.1, 0.3), (0.4, 0.5), (0.5, 1.0)]
    expected = sum(kernel_pdf(0.25, mean, sigma) for mean, sigma in parts) / 4
    assert at(density, 0.25) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_the_smallest_width_is_a_hundredth_however_many_rows(rule: Bandwidth) -> None:
    density = fit(np.full((3000, 1), 0.5), ints(0), bandwidth=rule, prior_weight=0.0)
    width = 0.01 if rule == "neighbours" else 0.2 * 3000 ** (-1 / 5)
    assert at(density, 0.5) == pytest.approx(kernel_pdf(0.5, 0.5, width), rel=1e-9)


def test_choice_kernels_by_hand() -> None:
    # Two rows: every value gets 1/(2+1) of the prior, the row's own value 1 more, over 1 + 4/3.
    density = fit(column(0.1, 0.6), ints(4))
    own, other, prior = (4 / 3) / (7 / 3), (1 / 3) / (7 / 3), 1 / 4
    assert at(density, 0.125) == pytest.approx((own + other + prior) / 3)
    assert at(density, 0.375) == pytest.approx((2 * other + prior) / 3)
    assert at(density, 0.625) == pytest.approx((own + other + prior) / 3)


def test_weights_and_prior_weight_are_shares_of_the_mixture() -> None:
    density = fit(column(0.2, 0.8), ints(0), weights=np.array([3.0, 1.0]), prior_weight=0.5)
    width = max(0.2 * 2 ** (-1 / 5), 1 / 4)
    parts = [(3.0, 0.2, width), (1.0, 0.8, width), (0.5, 0.5, 1.0)]
    expected = sum(w * kernel_pdf(0.3, mean, sigma) for w, mean, sigma in parts) / 4.5
    assert at(density, 0.3) == pytest.approx(expected, rel=1e-12)


def test_a_row_of_weight_zero_is_never_drawn_and_adds_nothing() -> None:
    density = fit(column(0.1, 0.9), ints(2), weights=np.array([0.0, 1.0]), prior_weight=0.0)
    assert at(density, 0.25) == 0.0
    assert at(density, 0.75) == pytest.approx(1.0)
    assert (density.sample(np.random.default_rng(0), 200) == 0.75).all()


def test_a_row_that_lacks_a_coordinate_is_uniform_there_and_does_not_count_for_its_width() -> None:
    density = fit([[0.3, np.nan], [0.3, 0.6]], ints(0, 0), [[True, False], [True, True]])
    first = max(0.2 * 2 ** (-1 / 6), 1 / 4)
    second = max(0.2, 1 / 3)
    expected = (
        kernel_pdf(0.5, 0.3, first)
        + kernel_pdf(0.5, 0.3, first) * kernel_pdf(0.9, 0.6, second)
        + kernel_pdf(0.5, 0.5, 1.0) * kernel_pdf(0.9, 0.5, 1.0)
    ) / 3
    assert at(density, 0.5, 0.9) == pytest.approx(expected, rel=1e-12)


def test_a_cell_under_a_row_that_lacks_the_coordinate_has_its_own_width_as_mass() -> None:
    density = fit([[np.nan]], ints(0), [[False]], prior_weight=0.0)
    np.testing.assert_allclose(cells(density, np.array([0.0, 0.1, 0.7, 1.0])), [0.1, 0.6, 0.3])


def test_a_point_without_a_coordinate_is_judged_by_the_others() -> None:
    both = fit([[0.3, 0.1], [0.8, 0.7]], ints(0, 3))
    only = at(both, 0.4, np.nan, mask=[True, False])
    assert only == pytest.approx(sum(at(both, 0.4, c) for c in (0.1, 0.5, 0.9)), rel=1e-12)
    assert at(both, np.nan, np.nan, mask=[False, False]) == pytest.approx(1.0)


@pytest.mark.parametrize("n", [2, 7, 30])
def test_neighbours_of_columns_with_gaps_equal_those_of_the_rows_that_have_them(n: int) -> None:
    rng = np.random.default_rng(n)
    units, mask = rng.random((n, 3)), rng.random((n, 3)) < 0.6
    whole = fit(units, ints(0, 0, 0), mask, bandwidth="neighbours", prior_weight=0.0)
    for j in range(3):
        there = mask[:, j]
        if not there.any():
            continue
        alone = fit(units[there, j : j + 1], ints(0), bandwidth="neighbours", prior_weight=0.0)
        for x in (0.05, 0.5, 0.77):
            share = there.mean()
            seen = [i == j for i in range(3)]
            expected = share * at(alone, x) + (1 - share) * 1.0
            assert at(whole, x, x, x, mask=seen) == pytest.approx(expected, rel=1e-11)


def test_a_row_that_lacks_the_coordinate_is_nobodys_neighbour() -> None:
    density = fit(
        column(0.1, 0.2, np.nan), ints(0), [[True], [True], [False]], bandwidth="neighbours"
    )
    # The gap of 0.1 is below the smallest width for two rows, 1/(2 + 2).
    parts = kernel_pdf(0.9, 0.1, 0.25) + kernel_pdf(0.9, 0.2, 0.25) + kernel_pdf(0.9, 0.5, 1.0)
    assert at(density, 0.9) == pytest.approx((parts + 1.0) / 4, rel=1e-12)


# --- total mass -----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_a_continuous_density_integrates_to_one(rule: Bandwidth) -> None:
    rows = column(0.0, 0.03, 0.04, 0.5, 0.51, 1.0)
    density = fit(rows, ints(0), bandwidth=rule)
    total, _ = quad(lambda x: at(density, x), 0, 1, points=[0.03, 0.5], limit=200)
    assert total == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_discrete_cells_sum_to_one(rule: Bandwidth, size: int) -> None:
    density = fit(column(0.1, 0.12, 0.9), ints(0), bandwidth=rule)
    assert cells(density, np.linspace(0, 1, size + 1)).sum() == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_values_of_a_choice_sum_to_one(k: int) -> None:
    density = fit(column(0.0, 0.4, 1.0), ints(k))
    assert sum(at(density, (i + 0.5) / k) for i in range(k)) == pytest.approx(1.0, abs=1e-12)


def test_a_mixed_density_integrates_to_one() -> None:
    density = fit([[0.2, 0.1], [0.7, 0.9], [0.75, 0.9]], ints(0, 3))
    parts = [quad(lambda x, c=c: at(density, x, c), 0, 1)[0] for c in (1 / 6, 1 / 2, 5 / 6)]
    assert sum(parts) == pytest.approx(1.0, abs=1e-8)


def test_a_density_of_two_continuous_coordinates_integrates_to_one() -> None:
    density = fit([[0.2, 0.1], [0.7, 0.9]], ints(0, 0))
    total, _ = dblquad(lambda y, x: at(density, x, y), 0, 1, 0, 1, epsabs=1e-5)
    assert total == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("rule", RULES)
def test_both_branches_of_a_conditional_space_together_have_mass_one(rule: Bandwidth) -> None:
    # The second coordinate exists only under the first one's first value.
    units = [[0.25, 0.1], [0.25, 0.8], [0.75, np.nan], [0.75, np.nan]]
    mask = [[True, True], [True, True], [True, False], [True, False]]
    density = fit(units, ints(2, 0), mask, bandwidth=rule)
    with_child, _ = quad(lambda x: at(density, 0.25, x), 0, 1, limit=200)
    without = at(density, 0.75, np.nan, mask=[True, False])
    assert with_child + without == pytest.approx(1.0, abs=1e-8)
    assert 0.3 < without < 0.7


# --- samples --------------------------------------------------------------------------------


def distribution_function(density: Parzen, j: int, x: Floats) -> Floats:
    d = len(density.categories)
    lo, hi = np.zeros((len(x), d)), np.zeros((len(x), d))
    hi[:, j] = x
    mask = np.zeros((len(x), d), dtype=bool)
    mask[:, j] = True
    return np.asarray(np.exp(density.log_density(lo, hi, mask)))


@pytest.mark.parametrize("rule", RULES)
def test_ordered_samples_follow_the_density(rule: Bandwidth) -> None:
    rows = [[0.0, 0.3], [0.05, np.nan], [0.6, 0.9], [0.65, 1.0]]
    mask = [[True, True], [True, False], [True, True], [True, True]]
    density = fit(rows, ints(0, 0), mask, bandwidth=rule, weights=np.array([1.0, 2.0, 0.5, 3.0]))
    drawn = density.sample(np.random.default_rng(11), 20_000)
    assert drawn.min() >= 0.0
    assert drawn.max() <= 1.0
    for j in range(2):
        below = distribution_function(density, j, drawn[:, j])
        # The second coordinate of a row that lacks it is uniform, which the density says too.
        assert kstest(below, "uniform").pvalue > 0.001


def test_samples_of_choices_follow_the_joint_density() -> None:
    rows = [[0.1, 0.1], [0.5, 0.9], [0.9, np.nan]]
    mask = [[True, True], [True, True], [True, False]]
    density = fit(rows, ints(3, 2), mask, weights=np.array([1.0, 4.0, 2.0]))
    drawn = density.sample(np.random.default_rng(5), 20_000)
    grid = np.array(list(itertools.product([1 / 6, 3 / 6, 5 / 6], [0.25, 0.75])))
    counts = [(np.abs(drawn - cell) < 1e-9).all(axis=1).sum() for cell in grid]
    expected = np.exp(density.log_density(grid, grid, np.ones(grid.shape, dtype=bool)))
    assert sum(counts) == 20_000
    assert chisquare(counts, 20_000 * expected / expected.sum()).pvalue > 0.001


def test_samples_keep_the_coordinates_of_a_row_together() -> None:
    # Rows (low, first) and (high, second): half a cube each, never mixed up.
    rows = np.repeat([[0.1, 0.25], [0.9, 0.75]], 40, axis=0)
    density = fit(rows, ints(0, 2), prior_weight=0.0)
    drawn = density.sample(np.random.default_rng(2), 2_000)
    agree = (drawn[:, 0] > 0.5) == (drawn[:, 1] > 0.5)
    assert agree.mean() > 0.999
    assert 0.4 < (drawn[:, 0] > 0.5).mean() < 0.6


def test_the_same_seed_gives_the_same_samples() -> None:
    density = fit([[0.2, 0.1], [0.7, 0.9]], ints(0, 3))
    first, second = (density.sample(np.random.default_rng(3), 10) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert density.sample(np.random.default_rng(3), 0).shape == (0, 2)


@pytest.mark.parametrize("k", [1, 2, 3, 6, 7, 49, 1000])
def test_a_sampled_choice_decodes_to_a_value_whatever_their_number(k: int) -> None:
    density = fit(((np.arange(k) + 0.5) / k)[:, None], ints(k), prior_weight=0.0)
    drawn = density.sample(np.random.default_rng(0), 4 * k)[:, 0]
    np.testing.assert_allclose(drawn * k - 0.5, np.floor(drawn * k), atol=1e-9)


# --- extremes -------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 2, 200])
def test_identical_rows_anywhere_give_a_proper_density(
    rule: Bandwidth, value: float, n: int
) -> None:
    density = fit(np.full((n, 1), value), ints(0), bandwidth=rule)
    assert cells(density, np.linspace(0, 1, 401)).sum() == pytest.approx(1.0, abs=1e-9)
    drawn = density.sample(np.random.default_rng(0), 1000)
    assert np.isfinite(drawn).all()
    assert np.abs(drawn - value).mean() < np.abs(drawn - (1.0 - value)).mean() or value == 0.5


def test_tiny_cells_give_density_times_width() -> None:
    density = fit(column(0.2, 0.8), ints(0))
    for width in (1e-13, 1e-9, 1e-6):
        lo = 0.625  # exact in binary, so that the width survives the addition
        got = cells(density, np.array([lo, lo + width]))[0] / ((lo + width) - lo)
        assert got == pytest.approx(at(density, 0.625), rel=1e-5)


def test_a_cell_a_hundred_deviations_away_keeps_a_finite_logarithm() -> None:
    density = fit(np.full((500, 1), 0.0), ints(0), bandwidth="neighbours", prior_weight=0.0)
    one = np.array([[0.99]]), np.array([[1.0]]), np.array([[True]])
    # P(Z > 99)/P(Z > 0): log of φ(99)/99 · (1 - 1/99²) over a half.
    expected = -(99**2) / 2 - 0.5 * math.log(2 * math.pi) - math.log(99) - 99**-2 + math.log(2)
    assert float(density.log_density(*one)[0]) == pytest.approx(expected, abs=1e-5)


def test_an_impossible_value_has_log_density_minus_infinity() -> None:
    density = fit([[0.1, 0.5]], ints(2, 0), prior_weight=0.0)
    point = np.array([[0.9, 0.5]])
    assert np.isneginf(density.log_density(point, point, np.ones((1, 2), dtype=bool))).all()


def test_no_points_and_no_coordinates_are_fine() -> None:
    density = fit([[0.1, 0.5]], ints(2, 0))
    assert density.log_density(*(np.empty((0, 2)),) * 2, np.empty((0, 2), dtype=bool)).shape == (0,)
    nothing = fit(np.empty((3, 0)), ints())
    assert nothing.sample(np.random.default_rng(0), 4).shape == (4, 0)
    none = np.empty((2, 0))
    np.testing.assert_allclose(nothing.log_density(none, none, none > 0), 0.0, atol=1e-12)


def test_working_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    density = fit(rng.random((30, 4)), ints(0, 0, 3, 0), rng.random((30, 4)) < 0.8)
    lo = rng.random((50, 4))
    hi = lo + np.array([0.0, 0.05, 0.0, 0.0])
    mask: Bools = rng.random((50, 4)) < 0.7
    whole = density.log_density(lo, hi, mask)
    monkeypatch.setattr(parzen, "_CHUNK", 1)
    np.testing.assert_allclose(density.log_density(lo, hi, mask), whole, rtol=1e-12)
    assert np.isfinite(whole).all()


def test_fitting_and_evaluating_leave_the_inputs_alone() -> None:
    units, mask = np.array([[0.2, 0.9], [0.4, 0.1]]), np.array([[True, True], [True, False]])
    weights, categories = np.array([1.0, 2.0]), ints(0, 2)
    before = [a.copy() for a in (units, mask, weights, categories)]
    density = Parzen.fit(units, mask, categories, weights=weights)
    density.log_density(units, units, mask)
    density.sample(np.random.default_rng(0), 5)
    for old, new in zip(before, (units, mask, weights, categories), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"units": np.array([[1.5]])}, "1.5"),
        ({"units": np.array([[np.nan]])}, "nan"),
        ({"units": np.array([0.5])}, r"\(1,\)"),
        ({"mask": np.ones((2, 1), dtype=bool)}, r"\(2, 1\)"),
        ({"categories": ints(-1)}, "-1"),
        ({"categories": ints(0, 0)}, r"\(2,\)"),
        ({"bandwidth": "silverman"}, "silverman"),
        ({"prior_weight": -1.0}, "-1.0"),
        ({"prior_weight": math.inf}, "inf"),
        ({"weights": np.array([1.0, 1.0])}, r"\(2,\)"),
        ({"weights": np.array([-2.0])}, "-2"),
        ({"weights": np.array([0.0]), "prior_weight": 0.0}, "empty"),
    ],
)
def test_bad_input_is_refused_with_its_value(change: dict[str, Any], told: str) -> None:
    good: dict[str, Any] = {
        "units": np.array([[0.5]]),
        "mask": np.array([[True]]),
        "categories": ints(0),
    }
    with pytest.raises(InvalidSetting, match=told):
        Parzen.fit(**(good | change))


def test_points_of_another_shape_are_refused() -> None:
    density = fit([[0.1, 0.5]], ints(2, 0))
    point = np.array([[0.5]])
    with pytest.raises(InvalidSetting, match="2 coordinates"):
        density.log_density(point, point, point > 0)
