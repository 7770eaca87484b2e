"""A smooth surface over numbers and choices, with one peak whose place and height are exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from imabo.space import Config, Parameter, Scalar, Space


@dataclass(frozen=True)
class Slope:
    """What a number adds: ``-weight (u - peak)^2`` on its unit scale.

    ``peaks`` has one peak for each value of the hill's leading choice, or one in all.

    Example:
        >>> from imabo import Float
        >>> Slope(Float(0.0, 2.0), 4.0, (0.5,)).at(2.0, lead=0)
        -1.0
    """

    parameter: Parameter
    weight: float
    peaks: tuple[float, ...]

    def at(self, value: Scalar, lead: int) -> float:
        """The term of a value, when the leading choice takes its value number ``lead``."""
        apart = self.parameter.to_unit(value) - self.peaks[lead % len(self.peaks)]
        return -self.weight * apart * apart

    def ends(self, lead: int) -> tuple[float, float]:
        """The lowest and the highest term."""
        if self.parameter.n_values is not None:
            terms = [self.at(value, lead) for value in self.parameter.values()]
            return min(terms), max(terms)
        peak = self.peaks[lead % len(self.peaks)]
        return -self.weight * max(peak, 1.0 - peak) ** 2, 0.0  # a Float reaches its peak


@dataclass(frozen=True)
class Hill:
    """Log-odds that are a sum of one term a parameter, so that the highest mean is exact.

    The best numbers depend on the first choice (the best temperature differs between models);
    parameters without a term do not matter.

    Args:
        space: The space.
        slopes: Terms of numbers and ordered choices, by name.
        offsets: Terms of the values of choices, by name; the first choice leads.
        low: The lowest mean, in (0, 1).
        high: The highest mean, in (low, 1).

    Example:
        >>> from imabo import Float, Space
        >>> space = Space(x=Float(0.0, 1.0))
        >>> hill = Hill(space, {"x": Slope(space.parameters["x"], 1.0, (0.5,))}, {}, 0.2, 0.8)
        >>> round(hill.mean({"x": 0.5}), 9), round(hill.mean({"x": 1.0}), 9), hill.highest
        (0.8, 0.2, 0.8)
    """

    space: Space
    slopes: dict[str, Slope]
    offsets: dict[str, dict[Scalar, float]]
    low: float
    high: float

    @cached_property
    def _leads(self) -> tuple[str, dict[Scalar, int]]:
        for name, values in self.offsets.items():
            return name, {value: i for i, value in enumerate(values)}
        return "", {}

    @cached_property
    def _scale(self) -> tuple[float, float]:
        """The highest score, and how much the log-odds move with the score."""
        name, leads = self._leads
        lows, highs = [], []
        for value, lead in leads.items() if leads else [(None, 0)]:
            ends = [slope.ends(lead) for slope in self.slopes.values()]
            start = self.offsets[name][value] if leads else 0.0
            lows.append(start + sum(low for low, _ in ends))
            highs.append(start + sum(high for _, high in ends))
        others = [list(own.values()) for other, own in self.offsets.items() if other != name]
        lowest = min(lows) + sum(map(min, others))
        highest = max(highs) + sum(map(max, others))
        return highest, (log_odds(self.high) - log_odds(self.low)) / (highest - lowest)

    @property
    def highest(self) -> float:
        """The highest mean."""
        return self.high

    def score(self, config: Config) -> float:
        """The sum of the terms."""
        name, leads = self._leads
        lead = leads[config[name]] if leads else 0
        total = sum(values[config[own]] for own, values in self.offsets.items())
        return total + sum(slope.at(config[own], lead) for own, slope in self.slopes.items())

    def mean(self, config: Config) -> float:
        """The mean of a configuration."""
        highest, scale = self._scale
        odds = log_odds(self.high) + scale * (self.score(config) - highest)
        # Rounding may put the peak itself a hair above.
        return min(1.0 / (1.0 + math.exp(-odds)), self.high)


def log_odds(share: float) -> float:
    """The log-odds of a probability.

    Example:
        >>> log_odds(0.5)
        0.0
    """
    return math.log(share / (1.0 - share))


def draw_hill(
    space: Space,
    rng: np.random.Generator,
    low: float,
    high: float,
    names: Sequence[str] | None = None,
) -> Hill:
    """A hill at random between two means; only the parameters in ``names`` matter (None: all)."""
    matter = {name: space.parameters[name] for name in names or space.names}
    plain = {name: p for name, p in matter.items() if p.unordered}
    n_leads = next((len(list(p.values())) for p in plain.values()), 1)
    slopes = {}
    for name, parameter in matter.items():
        if name in plain:
            continue
        middle = rng.uniform(0.2, 0.8)
        peaks = np.clip(middle + rng.uniform(-0.15, 0.15, n_leads), 0.05, 0.95)
        slopes[name] = Slope(parameter, float(rng.uniform(1.0, 4.0)), tuple(peaks.tolist()))
    offsets = {
        name: dict(zip(p.values(), rng.uniform(-0.5, 0.5, p.n_values).tolist(), strict=True))
        for name, p in plain.items()
    }
    return Hill(space, slopes, offsets, low, high)
