"""Situations that change while they are played: one small generator a kind."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from imabo.space import Float, Scalar, Space
from imabo_bench.problems.situations.hill import draw_hill
from imabo_bench.problems.situations.situation import Changing, Thinning
from imabo_bench.problems.situations.spaces import draw_knobs, draw_mixed, lettered
from imabo_bench.problems.situations.surfaces import Bump, Bumps, Models, Surface

Rng = np.random.Generator

CHANGE = 3_000  # first round after an abrupt change
STRETCH = 25  # rounds for which what moves slowly stands still


@dataclass(frozen=True)
class Switch:
    """One surface, and from round 3,000 on another.

    Example:
        >>> from imabo import Choice, Space
        >>> from imabo_bench.problems.situations.surfaces import Level
        >>> space = Space(x=Choice(0, 1))
        >>> switch = Switch(Level(space, 0.5), Level(space, 0.6))
        >>> [switch.surface(switch.stage(t)).highest for t in (1, 2999, 3000)]
        [0.5, 0.5, 0.6]
    """

    before: Surface
    after: Surface

    def stage(self, t: int) -> int:
        """0 before the change, 1 from it on."""
        return int(t >= CHANGE)

    def surface(self, stage: int) -> Surface:
        """The surface before or after."""
        return self.after if stage else self.before


@dataclass(frozen=True)
class Stroll:
    """A bump whose centre strolls: on each axis a sum of two slow waves.

    Args:
        bumps: The surface with its bump in any place.
        periods: Rounds of each wave, two an axis.
        phases: Where each wave begins.

    Example:
        >>> stroll = walk("my/walk", 0, np.random.default_rng(0)).course
        >>> [stroll.stage(t) for t in (1, 25, 26)]
        [0, 0, 1]
    """

    bumps: Bumps
    periods: tuple[float, float, float, float]
    phases: tuple[float, float, float, float]

    def stage(self, t: int) -> int:
        """The number of the stretch."""
        return (t - 1) // STRETCH

    def surface(self, stage: int) -> Surface:
        """The bump where it stands in that stretch."""
        waves = [
            math.sin(2.0 * math.pi * (stage * STRETCH / period + phase))
            for period, phase in zip(self.periods, self.phases, strict=True)
        ]
        centre = (0.5 + 0.25 * waves[0] + 0.15 * waves[1], 0.5 + 0.25 * waves[2] + 0.15 * waves[3])
        (bump,) = self.bumps.bumps
        return replace(self.bumps, bumps=(replace(bump, centre=centre),))


@dataclass(frozen=True)
class Days:
    """Two models that are better by turns, while the level of all rises and falls.

    Args:
        models: The models in the middle of their day.
        pair: The two that take turns.
        swing: How far each of them moves up and down.
        tide: How far the level of all does.
        phase: How much later the tide comes, in days.
        n_stretches: Stretches a day.

    Example:
        >>> days = rhythm("my/rhythm", 0, np.random.default_rng(0)).course
        >>> days.stage(1) == days.stage(1 + 25 * days.n_stretches)
        True
    """

    models: Models
    pair: tuple[Scalar, Scalar]
    swing: float
    tide: float
    phase: float
    n_stretches: int

    def stage(self, t: int) -> int:
        """The stretch of the day: the same every day."""
        return (t - 1) // STRETCH % self.n_stretches

    def surface(self, stage: int) -> Surface:
        """The models at that time of the day."""
        hour = stage / self.n_stretches
        turn = self.swing * math.sin(2.0 * math.pi * hour)
        tide = self.tide * math.sin(2.0 * math.pi * (hour - self.phase))
        moved = {self.pair[0]: turn, self.pair[1]: -turn}
        levels = {
            model: level + tide + moved.get(model, 0.0)
            for model, level in self.models.levels.items()
        }
        return replace(self.models, levels=levels)


def move(name: str, number: int, rng: Rng) -> Changing:
    """The best place of two numbers is suddenly elsewhere."""
    del number
    space = draw_knobs(rng)
    start = rng.uniform(0.12, 0.88, 2)
    goal = rng.uniform(0.12, 0.88, 2)
    while np.hypot(*(goal - start)) < 0.5:
        goal = rng.uniform(0.12, 0.88, 2)
    base = float(rng.uniform(0.15, 0.3))
    surfaces = []
    for u, v in (start.tolist(), goal.tolist()):
        widths = rng.uniform(0.1, 0.18, 2).tolist()
        top = float(rng.uniform(0.7, 0.9))
        surfaces.append(Bumps(space, (Bump((u, v), (widths[0], widths[1])),), base, top))
    return Changing(name, Switch(*surfaces), changes_at=CHANGE)


def fall(name: str, number: int, rng: Rng) -> Changing:
    """The best model suddenly is the worst, or nearly."""
    del number
    models, order = _draw_models(rng)
    second = float(rng.uniform(0.5, 0.58))
    leader = float(rng.uniform(0.72, 0.85))
    rest = [second, *(second - rng.uniform(0.05, 0.25, len(order) - 2)).tolist()]
    levels = dict(zip(order, [leader, *rest], strict=True))
    # Far enough to be clearly below the second.
    depth = float(rng.uniform(max(0.3, leader - second + 0.1), 0.6))
    before = replace(models, levels=levels)
    after = replace(models, levels=levels | {order[0]: leader - depth})
    return Changing(name, Switch(before, after), changes_at=CHANGE, watch=order[0])


def rise(name: str, number: int, rng: Rng) -> Changing:
    """A model that was clearly worse is suddenly the best."""
    del number
    models, order = _draw_models(rng)
    leader = float(rng.uniform(0.5, 0.65))
    riser = leader - float(rng.uniform(0.15, 0.35))
    rest = (leader - rng.uniform(0.05, 0.25, len(order) - 2)).tolist()
    levels = dict(zip(order, [riser, leader, *rest], strict=True))
    before = replace(models, levels=levels)
    after = replace(models, levels=levels | {order[0]: leader + float(rng.uniform(0.1, 0.25))})
    return Changing(name, Switch(before, after), changes_at=CHANGE, watch=order[0])


def walk(name: str, number: int, rng: Rng) -> Changing:
    """The best place of two numbers moves a little all the time."""
    del number
    width = float(rng.uniform(0.15, 0.22))
    base, top = float(rng.uniform(0.15, 0.3)), float(rng.uniform(0.75, 0.9))
    bumps = Bumps(draw_knobs(rng), (Bump((0.5, 0.5), (width, width)),), base, top)
    a, b, c, d = rng.uniform(5_000.0, 12_000.0, 4).tolist()
    phases = rng.uniform(0.0, 1.0, 4).tolist()
    stroll = Stroll(bumps, (a, 0.6 * b, c, 0.6 * d), (phases[0], phases[1], phases[2], phases[3]))
    return Changing(name, stroll)


def rhythm(name: str, number: int, rng: Rng) -> Changing:
    """Two models are better by turns, day after day."""
    del number
    models, order = _draw_models(rng)
    level = float(rng.uniform(0.5, 0.6))
    rest = (level - rng.uniform(0.15, 0.25, len(order) - 2)).tolist()
    models = replace(models, levels=dict(zip(order, [level, level, *rest], strict=True)))
    days = Days(
        models,
        pair=(order[0], order[1]),
        swing=float(rng.uniform(0.1, 0.2)),
        tide=float(rng.uniform(0.03, 0.1)),
        phase=float(rng.uniform(0.0, 1.0)),
        n_stretches=int(rng.integers(40, 81)),
    )
    return Changing(name, days)


def rate(name: str, number: int, rng: Rng) -> Thinning:
    """Nothing changes but how many requests return feedback."""
    del number
    space = draw_mixed(rng, int(rng.integers(2, 5)), int(rng.integers(1, 3)))
    low, high = float(rng.uniform(0.15, 0.35)), float(rng.uniform(0.6, 0.85))
    hill = draw_hill(space, rng, low, high)
    shares = float(rng.uniform(0.85, 0.95)), float(rng.uniform(0.2, 0.4))
    return Thinning(name, hill, shares, CHANGE)


def _draw_models(rng: Rng) -> tuple[Models, list[Scalar]]:
    """Three to five models, and an order of them at random."""
    model = lettered("model", int(rng.integers(3, 6)))
    values = list(model.values())
    space = Space(model=model, temperature=Float(0.0, 1.0))
    peaks = dict(zip(values, rng.uniform(0.1, 0.9, len(values)).tolist(), strict=True))
    cost = float(rng.uniform(0.03, 0.08))
    order = [values[i] for i in rng.permutation(len(values)).tolist()]
    return Models(space, dict.fromkeys(values, 0.5), peaks, cost), order
