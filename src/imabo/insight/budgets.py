"""Budgets and limits: reward against a signal, what other budgets would buy, the spend over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.amounts import amount
from imabo.arms import Floats, Ints
from imabo.frontier import best_shares, on_hull
from imabo.insight.compared import percent
from imabo.insight.estimates import number, numbers, ratio
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.timelines import ROLLING, Column
from imabo.insight.used import Used, over_time
from imabo.objective import Constraint, Objective
from imabo.space import Config

MOST_POINTS: Final = 30  # arms of the figure, besides those on the frontier
_CURVE: Final = 40  # budgets that the curve is made from
_BEYOND: Final = 1.25  # times what the best arm uses, up to which the curve goes
_MOST_MIXED: Final = 300  # arms that a mix within several budgets is sought among
_TREND: Final = 40  # points of the spend beside the key figures
_DEAR: Final = 100.0  # budgets for a hundredth of the reward: no one would call that a price
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


@dataclass(frozen=True, slots=True)
class TradeoffArm:
    """An arm on the plane of use and reward, with intervals; ``share`` is that of the best mix."""

    arm: int
    label: str
    config: Config
    mean: float
    low: float | None
    high: float | None
    use: float
    use_low: float
    use_high: float
    n_rewards: int
    n_signals: int
    is_on_frontier: bool
    share: float


@dataclass(frozen=True, slots=True)
class Bought:
    """What a budget buys: the mean reward of its best mix, what that uses, and its parts.

    ``mean`` is None where no mix is within the budget and the other limits.
    """

    budget: float
    mean: float | None
    use: float | None
    parts: list[tuple[int, float]]
    text: str


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """Reward against one signal; ``curve`` has what each budget would buy, the lowest first.

    ``now`` is what the budget of today buys, None without one. ``n_arms`` counts the arms that have
    both a reward and the signal, of which some are shown; ``n_others`` the other budgets and limits
    that the curve keeps.
    """

    signal: str
    unit: str
    arms: list[TradeoffArm]
    n_arms: int
    curve: list[Bought]
    budget: float | None
    now: Bought | None
    price_text: str
    n_others: int


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
        >>> one.name, one.allowed, one.price_text
        ('cost', 2.0, '0.01 of reward costs $0.0667 more a request')
    """
    return [] if snapshot.used is None else [_goal(snapshot, one) for one in _all(snapshot)]


def _all(snapshot: StudySnapshot) -> Sequence[Constraint]:
    return () if snapshot.used is None else snapshot.used.constraints


def _goal(snapshot: StudySnapshot, one: Constraint) -> Goal:
    used = _used(snapshot)
    places, n, sums = over_time(snapshot, one)
    since = int(np.flatnonzero(n <= 0.9 * n[-1])[-1]) if n[-1] else 0
    changed_at = _steps(snapshot, one)[-1][0]
    later = np.flatnonzero(snapshot.history.at[places.astype(int)] >= changed_at)
    since = max(since, int(later[0]) if len(later) else len(n) - 1)
    n_recent = float(n[-1] - n[since])
    recent = float(sums[-1] - sums[since]) / n_recent if n_recent else None
    spend = spend_of(snapshot, one)
    kept = [value for value in spend.rolling if value is not None]
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
        price_text=price_words(price, one, unit, snapshot.reward_range),
        text=_kept_words(one, unit, recent, total),
        is_kept=is_kept,
        trend=list(trend),
    )


def _kept_words(one: Constraint, unit: str, recent: float | None, total: float | None) -> str:
    allowed = allowed_words(one, unit)
    if total is None:
        return f"{_what(one, unit)}: nothing is known yet, {allowed} allowed"
    lately = "" if recent is None else f"{used_words(one, unit, recent)} lately, "
    each = " a request" if one.above is None else " of the requests"
    return f"{_what(one, unit)}: {lately}{used_words(one, unit, total)}{each} over all, " + (
        f"{allowed} allowed"
    )


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


def price_words(
    price: float, one: Constraint, unit: str, reward_range: tuple[float, float] | None
) -> str:
    """What a little more reward costs now, in words.

    Example:
        >>> price_words(25.0, Constraint("cost", "cost", 0.0006), "$", (0.0, 1.0))
        '0.01 of reward costs $0.0004 more a request'
    """
    step = 0.01 * (1.0 if reward_range is None else reward_range[1] - reward_range[0])
    if price <= 0.0 or step / price > _DEAR * max(one.budget, 1e-300):
        return "more would buy nothing" if one.above is None else "it costs no reward"
    more = step / price
    if one.above is None:
        return f"{amount(step)} of reward costs {amount(more, unit)} more a request"
    return f"{amount(step)} of reward costs another {percent(more)} of the requests"


