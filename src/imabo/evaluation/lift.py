"""Lift: how much better the tuned side is than the control, at every moment."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, Self

import numpy as np

from imabo.confidence import bounded_interval
from imabo.errors import InvalidReward, InvalidSetting
from imabo.evaluation.bets import reach
from imabo.evaluation.planning import Expected, lift_weights
from imabo.evaluation.sequences import asymptotic_half_width
from imabo.evaluation.tally import (
    CENTRES,
    HIGHER,
    LOWER,
    SCORES,
    SPREAD,
    SQUARES,
    SUMS,
    TOTAL,
    N,
    Outcome,
    Tally,
    added,
)
from imabo.settings import check_count, check_fraction, check_positive, is_number

SPACING: Final = 64  # rewards between two moments that are remembered
DAYS: Final = 30  # days that are remembered, besides the present one
NEAR: Final = 4  # how many of its own distances a moment is remembered for
_ENOUGH: Final = 10  # rewards of each group below which nothing is said
_WIDEST: Final = 0.25  # half-width, as a part of the range, from which on it is not known yet
_ENOUGH_OPEN: Final = (500, 30)  # the same without a range: rewards, and of each group
_ASYMPTOTIC_AT: Final = 2000.0
_FOR_CONTROL: Final = 0.2  # part of the level that the control's mean takes, for the relative lift

Ends = tuple[float, float]
Kind = Literal["betting", "asymptotic"]


@dataclass(frozen=True, slots=True)
class LiftEstimate:
    """Tuned minus control over a stretch of rewards, in the study's own reward units.

    Attributes:
        n_tuned: Rewards of the tuned side.
        n_control: Rewards of the control.
        tuned_mean: Their mean, None without any.
        control_mean: The control's.
        absolute: The lift; None while it is not known yet.
        interval: Its ends; None while there is nothing to say.
        relative: The lift as a part of the control's mean; None where that makes no sense.
        relative_interval: Its ends; None where the control's mean is not surely above 0.
        is_known: Whether there is enough to show: see ``Lift.estimate``.
        kind: ``betting`` (holds at every moment) or ``asymptotic`` (for many rewards only).
        level: Coverage of each interval.
    """

    n_tuned: int
    n_control: int
    tuned_mean: float | None
    control_mean: float | None
    absolute: float | None
    interval: Ends | None
    relative: float | None
    relative_interval: Ends | None
    is_known: bool
    kind: Kind
    level: float

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval, None without one."""
        return None if self.interval is None else 0.5 * (self.interval[1] - self.interval[0])


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A moment of the past: what the sums were then, the control's share, and the day that ended.

    ``ended`` is None where the moment is no end of a day.
    """

    tally: Tally
    share: float
    ended: int | None

    @property
    def n(self) -> int:
        """Rewards up to then."""
        return self.tally.n

    def to_dict(self) -> dict[str, Any]:
        """As a JSON document."""
        return {"tally": self.tally.to_dict(), "share": self.share, "ended": self.ended}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """What ``to_dict`` wrote."""
        return cls(Tally.from_dict(document["tally"]), document["share"], document["ended"])


@dataclass(frozen=True, slots=True, eq=False)
class Lift:
    """Tuned minus control, kept up to date reward by reward.

    A value: ``update`` returns the next one. Its state is one short row of sums (``head``), which
    every reward changes, and some of the past's (``past``), which changes every 64 rewards and with
    the day. Give it every reward once, in the order in which they come in.

    Args:
        reward_range: Ends of the rewards; None where they have none, then only an asymptotic
            interval exists.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> coins = rng.random(4000) < 0.2
        >>> rewards = rng.random(4000) < np.where(coins, 0.5, 0.7)
        >>> outcomes = [Outcome(float(r), bool(c), 0.2) for r, c in zip(rewards, coins)]
        >>> lift = Lift().update(outcomes)
        >>> now = lift.estimate()
        >>> now.is_known, now.interval[0] < 0.2 < now.interval[1], now.half_width < 0.07
        (True, True, True)
        >>> again = Lift.restore((0.0, 1.0), lift.head(), lift.past())
        >>> again.estimate() == now
        True
    """

    reward_range: Ends | None = (0.0, 1.0)
    total: Tally = Tally.empty()  # noqa: RUF009 - frozen, and nobody writes to its array
    share: float | None = None
    day: int | None = None
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        if self.reward_range is not None and not self.reward_range[0] < self.reward_range[1]:
            raise InvalidSetting(
                f"reward_range is {self.reward_range!r}",
                "its first end must be below its second",
                "pass (lowest, highest), or None for rewards without ends",
            )

    # --- keeping it up to date ------------------------------------------------------------------

    def update(self, outcomes: Iterable[Outcome]) -> Self:
        """With more rewards, in the order in which they came in; the same, however many at a time.

        Rewards of requests that had no choice (share 0 or 1) say nothing about the lift and are
        left out.
        """
        taken = [self._checked(outcome) for outcome in outcomes]
        taken = [outcome for outcome in taken if 0.0 < outcome.share < 1.0]
        if not taken:
            return self
        rows = added(
            self.total.values,
            np.array([outcome.reward for outcome in taken]),
            np.array([outcome.is_control for outcome in taken]),
            np.array([outcome.share for outcome in taken]),
            self.reward_range is not None,
        )
        share = taken[0].share if self.total.share is None else self.total.share
        marks, before = list(self.marks), (self.total.values, self.share, self.day)
        for row, outcome in zip(rows, taken, strict=True):
            values, last_share, day = before
            if day is not None and last_share is not None and outcome.day > day:
                marks.append(Mark(Tally(values.copy(), share), last_share, day))
            n = int(row[SCORES])
            if n > int(values[SCORES]) and n % SPACING == 0:
                marks.append(Mark(Tally(row.copy(), share), outcome.share, None))
            before = row, outcome.share, outcome.day if day is None else max(day, outcome.day)
        values, last_share, day = before
        kept = self.marks if len(marks) == len(self.marks) else _thinned(marks)
        return replace(
            self, total=Tally(values.copy(), share), share=last_share, day=day, marks=kept
        )

    def _checked(self, outcome: Outcome) -> Outcome:
        if not is_number(outcome.share) or not 0.0 <= outcome.share <= 1.0:
            raise InvalidSetting(
                f"the share of an outcome is {outcome.share!r}",
                "it is the probability that the request got the control",
                "pass the propensity that was stored with the pull",
            )
        if not is_number(outcome.reward):
            raise InvalidReward(
                f"the reward is {outcome.reward!r}", "it must be a finite number", "leave it out"
            )
        if self.reward_range is None:
            return outcome
        low, high = self.reward_range
        if not low <= outcome.reward <= high:
            raise InvalidReward(
                f"the reward is {outcome.reward!r}",
                f"the range of rewards is [{low}, {high}]",
                "pass the reward as the study took it",
            )
        return outcome._replace(reward=(outcome.reward - low) / (high - low))

    # --- reading --------------------------------------------------------------------------------

    def estimate(self, level: float = 0.95) -> LiftEstimate:
        """The lift over all rewards so far.

        It is the average over these rewards' requests of what the tuned side's mean was at the time
        less the control's. The interval holds at every moment together, however the tuned side
        chooses. It is *known* once both groups have ten rewards and half the width is at most a
        quarter of the range; without a range, after 500 rewards, 30 of each group.
        """
        return self._estimate(self.total, level)

    def mark(self) -> Mark | None:
        """The present moment, to ask ``since`` later; None before the first reward."""
        return None if self.share is None else Mark(self.total, self.share, None)

    def since(self, mark: Mark | None, level: float = 0.95) -> LiftEstimate:
        """The lift over the rewards after a moment (None is the start)."""
        return self._estimate(self.stretch(mark), level)

    def stretch(self, mark: Mark | None) -> Tally:
        """The sums over the rewards after a moment (None is the start)."""
        return self.total if mark is None else self.total.since(mark.tally, mark.share)

    def by_day(self, level: float = 0.95) -> dict[int, LiftEstimate]:
        """The lift of each of the last days, the present one included.

        Each day's interval holds at every moment of its day, for one day at a time.
        """
        check_fraction("level", level)
        found: dict[int, LiftEstimate] = {}
        start, share = Tally.empty(), self.total.share
        ends = [(mark.ended, mark) for mark in self.marks if mark.ended is not None]
        for day, mark in ends:
            found[day] = self._estimate(mark.tally.since(start, share), level)
            start, share = mark.tally, mark.share
        if self.day is not None:
            found[self.day] = self._estimate(self.total.since(start, share), level)
        first = ends[0][0] if len(ends) > DAYS else None  # it also holds what came before it
        return {day: one for day, one in found.items() if day != first}

    def last(self, n: int, level: float = 0.95) -> LiftEstimate:
        """The lift over about the last n rewards: from the moment remembered that is nearest.

        Holds at a moment that was chosen before, not at all moments together.
        """
        check_count("n", n, least=1)
        return self._estimate(self._window(n), level)

    def _window(self, n: int) -> Tally:
        starts = [None, *(mark for mark in self.marks if mark.n < self.total.n)]
        ages = [max(self.total.n - (mark.n if mark else 0), 1) for mark in starts]
        nearest = min(range(len(starts)), key=lambda i: abs(math.log(ages[i] / n)))
        return self.stretch(starts[nearest])

    def needed(self, half_width: float, level: float = 0.95) -> int:
        """How many more rewards it takes until half the width is expected to be that small.

        In the study's own reward units, from what the rewards so far vary; 0 when it is there and
        each group has as many rewards as it takes to say anything. The control is taken to keep the
        share that it had last, or 0.1 before the first reward.
        """
        check_positive("half_width", half_width)
        check_fraction("level", level)
        now, share = self._estimate(self.total, level).half_width, self.share or 0.1
        least = _ENOUGH if self.reward_range is not None else _ENOUGH_OPEN[1]
        short = max(
            math.ceil((least - n) / part)
            for n, part in zip(self.total.counts, (1.0 - share, share), strict=True)
        )
        if now is not None and now <= half_width:
            return max(short, 0)
        variances = tuple(
            self.total.variance(group, None if self.reward_range is None else self._most(group))
            for group in (0, 1)
        )
        if self.reward_range is not None:
            means = self.total.mean(0), self.total.mean(1)
            expected = Expected(share, means, (variances[0], variances[1]))
            n = expected.rewards_for(half_width / self._width, level)
        else:
            variance = variances[0] / (1.0 - share) + variances[1] / share
            n = 2
            while asymptotic_half_width(n, variance, level, _ASYMPTOTIC_AT) > half_width:
                n = math.ceil(1.01 * n) + 1
            n = max(n, _ENOUGH_OPEN[0])
        return max(n - self.total.n, short, 1)

    def _most(self, group: int) -> float:
        mean = self.total.mean(group)
        return mean * (1.0 - mean)

    @property
    def _width(self) -> float:
        return 1.0 if self.reward_range is None else self.reward_range[1] - self.reward_range[0]

    def _estimate(self, tally: Tally, level: float) -> LiftEstimate:
        check_fraction("level", level)
        ends = self.ends(tally, level)
        enough = _WIDEST * self._width if self.reward_range is not None else math.inf
        is_known = (
            ends is not None
            and min(tally.counts) >= _ENOUGH
            and 0.5 * (ends[1] - ends[0]) <= enough
        )
        tuned, control = self._mean(tally, 0), self._mean(tally, 1)
        absolute = relative = relative_ends = None
        if ends is not None and is_known:
            score = float(tally.values[TOTAL] / tally.values[SCORES])  # mean of (score)
            absolute = min(max(self._width * score, ends[0]), ends[1])
            relative_ends = self._relative_ends(tally, level)
            if relative_ends is not None and control:
                relative = min(max(absolute / control, relative_ends[0]), relative_ends[1])
        return LiftEstimate(
            n_tuned=tally.counts[0],
            n_control=tally.counts[1],
            tuned_mean=tuned,
            control_mean=control,
            absolute=absolute,
            interval=ends,
            relative=relative,
            relative_interval=relative_ends,
            is_known=is_known,
            kind="asymptotic" if self.reward_range is None else "betting",
            level=level,
        )

    def _mean(self, tally: Tally, group: int) -> float | None:
        n, total = tally.values[N][group], tally.values[SUMS][group]
        low = 0.0 if self.reward_range is None else self.reward_range[0]
        return low + self._width * float(total / n) if n else None

    def _relative_ends(self, tally: Tally, level: float) -> Ends | None:
        """Ends of the lift over those of the control's mean; eq. (relative)."""
        miss = 1.0 - level
        lift = self.ends(tally, 1.0 - (1.0 - _FOR_CONTROL) * miss)
        control = self._control_ends(tally, 1.0 - _FOR_CONTROL * miss)
        if lift is None or control is None or control[0] <= 0.0:
            return None
        return (
            lift[0] / control[1 if lift[0] > 0.0 else 0],
            lift[1] / control[0 if lift[1] > 0.0 else 1],
        )

    def ends(self, tally: Tally, level: float) -> Ends | None:
        """Both ends of the lift over a stretch of rewards; None where nothing can be said."""
        n = tally.values[SCORES]
        if self.reward_range is None:
            if n < _ENOUGH_OPEN[0] or min(tally.counts) < _ENOUGH_OPEN[1]:
                return None
            centre = float(tally.values[TOTAL] / n)
            variance = max(float(tally.values[SPREAD] / n) - centre**2, _least_variance(tally))
            half = asymptotic_half_width(n, variance, level, _ASYMPTOTIC_AT)
            return centre - half, centre + half
        if not n or tally.share is None:
            return None
        gains = np.array([tally.values[HIGHER], tally.values[LOWER]])
        far = reach(
            gains, np.array([n, n]), lift_weights(tally.share), math.log(2.0 / (1.0 - level))
        )
        centre = float(tally.values[CENTRES] / n)
        low, high = max(centre - float(far[0]), -1.0), min(centre + float(far[1]), 1.0)  # (ends)
        return self._width * low, self._width * high

    def _control_ends(self, tally: Tally, level: float) -> Ends | None:
        n, total = float(tally.values[N][1]), float(tally.values[SUMS][1])
        if not n:
            return None
        if self.reward_range is None:
            half = asymptotic_half_width(n, tally.variance(1, None), level, _ASYMPTOTIC_AT)
            return total / n - half, total / n + half
        low, high = bounded_interval(np.array([n]), np.array([total]), level)
        start = self.reward_range[0]
        return start + self._width * float(low[0]), start + self._width * float(high[0])

    # --- as documents ---------------------------------------------------------------------------

    def head(self) -> dict[str, Any]:
        """What every reward changes, as a small JSON document."""
        return {"total": self.total.to_dict(), "share": self.share, "day": self.day}

    def past(self) -> list[dict[str, Any]]:
        """What changes rarely, as JSON documents: only when ``marks`` is another object."""
        return [mark.to_dict() for mark in self.marks]

    @classmethod
    def restore(
        cls, reward_range: Ends | None, head: Mapping[str, Any], past: Sequence[Mapping[str, Any]]
    ) -> Self:
        """The value that ``head`` and ``past`` were written from."""
        marks = tuple(Mark.from_dict(one) for one in past)
        total = Tally.from_dict(head["total"])
        return cls(reward_range, total, head["share"], head["day"], marks)


