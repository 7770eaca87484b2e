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
from imabo.insight.parameters import ParameterEffects, effects, importance
from imabo.insight.snapshot import StudySnapshot

MOST_PARAMETERS: Final = 20
_ROW: Final = 190  # pixels


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
        top = 1.0 - i / len(names)
        bottom = top - (1.0 - 70 / _ROW) / len(names)
        data.append(_effect_trace(found[name], suffix, max(most, 1)))
        labels = [safe(effect.label, 24) for effect in found[name].effects]
        made[f"xaxis{suffix}"] = category(labels, anchor=f"y{suffix}", automargin=True)
        domain = [max(bottom, 0.0), top]
        y = {"anchor": f"x{suffix}", "domain": domain, "zeroline": False, "automargin": True}
        # One scale, to compare parameters by eye.
        made[f"yaxis{suffix}"] = y | ({"matches": "y"} if suffix else {})
        text = f"<b>{safe(name)}</b>"
        made["annotations"].append({"text": text, "x": 0, "y": top, "showarrow": False, **place})
    notes = ["Other parameters differ between the groups as well."]
    if len(names) < len(ranked):
        notes.append(f"The {len(names)} of {len(ranked)} parameters that matter most.")
    return Drawing(data, made, notes)


def _effect_trace(one: ParameterEffects, suffix: str, most: int) -> dict[str, Any]:
    rows = one.effects
    sizes = [5 + 13 * math.sqrt(row.n_rewards / most) for row in rows]
    return scatter(
        "markers",
        [safe(row.label, 24) for row in rows],
        [row.mean for row in rows],
        safe(one.name),
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
        error_y=whiskers([(row.mean, row.mean_low, row.mean_high) for row in rows], palette.BLUE),
        marker={"color": palette.BLUE, "size": sizes},
        customdata=[[row.n_arms, row.n_pulls, row.n_rewards] for row in rows],
        hovertemplate="%{x}: %{y:.4g}<br>%{customdata[0]:,d} arms, %{customdata[1]:,d} pulls, "
        "%{customdata[2]:,d} rewards<extra></extra>",
    )


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
        titled("share of the differences between arms", tickformat=".0%", range=[0, reach]),
        category(labels),
        height=130 + 26 * max(len(bars), 4),
        hovermode="closest",
        showlegend=False,
    )
    notes = [model.note, f"From {whole(model.n_arms)} arms with rewards."]
    n_unknown = len(model.parameters) - len(known)
    if n_unknown:
        notes.append(f"For {n_unknown} of the parameters there are too few arms to tell.")
    return Drawing([trace] if bars else [], made, notes)
