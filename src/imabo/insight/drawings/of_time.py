"""Figures over time: reward, configurations in play, traffic, feedback, cost and gain."""

from __future__ import annotations

from datetime import date
from typing import Any

from imabo.insight import palette
from imabo.insight.drawings.across import Across, across, spread
from imabo.insight.drawings.base import (
    Drawing,
    band,
    layout,
    level,
    line,
    safe,
    scatter,
    titled,
    whole,
)
from imabo.insight.feedback_delays import feedback
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.timelines import RewardOverTime, cost, growth, reward
from imabo.insight.traffic_shares import traffic

_EPOCH = date(1970, 1, 1)
_DAY_S = 86_400.0
_ROOM = 2.0  # times the longest delay, up to which the window is drawn
_NOTICED = "change noticed"
_OF_ARM = ("rewards of arm ", "rewards of configuration ")
_CLOSE = 0.07  # of the axis: nearer than that, two names would overlap


def draw_reward(
    snapshot: StudySnapshot, baseline: int | None = None, axis: str = "time"
) -> Drawing:
    """Reward over time, with marks where configurations came and where space or world changed."""
    model, along = reward(snapshot, baseline), across(snapshot, axis)
    x, ends = along.places(model.times, model.pulls), [along.start, along.end]
    data = band(x, model.rolling_low, model.rolling_high, "95% band", palette.BLUE)
    data += [
        line(x, model.mean, "each stretch", palette.SKY)
        | {"mode": "markers", "marker": {"color": palette.SKY, "size": 4}},
        line(x, model.rolling, "rolling mean", palette.BLUE),
        line(x, model.cumulative, "mean of all so far", palette.GREY, line={"dash": "dot"}),
    ]
    compared = f"configuration {model.baseline_arm}"
    known = [
        ("serving at random", palette.ORANGE, model.random),
        (compared, palette.PINK, model.baseline),
    ]
    for name, colour, estimate in known:
        if estimate is not None and estimate.mean is not None:
            data += band(ends, [estimate.low] * 2, [estimate.high] * 2, f"{name}, 95%", colour)
            data.append(level(estimate.mean, name, colour, *ends))
    data += _groups(snapshot, along)
    if model.arrivals:
        came = [along.place(one.at, one.pulls) for one in model.arrivals]
        words = [f"configuration {one.arm} ({one.origin})" for one in model.arrivals]
        ticks = {"symbol": "line-ns-open", "size": 8, "color": palette.GREEN}
        data.append(_marks(came, 0.02, "new configuration", words, **ticks))
    notes = []
    if model.n_arrivals > len(model.arrivals):
        n_shown, n_all = len(model.arrivals), whole(model.n_arrivals)
        notes.append(f"Marks of {n_shown} of {n_all} configurations, evenly picked.")
    if model.random.mean is None and snapshot.totals.n_pulls:
        notes.append(f"Serving at random is {model.random}.")
    if model.drifts:
        came = [along.place(one.at, one.pulls) for one in model.drifts]
        # Events say arm, as the API does.
        words = [safe(one.text.replace(*_OF_ARM, 1), 160) for one in model.drifts]
        diamonds = {"symbol": "diamond", "size": 9, "color": palette.VIOLET}
        data.append(_marks(came, 0.06, _NOTICED, words, **diamonds))
        notes.append("At dashed lines the study noticed that the rewards had changed.")
    shapes, notes_at = _changes(model, along)
    made = layout(
        along.axis(),
        titled("reward"),
        # The row of marks at the foot has an axis of its own, without numbers.
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        shapes=shapes,
        annotations=notes_at,
    )
    return Drawing(data, made, notes)


