"""Figures as SVG, for a report that needs no script: what our own figures use of Plotly's words.

Lines, points, bands, stacked shares, error bars, flat bars, shapes and notes. Colours of text and
grid are classes that the report's style sheet knows, so that one file is light and dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape, unescape
from itertools import accumulate
from typing import Any, Final

from imabo.insight.drawings.scales import Scale, scale_of, ticks

WIDTH: Final = 960.0
_LEFT: Final = 64.0
_RIGHT: Final = 16.0
_LETTER: Final = 6.6  # pixels, about, of text with 12 pixels
_DASHES: Final = {"dash": "7 5", "dot": "2 4"}
_LEGEND: Final = 20.0  # pixels of a row

Made = Mapping[str, Any]


def svg(made: Made) -> str:
    """A figure of ``insight.figure`` as an SVG element, or nothing where there is none to draw.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(20):
        ...     study.tell(study.ask().id, 0.5)
        >>> svg(insight.figure("reward", insight.read(study)))[:4]
        '<svg'
    """
    return _Picture(made).draw() if any(map(_has_points, made["data"])) else ""


def _has_points(trace: Made) -> bool:
    return any(x is not None for x in trace["x"]) and any(y is not None for y in trace["y"])


class _Picture:
    """One figure as it is drawn."""

    def __init__(self, made: Made) -> None:
        self.title = str(made["title"])
        self.layout: Made = made["layout"]
        # Stacked ones become bands first, so that axes know how high they are.
        self.traces = _stacked([dict(trace) for trace in made["data"]])
        self.height = float(self.layout.get("height", 380))
        self.parts: list[str] = []
        self.legend, rows = self._legend()
        is_top = self.layout.get("xaxis", {}).get("side") == "top"
        has_notes = bool(self.layout.get("annotations"))
        self.top = 10.0 + _LEGEND * rows + (22.0 if is_top or has_notes else 0.0)
        self.bottom = self.height - (14.0 if is_top else 46.0)
        self.left = _LEFT + self._room_for_names()
        self.scales: dict[str, Scale] = {}

    def draw(self) -> str:
        """All of it."""
        self._make_scales()
        for name in self.layout:
            if name.startswith(("xaxis", "yaxis")) and "overlaying" not in self.layout[name]:
                self._axis(name)
        self._shapes()
        for i, trace in enumerate(self.traces):
            self._trace(trace, self.traces[i - 1] if i else trace)
        self._notes()
        self.parts.append(self.legend)
        inner = "".join(self.parts)
        return (
            f'<svg viewBox="0 0 {WIDTH:.0f} {self.height:.0f}" role="img" '
            f'aria-label="{escape(self.title)}">{inner}</svg>'
        )

    # --- where things are ---

    def _room_for_names(self) -> float:
        """For the names of rows, which are longer than numbers."""
        axis = self.layout.get("yaxis", {})
        if "ticktext" in axis and axis.get("visible", True):
            return max(0.0, _LETTER * max(map(len, axis["ticktext"]), default=0) - 30.0)
        if axis.get("type") != "category" or axis.get("showticklabels") is False:
            return 0.0 if axis.get("visible", True) else -40.0
        longest = max((len(unescape(name)) for name in axis.get("categoryarray", [])), default=0)
        return max(0.0, min(_LETTER * longest - 40.0, 200.0))

    def _make_scales(self) -> None:
        values: dict[str, list[object]] = {}
        for trace in self.traces:
            for letter in "xy":
                known = values.setdefault(_axis_name(trace, letter), [])
                known += trace[letter]
                known += _reach(trace, letter)
            values[_axis_name(trace, "y")] += trace.get("base", [])
        for name, axis in self.layout.items():
            if not name.startswith(("xaxis", "yaxis")):
                continue
            mine = list(values.get(name, []))
            if name.startswith("yaxis") and (axis.get("matches") or self._is_matched(name)):
                mine = [one for key, some in values.items() if key[0] == "y" for one in some]
            if name.startswith("xaxis"):
                ends = (self.left, WIDTH - _RIGHT)
            else:
                low, high = axis.get("domain", (0.0, 1.0))
                size = self.bottom - self.top
                ends = (self.bottom - low * size, self.bottom - high * size)
            is_points = any("markers" in one.get("mode", "") for one in self.traces)
            pad = 0.05 if name.startswith("yaxis") or is_points else 0.01
            self.scales[name] = scale_of(axis, mine, *ends, pad)

    def _is_matched(self, name: str) -> bool:
        return any(
            isinstance(axis, Mapping) and axis.get("matches") == name.replace("axis", "")
            for axis in self.layout.values()
        )

    def _scale(self, trace: Made, letter: str) -> Scale:
        return self.scales[_axis_name(trace, letter)]

    # --- what is drawn ---

    def _axis(self, name: str) -> None:
        axis, scale = self.layout[name], self.scales[name]
        is_across = name.startswith("xaxis")
        other = self.scales[_anchor(axis, name)]
        low, high = sorted((other.start, other.end))
        has_words = axis.get("showticklabels", True)
        rows = max(int(abs(scale.end - scale.start) // 34), 2)
        for at, text in ticks(axis, scale, 8 if is_across else min(rows, 7)):
            if is_across:
                self.parts.append(_line(at, low, at, high, "grid"))
                y = low - 8 if axis.get("side") == "top" else high + 17
                if has_words:
                    self.parts.append(_text(at, y, text, "middle"))
            else:
                self.parts.append(_line(low, at, high, at, "grid"))
                if has_words:
                    self.parts.append(_text(low - 8, at + 4, text, "end"))
        title = axis.get("title", {}).get("text", "")
        if title and is_across:
            middle = (scale.start + scale.end) / 2
            self.parts.append(_text(middle, high + 37, title, "middle"))
        elif title and axis.get("visible", True):
            middle = (scale.start + scale.end) / 2
            turned = f'transform="rotate(-90 14 {middle:.1f})"'
            self.parts.append(_text(14, middle, title, "middle", turned))

    def _shapes(self) -> None:
        for shape in self.layout.get("shapes", []):
            x = self.scales[f"xaxis{shape.get('xref', 'x')[1:]}"]
            places = [x.place(shape[key]) for key in ("x0", "x1")]
            y_name = shape.get("yref", "y")
            if y_name == "paper":
                ys: list[float | None] = [self.bottom, self.top]
            else:
                y = self.scales[f"yaxis{y_name[1:]}"]
                ys = [y.place(shape[key]) for key in ("y0", "y1")]
            if None not in (*places, *ys):
                self.parts.append(_path([(places[0], ys[0]), (places[1], ys[1])], shape["line"]))

    def _notes(self) -> None:
        for note in self.layout.get("annotations", []):
            is_paper = {key: note.get(f"{key}ref") == "paper" for key in "xy"}
            x = (
                self.left + note["x"] * (WIDTH - _RIGHT - self.left)
                if is_paper["x"]
                else self.scales["xaxis"].place(note["x"])
            )
            y = (
                self.bottom - note["y"] * (self.bottom - self.top)
                if is_paper["y"]
                else self.scales["yaxis"].place(note["y"])
            )
            if x is None or y is None:
                continue
            y += 12.0 if note.get("yanchor") == "top" else -4.0
            text = str(note["text"])
            is_bold = text.startswith("<b>")
            more = 'font-weight="600"' if is_bold else ""
            text = text.removeprefix("<b>").removesuffix("</b>")
            self.parts.append(_text(x + 3, y - note.get("yshift", 0.0) + 2, text, "start", more))

    def _trace(self, trace: Made, before: Made) -> None:
        x, y = self._scale(trace, "x"), self._scale(trace, "y")
        if trace["type"] == "bar":
            self._bars(trace, x, y)
            return
        points = _points(trace, x, y)
        mode, style = trace.get("mode", "lines"), trace.get("line", {})
        if "base" in trace:
            bases = map(y.place, trace["base"])
            floor = [(px, base) for (px, _), base in zip(points, bases, strict=True)]
            self.parts.append(_area(_stepped(points), _stepped(floor), trace["fillcolor"]))
        elif trace.get("fill") == "tonexty":
            self.parts.append(_area(points, _points(before, x, y), trace["fillcolor"]))
        elif "lines" in mode and style.get("width") != 0:
            shown = _stepped(points, is_late=True) if style.get("shape") == "hv" else points
            self.parts.append(_path(shown, style, trace.get("opacity")))
        self._errors(trace, x, y)
        if "markers" in mode and _marker(trace).get("opacity") != 0:
            self._markers(trace, points)
        if mode == "text":
            sides = trace.get("textposition", "")
            sides = [sides] * len(points) if isinstance(sides, str) else sides
            for (px, py), text, side in zip(points, trace["text"], sides, strict=True):
                if px is not None and py is not None:
                    is_left = side.endswith("left")
                    down = 16 if side.startswith("bottom") else 4
                    at = px - 4 if is_left else px + 4
                    self.parts.append(_text(at, py + down, text, "end" if is_left else "start"))

    def _bars(self, trace: Made, x: Scale, y: Scale) -> None:
        thick = 0.8 * abs(y.end - y.start) / max(len(y.categories), 1)
        zero = x.place(0.0) or 0.0
        for value, name in zip(trace["x"], trace["y"], strict=True):
            right, middle = x.place(value), y.place(name)
            if right is not None and middle is not None:
                self.parts.append(
                    f'<rect x="{zero:.1f}" y="{middle - thick / 2:.1f}" '
                    f'width="{max(right - zero, 0):.1f}" height="{thick:.1f}" '
                    f'fill="{trace["marker"]["color"]}"/>'
                )

    def _errors(self, trace: Made, x: Scale, y: Scale) -> None:
        for letter in "xy":
            bars = trace.get(f"error_{letter}")
            if bars is None:
                continue
            across = letter == "x"
            ends = zip(bars["arrayminus"], bars["array"], strict=True)
            for px, py, (minus, plus) in zip(trace["x"], trace["y"], ends, strict=True):
                value = px if across else py
                if value is None or x.place(px) is None or y.place(py) is None:
                    continue
                scale = x if across else y
                places = [scale.place(value - minus), scale.place(value + plus)]
                line = [(one, y.place(py)) if across else (x.place(px), one) for one in places]
                self.parts.append(_path(line, {"color": bars["color"], "width": 1.5}))

    def _markers(self, trace: Made, points: Sequence[tuple[float | None, float | None]]) -> None:
        n, marker = len(points), _marker(trace)
        sizes = marker["size"] if isinstance(marker["size"], list) else [marker["size"]] * n
        words = trace.get("text", [""] * n)
        opacity = f' opacity="{marker["opacity"]:g}"' if "opacity" in marker else ""
        for (px, py), size, text in zip(points, sizes, words, strict=True):
            if px is None or py is None:
                continue
            if marker.get("symbol") == "diamond":
                half, said = size / 2, f"<title>{_plain(text)}</title>" if text else ""
                around = [(px, py - half), (px + half, py), (px, py + half), (px - half, py)]
                path = f'<path d="{"".join(_runs(around))}Z" fill="{marker["color"]}">'
                self.parts.append(f"{path}{said}</path>")
                continue
            if marker.get("symbol") == "line-ns-open":
                line = [(px, py - size / 2), (px, py + size / 2)]
                self.parts.append(_path(line, {"color": marker["color"], "width": 1}))
                continue
            said = f"<title>{_plain(text)}</title>" if text else ""
            self.parts.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{size / 2:.1f}" '
                f'fill="{marker["color"]}"{opacity}>{said}</circle>'
            )

    def _legend(self) -> tuple[str, int]:
        """The names of the traces in rows, and how many rows."""
        named = [
            trace
            for trace in self.traces
            if trace.get("showlegend", True) and trace["type"] == "scatter" and _has_points(trace)
        ]
        if not self.layout.get("showlegend", len(named) > 1):
            return "", 0
        parts, x, row = [], _LEFT, 0
        for trace in named:
            name = _plain(trace["name"])
            width = 28.0 + _LETTER * len(unescape(name)) + 18.0
            if x + width > WIDTH and x > _LEFT:
                x, row = _LEFT, row + 1
            y = 10.0 + _LEGEND * row
            colour = trace.get("line", trace.get("marker", {})).get("color", "")
            if "base" in trace:
                parts.append(f'<rect x="{x}" y="{y - 5}" width="20" height="10" fill="{colour}"/>')
            elif trace.get("mode") == "markers":
                colour = trace["marker"]["color"]
                parts.append(f'<circle cx="{x + 10}" cy="{y}" r="4" fill="{colour}"/>')
            else:
                parts.append(_path([(x, y), (x + 20, y)], trace["line"]))
            parts.append(_text(x + 26, y + 4, name, "start"))
            x += width
        return "".join(parts), row + 1 if named else 0


def _marker(trace: Made) -> Made:
    found: Made = trace.get("marker") or {"color": trace["line"]["color"], "size": 6}
    return found


def _axis_name(trace: Made, letter: str) -> str:
    return f"{letter}axis{trace.get(f'{letter}axis', letter)[1:]}"


def _anchor(axis: Made, name: str) -> str:
    if "anchor" in axis:
        return f"{axis['anchor'][0]}axis{axis['anchor'][1:]}"
    return "yaxis" if name.startswith("xaxis") else "xaxis"


def _reach(trace: Made, letter: str) -> Iterable[float]:
    """Where error bars end."""
    bars = trace.get(f"error_{letter}")
    if bars is None:
        return
    for value, minus, plus in zip(trace[letter], bars["arrayminus"], bars["array"], strict=True):
        if value is not None:
            yield value - minus
            yield value + plus


def _stacked(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stacked shares with the level that each stands on."""
    stacked = [trace for trace in traces if "stackgroup" in trace]
    if stacked:
        columns = zip(*([y or 0.0 for y in trace["y"]] for trace in stacked), strict=True)
        levels = [[0.0, *accumulate(column)] for column in columns]
        for i, trace in enumerate(stacked):
            trace["base"] = [level[i] for level in levels]
            trace["y"] = [level[i + 1] for level in levels]
    return traces


