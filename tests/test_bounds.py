"""The KL upper confidence bound against its own equation and a bracketing root finder."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from imabo.bounds import contenders, kl_upper, kl_upper_of
from tests.loops import seeds

MEANS = [0.0, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.75, 0.9, 0.99, 0.999, 1 - 1e-6, 1.0]
BUDGETS = np.geomspace(1e-6, 20.0, 80)
NEARLY_ONE = 1.0 - 1e-9  # beyond it a float has too few digits left of 1 - q


def kl(mean: float, q: float) -> float:
    """Bernoulli divergence, with 0 log 0 = 0."""
    left = mean * math.log(mean / q) if mean > 0 else 0.0
    right = (1 - mean) * (math.log1p(-mean) - math.log1p(-q)) if mean < 1 else 0.0
    return left + right


@pytest.mark.parametrize("mean", MEANS)
def test_the_bound_solves_n_kl_equals_log_plus_to_1e_7(mean: float) -> None:
    found = kl_upper(np.full(len(BUDGETS), mean), BUDGETS)
    for budget, q in zip(BUDGETS, found, strict=True):
        if q < NEARLY_ONE:
            assert kl(mean, q) == pytest.approx(budget, abs=1e-7)
        else:  # there is no room above
            assert kl(mean, NEARLY_ONE) <= budget + 1e-7 or mean > NEARLY_ONE


@pytest.mark.parametrize("mean", MEANS)
def test_the_bound_agrees_with_brentq_to_1e_9(mean: float) -> None:
    found = kl_upper(np.full(len(BUDGETS), mean), BUDGETS)
    top = 1.0 - 1e-15
    for budget, q in zip(BUDGETS, found, strict=True):
        has_root = mean < top and kl(mean, top) > budget
        low = max(mean, 1e-300)
        root = brentq(lambda x: kl(mean, x) - budget, low, top, xtol=1e-15) if has_root else 1.0  # noqa: B023
        assert q == pytest.approx(root, abs=1e-9)


@pytest.mark.parametrize("crowd", ["nowhere", "at 0", "at 1"])
def test_the_bound_agrees_with_bisection_on_random_cases(crowd: str) -> None:
    """50,000 each, means down to 1e-12 from the ends, budgets from 1e-20 to 30."""
    rng = np.random.default_rng(0)
    distance = 10.0 ** rng.uniform(-12, 0, 50_000)
    means = {"nowhere": rng.random(50_000), "at 0": distance, "at 1": 1.0 - distance}[crowd]
    budgets = 10.0 ** rng.uniform(-20, 1.5, 50_000)
    # By the distance from the mean: kl is a difference of nearly equal terms when it is small.
    inside, outside = np.zeros_like(means), 1.0 - means
    for _ in range(100):
        gap = (inside + outside) / 2
        with np.errstate(divide="ignore"):
            cost = -means * np.log1p(gap / means) - (1 - means) * np.log1p(-gap / (1 - means))
        inside, outside = (
            np.where(cost > budgets, inside, gap),
            np.where(cost > budgets, gap, outside),
        )
    assert np.abs(kl_upper(means, budgets) - (means + inside)).max() < 1e-8


def test_a_budget_of_zero_gives_the_mean_itself() -> None:
    """Most arms of a long study have a budget of 0: noise here would decide who is served."""
    means = np.linspace(0.0, 1.0, 1001)
    assert_allclose(kl_upper(means, np.zeros_like(means)), means, rtol=0, atol=1.1e-12)
    inner = means[1:-1]
    assert (kl_upper(inner, np.zeros_like(inner)) == inner).all()


@pytest.mark.parametrize("mean", MEANS)
def test_a_larger_budget_never_lowers_the_bound(mean: float) -> None:
    budgets = np.concatenate([[0.0], np.geomspace(1e-9, 1e3, 2000)])
    q = kl_upper(np.full(len(budgets), mean), budgets)
    assert (np.diff(q) >= -1e-9).all()
    assert (q <= 1.0).all()
    assert (q >= mean - 1e-11).all()


def test_the_bound_is_within_the_hoeffding_one_by_pinsker() -> None:
    means, budgets = (grid.ravel() for grid in np.meshgrid(MEANS, BUDGETS))
    assert (kl_upper(means, budgets) <= means + np.sqrt(budgets / 2) + 1e-9).all()


def test_means_outside_the_unit_interval_are_clipped() -> None:
    q = kl_upper(np.array([-3.0, 7.0]), np.array([0.1, 0.1]))
    # From 0: -log(1 - q) = 0.1.
    assert_allclose(q, [1 - math.exp(-0.1), 1.0], atol=1e-9)


def test_one_budget_serves_many_means() -> None:
    q = kl_upper(np.array([0.2, 0.5]), np.array(0.1))
    assert_allclose(q, kl_upper(np.array([0.2, 0.5]), np.array([0.1, 0.1])))


def test_the_bound_of_one_arm_is_that_of_many() -> None:
    means, budgets = (grid.ravel() for grid in np.meshgrid(MEANS, BUDGETS))
    pairs = zip(means.tolist(), budgets.tolist(), strict=True)
    one = [kl_upper_of(mean, budget) for mean, budget in pairs]
    assert_allclose(one, kl_upper(means, budgets), rtol=0, atol=1e-12)


def test_a_search_that_ends_below_its_floor_says_so() -> None:
    for floor in np.linspace(0, 1, 21).tolist():
        found, bound = kl_upper_of(0.5, 0.1, floor), kl_upper_of(0.5, 0.1)
        assert found == bound if bound >= floor else found < floor


@seeds(40)
def test_the_rows_of_the_highest_bound_are_among_the_contenders(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    means = rng.choice([0.0, 0.3, 0.5, 0.9, 1.0], n) if seed % 2 else rng.random(n)
    budgets = rng.choice([0.0, 1e-9, 0.01, 0.3], n) * (1.0 if seed % 3 else rng.random(n))
    bounds = kl_upper(means, budgets)
    found = set(contenders(means, budgets).tolist())
    assert found >= set(np.flatnonzero(bounds == bounds.max()).tolist())
    assert len(found) <= max(12, int(np.count_nonzero(bounds >= bounds.max() - 1e-6)))


def test_many_equal_rows_are_all_contenders() -> None:
    assert len(contenders(np.full(50, 0.5), np.full(50, 0.1))) == 50