def _groups(snapshot: StudySnapshot, along: Across) -> list[dict[str, Any]]:
    """Tuned and control as two lines, by day: the milestones do not tell them apart, the lift does.

    On the first day, their means so far.
    """
    lift = snapshot.lift
    if lift is None:
        return []
    days = list(lift.by_day.items())
    sides = (
        ("tuned", palette.GREEN, [one.tuned_mean for _, one in days], lift.tuned_mean),
        ("control", palette.OLIVE, [one.control_mean for _, one in days], lift.control_mean),
    )
    if len(days) < 2:
        return [
            level(now, f"{name}, so far", colour, along.start, along.end)
            for name, colour, _, now in sides
            if now is not None
        ]
    first, last = float(snapshot.history.at[0]), float(snapshot.history.at[-1])
    noons = [(day - _EPOCH).days * _DAY_S + _DAY_S / 2 for day, _ in days]
    times = [min(max(noon, first), last) for noon in noons]  # of days that are not whole
    x = along.places(list(times), list(snapshot.history.pulls_at(times)))
    return [
        line(x, means, f"{name}, by day", colour) | {"mode": "lines+markers"}
        for name, colour, means, _ in sides
    ]


def _marks(
    places: list[float], height: float, name: str, text: list[str], **marker: Any
) -> dict[str, Any]:
    """A row of marks at the foot."""
    hover = {"text": text, "hovertemplate": "%{text}<extra></extra>"}
    y = [height] * len(places)
    return scatter("markers", places, y, name, yaxis="y2", marker=marker, **hover)


