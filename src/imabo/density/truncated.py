"""Normal distributions cut off at the ends of [0, 1], safe far out in the tails.

All functions broadcast like NumPy's own and take any finite mean, inside [0, 1] or not.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from imabo import late_scipy

Floats = NDArray[np.float64]

LOG_SQRT_TAU = 0.5 * math.log(2.0 * math.pi)
# Standard deviations below which the plain distribution function starts to underflow.
_TAIL = -36.0
_TINY = 1e-300
# A difference of two numbers this close (relatively) has lost too many digits.
_NARROW = 1e-5


def log_mass(a: Floats, b: Floats) -> Floats:
    """Log of the standard normal's probability of [a, b], at any distance from 0; -inf if empty.

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
        high = late_scipy.ndtr(right)
        mass = np.asarray(high - late_scipy.ndtr(left))
        out = np.asarray(np.log(mass))
        # Few digits are left in a narrow cell, none in the far tail: redo those.
        weak = mass <= np.maximum(_NARROW * high, _TINY)
        if weak.any():
            out[weak] = _log_mass_weak(middle[weak], half[weak])
    return out


def _log_mass_weak(middle: Floats, half: Floats) -> Floats:
    # Width times height, exact to about 1e-11 for a cell on which the density hardly changes.
    flat = np.log(2.0 * half) - 0.5 * middle * middle - LOG_SQRT_TAU
    high = late_scipy.log_ndtr(middle + half)
    tail = high + np.log(-np.expm1(late_scipy.log_ndtr(middle - half) - high))
    return np.where(half * np.maximum(1.0, -middle) < _NARROW, flat, tail)


def log_normaliser(mean: Floats, sigma: Floats) -> Floats:
    """Log of the probability that the untruncated normal gives to [0, 1]: divide by it."""
    return log_mass(-mean / sigma, (1.0 - mean) / sigma)


def quantile(q: Floats, mean: Floats, sigma: Floats) -> Floats:
    """The point of [0, 1] below which the truncated normal has probability q."""
    # Right of the middle of [0, 1], mirror: again the left tail keeps its digits.
    flip = mean < 0.5
    centre = np.where(flip, 1.0 - mean, mean)
    below = np.where(flip, 1.0 - q, q)
    a, b = -centre / sigma, (1.0 - centre) / sigma
    with np.errstate(under="ignore"):
        low, high = late_scipy.ndtr(a), late_scipy.ndtr(b)
        z = late_scipy.ndtri(low + below * (high - low))
    tail = b < _TAIL
    if tail.any():
        log_low, log_high = late_scipy.log_ndtr(a), late_scipy.log_ndtr(b)
        with np.errstate(divide="ignore", under="ignore"):
            share = np.log(below + (1.0 - below) * np.exp(log_low - log_high))
        z = np.where(tail, late_scipy.ndtri_exp(np.where(tail, log_high + share, -1.0)), z)
    inside = np.clip(centre + sigma * z, 0.0, 1.0)
    return np.where(flip, 1.0 - inside, inside)
