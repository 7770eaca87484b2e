"""The KL upper confidence bound, for the policies' index and the oracles' coordinate bandit."""

from __future__ import annotations

import numpy as np

from imabo.arms import Floats

_EDGE = 1e-12  # means and bounds stay this far from 0 and 1, where the divergence is infinite
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
    # f(q) = kl(m, q) - budget is convex and increasing right of m: Newton falls to the root. It
    # stays below its start, so that the rounding of tiny budgets cannot carry it away.
    q = start
    for _ in range(_STEPS):
        left = 1.0 - q
        slack = m * np.log(q) + rest * np.log(left) + target
        q = q + slack * q * left / np.maximum(q - m, _EDGE)
        q = np.minimum(np.maximum(q, m), start)
    return q
