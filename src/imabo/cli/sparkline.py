"""The reward over time in one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from imabo.cli.output import number

_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_PLAIN: Final = "_.-~=+*#"


def sparkline(points: Sequence[float], width: int, *, plain: bool = False) -> str:
    """Points as a line of at most so many letters, from the lowest to the highest of them.

    Args:
        points: In order of time.
        width: Letters; at least 1. Several points that share one are averaged.
        plain: Without letters that an old terminal may lack.

    Example:
        >>> sparkline([0.0, 1.0, 2.0, 3.0], 10, plain=True), sparkline([1.0, 1.0], 10, plain=True)
        ('_-+#', '--')
        >>> len(sparkline(range(100), 10))
        10
    """
    levels = _PLAIN if plain else _BLOCKS
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


def labelled(trend: Sequence[float | None], width: int, *, plain: bool = False) -> str:
    """The line with the lowest and the highest point beside it."""
    points = [point for point in trend if point is not None]
    if not points:
        return "no reward yet"
    ends = f"  {number(min(points))} to {number(max(points))}"
    return sparkline(points, max(width - len(ends), 1), plain=plain) + ends
