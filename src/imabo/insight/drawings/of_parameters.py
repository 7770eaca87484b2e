"""Figures of the parameters: the effect of each, and which of them matter."""

from __future__ import annotations

import math
from typing import Any, Final

from imabo.insight import palette
from imabo.insight.drawings.base import Drawing, layout, safe, titled, whole
from imabo.insight.parameters import Importance, ParameterEffects, effects, importance
from imabo.insight.snapshot import StudySnapshot

MOST_PARAMETERS: Final = 20
_ROW: Final = 190  # pixels


def draw_effects(snapshot: StudySnapshot) -> Drawing:
    """A row for each parameter, the most important first: means with intervals by value."""
    found = {one.name: one for one in effects(snapshot)}
    ranked = [one.name for one in importance(snapshot).parameters]
    names = ranked[:MOST_PARAMETERS]
    height = _ROW * max(len(names), 1) + 20
    made: dict[str, Any] = {
        "height": height,
        "margin": {"l": 56, "r": 16, "t": 40, "b": 40},
        "showlegend": False,
        "hovermode": "closest",
        "annotations": [],
    }
    data = []
    most = max([e.n_rewards for one in found.values() for e in one.effects], default=1)
    for i, name in enumerate(names):
        suffix = "" if i == 0 else str(i + 1)
        top = 1.0 - i / len(names)
        bottom = top - (1.0 - 70 / _ROW) / len(names)
        data.append(_effect_trace(found[name], suffix, max(most, 1)))
        labels = [safe(effect.label, 24) for effect in found[name].effects]
        made[f"xaxis{suffix}"] = {
            "anchor": f"y{suffix}",
            "type": "category",
            "categoryorder": "array",
            "categoryarray": labels,
            "automargin": True,
        }
        made[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}",
            "domain": [max(bottom, 0.0), top],
            "zeroline": False,
            "automargin": True,
        }
        if suffix:
            made[f"yaxis{suffix}"]["matches"] = "y"  # one scale, to compare parameters by eye
        made["annotations"].append(
            {
                "text": f"<b>{safe(name)}</b>",
                "xref": "paper",
                "yref": "paper",
                "x": 0,
                "y": top,
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
            }
        )
    notes = ["Other parameters differ between the groups as well."]
    if len(names) < len(ranked):
        notes.append(f"The {len(names)} of {len(ranked)} parameters that matter most.")
    return Drawing(data, made, notes)


def _effect_trace(one: ParameterEffects, suffix: str, most: int) -> dict[str, Any]:
    rows = one.effects

    def reach(end: float | None, mean: float | None) -> float:
        return 0.0 if end is None or mean is None else abs(end - mean)

    return {
        "type": "scatter",
        "mode": "markers",
        "name": safe(one.name),
        "x": [safe(row.label, 24) for row in rows],
        "y": [row.mean for row in rows],
        "xaxis": f"x{suffix}",
        "yaxis": f"y{suffix}",
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [reach(row.mean_high, row.mean) for row in rows],
            "arrayminus": [reach(row.mean_low, row.mean) for row in rows],
            "thickness": 1.5,
            "color": palette.BLUE,
        },
        "marker": {
            "color": palette.BLUE,
            "size": [5 + 13 * math.sqrt(row.n_rewards / most) for row in rows],
        },
        "customdata": [[row.n_arms, row.n_pulls, row.n_rewards] for row in rows],
        "hovertemplate": "%{x}: %{y:.4g}<br>%{customdata[0]:,d} arms, %{customdata[1]:,d} pulls, "
        "%{customdata[2]:,d} rewards<extra></extra>",
    }


def draw_importance(snapshot: StudySnapshot) -> Drawing:
    """A bar for each parameter."""
    model = importance(snapshot)
    shown = [one for one in model.parameters if one.share is not None][:MOST_PARAMETERS]
    labels = [safe(one.name) for one in reversed(shown)]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [one.share for one in reversed(shown)],
            "y": labels,
            "marker": {"color": palette.BLUE},
            "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
        }
    ]
    made = layout(
        titled("share of the differences between arms", tickformat=".0%", range=[0, _reach(shown)]),
        {"type": "category", "categoryorder": "array", "categoryarray": labels},
        height=130 + 26 * max(len(shown), 4),
        hovermode="closest",
        showlegend=False,
    )
    notes = [model.note, f"From {whole(model.n_arms)} arms with rewards."]
    n_unknown = sum(one.share is None for one in model.parameters)
    if n_unknown:
        notes.append(f"For {n_unknown} of the parameters there are too few arms to tell.")
    return Drawing(data if shown else [], made, notes)


def _reach(shown: list[Importance]) -> float:
    """The end of the axis: some of it must be seen when no parameter matters."""
    return min(max([0.1, *(1.1 * (one.share or 0.0) for one in shown)]), 1.0)