def _least_variance(tally: Tally) -> float:
    """What scores vary at least, if the groups' rewards vary alike; eq. (least).

    A control that has only seen zeros so far, because all else is rare, seems not to vary at all.
    """
    n, sums, squares = (tally.values[part] for part in (N, SUMS, SQUARES))
    share = 0.5 if tally.share is None else tally.share
    within = float((squares - sums**2 / np.maximum(n, 1.0)).sum() / n.sum())
    return max(within, 0.0) / (share * (1.0 - share))


def _thinned(marks: list[Mark]) -> tuple[Mark, ...]:
    """The moments to remember: the last days' ends, and of the rest those whose ages double.

    A moment after 64 * i rewards stays while it is at most four times as old as the largest power
    of two in i, in steps of 64; so there are two or three of each age. Ages are counted from the
    newest moment, so that it does not matter how many rewards come at a time.
    """
    n = marks[-1].n
    ends = [mark.ended for mark in marks if mark.ended is not None]
    oldest = ends[-(DAYS + 1)] if len(ends) > DAYS + 1 else None
    kept = []
    for mark in marks:
        if mark.ended is not None:
            if oldest is None or mark.ended >= oldest:
                kept.append(mark)
            continue
        i = mark.n // SPACING
        if n - mark.n <= NEAR * (i & -i) * SPACING:
            kept.append(mark)
    return tuple(kept)
