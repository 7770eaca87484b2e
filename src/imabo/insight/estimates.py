"""Means with intervals, in the study's own reward units, and numbers that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from imabo.arms import Floats, Ints
from imabo.confidence import bounded_interval, contenders, open_interval
from imabo.evaluation import random_serving
from imabo.magnitude import LARGEST
from imabo.policies.counts import rate_of

if TYPE_CHECKING:
    from imabo.insight.snapshot import StudySnapshot

LEVEL: Final = 0.95  # of every interval
P0_ORIGINS: Final = ("warmup", "baseline")  # arms that were drawn from P0, the first ones first

Interval = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval; an end that is not known is None.

    ``n`` is the number of rewards that it rests on.
    """

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def interval(self) -> Interval | None:
        """Both ends, or None without a mean."""
        return None if self.mean is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class RandomEstimate(Estimate):
    """What serving at random would give; without a mean while it is not known well enough.

    The ends are there before the mean is. ``n_more`` says about how many more requests must try a
    configuration drawn at random until it is known; 0 when it is.
    """

    n_more: int

    @property
    def interval(self) -> Interval | None:
        """Both ends, or None before the first reward."""
        return None if self.low is None and self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        """In words, as figures and the report say it."""
        mean, low, high = (
            "–" if value is None else f"{value:.3g}" for value in (self.mean, self.low, self.high)
        )
        if self.mean is not None:
            return f"{mean} ({low} to {high})"
        known = "" if self.interval is None else f", between {low} and {high}"
        more = f"about {self.n_more:,} more requests that try something new at random"
        return f"not known yet{known}: it takes {more}"


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


def random_estimate(snapshot: StudySnapshot) -> RandomEstimate:
    """What serving at random would give: the mean of a configuration drawn from P0.

    From rewards that nothing selected: of each arm that was drawn from the P0 of today's space, the
    reward of the very pull that admitted it (see ``evaluation.random_serving``), and all rewards of
    a random control. An arm's later rewards say nothing here, because an arm that was unlucky at
    first is hardly served again.
    In a finite space only the warm-up of the first space counts: later draws skip the arms that are
    there. The mean is None until there are so many rewards that half the width of the interval is
    at most 0.15 of the range whatever they are, so that luck does not decide when it is shown.
    """
    rewards, ends = _selected_by_nothing(snapshot), snapshot.reward_range
    if ends is None:
        low, width = 0.0, 1.0
        given, is_bounded = np.clip(rewards, -LARGEST, LARGEST), False
    else:
        low, width = ends[0], ends[1] - ends[0]
        given, is_bounded = np.clip((rewards - low) / width, 0.0, 1.0), True
    n, total, squares = snapshot.random_rewards
    found = random_serving(
        given,
        n_control=n,
        control_sum=min(total, float(n)) if is_bounded else total,
        control_squares=squares,
        level=LEVEL,
        is_bounded=is_bounded,
    )
    mean, lower, upper = (
        None if value is None else number(low + width * value)
        for value in (found.mean, *(found.interval or (None, None)))
    )
    # Of the requests that try something, only some bring a reward.
    has_window = snapshot.study.window_s is not None
    needed = found.n_more / min(rate_of(snapshot.totals, has_window), 1.0)
    return RandomEstimate(mean, lower, upper, found.n, _about(needed))


def _selected_by_nothing(snapshot: StudySnapshot) -> Floats:
    """The first rewards of arms that were drawn from the P0 of the space as it is."""
    is_finite = snapshot.space.n_configs is not None
    origins = P0_ORIGINS[:1] if is_finite else P0_ORIGINS
    since = -math.inf
    if snapshot.space_version > 1:
        changed_at = [at for _, at, _ in snapshot.space_changes]
        since = math.inf if is_finite or not changed_at else changed_at[-1]
    arms = snapshot.arms
    came = np.isin(arms.origins, origins) & (arms.admitted_at > since)
    first = snapshot.first_rewards
    return np.array([first[arm] for arm in arms.ids[came].tolist() if arm in first], dtype=float)


def _about(n: float) -> int:
    """Rounded up to two digits, as it is no more exact than that."""
    step = int(10 ** max(len(str(math.ceil(n))) - 2, 0))
    return step * math.ceil(n / step)


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
