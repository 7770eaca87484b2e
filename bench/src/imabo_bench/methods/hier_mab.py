"""Hier-MAB: AutoRAG-HP's two-level bandit, which credits a reward to the one changed parameter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from imabo.arms import Floats
from imabo.space import Config, Float, Int
from imabo.space.base import Parameter
from imabo.space.scalars import Scalar
from imabo_bench.methods.base import Method
from imabo_bench.methods.instant import InstantPlayer, rng_of
from imabo_bench.problems.base import Problem


class UCB1:
    """UCB1 (Auer et al., 2002) over ``n`` arms: untried ones first, of equals the first.

    Example:
        >>> bandit = UCB1(2)
        >>> bandit.reward(0, 1.0)
        >>> bandit.ranked().tolist(), bandit.best
        ([1, 0], 0)
    """

    def __init__(self, n: int) -> None:
        self.counts = np.zeros(n)
        self.sums = np.zeros(n)

    def reward(self, arm: int, reward: float) -> None:
        """A reward of an arm."""
        self.counts[arm] += 1
        self.sums[arm] += reward

    def ranked(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """The arms by falling index, mean + sqrt(2 log t / n)."""
        tried = np.maximum(self.counts, 1.0)
        total = max(float(self.counts.sum()), 1.0)
        index = self.sums / tried + np.sqrt(2.0 * math.log(total) / tried)
        return np.argsort(-np.where(self.counts > 0, index, np.inf), kind="stable")

    @property
    def best(self) -> int:
        """The arm of highest mean; the first before any reward."""
        means = self.sums / np.maximum(self.counts, 1.0)
        return int(np.where(self.counts > 0, means, -np.inf).argmax())


def axis_units(parameter: Parameter, n_values: int) -> Floats:
    """The values that a parameter is tried at, as positions in [0, 1].

    Categories, and grids of at most ``n_values`` values, as they are; else ``n_values`` positions
    from end to end, even on the parameter's own scale: geometric on a log scale.

    Example:
        >>> from imabo import Float
        >>> lr = Float(1e-4, 1.0, log=True)
        >>> [lr.from_unit(u) for u in axis_units(lr, 3)]
        [0.0001, 0.01, 1.0]
    """
    known = parameter.n_values
    if isinstance(parameter, Float | Int) and (known is None or known > n_values):
        ends = parameter.to_unit(parameter.low), parameter.to_unit(parameter.high)
        values: list[Scalar] = [
            parameter.from_unit(u) for u in np.linspace(*ends, n_values).tolist()
        ]
    else:
        values = list(parameter.values())
    # Neighbouring positions may hold the same whole number.
    return np.unique([parameter.to_unit(value) for value in values])


class HierMABPlayer(InstantPlayer):
    """A UCB1 picks the parameter, that parameter's own UCB1 its value; the rest stays at its best.

    A value's mean is over the rounds in which its parameter was the one picked; the best value of
    a parameter that was never picked is the first of its values, whose order (like that of the
    parameters) is drawn from the seed.

    Conditional spaces: every parameter keeps its best value also while it is inactive, and has it
    when a change of its parent switches it on; only parameters that are active at the current best
    values are picked. Forbidden combinations: the pair of next highest indices is taken; where no
    single change is allowed, a draw from P0 is served that credits nobody.
    """

    def __init__(self, problem: Problem, n_values: int, seed: int) -> None:
        super().__init__(problem.space)
        self._rng = rng_of(seed)
        self._low, self._high = problem.reward_range or (0.0, 1.0)
        parameters = self.space.parameters.values()
        self._units = [self._rng.permutation(axis_units(p, n_values)) for p in parameters]
        self._order = self._rng.permutation(len(self._units))
        self._axes = UCB1(len(self._units))  # arm a is the parameter order[a]
        self._values = [UCB1(len(units)) for units in self._units]
        self._picked: tuple[int, int] | None = None
        self._last: Config | None = None

    def choose(self) -> Config:
        """The best values with one parameter changed."""
        for axis, value, config in self._changes():
            if not self.space.is_forbidden(config):
                self._picked = (axis, value)
                return config
        self._picked = None
        return self.space.sample(self._rng)

    def _changes(self) -> Iterator[tuple[int, int, Config]]:
        """Every change of one active parameter, by falling index of parameter, then of value."""
        best = self._best_units()
        active = self.space.decode(best)
        for axis in self._axes.ranked():
            column = int(self._order[axis])
            if self.space.names[column] not in active:
                continue
            for value in self._values[column].ranked():
                units = best.copy()
                units[column] = self._units[column][value]
                yield int(axis), int(value), self.space.decode(units)

    def _best_units(self) -> Floats:
        pairs = zip(self._units, self._values, strict=True)
        return np.array([units[values.best] for units, values in pairs])

    def learn(self, config: Config, reward: float) -> None:
        """Credit the reward, on [0, 1] where the range is known, to the parameter and its value."""
        self._last = config
        if self._picked is not None:
            axis, value = self._picked
            reward = (reward - self._low) / (self._high - self._low)
            self._axes.reward(axis, reward)
            self._values[int(self._order[axis])].reward(value, reward)

    def recommend(self) -> Config | None:
        """The best value of every parameter; what was served last where that is forbidden."""
        best = self.space.decode(self._best_units())
        if self._last is None or self.space.is_forbidden(best):
            return self._last
        return best


@dataclass(frozen=True)
class HierMAB(Method):
    """Two levels of UCB1 over axes of at most ``n_values`` values each (see ``HierMABPlayer``)."""

    name: str
    n_values: int
    summary: str

    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> HierMABPlayer:
        """Begin a run; neither horizon nor window is used."""
        del rounds, window
        return HierMABPlayer(problem, self.n_values, seed)


METHODS = (
    HierMAB("hier-mab", 11, "two-level UCB1 of AutoRAG-HP; the same as hier-mab-11"),
    HierMAB("hier-mab-10", 10, "two-level UCB1 of AutoRAG-HP, 10 values an axis"),
    HierMAB("hier-mab-11", 11, "two-level UCB1 of AutoRAG-HP, 11 values an axis"),
)
