"""Real numbers: linear, logarithmic, or on a decimal grid."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, ClassVar

from imabo.errors import InvalidSpace
from imabo.space.base import (
    MOST_CELLS,
    Scaled,
    check_order,
    flag,
    normalise_when,
    number,
    refuse,
    unreached,
)
from imabo.space.scalars import show

LARGEST = 1e300  # leaves room to round without overflow
# On a log scale this short the linear scale gives the same draws, and keeps every digit.
SHORTEST_LOG = 1e-9


class Float(Scaled):
    """A real number between two bounds, both included.

    A continuous value is kept to a ten-trillionth of the range, or to about 13 significant digits
    on a log scale. That is what a position in the unit cube can carry, so going there and back
    changes nothing, and 0.1 + 0.2 is the same value as 0.3.

    Args:
        low: Smallest value.
        high: Largest value, at least ``low``; with ``step`` on the grid low, low + step, ...
        log: Draw on a log scale; needs low > 0 and no step.
        step: Distance between neighbours on a decimal grid, or None for a continuum.
        when: Parent name to the value, or the list of values, for which this is active.

    Example:
        >>> share = Float(0, 1, step=0.1)
        >>> share.n_values, share.from_unit(0.3), share.validate(0.1 + 0.2)
        (11, 0.3, 0.3)
        >>> Float(1e-4, 1.0, log=True).from_unit(0.5)
        0.01
    """

    __slots__ = (
        "_decimals", "_first", "_floor", "_form", "_roof", "_scale", "_span", "_stride",
    )  # fmt: skip

    type_name: ClassVar[str] = "float"
    no_step: ClassVar[int | None] = None
    _span: float  # length of the range, or of the log range where _form is set
    _decimals: int  # digits after the point that a linear value keeps
    _form: str | None  # format that keeps the significant digits of a log value
    _floor: float  # low and high, rounded to the digits that are kept
    _roof: float
    _first: int  # grid value i is (_first + i * _stride) / _scale, exactly
    _stride: int
    _scale: int

    def __init__(
        self,
        low: float,
        high: float,
        log: bool = False,
        step: float | None = None,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        low, high = _real("low", low), _real("high", high)
        step = None if step is None else _real("step", step)
        log = flag("Float", "log", log)
        shown = f"Float({low!r}, {high!r}, log={log}, step={step!r})"
        check_order(shown, low, high)
        if log and low <= 0:
            raise InvalidSpace(
                f"{shown} has a log scale from {low!r}",
                "a log scale needs bounds above 0",
                "raise low above 0, or drop log",
            )
        if log and high / low > LARGEST:
            raise InvalidSpace(
                f"{shown} has a log scale over more than 300 powers of ten",
                "the ratio of the bounds leaves no room for arithmetic",
                "narrow the range",
            )
        self._set(
            low=low,
            high=high,
            log=log,
            step=step,
            when=normalise_when("Float", when),
            n_values=1 if low == high else None,
            n_cells=1 if low == high else None,
            _span=high - low,
            _decimals=0,
            _form=None,
            _floor=low,
            _roof=high,
            _first=0,
            _stride=0,
            _scale=1,
        )
        if step is not None:
            self._set_grid(shown, step)
        elif low < high:
            self._set_digits()

    def _set_digits(self) -> None:
        """Choose how many digits survive the way to the unit interval and back."""
        ratio = math.log(self.high / self.low) if self.log else 0.0
        if self.log and ratio > SHORTEST_LOG:
            # log and exp together lose about (2 * ratio + 4) units in the last place.
            digits = math.floor(-math.log10(3 * (2 * ratio + 4) * 2.3e-16))
            self._set(_span=ratio, _form=f"%.{digits - 1}e")
        else:
            self._set(_decimals=math.floor(14 - math.log10(self._span)))
        self._set(_floor=self._rounded(self.low), _roof=self._rounded(self.high))

    def _rounded(self, value: float) -> float:
        if self._form is None:
            return round(value, self._decimals)
        return float(self._form % value)

    def _set_grid(self, shown: str, step: float) -> None:
        """Write the grid in whole numbers, so that every grid value is the exact decimal."""
        if self.log:
            raise InvalidSpace(
                f"{shown} has a log scale and a step",
                "equal steps and a log scale contradict each other",
                "drop step, or drop log",
            )
        if step <= 0:
            raise InvalidSpace(
                f"{shown} has step {step!r}", "a step is above 0", "use a positive step"
            )
        first, last, stride = (Fraction(repr(x)) for x in (self.low, self.high, step))
        steps = (last - first) / stride
        if steps >= MOST_CELLS or step < 8 * math.ulp(max(abs(self.low), abs(self.high))):
            raise InvalidSpace(
                f"{shown} has too fine a grid",
                "its values cannot be told apart in the unit cube",
                "use a larger step, or none",
            )
        if steps.denominator != 1:
            below = first + math.floor(steps) * stride
            raise unreached(shown, self.high, float(below), float(below + stride))
        scale = math.lcm(first.denominator, stride.denominator)
        n_values = int(steps) + 1
        self._set(
            n_values=n_values,
            n_cells=n_values,
            _first=int(first * scale),
            _stride=int(stride * scale),
            _scale=scale,
        )

    def _nearest(self, value: float) -> int:
        """Return the index of the grid value nearest to ``value``, in exact arithmetic."""
        top, bottom = float(value).as_integer_ratio()
        distance, unit = top * self._scale - self._first * bottom, self._stride * bottom
        return (2 * distance + unit) // (2 * unit)

    def _at(self, index: int) -> float:
        # Dividing two ints rounds once: the float nearest to the exact decimal.
        return (self._first + index * self._stride) / self._scale

    def _kept(self, value: float) -> float:
        """Round to the digits that are kept; what rounds like a bound is that bound."""
        if value <= self.low:
            return self.low
        if value >= self.high:
            return self.high
        rounded = float(self._form % value) if self._form else round(value, self._decimals)
        if rounded <= self._floor:
            return self.low
        return rounded + 0.0 if rounded < self._roof else self.high

    def to_unit(self, value: Any) -> float:
        """Map a valid value to its position: the centre of its cell when there is a grid."""
        if self.n_cells is not None:
            if self.step is None:
                return 0.5
            return (self._nearest(value) + 0.5) / self.n_cells
        if self._form is None:
            return float((value - self.low) / self._span)
        return math.log(value / self.low) / self._span

    def from_unit(self, u: float) -> float:
        """Map any position in [0, 1] to its value, or to the grid value whose cell holds it."""
        if self.n_cells is not None:
            index = int(u * self.n_cells)
            if index >= self.n_cells:
                index = self.n_cells - 1
            if index <= 0:
                return self.low
            return (self._first + index * self._stride) / self._scale
        if u <= 0.0:
            return self.low
        if u >= 1.0:
            return self.high
        if self._form is None:
            return self._kept(self.low + u * self._span)
        return self._kept(self.low * math.exp(u * self._span))

    def validate(self, value: object) -> float:
        """Return the value as a float with the digits that are kept, or raise `InvalidConfig`."""
        if type(value) is float and self.step is None and self.low <= value <= self.high:
            return self._kept(value)  # nearly all of them, and a study has thousands of arms
        real = float(self._number(value, "a number"))
        if not self.low <= real <= self.high:
            raise refuse(self, value, f"it is outside [{self.low!r}, {self.high!r}]")
        if self.step is None:
            return self._kept(real)
        index = self._nearest(real)
        grid = self._at(index)
        noise = max(1e-9 * self.step, 2 * math.ulp(max(abs(self.low), abs(self.high))))
        if abs(grid - real) > noise:
            low, high = sorted((grid, self._at(index + (1 if grid < real else -1))))
            raise refuse(self, value, f"the nearest values on the grid are {low!r} and {high!r}")
        return grid + 0.0

    def values(self) -> Iterator[float]:
        """Yield every grid value in rising order; a continuum raises `InvalidSpace`."""
        if self.n_cells is None:
            raise InvalidSpace(
                f"{self!r} is a continuum", "its values cannot be listed", "give it a step"
            )
        return (self._at(index) if index else self.low for index in range(self.n_cells))


def _real(name: str, value: object) -> float:
    result = float(number("Float", name, value))
    if abs(result) > LARGEST:
        raise InvalidSpace(
            f"Float got {name}={show(value)}",
            "numbers beyond 1e300 leave no room for arithmetic",
            "use another unit, or a log scale with smaller bounds",
        )
    return result
