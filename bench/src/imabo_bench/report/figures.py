"""Figures in Plotly's JSON form, drawn from what ``data`` and ``landscape`` computed.

Colours that depend on light or dark are left out: the page (or the PNG export) fills them in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from imabo_bench.report.data import Curve, Quantiles, Split, Spot, natural
from imabo_bench.report.landscape import HeatMap, Landscape

Figure = dict[str, Any]

# Okabe and Ito's palette without black and yellow, which vanish on one of the two backgrounds.
COLOURS: Final = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#8c8c8c")
DASHES: Final = ("solid", "dash", "dot", "dashdot")
SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star")
BASELINE: Final = "#8c8c8c"


@dataclass(frozen=True)
class Look:
    """How a method is drawn, the same in every figure."""

    colour: str
    dash: str
    symbol: str

    def faded(self, share: float) -> str:
        """The colour with some transparency."""
        red, green, blue = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({red},{green},{blue},{share})"


Looks = Mapping[str, Look]


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """A look for each method; past seven, colours repeat with another dash and symbol.

    Example:
        >>> looks_of(["random", "imoss-tpe"])["imoss-tpe"].colour
        '#0072b2'
    """
    looks = {}
    for i, label in enumerate(sorted(labels, key=natural)):
        lap, place = divmod(i, len(COLOURS))
        symbol = SYMBOLS[(place + lap) % len(SYMBOLS)]
        looks[label] = Look(COLOURS[place], DASHES[lap % len(DASHES)], symbol)
    return looks


def curve_figure(
    curves: Sequence[Curve], looks: Looks, y_title: str, level: float | None = None
) -> Figure:
    """Lines over the rounds with a band of one standard deviation; ``level`` is the optimum."""
    traces: list[Figure] = []
    for curve in curves:
        look, name = looks[curve.method], escape(curve.method)
        if curve.std is not None:
            upper = [m + s for m, s in zip(curve.mean, curve.std, strict=True)]
            lower = [m - s for m, s in zip(curve.mean, curve.std, strict=True)]
            traces.append(
                _area([*curve.rounds, *curve.rounds[::-1]], [*upper, *lower[::-1]], look, name)
            )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers" if len(curve.rounds) == 1 else "lines",
                "x": curve.rounds,
                "y": curve.mean,
                "name": name,
                "legendgroup": name,
                "line": {"color": look.colour, "dash": look.dash, "width": 2},
                "hovertemplate": "round %{x:,}: %{y:.4g}<extra>" + name + "</extra>",
            }
        )
    layout = _layout("rounds", y_title, n_legend=len(curves))
    layout["meta"]["rounds_axis"] = True
    return {"data": traces, "layout": layout | _level("y", level)}


def plane_figure(trails: Mapping[str, Sequence[Spot]], looks: Looks) -> Figure:
    """Simple against average regret: dots for runs, ellipses over seeds, larger with the rounds."""
    traces: list[Figure] = []
    for method, spots in trails.items():
        if not spots:
            continue
        look, name = looks[method], escape(method)
        ellipses = [spot.ellipse for spot in spots if spot.ellipse is not None]
        traces += [_area(*ellipse.outline(), look, name) for ellipse in ellipses]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [x for spot in spots for x in spot.average],
                "y": [y for spot in spots for y in spot.simple],
                "legendgroup": name,
                "showlegend": False,
                "hoverinfo": "skip",
                "marker": {"color": look.colour, "size": 3, "opacity": 0.45},
            }
        )
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": [spot.center[0] for spot in spots],
                "y": [spot.center[1] for spot in spots],
                "customdata": [spot.checkpoint for spot in spots],
                "name": name,
                "legendgroup": name,
                "line": {"color": look.colour, "dash": look.dash, "width": 1},
                "marker": {
                    "color": look.colour,
                    "symbol": look.symbol,
                    "size": [7 + 3 * i for i in range(len(spots))],
                },
                "hovertemplate": "%{customdata:,} rounds<br>average %{x:.4g}<br>simple %{y:.4g}"
                "<extra>" + name + "</extra>",
            }
        )
    layout = _layout(
        "average regret (reward per round)",
        "simple regret (reward)",
        n_legend=sum(bool(spots) for spots in trails.values()),
    )
    layout["legend"]["itemsizing"] = "constant"
    return {"data": traces, "layout": layout}


def split_figure(splits: Sequence[Split], looks: Looks) -> Figure:
    """Bars of average regret: solid for the best-arm gap, hatched for the other arms."""
    colours = [looks[split.method].colour for split in splits]
    outline = {"color": colours, "width": 1.5}
    marks: list[Figure] = [
        {"color": colours, "line": outline},
        {
            "color": colours,
            "line": outline,
            "pattern": {"shape": "/", "fillmode": "replace", "size": 7, "solidity": 0.35},
        },
    ]
    parts = ("best-arm gap", "cost of the other arms")
    widths = ([split.best_gap for split in splits], [split.cost for split in splits])
    texts = (None, [_share(split) for split in splits])
    names = [escape(split.method) for split in splits]
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "y": names,
            "x": width,
            "name": part,
            "marker": mark,
            "hovertemplate": "%{y}: " + part + " %{x:.4g}<extra></extra>",
        }
        | ({} if text is None else {"text": text, "textposition": "outside", "cliponaxis": False})
        for part, width, mark, text in zip(parts, widths, marks, texts, strict=True)
    ]
    layout = _row_layout("average regret (reward per round)", names)
    layout["barmode"] = "relative"
    # Room on the right for the words beside the longest bar.
    longest = max((max(split.average, split.cost, 0.0) for split in splits), default=0.0)
    lowest = min((min(split.best_gap, split.cost, 0.0) for split in splits), default=0.0)
    layout["xaxis"]["range"] = [1.05 * lowest, 1.6 * longest or 1.0]
    return {"data": traces, "layout": layout}


def arms_figure(
    arms: Sequence[Quantiles], looks: Looks, baseline: Quantiles | None, optimum: float
) -> Figure:
    """Boxes of the true means of admitted arms; P0's own on top where it is known."""
    boxes = ([] if baseline is None else [(baseline, BASELINE)]) + [
        (box, looks[box.label].colour) for box in arms
    ]
    traces = [
        {
            "type": "box",
            "orientation": "h",
            "y": [escape(box.label)],
            "lowerfence": [box.low],
            "q1": [box.lower],
            "median": [box.median],
            "q3": [box.upper],
            "upperfence": [box.high],
            "mean": [box.mean],
            "boxmean": True,
            "name": escape(box.label),
            "line": {"color": colour, "width": 1.5},
        }
        for box, colour in boxes
    ]
    layout = _row_layout("true mean reward", [escape(box.label) for box, _ in boxes])
    return {"data": traces, "layout": layout | _level("x", optimum)}