def _changes(
    model: RewardOverTime, along: Across
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines where the space or the world changed, named where there is room."""
    marks = [
        (along.place(one.at, one.pulls), f"space {one.version}", "dot", palette.RED)
        for one in model.space_changes
    ]
    marks += [
        (along.place(one.at, one.pulls), _NOTICED, "dash", palette.VIOLET) for one in model.drifts
    ]
    marks.sort()
    has_room = spread([mark[0] for mark in marks], _CLOSE * (along.end - along.start))
    shapes, notes = [], []
    for (place, text, dash, colour), is_named in zip(marks, has_room, strict=True):
        style = {"color": colour, "width": 1.5, "dash": dash}
        shapes.append(
            {"type": "line", "x0": place, "x1": place, "yref": "paper", "y0": 0, "y1": 1,
             "line": style}
        )  # fmt: skip
        if is_named:
            notes.append(
                {"x": place, "yref": "paper", "y": 1, "text": text, "showarrow": False,
                 "xanchor": "left", "yanchor": "top"}
            )  # fmt: skip
    return shapes, notes


def draw_growth(snapshot: StudySnapshot, axis: str = "time") -> Drawing:
    """The active set against the policy's schedule."""
    model, along = growth(snapshot), across(snapshot, axis)
    x = along.places(model.times, model.pulls)
    data = [
        line(x, model.n_active, "in play", palette.BLUE, customdata=model.effective)
        | {"hovertemplate": "%{y:,d} (t = %{customdata:,.0f})"}
    ]
    notes = []
    if model.due is not None:
        name = f"due by {model.law}"
        data.append(line(x, model.due, name, palette.ORANGE, line={"dash": "dash"}))
        notes.append(f"t counts {model.counted}.")
    made = layout(along.axis(), titled("configurations", rangemode="tozero"))
    return Drawing(data, made, notes)


def draw_traffic(
    snapshot: StudySnapshot, parameter: str | None = None, axis: str = "time"
) -> Drawing:
    """The share of the requests that each value of a parameter got."""
    model, along = traffic(snapshot, parameter), across(snapshot, axis)
    x = along.places(model.times, model.pulls)
    n_ranges = max(sum(share.place is not None for share in model.shares), 1)
    data = []
    for i, share in enumerate(model.shares):
        if share.place is None:
            colour = palette.GREY
        elif model.is_range:
            # Ranges are in order, so their colours are, too.
            colour = palette.SCALE[i * (len(palette.SCALE) - 1) // max(n_ranges - 1, 1)]
        else:
            colour = palette.of_place(share.place)
        data.append(
            line(
                x,
                _shares(share.counts, model.totals),
                safe(share.label, 24),
                colour,
                stackgroup="shares",
                line={"width": 0.5, "shape": "vh"},
                fillcolor=palette.faint(colour, 0.75),
                hovertemplate="%{y:.1%}",
            )
        )
    made = layout(along.axis(), titled("share of requests", tickformat=".0%", range=[0, 1]))
    return Drawing(data, made, [f"By {safe(model.parameter)}."])


def _shares(counts: list[float | None], totals: list[float | None]) -> list[float | None]:
    pairs = zip(counts, totals, strict=True)
    return [None if not total or count is None else count / total for count, total in pairs]


def draw_feedback(snapshot: StudySnapshot) -> Drawing:
    """The share of requests whose reward has come, by delay; below, the share without, by age."""
    model = feedback(snapshot)
    steps = {"shape": "hv"}
    came = line(model.delays_s, model.arrived, "reward has come", palette.BLUE, line=steps) | {
        "hovertemplate": "%{y:.1%} within %{x:.3g} s<extra></extra>"
    }
    missing = line(model.ages_s, model.without, "no reward, by age", palette.RED) | {
        "mode": "lines+markers",
        "xaxis": "x2",
        "yaxis": "y2",
        "customdata": model.n_by_age,
        "hovertemplate": "%{y:.1%} of %{customdata} requests about %{x:.3g} s old<extra></extra>",
    }
    notes = [
        f"{whole(model.n_rewarded)} with feedback, {whole(model.n_pending)} waiting, "
        f"{whole(model.n_expired)} without feedback in time."
    ]
    if model.quantiles:
        half = dict(model.quantiles)[0.5]
        notes.append(f"Half of the rewards came within {half:.3g} s.")
    if model.n_sampled < model.n_pulls:
        n_sampled, n_pulls = whole(model.n_sampled), whole(model.n_pulls)
        notes.append(f"From a sample of {n_sampled} of {n_pulls} requests.")
    shapes = []
    if model.window_s is not None:
        style = {"color": palette.GREY, "width": 1, "dash": "dash"}
        panels = [
            (model.delays_s, {"xref": "x", "yref": "y"}),
            (model.ages_s, {"xref": "x2", "yref": "y2"}),
        ]
        shapes = [
            {"type": "line", "x0": model.window_s, "x1": model.window_s, "y0": 0, "y1": 1, **at,
             "line": style}
            for seconds, at in panels
            # A window far beyond all delays would leave them no room.
            if model.window_s <= _ROOM * max((x for x in seconds if x is not None), default=0.0)
        ]  # fmt: skip
        if shapes:
            notes.append("The dashed line is the window.")
    share = {"tickformat": ".0%", "range": [0, 1.02], "zeroline": False, "automargin": True}
    made = layout(
        titled("seconds after serving", rangemode="tozero"),
        titled("with feedback", **share, domain=[0.6, 1.0]),
        xaxis2={**titled("age of the request in seconds", rangemode="tozero"), "anchor": "y2"},
        yaxis2={**titled("without", **share), "domain": [0.0, 0.38], "anchor": "x2"},
        shapes=shapes,
        hovermode="closest",
        showlegend=False,
        height=460,
    )
    return Drawing([came, missing] if model.n_sampled else [], made, notes)


def draw_cost(snapshot: StudySnapshot, axis: str = "time") -> Drawing:
    """What exploring has cost and gained, with their ranges."""
    model, along = cost(snapshot), across(snapshot, axis)
    x = along.places(model.times, model.pulls)
    data = [
        *band(x, model.cost_low, model.cost_high, "range of the cost", palette.RED),
        line(x, model.cost, "cost against the best", palette.RED),
        *band(x, model.gain_low, model.gain_high, "range of the gain", palette.GREEN),
        line(x, model.gain, "gain over serving at random", palette.GREEN),
    ]
    notes = []
    if model.best_arm is not None:
        notes.append("Each request counts with the mean of its configuration as known today.")
    if model.random.mean is None and snapshot.totals.n_pulls:
        notes.append(f"No gain is shown, because serving at random is {model.random}.")
    made = layout(along.axis(), titled("reward, added up"))
    return Drawing(data, made, notes)
