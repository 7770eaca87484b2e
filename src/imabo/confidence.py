"""Intervals for an arm's mean that hold at every moment of a run at once."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln

from imabo.arms import Floats

_HALVINGS = 60  # bisection steps: the bound is exact to the last bit long before


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
    sums = np.minimum(np.maximum(sums, 0.0), n)
    centre = np.where(n > 0, sums / np.maximum(n, 1.0), 0.5)
    log_mixture = betaln(0.5 + sums, 0.5 + n - sums) - betaln(0.5, 0.5)
    limit = math.log(1.0 / (1.0 - level)) - log_mixture

    def outside(m: Floats) -> Floats:
        # Guarded logarithms: S log m is 0 when S is 0, whatever m.
        with np.errstate(divide="ignore", invalid="ignore"):
            cost = np.where(sums > 0, -sums * np.log(m), 0.0)
            cost += np.where(n - sums > 0, -(n - sums) * np.log1p(-m), 0.0)
        return np.asarray(cost >= limit, dtype=np.float64)

    def edge(far: Floats) -> Floats:
        inner, outer = centre, far
        for _ in range(_HALVINGS):
            middle = 0.5 * (inner + outer)
            out = outside(middle) > 0
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
        return outer

    return edge(np.zeros_like(centre)), edge(np.ones_like(centre))


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
