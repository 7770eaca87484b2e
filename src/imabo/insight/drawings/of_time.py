"""Figures over time: reward, active arms, traffic, feedback, cost and gain."""

from __future__ import annotations

import math
from typing import Any

from imabo.insight import palette
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
from imabo.insight.timelines import RewardOverTime, cost, growth, reward, traffic

_ROOM = 2.0  # times the longest delay, up to which the window is drawn
_PULLS = "pulls"
_NOTICED = "change noticed"
_CLOSE = 0.07  # of the axis: nearer than that, two names would overlap


def draw_reward(snapshot: StudySnapshot, baseline: int | None = None) -> Drawing:
    """Reward over time, with marks where arms entered and where space or world changed."""
    model = reward(snapshot, baseline)
    x = model.pulls
    end = float(snapshot.totals.n_pulls)
    band_name = f"mean of the last {model.window} points"
    data = band(x, model.rolling_low, model.rolling_high, "95% band", palette.BLUE)
    data += [
        line(x, model.mean, "between two points", palette.SKY)
        | {"mode": "markers", "marker": {"color": palette.SKY, "size": 4}},
        line(x, model.rolling, band_name, palette.BLUE),
        line(x, model.cumulative, "mean of all so far", palette.GREY, line={"dash": "dot"}),
    ]
    known = [
        ("serving at random", palette.ORANGE, model.random),
        (f"arm {model.baseline_arm}", palette.PINK, model.baseline),
    ]
    for name, colour, estimate in known:
        if estimate is not None and estimate.mean is not None:
            data += band(
                [0.0, end], [estimate.low] * 2, [estimate.high] * 2, f"{name}, 95%", colour
            )
            data.append(level(estimate.mean, name, colour, 0.0, end))
    if model.arrivals:
        came = [one.pulls for one in model.arrivals]
        words = [f"arm {one.arm} ({one.origin})" for one in model.arrivals]
        ticks = {"symbol": "line-ns-open", "size": 8, "color": palette.GREEN}
        data.append(_marks(came, 0.02, "new arm", words, **ticks))
    notes = []
    if model.n_arrivals > len(model.arrivals):
        notes.append(
            f"Marks of {len(model.arrivals)} of {whole(model.n_arrivals)} arms, evenly picked."
        )
    if model.random.mean is None and snapshot.totals.n_pulls:
        notes.append(f"Serving at random is {model.random}.")
    if model.drifts:
        came = [one.pulls for one in model.drifts]
        words = [safe(one.text, 160) for one in model.drifts]
        diamonds = {"symbol": "diamond", "size": 9, "color": palette.VIOLET}
        data.append(_marks(came, 0.06, _NOTICED, words, **diamonds))
        notes.append("At dashed lines the study noticed that the rewards had changed.")
    shapes, notes_at = _changes(model, _CLOSE * end)
    made = layout(
        titled(_PULLS, rangemode="tozero"),
        titled("reward"),
        # The row of marks at the foot has an axis of its own, without numbers.
        yaxis2={"overlaying": "y", "range": [0, 1], "visible": False, "fixedrange": True},
        shapes=shapes,
        annotations=notes_at,
    )
    return Drawing(data, made, notes)


def _marks(
    pulls: list[float], height: float, name: str, text: list[str], **marker: Any
) -> dict[str, Any]:
    """A row of marks at the foot."""
    hover = {"text": text, "hovertemplate": "%{text}<extra></extra>"}
    y = [height] * len(pulls)
    return scatter("markers", pulls, y, name, yaxis="y2", marker=marker, **hover)


