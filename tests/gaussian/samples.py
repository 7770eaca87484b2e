"""Points, observations and active sets that the tests of the model work on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from imabo.arms import ActiveSet, Floats
from imabo.gaussian.kernel import Points
from imabo.gaussian.process import Hyperparameters, Process
from imabo.space import Choice, Config, Float, Space
from imabo.testing.situations import distinct_configs

LINE = Space(x=Float(0.0, 1.0))
MIXED = Space(
    kind=Choice("a", "b", "c"),
    x=Float(0.0, 1.0),
    y=Float(0.0, 1.0, when={"kind": ["b", "c"]}),
    z=Choice("p", "q", when={"kind": "c"}),
)


def placed(space: Space, n: int, seed: int) -> Points:
    """P0 draws as points of the kernel, repeats included."""
    rng = np.random.default_rng(seed)
    encoded = [space.encode(space.sample(rng)) for _ in range(n)]
    unordered = np.array([p.unordered for p in space.parameters.values()])
    units, mask = (np.array(column) for column in zip(*encoded, strict=True))
    return Points.place(units, mask, unordered)


def cube(n: int, d: int, seed: int) -> Points:
    """Points of a cube of numbers."""
    return Points(np.random.default_rng(seed).random((n, d)), np.zeros(d, dtype=np.bool_))


def sphere(n: int, d: int, seed: int) -> Points:
    """Points of a cube of numbers whose mean square distance from the centre is that of all."""
    directions = np.random.default_rng(seed).standard_normal((n, d))
    directions *= np.sqrt(d / 3.0) / np.linalg.norm(directions, axis=1, keepdims=True)
    return Points(0.5 * (1.0 + directions), np.zeros(d, dtype=np.bool_))


def observed(points: Points, seed: int = 0) -> tuple[Floats, Floats]:
    """Noisy values of a smooth function, and the variances of their noise."""
    rng = np.random.default_rng(seed)
    values = np.sin(5.0 * points.units[:, 0]) + points.units.sum(axis=1)
    noise = rng.uniform(0.01, 0.3, len(values))
    values = values + np.sqrt(noise) * rng.standard_normal(len(values))
    return (values - values.mean()) / values.std(), noise


def some_hyperparameters(d: int, share: float = 0.4) -> Hyperparameters:
    """Not those of the prior, and different on every axis."""
    return Hyperparameters(tuple(0.3 * j - 0.8 for j in range(d)), 0.2, -2.5, share)


def fitted(points: Points, share: float = 0.4) -> Process:
    """A process that has seen ``observed`` values."""
    return Process(points, *observed(points), some_hyperparameters(points.units.shape[1], share))


def coins(
    space: Space, n_arms: int, n_rewards: int, mean: Callable[[Config], float], seed: int = 0
) -> ActiveSet:
    """Arms with coin flips of a known chance."""
    rng = np.random.default_rng(seed)
    configs = distinct_configs(space, n_arms, seed)
    flips = [(rng.random(n_rewards) < mean(c)).astype(float).tolist() for c in configs]
    return ActiveSet.from_rewards(space, list(zip(configs, flips, strict=True)))
