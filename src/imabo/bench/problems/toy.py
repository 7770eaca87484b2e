"""The paper's toy functions (table toy-functions), normalised and with their noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from imabo.arms import Floats
from imabo.bench.problems.base import Problem
from imabo.space import Config, Float, Space

_GRID = 200_001  # points between which the optimum is searched
_LOCAL, _GLOBAL = 1.0 / (2.0 * math.pi), 1.0 - 1.0 / (2.0 * math.pi)


def _sin1(x: Floats) -> Floats:
    return (np.sin(13.0 * x) * np.sin(27.0 * x) + 1.0) / 2.0


def _garland(x: Floats) -> Floats:
    return 4.0 * x * (1.0 - x) * (0.75 + 0.25 * (1.0 - np.sqrt(np.abs(np.sin(60.0 * x)))))


def _rastrigin(x: Floats) -> Floats:
    return 1.0 + (10.0 * (np.cos(2.0 * math.pi * x) - 1.0) - x * x) / 40.0


_SEPARABLE: dict[str, tuple[Callable[[Floats], Floats], float, float]] = {
    "sin1": (_sin1, 0.0, 1.0),
    "garland": (_garland, 0.0, 1.0),
    "rastrigin": (_rastrigin, -5.12, 5.12),
}
NAMES = (*_SEPARABLE, "gaussian")


@dataclass(frozen=True)
class Toy:
    """One toy function in ``dim`` dimensions.

    The three separable ones are normalised by eq. (toy-normalization) and observed with Gaussian
    noise (eq. noise-model); ``gaussian`` is a success probability observed as a coin flip.

    Args:
        name: ``sin1``, ``garland``, ``rastrigin`` or ``gaussian``.
        dim: Number of coordinates, d.
        sigma: Standard deviation of the additive noise.

    Example:
        >>> toy = Toy("sin1")
        >>> round(toy.optimum, 4)
        0.9756
        >>> toy.mean({name: 0.5 for name in toy.space.names}) < toy.optimum
        True
    """

    name: str
    dim: int = 4
    sigma: float = 0.7

    @property
    def _ends(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.name == "gaussian" else _SEPARABLE[self.name][1:]

    @cached_property
    def space(self) -> Space:
        """The native domain."""
        return Space({f"x{i + 1}": Float(*self._ends) for i in range(self.dim)})

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Noise has no ends; a coin flip does."""
        return (0.0, 1.0) if self.name == "gaussian" else None

    def mean(self, config: Config) -> float:
        """g(x), the noiseless normalised objective."""
        x = np.array([config[name] for name in self.space.names], dtype=np.float64)
        if self.name == "gaussian":
            squares = (((x - at) ** 2).sum(keepdims=True) for at in (_GLOBAL, _LOCAL))
            return float(self._gaussian(*squares)[0])
        return float(_SEPARABLE[self.name][0](x).mean())  # eq. (toy-normalization)

    def _gaussian(self, from_global: Floats, from_local: Floats) -> Floats:
        """Two bumps, by squared distance from their centres."""
        width = 0.35 * (_GLOBAL - _LOCAL) * math.sqrt(self.dim / 2.0)
        scale = -1.0 / (2.0 * width**2)
        return 0.9 * np.exp(scale * from_global) + 0.6 * np.exp(scale * from_local)

    @property
    def optimum(self) -> float:
        """g*, computed: the best point of a fine grid on the diagonal, then a search around it.

        Every coordinate of a separable function has the same profile, and both modes of
        ``gaussian`` lie on the diagonal, so the diagonal holds the optimum of all four.
        """
        low, high = self._ends
        grid = np.linspace(low, high, _GRID)
        if self.name == "garland":
            # Its peaks are cusps where sin(60 x) = 0, too sharp for a search to climb.
            grid = np.sort(np.append(grid, np.arange(20) * math.pi / 60.0))
        values = self._along(grid)
        at = int(values.argmax())
        found = minimize_scalar(
            lambda x: -float(self._along(np.array([x]))[0]),
            bounds=(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return max(-float(found.fun), float(values[at]))

    def _along(self, x: Floats) -> Floats:
        """G on the diagonal."""
        if self.name == "gaussian":
            return self._gaussian(self.dim * (x - _GLOBAL) ** 2, self.dim * (x - _LOCAL) ** 2)
        return _SEPARABLE[self.name][0](x)

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One noisy reward."""
        mean = self.mean(config)
        if self.name == "gaussian":
            return float(rng.random() < mean)
        return mean + self.sigma * float(rng.standard_normal())  # eq. (noise-model)
