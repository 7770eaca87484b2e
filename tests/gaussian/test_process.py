"""The process against its own definition, refits and another implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from imabo.arms import Floats
from imabo.gaussian.kernel import Points, correlation, kernel, outwardness
from imabo.gaussian.process import Hyperparameters, Process, spread_subset

from .samples import MIXED, cube, fitted, observed, placed, some_hyperparameters, sphere

NUMBERS_ONLY = -40.0  # a share of the one-axis kernels of about 1e-17


def covariance_of(points: Points, noise: Floats, h: Hyperparameters) -> Floats:
    """From the definition: signal times the kernel, an arm's own variance and the noise."""
    share = 1.0 / (1.0 + math.exp(-h.share))
    smooth = kernel(points, points, np.exp(np.array(h.scales)), share)
    return math.exp(h.signal) * smooth + np.diag(math.exp(h.own) + noise)


def log_posterior(row: Floats, points: Points, values: Floats, noise: Floats) -> float:
    """Of hyperparameters, by SciPy's normal density at the mean that fits best."""
    covariance = covariance_of(points, noise, Hyperparameters.from_array(row))
    weights = np.linalg.solve(covariance, np.ones(len(values)))
    mean = float(weights @ values / weights.sum())
    fit = multivariate_normal(np.full(len(values), mean), covariance).logpdf(values)
    centre = Hyperparameters.prior(len(points.unordered)).as_array()
    return float(fit - 0.5 * ((row - centre) ** 2).sum())


