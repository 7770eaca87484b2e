"""What goes to the terminal: JSON, tables and lines, with nothing in them that it would obey."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from itertools import pairwise
from types import ModuleType
from typing import IO, Any, Final, TextIO

_BARS: Final = "▁▂▃▄▅▆▇█"
_PLAIN_BARS: Final = "_.-~=+*#"


def clean(text: object) -> str:
    """A text on one line, with everything that does not print written as an escape.

    Names and values come from anywhere; an escape sequence in one must not reach the terminal.
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in shown
    )


def clean_lines(text: str) -> str:
    """As ``clean``, but lines stay lines."""
    return "\n".join(clean(line) for line in text.split("\n"))


def write_json(document: object, out: IO[str] | None = None) -> None:
    """One JSON document on a line of its own; ASCII, so that any terminal and pipe takes it."""
    out = sys.stdout if out is None else out
    out.write(json.dumps(document, allow_nan=False) + "\n")
    out.flush()


def say(text: str = "") -> None:
    """A line on standard output; what comes from users has been cleaned."""
    sys.stdout.write(f"{text}\n")


def tell(text: str) -> None:
    """A line on standard error, beside the output."""
    sys.stdout.flush()
    sys.stderr.write(f"{text}\n")


def count(n: int, noun: str = "") -> str:
    """A count, of things when a noun is given."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}" if noun else f"{n:,}"


def number(value: float | None) -> str:
    """A measured number, as precise as it is worth reading."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:.4g}"


def span(ends: Sequence[float | None] | None) -> str:
    """An interval; an end that is missing has no limit."""
    if ends is None:
        return ""
    low, high = ends
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    return f"[{number(low)}, {number(high)}]"


def config_text(config: Mapping[str, Any]) -> str:
    """A configuration on one line."""
    return " ".join(f"{clean(name)}={value_text(value)}" for name, value in config.items())


def value_text(value: object) -> str:
    """A value of a configuration; text is quoted where it would be taken for something else."""
    if isinstance(value, float):
        return number(value)
    if not isinstance(value, str):
        return json.dumps(value)
    plain = value and value.isprintable() and not any(char in ' "=' for char in value)
    return value if plain and not _is_json(value) else clean(json.dumps(value, ensure_ascii=False))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def when(seconds: float | None) -> str:
    """A time, in UTC."""
    if seconds is None:
        return "never"
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def sparkline(points: Sequence[float], width: int, *, plain: bool = False) -> str:
    """Points as a line of at most so many letters, from the lowest to the highest of them.

    Points that share a letter are averaged; ``plain`` has none that an old terminal may lack.
    """
    levels = _PLAIN_BARS if plain else _BARS
    n = min(len(points), width)
    if n == 0:
        return ""
    edges = [round(i * len(points) / n) for i in range(n + 1)]
    parts = [points[a:b] for a, b in pairwise(edges)]
    means = [sum(part) / len(part) for part in parts]
    low, high = min(means), max(means)
    if low == high:
        return levels[2] * n
    scale = (len(levels) - 1) / (high - low)
    return "".join(levels[round((mean - low) * scale)] for mean in means)


def labelled_sparkline(trend: Sequence[float | None], width: int, *, plain: bool = False) -> str:
    """The line with the lowest and the highest point beside it."""
    points = [point for point in trend if point is not None]
    if not points:
        return "no reward yet"
    ends = f"  {number(min(points))} to {number(max(points))}"
    return sparkline(points, max(width - len(ends), 1), plain=plain) + ends


@dataclass
class Table:
    """Rows of cleaned text under titles.

    Columns named in ``right`` hold numbers; those in ``long`` give way on a narrow terminal.
    """

    titles: Sequence[str]
    right: frozenset[str] = frozenset()
    long: frozenset[str] = frozenset({"config"})
    rows: list[Sequence[str]] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The table as plain text."""
        whole = [self.titles, *self.rows]
        widths = [max(len(row[i]) for row in whole) for i in range(len(self.titles))]
        return ["  ".join(self._cells(row, widths)).rstrip() for row in whole]

    def _cells(self, row: Sequence[str], widths: Sequence[int]) -> list[str]:
        return [
            cell.rjust(width) if title in self.right else cell.ljust(width)
            for cell, width, title in zip(row, widths, self.titles, strict=True)
        ]


def print_table(table: Table) -> None:
    """A table: drawn for a terminal where rich is installed, plain text otherwise."""
    screen = screen_of(sys.stdout)
    if screen is None:
        say("\n".join(table.lines()))
    else:
        screen.draw_table(table)


def screen_of(stream: TextIO) -> ModuleType | None:
    """What draws for a stream: ``imabo.cli.screen`` on a terminal where rich is installed."""
    try:
        return import_module("imabo.cli.screen") if stream.isatty() else None
    except ImportError:
        return None
