"""What a method is: something that plays a problem round by round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.space import Config
from imabo_bench.problems.base import Problem

# Rounds that every run reports at, and where it says all that it shows.
ROUND_NUMBERS: Final = (100, 300, 500, 1000, 1500, 2500, 3000, 5000, 10_000, 18_000, 50_000)


@dataclass(frozen=True, slots=True)
class Served:
    """What is served this round: ``key`` names it when its reward comes (late, perhaps)."""

    key: str
    config: Config
    group: str | None = None  # tuned or control, of a method that has one


@dataclass(frozen=True, slots=True)
class Estimate:
    """A configuration, and the interval in which a method says that its mean reward lies now.

    ``mean`` is what it says that the mean is; None where it does not.
    """

    config: Config
    low: float
    high: float
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a method shows besides its best configuration, to be held against the truth.

    Attributes:
        at_random: Between which ends it says that serving at random lies; None without any.
        random_mean: What it says that serving at random gives; None while it does not.
        arms: Its table of configurations, in the table's order, with a reward each.
        sure: Of each of them, what its mean is surely above.
    """

    at_random: tuple[float, float] | None
    random_mean: float | None
    arms: Sequence[Estimate]
    sure: Sequence[float]


class Player(ABC):
    """One run of a method on one problem.

    Attributes:
        control: What its control serves, where it has one that is fixed.
        is_random: Whether its control serves draws from P0.
        is_same: Whether it serves everyone alike, its control included.
    """

    control: Config | None = None
    is_random: bool = False
    is_same: bool = False

    @abstractmethod
    def ask(self) -> Served | None:
        """The configuration of the next round; None when the method's own schedule has ended."""

    @abstractmethod
    def tell(self, key: str, reward: float) -> None:
        """The reward of a round."""

    def tell_all(self, key: str, reward: float, signals: Mapping[str, float]) -> None:
        """The reward of a round with its signals, for methods that know of them."""
        del signals
        self.tell(key, reward)

    @abstractmethod
    def recommend(self) -> Config | None:
        """The configuration to keep, by the method's own rule; None before the first reward."""

    @property
    @abstractmethod
    def n_arms(self) -> int:
        """Distinct configurations that were served."""

    @property
    def n_proposals(self) -> int:
        """Calls of an oracle or sampler."""
        return self.n_arms

    def probe(self, count: int, rng: np.random.Generator) -> list[Config]:
        """What the method would propose now, on a copy: the run goes on as if it was not asked.

        Empty for methods without an oracle.
        """
        del count, rng
        return []

    def alarms(self) -> list[int]:
        """Rounds at which the method noticed that the problem had changed."""
        return []

    def lift(self) -> tuple[float, float] | None:
        """Between which ends the method says that its lift over a control lies; None without."""
        return None

    def rolled_back(self) -> int | None:
        """The round in which a guardrail gave up; None where it did not."""
        return None

    def estimate(self) -> Estimate | None:
        """What the method says about the best configuration; None where it says nothing."""
        return None

    def shown(self) -> Shown | None:
        """What else the method says; None where it is not asked for more than its best."""
        return None

    def advance(self, clock: float) -> None:
        """Tell the time, in rounds; only methods that know of windows care."""
        del clock


class Method(ABC):
    """A way to play any problem. One small file each; ``name`` is what the command line says."""

    name: str
    summary: str

    @abstractmethod
    def start(
        self, problem: Problem, *, rounds: int, seed: int, window: float | None = None
    ) -> Player:
        """Begin a run. ``rounds`` is for methods that need their horizon in advance.

        ``window`` (in rounds) is how long feedback may be out, for methods that can use it.
        """