class TestPosterior:
    def test_it_predicts_as_scikit_learn_does(self) -> None:
        pytest.importorskip("sklearn")
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern

        # On a sphere all points are as far out as the average one: what is left is a Matern kernel.
        points, asked = sphere(30, 3, 0), sphere(40, 3, 1)
        assert_allclose(outwardness(points), 0.0, atol=1e-12)
        ours, h = fitted(points, NUMBERS_ONLY), some_hyperparameters(3, NUMBERS_ONLY)
        kernel = ConstantKernel(ours.signal) * Matern(np.exp(h.scales), nu=2.5)
        theirs = GaussianProcessRegressor(kernel, alpha=ours.noise + ours.own, optimizer=None)
        theirs.fit(points.units, ours.values - ours.mean)  # it has no mean of its own
        mean, deviation = theirs.predict(asked.units, return_std=True)
        found, variance = ours.predict(asked)
        assert_allclose(found, mean + ours.mean, atol=1e-9)
        assert_allclose(variance, deviation**2, atol=1e-9)

    @pytest.mark.parametrize(
        "points", [cube(12, 2, 0), placed(MIXED, 12, 3)], ids=["cube", "mixed"]
    )
    def test_the_mean_is_the_best_linear_unbiased_one(self, points: Points) -> None:
        process = fitted(points)
        covariance = covariance_of(points, process.noise, process.hyperparameters)
        weights = np.linalg.solve(covariance, np.ones(12))
        assert process.mean == pytest.approx(weights @ process.values / weights.sum(), abs=1e-10)

    def test_at_its_points_it_is_the_prediction_with_their_own_deviation(self) -> None:
        points = cube(15, 2, 4)
        process = fitted(points)
        clean = covariance_of(points, np.zeros(15), process.hyperparameters)
        noisy = covariance_of(points, process.noise, process.hyperparameters)
        expected = process.mean + clean @ np.linalg.solve(noisy, process.values - process.mean)
        assert_allclose(process.at_points(), expected, atol=1e-9)

    @pytest.mark.parametrize(
        "points", [cube(15, 2, 5), placed(MIXED, 15, 6)], ids=["cube", "mixed"]
    )
    def test_leave_one_out_is_a_refit_without_the_point(self, points: Points) -> None:
        process = fitted(points)
        means, variances = process.leave_one_out()
        for i in range(15):
            others = np.delete(np.arange(15), i)
            again = Process(
                points.take(others),
                process.values[others],
                process.noise[others],
                process.hyperparameters,
            )
            mean, variance = again.predict(points.take(np.array([i])))
            assert means[i] == pytest.approx(mean[0], abs=1e-9)
            # The mean of fewer points is less certain, which predict leaves out.
            assert variances[i] >= variance[0] + process.own - 1e-9
            assert variances[i] <= 1.5 * (variance[0] + process.own)

    def test_other_observations_of_the_same_points_are_as_good_as_new(self) -> None:
        points = cube(12, 2, 7)
        process, (values, noise) = fitted(points), observed(points, seed=9)
        process.observe(values, noise)
        new = Process(points, values, noise, process.hyperparameters)
        assert process.mean == new.mean
        assert (process.at_points() == new.at_points()).all()
        for moved, fresh in zip(process.leave_one_out(), new.leave_one_out(), strict=True):
            assert (moved == fresh).all()

    def test_seeing_what_it_expects_keeps_the_mean_and_takes_the_doubt_away(self) -> None:
        process, ahead, asked = fitted(cube(10, 2, 0)), cube(3, 2, 8), cube(50, 2, 9)
        later = process.given(ahead)
        before, doubt = process.predict(asked)
        after, less = later.predict(asked)
        assert_allclose(after, before, atol=1e-6)
        assert (less <= doubt + 1e-9).all()
        there, here = process.predict(ahead)[1], later.predict(ahead)[1]
        assert (here < np.minimum(0.5 * there, 0.001 * process.signal)).all()
        assert len(process.values) == 10

    def test_identical_points_without_noise_are_no_obstacle(self) -> None:
        points = cube(1, 2, 0).take(np.zeros(30, dtype=np.int64))
        h = Hyperparameters((0.0, 0.0), 0.0, -40.0, 0.0)
        process = Process(points, np.linspace(-1, 1, 30), np.zeros(30), h)
        mean, variance = process.predict(points.take(np.array([0])))
        assert mean[0] == pytest.approx(0.0, abs=1e-3)
        assert 0.0 < variance[0] < 0.1
        assert all(np.isfinite(x).all() for x in (*process.leave_one_out(), process.at_points()))

    def test_it_learns_that_the_ends_are_poor_where_no_point_is_near(self) -> None:
        """Five axes and 60 points: a corner is far from all of them."""
        points = cube(60, 5, 3)
        far = ((2.0 * points.units - 1.0) ** 2).sum(axis=1)
        corners = Points(np.array([[1.0, 0.0, 1.0, 1.0, 0.0]]), points.unordered)
        for sign in (-1.0, 1.0):
            values = sign * (far - far.mean()) / far.std()
            process = Process(points, values, np.full(60, 0.3), Hyperparameters.prior(5))
            mean, _ = process.predict(corners)
            assert sign * mean[0] > 2.0

    def test_without_the_slope_it_is_the_kernel_of_near_points_alone(self) -> None:
        points, asked = cube(20, 3, 1), cube(5, 3, 2)
        process, h = fitted(points), some_hyperparameters(3)
        share = 1.0 / (1.0 + math.exp(-h.share))
        near = process.signal * correlation(points, points, np.exp(np.array(h.scales)), share)
        near += np.diag(process.noise + process.own)
        across = process.signal * correlation(asked, points, np.exp(np.array(h.scales)), share)
        level = process.without_slope()
        mean, variance = level.predict(asked)
        expected = level.mean + across @ np.linalg.solve(near, process.values - level.mean)
        assert_allclose(mean, expected, atol=1e-9)
        explained = np.einsum("ij,ji->i", across, np.linalg.solve(near, across.T))
        assert_allclose(variance, process.signal - explained, atol=1e-9)
        later = level.given(cube(2, 3, 5))
        assert_allclose(later.predict(asked)[0], mean, atol=1e-6)

    def test_nothing_asked_is_nothing_predicted(self) -> None:
        process = fitted(cube(10, 2, 0))
        assert [len(x) for x in process.predict(cube(0, 2, 0))] == [0, 0]


