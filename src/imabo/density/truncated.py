"""Normal distributions cut off at the ends of [0, 1], safe far out in the tails.

All functions broadcast like NumPy's own and take any finite mean, inside [0, 1] or not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp

Floats = NDArray[np.float64]

LOG_SQRT_TAU = 0.5 * math.log(2.0 * math.pi)
# Standard deviations below which the plain distribution function starts to underflow.
_TAIL = -36.0
_TINY = 1e-300
# A difference of two numbers this close (relatively) has lost too many digits.
_NARROW = 1e-5


def log_mass(a: Floats, b: Floats) -> Floats:
    """Log of the standard normal's probability of [a, b].

    Use it for cells of any width at any distance from 0; an empty cell gives -inf.

    Args:
        a: Left ends, a <= b.
        b: Right ends.

    Example:
        >>> round(float(np.exp(log_mass(np.array(-1.0), np.array(1.0)))), 4)
        0.6827
        >>> round(float(log_mass(np.array(60.0), np.array(61.0))), 2)
        -1805.01
    """
    middle, half = 0.5 * (a + b), 0.5 * (b - a)
    # Mirror into the left tail, where differences of the distribution function keep their digits.
    middle = -np.abs(middle)
    left, right = middle - half, middle + half
    with np.errstate(divide="ignore", under="ignore"):
        high = ndtr(right)
        mass = np.asarray(high - ndtr(left))
        out = np.asarray(np.log(mass))
        # Few digits are left in a narrow cell, none in the far tail: redo those.
        weak = mass <= np.maximum(_NARROW * high, _TINY)
        if weak.any():
            out[weak] = _log_mass_weak(middle[weak], half[weak])
    return out


def _log_mass_weak(middle: Floats, half: Floats) -> Floats:
    # Width times height, exact to about 1e-11 for a cell on which the density hardly changes.
    flat = np.log(2.0 * half) - 0.5 * middle * middle - LOG_SQRT_TAU
    high = log_ndtr(middle + half)
    tail = high + np.log(-np.expm1(log_ndtr(middle - half) - high))
    return np.where(half * np.maximum(1.0, -middle) < _NARROW, flat, tail)


def log_normaliser(mean: Floats, sigma: Floats) -> Floats:
    """Log of the probability that the untruncated normal gives to [0, 1].

    Use it once per kernel; every density and every cell of that kernel is divided by it.

    Args:
        mean: Centres, finite.
        sigma: Standard deviations, > 0.

    Example:
        >>> round(float(np.exp(log_normaliser(np.array(0.0), np.array(0.1)))), 4)
        0.5
    """
    return log_mass(-mean / sigma, (1.0 - mean) / sigma)


def log_pdf(x: Floats, mean: Floats, sigma: Floats) -> Floats:
    """Log density at x of the normal truncated to [0, 1]; -inf outside.

    Args:
        x: Points.
        mean: Centres, finite.
        sigma: Standard deviations, > 0.

    Example:
        >>> flat = log_pdf(np.array([0.0, 0.5, 2.0]), np.array(0.5), np.array(100.0))
        >>> [round(float(v), 3) + 0.0 for v in flat]
        [0.0, 0.0, -inf]
    """
    z = (x - mean) / sigma
    inside = -0.5 * z * z - np.log(sigma) - LOG_SQRT_TAU - log_normaliser(mean, sigma)
    return np.where((x >= 0.0) & (x <= 1.0), inside, -np.inf)


def log_interval(lo: Floats, hi: Floats, mean: Floats, sigma: Floats) -> Floats:
    """Log probability of the cell [lo, hi] under the normal truncated to [0, 1].

    Args:
        lo: Left edges, in [0, 1].
        hi: Right edges, in [lo, 1].
        mean: Centres, finite.
        sigma: Standard deviations, > 0.

    Example:
        >>> half = log_interval(np.array(0.0), np.array(0.5), np.array(0.5), np.array(0.2))
        >>> round(float(np.exp(half)), 6)
        0.5
    """
    return log_mass((lo - mean) / sigma, (hi - mean) / sigma) - log_normaliser(mean, sigma)


def quantile(q: Floats, mean: Floats, sigma: Floats) -> Floats:
    """The point of [0, 1] below which the truncated normal has probability q.

    Use it with uniform q to draw a sample.

    Args:
        q: Probabilities, in [0, 1].
        mean: Centres, finite.
        sigma: Standard deviations, > 0.

    Example:
        >>> round(float(quantile(np.array(0.5), np.array(0.5), np.array(0.1))), 6)
        0.5
    """
    # Right of the middle of [0, 1], mirror: again the left tail keeps its digits.
    flip = mean < 0.5
    centre = np.where(flip, 1.0 - mean, mean)
    below = np.where(flip, 1.0 - q, q)
    a, b = -centre / sigma, (1.0 - centre) / sigma
    with np.errstate(under="ignore"):
        low, high = ndtr(a), ndtr(b)
        z = ndtri(low + below * (high - low))
    tail = b < _TAIL
    if tail.any():
        log_low, log_high = log_ndtr(a), log_ndtr(b)
        with np.errstate(divide="ignore", under="ignore"):
            share = np.log(below + (1.0 - below) * np.exp(log_low - log_high))
        z = np.where(tail, ndtri_exp(np.where(tail, log_high + share, -1.0)), z)
    inside = np.clip(centre + sigma * z, 0.0, 1.0)
    return np.where(flip, 1.0 - inside, inside)
