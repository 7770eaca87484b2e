"""Figures of the arms: the best ones, parallel coordinates, descent."""

from __future__ import annotations

import math
from typing import Any

from imabo.insight import palette
from imabo.insight.arm_table import ArmRow, arms
from imabo.insight.drawings.base import (
    Drawing,
    category,
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
from imabo.insight.structure import Axis, descent, parallel
from imabo.insight.timelines import Column

_ROW = 42  # pixels
_STATES = {"active": palette.BLUE, "paused": palette.ORANGE, "retired": palette.GREY}


def draw_arms(snapshot: StudySnapshot, by: str = "low", limit: int = 8) -> Drawing:
    """The best configurations with their intervals, the best one on top, each under its label."""
    model = arms(snapshot, by=by, limit=limit)
    groups = [
        (state, colour, [row for row in model.rows if row.state == state])
        for state, colour in _STATES.items()
    ]
    data = [
        scatter(
            "markers",
            [row.estimate for row in rows],
            [f"#{row.id}" for row in rows],
            state,
            orientation="h",
            error_x=whiskers([(row.estimate, row.low, row.high) for row in rows], colour, width=3),
            marker={"color": colour, "size": 9},
            text=[safe(config_text(row.config), 160) for row in rows],
            customdata=[[row.n_rewards, row.share, row.mean] for row in rows],
            hovertemplate="%{y}: %{x:.4g}<br>%{text}<br>%{customdata[0]:,d} rewards, plain average "
            "%{customdata[2]:.4g}, %{customdata[1]:.1%} of the requests<extra></extra>",
        )
        for state, colour, rows in groups
        if rows
    ]
    # Above each interval, where a long label has room on any screen.
    named = {"xref": "paper", "x": 0, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    made = layout(
        titled("mean reward"),
        category([f"#{row.id}" for row in reversed(model.rows)], showticklabels=False),
        height=90 + _ROW * max(len(model.rows), 3),
        hovermode="closest",
        showlegend=len(data) > 1,
        annotations=[
            {"y": f"#{row.id}", "yshift": 7, "text": _name(row), **named} for row in model.rows
        ],
    )
    notes = []
    if len(model.rows) < model.n_arms:
        how = "by the lower end of their interval" if by == "low" else "by requests"
        notes.append(f"{len(model.rows)} of {whole(model.n_arms)}, {how}.")
    return Drawing(data, made, notes)


def _name(row: ArmRow) -> str:
    return safe(row.label, 90) + (" ★" if row.is_best else "")


def draw_parallel(snapshot: StudySnapshot) -> Drawing:
    """Parallel coordinates of the arms, with the mean reward as the last axis.

    Made of plain lines: Plotly's own trace for it needs WebGL and scripts that make scripts, which
    a strict page does not allow.
    """
    model = parallel(snapshot)
    means = [mean for mean in model.means if mean is not None]
    if not means:
        return Drawing([], layout({}, {}))
    low, high = min(means), max(means)
    if low == high:
        # An axis needs some length when all arms are alike, however large their rewards.
        half = max(0.5, 1e-9 * abs(low))
        low, high = low - half, low + half
    ends = [f"{low:.3g}", f"{high:.3g}"]
    axes = [*model.axes, Axis("mean reward", model.means, low, high, [low, high], ends)]
    last = len(palette.SCALE) - 1
    steps = [min(int((mean - low) / (high - low) * (last + 1)), last) for mean in means]
    data = [
        _lines(axes, model.arms, [i for i, one in enumerate(steps) if one == step], colour)
        for step, colour in enumerate(palette.SCALE)
        if step in steps
    ]
    made = layout(
        {
            "tickvals": list(range(len(axes))),
            "ticktext": [safe(axis.name, 18) for axis in axes],
            "side": "top",
            "range": [-0.15, len(axes) - 1 + 0.45],
            "showgrid": True,
        },
        {"visible": False, "range": [-0.04, 1.04], "fixedrange": True},
        height=440,
        hovermode="closest",
        showlegend=False,
    )
    notes = []
    if len(model.arms) < model.n_arms:
        notes.append(f"The {len(model.arms)} most served of {whole(model.n_arms)} configurations.")
    return Drawing([*data, _ticks(axes), _colours(low, high)], made, notes)


def _height(axis: Axis, value: float | None) -> float | None:
    return None if value is None else (value - axis.start) / (axis.end - axis.start)


def _lines(axes: list[Axis], arms: list[int], rows: list[int], colour: str) -> dict[str, Any]:
    """The lines of some arms in one trace, with a gap between two of them."""
    x: Column = []
    y: Column = []
    text: list[str] = []
    for row in rows:
        x += [*map(float, range(len(axes))), None]
        y += [*(_height(axis, axis.values[row]) for axis in axes), None]
        text += [f"configuration {arms[row]}"] * (len(axes) + 1)
    hover = {"text": text, "hovertemplate": "%{text}<extra></extra>", "opacity": 0.75}
    return line(x, y, "configurations", colour, line={"width": 1.5}, **hover)


def _ticks(axes: list[Axis]) -> dict[str, Any]:
    x, y, text = zip(
        *(
            (i, _height(axis, tick), safe(label, 16))
            for i, axis in enumerate(axes)
            for tick, label in zip(axis.ticks, axis.labels, strict=True)
        ),
        strict=True,
    )
    style = {"textposition": "middle right", "textfont": {"size": 10}, "hoverinfo": "skip"}
    return scatter("text", x, y, "values", text=list(text), **style)


def _colours(low: float, high: float) -> dict[str, Any]:
    """The bar that says which colour is which mean, hung on two points that are not seen."""
    steps = len(palette.SCALE) - 1
    marker = {
        "opacity": 0,
        "color": [low, high],
        "colorscale": [[i / steps, colour] for i, colour in enumerate(palette.SCALE)],
        "showscale": True,
        "colorbar": {"title": {"text": "mean"}, "thickness": 10},
    }
    return scatter("markers", [0, 0], [0, 1], "mean", hoverinfo="skip", marker=marker)


def draw_descent(snapshot: StudySnapshot) -> Drawing:
    """Arms by their order and their means, with lines from parents to children."""
    model = descent(snapshot)
    shown = {one.arm: one for one in model.arms if one.mean is not None}
    x: Column = []
    y: Column = []
    for one in shown.values():
        above = shown.get(one.parent or 0)
        if above is not None:
            x += [float(above.arm), float(one.arm), None]
            y += [above.mean, one.mean, None]
    data = [
        line(x, y, "descent", palette.GREY, line={"width": 1}, hoverinfo="skip", showlegend=False)
    ]
    most = max([one.n_pulls for one in shown.values()], default=1)
    for origin, colour in palette.ORIGINS.items():
        group = [one for one in shown.values() if one.origin == origin]
        if not group:
            continue
        sizes = [5 + 20 * math.sqrt(one.n_pulls / most) for one in group]
        data.append(
            scatter(
                "markers",
                [one.arm for one in group],
                [one.mean for one in group],
                origin,
                marker={"color": colour, "size": sizes, "opacity": 0.8},
                text=[
                    f"configuration {one.arm}, {whole(one.n_pulls)} requests<br>"
                    f"{safe(one.config, 160)}"
                    for one in group
                ],
                hovertemplate="%{text}<br>mean %{y:.4g}<extra></extra>",
            )
        )
    notes = []
    if not model.n_children:
        notes.append("None has a parent: the oracle makes configurations from scratch.")
    if len(model.arms) < model.n_arms:
        notes.append(
            f"The {len(model.arms)} most served of {whole(model.n_arms)}, ancestors included."
        )
    made = layout(
        titled("configuration, in order of admission"), titled("mean reward"), hovermode="closest"
    )
    return Drawing(data if shown else [], made, notes)
