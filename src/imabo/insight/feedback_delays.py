"""Feedback: how long it takes, and how much of it is still out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Bools, Floats
from imabo.insight.estimates import numbers
from imabo.insight.snapshot import StudySnapshot

QUANTILES: Final = (0.1, 0.5, 0.9, 0.99)
_MOST_POINTS: Final = 60
_AGES: Final = 12  # groups of pulls by age


@dataclass(frozen=True, slots=True)
class Feedback:
    """How feedback arrives, from the counters and from a sample of the pulls.

    Attributes:
        n_pulls: All pulls.
        n_rewarded: Those with a reward.
        n_pending: Those that wait for one.
        n_expired: Those whose window passed without one.
        window_s: The window, None for ever.
        n_sampled: Pulls in the sample.
        quantiles: Of the delays in the sample: share of the rewards and seconds until they came.
        delays_s: Points of the cumulative curve, in seconds after serving.
        arrived: Share of the pulls whose reward has come by then.
        ages_s: Groups of pulls by their age, in seconds before the last thing that happened.
        n_by_age: How many sampled pulls each group has.
        without: Share of each group that has no reward.
    """

    n_pulls: int
    n_rewarded: int
    n_pending: int
    n_expired: int
    window_s: float | None
    n_sampled: int
    quantiles: list[tuple[float, float]]
    delays_s: list[float | None]
    arrived: list[float | None]
    ages_s: list[float | None]
    n_by_age: list[float | None]
    without: list[float | None]


def feedback(snapshot: StudySnapshot) -> Feedback:
    """How long rewards take, how many are still out, and how many will never come.

    The counts are exact. Delays come from at most 2,000 pulls from all over the past; pulls that
    were pruned are not there. The quantiles are those of the rewards that came, which leaves out
    slow ones that are still on their way. The curve does not: it is the estimate of Kaplan and
    Meier, in which a pull without a reward counts as waiting up to its present age, and levels off
    at the share of pulls that ever bring a reward.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> now = [0.0]
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0, clock=lambda: now[0])
        >>> pulls = study.ask(count=4)
        >>> now[0] = 30.0
        >>> for pull in pulls[:2]:
        ...     study.tell(pull.id, 0.5)
        >>> found = insight.feedback(insight.read(study))
        >>> found.n_pending, found.arrived, found.quantiles[1]
        (2, [0.0, 0.5], (0.5, 30.0))
    """
    sample, totals = snapshot.sample, snapshot.totals
    delays = sample.delays
    came = delays[np.isfinite(delays)]
    whole = sample.is_whole
    ages = np.maximum(snapshot.last_at - sample.served_at[whole], 0.0)
    has_reward = np.isfinite(delays[whole])
    at, arrived = _arrivals(delays[whole], ages, has_reward)
    by_age = [numbers(column) for column in _by_age(ages, has_reward)]
    return Feedback(
        n_pulls=totals.n_pulls,
        n_rewarded=totals.n_rewards,
        n_pending=totals.n_pending,
        n_expired=totals.n_expired,
        window_s=snapshot.study.window_s,
        n_sampled=len(sample),
        quantiles=[(q, float(np.quantile(came, q))) for q in QUANTILES] if len(came) else [],
        delays_s=numbers(at),
        arrived=numbers(arrived),
        ages_s=by_age[0],
        n_by_age=by_age[1],
        without=by_age[2],
    )


def _arrivals(delays: Floats, ages: Floats, has_reward: Bools) -> tuple[Floats, Floats]:
    """Kaplan and Meier's estimate of the share of pulls that have their reward, by delay."""
    if not has_reward.any():
        return np.empty(0), np.empty(0)
    times = np.where(has_reward, delays, ages)
    order = np.lexsort((~has_reward, times))
    times, events = times[order], has_reward[order]
    at_risk = np.arange(len(times), 0, -1)
    waiting = np.cumprod(1.0 - events / at_risk)
    came = np.flatnonzero(events)
    # Of equal delays the last one has them all.
    steps = came[np.append(times[came][1:] != times[came][:-1], True)]
    at, arrived = times[steps], 1.0 - waiting[steps]
    if len(at) > _MOST_POINTS:
        picked = np.unique(np.linspace(0, len(at) - 1, _MOST_POINTS).round().astype(int))
        at, arrived = at[picked], arrived[picked]
    return np.insert(at, 0, 0.0), np.insert(arrived, 0, 0.0)


def _by_age(ages: Floats, has_reward: Bools) -> tuple[Floats, Floats, Floats]:
    """Groups of about equal size by age: their mean age, size and share without reward."""
    if not len(ages):
        return np.empty(0), np.empty(0), np.empty(0)
    order = np.argsort(ages, kind="stable")
    parts = np.array_split(order, min(_AGES, len(order)))
    groups = [(ages[part].mean(), len(part), 1.0 - has_reward[part].mean()) for part in parts]
    at, n, without = np.array(groups).T
    return at, n, without