def _points(trace: Made, x: Scale, y: Scale) -> list[tuple[float | None, float | None]]:
    return [(x.place(a), y.place(b)) for a, b in zip(trace["x"], trace["y"], strict=True)]


def _stepped(
    points: Sequence[tuple[float | None, float | None]], *, is_late: bool = False
) -> list[tuple[float | None, float | None]]:
    """Steps instead of slopes: up first and then across, or the other way round."""
    found: list[tuple[float | None, float | None]] = []
    for point in points:
        if found:
            (x0, y0), (x1, y1) = found[-1], point
            found.append((x1, y0) if is_late else (x0, y1))
        found.append(point)
    return found


def _runs(points: Iterable[tuple[float | None, float | None]]) -> list[str]:
    """Points as commands of a path; where one is missing, the line begins anew."""
    found, is_on = [], False
    for x, y in points:
        if x is None or y is None:
            is_on = False
            continue
        found.append(f"{'L' if is_on else 'M'}{x:.1f} {y:.1f}")
        is_on = True
    return found


def _path(
    points: Iterable[tuple[float | None, float | None]], style: Made, opacity: float | None = None
) -> str:
    dash = _DASHES.get(style.get("dash", ""), "")
    more = f' stroke-dasharray="{dash}"' if dash else ""
    more += f' opacity="{opacity:g}"' if opacity is not None else ""
    return (
        f'<path d="{"".join(_runs(points))}" fill="none" stroke="{style["color"]}" '
        f'stroke-width="{style.get("width", 2):g}"{more}/>'
    )


def _area(
    upper: Sequence[tuple[float | None, float | None]],
    lower: Sequence[tuple[float | None, float | None]],
    colour: str,
) -> str:
    around = "".join(_runs([*upper, *reversed(lower)]))
    return f'<path d="{around}Z" fill="{colour}"/>' if around else ""


def _line(x0: float, y0: float, x1: float, y1: float, style: str) -> str:
    return f'<path class="{style}" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{_plain(text)}</text>'


def _plain(text: object) -> str:
    """A text of a figure, which is escaped for Plotly, as SVG has it."""
    return escape(unescape(str(text).replace("<br>", ", ")), quote=True)
