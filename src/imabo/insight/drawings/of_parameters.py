"""Figures of the parameters: the effect of each, and which of them matter."""

from __future__ import annotations

import math
from typing import Any, Final

from imabo.insight import palette
from imabo.insight.drawings.base import (
    Drawing,
    category,
    layout,
    safe,
    scatter,
    titled,
    whiskers,
    whole,
)
from imabo.insight.labelling import short_number
from imabo.insight.parameters import Effect, ParameterEffects, effects, importance
from imabo.insight.snapshot import StudySnapshot

MOST_PARAMETERS: Final = 20
_ROW: Final = 190  # pixels
_GAP: Final = 70 / _ROW  # between two rows
_STEPS: Final = (1.0, 2.0, 5.0)  # of ticks on a log scale
_DECADES: Final = 4.0  # from so many on, powers of ten are enough
_MARGIN: Final = 0.04  # of a number line, beyond its ends


def draw_effects(snapshot: StudySnapshot) -> Drawing:
    """A row for each parameter, the most important first: means with intervals by value."""
    found = {one.name: one for one in effects(snapshot)}
    ranked = [one.name for one in importance(snapshot).parameters]
    names = ranked[:MOST_PARAMETERS]
    made: dict[str, Any] = {
        "height": _ROW * max(len(names), 1) + 20,
        "margin": {"l": 56, "r": 16, "t": 40, "b": 40},
        "showlegend": False,
        "hovermode": "closest",
        "annotations": [],
    }
    data = []
    most = max([e.n_rewards for one in found.values() for e in one.effects], default=1)
    place = {"xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "bottom"}
    for i, name in enumerate(names):
        suffix = "" if i == 0 else str(i + 1)
        # Between two rows there is room for a title; below the last there need not be.
        top = 1.0 - i / (len(names) - _GAP)
        bottom = top - (1.0 - _GAP) / (len(names) - _GAP)
        on_line = found[name].kind != "choice"
        data.append(_effect_trace(found[name], suffix, max(most, 1)))
        x = _number_line(snapshot, found[name]) if on_line else _names(found[name])
        made[f"xaxis{suffix}"] = {**x, "anchor": f"y{suffix}", "automargin": True}
        domain = [max(bottom, 0.0), top]
        y = {"anchor": f"x{suffix}", "domain": domain, "zeroline": False, "automargin": True}
        # One scale, to compare parameters by eye.
        made[f"yaxis{suffix}"] = y | ({"matches": "y"} if suffix else {})
        text = f"<b>{safe(name)}</b>"
        made["annotations"].append({"text": text, "x": 0, "y": top, "showarrow": False, **place})
    notes = ["Other parameters differ between the groups as well."]
    if any(one.kind != "choice" for one in found.values()):
        notes.append("Bars across are ranges of numbers.")
    if len(names) < len(ranked):
        notes.append(f"The {len(names)} of {len(ranked)} parameters that matter most.")
    return Drawing(data, made, notes)


def _names(one: ParameterEffects) -> dict[str, Any]:
    return category([safe(effect.label, 24) for effect in one.effects])


def _number_line(snapshot: StudySnapshot, one: ParameterEffects) -> dict[str, Any]:
    """From one end of the parameter to the other, and as far as older spaces went."""
    parameter = snapshot.space.parameters[one.name]
    ends = [float(getattr(parameter, end, 0.0)) for end in ("low", "high")]
    ends += [end for row in one.effects for end in (row.low, row.high) if end is not None]
    low, high = min(ends), max(ends)
    if one.log and low > 0:
        low, high = math.log10(low), math.log10(high)
    room = _MARGIN * (high - low) or 0.5
    made = {"range": [low - room, high + room], "zeroline": False}
    if one.log:
        ticks = [
            step * 10.0**power
            for power in range(math.floor(low), math.ceil(high) + 1)
            for step in (_STEPS if high - low < _DECADES else _STEPS[:1])
            if low - room <= math.log10(step * 10.0**power) <= high + room
        ]
        made |= {"type": "log", "tickvals": ticks, "ticktext": [short_number(x) for x in ticks]}
    return made


def _effect_trace(one: ParameterEffects, suffix: str, most: int) -> dict[str, Any]:
    on_line = one.kind != "choice"
    # Configurations that do not have a number have no place on its line.
    rows = [row for row in one.effects if not on_line or row.low is not None]
    sizes = [5 + 13 * math.sqrt(row.n_rewards / most) for row in rows]
    x: list[Any] = [_middle(row, one.log) if on_line else safe(row.label, 24) for row in rows]
    across = {}
    if on_line:
        reach = [(place, row.low, row.high) for place, row in zip(x, rows, strict=True)]
        across = {"error_x": whiskers(reach, palette.GREY, width=0)}
    return scatter(
        "markers",
        x,
        [row.mean for row in rows],
        safe(one.name),
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
        error_y=whiskers([(row.mean, row.mean_low, row.mean_high) for row in rows], palette.BLUE),
        **across,
        marker={"color": palette.BLUE, "size": sizes},
        text=[safe(row.label, 40) for row in rows],
        customdata=[[row.n_arms, row.n_pulls, row.n_rewards] for row in rows],
        hovertemplate="%{text}: %{y:.4g}<br>%{customdata[0]:,d} configurations, "
        "%{customdata[1]:,d} requests, %{customdata[2]:,d} rewards<extra></extra>",
    )


def _middle(row: Effect, is_log: bool) -> float:
    low, high = row.low or 0.0, row.high or 0.0
    return math.sqrt(low * high) if is_log and low > 0 else (low + high) / 2.0


def draw_importance(snapshot: StudySnapshot) -> Drawing:
    """A bar for each parameter."""
    model = importance(snapshot)
    known = {one.name: one.share for one in model.parameters if one.share is not None}
    bars = list(known.items())[:MOST_PARAMETERS][::-1]
    labels, shares = [safe(name) for name, _ in bars], [share for _, share in bars]
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": shares,
        "y": labels,
        "marker": {"color": palette.BLUE},
        "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
    }
    # Some of the axis must be seen when no parameter matters.
    reach = min(max([0.1, *(1.1 * share for share in shares)]), 1.0)
    made = layout(
        titled("share of the differences", tickformat=".0%", range=[0, reach]),
        category(labels),
        height=130 + 26 * max(len(bars), 4),
        hovermode="closest",
        showlegend=False,
    )
    notes = [model.note, f"From {whole(model.n_arms)} configurations with rewards."]
    n_unknown = len(model.parameters) - len(known)
    if n_unknown:
        notes.append(f"For {n_unknown} of the parameters there are too few of them to tell.")
    return Drawing([trace] if bars else [], made, notes)
