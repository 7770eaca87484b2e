"""The comparisons that claims are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from imabo_bench.claims.base import Comparison, Evidence, Finding, mean_and_error


@dataclass(frozen=True)
class Lower(Comparison):
    """A method's mean is below that of others, over the seeds both have (paired).

    ``factor`` asks for more than below (0.5: half) or allows more (1.2: comparable).
    """

    metric: str
    method: str
    others: tuple[str, ...]
    problems: tuple[str, ...]
    factor: float = 1.0

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem and other method."""
        found = []
        for problem in self.problems:
            ours = evidence.values(problem, self.method, self.metric)
            for other in self.others:
                theirs = evidence.values(problem, other, self.metric)
                seeds = sorted(ours.keys() & theirs.keys())
                a, b = ([values[seed] for seed in seeds] for values in (ours, theirs))
                gap, error = mean_and_error(
                    [x - self.factor * y for x, y in zip(a, b, strict=True)]
                )
                bound = other if self.factor == 1.0 else f"{self.factor:g} x {other}"
                found.append(
                    Finding(
                        gap < 0,
                        f"{problem}: {self.metric} of {self.method} {np.mean(a):.4g}, {other} "
                        f"{np.mean(b):.4g}; less {bound}: {gap:+.3g} ± {error:.2g} "
                        f"({len(seeds)} seeds)",
                    )
                )
        return found


@dataclass(frozen=True)
class Near(Comparison):
    """A method's mean is within ``errors`` standard errors of a reference, or below it.

    ``reference``: by problem, mean and standard error of a cumulative regret. ``optimum``: the
    highest mean that the reference measured against, where ours is another estimate of it.
    """

    method: str
    reference: Mapping[str, tuple[float, float]]
    optimum: Mapping[str, float] | None = None
    errors: float = 2.0
    note: str = ""

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem, (theirs, their_error) in self.reference.items():
            values = []
            for row in evidence.rows(problem, self.method).values():
                optimum = (self.optimum or {}).get(problem, row["optimum"])
                values.append(row["regret"][-1] + (optimum - row["optimum"]) * row["played"])
            ours, error = mean_and_error(values)
            limit = theirs + self.errors * float(np.hypot(np.nan_to_num(error), their_error))
            found.append(
                Finding(
                    ours <= limit,
                    f"{problem}: regret of {self.method} {ours:.0f} ± {error:.0f}, "
                    f"reference {theirs:.0f} ± {their_error:.0f}, limit {limit:.0f}{self.note}",
                )
            )
        return found


@dataclass(frozen=True)
class About(Comparison):
    """A method's mean is within a share of the paper's figure."""

    metric: str
    method: str
    figures: Mapping[str, float]
    share: float = 0.25

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem, figure in self.figures.items():
            ours, error = mean_and_error(
                list(evidence.values(problem, self.method, self.metric).values())
            )
            found.append(
                Finding(
                    abs(ours - figure) <= self.share * abs(figure),
                    f"{problem}: {self.metric} of {self.method} {ours:.3g} ± {error:.2g}, "
                    f"paper {figure:g} (within {self.share:.0%})",
                )
            )
        return found


@dataclass(frozen=True)
class AtMost(Comparison):
    """A method's mean is at most (or, with ``above``, at least) a number."""

    metric: str
    method: str
    problems: tuple[str, ...]
    limit: float
    above: bool = False

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem in self.problems:
            ours, error = mean_and_error(
                list(evidence.values(problem, self.method, self.metric).values())
            )
            holds = ours >= self.limit if self.above else ours <= self.limit
            word = "at least" if self.above else "at most"
            found.append(
                Finding(
                    holds,
                    f"{problem}: {self.metric} of {self.method} {ours:.4g} ± {error:.2g}, "
                    f"{word} {self.limit:g}",
                )
            )
        return found


@dataclass(frozen=True)
class Bounded(Comparison):
    """A metric over t^exponent stays bounded: no higher in the last decade of rounds than before.

    The highest ratio of the mean over seeds at checkpoints after T / 10 against the highest up to
    T / 10. It may be above by ``errors`` standard errors of the difference, which come from the
    seeds one by one at these two checkpoints. ``decides`` is False where T / 10 is too early for
    any policy to tell the arms apart, so that the ratio has to go on growing.
    """

    metric: str
    method: str
    problems: tuple[str, ...]
    exponent: float
    errors: float = 2.0
    decides: bool = True

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding a problem."""
        found = []
        for problem in self.problems:
            rows = list(evidence.rows(problem, self.method).values())
            t = np.array(rows[0]["checkpoints"], dtype=np.float64)
            ratios = np.array([row[self.metric] for row in rows], dtype=np.float64)
            ratios /= t**self.exponent
            mean = ratios.mean(axis=0)
            is_late = t > t[-1] / 10
            early = int(np.where(is_late, -np.inf, mean).argmax())
            late = int(np.where(is_late, mean, -np.inf).argmax())
            gap, error = mean_and_error((ratios[:, late] - ratios[:, early]).tolist())
            holds = gap <= self.errors * float(np.nan_to_num(error))
            found.append(
                Finding(
                    holds if self.decides else None,
                    f"{problem}: {self.metric} of {self.method} over t^{self.exponent:g} is at "
                    f"most {mean[early]:.3g} (at t = {t[early]:,.0f}) up to {t[-1] / 10:,.0f}, "
                    f"{mean[late]:.3g} (at {t[late]:,.0f}) after: {gap:+.2g} ± {error:.1g} "
                    f"({len(rows)} seeds)",
                )
            )
        return found
