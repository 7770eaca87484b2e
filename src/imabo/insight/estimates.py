"""Means with intervals, in the study's own reward units, and numbers that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import stdtrit

from imabo.arms import Floats, Ints
from imabo.confidence import bounded_interval, contenders, open_interval

if TYPE_CHECKING:
    from imabo.insight.snapshot import StudySnapshot

LEVEL: Final = 0.95  # of every interval
P0_ORIGINS: Final = ("warmup", "baseline")  # arms that were drawn from P0

Interval = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; an end that is not known is None.

    ``n`` is what it rests on: rewards, or arms where each arm weighs the same.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def interval(self) -> Interval | None:
        """Both ends, or None without a mean."""
        return None if self.mean is None else (self.low, self.high)


def mean_intervals(
    n: Floats, sums: Floats, squares: Floats, reward_range: tuple[float, float] | None
) -> tuple[Floats, Floats]:
    """Intervals for the means of groups of rewards, elementwise, in the rewards' own units.

    The confidence sequences of ``imabo.confidence``, as ``Study.best`` uses them. For rewards of
    several arms together they are on the safe side: rewards that mix several means vary no more
    than rewards of one arm with the average mean may. Without rewards the ends are those of the
    range, and infinite when there is none.
    """
    if reward_range is None:
        m = np.maximum(n, 1.0)
        variances = np.maximum(squares / m - (sums / m) ** 2, 0.0)
        return open_interval(n, sums / m, variances, LEVEL)
    low, high = reward_range
    width = high - low
    lower, upper = bounded_interval(n, (sums - n * low) / width, LEVEL)
    return low + width * lower, low + width * upper


def may_be_highest(
    n: Floats, sums: Floats, reward_range: tuple[float, float] | None, count: int
) -> Ints:
    """Places of the groups whose lower ends may be among the ``count`` highest; each has rewards.

    All of them without a range, where the ends cost little.
    """
    if reward_range is None:
        return np.arange(len(n))
    low, high = reward_range
    return contenders(n, (sums - n * low) / (high - low), LEVEL, count)


def estimate_of(
    n: float, total: float, squares: float, reward_range: tuple[float, float] | None
) -> Estimate:
    """The mean of one group of rewards with its interval."""
    low, high = mean_intervals(np.array([n]), np.array([total]), np.array([squares]), reward_range)
    if n <= 0:
        return Estimate(None, None, None, 0)
    return Estimate(float(total / n), number(low[0]), number(high[0]), int(n))


def random_estimate(snapshot: StudySnapshot) -> Estimate:
    """What serving at random would give: the mean of a configuration drawn from P0.

    Estimated from the arms that were drawn from P0 (in the warm-up, or by the oracle later on) and
    have a reward, each weighing the same whatever its traffic, because P0 would serve them alike.
    The interval is Student's, from how much the arms' means differ, so it holds for many such arms
    and for one look. An arm that was unlucky at first is served less and stays underrated, so the
    estimate tends to be a little low while arms have few rewards each.
    """
    arms = snapshot.arms
    drawn = arms.n_rewards > 0
    drawn &= np.logical_or.reduce([arms.origins == origin for origin in P0_ORIGINS])
    means = arms.means[drawn]
    k = len(means)
    if not k:
        return Estimate(None, None, None, 0)
    mean = float(means.mean())
    ends = snapshot.reward_range or (-math.inf, math.inf)
    if k == 1:
        return Estimate(mean, number(ends[0]), number(ends[1]), 1)
    half = float(stdtrit(k - 1, 0.5 + LEVEL / 2) * means.std(ddof=1) / math.sqrt(k))
    return Estimate(mean, number(max(mean - half, ends[0])), number(min(mean + half, ends[1])), k)


def number(value: float) -> float | None:
    """A number as JSON has it: None for what is not finite."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Iterable[float] | Floats) -> list[float | None]:
    """Numbers as JSON has them."""
    column = np.asarray(values, dtype=np.float64)
    plain: list[float | None] = column.tolist()
    for i in np.flatnonzero(~np.isfinite(column)):
        plain[i] = None
    return plain


def ratio(parts: Floats, wholes: Floats) -> Floats:
    """Their quotient, NaN where the whole is nothing."""
    return np.where(wholes > 0, parts / np.where(wholes > 0, wholes, 1.0), np.nan)