class TestSearch:
    @pytest.mark.parametrize(
        "points", [cube(40, 3, 2), placed(MIXED, 40, 2)], ids=["cube", "mixed"]
    )
    def test_it_ends_where_the_log_posterior_is_flat(self, points: Points) -> None:
        """A wrong gradient would end it elsewhere: the slope here is by finite differences."""
        values, noise = observed(points)
        d = len(points.unordered)
        start = some_hyperparameters(d)
        found = start
        for _ in range(5):
            found = Process.search(points, values, noise, found)
        height = log_posterior(found.as_array(), points, values, noise)
        assert height > log_posterior(start.as_array(), points, values, noise) + 0.1
        slope = approx_fprime(found.as_array(), log_posterior, 1e-6, points, values, noise)
        assert np.abs(slope).max() < 0.02
        steep = approx_fprime(start.as_array(), log_posterior, 1e-6, points, values, noise)
        assert np.abs(steep).max() > 0.5

    def test_an_axis_that_does_nothing_gets_a_long_scale(self) -> None:
        points = cube(80, 2, 3)
        values = np.sin(7.0 * points.units[:, 0])
        values = (values - values.mean()) / values.std()
        found = Process.search(points, values, np.full(80, 0.01), Hyperparameters.prior(2))
        assert found.scales[1] > found.scales[0] + 1.0

    def test_known_noise_is_not_taken_for_signal(self) -> None:
        points, rng = cube(80, 2, 3), np.random.default_rng(0)
        values = rng.standard_normal(80)
        prior = Hyperparameters.prior(2)
        loud = Process.search(points, values, np.full(80, 1.0), prior)
        quiet = Process.search(points, values, np.full(80, 1e-4), prior)
        assert max(loud.signal, loud.own) < -1.0
        assert np.logaddexp(quiet.signal, quiet.own) > -0.7

    def test_a_start_that_is_the_end_stays_there(self) -> None:
        points = cube(30, 2, 1)
        values, noise = observed(points)
        found = Hyperparameters.prior(2)
        for _ in range(6):
            found = Process.search(points, values, noise, found)
        again = Process.search(points, values, noise, found)
        assert_allclose(again.as_array(), found.as_array(), atol=0.02)

    def test_values_without_any_difference_are_no_obstacle(self) -> None:
        points = cube(20, 2, 0).take(np.repeat(np.arange(2), 10))
        found = Process.search(points, np.zeros(20), np.zeros(20), Hyperparameters.prior(2))
        assert np.isfinite(found.as_array()).all()

    def test_a_row_of_numbers_is_the_same_hyperparameters(self) -> None:
        h = some_hyperparameters(3)
        assert Hyperparameters.from_array(h.as_array()) == h


class TestSpreadSubset:
    def test_few_rows_are_all_taken(self) -> None:
        assert spread_subset(np.array([3.0, 1.0, 2.0]), 3).tolist() == [0, 1, 2]

    def test_half_are_the_heaviest_and_half_are_spread_over_the_rest(self) -> None:
        weights = np.ones(100)
        weights[[7, 50, 93]] = [5.0, 9.0, 7.0]
        # Of 97 others, those at the places 0, 48 and 96: the rows 0, 49 and 99.
        assert spread_subset(weights, 6).tolist() == [0, 7, 49, 50, 93, 99]

    @pytest.mark.parametrize("n", [1, 10, 11, 12, 19, 20, 21, 1000])
    @pytest.mark.parametrize("most", [2, 3, 10, 11])
    def test_no_row_comes_twice_and_never_too_many(self, n: int, most: int) -> None:
        rows = spread_subset(np.random.default_rng(n).random(n), most)
        assert len(rows) == len(set(rows.tolist())) == min(n, most)
        assert (np.diff(rows) > 0).all()
