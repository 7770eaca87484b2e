"""The arm that was chosen among many: its mean, without the winner's luck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from imabo.confidence import bounded_interval, open_interval
from imabo.errors import InvalidSetting
from imabo.evaluation.bets import Floats
from imabo.evaluation.shrinking import Bools, Shrunk, shrink
from imabo.settings import check_fraction

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is known of the arm that was chosen; on the unit scale, if rewards have a range.

    Attributes:
        mean: Estimate of its mean, not flattered by having been chosen.
        observed: The plain average of its rewards.
        interval: Covers its mean whichever arm was chosen, for whatever reason.
        likely: Where its mean lies with probability ``level``, if arms are alike as assumed;
            narrower, and measured rather than proved.
        chance: The probability that it is the best of those it was chosen among.
        n_rewards: Its rewards.
        level: Of both intervals.
    """

    mean: float
    observed: float
    interval: Ends
    likely: Ends
    chance: float
    n_rewards: int
    level: float


def chosen(
    row: int,
    n: Floats,
    sums: Floats,
    *,
    squares: Floats | None = None,
    prior_means: Floats | None = None,
    prior_counts: Floats | None = None,
    among: Bools | None = None,
    level: float = 0.95,
    is_bounded: bool = True,
    shrunk: Shrunk | None = None,
) -> Chosen:
    """What is known of an arm that was picked from many because of its rewards.

    Args:
        row: Place of the arm; it must have a reward.
        n: Rewards of every arm of the study that speak of now.
        sums: Their sums, on the unit scale where rewards have a range.
        squares: Sums of their squares, for graded rewards and for those without a range.
        prior_means: What a model expects of each arm, given the other arms' rewards.
        prior_counts: What that is worth, 0 where it says nothing.
        among: Which arms it was chosen among; all by default.
        level: Coverage of both intervals.
        is_bounded: Whether rewards have a range.
        shrunk: What ``shrink`` said of the same arms, if it was asked before.

    Example:
        >>> n, sums = np.array([40.0, 40.0, 40.0, 40.0]), np.array([18.0, 20.0, 19.0, 27.0])
        >>> best = chosen(3, n, sums)
        >>> best.observed, best.mean < 0.65, best.interval[0] < 0.55 < best.interval[1]
        (0.675, True, True)
        >>> 0.5 < best.chance < 1.0
        True
    """
    check_fraction("level", level)
    n, sums = np.asarray(n, dtype=float), np.asarray(sums, dtype=float)
    if not 0 <= row < len(n) or n[row] <= 0:
        raise InvalidSetting(
            f"row is {row!r}",
            f"it must be one of {len(n)} arms and have a reward",
            "choose among the arms that have rewards",
        )
    found = shrunk or shrink(
        n,
        sums,
        squares=squares,
        prior_means=prior_means,
        prior_counts=prior_counts,
        is_bounded=is_bounded,
    )
    each = level_of_each(level, int(np.count_nonzero(n > 0)))
    observed = float(sums[row] / n[row])
    one = slice(row, row + 1)
    if is_bounded:
        low, high = bounded_interval(n[one], sums[one], each)
    else:
        around = (sums**2 if squares is None else squares)[one] / n[one] - observed**2
        low, high = open_interval(n[one], sums[one] / n[one], np.maximum(around, 0.0), each)
    lower, upper = found.interval(level)
    return Chosen(
        mean=float(found.means[row]),
        observed=observed,
        interval=(float(low[0]), float(high[0])),
        likely=(float(lower[row]), float(upper[row])),
        chance=found.chance(row, among),
        n_rewards=int(n[row]),
        level=level,
    )


def level_of_each(level: float, n_arms: int) -> float:
    """The level of each arm's own sequence, so that all hold together; eq. (union).

    Some arm's is ever wrong with probability 1 - level at most, so it does not matter which arm is
    chosen, nor why.

    Example:
        >>> level_of_each(0.95, 10)
        0.995
    """
    return 1.0 - (1.0 - level) / max(n_arms, 1)
