"""One method's regret as a share of the best of others, over many problems at once.

``Ratios`` asks every problem, with many seeds each; ``Totals`` asks many problems together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Floats
from imabo_bench.claims.base import Comparison, Evidence, Finding, mean_and_error

FLOOR: Final = 0.01  # smallest ratio that is counted
_RESAMPLES: Final = 2000


@dataclass(frozen=True)
class Ratios(Comparison):
    """The ratio of a method's mean to the lowest mean of others on the same problem.

    Means are over the seeds that all of them have. A ratio below ``FLOOR`` counts as that: where
    the optimum is an estimate, a mean regret can be negative, and one problem would decide the
    geometric mean. Where the others' lowest mean is not positive there is no ratio, which counts as
    a loss. Spreads are standard deviations over bootstrap samples of the seeds, the same seeds for
    every method of a problem.

    Args:
        metric: See ``Evidence.values``.
        method: Whose ratio it is.
        others: The methods whose best it is measured against.
        problems: One ratio each.
        mean: Largest geometric mean over the problems; None decides nothing, but it is shown.
        each: Largest ratio on any problem; None decides nothing, but they are shown.
        errors: How many standard errors a ratio may be beyond that.
        aim: A lower geometric mean that is hoped for, for the words alone.
    """

    metric: str
    method: str
    others: tuple[str, ...]
    problems: tuple[str, ...]
    mean: float | None = None
    each: float | None = None
    errors: float = 0.0
    aim: float | None = None

    def check(self, evidence: Evidence) -> list[Finding]:
        """The geometric mean, then one finding a problem."""
        tables = [self._table(evidence, problem) for problem in self.problems]
        ratios = np.array([_ratios(table.mean(axis=1)[:, None])[0] for table in tables])
        resampled = np.array([_resampled(table, place) for place, table in enumerate(tables)])
        rows = [
            self._row(problem, table, float(ratio), float(_spread(samples)))
            for problem, table, ratio, samples in zip(
                self.problems, tables, ratios, resampled, strict=True
            )
        ]
        return [self._overall(ratios, resampled), *rows]

    def _table(self, evidence: Evidence, problem: str) -> Floats:
        """One row a method, ours first, and one column a common seed."""
        found = [evidence.values(problem, name, self.metric) for name in self._methods]
        seeds = sorted(set(found[0]).intersection(*found[1:]))
        return np.array([[values[seed] for seed in seeds] for values in found])

    @property
    def _methods(self) -> tuple[str, ...]:
        return (self.method, *self.others)

    def _overall(self, ratios: Floats, resampled: Floats) -> Finding:
        found = float(_geometric_mean(ratios))
        spread = float(_spread(_geometric_mean(resampled)))
        limit = "" if self.mean is None else f", at most {self.mean:g}"
        aim = "" if self.aim is None else f" (the aim is {self.aim:g})"
        worst = self.problems[int(ratios.argmax())]
        return Finding(
            None if self.mean is None else found <= self.mean,
            f"geometric mean of {len(ratios)} ratios {found:.3f} ± {_shown(spread)}{limit}{aim}; "
            f"below 1 on {np.count_nonzero(ratios < 1)}, highest {ratios.max():.3f} ({worst})",
        )

    def _row(self, problem: str, table: Floats, ratio: float, spread: float) -> Finding:
        slack = self.errors * float(np.nan_to_num(spread))
        beyond = f" beyond {self.errors:g} errors" if self.errors else ""
        limit = "" if self.each is None else f", at most {self.each:g}{beyond}"
        notes = ", LOSES" if ratio > 1 else ""
        notes += f", counts as {FLOOR:g}" if ratio < FLOOR else ""
        return Finding(
            None if self.each is None else ratio - slack <= self.each,
            f"{problem}: {_words(self.metric, self._methods, table, ratio, spread)}{limit}{notes} "
            f"({table.shape[1]} seeds)",
        )


@dataclass(frozen=True)
class Totals(Comparison):
    """The ratio of a method's regret, summed over many problems, to the lowest sum of others.

    For kinds of problems whose single runs scatter so much that many instances with a seed each
    say more than many seeds of a few. The spread is over bootstrap samples of the problems.

    Args:
        metric: See ``Evidence.values``.
        label: What the problems are called together.
        method: Whose ratio it is.
        others: The methods whose lowest sum it is measured against.
        problems: What is summed over, each by its mean over the seeds.
        most: Largest ratio.
    """

    metric: str
    label: str
    method: str
    others: tuple[str, ...]
    problems: tuple[str, ...]
    most: float

    def check(self, evidence: Evidence) -> list[Finding]:
        """One finding for all problems."""
        methods = (self.method, *self.others)
        table = np.array([self._means(evidence, name) for name in methods])
        ratio = float(_ratios(table.mean(axis=1)[:, None])[0])
        spread = float(_spread(_resampled(table, 0)))
        words = _words(self.metric, methods, table, ratio, spread)
        return [
            Finding(
                ratio <= self.most,
                f"{self.label}: {words}, at most {self.most:g} ({len(self.problems)} instances)",
            )
        ]

    def _means(self, evidence: Evidence, name: str) -> list[float]:
        """One figure a problem."""
        values = (evidence.values(problem, name, self.metric) for problem in self.problems)
        return [float(np.mean(list(found.values()))) for found in values]


def _words(
    metric: str, methods: tuple[str, ...], table: Floats, ratio: float, spread: float
) -> str:
    """The mean of each method, one row each, and the ratio of the first to the best other."""
    cells = []
    for name, values in zip(methods, table, strict=True):
        mean, error = mean_and_error(values.tolist())
        cells.append(f"{name} {mean:.4g} ± {error:.2g}")
    best = methods[1 + int(table[1:].mean(axis=1).argmin())]
    shown = f"ratio to {best} {ratio:.3f} ± {_shown(spread)}"
    return f"{metric} of {', '.join(cells)}; {shown}"


def _ratios(means: Floats) -> Floats:
    """The first row over the lowest of the others, column by column; infinite where there is none.

    Example:
        >>> _ratios(np.array([[2.0, 2.0], [8.0, 8.0], [4.0, -1.0]])).tolist()
        [0.5, inf]
    """
    lowest = means[1:].min(axis=0)
    return np.where(lowest > 0, means[0] / np.where(lowest > 0, lowest, 1.0), np.inf)


def _geometric_mean(ratios: Floats) -> Floats:
    """Over the first axis, with each ratio at least the floor."""
    return np.asarray(np.exp(np.log(np.maximum(ratios, FLOOR)).mean(axis=0)))


def _resampled(table: Floats, place: int) -> Floats:
    """The ratio in each bootstrap sample of the seeds."""
    n = table.shape[1]
    chosen = np.random.default_rng([place, n]).integers(n, size=(_RESAMPLES, n))
    return _ratios(table[:, chosen].mean(axis=2))


def _spread(samples: Floats) -> Floats:
    """Standard deviation; NaN where a sample has no ratio."""
    if not np.isfinite(samples).all():
        return np.asarray(np.nan)
    return np.asarray(samples.std(ddof=1))


def _shown(spread: float) -> str:
    return "unknown" if np.isnan(spread) else f"{spread:.3f}"
