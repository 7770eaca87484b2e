"""What requests used over time, against what they may: of a budget, and above a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from imabo.arms import Floats
from imabo.insight.estimates import numbers, ratio
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.timelines import ROLLING, Column
from imabo.insight.used import Used, over_time
from imabo.objective import Constraint, Objective


@dataclass(frozen=True, slots=True)
class SpendOverTime:
    """What requests used, by when they said so; lists have an entry for each point of the past.

    Attributes:
        name: The signal, or the name of a limit.
        signal: The signal.
        unit: How it is shown.
        above: Of a limit, the value above which a request counts.
        pulls: Pulls served by then.
        times: When that was, in seconds since 1970.
        n: Requests that said what they used since the point before.
        mean: The mean of what those used, None without any.
        rolling: The mean since five points before.
        cumulative: The mean of all so far.
        allowed: What was allowed by then, None without a budget.
    """

    name: str
    signal: str
    unit: str
    above: float | None
    pulls: Column
    times: Column
    n: Column
    mean: Column
    rolling: Column
    cumulative: Column
    allowed: Column


def spend(snapshot: StudySnapshot, signal: str | None = None) -> SpendOverTime | None:
    """What requests used of a signal over time, against its budget.

    Example:
        >>> from imabo import Choice, Signal, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
        ...     signals={"cost": Signal(unit="$")})
        >>> for _ in range(9):
        ...     study.tell(study.ask().id, 0.5, signals={"cost": 2.0})
        >>> insight.spend(insight.read(study)).rolling
        [2.0, 2.0]
    """
    used = snapshot.used
    if used is None:
        return None
    name = used.named(signal)
    return _spend(snapshot, used, used.budgets.get(name) or Constraint(name, name, np.inf))


def limits(snapshot: StudySnapshot) -> list[SpendOverTime]:
    """The share of requests above each limit over time, against what is allowed."""
    used = snapshot.used
    return [] if used is None else [_spend(snapshot, used, one) for one in used.limits]


def _spend(snapshot: StudySnapshot, used: Used, one: Constraint) -> SpendOverTime:
    history = snapshot.history
    places, n, sums = over_time(snapshot, one)
    at = places.astype(int)
    before = np.maximum(np.arange(1, len(n)) - ROLLING, 0)
    times = history.at[at]
    return SpendOverTime(
        name=one.name,
        signal=one.signal,
        unit=used.signals[one.signal].unit,
        above=one.above,
        pulls=numbers(history.n_pulls[at][1:]),
        times=numbers(times[1:]),
        n=numbers(np.diff(n)),
        mean=numbers(ratio(np.diff(sums), np.diff(n))),
        rolling=numbers(ratio(sums[1:] - sums[before], n[1:] - n[before])),
        cumulative=numbers(ratio(sums[1:], n[1:])),
        allowed=_allowed_at(steps(snapshot, one.name), times[1:]),
    )


def steps(snapshot: StudySnapshot, name: str) -> list[tuple[float, float | None]]:
    """Since when how much was allowed of a budget or a limit: the first since the study began."""
    changes = [
        entry for entry in snapshot.changes if "objective" in (entry.data or {}).get("after", {})
    ]

    def allowed(document: object) -> float | None:
        if not isinstance(document, dict):
            return None
        found = Objective.restore(document).constraints
        return next((each.budget for each in found if each.name == name), None)

    began = float(snapshot.history.at[0])
    if not changes:
        return [(began, allowed(snapshot.study.objective))]
    first = (changes[0].data or {}).get("before", {}).get("objective")
    found = [(began, allowed(first))]
    for entry in changes:
        now = allowed((entry.data or {})["after"]["objective"])
        if now != found[-1][1]:
            found.append((entry.at, now))
    return found


def _allowed_at(known: Sequence[tuple[float, float | None]], times: Floats) -> Column:
    starts = [at for at, _ in known]
    found = np.maximum(np.searchsorted(starts, times, side="right") - 1, 0)
    return [known[i][1] for i in found.tolist()]
