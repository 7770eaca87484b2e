"""A situation is a surface of means and a way to observe them; a changing one has many moments."""

from __future__ import annotations

from typing import ClassVar, Protocol

import numpy as np

from imabo.space import Config, Scalar, Space
from imabo_bench.problems.base import Problem
from imabo_bench.problems.situations.rewards import Flip, Reward
from imabo_bench.problems.situations.surfaces import Surface


class Situation(Problem):
    """A problem that stays as it is.

    Args:
        name: The problem's full name.
        surface: The true means.
        reward: How they are observed; None: coin flips.

    Example:
        >>> from imabo import Choice
        >>> from imabo_bench.problems.situations.surfaces import Listed
        >>> Situation("my/two", Listed(Space(x=Choice(0, 1)), (0.4, 0.6))).optimum
        0.6
    """

    def __init__(self, name: str, surface: Surface, reward: Reward | None = None) -> None:
        self.name = name
        self.surface = surface
        self.reward = reward or Flip()

    @property
    def space(self) -> Space:
        """The surface's space."""
        return self.surface.space

    def mean(self, config: Config) -> float:
        """The surface's mean."""
        return self.surface.mean(config)

    @property
    def optimum(self) -> float:
        """The surface's highest mean."""
        return self.surface.highest

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One reward, made from one uniform."""
        return self.reward.at(float(rng.random()), self.mean(config))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Course(Protocol):
    """How a situation goes on: rounds fall into stages, and each stage has its surface."""

    def stage(self, t: int) -> int:
        """The number of the stage that round ``t`` (from 1) falls into."""
        ...

    def surface(self, stage: int) -> Surface:
        """The means of a stage, on the same space in all of them."""
        ...


class Changing(Problem):
    """A problem that changes: its moments are situations, its own mean and optimum the first's.

    Args:
        name: The problem's full name.
        course: Which surface holds when.
        changes_at: First round after an abrupt change; None where there is none.
        watch: The model whose requests are counted: the one that falls or rises.

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> fall = open_problem("situations/fall-0")
        >>> fall.changes_at, fall.moment(1) is fall.moment(2999)
        (3000, True)
        >>> fall.moment(3000).optimum < fall.optimum
        True
    """

    is_changing: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        course: Course,
        *,
        changes_at: int | None = None,
        watch: Scalar = None,
    ) -> None:
        self.name = name
        self.course = course
        self.changes_at = changes_at
        self.watch = watch
        self._moments: dict[int, Situation] = {}

    def moment(self, t: int) -> Situation:
        """The situation of a round; the same object for a whole stage."""
        stage = self.course.stage(t)
        if stage not in self._moments:
            self._moments[stage] = Situation(self.name, self.course.surface(stage))
        return self._moments[stage]

    @property
    def space(self) -> Space:
        """The space, the same at all moments."""
        return self.moment(1).space

    def mean(self, config: Config) -> float:
        """The mean in round 1."""
        return self.moment(1).mean(config)

    @property
    def optimum(self) -> float:
        """The highest mean in round 1."""
        return self.moment(1).optimum

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """A reward of round 1."""
        return self.moment(1).draw(config, rng)

    def watched(self, config: Config) -> bool:
        """Whether the configuration has the model that falls or rises."""
        return self.watch is not None and config["model"] == self.watch

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Thinning(Situation):
    """A situation in which a part of the feedback stops coming.

    Args:
        name: The problem's full name.
        surface: The true means, which do not change.
        shares: Share of the requests that return a reward, before and after.
        changes_at: First round with the second share.

    Example:
        >>> from imabo_bench.problems import open_problem
        >>> rate = open_problem("situations/rate-0")
        >>> rate.feedback(2999) > 2 * rate.feedback(3000)
        True
    """

    is_changing: ClassVar[bool] = True
    window = 1.0  # a reward comes in its own round or never

    def __init__(
        self, name: str, surface: Surface, shares: tuple[float, float], changes_at: int
    ) -> None:
        super().__init__(name, surface)
        self.shares = shares
        self._from, self.changes_at = changes_at, changes_at

    def feedback(self, t: int) -> float:
        """The share of a round."""
        return self.shares[t >= self._from]
