"""How a mean becomes a reward: every draw takes one uniform, so that runs stay paired."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import betaincinv

from imabo.arms import Floats

STEPS = 10  # a judge's grades are tenths
_GRADES = np.arange(STEPS + 1) / STEPS


class Reward(Protocol):
    """A distribution of rewards for each mean."""

    def at(self, u: float, mean: float) -> float:
        """The reward at quantile ``u`` of the distribution with this mean."""
        ...


@dataclass(frozen=True)
class Flip:
    """A coin flip.

    Example:
        >>> Flip().at(0.3, mean=0.4), Flip().at(0.5, mean=0.4)
        (1.0, 0.0)
    """

    def at(self, u: float, mean: float) -> float:
        """A 1 with the probability of the mean."""
        return float(u < mean)


@dataclass(frozen=True)
class Graded:
    """A judge's grades in tenths: a mixture of bad and good answers with exactly the mean.

    Args:
        bad: Where the grades of bad answers gather.
        good: Where those of good answers do.
        spread: How far grades scatter around both.

    Example:
        >>> judge = Graded(bad=0.2, good=0.9, spread=0.1)
        >>> judge.at(0.1, mean=0.5), judge.at(0.9, mean=0.5)
        (0.1, 1.0)
    """

    bad: float
    good: float
    spread: float

    @cached_property
    def _cumulated(self) -> tuple[Floats, Floats]:
        both = [np.cumsum(self._weights(mode)) for mode in (self.bad, self.good)]
        return both[0], both[1]

    def _weights(self, mode: float) -> Floats:
        weights = np.exp(-0.5 * ((_GRADES - mode) / self.spread) ** 2)
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The mean of bad answers alone and that of good ones; others lie between."""
        bad, good = (float(self._weights(mode) @ _GRADES) for mode in (self.bad, self.good))
        return bad, good

    def at(self, u: float, mean: float) -> float:
        """A grade; the share of good answers is what the mean asks for."""
        low, high = self.ends
        good = (mean - low) / (high - low)
        cumulated = (1.0 - good) * self._cumulated[0] + good * self._cumulated[1]
        return min(int(np.searchsorted(cumulated, u, side="right")), STEPS) / STEPS


@dataclass(frozen=True)
class BetaAround:
    """Beta distributed around the mean.

    Args:
        concentration: The sum of the two shapes; the higher, the less scatter.

    Example:
        >>> round(BetaAround(6.0).at(0.5, mean=0.5), 6)
        0.5
    """

    concentration: float

    def at(self, u: float, mean: float) -> float:
        """A number in [0, 1]."""
        a, b = self.concentration * mean, self.concentration * (1.0 - mean)
        return float(betaincinv(a, b, u))
