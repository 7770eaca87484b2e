"""Tree searches from PyXAB: StoSOO, HOO-T and StroquOOL, with their horizon given in advance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from imabo.errors import InvalidSetting
from imabo.space import Config, Space
from imabo_bench.methods.base import Method
from imabo_bench.methods.instant import InstantPlayer
from imabo_bench.methods.pyxab_trees import (
    Point,
    hoo_best,
    make_hoo,
    make_stosoo,
    make_stroquool,
    stosoo_best,
    stroquool_best,
)
from imabo_bench.problems.base import Problem

_SWEEPS = 1000  # passes over the tree that may expand cells without choosing one


class TreePlayer(InstantPlayer):
    """A PyXAB algorithm on the unit cube, whose points are decoded to the space.

    ``Space.decode`` is eq. (toy-xarm-mapping) for a linear axis, its logarithmic form for a log
    axis, and the cell that holds the point for integers and categories.
    """

    def __init__(
        self,
        space: Space,
        algorithm: Any,
        best: Callable[[Any], Point | None],
        rounds: int,
    ) -> None:
        super().__init__(space)
        self._algorithm = algorithm
        self._best = best
        self._rounds = rounds
        self._time = 0

    def choose(self) -> Config | None:
        """The next point; None after the horizon, or when the schedule is complete."""
        if self._time >= self._rounds:
            return None
        point = self._pull(self._time + 1)
        if point is None or getattr(self._algorithm, "end", False):
            return None
        self._time += 1
        return self._config(point)

    def _pull(self, time: int) -> Point | None:
        for _ in range(_SWEEPS):
            point: Point | None = self._algorithm.pull(time)
            if point is not None:
                return point
        return None

    def learn(self, config: Config, reward: float) -> None:
        """Pass the reward on as it is."""
        del config
        self._algorithm.receive_reward(self._time, reward)

    def recommend(self) -> Config | None:
        """The algorithm's own recommendation, decoded."""
        point = self._best(self._algorithm) if self._time else None
        return None if point is None else self._config(point)

    def _config(self, point: Sequence[float]) -> Config:
        return self.space.decode(np.array(point, dtype=np.float64))


@dataclass(frozen=True)
class Tree(Method):
    """An algorithm of PyXAB with its default settings (see ``TreePlayer``)."""

    name: str
    summary: str
    make: Callable[[int, int, int], Any]  # of horizon, dimension and seed
    best: Callable[[Any], Point | None]

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> TreePlayer:
        """Begin a run of at most ``rounds`` rounds."""
        del window
        space = problem.space
        if space.forbid:
            raise InvalidSetting(
                f"{self.name} was started on {problem.name}, which forbids combinations",
                "a cell of its tree is served by its centre, which cannot be moved",
                "choose another method or another problem",
            )
        return TreePlayer(space, self.make(rounds, len(space), seed), self.best, rounds)


METHODS = (
    Tree("stosoo", "stochastic simultaneous optimistic optimisation", make_stosoo, stosoo_best),
    Tree("hoo-t", "hierarchical optimistic optimisation, truncated", make_hoo, hoo_best),
    Tree("stroquool", "StroquOOL, stops when its schedule ends", make_stroquool, stroquool_best),
)
