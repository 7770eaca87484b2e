"""Figures of budgets and limits: reward against a signal, other budgets, the spend over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from imabo.amounts import amount
from imabo.insight import palette
from imabo.insight.drawings.across import Across, across
from imabo.insight.drawings.base import (
    Drawing,
    Trace,
    layout,
    line,
    safe,
    scatter,
    titled,
    whiskers,
    whole,
)
from imabo.insight.grouping import config_text
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.spending import SpendOverTime, limits, spend, steps
from imabo.insight.tradeoffs import Tradeoff, TradeoffArm, tradeoff

_LOG_FROM: Final = 20.0  # times the least: then only a logarithmic axis shows both ends
_NAMED: Final = 8  # configurations on the frontier that are named in the figure


def draw_frontier(snapshot: StudySnapshot, signal: str | None = None) -> Drawing:
    """Every configuration by what it uses and what it earns, with the best mixes as a line."""
    model = tradeoff(snapshot, signal)
    if model is None or not model.arms:
        return Drawing([], layout({}, {}), _nothing(model))
    on = [one for one in model.arms if one.is_on_frontier]
    off = [one for one in model.arms if not one.is_on_frontier]
    data = [_best_line(model)]
    if off:
        data.append(_arms(off, "other configurations", palette.GREY))
    data.append(_arms(on, "on the frontier", palette.BLUE))
    if len(on) <= _NAMED:
        data.append(_names(on))
    data += _budget_marks(model)
    made = layout(
        _use_axis(model, [one.use for one in model.arms]),
        titled("mean reward"),
        yaxis2=_foot(),
        hovermode="closest",
    )
    return Drawing(data, made, _notes(model))


def draw_budgets(snapshot: StudySnapshot, signal: str | None = None) -> Drawing:
    """What each budget would buy, and what the one of today does."""
    model = tradeoff(snapshot, signal)
    if model is None or not model.curve:
        return Drawing([], layout({}, {}), _nothing(model))
    texts = [
        safe(f"{amount(one.budget, model.unit)} a request: {one.text}", 160) for one in model.curve
    ]
    bought = line(
        [one.budget for one in model.curve],
        [one.mean for one in model.curve],
        "best mix",
        palette.GREEN,
        text=texts,
        hovertemplate="%{y:.4g}<br>%{text}<extra></extra>",
    )
    made = layout(
        _use_axis(model, [one.budget for one in model.curve]),
        titled("mean reward"),
        yaxis2=_foot(),
        hovermode="closest",
    )
    notes = _notes(model)
    if any(one.mean is None for one in model.curve):
        notes.append("Where there is no line, the other budgets and limits leave nothing to serve.")
    return Drawing([bought, *_budget_marks(model)], made, notes)


def draw_spend(snapshot: StudySnapshot, signal: str | None = None, axis: str = "time") -> Drawing:
    """What a request used over time, with the budget that was in force."""
    model, along = spend(snapshot, signal), across(snapshot, axis)
    if model is None:
        return Drawing([], layout(along.axis(), {}))
    x = along.places(model.times, model.pulls)
    data = [
        line(x, model.mean, "each stretch", palette.SKY)
        | {"mode": "markers", "marker": {"color": palette.SKY, "size": 4}},
        line(x, model.rolling, "rolling mean", palette.BLUE),
        line(x, model.cumulative, "mean of all so far", palette.GREY, line={"dash": "dot"}),
        *_allowed(snapshot, model, along, "budget", palette.RED),
    ]
    notes = [f"Of {safe(model.signal)}."]
    if _n_changes(snapshot, model):
        notes.append("The budget was changed where the dashed line steps.")
    named = f"{model.signal} a request" + (f", in {model.unit}" if model.unit else "")
    values = [one for one in [*model.rolling, *model.allowed, *model.mean] if one is not None]
    made = layout(
        along.axis(),
        titled(safe(named), rangemode="tozero", **_amounts(model.unit, values)),
    )
    return Drawing(data if any(model.n) else [], made, notes)


def draw_limits(snapshot: StudySnapshot, axis: str = "time") -> Drawing:
    """The share of requests above each limit, with what is allowed."""
    along, data = across(snapshot, axis), []
    for i, model in enumerate(limits(snapshot)):
        x, colour = along.places(model.times, model.pulls), palette.of_place(i)
        name = safe(f"{model.signal} above {amount(model.above, model.unit)}")
        data.append(line(x, model.rolling, name, colour, hovertemplate="%{y:.1%}"))
        data += _allowed(snapshot, model, along, f"{name}: allowed", colour)
    share = titled("share of requests", tickformat=".0%", rangemode="tozero")
    return Drawing(data, layout(along.axis(), share))


# --- parts --------------------------------------------------------------------------------------


def _nothing(model: Tradeoff | None) -> list[str]:
    if model is None:
        return ["The study declares no signals."]
    return [f"No configuration has both a reward and {safe(model.signal)} yet."]


def _notes(model: Tradeoff) -> list[str]:
    notes = []
    if model.n_arms > len(model.arms):
        notes.append(f"{len(model.arms)} of {whole(model.n_arms)} configurations.")
    if model.budget is not None:
        words = model.price_text
        notes.append(f"Now {safe(words, 120)}.")
    if model.n_others:
        notes.append("The other budgets and limits are kept.")
    return notes


def _best_line(model: Tradeoff) -> Trace:
    points = [one for one in model.curve if one.mean is not None]
    uses, means = [one.use for one in points], [one.mean for one in points]
    return line(uses, means, "best mix", palette.GREEN, hoverinfo="skip")


def _arms(arms: Sequence[TradeoffArm], name: str, colour: str) -> Trace:
    return scatter(
        "markers",
        [one.use for one in arms],
        [one.mean for one in arms],
        name,
        error_x=whiskers([(one.use, one.use_low, one.use_high) for one in arms], colour, width=3),
        error_y=whiskers([(one.mean, one.low, one.high) for one in arms], colour, width=3),
        marker={"color": colour, "size": 9},
        text=[f"#{one.arm} {safe(config_text(one.config), 160)}" for one in arms],
        customdata=[[one.n_rewards, one.n_signals] for one in arms],
        hovertemplate="%{text}<br>reward %{y:.4g}, uses %{x:.4g} a request"
        "<br>%{customdata[0]:,d} rewards<extra></extra>",
    )


def _names(arms: Sequence[TradeoffArm]) -> Trace:
    """Names beside the points; those of the right half stand to their left."""
    last = len(arms) - 1
    return scatter(
        "text",
        [one.use for one in arms],
        [one.mean for one in arms],
        "names",
        text=[_beside(safe(one.label, 28), is_left=2 * i > last) for i, one in enumerate(arms)],
        textposition=["bottom left" if 2 * i > last else "bottom right" for i in range(len(arms))],
        hoverinfo="skip",
        showlegend=False,
    )


def _beside(name: str, *, is_left: bool) -> str:
    """A name with a little room between it and its point."""
    return f"{name}\u2002" if is_left else f"\u2002{name}"


def _budget_marks(model: Tradeoff) -> list[Trace]:
    """Where the budget of today is, and what it buys."""
    if model.budget is None:
        return []
    words = f"budget {amount(model.budget, model.unit)}"
    budget = line(
        [model.budget] * 2, [0.0, 1.0], safe(words), palette.RED, yaxis="y2", hoverinfo="skip",
        line={"dash": "dash", "width": 1.5},
    )  # fmt: skip
    now = model.now
    if now is None or now.mean is None:
        return [budget]
    best = scatter(
        "markers",
        [now.use],
        [now.mean],
        "best within the budget",
        marker={"color": palette.ORANGE, "size": 12, "symbol": "diamond"},
        text=[safe(now.text, 160)],
        hovertemplate="%{text}<br>reward %{y:.4g}<extra></extra>",
    )
    return [budget, best]


def _foot() -> dict[str, Any]:
    """An axis of its own for lines from the foot to the top."""
    return {"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True}


def _use_axis(model: Tradeoff, values: Sequence[float]) -> dict[str, Any]:
    """What a request uses; logarithmic where the dearest uses many times as much as the least."""
    words = f"{model.signal} a request" + (f", in {model.unit}" if model.unit else "")
    known = [*values, *([] if model.budget is None else [model.budget])]
    low, high = min(known), max(known)
    if low <= 0.0 or high < _LOG_FROM * low:
        return titled(safe(words), **_amounts(model.unit, known))
    places = _decades(low, high)
    texts = [safe(amount(one, model.unit)) for one in places]
    return titled(safe(words), type="log", tickvals=places, ticktext=texts)


def _decades(low: float, high: float) -> list[float]:
    """1 and 3 of each power of ten within reach; only the powers where those are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps_of = (1.0, 3.0) if len(powers) <= 5 else (1.0,)
    found = [float(f"{step * 10.0**power:.3g}") for power in powers for step in steps_of]
    return [one for one in found if low / 2.0 <= one <= 2.0 * high]


