"""Amounts of a signal as people read them: with their unit, and never as a power of ten."""

from __future__ import annotations

import math
from typing import Final

_LEAST: Final = 1e-12  # below, and from there on: only a power says it shortly
_MOST: Final = 1e15


def digits(value: float, n: int = 3) -> str:
    """A number with ``n`` digits that say something, whole from a thousand on.

    Example:
        >>> [digits(value) for value in (0.0, 0.00003, 0.00059341, 1.5, 230.0, 12345.6)]
        ['0', '0.00003', '0.000593', '1.5', '230', '12,346']
    """
    size = abs(value)
    if size and not _LEAST <= size < _MOST:
        return f"{value:.{n}g}"
    if size >= 1000.0:
        return f"{value:,.0f}"
    places = n - 1 - math.floor(math.log10(size)) if size else 0
    text = f"{value:.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount(value: float | None, unit: str = "", n: int = 3) -> str:
    """An amount with its unit; money has it in front.

    Example:
        >>> amount(0.0006, "$"), amount(1.25, "s"), amount(230.0), amount(None, "$")
        ('$0.0006', '1.25 s', '230', '–')
    """
    if value is None:
        return "–"
    if unit in ("$", "€", "£", "¥"):
        return f"{'-' if value < 0 else ''}{unit}{digits(abs(value), n)}"
    return f"{digits(value, n)} {unit}".rstrip()
