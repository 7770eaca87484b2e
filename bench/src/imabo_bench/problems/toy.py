"""The paper's toy functions (table toy-functions), normalised and with their noise."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from imabo.settings import check_count, check_number
from imabo.space import Config, Float, Space
from imabo_bench.problems.base import Problem
from imabo_bench.problems.names import Name, unknown_instance, unknown_variant

FAMILY = "toy"
DIM = 4
SIGMA = 0.7
_GRID = 20_001  # points between which the optimum is searched
_LOCAL, _GLOBAL = 1.0 / (2.0 * math.pi), 1.0 - 1.0 / (2.0 * math.pi)


def _sin1(x: float) -> float:
    return (math.sin(13.0 * x) * math.sin(27.0 * x) + 1.0) / 2.0


def _garland(x: float) -> float:
    return 4.0 * x * (1.0 - x) * (0.75 + 0.25 * (1.0 - math.sqrt(abs(math.sin(60.0 * x)))))


def _rastrigin(x: float) -> float:
    return 1.0 + (10.0 * (math.cos(2.0 * math.pi * x) - 1.0) - x * x) / 40.0


_SEPARABLE: dict[str, tuple[Callable[[float], float], tuple[float, float]]] = {
    "sin1": (_sin1, (0.0, 1.0)),
    "garland": (_garland, (0.0, 1.0)),
    "rastrigin": (_rastrigin, (-5.12, 5.12)),
}
NAMES = (*_SEPARABLE, "gaussian")


class Toy(Problem):
    """One toy function in ``dim`` dimensions.

    The three separable ones are normalised by eq. (toy-normalization) and observed with Gaussian
    noise (eq. noise-model); ``gaussian`` is a success probability observed as a coin flip. Its
    name is ``toy/<function>``, with the dimension (``:d2``) and the noise (``:s0.1``) where they
    are not 4 and 0.7.

    Args:
        function: ``sin1``, ``garland``, ``rastrigin`` or ``gaussian``.
        dim: Number of coordinates d, at least 1.
        sigma: Standard deviation of the additive noise, at least 0; ``gaussian`` has none.

    Example:
        >>> toy = Toy("sin1", dim=2)
        >>> toy.name, round(toy.optimum, 4)
        ('toy/sin1:d2', 0.9756)
        >>> toy.mean({"x1": 0.0, "x2": 0.0})
        0.5
    """

    def __init__(self, function: str, dim: int = DIM, sigma: float = SIGMA) -> None:
        if function not in NAMES:
            raise unknown_instance(FAMILY, function, NAMES)
        check_count("dim", dim, least=1)
        check_number("sigma", sigma, 0.0, sys.float_info.max, closed=True)
        self.function, self.dim, self.sigma = function, dim, float(sigma)
        self._profile: Callable[[float], float] | None = None
        self._ends = (0.0, 1.0)
        noise = ""
        if function in _SEPARABLE:
            self._profile, self._ends = _SEPARABLE[function]
            self.reward_range = None  # noise has no ends; a coin flip does
            noise = f":s{self.sigma!r}" if self.sigma != SIGMA else ""
        self.name = f"{FAMILY}/{function}" + (f":d{dim}" if dim != DIM else "") + noise
        width = 0.35 * (_GLOBAL - _LOCAL) * math.sqrt(dim / 2.0)
        self._scale = -1.0 / (2.0 * width**2)
        self._names = tuple(f"x{i + 1}" for i in range(dim))

    @cached_property
    def space(self) -> Space:
        """The native domain."""
        return Space({name: Float(*self._ends) for name in self._names})

    def mean(self, config: Config) -> float:
        """g(x), the noiseless normalised objective."""
        x: list[Any] = [config[name] for name in self._names]
        if self._profile is not None:
            return sum(map(self._profile, x)) / self.dim  # eq. (toy-normalization)
        from_global = sum((xi - _GLOBAL) ** 2 for xi in x)
        from_local = sum((xi - _LOCAL) ** 2 for xi in x)
        return 0.9 * math.exp(self._scale * from_global) + 0.6 * math.exp(self._scale * from_local)

    @property
    def optimum(self) -> float:
        """g*, computed: the best point of a fine grid on the diagonal, then a search around it.

        Every coordinate of a separable function has the same profile, and both modes of
        ``gaussian`` lie on the diagonal, so the diagonal holds the optimum of all four.
        """
        return _optimum(self.function, self.dim)

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One noisy reward."""
        mean = self.mean(config)
        if self._profile is None:
            return float(rng.random() < mean)
        return mean + self.sigma * float(rng.standard_normal())  # eq. (noise-model)

    def __repr__(self) -> str:
        return f"Toy({self.function!r}, dim={self.dim}, sigma={self.sigma})"


@cache
def _optimum(function: str, dim: int) -> float:
    toy = Toy(function, dim)
    ends = _SEPARABLE[function][1] if function in _SEPARABLE else (0.0, 1.0)
    grid = np.linspace(*ends, _GRID)
    if function == "garland":
        # Its peaks are cusps where sin(60 x) = 0, too sharp for a search to climb.
        grid = np.sort(np.append(grid, np.arange(20) * math.pi / 60.0))

    def along(x: float) -> float:
        return toy.mean(dict.fromkeys(toy.space.names, x))

    values = [along(x) for x in grid.tolist()]
    at = int(np.argmax(values))
    found = minimize_scalar(
        lambda x: -along(float(x)),
        bounds=(grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return max(-float(found.fun), values[at])


def open_toy(name: Name) -> Toy:
    """Make the toy that a name describes: ``d<dim>`` and ``s<sigma>`` may follow it."""
    settings: dict[str, Any] = {}
    for variant in name.variants:
        key, kind = {"d": ("dim", int), "s": ("sigma", float)}.get(variant[:1], ("", str))
        try:
            value: object = kind(variant[1:])
        except ValueError:
            key = ""
        if not key or key in settings:
            raise unknown_variant(FAMILY, variant, ("d2", "s0.1"))
        settings[key] = value
    return Toy(name.instance, **settings)
