"""One picture for a page: cumulative regret over the rounds, as an SVG file without a library.

It has a background of its own, so that it can be read on a light page and on a dark one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from imabo.errors import MissingData
from imabo_bench.report.data import Curve, curves_of, groups_of
from imabo_bench.report.rows import Run, read_results

WIDTH, HEIGHT = 800, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 56, 48  # margins; the labels of the lines are on the right
GAP: Final = 17  # between the labels of two lines, at least
TOO_HIGH: Final = 1.5  # a line that ends so many times above the next leaves the picture

_INK, _SOFT, _GRID = "#1c2126", "#59636e", "#e6e9ed"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


class Style(NamedTuple):
    """How a method is drawn: its name on the page, colour and line."""

    label: str
    colour: str
    width: float = 1.8
    dash: str = ""


# Colour tells the default from the paper's oracles and from the baselines; dashes tell the latter.
STYLES: Final = {
    "imabo": Style("imabo (default)", "#0072b2", 3.2),
    "imoss-mutate": Style("IMOSS-Mutate", "#d55e00"),
    "imoss-tpe": Style("IMOSS-TPE", "#e69f00"),
    "imoss-random": Style("IMOSS-Random", "#cc79a7"),
    "hier-mab": Style("Hier-MAB", "#6b6b6b", dash="7 3"),
    "ucb-air": Style("UCB-AIR", "#6b6b6b", dash="2 3"),
    "random": Style("serving at random", "#6b6b6b", dash="9 3 2 3"),
}


@dataclass(frozen=True)
class Frame:
    """From rounds and regret to places in the picture."""

    rounds: float
    low: float
    high: float

    def x(self, t: float) -> float:
        """Pixels from the left."""
        return LEFT + (WIDTH - LEFT - RIGHT) * t / self.rounds

    def y(self, regret: float) -> float:
        """Pixels from the top."""
        share = (regret - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    def path(self, rounds: Sequence[float], regret: Sequence[float]) -> str:
        """Points as SVG wants them."""
        return " ".join(
            f"{self.x(t):.1f},{self.y(value):.1f}" for t, value in zip(rounds, regret, strict=True)
        )


def write_picture(
    folder: Path,
    out: Path,
    *,
    problem: str,
    rounds: int = 5000,
    methods: Sequence[str] = tuple(STYLES),
) -> Path:
    """Draw the mean cumulative regret of methods on a problem, with a band of one standard error.

    Args:
        folder: Holds ``rows.jsonl`` (or ``rows.jsonl.gz``).
        out: The SVG file.
        problem: Of the rows to take; those with delayed feedback are left out.
        rounds: Of the rows to take.
        methods: Which lines; those without rows are left out.

    Returns:
        Where the picture is.

    Raises:
        MissingData: If the folder has no such rows.
    """
    runs = [
        run
        for run in read_results(folder).runs
        if (run.problem, run.rounds, run.delay) == (problem, rounds, "") and run.method in methods
    ]
    if not runs:
        raise MissingData(
            f"{str(folder)!r} holds no runs of {problem!r} with {rounds} rounds",
            "the picture is drawn from them",
            f"make them with: imabo bench run --problem {problem} --rounds {rounds} --out {folder}",
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(draw(runs), encoding="utf-8")
    return out


def draw(runs: Sequence[Run]) -> str:
    """The picture of the runs of one problem and number of rounds, as SVG."""
    (group,) = groups_of(runs)
    curves = sorted(curves_of(group, lambda run: run.regret), key=lambda curve: curve.mean[-1])
    seeds = {method: len(found) for method, found in group.methods.items()}
    bands = [_band(curve, seeds[curve.method]) for curve in curves]
    frame, step = _frame(group.rounds, curves, bands)
    counts = " to ".join(map(str, sorted({min(seeds.values()), max(seeds.values())})))
    title = f"Cumulative regret on {group.problem}"
    note = f"mean of {counts} runs, band: ± 1 standard error"
    # The lowest regret is drawn last, on top of the others.
    drawn = list(zip(curves, bands, strict=True))[::-1]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="title" font-family="{_FONT}" font-size="13">',
            f'<title id="title">{escape(title)}, {escape(note)}</title>',
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" '
            f'fill="#ffffff" stroke="{_GRID}"/>',
            f'<text x="{LEFT}" y="24" fill="{_INK}" font-size="15" font-weight="600">'
            f"{escape(title)}</text>",
            f'<text x="{LEFT}" y="41" fill="{_SOFT}">{escape(note)}</text>',
            *_axes(frame, step),
            f'<clipPath id="plot"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT}" '
            f'height="{HEIGHT - TOP}"/></clipPath><g clip-path="url(#plot)">',
            *(_polygon(frame, curve, band) for curve, band in drawn),
            *(_line(frame, curve) for curve, _ in drawn),
            "</g>",
            *_labels(frame, curves),
            "</svg>\n",
        ]
    )


def style_of(method: str) -> Style:
    """How a method is drawn; one without a style of its own as a thin grey line."""
    return STYLES.get(method, Style(method, "#6b6b6b", 1.2))


def spread_out(places: Sequence[float], gap: float, lowest: float) -> list[float]:
    """Move labels apart, none above where it belongs unless there is no room below.

    Example:
        >>> spread_out([10.0, 12.0, 50.0], gap=10, lowest=100.0)
        [10.0, 20.0, 50.0]
        >>> spread_out([95.0, 99.0], gap=10, lowest=100.0)
        [90.0, 100.0]
    """
    found = list(places)
    for k in range(1, len(found)):
        found[k] = max(found[k], found[k - 1] + gap)
    for k in reversed(range(len(found))):
        found[k] = min(found[k], lowest - gap * (len(found) - 1 - k))
    return found


def _band(curve: Curve, n_seeds: int) -> tuple[list[float], list[float]]:
    """Mean less and plus a standard error; the mean itself for a single run."""
    mean = np.array(curve.mean)
    error = np.zeros_like(mean) if curve.std is None else np.array(curve.std) / math.sqrt(n_seeds)
    return (mean - error).tolist(), (mean + error).tolist()


def _frame(
    rounds: int, curves: Sequence[Curve], bands: Sequence[tuple[list[float], list[float]]]
) -> tuple[Frame, float]:
    """Axes with round numbers and the step between them.

    The curves come lowest first. One line far above all others would press them flat: it may leave
    the picture, and its label says where it ends.
    """
    ends = [curve.mean[-1] for curve in curves]
    is_cut = len(ends) > 2 and ends[-1] > TOO_HIGH * ends[-2] > 0
    top = max(value for band in bands[: -1 if is_cut else None] for value in band[1])
    bottom = min(0.0, *(value for band in bands for value in band[0]))
    step = _step(max(top, 0.0) - bottom)
    low, high = step * math.floor(bottom / step), step * math.ceil(max(top, 0.0) / step)
    return Frame(rounds, low, high), step


def _step(span: float) -> float:
    """A round number that divides a span in four to eight or so."""
    raw = max(span, 1e-9) / 5.0
    power = 10.0 ** math.floor(math.log10(raw))
    return power * next(m for m in (1.0, 2.0, 5.0, 10.0) if m * power >= 0.999 * raw)


def _axes(frame: Frame, step: float) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    made = []
    for k in range(round((frame.high - frame.low) / step) + 1):
        value = frame.low + k * step
        y, colour = frame.y(value), "#9aa3ad" if abs(value) < 1e-9 * step else _GRID
        made += [
            f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{colour}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4.5:.1f}" fill="{_SOFT}" text-anchor="end">'
            f"{value:,.6g}</text>",
        ]
    step = _step(frame.rounds)
    for k in range(math.floor(frame.rounds / step) + 1):
        made.append(
            f'<text x="{frame.x(k * step):.1f}" y="{bottom + 19}" fill="{_SOFT}" '
            f'text-anchor="middle">{k * step:,.6g}</text>'
        )
    middle = (LEFT + right) / 2
    made.append(
        f'<text x="{middle}" y="{bottom + 38}" fill="{_SOFT}" text-anchor="middle">'
        "requests served</text>"
    )
    return made


def _polygon(frame: Frame, curve: Curve, band: tuple[list[float], list[float]]) -> str:
    t, (lower, upper) = [0.0, *curve.rounds], band
    there = frame.path(t, [0.0, *upper])
    back = frame.path(t[::-1], [0.0, *lower][::-1])
    colour = style_of(curve.method).colour
    return f'<polygon points="{there} {back}" fill="{colour}" fill-opacity="0.18"/>'


def _line(frame: Frame, curve: Curve) -> str:
    style = style_of(curve.method)
    dash = f' stroke-dasharray="{style.dash}"' if style.dash else ""
    points = frame.path([0.0, *curve.rounds], [0.0, *curve.mean])
    return (
        f'<polyline id="{escape(curve.method)}" points="{points}" fill="none" '
        f'stroke="{style.colour}" stroke-width="{style.width:g}" stroke-linejoin="round"{dash}/>'
    )


def _labels(frame: Frame, curves: Sequence[Curve]) -> list[str]:
    """Names and final figures at the ends of the lines, joined to them by short strokes."""
    inside = sorted(
        (curve for curve in curves if curve.mean[-1] <= frame.high), key=lambda c: -c.mean[-1]
    )
    ends = [frame.y(curve.mean[-1]) for curve in inside]
    places = spread_out(ends, GAP, HEIGHT - BOTTOM + 6)
    right, made = WIDTH - RIGHT, []
    for curve, end, place in zip(inside, ends, places, strict=True):
        x, colour = frame.x(curve.rounds[-1]), style_of(curve.method).colour
        made += [
            f'<path d="M{x + 2:.1f} {end:.1f}L{right + 18} {place:.1f}h6" '
            f'stroke="{colour}" stroke-width="1.2" fill="none"/>',
            _label(curve, right + 28, place + 4.5),
        ]
    for curve in curves:
        if curve not in inside:
            leaves = float(np.interp(frame.high, [0.0, *curve.mean], [0.0, *curve.rounds]))
            made.append(_label(curve, frame.x(leaves) + 10, TOP + 14, arrow="↑ "))
    return made


def _label(curve: Curve, x: float, y: float, arrow: str = "") -> str:
    weight = "700" if curve.method == "imabo" else "400"
    words = escape(f"{arrow}{style_of(curve.method).label} {curve.mean[-1]:,.0f}")
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{_INK}" font-weight="{weight}">{words}</text>'
