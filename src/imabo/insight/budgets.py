"""How budgets and limits are kept, and what a little more reward costs now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.amounts import amount
from imabo.frontier import DEAR
from imabo.insight.compared import percent
from imabo.insight.estimates import numbers, ratio
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.spending import steps
from imabo.insight.timelines import ROLLING, Column
from imabo.insight.used import Used, over_time
from imabo.objective import Constraint

_TREND: Final = 40  # points of the spend beside the key figures
_TOLERANCE: Final = {False: 1.05, True: 1.1}  # by whether it is a limit: what scatters is no news
_FEW: Final = 50  # requests that say little about whether a budget is kept


@dataclass(frozen=True, slots=True)
class Goal:
    """A budget or a limit, and how it is kept.

    Attributes:
        name: Its signal or, of a limit, what is limited: ``latency_s > 2``.
        signal: The signal.
        unit: How that is shown.
        above: Of a limit, the value above which a request counts; None for a budget.
        allowed: What a request may use on average; of a limit, the share that may be above.
        used: The mean of what requests used so far, or the share that was above; None at first.
        recent: The same of the newest requests, at least a tenth and only since it was set so.
        n: Requests that have said what they used.
        n_recent: Those of ``recent``.
        price: What one more of it a request buys in reward now.
        price_text: The same in words.
        text: How it is kept, in words.
        is_kept: Whether ``recent`` is within what is allowed, about; None while it is not known.
        trend: What was used over time, in at most 40 points.
        can_be_kept: False where no arm, and no mix of them, keeps it: alone, or together with the
            others of which that is said.
    """

    name: str
    signal: str
    unit: str
    above: float | None
    allowed: float
    used: float | None
    recent: float | None
    n: int
    n_recent: int
    price: float
    price_text: str
    text: str
    is_kept: bool | None
    trend: Column
    can_be_kept: bool = True


def goals(snapshot: StudySnapshot) -> list[Goal]:
    """How each budget and limit is kept; none without an objective.

    Example:
        >>> from imabo import Choice, Objective, Signal, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
        ...     signals={"cost": Signal(unit="$")}, objective=Objective(budgets={"cost": 2.0}))
        >>> for _ in range(80):
        ...     pull = study.ask()
        ...     large = pull.config["model"] == "large"
        ...     study.tell(pull.id, 0.9 if large else 0.6, signals={"cost": 3.0 if large else 1.0})
        >>> (one,) = insight.goals(insight.read(study))
        >>> one.name, one.allowed, one.price_text.startswith("0.01 of reward costs $0.06")
        ('cost', 2.0, True)
    """
    used = snapshot.used
    return [] if used is None else [_goal(snapshot, used, one) for one in used.constraints]


def _goal(snapshot: StudySnapshot, used: Used, one: Constraint) -> Goal:
    places, n, sums = over_time(snapshot, one)
    since = int(np.flatnonzero(n <= 0.9 * n[-1])[-1]) if n[-1] else 0
    changed_at = steps(snapshot, one.name)[-1][0]
    later = np.flatnonzero(snapshot.history.at[places.astype(int)] >= changed_at)
    since = max(since, int(later[0]) if len(later) else len(n) - 1)
    n_recent = float(n[-1] - n[since])
    recent = float(sums[-1] - sums[since]) / n_recent if n_recent else None
    before = np.maximum(np.arange(1, len(n)) - ROLLING, 0)
    rolling = numbers(ratio(sums[1:] - sums[before], n[1:] - n[before]))
    kept = [value for value in rolling if value is not None]
    m = len(kept)
    trend = kept if m <= _TREND else [kept[(m - 1) * (i + 1) // _TREND] for i in range(_TREND)]
    price, unit = used.prices.get(one.name, 0.0), used.signals[one.signal].unit
    is_kept = None
    if recent is not None:
        is_kept = recent <= one.budget * _TOLERANCE[one.above is not None]
        is_kept = is_kept if is_kept or n_recent >= _FEW else None
    total = float(sums[-1] / n[-1]) if n[-1] else None
    return Goal(
        name=one.name,
        signal=one.signal,
        unit=unit,
        above=one.above,
        allowed=one.budget,
        used=total,
        recent=recent,
        n=int(n[-1]),
        n_recent=int(n_recent),
        price=price,
        price_text=price_text(snapshot, used, one),
        text=_kept_words(one, unit, recent, total),
        is_kept=is_kept,
        trend=list(trend),
        can_be_kept=one.name not in used.unkept,
    )


def _kept_words(one: Constraint, unit: str, recent: float | None, total: float | None) -> str:
    allowed = allowed_words(one, unit)
    if total is None:
        return f"{_what(one, unit)}: nothing is known yet, {allowed} allowed"
    lately = "" if recent is None else f"{used_words(one, unit, recent)} lately, "
    each = " a request" if one.above is None else " of the requests"
    so_far = f"{used_words(one, unit, total)}{each} over all"
    return f"{_what(one, unit)}: {lately}{so_far}, {allowed} allowed"


def _what(one: Constraint, unit: str) -> str:
    return one.signal if one.above is None else f"{one.signal} above {amount(one.above, unit)}"


def used_words(one: Constraint, unit: str, value: float | None) -> str:
    """What was used of a budget, or the share of requests above a limit."""
    if value is None or one.above is None:
        return amount(value, unit)
    return percent(value)


def allowed_words(one: Constraint, unit: str) -> str:
    """What is allowed."""
    return used_words(one, unit, one.budget)


def price_text(snapshot: StudySnapshot, used: Used, one: Constraint) -> str:
    """What a little more reward costs now, in words; nothing has a price where nothing fits."""
    if used.unkept:
        is_it = list(used.unkept) == [one.name]
        why = "is within it" if is_it else f"keeps {' and '.join(used.unkept)}"
        return f"there is no price, because nothing {why}"
    unit, price = used.signals[one.signal].unit, used.prices.get(one.name, 0.0)
    return price_words(price, one, unit, snapshot.reward_range)


def price_words(
    price: float, one: Constraint, unit: str, reward_range: tuple[float, float] | None
) -> str:
    """What a little more reward costs now, in words.

    Example:
        >>> price_words(25.0, Constraint("cost", "cost", 0.0006), "$", (0.0, 1.0))
        '0.01 of reward costs $0.0004 more a request'
    """
    step = 0.01 * (1.0 if reward_range is None else reward_range[1] - reward_range[0])
    if price <= 0.0 or step / price > DEAR * max(one.budget, 1e-300):
        return "more would buy nothing" if one.above is None else "it costs no reward"
    more = step / price
    if one.above is None:
        return f"{amount(step)} of reward costs {amount(more, unit)} more a request"
    return f"{amount(step)} of reward costs another {percent(more)} of the requests"
