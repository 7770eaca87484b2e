"""What is shown besides the best arm and the lift: serving at random, and the table of arms."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo_bench.claims.base import Comparison, Evidence, Finding, mean_and_error

_WHAT: Final = {
    "random_covered": "the interval of serving at random holds its mean",
    "arms_covered": "the interval of an arm holds its mean",
    "top_covered": "that of an arm in the table's first ten rows does",
    "top_sure": "an arm of these rows is above what it is surely above",
    "random_error": "the mean of serving at random",
    "top_error": "the estimate of an arm in the table's first ten rows",
}


@dataclass(frozen=True)
class _Shown(Comparison):
    """A column of the runs of one method on one problem, at some moments.

    Args:
        column: See ``imabo_bench.shown``; the share within a run, where a run has many of it.
        method: With a control.
        problem: Where.
        moments: Rounds.
    """

    column: str
    method: str
    problem: str
    moments: tuple[int, ...]

    def check(self, evidence: Evidence) -> list[Finding]:
        """A finding each moment."""
        rows = list(evidence.rows(self.problem, self.method).values())
        return [self._check(rows, moment) for moment in self.moments]

    @abstractmethod
    def _check(self, rows: list[dict[str, object]], moment: int) -> Finding: ...


@dataclass(frozen=True)
class Holds(_Shown):
    """Something shown is true in a share of the runs, at each moment.

    Args:
        least: The least share, less two standard errors of as many runs; None decides nothing.
    """

    least: float | None = 0.93

    def _check(self, rows: list[dict[str, object]], moment: int) -> Finding:
        known = known_at(rows, self.column, moment)
        what = f"{self.problem}, {self.method}: {_WHAT[self.column]}"
        if not known:
            return Finding(None, f"{what}: not shown after {moment} requests")
        share = float(np.mean(known))
        words = f"{what} in {share:.3f} of {len(known)} runs after {moment} requests"
        if self.least is None:
            return Finding(None, f"{words}, shown only")
        slack = 2.0 * float(np.sqrt(self.least * (1.0 - self.least) / len(known)))
        return Finding(
            share >= self.least - slack, f"{words}, at least {self.least:g} - {slack:.3f}"
        )


@dataclass(frozen=True)
class Right(_Shown):
    """A mean that is shown is right on average, over the runs that show one.

    Args:
        most: How far it may be off; None decides nothing.
    """

    most: float | None

    def _check(self, rows: list[dict[str, object]], moment: int) -> Finding:
        known = known_at(rows, self.column, moment)
        what = f"{self.problem}, {self.method}: {_WHAT[self.column]}"
        if not known:
            return Finding(None, f"{what} is not shown after {moment} requests")
        mean, error = mean_and_error(known)
        words = f"{what} is off by {mean:+.4f} ± {error:.4f} after {moment} requests"
        words += f", in {len(known)} of {len(rows)} runs that show it"
        if self.most is None:
            return Finding(None, f"{words}, shown only")
        return Finding(abs(mean) <= self.most, f"{words}, at most {self.most:g}")


def known_at(rows: list[dict[str, object]], column: str, moment: int) -> list[float]:
    """The values of a column at a round, of the runs that have one."""
    found = []
    for row in rows:
        values, times = row[column], row["checkpoints"]
        if not isinstance(values, list) or not isinstance(times, list):
            raise TypeError(f"{column} of a row is {values!r}")  # they are columns
        value = values[times.index(moment)] if values else None
        if value is not None:
            found.append(float(value))
    return found