def cdf_figure(landscape: Landscape) -> Figure:
    """Share of P0 with at most a mean."""
    trace = {
        "type": "scatter",
        "mode": "lines",
        "x": landscape.means,
        "y": landscape.shares,
        "line": {"color": COLOURS[0], "width": 2, "shape": "hv"},
        "hovertemplate": "%{y:.1%} of P0 has a mean of at most %{x:.4g}<extra></extra>",
    }
    layout = _layout("mean reward", "share of configurations under P0", n_legend=0)
    layout["yaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    marked = _level("x", landscape.optimum, at=0.3)
    top = _level("x", landscape.quantile, f"top {landscape.rho:.0%}", "dot", at=0.5)
    for name in ("shapes", "annotations"):
        layout[name] = marked[name] + top[name]
    return {"data": [trace], "layout": layout}


def heat_figure(heat_map: HeatMap) -> Figure:
    """Mean reward over two parameters."""
    trace = {
        "type": "heatmap",
        "z": heat_map.values,
        "colorscale": "Viridis",
        "colorbar": {"title": {"text": "mean", "side": "right"}, "thickness": 12},
        "customdata": [[f"{x}, {y}" for x in heat_map.labels[0]] for y in heat_map.labels[1]],
        "hovertemplate": "%{customdata}: %{z:.4f}<extra></extra>",
        "hoverongaps": False,
    }
    names = [escape(name) for name in heat_map.names]
    layout = _layout(names[0], names[1], n_legend=0)
    for axis, labels in zip(("xaxis", "yaxis"), heat_map.labels, strict=True):
        layout[axis] |= _ticks([escape(label) for label in labels])
    return {"data": [trace], "layout": layout}


def _ticks(labels: Sequence[str], most: int = 6) -> Figure:
    step = max(1, -(-len(labels) // most))
    places = list(range(0, len(labels), step))
    return {
        "tickvals": places,
        "ticktext": [labels[place] for place in places],
        "showgrid": False,
        "zeroline": False,
    }


def _share(split: Split) -> str:
    if split.average <= 0.0:
        return f"{split.average:.3g}"
    return f"{split.average:.3g} ({split.cost / split.average:.0%})"


def _area(x: Sequence[float], y: Sequence[float], look: Look, group: str) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": list(x),
        "y": list(y),
        "fill": "toself",
        "fillcolor": look.faded(0.14),
        "line": {"width": 0, "color": look.faded(0.0)},
        "legendgroup": group,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _layout(x_title: str, y_title: str, *, n_legend: int) -> Figure:
    return {
        "margin": {"l": 64, "r": 16, "t": 34, "b": 48},
        "xaxis": {"title": {"text": x_title, "standoff": 8}, "automargin": True},
        "yaxis": {"title": {"text": y_title, "standoff": 8}, "automargin": True},
        "legend": {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
        "showlegend": n_legend > 0,
        "hoverlabel": {"namelength": -1},
        "meta": {"legend": n_legend},
    }


def _row_layout(x_title: str, names: Sequence[str]) -> Figure:
    """One row a method, the first on top."""
    layout = _layout(x_title, "", n_legend=0)
    del layout["yaxis"]["title"]
    layout["yaxis"] |= {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(names),
        "autorange": "reversed",
        "showgrid": False,
    }
    layout["meta"]["rows"] = len(names)
    return layout


def _level(
    axis: str, value: float | None, words: str = "optimum", dash: str = "dash", at: float = 1.0
) -> Figure:
    """A line across the figure at a value, with words beside it."""
    if value is None:
        return {}
    other = "y" if axis == "x" else "x"
    shape = {
        "type": "line",
        f"{axis}0": value,
        f"{axis}1": value,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": "paper",
        "line": {"width": 1.5, "dash": dash},
    }
    anchors = {"xanchor": "right", "yanchor": "top" if axis == "x" else "bottom"}
    label = {axis: value, other: at, f"{other}ref": "paper", "text": words, "showarrow": False}
    return {"shapes": [shape], "annotations": [label | anchors]}
