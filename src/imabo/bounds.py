"""The KL upper confidence bound, for the policies' index and the oracles' coordinate bandit."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from imabo.arms import Floats, Ints

_EDGE = 1e-12  # means and bounds stay this far from 0 and 1, where the divergence is infinite
_FEW = 12  # rows up to which plain numbers are faster than arrays
_RARE = 0.25  # mean up to which the second bound of _bracket is closer than the first
SURELY = 1e-7  # far more than rounding and the end of a search can add to a bound
_STEPS = 4  # from the start below, the error after four steps is under 1e-8 (see the tests)


def kl_upper(means: Floats, budgets: Floats) -> Floats:
    """Largest q with kl(mean, q) <= budget, for Bernoulli divergence, elementwise.

    Args:
        means: Empirical means; values outside [0, 1] are clipped.
        budgets: The right-hand side, at least 0 (for an index: log(t / (K n)) / n).

    Example:
        >>> q = kl_upper(np.array([0.5, 0.9]), np.array([0.1, 0.1]))
        >>> [round(x, 3) for x in q.tolist()]
        [0.713, 0.983]
    """
    return _roots(*_bracket(means, budgets))


def contenders(means: Floats, budgets: Floats) -> Ints:
    """Rows whose ``kl_upper`` may be the highest; for a decision, which needs no others."""
    rows, _ = possible(means, budgets)
    if len(rows) > _FEW:
        roots = kl_upper(means[rows], budgets[rows])
        rows = rows[roots >= roots.max() - SURELY]
    return rows


def possible(means: Floats, budgets: Floats) -> tuple[Ints, Floats]:
    """``contenders`` before any of them is searched: a few rows more, at less cost; their bounds.

    An upper bound costs little, so only rows whose bound is above the root of the row that leads by
    it need to be searched at all.

    Example:
        >>> rows, bounds = possible(np.array([0.5, 0.9, 0.9]), np.array([0.1, 0.1, 0.1]))
        >>> rows.tolist(), round(float(bounds[0]), 3)
        ([1, 2], 1.041)
    """
    m = np.minimum(np.maximum(means, _EDGE), 1.0 - _EDGE)
    bounds = np.sqrt(np.minimum(0.5, 2.0 - 2.0 * m) * budgets)  # the first one of _bracket
    bounds += m
    # Not argmax: it lets go of the interpreter, and wakes every thread that waits for it in vain.
    first = (bounds == np.maximum.reduce(bounds)).nonzero()[0].item(0)
    best = kl_upper_of(means.item(first), budgets.item(first))
    rows: Ints = (bounds >= best - SURELY).nonzero()[0]
    if len(rows) <= _FEW or means.item(first) > _RARE:
        return rows, bounds[rows]
    m, budgets, bounds = m[rows], budgets[rows], bounds[rows]
    bounds = np.minimum(bounds, m + budgets + np.sqrt(budgets * (budgets + 2.0 * m)))
    is_left = bounds >= best - SURELY
    return rows[is_left], bounds[is_left]


def kl_upper_of(mean: float, budget: float, floor: float = 0.0) -> float:
    """``kl_upper`` of one arm; any number below ``floor`` when it is clearly below that.

    Decisions compare numbers of this function alone: arrays may be rounded otherwise.

    Example:
        >>> round(kl_upper_of(0.5, 0.1), 3), kl_upper_of(0.5, 0.1, floor=0.9) < 0.9
        (0.713, True)
    """
    m = min(max(mean, _EDGE), 1.0 - _EDGE)
    rest = 1.0 - m
    target = budget - (m * log(m) + rest * log(rest))
    start = min(  # as in _bracket
        m + sqrt(min(0.5, 2.0 * rest) * budget),
        m + budget + sqrt(budget * (budget + 2.0 * m)),
        1.0 - exp(-target / rest),
        1.0 - _EDGE,
    )
    q = start = max(start, m)
    for _ in range(_STEPS):
        if q < floor:
            break
        left, gap = 1.0 - q, q - m
        slack = m * log(q) + rest * log(left) + target
        q += slack * q * left / (gap if gap > _EDGE else _EDGE)
        if q < m:
            q = m
        elif q > start:
            q = start
    return q


def _roots(m: Floats, rest: Floats, target: Floats, start: Floats) -> Floats:
    # f(q) = kl(m, q) - budget is convex and increasing right of m: Newton falls to the root. It
    # stays below its start, so that the rounding of tiny budgets cannot carry it away.
    q, left, slack, gap = start.copy(), np.empty_like(m), np.empty_like(m), np.empty_like(m)
    for _ in range(_STEPS):  # in place, which takes a fifth less
        np.subtract(1.0, q, out=left)
        np.log(q, out=slack)
        np.log(left, out=gap)
        slack *= m
        gap *= rest
        slack += gap
        slack += target
        np.maximum(np.subtract(q, m, out=gap), _EDGE, out=gap)
        slack *= q
        slack *= left
        slack /= gap
        q += slack
        np.minimum(np.maximum(q, m, out=q), start, out=q)
    return q


def _bracket(means: Floats, budgets: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Means off the edges, their complements, the target of the search and where it starts."""
    m = np.minimum(np.maximum(means, _EDGE), 1.0 - _EDGE)
    rest = 1.0 - m
    # Start from above: each is an upper bound of the root, because for q > m
    # kl(m, q) >= 2 (q - m)^2, >= (q - m)^2 / (2 q), >= (q - m)^2 / (2 (1 - m)), and
    # kl(m, q) >= -entropy(m) - (1 - m) log(1 - q).
    target = budgets - (m * np.log(m) + rest * np.log(rest))
    start: Floats = m + np.sqrt(np.minimum(0.5, 2.0 * rest) * budgets)
    start = np.minimum(start, m + budgets + np.sqrt(budgets * (budgets + 2.0 * m)))
    start = np.minimum(start, 1.0 - np.exp(-target / rest))
    start = np.maximum(np.minimum(start, 1.0 - _EDGE), m)
    return m, rest, target, start
