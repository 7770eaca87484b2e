"""What the figures share: a drawing, axes, bands, and text that Plotly must not read as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from imabo.insight.palette import faint

Trace = dict[str, Any]
Column = Sequence[float | None]

_LONGEST: Final = 48


@dataclass(slots=True)
class Drawing:
    """The traces and the layout of a figure, and notes that depend on the study."""

    data: list[Trace]
    layout: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def layout(x: dict[str, Any], y: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The layout that most figures have."""
    return {
        "xaxis": {"automargin": True, "zeroline": False, **x},
        "yaxis": {"automargin": True, "zeroline": False, **y},
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        "margin": {"l": 56, "r": 16, "t": 40, "b": 48},
        "height": 380,
        "hovermode": "x unified",
        **more,
    }


def titled(text: str, **more: Any) -> dict[str, Any]:
    """An axis with a title."""
    return {"title": {"text": text}, **more}


def category(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """An axis of texts, in this order."""
    return {"type": "category", "categoryorder": "array", "categoryarray": labels, **more}


def scatter(mode: str, x: Sequence[Any], y: Sequence[Any], name: str, **more: Any) -> Trace:
    """Points, lines or texts."""
    return {"type": "scatter", "mode": mode, "x": list(x), "y": list(y), "name": name, **more}


def line(x: Column, y: Column, name: str, colour: str, **more: Any) -> Trace:
    """A line."""
    style = {"color": colour, "width": 2} | more.pop("line", {})
    return scatter("lines", x, y, name, line=style, **more)


def whiskers(rows: Sequence[tuple[float | None, ...]], colour: str, **more: Any) -> Trace:
    """Error bars of means with the lower and upper ends of their intervals.

    An end on the other side of the mean, which may be drawn towards the others', is not shown.
    """

    def reach(top: float | None, bottom: float | None) -> float:
        return 0.0 if top is None or bottom is None else max(top - bottom, 0.0)

    return {
        "type": "data",
        "symmetric": False,
        "array": [reach(high, mean) for mean, _, high in rows],
        "arrayminus": [reach(mean, low) for mean, low, _ in rows],
        "thickness": 1.5,
        "color": colour,
        **more,
    }


def band(x: Column, low: Column, high: Column, name: str, colour: str) -> list[Trace]:
    """The space between two lines; where an end is not known there is none."""
    known = [
        (place, bottom, top)
        for place, bottom, top in zip(x, low, high, strict=True)
        if bottom is not None and top is not None
    ]
    places, bottoms, tops = ([list(part) for part in zip(*known, strict=True)] if known
                             else ([], [], []))  # fmt: skip
    hidden = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    return [
        line(places, bottoms, name, colour, **hidden),
        line(places, tops, name, colour, fill="tonexty", fillcolor=faint(colour), **hidden),
    ]


def level(mean: float, name: str, colour: str, start: float, end: float) -> Trace:
    """A horizontal line."""
    style = {"dash": "dash", "width": 1.5}
    return line([start, end], [mean, mean], name, colour, line=style)


def safe(text: object, longest: int = _LONGEST) -> str:
    """Text of a user, shortened, as Plotly shows it letter by letter."""
    shown = str(text)
    if len(shown) > longest:
        shown = shown[: longest - 1] + "…"
    return escape(shown, quote=False)


def whole(n: float) -> str:
    """A count, for people."""
    return f"{int(n):,}"