def _used(snapshot: StudySnapshot) -> Used:
    if snapshot.used is None:
        raise ValueError("the study declares no signals")  # callers look first
    return snapshot.used


# --- reward against a signal --------------------------------------------------------------------


def tradeoff(snapshot: StudySnapshot, signal: str | None = None) -> Tradeoff | None:
    """Reward against a signal: arms with intervals, the frontier, and what other budgets would buy.

    Args:
        snapshot: From ``insight.read``.
        signal: Its name; that of the first budget by default.

    Returns:
        None where no signals are declared.

    Example:
        >>> from imabo import Choice, Signal, Space, Study, insight
        >>> study = Study.create("s", Space(model=Choice("small", "large")), seed=0,
        ...     signals={"cost": Signal(unit="$")})
        >>> for _ in range(40):
        ...     pull = study.ask()
        ...     large = pull.config["model"] == "large"
        ...     study.tell(pull.id, 0.9 if large else 0.6, signals={"cost": 3.0 if large else 1.0})
        >>> found = insight.tradeoff(insight.read(study))
        >>> [(one.label, one.use, one.mean) for one in found.arms]
        [('small', 1.0, 0.6), ('large', 3.0, 0.9)]
    """
    used = snapshot.used
    if used is None:
        return None
    name, known = used.named(signal), snapshot.arms
    n, sums, squares = used.columns(name)
    ready = (known.states == "active") & (known.n_rewards > 0) & (n > 0)
    rows = np.flatnonzero(ready)
    uses = sums[rows] / n[rows]
    is_on = on_hull(uses, known.means[rows]) if len(rows) else np.zeros(0, dtype=np.bool_)
    mix = {} if snapshot.best is None else dict(snapshot.best.shares or {})
    in_mix = np.isin(known.ids[rows], list(mix))
    usual = np.argsort(-known.n_pulls[rows], kind="stable")[:MOST_POINTS]
    shown = np.flatnonzero(is_on | in_mix | np.isin(np.arange(len(rows)), usual))
    shown = shown[np.lexsort((-known.means[rows][shown], uses[shown]))]
    places = rows[shown]
    low, high = known.intervals_of(places)
    deviations = np.sqrt(np.maximum(squares[places] / n[places] - uses[shown] ** 2, 0.0))
    errors = 1.96 * deviations / np.sqrt(n[places])
    configs = [known.configs[row] for row in places.tolist()]
    listed = [
        TradeoffArm(
            arm=int(known.ids[row]),
            label=label,
            config=dict(config),
            mean=float(known.means[row]),
            low=number(low[i]),
            high=number(high[i]),
            use=float(uses[at]),
            use_low=float(uses[at] - errors[i]),
            use_high=float(uses[at] + errors[i]),
            n_rewards=int(known.n_rewards[row]),
            n_signals=int(n[row]),
            is_on_frontier=bool(is_on[at]),
            share=mix.get(int(known.ids[row]), 0.0),
        )
        for i, (row, at, label, config) in enumerate(
            zip(places.tolist(), shown.tolist(), snapshot.labels(configs), configs, strict=True)
        )
    ]
    unit = used.signals[name].unit
    budget = used.budgets.get(name)
    curve, now = _curve(snapshot, name, rows, uses)
    words, allowed = "", None
    if budget is not None:
        words = price_words(used.prices.get(name, 0.0), budget, unit, snapshot.reward_range)
        allowed = budget.budget
    n_others = sum(one.name != name for one in used.constraints)
    return Tradeoff(name, unit, listed, len(rows), curve, allowed, now, words, n_others)


