"""Bets of fixed sizes on scores with known ends: what the betting sequences add up.

For scores x_t with conditional means mu_t, and a centre m_t that is known before x_t is seen,
z_t = x_t - m_t. A bet of size lambda that the scores are higher multiplies its capital by
1 + lambda z_t, whose mean is 1 + lambda (mu_t - m_t) <= exp(lambda (mu_t - m_t)). So

    K_n(d) = sum_j w_j exp( sum_t log(1 + lambda_j z_t) - lambda_j sum_t (mu_t - m_t) )    (capital)

is a supermartingale that starts at sum_j w_j = 1, whatever the means do over time, as long as each
1 + lambda_j z_t is positive. The sizes are the same for all, so the logarithms of separate
stretches add up, and a window's are a difference of two sums.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SIZES: Final[Floats] = 1.9 * 1.5 ** -np.arange(24.0)  # lambda_j, of scores that differ by about 1
RUIN: Final = -1e6  # what is added to the logarithm of a bet that could lose more than it has
_SAFE: Final = 0.99  # the most that a bet may lose at once
_AIM: Final = 5.0  # log of the capital that the best size of a bet is sought for
_STEPS: Final = 100  # Newton's: he needs about ten


def log_gains(z: Floats, below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Logarithms of what each bet earns on each score: that it is higher, and that it is lower.

    Args:
        z: Scores less their centres.
        below: How far below its centre each score could have been at most, known before it.
        above: How far above.
    """
    return _gains(z, below), _gains(-z, above)


def _gains(z: Floats, risk: Floats) -> Floats:
    safe = SIZES * risk[:, None] <= _SAFE
    return np.where(safe, np.log1p(np.where(safe, SIZES * z[:, None], 0.0)), RUIN)


def log_weights(variance: float, risk: float, rewards: float, spread: float = 1.0) -> Floats:
    """How much of the capital each size starts with, fixed before the first score; eq. (weights).

    Most of it goes where the bets are best after so many rewards of that variance, with tails that
    make the sequence tight over a wide range around it.

    Args:
        variance: Expected variance of the scores.
        risk: How far a score may be from its centre at the start; larger bets get nothing.
        rewards: Number of scores to be tightest at.
        spread: Of the sizes around the best one, in logarithms.
    """
    best = math.sqrt(2.0 * _AIM / (variance * rewards))
    return weights_around(best, risk, spread)


def weights_around(best: float, risk: float, spread: float) -> Floats:
    """Weights with a peak at one size of bets; eq. (weights)."""
    weights = 1.0 / (1.0 + (np.log(SIZES / best) / spread) ** 2)
    weights[SIZES * risk > _SAFE] = 0.0
    if not weights.any():  # a share so small that no bet is safe: one that is surely given up
        weights[-1] = 1.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(weights / weights.sum()))


def log_capital(gains: Floats, drift: Floats, weights: Floats) -> Floats:
    """The logarithm of eq. (capital) where the sum of mu_t - m_t is ``-drift``, row by row."""
    return _log_sum(weights + gains + SIZES * np.asarray(drift)[..., None])


def reach(gains: Floats, n: Floats, weights: Floats, limit: float) -> Floats:
    """How far below its mean centre the mean may be until the capital reaches a limit.

    The d with log K = limit where the sum of mu_t - m_t is -n d; row by row. The logarithm of a sum
    of exponentials is convex and rises in d, so Newton's steps from above come down to it.

    Args:
        gains: Sums of the logarithms of each bet's gains, one row for each case.
        n: Number of scores of each row; without any, d is infinite.
        weights: Logarithms of the weights.
        limit: Logarithm of the capital to reach, above 0.
    """
    start = weights + gains
    slope = SIZES * n[:, None]
    far = np.full(len(n), np.inf)
    some = n > 0
    if not some.any():
        return far
    start, slope = start[some], slope[some]
    d: Floats = np.min((limit - start) / slope, axis=1)  # one bet alone has reached it there
    for _ in range(_STEPS):
        powers = start + slope * d[:, None]
        total = _log_sum(powers)
        step = (total - limit) / (np.exp(powers - total[:, None]) * slope).sum(axis=1)
        d = d - step
        if (np.abs(step) <= 1e-12 * (1.0 + np.abs(d))).all():
            break
    far[some] = d
    return far


def _log_sum(powers: Floats) -> Floats:
    """Logarithm of the sum of exponentials over the last axis; SciPy's takes ten times as long."""
    top = powers.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(powers - top).sum(axis=-1)) + top[..., 0])
