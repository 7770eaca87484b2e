"""What figures of the past have across: time, or the number of requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from imabo.insight.drawings.base import Column, titled
from imabo.insight.snapshot import StudySnapshot
from imabo.settings import check_one_of

AXES: Final = ("time", "requests")
_CALENDAR: Final = 1e8  # seconds since 1970 (in 1973); clocks of simulations count from 0
_REQUESTS: Final = "requests"


@dataclass(frozen=True, slots=True)
class Across:
    """The axis across: where moments and counts lie on it.

    On a calendar, places are milliseconds since 1970, as Plotly counts them; by another clock,
    seconds since the study began.
    """

    kind: str
    began: float
    start: float
    end: float

    @property
    def is_date(self) -> bool:
        """Whether places are dates."""
        return self.kind == "date"

    def places(self, times: Column, pulls: Column) -> list[float | None]:
        """Where points of the past lie."""
        if self.kind == _REQUESTS:
            return list(pulls)
        return [None if at is None else self.place(at, 0.0) for at in times]

    def place(self, at: float, pulls: float) -> float:
        """Where a moment lies, at which there were so many pulls."""
        if self.kind == _REQUESTS:
            return pulls
        return float(round(1000.0 * at)) if self.is_date else at - self.began

    def axis(self) -> dict[str, Any]:
        """The axis of the layout."""
        if self.is_date:
            return titled("time (UTC)", type="date", hoverformat="%d %b %Y, %H:%M:%S")
        words = _REQUESTS if self.kind == _REQUESTS else "seconds by the study's clock"
        return titled(words, rangemode="tozero")


def across(snapshot: StudySnapshot, axis: str) -> Across:
    """The axis of a study's figures: ``"time"`` or ``"requests"``."""
    check_one_of("axis", axis, AXES)
    began, last = float(snapshot.history.at[0]), float(snapshot.history.at[-1])
    if axis == _REQUESTS:
        return Across(_REQUESTS, began, 0.0, float(snapshot.totals.n_pulls))
    if began < _CALENDAR:
        return Across("seconds", began, 0.0, last - began)
    return Across("date", began, float(round(1000.0 * began)), float(round(1000.0 * last)))


def spread(values: Sequence[float], gap: float) -> list[bool]:
    """Which of some places, in order, are far enough from the one before to be named."""
    last, found = -float("inf"), []
    for value in values:
        found.append(value - last >= gap)
        last = value if found[-1] else last
    return found
