"""What a benchmark problem is: a space whose true means are known, and how it is observed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from imabo.errors import InvalidSetting
from imabo.space import Config, Space

QUANTILE_DRAWS = 4_000  # P0 draws that estimate the quantile of the rho-regret


class Problem(ABC):
    """A space, the true mean reward of each configuration, and its optimum.

    Subclass it with ``name``, ``space``, ``mean`` and ``optimum``; ``draw`` flips a coin unless it
    is overridden. Problems are cheap to make (data is read when it is first needed) and hold no
    state that a run changes, so that one object may serve many runs.
    """

    name: str
    reward_range: tuple[float, float] | None = (0.0, 1.0)
    is_exact: ClassVar[bool] = True  # False: the optimum is the best of many draws
    is_changing: ClassVar[bool] = False  # True: its moments or its share of feedback differ
    changes_at: int | None = None  # first round after an abrupt change, where there is one
    window: float | None = None  # rounds after which feedback is lost, where some of it is

    @property
    @abstractmethod
    def space(self) -> Space:
        """What may be served."""

    @abstractmethod
    def mean(self, config: Config) -> float:
        """The true mean reward of a configuration."""

    @property
    @abstractmethod
    def optimum(self) -> float:
        """The highest mean, computed, not typed in."""

    def draw(self, config: Config, rng: np.random.Generator) -> float:
        """One reward: a coin flip with the true mean."""
        return float(rng.random() < self.mean(config))

    def moment(self, t: int) -> Problem:
        """The problem as it is at round ``t``, from 1; the same object while nothing changes.

        The mean and the optimum of a problem that changes are those of round 1.
        """
        del t
        return self

    def watched(self, config: Config) -> bool:
        """Whether requests with this configuration are counted, to see who follows a change."""
        del config
        return False

    def feedback(self, t: int) -> float:
        """Share of the requests of round ``t`` whose reward comes at all, in (0, 1]."""
        del t
        return 1.0

    def unseen_regret(self, config: Config) -> float | None:
        """What a configuration loses on requests that no run has seen, where there are such."""
        del config
        return None

    def runtime(self, config: Config) -> float | None:
        """Seconds that evaluating the configuration takes, where the problem knows it."""
        del config
        return None

    @cached_property
    def sampled_means(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Means of ``QUANTILE_DRAWS`` draws from P0 (seed 0), sorted."""
        rng = np.random.default_rng(0)
        draws = [self.mean(self.space.sample(rng)) for _ in range(QUANTILE_DRAWS)]
        return np.sort(np.array(draws, dtype=np.float64))

    def check_optimum(self) -> None:
        """Refuse an optimum that one of the sampled means beats.

        Where it is only the best of many draws (``is_exact`` is False) it may be beaten: then
        regret is negative, and that is all.
        """
        best = float(self.sampled_means[-1])
        if self.is_exact and best > self.optimum + 1e-9:
            raise InvalidSetting(
                f"{self.name} says its optimum is {self.optimum}",
                f"a draw from P0 has the mean {best}",
                "correct the optimum, or set is_exact to False",
            )

    def quantile(self, rho: float) -> float:
        """mu_rho, the top-rho quantile of the mean under P0."""
        return float(np.quantile(self.sampled_means, 1.0 - rho))
