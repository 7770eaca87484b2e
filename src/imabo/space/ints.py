"""Whole numbers, on a linear or a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from imabo.errors import InvalidSpace
from imabo.space.base import (
    MOST_CELLS,
    Floats,
    Scaled,
    check_order,
    equal_cells,
    flag,
    normalise_when,
    number,
    refuse,
    unreached,
)
from imabo.space.scalars import show

# Above this, neighbours on the log scale fall together in a float64 unit coordinate.
LARGEST_LOG = 2**42


class Int(Scaled):
    """A whole number between two bounds, both included.

    On the linear scale every value owns an equally wide cell of the unit interval. On the log
    scale value ``v`` owns [log(v - 0.5), log(v + 0.5)] inside [log(low - 0.5), log(high + 0.5)],
    so P0 is log-uniform.

    Args:
        low: Smallest value.
        high: Largest value, at least ``low`` and on the grid low, low + step, ...
        log: Draw on a log scale; needs low >= 1, high <= 2**42 and step 1.
        step: Distance between neighbours, at least 1.
        when: Parent name to the value, or the list of values, for which this is active.

    Example:
        >>> tokens = Int(256, 8192, log=True)
        >>> tokens.n_values, tokens.from_unit(0.0), tokens.from_unit(0.5), tokens.from_unit(1.0)
        (7937, 256, 1447, 8192)
    """

    __slots__ = ("_floor", "_span")

    type_name: ClassVar[str] = "int"
    no_step: ClassVar[int | None] = 1
    low: int
    high: int
    step: int
    n_values: int
    _floor: float  # low - 0.5, the lower edge of the log scale
    _span: float  # length of the log scale

    def __init__(
        self,
        low: int,
        high: int,
        log: bool = False,
        step: int = 1,
        when: Mapping[str, Any] | None = None,
    ) -> None:
        low, high, step = _whole("low", low), _whole("high", high), _whole("step", step)
        log = flag("Int", "log", log)
        shown = f"Int({show(low)}, {show(high)}, log={log}, step={show(step)})"
        if step < 1:
            raise InvalidSpace(
                f"{shown} has step {show(step)}", "a step is at least 1", "use a positive step"
            )
        check_order(shown, low, high)
        if (high - low) % step:
            below = high - (high - low) % step
            raise unreached(shown, high, below, below + step)
        n_values = (high - low) // step + 1
        if n_values > MOST_CELLS:
            raise InvalidSpace(
                f"{shown} has {show(n_values)} values",
                "more than 2**50 cannot be told apart in the unit cube",
                "use a larger step, or a Float",
            )
        if log:
            _check_log(shown, low, high, step)
        self._set(
            low=low,
            high=high,
            log=log,
            step=step,
            when=normalise_when("Int", when),
            n_values=n_values,
            n_cells=None if log else n_values,
            _floor=low - 0.5 if log else 0.0,
            _span=math.log((high + 0.5) / (low - 0.5)) if log else 0.0,
        )

    def to_unit(self, value: Any) -> float:
        """Map a valid value to the centre of its cell, or to log(value) on the log scale."""
        if self.log:
            return math.log(value / self._floor) / self._span
        return float(((value - self.low) // self.step + 0.5) / self.n_values)

    def from_unit(self, u: float) -> int:
        """Map any position in [0, 1] to the value whose cell holds it."""
        if self.log:
            value = int(self._floor * math.exp(u * self._span) + 0.5)
            return self.low if value < self.low else self.high if value > self.high else value
        index = int(u * self.n_values)
        if index >= self.n_values:
            return self.high
        return self.low + index * self.step if index > 0 else self.low

    def cells(self, u: Floats) -> tuple[Floats, Floats]:
        """Return the edges, in unit coordinates, of the cell that each position lies in."""
        u = np.asarray(u, dtype=np.float64)
        if not self.log:
            return equal_cells(u, self.n_values)
        value = np.clip(np.floor(self._floor * np.exp(u * self._span) + 0.5), self.low, self.high)
        lower = np.log((value - 0.5) / self._floor) / self._span
        upper = np.where(value == self.high, 1.0, np.log((value + 0.5) / self._floor) / self._span)
        return np.minimum(lower, u), np.maximum(upper, u)

    def validate(self, value: object) -> int:
        """Return the value as an int, or raise `InvalidConfig` with the reason."""
        clean = value if type(value) is int else self._number(value, "a whole number")
        whole = int(clean)
        if clean != whole:
            raise refuse(self, value, "it is not a whole number")
        if not self.low <= whole <= self.high:
            raise refuse(self, value, f"it is outside [{self.low}, {self.high}]")
        if self.step != 1 and (whole - self.low) % self.step:
            below = whole - (whole - self.low) % self.step
            raise refuse(
                self, value, f"the nearest values on the grid are {below} and {below + self.step}"
            )
        return whole

    def values(self) -> Iterator[int]:
        """Yield every value in rising order."""
        return iter(range(self.low, self.high + 1, self.step))


def _whole(name: str, value: object) -> int:
    result = number("Int", name, value)
    if result != int(result):
        raise InvalidSpace(
            f"Int got {name}={show(value)}",
            f"{name} of an Int is a whole number",
            "round it, or use Float",
        )
    return int(result)


def _check_log(shown: str, low: int, high: int, step: int) -> None:
    if low < 1:
        raise InvalidSpace(
            f"{shown} has a log scale from {show(low)}",
            "a log scale of whole numbers starts at 1 or above",
            "raise low to 1, or drop log",
        )
    if step != 1:
        raise InvalidSpace(
            f"{shown} has a log scale and step {show(step)}",
            "equal steps and a log scale contradict each other",
            "drop step, or drop log",
        )
    if high > LARGEST_LOG:
        raise InvalidSpace(
            f"{shown} has a log scale up to {show(high)}",
            "neighbours above 2**42 cannot be told apart on a log scale",
            "lower high, or use Float with log=True",
        )
