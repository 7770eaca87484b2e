"""What a problem looks like: how means spread under P0, and a map of two of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Floats
from imabo.space.base import Parameter
from imabo_bench.problems.base import Problem
from imabo_bench.report.data import Quantiles, quantiles_of

GRID: Final = 41  # cells of a continuum on the map of a two-parameter problem
BINS: Final = 12  # the same where each cell averages over draws
DRAWS: Final = 2_000
CURVE_POINTS: Final = 201


@dataclass(frozen=True)
class HeatMap:
    """Means over two parameters; None where the space allows nothing."""

    names: tuple[str, str]
    labels: tuple[list[str], list[str]]
    values: list[list[float | None]]  # a row for each value of the second parameter
    is_average: bool  # over draws of the other parameters


@dataclass(frozen=True)
class Landscape:
    """The figures of a problem that need no run."""

    means: list[float]  # of draws from P0, in order
    shares: list[float]  # of draws with at most that mean
    optimum: float
    quantile: float  # mu_rho
    rho: float
    quantiles: Quantiles
    heat_map: HeatMap | None


def landscape_of(problem: Problem, rho: float) -> Landscape:
    """Look at a problem: a few thousand draws from P0, and a grid where it has two parameters.

    Args:
        problem: The problem; its means are computed, so this takes as long as they do.
        rho: Share of P0 above the quantile, in (0, 1).

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> landscape = landscape_of(open_problem("toy/sin1"), rho=0.05)
        >>> landscape.means[-1] <= landscape.optimum
        True
    """
    means = problem.sampled_means
    # The curve is drawn from evenly spaced ranks; every draw would only make the page heavier.
    ranks = np.unique(np.linspace(0, len(means) - 1, CURVE_POINTS).round().astype(int))
    return Landscape(
        means=means[ranks].tolist(),
        shares=((ranks + 1) / len(means)).tolist(),
        optimum=problem.optimum,
        quantile=problem.quantile(rho),
        rho=rho,
        quantiles=quantiles_of("P0", means),
        heat_map=heat_map_of(problem),
    )


def heat_map_of(problem: Problem) -> HeatMap | None:
    """Map two parameters: all there are, or the two along which the mean varies most."""
    n_parameters = len(problem.space.names)
    if n_parameters < 2:
        return None
    return _exact_map(problem) if n_parameters == 2 else _average_map(problem)


def _exact_map(problem: Problem) -> HeatMap:
    space = problem.space
    axes = [_centers(space.parameters[name], GRID) for name in space.names]
    values: list[list[float | None]] = []
    for v in axes[1]:
        configs = [space.decode(np.array([u, v])) for u in axes[0]]
        values.append([problem.mean(c) if space.allows(c) else None for c in configs])
    names = (space.names[0], space.names[1])
    return HeatMap(names, _labels(problem, names, axes), values, is_average=False)


def _average_map(problem: Problem) -> HeatMap:
    space = problem.space
    rng = np.random.default_rng(0)
    configs = [space.sample(rng) for _ in range(DRAWS)]
    means = np.array([problem.mean(config) for config in configs])
    encoded = [space.encode(config) for config in configs]
    active = np.array([mask for _, mask in encoded])
    axes = [_centers(space.parameters[name], BINS) for name in space.names]
    units = np.array([position for position, _ in encoded])
    nearest = [np.abs(units[:, [i]] - axis).argmin(axis=1) for i, axis in enumerate(axes)]
    bins = np.column_stack(nearest)
    strength = [_between(bins[active[:, i], i], means[active[:, i]]) for i in range(len(axes))]
    first, second = sorted(np.argsort(strength)[-2:].tolist())
    both = active[:, first] & active[:, second]
    cells = (bins[both, second], bins[both, first])
    shape = (len(axes[second]), len(axes[first]))
    counts, sums = np.zeros(shape), np.zeros(shape)
    np.add.at(counts, cells, 1.0)
    np.add.at(sums, cells, means[both])
    values = [
        [float(total / n) if n else None for total, n in zip(*row, strict=True)]
        for row in zip(sums, counts, strict=True)
    ]
    names = (space.names[first], space.names[second])
    labels = _labels(problem, names, [axes[first], axes[second]])
    return HeatMap(names, labels, values, is_average=True)


def _between(bins: np.ndarray[tuple[int], np.dtype[np.int_]], means: Floats) -> float:
    """Variance of the mean that the bins explain."""
    if not len(means):
        return 0.0
    center = means.mean()
    groups = (means[bins == b] for b in np.unique(bins))
    return float(sum(len(g) * (g.mean() - center) ** 2 for g in groups) / len(means))


def _centers(parameter: Parameter, most: int) -> Floats:
    """Positions to show: those of all values, or of ``most`` equal cells where there are more."""
    if parameter.n_values is not None and parameter.n_values <= most:
        return np.array([parameter.to_unit(value) for value in parameter.values()])
    return (np.arange(most) + 0.5) / most


def _labels(
    problem: Problem, names: tuple[str, str], axes: list[Floats]
) -> tuple[list[str], list[str]]:
    found = []
    for name, axis in zip(names, axes, strict=True):
        parameter = problem.space.parameters[name]
        values = [parameter.from_unit(float(u)) for u in axis]
        found.append([f"{v:.2g}" if isinstance(v, float) else str(v) for v in values])
    return found[0], found[1]
