"""When pulls are past their study's window."""

from __future__ import annotations

import math
from typing import Final

_SLACK: Final = 0.02  # a pull may outstay its window by this share of it, at most
_SHORTEST_TICK: Final = 2.0**-20  # seconds


class Expiry:
    """Knows when to look next for pulls that are past their window.

    Pulls expire at ticks: not one by one, and at the same ones whoever looks. A tick is a power of
    two, which keeps the arithmetic exact, so that a study that was closed and opened again expires
    the same pulls at the same requests as one that was not.

    Args:
        window_s: How long a pull may stay pending, above 0; None for ever.
        oldest_at: When the oldest pending pull was served, or a time that none of them is before.

    Attributes:
        due_at: The first tick at which a pull may be past its window.

    Example:
        >>> expiry = Expiry(100.0, oldest_at=1000.5)
        >>> expiry.due_at, expiry.limit(expiry.due_at)
        (1102.0, 1002.0)
    """

    def __init__(self, window_s: float | None, oldest_at: float) -> None:
        self._window_s = math.inf if window_s is None else window_s
        share = _SLACK * (window_s or 0.0)
        self._tick = max(math.ldexp(1.0, math.frexp(share)[1] - 1), _SHORTEST_TICK)
        self.put_oldest(oldest_at)

    def put_oldest(self, oldest_at: float) -> None:
        """Work out what is due next, from when the oldest pending pull was served."""
        if self._window_s == math.inf:
            self.due_at = math.inf
        else:
            self.due_at = (math.floor((oldest_at + self._window_s) / self._tick) + 1) * self._tick

    def limit(self, now: float) -> float:
        """Pulls that were served before this were past their window at the last tick."""
        return math.floor(now / self._tick) * self._tick - self._window_s
