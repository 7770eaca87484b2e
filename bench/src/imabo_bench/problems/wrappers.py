"""Problems made from problems: other noise, or continuous axes on a grid."""

from __future__ import annotations

import contextlib
import copy
import functools
import math
import re
import sys
from collections.abc import Callable
from functools import cached_property

import numpy as np

from imabo.settings import check_count, check_number
from imabo.space import Choice, Config, Parameter, Space
from imabo_bench.problems.base import Problem

MOST_LISTED = 200_000  # configurations of a grid that are all looked at for its optimum
N_DRAWS = 100_000  # draws among which the best one is taken where there are more


class Wrapper(Problem):
    """Another problem, changed in one respect; subclass it and override that.

    Args:
        problem: The problem that is changed.
        variant: What is added to its name.
    """

    def __init__(self, problem: Problem, variant: str) -> None:
        self.problem = problem
        self.name = f"{problem.name}:{variant}"
        self.reward_range = problem.reward_range
        self.changes_at, self.window = problem.changes_at, problem.window
        self._moments: dict[Problem, Wrapper] = {}

    @property
    def is_changing(self) -> bool:  # type: ignore[override]  # depends on what is wrapped
        """Whether the wrapped problem changes."""
        return self.problem.is_changing

    @property
    def is_exact(self) -> bool:  # type: ignore[override]  # depends on what is wrapped
        """Whether the optimum is the highest mean there is."""
        return self.problem.is_exact

    @property
    def space(self) -> Space:
        """The wrapped problem's space."""
        return self.problem.space

    def mean(self, config: Config) -> float:
        """The wrapped problem's mean."""
        return self.problem.mean(config)

    @property
    def optimum(self) -> float:
        """The wrapped problem's optimum."""
        return self.problem.optimum

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One reward of the wrapped problem."""
        return self.problem.draw(config, rng)

    def moment(self, t: int) -> Problem:
        """The wrapped problem's moment, changed in the same respect."""
        inner = self.problem.moment(t)
        if inner is self.problem:
            return self
        if inner not in self._moments:
            twin = copy.copy(self)
            twin.problem, twin._moments = inner, {}
            for computed in ("optimum", "sampled_means"):  # of another moment
                vars(twin).pop(computed, None)
            self._moments[inner] = twin
        return self._moments[inner]

    def watched(self, config: Config) -> bool:
        """Whether the wrapped problem counts the configuration."""
        return self.problem.watched(config)

    def feedback(self, t: int) -> float:
        """The wrapped problem's share."""
        return self.problem.feedback(t)

    def unseen_regret(self, config: Config) -> float | None:
        """The wrapped problem's loss on requests that no run has seen."""
        return self.problem.unseen_regret(config)

    def runtime(self, config: Config) -> float | None:
        """The wrapped problem's seconds."""
        return self.problem.runtime(config)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Noisy(Wrapper):
    """The same means, observed with additive Gaussian noise (eq. noise-model).

    Args:
        problem: The problem that is observed.
        sigma: Standard deviation of the noise, at least 0.

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> noisy = Noisy(open_problem("toy/gaussian"), 0.2)
        >>> noisy.name, noisy.reward_range is None
        ('toy/gaussian:noise0.2', True)
    """

    def __init__(self, problem: Problem, sigma: float) -> None:
        check_number("sigma", sigma, 0.0, sys.float_info.max, closed=True)
        super().__init__(problem, f"noise{float(sigma)!r}")
        self.sigma = float(sigma)
        self.reward_range = None

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """The mean and some noise."""
        return self.mean(config) + self.sigma * float(rng.standard_normal())


class Bernoulli(Wrapper):
    """The means, cut off at 0 and 1, observed as coin flips.

    Args:
        problem: The problem that is observed.

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> flips = Bernoulli(open_problem("toy/sin1"))
        >>> flips.draw({name: 0.5 for name in flips.space.names}, np.random.default_rng(0))
        0.0
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, "flip")
        self.reward_range = (0.0, 1.0)

    def mean(self, config: Config) -> float:
        """The chance of a 1."""
        return min(max(self.problem.mean(config), 0.0), 1.0)

    @property
    def optimum(self) -> float:
        """The highest chance of a 1."""
        return min(max(self.problem.optimum, 0.0), 1.0)

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """A coin flip."""
        return float(rng.random() < self.mean(config))


class Discretised(Wrapper):
    """The same problem on a grid: every axis of more than ``n_values`` values keeps as many.

    The kept values include both ends and lie evenly, or geometrically on a log scale; whole
    numbers are rounded. Axes become ordered choices. The optimum is that of the grid, found by
    looking at all of it where it has at most 200,000 points, else the best of 100,000 draws.

    Args:
        problem: The problem whose axes are discretised.
        n_values: Values an axis, at least 2.

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> grid = Discretised(open_problem("toy/sin1:d2"), 5)
        >>> grid.space.parameters["x1"]
        Choice(0.0, 0.25, 0.5, 0.75, 1.0, ordered=True)
        >>> grid.optimum < grid.problem.optimum
        True
    """

    def __init__(self, problem: Problem, n_values: int) -> None:
        check_count("n_values", n_values, least=2)
        super().__init__(problem, f"grid{n_values}")
        self.n_values = n_values

    @cached_property
    def space(self) -> Space:
        """The grid."""
        parameters = {
            name: self._discretised(parameter)
            for name, parameter in self.problem.space.parameters.items()
        }
        return Space(parameters, forbid=self.problem.space.forbid)

    def _discretised(self, parameter: Parameter) -> Parameter:
        if parameter.unordered or (parameter.n_values or math.inf) <= self.n_values:
            return parameter
        kept = [parameter.from_unit(u) for u in np.linspace(0.0, 1.0, self.n_values).tolist()]
        return Choice(*dict.fromkeys(kept), ordered=True, when=parameter.when)

    @property
    def _is_listed(self) -> bool:
        return self.space.n_configs is not None and self.space.n_configs <= MOST_LISTED

    @property
    def is_exact(self) -> bool:  # type: ignore[override]  # depends on the grid's size
        """Whether the grid is small enough to look at all of it."""
        return self._is_listed

    @cached_property
    def optimum(self) -> float:
        """The highest mean of the grid."""
        if self._is_listed:
            return max(map(self.mean, self.space.configs()))
        rng = np.random.default_rng(0)
        return max(self.mean(self.space.sample(rng)) for _ in range(N_DRAWS))


def wrapper_of(variant: str) -> Callable[[Problem], Problem] | None:
    """The wrapper that a variant of a name stands for: ``grid11``, ``noise0.1`` or ``flip``.

    Example:
        >>> wrapper_of("d2") is None
        True
    """
    if variant == "flip":
        return Bernoulli
    if (found := re.fullmatch(r"grid(\d+)", variant)) is not None:
        return functools.partial(Discretised, n_values=int(found[1]))
    if (found := re.fullmatch(r"noise(\d.*)", variant)) is not None:
        with contextlib.suppress(ValueError):
            return functools.partial(Noisy, sigma=float(found[1]))
    return None
