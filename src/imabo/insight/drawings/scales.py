"""Axes of a figure that is drawn without Plotly: their ranges, places and ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

_MINUTE: Final = 60_000.0
_DAY: Final = 1440 * _MINUTE
# Steps between ticks of time, in milliseconds.
_SPANS: Final = tuple(
    [1000.0 * s for s in (1, 2, 5, 10, 15, 30)]
    + [_MINUTE * m for m in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)]
    + [_DAY * d for d in (1, 2, 7, 14, 30, 61, 91, 182, 365, 730, 1826, 3652)]
)
_PAD: Final = 0.05


@dataclass
class Scale:
    """One axis: from a value to a place between two pixels."""

    kind: str
    low: float
    high: float
    start: float
    end: float
    categories: dict[str, int] = field(default_factory=dict)

    def place(self, value: object) -> float | None:
        """Where a value lies, None when it lies nowhere."""
        number = self.number(value)
        if number is None:
            return None
        return self.start + (number - self.low) / (self.high - self.low) * (self.end - self.start)

    def number(self, value: object) -> float | None:
        """A value as a number on this axis."""
        if self.kind == "category":
            return self.categories.get(str(value))
        if value is None or isinstance(value, str) or not isinstance(value, int | float):
            return None
        if self.kind == "log":
            return math.log10(value) if value > 0 else None
        return float(value)


def scale_of(
    axis: Mapping[str, Any], values: Iterable[object], start: float, end: float, pad: float = _PAD
) -> Scale:
    """The axis of a layout, wide enough for what is drawn on it where it has no range."""
    kind = axis.get("type", "linear")
    if kind == "category":
        names = list(axis.get("categoryarray", []))
        places = {name: i for i, name in enumerate(names)}
        return Scale(kind, -0.5, max(len(names), 1) - 0.5, start, end, places)
    made = Scale(kind, 0.0, 1.0, start, end)
    if "range" in axis:
        made.low, made.high = map(float, axis["range"])
        return made
    known = [number for number in map(made.number, values) if number is not None]
    if axis.get("rangemode") == "tozero":
        known.append(0.0)
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = pad * (high - low) or max(0.5, 1e-9 * abs(low))
    is_from_zero = axis.get("rangemode") == "tozero" and low == 0.0
    made.low, made.high = low if is_from_zero else low - room, high + room
    return made


def ticks(axis: Mapping[str, Any], scale: Scale, most: int = 8) -> list[tuple[float, str]]:
    """Where an axis has its ticks, in pixels, and what is written there."""
    if axis.get("visible") is False:
        return []
    found: Iterable[tuple[object, str]]
    if "tickvals" in axis:
        found = zip(axis["tickvals"], axis["ticktext"], strict=True)
    elif scale.kind == "category":
        found = [(name, name) for name in scale.categories]
    elif scale.kind == "date":
        found = _dates(scale.low, scale.high, most)
    elif scale.kind == "log":
        powers = range(math.ceil(scale.low), math.floor(scale.high) + 1)
        found = [(10.0**power, f"{10.0**power:g}") for power in powers]
    else:
        found = _numbers(scale.low, scale.high, most, axis.get("tickformat") == ".0%")
    placed = [(scale.place(value), text) for value, text in found]
    low, high = sorted((scale.start, scale.end))
    return [(at, text) for at, text in placed if at is not None and low - 1 <= at <= high + 1]


def _numbers(low: float, high: float, most: int, is_share: bool) -> Iterator[tuple[float, str]]:
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * one for one in (1.0, 2.0, 5.0, 10.0) if power * one >= raw)
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        value = i * step
        if is_share:
            yield value, f"{100 * value:.{max(digits - 2, 0)}f}%"
        elif abs(value) >= 1e6 or digits > 6:
            yield value, f"{value:.3g}"
        else:
            yield value, f"{value:,.{digits}f}"


def _dates(low: float, high: float, most: int) -> Sequence[tuple[float, str]]:
    step = next((one for one in _SPANS if (high - low) / one <= most), _SPANS[-1])
    found: list[tuple[float, str]] = []
    day = None
    for i in range(math.ceil(low / step), math.floor(high / step) + 1):
        at = datetime.fromtimestamp(i * step / 1000.0, UTC)
        time = f"{at:%H:%M:%S}" if step < _MINUTE else f"{at:%H:%M}"
        date = f"{at.day} {at:%b}" if step < 300 * _DAY else f"{at:%b %Y}"
        # The day is said once, with the first time of it.
        text = date if step >= _DAY else time if at.date() == day else f"{time}, {date}"
        day = at.date()
        found.append((i * step, text))
    return found