def _curve(
    snapshot: StudySnapshot, name: str, rows: Ints, uses: Floats
) -> tuple[list[Bought], Bought | None]:
    """What budgets of a signal would buy, from the least that anything uses; and that of today."""
    used, means = _used(snapshot), snapshot.arms.means[rows]
    if not len(rows):
        return [], None
    others = [one for one in used.constraints if one.name != name and one.name in used.expected]
    on = np.flatnonzero(on_hull(uses, means))
    on = on[np.argsort(uses[on])]
    low, high = float(uses[on[0]]), float(uses[on[-1]])
    mine = used.budgets.get(name)
    most = max(_BEYOND * high, low) if high > 0.0 else high
    if mine is not None:
        most = max(most, min(_BEYOND * mine.budget, 4.0 * most))
    spaced = np.geomspace(low, most, _CURVE) if low > 0.0 else np.linspace(low, most, _CURVE)
    wanted = {*spaced.tolist(), *uses[on].tolist()}
    if mine is not None and mine.budget >= low:
        wanted.add(mine.budget)
    few = np.unique(np.concatenate([np.argsort(-snapshot.arms.n_pulls[rows])[:_MOST_MIXED], on]))
    matrix = np.array([used.expected[one.name][rows] for one in others]).reshape(-1, len(rows))
    if others:
        few = few[np.isfinite(matrix[:, few]).all(axis=0)]

    def buy(budget: float) -> Bought:
        if not others:
            parts, is_within = _on_line(uses, means, on, budget), budget >= low
        else:
            allowed = np.array([budget, *(one.budget for one in others)])
            every = np.concatenate([uses[None], matrix])[:, few]
            shares, is_within = best_shares(means[few], every, allowed)
            parts = [(int(few[i]), float(shares[i])) for i in np.flatnonzero(shares).tolist()]
        mean = sum(share * float(means[i]) for i, share in parts)
        use = sum(share * float(uses[i]) for i, share in parts)
        named = [(int(snapshot.arms.ids[rows[i]]), share) for i, share in parts]
        text = mix_words(snapshot, named)
        return Bought(
            budget, mean if is_within else None, use if is_within else None, named, text
        )

    curve = [] if others and not len(few) else [buy(budget) for budget in sorted(wanted)]
    now = None if mine is None or not curve else buy(mine.budget)
    return curve, now


def _on_line(uses: Floats, means: Floats, on: Ints, budget: float) -> list[tuple[int, float]]:
    """The best mix within one budget: where it meets the frontier, at most two arms."""
    after = int(np.searchsorted(uses[on], budget, side="right"))
    if after == 0:
        return [(int(on[0]), 1.0)]
    if after == len(on):
        return [(int(on[-1]), 1.0)]
    cheap, dear = int(on[after - 1]), int(on[after])
    share = float((budget - uses[cheap]) / (uses[dear] - uses[cheap]))
    return [(cheap, 1.0 - share), (dear, share)] if share > 1e-6 else [(cheap, 1.0)]


def mix_words(snapshot: StudySnapshot, parts: Sequence[tuple[int, float]]) -> str:
    """A mix of arms by their labels, the largest share first."""
    ordered = sorted(parts, key=lambda part: -part[1])
    configs = [snapshot.arms.configs[snapshot.arms.row_of(arm)] for arm, _ in ordered]
    labels = snapshot.labels(configs)
    if len(ordered) == 1:
        return labels[0]
    pairs = zip(ordered, labels, strict=True)
    return " + ".join(f"{percent(share)} {label}" for (_, share), label in pairs)


# --- over time ----------------------------------------------------------------------------------


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
    return spend_of(snapshot, used.budgets.get(name) or Constraint(name, name, np.inf))


def limits(snapshot: StudySnapshot) -> list[SpendOverTime]:
    """The share of requests above each limit over time, against what is allowed."""
    return [spend_of(snapshot, one) for one in _all(snapshot) if one.above is not None]


def spend_of(snapshot: StudySnapshot, one: Constraint) -> SpendOverTime:
    """What requests used of a budget, or of a limit, over time."""
    used, history = _used(snapshot), snapshot.history
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
        allowed=_allowed_at(_steps(snapshot, one), times[1:]),
    )


def steps(snapshot: StudySnapshot, one: SpendOverTime) -> list[tuple[float, float | None]]:
    """Since when how much was allowed: the first since the study began."""
    return _steps(snapshot, Constraint(one.name, one.signal, np.inf, one.above))


def _steps(snapshot: StudySnapshot, one: Constraint) -> list[tuple[float, float | None]]:
    changes = [
        entry for entry in snapshot.changes if "objective" in (entry.data or {}).get("after", {})
    ]

    def allowed(document: object) -> float | None:
        if not isinstance(document, dict):
            return None
        found = Objective.restore(document).constraints
        return next((each.budget for each in found if each.name == one.name), None)

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
