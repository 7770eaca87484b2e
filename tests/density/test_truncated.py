"""Truncated normals against SciPy's, by hand, and far out in the tails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import truncnorm

from imabo.density.truncated import LOG_SQRT_TAU, Floats, log_mass, log_normaliser, quantile

MEANS = [-0.5, 0.0, 0.03, 0.5, 0.8, 1.0, 1.7]
SIGMAS = [0.01, 0.1, 0.4, 1.0]


def log_pdf(x: Floats, mean: Floats, sigma: Floats) -> Floats:
    """Log density at x of the normal truncated to [0, 1]; -inf outside."""
    z = (x - mean) / sigma
    inside = -0.5 * z * z - np.log(sigma) - LOG_SQRT_TAU - log_normaliser(mean, sigma)
    return np.where((x >= 0.0) & (x <= 1.0), inside, -np.inf)


def log_interval(lo: Floats, hi: Floats, mean: Floats, sigma: Floats) -> Floats:
    """Log probability of the cell [lo, hi] under the normal truncated to [0, 1]."""
    return log_mass((lo - mean) / sigma, (hi - mean) / sigma) - log_normaliser(mean, sigma)


def arr(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("sigma", SIGMAS)
def test_log_pdf_agrees_with_scipy(mean: float, sigma: float) -> None:
    x = np.linspace(0.0, 1.0, 41)
    reference = truncnorm(-mean / sigma, (1.0 - mean) / sigma, loc=mean, scale=sigma)
    np.testing.assert_allclose(log_pdf(x, arr(mean), arr(sigma)), reference.logpdf(x), rtol=1e-9)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("sigma", [0.1, 0.4, 1.0])
def test_cells_agree_with_scipys_distribution_function(mean: float, sigma: float) -> None:
    edges = np.linspace(0.0, 1.0, 12)
    reference = truncnorm(-mean / sigma, (1.0 - mean) / sigma, loc=mean, scale=sigma)
    ours = np.exp(log_interval(edges[:-1], edges[1:], arr(mean), arr(sigma)))
    np.testing.assert_allclose(ours, np.diff(reference.cdf(edges)), rtol=1e-8, atol=1e-13)
    assert ours.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("sigma", SIGMAS)
def test_quantile_agrees_with_scipy(mean: float, sigma: float) -> None:
    q = np.linspace(0.0, 1.0, 41)
    reference = truncnorm(-mean / sigma, (1.0 - mean) / sigma, loc=mean, scale=sigma)
    ours = quantile(q, arr(mean), arr(sigma))
    np.testing.assert_allclose(ours, reference.ppf(q), rtol=0.0, atol=1e-8)
    assert ours.min() >= 0.0
    assert ours.max() <= 1.0


def test_log_pdf_by_hand_at_the_centre_of_a_kernel_as_wide_as_the_interval() -> None:
    # Φ(1/2) - Φ(-1/2) = 0.3829249..., φ(0) = 0.3989423...
    expected = math.log(0.3989422804014327 / 0.38292492254802624)
    assert float(log_pdf(arr(0.5), arr(0.5), arr(1.0))[0]) == pytest.approx(expected, abs=1e-12)


def test_log_pdf_is_minus_infinity_outside() -> None:
    assert np.isneginf(log_pdf(arr(-0.1, 1.1), arr(0.5), arr(0.2))).all()


def test_normaliser_of_a_narrow_kernel_is_one_inside_and_a_half_on_the_edge() -> None:
    got = np.exp(log_normaliser(arr(0.5, 0.0, 1.0), arr(0.01)))
    np.testing.assert_allclose(got, [1.0, 0.5, 0.5], atol=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_mass_far_in_either_tail_follows_the_asymptotic_series(sign: float) -> None:
    # P(Z > a) = φ(a)/a · (1 - 1/a² + 3/a⁴ - ...); the far end of the cell adds nothing.
    a, b = 60.0, 70.0
    expected = -a * a / 2 - 0.5 * math.log(2 * math.pi) - math.log(a) + math.log1p(-1 / a**2)
    ends = sorted([sign * a, sign * b])
    assert float(log_mass(arr(ends[0]), arr(ends[1]))[0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("centre", [0.0, 1.0, -5.0, 30.0, -80.0])
@pytest.mark.parametrize("width", [1e-13, 1e-9, 1e-7, 1e-6])
def test_tiny_cells_are_height_times_width(centre: float, width: float) -> None:
    a, b = arr(centre - width / 2), arr(centre + width / 2)
    expected = np.log(b - a) - centre**2 / 2 - 0.5 * math.log(2 * math.pi)
    np.testing.assert_allclose(log_mass(a, b), expected, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("centre", [0.0, -3.0, 20.0, -35.9, 37.0, -90.0])
def test_mass_is_additive_where_one_formula_hands_over_to_the_next(centre: float) -> None:
    for width in np.geomspace(1e-8, 1.0, 33):
        ends = centre + width * np.array([-0.5, 0.0, 0.5])
        left, right = log_mass(ends[:1], ends[1:2]), log_mass(ends[1:2], ends[2:])
        whole = log_mass(ends[:1], ends[2:])
        np.testing.assert_allclose(np.logaddexp(left, right), whole, rtol=0.0, atol=1e-7)


def test_an_empty_cell_has_no_mass() -> None:
    assert np.isneginf(log_mass(arr(0.3, -50.0, 50.0), arr(0.3, -50.0, 50.0))).all()


@pytest.mark.parametrize("mean", [-3.0, 4.0])
def test_quantile_of_a_mean_hundreds_of_deviations_away_inverts_the_cells(mean: float) -> None:
    q = np.linspace(0.05, 0.95, 10)
    x = quantile(q, arr(mean), arr(0.01))
    back = np.exp(log_interval(np.zeros_like(x), x, arr(mean), arr(0.01)))
    np.testing.assert_allclose(back, q, rtol=1e-6)
