"""Confidence sequences: values by hand, edges, and coverage while someone watches all the time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import betaincinv, betaln

from imabo.arms import Floats
from imabo.confidence import bounded_interval, contenders, open_interval
from tests.loops import seeds

LOOKS = np.unique(np.geomspace(1, 1000, 120).astype(int))  # dense where a miss is likeliest


def bounded(n: float, total: float, level: float = 0.95) -> tuple[float, float]:
    low, high = bounded_interval(np.array([n]), np.array([total]), level)
    return float(low[0]), float(high[0])


def miss_rate(rewards: Floats, mean: float, level: float) -> float:
    """Share of the runs (rows) whose interval leaves out the mean at one look or more."""
    sums = np.cumsum(rewards, axis=1)[:, LOOKS - 1]
    n = np.broadcast_to(LOOKS.astype(float), sums.shape)
    low, high = bounded_interval(n.ravel(), sums.ravel(), level)
    missed = (low > mean) | (high < mean)
    return float(missed.reshape(sums.shape).any(axis=1).mean())


class TestBounded:
    def test_one_reward_of_one_by_hand(self) -> None:
        # B(3/2, 1/2) / B(1/2, 1/2) = 1/2, so m is left out when (1/2) / m >= 20: m <= 0.025.
        assert bounded(1, 1.0) == pytest.approx((0.025, 1.0), abs=1e-12)

    def test_two_rewards_by_hand(self) -> None:
        # 1 and 0: B(3/2, 3/2) / B(1/2, 1/2) = 1/8, so m (1 - m) = 1/160 at both ends.
        root = math.sqrt(0.25 - 1 / 160)
        assert bounded(2, 1.0) == pytest.approx((0.5 - root, 0.5 + root), abs=1e-12)

    @pytest.mark.parametrize(("n", "total"), [(10, 3.0), (100, 80.0), (5000, 4990.0), (7, 0.4)])
    @pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
    def test_the_martingale_reaches_its_limit_at_both_ends(
        self, n: float, total: float, level: float
    ) -> None:
        for end in bounded(n, total, level):
            log_mixture = betaln(0.5 + total, 0.5 + n - total) - betaln(0.5, 0.5)
            log_likelihood = total * math.log(end) + (n - total) * math.log1p(-end)
            assert log_mixture - log_likelihood == pytest.approx(-math.log(1 - level), abs=1e-6)

    def test_without_a_reward_it_is_everything(self) -> None:
        assert bounded(0, 0.0) == (0.0, 1.0)

    @pytest.mark.parametrize("n", [1, 10, 1000])
    def test_rewards_all_0_or_all_1_reach_the_end_and_mirror_each_other(self, n: int) -> None:
        low, high = bounded(n, 0.0)
        assert low == 0.0
        assert 0.0 < high < 1.0
        assert bounded(n, float(n)) == pytest.approx((1.0 - high, 1.0), abs=1e-12)

    def test_it_shrinks_with_more_rewards(self) -> None:
        n = np.array([1.0, 10.0, 100.0, 1e3, 1e4, 1e6])
        low, high = bounded_interval(n, 0.8 * n, 0.95)
        assert (np.diff(high - low) < 0).all()
        assert high[-1] - low[-1] < 0.005
        assert ((low < 0.8) & (high > 0.8)).all()

    def test_a_higher_level_is_wider(self) -> None:
        (low, high), (lower, higher) = bounded(50, 20.0, 0.9), bounded(50, 20.0, 0.99)
        assert lower < low < high < higher

    def test_it_is_wider_than_an_interval_for_one_look(self) -> None:
        low, high = bounded(100, 80.0)
        once_low, once_high = betaincinv(80.5, 20.5, 0.025), betaincinv(80.5, 20.5, 0.975)
        assert low < once_low < once_high < high < once_high + 0.1

    def test_sums_a_rounding_error_outside_are_taken_in(self) -> None:
        assert bounded(10, -1e-13) == bounded(10, 0.0)
        assert bounded(10, 10.0 + 1e-13) == bounded(10, 10.0)

    @pytest.mark.parametrize("level", [0.8, 0.95])
    @pytest.mark.parametrize("mean", [0.02, 0.3, 0.5, 0.9])
    def test_bernoulli_rewards_are_covered_at_all_looks_together(
        self, mean: float, level: float
    ) -> None:
        """400 runs of 1,000 rewards (seed 7), watched throughout; slack of two deviations."""
        runs = (np.random.default_rng(7).random((400, 1000)) < mean).astype(float)
        slack = 2 * math.sqrt(level * (1 - level) / 400)
        assert miss_rate(runs, mean, level) <= 1 - level + slack

    def test_rewards_of_low_variance_are_covered_too(self) -> None:
        """Bounded rewards need no coin: 400 runs of Beta(30, 10) rewards (seed 8)."""
        runs = np.random.default_rng(8).beta(30.0, 10.0, (400, 1000))
        assert miss_rate(runs, 0.75, 0.9) <= 0.1

    def test_the_promise_is_not_empty(self) -> None:
        """An interval for one look, watched as closely, misses far more often."""
        runs = (np.random.default_rng(7).random((400, 1000)) < 0.5).astype(float)
        sums = np.cumsum(runs, axis=1)[:, LOOKS - 1]
        successes, failures = sums + 0.5, LOOKS - sums + 0.5
        low = betaincinv(successes, failures, 0.025)
        high = betaincinv(successes, failures, 0.975)
        watched = ((low > 0.5) | (high < 0.5)).any(axis=1).mean()
        assert watched > 0.2 > 0.08 > miss_rate(runs, 0.5, 0.95)


class TestContenders:
    @seeds(20)
    @pytest.mark.parametrize("count", [1, 7, 400])
    def test_the_highest_lower_ends_are_among_them(self, seed: int, count: int) -> None:
        rng = np.random.default_rng(seed)
        n = np.maximum(rng.integers(0, 10 ** (1 + seed % 4), 400), 1).astype(float)
        sums = np.round(n * rng.beta(0.5 + seed % 3, 1.0, 400), seed % 2)
        found = contenders(n, sums, 0.95, count)
        low, _ = bounded_interval(n, sums, 0.95)
        highest = np.flatnonzero(low >= np.sort(low)[-count])  # equal ones too
        assert set(highest) <= set(found)
        assert (np.diff(found) > 0).all()

    def test_they_are_few_of_many(self) -> None:
        rng = np.random.default_rng(0)
        n = np.full(5000, 500.0)
        assert len(contenders(n, np.round(n * rng.random(5000)), 0.95, 30)) < 100

    def test_arms_that_all_may_have_the_mean_0_are_all_in(self) -> None:
        assert contenders(np.ones(5), np.zeros(5), 0.95, 2).tolist() == [0, 1, 2, 3, 4]


class TestOpen:
    def interval(self, n: float, mean: float, variance: float) -> tuple[float, float]:
        ends = open_interval(np.array([n]), np.array([mean]), np.array([variance]), 0.95)
        return float(ends[0][0]), float(ends[1][0])

    def test_a_hundred_rewards_by_hand(self) -> None:
        # -2 log 0.05 = 5.9914645; rho^2 = (5.9914645 + log 6.9914645) / 100 = 0.0793615;
        # 100 rho^2 + 1 = 8.9361546: width^2 = 4 * 2 * 8.9361546 / (100^2 * 0.0793615)
        #   * log(sqrt(8.9361546) / 0.05) = 0.0900804 * 4.0907850 = 0.3684997.
        low, high = self.interval(100, 10.0, 4.0)
        assert_allclose([low, high], [10.0 - 0.6070418, 10.0 + 0.6070418], atol=1e-6)

    @pytest.mark.parametrize("n", [0, 1])
    def test_below_two_rewards_it_says_nothing(self, n: int) -> None:
        assert self.interval(n, math.nan if n == 0 else 3.0, 0.0) == (-math.inf, math.inf)

    def test_it_shrinks_with_more_rewards(self) -> None:
        n = np.array([2.0, 10.0, 100.0, 1e4, 1e6])
        low, high = open_interval(n, np.zeros(5), np.ones(5), 0.95)
        assert (np.diff(high - low) < 0).all()

    @pytest.mark.parametrize("seed", [9, 10])
    def test_gaussian_rewards_are_covered_from_ten_rewards_on(self, seed: int) -> None:
        """400 runs of 1,000 rewards of deviation 50; the promise holds for many rewards only."""
        runs = np.random.default_rng(seed).normal(-200.0, 50.0, (400, 1000))
        looks = LOOKS[LOOKS >= 10]
        sums, squares = np.cumsum(runs, axis=1), np.cumsum(runs**2, axis=1)
        means = sums[:, looks - 1] / looks
        variances = squares[:, looks - 1] / looks - means**2
        n = np.broadcast_to(looks.astype(float), means.shape)
        low, high = open_interval(n.ravel(), means.ravel(), variances.ravel(), 0.9)
        missed = ((low > -200.0) | (high < -200.0)).reshape(means.shape).any(axis=1).mean()
        assert missed <= 0.1 + 2 * math.sqrt(0.09 / 400)
