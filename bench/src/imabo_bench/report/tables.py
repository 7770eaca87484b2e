"""The tables of the report: who is best on each problem, how surely, and over all problems."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from imabo_bench.report.data import Group, Spread, spread_of


@dataclass(frozen=True)
class Standing:
    """A method's line in the table of a problem."""

    method: str
    regret: Spread
    p_value: float | None  # paired with the best method; None for it and where there is no pair
    ratio: float | None  # to the best average regret; None where that is not positive
    is_best: bool
    average: Spread
    simple: Spread
    rho_regret: Spread
    arms: float
    oracle_calls: float
    us_per_decision: float
    played: float


@dataclass(frozen=True)
class Overview:
    """Ratios to the best method of each problem."""

    titles: list[str]
    methods: list[str]  # by geometric mean, the best first
    standings: dict[tuple[str, str], Standing]  # (title, method)
    geometric_means: dict[str, float | None]
    n_ratios: dict[str, int]


def paired_p_value(one: Mapping[int, float], other: Mapping[int, float]) -> float | None:
    """Two-sided paired t-test on the seeds that both have; None with fewer than two."""
    seeds = sorted(one.keys() & other.keys())
    if len(seeds) < 2:
        return None
    differences = np.array([one[seed] - other[seed] for seed in seeds])
    if np.ptp(differences) == 0.0:  # no spread, no t statistic
        return 1.0 if differences[0] == 0.0 else 0.0
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def standings_of(group: Group) -> list[Standing]:
    """The table of a problem, lowest average regret first.

    Average regret, not the cumulative one, decides: a method whose schedule ended early has
    had fewer rounds to lose in. Where all play all rounds the two order methods alike.
    """
    average = {
        method: {run.seed: run.average_regret for run in runs}
        for method, runs in group.methods.items()
    }
    spreads = {method: spread_of(by_seed.values()) for method, by_seed in average.items()}
    best = min(spreads, key=lambda method: spreads[method].mean)
    lowest = spreads[best].mean
    return [
        Standing(
            method=method,
            regret=spread_of(run.regret[-1] for run in runs),
            p_value=None if method == best else paired_p_value(average[method], average[best]),
            ratio=spreads[method].mean / lowest if lowest > 0.0 else None,
            is_best=method == best,
            average=spreads[method],
            simple=spread_of(run.simple[-1] for run in runs),
            rho_regret=spread_of(run.rho_regret[-1] for run in runs),
            arms=float(np.mean([run.n_arms for run in runs])),
            oracle_calls=float(np.mean([run.n_proposals for run in runs])),
            us_per_decision=float(np.mean([run.us_per_decision for run in runs])),
            played=float(np.mean([run.played for run in runs])),
        )
        for method, runs in sorted(group.methods.items(), key=lambda item: spreads[item[0]].mean)
    ]


def overview_of(tables: Mapping[str, Sequence[Standing]]) -> Overview:
    """Put the ratios of all problems side by side.

    Args:
        tables: Title of a group to its standings.
    """
    standings = {(title, line.method): line for title, table in tables.items() for line in table}
    ratios: dict[str, list[float]] = defaultdict(list)
    for (_, method), line in standings.items():
        ratios[method] += [] if line.ratio is None else [line.ratio]
    means = {
        method: float(stats.gmean(found)) if found else None for method, found in ratios.items()
    }
    return Overview(
        titles=list(tables),
        methods=sorted(means, key=lambda method: (means[method] or math.inf, method)),
        standings=standings,
        geometric_means=means,
        n_ratios={method: len(found) for method, found in ratios.items()},
    )


def notes_of(group: Group) -> list[str]:
    """What a reader of a problem's table must know."""
    notes = []
    below = [
        method
        for method, runs in group.methods.items()
        if any((run.regret < 0.0).any() or (run.simple < 0.0).any() for run in runs)
    ]
    if not group.runs[0].is_exact:
        note = "The optimum is not exact: it is the best of many draws."
        if below:
            note += (
                f" {_listed(below)} found better, so regret against it is negative there "
                "(the smaller, the better still holds)."
            )
        notes.append(note)
    elif below:
        notes.append(
            f"Negative regret against an exact optimum: {_listed(below)}. This is a fault."
        )
    for method, runs in group.methods.items():
        played = [run.played for run in runs]
        if min(played) < group.rounds:
            ends = " to ".join(f"{end:,}" for end in sorted({min(played), max(played)}))
            notes.append(
                f"{method} stopped when its own schedule ended, after {ends} of "
                f"{group.rounds:,} rounds. Its cumulative regret and rho-regret are over those "
                "alone; the order, the test and the ratio go by regret per round played."
            )
    seeds = {method: {run.seed for run in runs} for method, runs in group.methods.items()}
    if len(set(map(frozenset, seeds.values()))) > 1:
        notes.append("Not every method ran with every seed; the tests use the seeds in common.")
    if len({run.optimum for run in group.runs}) > 1:
        notes.append("Rows disagree on the optimum: they come from different data or versions.")
    return notes


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
