"""Counting values in buckets, cheaply enough for every request."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


class Histogram:
    """How many values fell up to each bound, and their sum.

    Args:
        bounds: Upper ends of the buckets, rising; one more takes what is above them all.

    Example:
        >>> sizes = Histogram([1, 10])
        >>> for size in (1, 4, 7, 99):
        ...     sizes.observe(size)
        >>> sizes.counts, sizes.total
        ([1, 2, 1], 111.0)
    """

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        """Count a value. For one thread, as all that is cheap."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, counts: Sequence[int], total: float) -> None:
        """Add what another process counted with the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, counts, strict=True)]
        self.total += total

    def buckets(self) -> list[tuple[str, float]]:
        """Bounds as text and how many values are at most that, as Prometheus wants them."""
        rows, n = [], 0
        for bound, count in zip(
            [*map(repr, map(float, self.bounds)), "+Inf"], self.counts, strict=True
        ):
            n += count
            rows.append((bound, float(n)))
        return rows
