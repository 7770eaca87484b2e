"""Surfaces of means: each knows its space, the mean of a configuration and its highest mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import minimize

from imabo.space import Config, Scalar, Space
from imabo_bench.problems.situations.hill import Hill

_GRID = 101  # points an axis from which the highest point of several bumps is searched


class Surface(Protocol):
    """A space and the true means on it."""

    @property
    def space(self) -> Space:
        """What may be served."""
        ...

    @property
    def highest(self) -> float:
        """The highest mean."""
        ...

    def mean(self, config: Config) -> float:
        """The mean of a configuration."""
        ...


@dataclass(frozen=True)
class Listed:
    """A mean for every configuration, listed in the order of ``space.configs()``.

    Example:
        >>> from imabo import Choice, Space
        >>> listed = Listed(Space(model=Choice("a", "b")), (0.4, 0.6))
        >>> listed.mean({"model": "b"}), listed.highest
        (0.6, 0.6)
    """

    space: Space
    means: tuple[float, ...]

    @cached_property
    def _places(self) -> dict[tuple[Scalar, ...], float]:
        configs = (tuple(config.values()) for config in self.space.configs())
        return dict(zip(configs, self.means, strict=True))

    @property
    def highest(self) -> float:
        """The highest of the means."""
        return max(self.means)

    def mean(self, config: Config) -> float:
        """The listed mean."""
        return self._places[tuple(config[name] for name in self.space.names)]


@dataclass(frozen=True)
class Level:
    """The same mean everywhere.

    Example:
        >>> from imabo import Float, Space
        >>> Level(Space(x=Float(0.0, 1.0)), 0.5).mean({"x": 0.3})
        0.5
    """

    space: Space
    highest: float

    def mean(self, config: Config) -> float:
        """The level."""
        del config
        return self.highest


@dataclass(frozen=True)
class Bump:
    """A Gaussian bump over two unit coordinates.

    Example:
        >>> Bump((0.5, 0.5), (0.1, 0.1)).at(0.5, 0.5)
        1.0
    """

    centre: tuple[float, float]
    widths: tuple[float, float]
    height: float = 1.0

    def at(self, u: float, v: float) -> float:
        """Its height there."""
        a, b = (u - self.centre[0]) / self.widths[0], (v - self.centre[1]) / self.widths[1]
        return self.height * math.exp(-0.5 * (a * a + b * b))


@dataclass(frozen=True)
class Bumps:
    """A sum of bumps over two numbers, between a base and its highest mean.

    Example:
        >>> from imabo import Float, Space
        >>> space = Space(x=Float(0.0, 1.0), y=Float(0.0, 1.0))
        >>> bumps = Bumps(space, (Bump((0.5, 0.5), (0.1, 0.1)),), 0.2, 0.8)
        >>> bumps.mean({"x": 0.5, "y": 0.5}), round(bumps.mean({"x": 0.0, "y": 0.0}), 3)
        (0.8, 0.2)
    """

    space: Space
    bumps: tuple[Bump, ...]
    base: float
    highest: float

    @cached_property
    def _top(self) -> float:
        """The highest point of the sum: exact for one bump, else searched from many starts."""
        if len(self.bumps) == 1:
            return self.bumps[0].height
        axis = np.linspace(0.0, 1.0, _GRID).tolist()
        starts = [max(((u, v) for u in axis for v in axis), key=lambda at: self._sum(*at))]
        starts += [bump.centre for bump in self.bumps]
        tops = [self._sum(*at) for at in starts]
        for start in starts:
            found = minimize(
                self._depth,
                start,
                bounds=[(0.0, 1.0)] * 2,
                method="L-BFGS-B",
                options={"ftol": 1e-15, "gtol": 1e-10},
            )
            tops.append(-float(found.fun))
        return max(tops)

    def _depth(self, at: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return -self._sum(float(at[0]), float(at[1]))

    def _sum(self, u: float, v: float) -> float:
        return sum(bump.at(u, v) for bump in self.bumps)

    def mean(self, config: Config) -> float:
        """The base and the share of the bumps."""
        u, v = (p.to_unit(config[name]) for name, p in self.space.parameters.items())
        share = min(self._sum(u, v) / self._top, 1.0)
        return self.base + (self.highest - self.base) * share


@dataclass(frozen=True)
class Models:
    """A level for each model, less what a temperature that does not suit it costs.

    Example:
        >>> from imabo import Choice, Float, Space
        >>> space = Space(model=Choice("a", "b"), temperature=Float(0.0, 1.0))
        >>> models = Models(space, {"a": 0.8, "b": 0.5}, {"a": 0.0, "b": 0.5}, 0.1)
        >>> models.mean({"model": "a", "temperature": 1.0}), models.highest
        (0.7000000000000001, 0.8)
    """

    space: Space
    levels: dict[Scalar, float]
    peaks: dict[Scalar, float]
    cost: float

    @property
    def highest(self) -> float:
        """The level of the best model, at its best temperature."""
        return max(self.levels.values())

    def mean(self, config: Config) -> float:
        """The model's level, less the cost of the temperature."""
        model = config["model"]
        apart = self.space.parameters["temperature"].to_unit(config["temperature"])
        apart -= self.peaks[model]
        return self.levels[model] - self.cost * apart * apart


@dataclass(frozen=True)
class Cliff:
    """Safe is mediocre everywhere; bold is bad but for a small box, in which it is the best.

    Args:
        safe: Means of the safe mode.
        bold: Means of the bold mode outside the box.
        centre: The middle of the box, a unit coordinate for each parameter of the bold mode.
        half: Half the side of the box.
        highest: The mean in the middle of the box.
        edge: The mean at its edge.

    Example:
        >>> from imabo_bench.problems.situations.still import cliff
        >>> surface = cliff("my/cliff", 0, np.random.default_rng(0)).surface
        >>> 0.5 < surface.mean({"mode": "safe", "temperature": 1.0}) < 0.6
        True
    """

    space: Space
    safe: Hill
    bold: Hill
    centre: dict[str, float]
    half: float
    highest: float
    edge: float

    def mean(self, config: Config) -> float:
        """The mean of the mode, with the bold mode's box."""
        if config["mode"] == "safe":
            return self.safe.mean(config)
        parameters = self.space.parameters
        out = max(
            abs(parameters[name].to_unit(config[name]) - middle) / self.half
            for name, middle in self.centre.items()
        )
        if out > 1.0:
            return self.bold.mean(config)
        return self.highest - (self.highest - self.edge) * out * out


@dataclass(frozen=True)
class Decoy:
    """A hill, and one configuration elsewhere that is better than its top.

    Example:
        >>> from imabo_bench.problems.situations.still import decoy
        >>> surface = decoy("my/decoy", 0, np.random.default_rng(0)).surface
        >>> surface.mean(surface.exception) == surface.highest > surface.hill.highest
        True
    """

    hill: Hill
    exception: Config
    highest: float

    @property
    def space(self) -> Space:
        """The hill's space."""
        return self.hill.space

    def mean(self, config: Config) -> float:
        """The hill's mean, but for the exception."""
        return self.highest if config == self.exception else self.hill.mean(config)