def _amounts(unit: str, values: Sequence[float]) -> dict[str, Any]:
    """Ticks of an axis of amounts: even steps with their unit, where the numbers are small."""
    known = [abs(one) for one in values if one is not None]
    high = max(known, default=0.0)
    if high <= 0.0 or high >= 1e-2:
        return {"tickprefix": unit} if unit == "$" else {}
    step = 10.0 ** math.floor(math.log10(high / 2.0))
    n = math.ceil(high / step)
    while n > 8:
        step, n = (2.0 * step, math.ceil(n / 2))
    places = [float(f"{i * step:.6g}") for i in range(n + 1)]
    return {"tickvals": places, "ticktext": [safe(amount(one, unit)) for one in places]}


def _allowed(
    snapshot: StudySnapshot, model: SpendOverTime, along: Across, name: str, colour: str
) -> list[Trace]:
    """What was allowed, in steps where it was changed."""
    known = steps(snapshot, model.name)
    x: list[float | None] = []
    y: list[float | None] = []
    for i, (at, allowed) in enumerate(known):
        ends = [at, known[i + 1][0] if i + 1 < len(known) else float(snapshot.history.at[-1])]
        pulls = snapshot.history.pulls_at(ends).tolist()
        x += [along.place(one, n) for one, n in zip(ends, pulls, strict=True)]
        y += [allowed, allowed]
    if all(one is None for one in y):
        return []
    return [line(x, y, name, colour, line={"dash": "dash", "width": 1.5})]


def _n_changes(snapshot: StudySnapshot, model: SpendOverTime) -> int:
    return len(steps(snapshot, model.name)) - 1
