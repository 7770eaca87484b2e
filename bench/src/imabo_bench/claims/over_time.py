"""Comparisons of runs in which the world changes, or in which it must not seem to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo_bench.claims.base import Comparison, Evidence, Finding, mean_and_error
from imabo_bench.play import FAR, Row

_STRETCH: Final = 50  # rounds between two checkpoints of a world that changes


def _between(row: Row, column: str, start: int, end: int) -> float:
    """How much a cumulative column grew between two checkpoints."""
    places = [row["checkpoints"].index(t) for t in (start, end)]
    first, last = (row[column][place] for place in places)
    return float(last - first)


@dataclass(frozen=True)
class Share(Comparison):
    """A method earns at least a share of what the best at that moment would, in a stretch."""

    method: str
    problems: tuple[str, ...]
    start: int
    end: int
    least: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem in self.problems:
            rows = evidence.rows(problem, self.method).values()
            shares = [
                _between(row, "earned", self.start, self.end)
                / _between(row, "attainable", self.start, self.end)
                for row in rows
            ]
            mean, error = mean_and_error(shares)
            words = (
                f"{problem}: {self.method} earns {mean:.3f} ± {error:.3f} of the best in rounds "
                f"{self.start} to {self.end} (lowest {min(shares):.3f}), at least {self.least:g}"
            )
            found.append(Finding(mean >= self.least, f"{words} ({len(shares)} seeds)"))
        return found


@dataclass(frozen=True)
class Traffic(Comparison):
    """What fell has less than a share of the traffic, so long after."""

    method: str
    problems: tuple[str, ...]
    start: int
    end: int
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem in self.problems:
            rows = evidence.rows(problem, self.method).values()
            n = self.end - self.start
            shares = [_between(row, "watched", self.start, self.end) / n for row in rows]
            mean, error = mean_and_error(shares)
            words = (
                f"{problem}: the fallen choice has {mean:.3f} ± {error:.3f} of the traffic of "
                f"{self.method} in rounds {self.start} to {self.end} (highest {max(shares):.2f})"
            )
            holds = mean < self.most
            found.append(Finding(holds, f"{words}, less than {self.most:g} ({len(shares)} seeds)"))
        return found


@dataclass(frozen=True)
class FoundRise(Comparison):
    """What rose has most of the traffic within so many rounds, in a share of all runs."""

    method: str
    problems: tuple[str, ...]
    changed: int
    within: int
    least: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding for all problems, and one each that is shown only."""
        each = {
            problem: [self._rounds(row) for row in evidence.rows(problem, self.method).values()]
            for problem in self.problems
        }
        runs = [rounds for found in each.values() for rounds in found]
        share = float(np.mean([rounds is not None for rounds in runs]))
        words = f"{self.method} finds the risen choice within {self.within} rounds in {share:.2f}"
        findings = [
            Finding(share >= self.least, f"{words} of {len(runs)} runs, at least {self.least:g}")
        ]
        for problem, found in each.items():
            known = sorted(rounds for rounds in found if rounds is not None)
            middle = f", after {known[len(known) // 2]} in the middle" if known else ""
            findings.append(Finding(None, f"{problem}: {len(known)} of {len(found)}{middle}"))
        return findings

    def _rounds(self, row: Row) -> int | None:
        """Rounds until most of a stretch goes to the risen choice; None when too late."""
        for end in range(self.changed + _STRETCH, self.changed + self.within + 1, _STRETCH):
            if _between(row, "watched", end - _STRETCH, end) > _STRETCH / 2:
                return end - self.changed
        return None


@dataclass(frozen=True)
class FewAlarms(Comparison):
    """A method sees changes where there are none in at most a share of all runs."""

    method: str
    problems: tuple[str, ...]
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding for all problems, and one each that had one."""
        alarms = {
            problem: [row["alarms"] for row in evidence.rows(problem, self.method).values()]
            for problem in self.problems
        }
        n_runs = sum(len(runs) for runs in alarms.values())
        n_false = sum(bool(run) for runs in alarms.values() for run in runs)
        words = f"{self.method} sees a change that is none in {n_false} of {n_runs} runs"
        share = f"at most {self.most:g} of them"
        findings = [Finding(n_false <= self.most * n_runs, f"{words}, {share}")]
        for problem, runs in alarms.items():
            seen = [run for run in runs if run]
            if seen:
                findings.append(Finding(None, f"{problem}: {len(seen)} of {len(runs)}, at {seen}"))
        return findings


@dataclass(frozen=True)
class Covers(Comparison):
    """The interval of a method's best arm has that arm's mean of the moment in it, in most runs."""

    method: str
    problems: tuple[str, ...]
    rounds: tuple[int, ...]
    least: float
    decides: bool = True

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a round; a share that may be lower by chance holds, up to two errors."""
        return [self._check(evidence, t) for t in self.rounds]

    def _check(self, evidence: Evidence, t: int) -> Finding:
        covered, widths = [], []
        for problem in self.problems:
            for row in evidence.rows(problem, self.method).values():
                place = row["checkpoints"].index(t)
                covered.append(bool(row["covered"][place]))
                widths.append(float(row["width"][place]))
        share, n = float(np.mean(covered)), len(covered)
        slack = 2.0 * float(np.sqrt(self.least * (1.0 - self.least) / n))
        where = f"{self.problems[0]}: " if len(self.problems) == 1 else ""
        words = (
            f"{where}after {t} requests the interval of {self.method} covers in {sum(covered)} "
            f"of {n} runs ({share:.3f}; {np.mean(widths):.2f} wide on average)"
        )
        if not self.decides:
            return Finding(None, f"{words}, shown only")
        return Finding(
            share >= self.least - slack, f"{words}, at least {self.least:g} - {slack:.3f}"
        )


@dataclass(frozen=True)
class Unflattered(Comparison):
    """What a method says that the mean of its best arm is, is right on average."""

    method: str
    problem: str
    rounds: tuple[int, ...]
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a round."""
        return [self._check(evidence, t) for t in self.rounds]

    def _check(self, evidence: Evidence, t: int) -> Finding:
        rows = evidence.rows(self.problem, self.method).values()
        errors = [float(row["error"][row["checkpoints"].index(t)]) for row in rows]
        mean, error = mean_and_error(errors)
        return Finding(
            abs(mean) <= self.most,
            f"{self.problem}: after {t} requests the mean that {self.method} shows is off by "
            f"{mean:+.4f} ± {error:.4f} over {len(errors)} runs, at most {self.most:g}",
        )


@dataclass(frozen=True)
class FewLocked(Comparison):
    """Few runs serve mostly a clearly worse arm (by ``play.FAR``) in their last tenth.

    How many lose half as much a round there is said as well: so do runs that serve what is nearly
    as bad all the time.
    """

    method: str
    problems: Sequence[str]
    rounds: int
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding for all problems."""
        start = round(0.9 * self.rounds)
        n = self.rounds - start
        rows = [row for name in self.problems for row in evidence.rows(name, self.method).values()]
        n_locked = sum(_between(row, "far", start, self.rounds) > 0.5 * n for row in rows)
        n_losing = sum(_between(row, "regret", start, self.rounds) >= 0.5 * FAR * n for row in rows)
        found = (
            f"{n_locked} of {len(rows)} runs of {self.method} still serve mostly what is {FAR:g}"
        )
        bar = f"or more below the best in their last tenth, at most {self.most:g} of them"
        losing = f"{n_losing} lose {0.5 * FAR:g} a round or more there"
        return [Finding(n_locked <= self.most * len(rows), f"{found} {bar}; {losing}")]
