"""What several short rounds say: medians, and how far the rounds lie apart."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from imabo_bench.service.load import Load
from imabo_bench.timing import Line


@dataclass(frozen=True, slots=True)
class Ratios:
    """A ratio in each round: of what was measured side by side, within seconds.

    Example:
        >>> ratios = Ratios((0.5, 0.7, 0.6))
        >>> ratios.median, str(ratios)
        (0.6, '0.50..0.70 in 3 rounds')
    """

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The ratio that is told."""
        return statistics.median(self.values)

    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        return f"{low:.2f}..{high:.2f} in {len(self.values)} rounds"


def rates(ours: Sequence[Load], theirs: Sequence[Load]) -> Ratios:
    """Requests a second against requests a second, round by round."""
    return Ratios(tuple(a.rate / b.rate for a, b in zip(ours, theirs, strict=True)))


def tails(ours: Sequence[Load], theirs: Sequence[Load]) -> Ratios:
    """p99 against p99, round by round."""
    return Ratios(tuple(a.p99_ms / b.p99_ms for a, b in zip(ours, theirs, strict=True)))


def rate_line(
    claim: str, ours: Sequence[Load], theirs: Sequence[Load], bar: float | None = None
) -> Line:
    """That something is at least so fast, in requests a second."""
    found = rates(ours, theirs)
    told = " vs ".join(
        f"{statistics.median(x.rate for x in side):,.0f}/s" for side in (ours, theirs)
    )
    return Line(claim, found.median, bar, True, f"{told}; {found}")


def tail_line(
    claim: str, ours: Sequence[Load], theirs: Sequence[Load], bar: float | None = None
) -> Line:
    """That something takes at most so long, at the 99th percentile."""
    found = tails(ours, theirs)
    told = " vs ".join(
        f"{statistics.median(x.p99_ms for x in side):.1f} ms" for side in (ours, theirs)
    )
    return Line(claim, found.median, bar, False, f"p99 {told}; {found}")
