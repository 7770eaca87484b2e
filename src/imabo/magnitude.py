"""How large rewards may be, so that everything that is worked out from them is a number.

A policy, a model or an interval takes sums of squares, variances, and products and quotients of
those. Up to ``LARGEST`` even fourth powers of rewards, times any number of rewards, are far from
the end of the floating-point numbers. New rewards and ranges are checked against it. Databases
from before may hold others: what enters a view is put within it here, once, and nothing that comes
later needs to think of it.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

LARGEST: Final = 1e60  # a reward, and an end of a range, either side of zero
NARROWEST: Final = 1e-60  # width of a range

Count = TypeVar("Count", float, NDArray[np.float64])


def usable_range(ends: tuple[float, float]) -> tuple[float, float]:
    """The ends of a range, moved where arithmetic can take them.

    Example:
        >>> usable_range((0.0, 5.0)), usable_range((0.0, 1e308)), usable_range((0.0, 5e-324))
        ((0.0, 5.0), (0.0, 1e+60), (0.0, 1e-60))
    """
    low, high = (min(max(end, -LARGEST), LARGEST) for end in ends)
    if not high - low >= NARROWEST:
        high = low + max(NARROWEST, 1e-3 * abs(low))
    return low, high


def usable_sum(total: Count, n: Count) -> Count:
    """A sum of n rewards (or an array of sums), at most what n of the largest ones give.

    Example:
        >>> usable_sum(2.5, 3.0), usable_sum(-1e155, 1.0), usable_sum(float("nan"), 2.0)
        (2.5, -1e+60, 0.0)
    """
    found: Count = _within(total, -LARGEST * n, LARGEST * n)
    return found


def usable_squares(squares: Count, n: Count) -> Count:
    """The sum of the squares of n rewards, within the same limit."""
    found: Count = _within(squares, 0.0 * n, LARGEST * LARGEST * n)
    return found


def _within(value: Any, low: Any, high: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.minimum(np.maximum(np.where(np.isnan(value), 0.0, value), low), high)
    return 0.0 if value != value else min(max(value, low), high)
