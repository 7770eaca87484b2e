"""Intervals for an arm's mean that hold at every moment of a run at once."""

from __future__ import annotations

import math

import numpy as np

from imabo import late_scipy
from imabo.arms import Bools, Floats, Ints

_HALVINGS = 60  # bisection steps: the bound is exact to the last bit long before
_SLACK = 1e-9  # more than the ends' rounding errors


def bounded_interval(n: Floats, sums: Floats, level: float) -> tuple[Floats, Floats]:
    """Confidence sequences for means of rewards in [0, 1], elementwise.

    The set of m for which the mixture martingale
    B(1/2 + S, 1/2 + n - S) / B(1/2, 1/2) / (m^S (1 - m)^(n - S)) stays below 1 / (1 - level).
    It is a supermartingale for any rewards in [0, 1] of mean m (Robbins 1970; Howard et al. 2021,
    "Time-uniform, nonparametric, nonasymptotic confidence sequences"), so by Ville's inequality
    the interval covers the mean at all n together with probability at least ``level``.

    Args:
        n: Number of rewards of each arm.
        sums: Their sums, in [0, n].
        level: Coverage, in (0, 1).

    Example:
        >>> low, high = bounded_interval(np.array([0.0, 100.0]), np.array([0.0, 80.0]), 0.95)
        >>> low.round(2).tolist(), high.round(2).tolist()
        ([0.0, 0.65], [1.0, 0.91])
    """
    martingale = _Mixture(n, sums, level)
    inner = np.array([martingale.centre, martingale.centre])
    outer = np.array([np.zeros_like(martingale.centre), np.ones_like(martingale.centre)])
    with np.errstate(divide="ignore", invalid="ignore"):  # a middle may round to 0 or 1
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            if ((middle == inner) | (middle == outer)).all():
                break  # no number lies between them any more
            out = martingale.leaves_out(middle)
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
    return outer[0], outer[1]


def contenders(n: Floats, sums: Floats, level: float, count: int) -> Ints:
    """Places of the arms whose lower ends may be among the highest ones, in order.

    A few more than ``count``, and surely those: use it where only the best of many arms, each with
    a reward, need the search for their ends in ``bounded_interval``.

    Example:
        >>> n, sums = np.full(5, 100.0), np.array([10.0, 80.0, 20.0, 95.0, 30.0])
        >>> contenders(n, sums, 0.95, 2).tolist()
        [1, 3]
    """
    if len(n) <= count:
        return np.arange(len(n))
    martingale = _Mixture(n, sums, level)
    centre = martingale.centre
    # Any arms will do to set the bar; those that a rough estimate prefers set it high.
    rough = centre - np.sqrt((centre * (1.0 - centre) + 1.0 / n) / n)
    first = np.argpartition(-rough, count - 1)[:count]
    bar = bounded_interval(n[first], sums[first], level)[0].min() - _SLACK
    if bar <= 0:
        return np.arange(len(n))
    above = (centre > bar) & martingale.leaves_out(np.full_like(centre, bar))
    above[first] = True
    return np.flatnonzero(above)


class _Mixture:
    """The martingale of ``bounded_interval`` for each arm."""

    def __init__(self, n: Floats, sums: Floats, level: float) -> None:
        self._sums = np.minimum(np.maximum(sums, 0.0), n)
        self._rest = n - self._sums
        self.centre = np.where(n > 0, self._sums / np.maximum(n, 1.0), 0.5)
        log_mixture = late_scipy.betaln(0.5 + self._sums, 0.5 + n - self._sums) - late_scipy.betaln(
            0.5, 0.5
        )
        self._limit = math.log(1.0 / (1.0 - level)) - log_mixture
        self._is_plain = bool((self._sums > 0).all() and (self._rest > 0).all())

    def leaves_out(self, m: Floats) -> Bools:
        """Which means it has reached its limit for."""
        if self._is_plain:
            return np.asarray(-self._sums * np.log(m) + -self._rest * np.log1p(-m) >= self._limit)
        # Guarded logarithms: S log m is 0 when S is 0, whatever m.
        cost = np.where(self._sums > 0, -self._sums * np.log(m), 0.0)
        cost += np.where(self._rest > 0, -self._rest * np.log1p(-m), 0.0)
        return np.asarray(cost >= self._limit)


def open_interval(
    n: Floats, means: Floats, variances: Floats, level: float
) -> tuple[Floats, Floats]:
    """Asymptotic confidence sequences for rewards without a range, elementwise.

    Waudby-Smith et al. 2024, "Time-uniform central limit theory and asymptotic confidence
    sequences", theorem 2.2, tuned to be tightest around 100 rewards. Unlike the bounded form its
    promise holds only as n grows; below two rewards it says nothing (infinite ends).
    """
    delta = 1.0 - level
    rho2 = (-2.0 * math.log(delta) + math.log(-2.0 * math.log(delta) + 1.0)) / 100.0
    m = np.maximum(n, 1.0)
    width = np.sqrt(
        variances
        * 2.0
        * (m * rho2 + 1.0)
        / (m * m * rho2)
        * np.log(np.sqrt(m * rho2 + 1.0) / delta)
    )
    width = np.where(n >= 2, width, np.inf)
    centre = np.where(n > 0, means, 0.0)
    return centre - width, centre + width
