"""The reward over time against the control, as an SVG file without a library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple

import numpy as np

WIDTH, HEIGHT = 800, 380
LEFT, RIGHT, TOP, BOTTOM = 56, 110, 76, 48
POINTS: Final = 60  # of a line: each is the mean of its part of the requests

_INK, _SOFT, _GRID = "#1c2126", "#59636e", "#e6e9ed"
_TUNED, _CONTROL = "#0072b2", "#6b6b6b"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_TITLE = "Chance of a good answer while imabo tunes, against serving as today"


class Moment(NamedTuple):
    """Something that happened: after which request, and in a few words."""

    request: int
    words: str


Served = Sequence[tuple[int, float]]  # for each request its number and its chance


def draw_rewards(tuned: Served, control: Served, moments: Sequence[Moment], note: str) -> str:
    """Two lines over the requests, with what happened in between.

    Args:
        tuned: Requests that were tuned: their number and their chance of a good answer.
        control: Those that were served as before.
        moments: What happened, in order.
        note: A line below the title.
    """
    n = max(number for number, _ in (*tuned, *control))
    lines = [_means(tuned, n), _means(control, n)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-labelledby="title" font-family="{_FONT}" font-size="13">',
            f'<title id="title">{escape(_TITLE)}. {escape(note)}</title>',
            f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" '
            f'fill="#ffffff" stroke="{_GRID}"/>',
            f'<text x="{LEFT}" y="24" fill="{_INK}" font-size="15" font-weight="600">'
            f"{escape(_TITLE)}</text>",
            f'<text x="{LEFT}" y="41" fill="{_SOFT}" font-size="12">{escape(note)}</text>',
            *_axes(n),
            *(_mark(moment, n, k) for k, moment in enumerate(moments)),
            _line("control", lines[1], n, _CONTROL, 'stroke-width="1.8" stroke-dasharray="7 3"'),
            _line("tuned", lines[0], n, _TUNED, 'stroke-width="3.2"'),
            *_names(lines),
            "</svg>\n",
        ]
    )


def _means(served: Served, n: int) -> list[tuple[float, float]]:
    """The middle and the mean of each part of the requests; parts without any are left out."""
    numbers, chances = np.array([one for one, _ in served]), np.array([one for _, one in served])
    edges = np.linspace(0, n, POINTS + 1)
    parts = np.digitize(numbers, edges[1:-1], right=True)
    return [
        (float(edges[k : k + 2].mean()), float(chances[parts == k].mean()))
        for k in range(POINTS)
        if (parts == k).any()
    ]


def _x(request: float, n: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * request / n


def _y(chance: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * chance


def _axes(n: int) -> list[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    made = []
    for tenth in range(0, 11, 2):
        y = _y(tenth / 10)
        made += [
            f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{_GRID}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4.5:.1f}" fill="{_SOFT}" text-anchor="end">'
            f"{10 * tenth} %</text>",
        ]
    for k in range(7):
        made.append(
            f'<text x="{_x(k * n / 6, n):.1f}" y="{bottom + 19}" fill="{_SOFT}" '
            f'text-anchor="middle">{round(k * n / 6):,}</text>'
        )
    made.append(
        f'<text x="{(LEFT + right) / 2}" y="{bottom + 38}" fill="{_SOFT}" text-anchor="middle">'
        "requests served</text>"
    )
    return made


def _mark(moment: Moment, n: int, k: int) -> str:
    """A dotted line with its words above the plot: the first to the left, others right."""
    x, y = _x(moment.request, n), TOP - 6
    place = f'x="{x + 3:.1f}"' if k else f'x="{x - 3:.1f}" text-anchor="end"'
    return (
        f'<path d="M{x:.1f} {y - 8}V{HEIGHT - BOTTOM}" stroke="{_SOFT}" stroke-dasharray="2 3"/>'
        f'<text {place} y="{y}" fill="{_SOFT}" font-size="12">{escape(moment.words)}</text>'
    )


def _line(name: str, line: Sequence[tuple[float, float]], n: int, colour: str, more: str) -> str:
    points = " ".join(f"{_x(request, n):.1f},{_y(chance):.1f}" for request, chance in line)
    return (
        f'<polyline id="{name}" points="{points}" fill="none" stroke="{colour}" '
        f'stroke-linejoin="round" {more}/>'
    )


def _names(lines: Sequence[Sequence[tuple[float, float]]]) -> list[str]:
    styles = (("tuned", _TUNED, 700), ("as today", _CONTROL, 400))
    return [
        f'<text x="{WIDTH - RIGHT + 8}" y="{_y(line[-1][1]) + 4.5:.1f}" fill="{colour}" '
        f'font-weight="{weight}">{name} {line[-1][1]:.0%}</text>'
        for line, (name, colour, weight) in zip(lines, styles, strict=True)
    ]
