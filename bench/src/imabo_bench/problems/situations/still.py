"""Situations that stay as they are: one small generator a kind."""

from __future__ import annotations

import numpy as np

from imabo.space import Choice, Float, Int, Space
from imabo_bench.problems.situations.hill import draw_hill
from imabo_bench.problems.situations.rewards import BetaAround, Graded
from imabo_bench.problems.situations.situation import Situation
from imabo_bench.problems.situations.spaces import (
    draw_knobs,
    draw_mixed,
    draw_wide,
    lettered,
)
from imabo_bench.problems.situations.surfaces import Bump, Bumps, Cliff, Decoy, Level, Listed

Rng = np.random.Generator

_FEW = ((2,), (3,), (5,), (2, 2), (8,), (2, 3), (2, 2, 2), (3, 3), (12,), (3, 4), (2, 2, 3))
_PROMPTS = (20, 60, 200)
_GRIDS = ((20, 20), (30, 40), (12, 12, 12), (8, 12, 20), (9, 10, 6))


def few(name: str, number: int, rng: Rng) -> Situation:
    """Two to twelve configurations, a few points apart."""
    del number
    sizes = _FEW[int(rng.integers(len(_FEW)))]
    axes = ("model", "prompt", "retriever")[: len(sizes)]
    space = Space({axis: lettered(axis, size) for axis, size in zip(axes, sizes, strict=True)})
    effects = [rng.standard_normal(size) for size in sizes]
    scores = 0.5 * rng.standard_normal(sizes)  # what the axes do together
    for axis, effect in enumerate(effects):
        scores += effect.reshape([-1 if axis == i else 1 for i in range(len(sizes))])
    spread = float(np.exp(rng.uniform(np.log(0.03), np.log(0.2))))
    units = (scores - scores.min()) / np.ptp(scores)
    means = 0.5 + spread * (2.0 * units - 1.0)
    return Situation(name, Listed(space, tuple(means.ravel().tolist())))


def prompts(name: str, number: int, rng: Rng) -> Situation:
    """Twenty, sixty or two hundred prompts that have nothing to do with each other."""
    n_values = _PROMPTS[number % len(_PROMPTS)]
    space = Space(prompt=Choice(*(f"prompt-{i:03}" for i in range(n_values))))
    means = rng.beta(rng.uniform(1.6, 2.4), rng.uniform(3.2, 4.8), n_values)
    return Situation(name, Listed(space, tuple(means.tolist())))


def rare(name: str, number: int, rng: Rng) -> Situation:
    """Success is rare everywhere."""
    del number
    space = draw_mixed(rng, int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    low, high = float(rng.uniform(0.003, 0.005)), float(rng.uniform(0.035, 0.05))
    return Situation(name, draw_hill(space, rng, low, high))


def wide(name: str, number: int, rng: Rng) -> Situation:
    """Thirty parameters, of which five matter."""
    del number
    space, matter = draw_wide(rng)
    low, high = float(rng.uniform(0.03, 0.1)), float(rng.uniform(0.75, 0.9))
    return Situation(name, draw_hill(space, rng, low, high, matter))


def knobs(name: str, number: int, rng: Rng) -> Situation:
    """Two numbers with one to three bumps."""
    del number
    bumps = [_bump(rng, 1.0)]
    bumps += [_bump(rng, float(rng.uniform(0.4, 0.85))) for _ in range(int(rng.integers(3)))]
    base, top = float(rng.uniform(0.1, 0.35)), float(rng.uniform(0.7, 0.92))
    return Situation(name, Bumps(draw_knobs(rng), tuple(bumps), base, top))


def _bump(rng: Rng, height: float) -> Bump:
    (u, v), (wide, high) = rng.uniform(0.1, 0.9, 2).tolist(), rng.uniform(0.1, 0.25, 2).tolist()
    return Bump((u, v), (wide, high), height)


def cliff(name: str, number: int, rng: Rng) -> Situation:
    """A mode that is mediocre everywhere, and one that is bad but for a small box."""
    del number
    names = ("depth", "breadth", "patience")[: int(rng.integers(2, 4))]
    only = {"mode": "bold"}
    bold = {axis: Float(0.0, 1.0, when=only) for axis in names}
    space = Space({"mode": Choice("safe", "bold"), "temperature": Float(0.0, 1.5), **bold})
    half = 0.5 * float(rng.uniform(0.01, 0.04)) ** (1.0 / len(names))
    # The whole box lies inside the space, so that its share of P0 is what was drawn.
    centre = {axis: float(rng.uniform(half, 1.0 - half)) for axis in names}
    low, high = float(rng.uniform(0.5, 0.53)), float(rng.uniform(0.56, 0.6))
    safe = draw_hill(space, rng, low, high, ["temperature"])
    rest = draw_hill(space, rng, 0.1, float(rng.uniform(0.2, 0.3)), names)
    top, edge = float(rng.uniform(0.86, 0.95)), float(rng.uniform(0.8, 0.85))
    return Situation(name, Cliff(space, safe, rest, centre, half, top, edge))


def flat(name: str, number: int, rng: Rng) -> Situation:
    """Nothing that is tuned matters."""
    del number
    space = draw_mixed(rng, int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    return Situation(name, Level(space, float(rng.uniform(0.2, 0.8))))


def judge(name: str, number: int, rng: Rng) -> Situation:
    """Grades of a judge, in tenths, mostly either bad or good."""
    del number
    space = draw_mixed(rng, int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    bad, good = float(rng.uniform(0.15, 0.25)), float(rng.uniform(0.85, 0.95))
    graded = Graded(bad, good, float(rng.uniform(0.08, 0.12)))
    low, high = float(rng.uniform(0.3, 0.4)), float(rng.uniform(0.65, 0.8))
    return Situation(name, draw_hill(space, rng, low, high), graded)


def beta(name: str, number: int, rng: Rng) -> Situation:
    """Scores that scatter evenly around their mean."""
    del number
    space = draw_mixed(rng, int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    low, high = float(rng.uniform(0.15, 0.35)), float(rng.uniform(0.6, 0.85))
    around = BetaAround(float(rng.uniform(4.0, 10.0)))
    return Situation(name, draw_hill(space, rng, low, high), around)


def decoy(name: str, number: int, rng: Rng) -> Situation:
    """A hill that everyone climbs, and one configuration elsewhere that is better."""
    del number
    sizes = _GRIDS[int(rng.integers(len(_GRIDS)))]
    axes = ("top_k", "examples", "effort")
    space = Space(
        {
            axis: Int(1, size) if i < 2 else Choice(*range(1, size + 1), ordered=True)
            for i, (axis, size) in enumerate(zip(axes, sizes, strict=False))
        }
    )
    hill = draw_hill(space, rng, float(rng.uniform(0.1, 0.2)), float(rng.uniform(0.5, 0.6)))
    configs = list(space.configs())
    means = [hill.mean(config) for config in configs]
    # Where the hill is low, so that no climb ends there.
    low = [config for config, mean in zip(configs, means, strict=True) if mean < np.median(means)]
    exception = low[int(rng.integers(len(low)))]
    return Situation(name, Decoy(hill, exception, hill.high + float(rng.uniform(0.2, 0.3))))
