"""The paper's toy functions (table toy-functions), normalised and with their noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from imabo.arms import Floats
from imabo.space import Config, Float, Space

_GRID = 200_001  # points on which the one-dimensional optimum is bracketed
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
        0.9755
        >>> toy.mean({name: 0.5 for name in toy.space.names}) < toy.optimum
        True
    """

    name: str
    dim: int = 4
    sigma: float = 0.7

    @property
    def space(self) -> Space:
        """The native domain."""
        low, high = (0.0, 1.0) if self.name == "gaussian" else _SEPARABLE[self.name][1:]
        return Space({f"x{i + 1}": Float(low, high) for i in range(self.dim)})

    @property
    def reward_range(self) -> tuple[float, float] | None:
        """Noise has no ends; a coin flip does."""
        return (0.0, 1.0) if self.name == "gaussian" else None

    def mean(self, config: Config) -> float:
        """g(x), the noiseless normalised objective."""
        x = np.array([float(config[f"x{i + 1}"] or 0.0) for i in range(self.dim)])
        if self.name == "gaussian":
            return float(self._gaussian(x))
        return float(_SEPARABLE[self.name][0](x).mean())  # eq. (toy-normalization)

    def _gaussian(self, x: Floats) -> float:
        width = 0.35 * (_GLOBAL - _LOCAL) * math.sqrt(self.dim / 2.0)
        peaks = ((0.9, _GLOBAL), (0.6, _LOCAL))
        return sum(
            h * math.exp(-float(((x - at) ** 2).sum()) / (2.0 * width**2)) for h, at in peaks
        )

    @property
    def optimum(self) -> float:
        """g*, computed: the best grid point of one coordinate, then a bounded search around it.

        Every coordinate has the same profile, and the two modes of ``gaussian`` lie on the
        diagonal, so one dimension is enough for all four.
        """
        low, high = (0.0, 1.0) if self.name == "gaussian" else _SEPARABLE[self.name][1:]
        grid = np.linspace(low, high, _GRID)

        def along(x: float) -> float:
            if self.name == "gaussian":
                return self._gaussian(np.full(self.dim, x))
            return float(_SEPARABLE[self.name][0](np.array([x]))[0])

        values = (
            np.array([along(x) for x in grid[:: _GRID // 2000]])
            if self.name == "gaussian"
            else _SEPARABLE[self.name][0](grid)
        )
        at = int(values.argmax()) * (_GRID // 2000 if self.name == "gaussian" else 1)
        step = (high - low) / (2000 if self.name == "gaussian" else _GRID - 1)
        ends = (max(low, grid[at] - step), min(high, grid[at] + step))
        found = minimize_scalar(lambda x: -along(x), bounds=ends, method="bounded")
        return max(float(-found.fun), float(values.max()))

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One noisy reward."""
        mean = self.mean(config)
        if self.name == "gaussian":
            return float(rng.random() < mean)
        return mean + self.sigma * float(rng.standard_normal())  # eq. (noise-model)