def _changes(
    model: RewardOverTime, gap: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines where the space or the world changed, named where there is room."""
    marks = [(one.pulls, f"space {one.version}", "dot", palette.RED) for one in model.space_changes]
    marks += [(one.pulls, _NOTICED, "dash", palette.VIOLET) for one in model.drifts]
    shapes, notes, last = [], [], -math.inf
    for pulls, text, dash, colour in sorted(marks):
        style = {"color": colour, "width": 1.5, "dash": dash}
        shapes.append(
            {"type": "line", "x0": pulls, "x1": pulls, "yref": "paper", "y0": 0, "y1": 1,
             "line": style}
        )  # fmt: skip
        if pulls - last >= gap:
            last = pulls
            notes.append(
                {"x": pulls, "yref": "paper", "y": 1, "text": text, "showarrow": False,
                 "xanchor": "left", "yanchor": "top"}
            )  # fmt: skip
    return shapes, notes


def draw_growth(snapshot: StudySnapshot) -> Drawing:
    """The active set against the policy's schedule."""
    model = growth(snapshot)
    data = [
        line(model.pulls, model.n_active, "active arms", palette.BLUE, customdata=model.effective)
        | {"hovertemplate": "%{y:,d} (t = %{customdata:,.0f})"}
    ]
    notes = []
    if model.due is not None:
        name = f"due by {model.law}"
        data.append(line(model.pulls, model.due, name, palette.ORANGE, line={"dash": "dash"}))
        notes.append("t counts the rewards in hand, and pending pulls as parts of one.")
    made = layout(titled(_PULLS, rangemode="tozero"), titled("arms", rangemode="tozero"))
    return Drawing(data, made, notes)


def draw_traffic(snapshot: StudySnapshot) -> Drawing:
    """The share of each of the most served arms."""
    model = traffic(snapshot)
    named = [
        (f"arm {arm}", colour, counts)
        for arm, colour, counts in zip(model.arms, palette.SERIES, model.counts, strict=False)
    ]
    if model.n_others:
        named.append((f"{whole(model.n_others)} others", palette.GREY, model.others))
    data = [
        line(
            model.pulls,
            _shares(counts, model.totals),
            name,
            colour,
            stackgroup="shares",
            line={"width": 0.5, "shape": "vh"},
            fillcolor=palette.faint(colour, 0.75),
            hovertemplate="%{y:.1%}",
        )
        for name, colour, counts in named
    ]
    made = layout(
        titled(_PULLS, rangemode="tozero"),
        titled("share of the pulls", tickformat=".0%", range=[0, 1]),
    )
    notes = [f"The {len(model.arms)} arms with the most pulls."] if model.n_others else []
    return Drawing(data, made, notes)


def _shares(counts: list[float | None], totals: list[float | None]) -> list[float | None]:
    pairs = zip(counts, totals, strict=True)
    return [None if not total or count is None else count / total for count, total in pairs]


def draw_feedback(snapshot: StudySnapshot) -> Drawing:
    """The share of pulls whose reward has come, by delay; below, the share without, by age."""
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
        "hovertemplate": "%{y:.1%} of %{customdata} pulls about %{x:.3g} s old<extra></extra>",
    }
    notes = [
        f"{whole(model.n_rewarded)} rewarded, {whole(model.n_pending)} pending, "
        f"{whole(model.n_expired)} expired."
    ]
    if model.quantiles:
        half = dict(model.quantiles)[0.5]
        notes.append(f"Half of the rewards came within {half:.3g} s.")
    if model.n_sampled < model.n_pulls:
        notes.append(f"From a sample of {whole(model.n_sampled)} of {whole(model.n_pulls)} pulls.")
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
        titled("rewarded", **share, domain=[0.6, 1.0]),
        xaxis2={**titled("age of the pull in seconds", rangemode="tozero"), "anchor": "y2"},
        yaxis2={**titled("no reward", **share), "domain": [0.0, 0.38], "anchor": "x2"},
        shapes=shapes,
        hovermode="closest",
        showlegend=False,
        height=460,
    )
    return Drawing([came, missing] if model.n_sampled else [], made, notes)


def draw_cost(snapshot: StudySnapshot) -> Drawing:
    """What exploring has cost and gained, with their ranges."""
    model = cost(snapshot)
    data = [
        *band(model.pulls, model.cost_low, model.cost_high, "range of the cost", palette.RED),
        line(model.pulls, model.cost, "cost against the best arm", palette.RED),
        *band(model.pulls, model.gain_low, model.gain_high, "range of the gain", palette.GREEN),
        line(model.pulls, model.gain, "gain over serving at random", palette.GREEN),
    ]
    notes = []
    if model.best_arm is not None:
        notes.append(f"The best arm is {model.best_arm}; pulls count with their arm's mean today.")
    if model.random.mean is None and snapshot.totals.n_pulls:
        notes.append(f"No gain is shown, because serving at random is {model.random}.")
    made = layout(titled(_PULLS, rangemode="tozero"), titled("reward, added up"))
    return Drawing(data, made, notes)
