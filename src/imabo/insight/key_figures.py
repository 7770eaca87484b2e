"""The key figures of a study: what fits on one line of a list, and a little more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.insight.estimates import Interval, estimate_of, number, random_estimate
from imabo.insight.snapshot import StudySnapshot
from imabo.policies.counts import rate_of
from imabo.space import Config

State = Literal["empty", "no feedback", "warming up", "learning", "settled"]

_SILENT: Final = 20  # recent pulls without a single reward that are worth a word
_SETTLED: Final = 0.5  # share of the recent pulls that go to the best arm
_WARMUP_REWARDS: Final = 2  # for each warm-up arm, on average


@dataclass(frozen=True, slots=True)
class BestArm:
    """The arm to keep if learning stopped now (see ``Study.best``).

    ``mean`` is not flattered by the choice, ``observed`` is the plain average, ``chance`` how
    likely it is the best of the active arms. ``since`` is when the study last noticed a change, in
    seconds since 1970, or None: then the numbers are of what speaks of now.
    """

    arm: int
    config: Config
    mean: float
    interval: Interval
    n_rewards: int
    since: float | None = None
    observed: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """The key figures of a study.

    Attributes:
        name: The study's name.
        created_at: When it was created, in seconds since 1970.
        last_at: When something last happened.
        n_pulls: Requests served.
        n_rewards: Rewards received.
        n_pending: Pulls that wait for a reward.
        n_expired: Pulls whose window passed without one.
        n_arms: Arms ever admitted.
        n_active: Arms that are not retired.
        n_servable: Arms that may be served: neither retired nor paused.
        space_version: Number of the current space, from 1.
        reward_range: Ends of the rewards, None when they have none.
        window_s: How long a pull may stay pending, None for ever.
        recent_mean: Mean of the newest rewards, at least a tenth of all.
        recent_interval: Its interval.
        n_recent: How many rewards those are.
        random_mean: What serving at random would give, from the first rewards of arms drawn from
            P0; None while it is not known well enough (see ``estimates.random_estimate``).
        random_interval: Its interval, which is there before the mean is; None at first.
        n_random: How many rewards it rests on.
        n_random_more: How many more requests must try a configuration drawn at random until it is
            known, about; 0 when it is.
        best: The recommended arm, None without rewards.
        feedback_rate: Share of the pulls that bring a reward, as the policy counts it.
        pulls_per_minute: Over the newest tenth of the pulls; None before there is a pace.
        state: ``empty`` (no pull yet), ``no feedback`` (no reward came during the newest tenth of
            the pulls, and at least 20), ``warming up`` (the policy's first arms are not
            there, or have fewer than two rewards each on average), ``settled`` (the recommended arm
            gets at least half of the newest tenth of the pulls) or ``learning``.
    """

    name: str
    created_at: float
    last_at: float
    n_pulls: int
    n_rewards: int
    n_pending: int
    n_expired: int
    n_arms: int
    n_active: int
    n_servable: int
    space_version: int
    reward_range: tuple[float, float] | None
    window_s: float | None
    recent_mean: float | None
    recent_interval: Interval | None
    n_recent: int
    random_mean: float | None
    random_interval: Interval | None
    n_random: int
    n_random_more: int
    best: BestArm | None
    feedback_rate: float | None
    pulls_per_minute: float | None
    state: State


def overview(snapshot: StudySnapshot) -> Overview:
    """The key figures of a study.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> insight.overview(insight.read(study)).state
        'empty'
    """
    history, arms, totals = snapshot.history, snapshot.arms, snapshot.totals
    since = history.recent(history.n_rewards)
    columns = (history.n_rewards, history.sums, history.squares)
    n, total, squares = (column[-1] - column[since] for column in columns)
    recent = estimate_of(n, total, squares, snapshot.reward_range)
    since = history.recent(history.n_pulls)
    pulls, seconds = (float(one[-1] - one[since]) for one in (history.n_pulls, history.at))
    at_random, has_window = random_estimate(snapshot), snapshot.study.window_s is not None
    return Overview(
        name=snapshot.name,
        created_at=snapshot.study.created_at,
        last_at=snapshot.last_at,
        n_pulls=totals.n_pulls,
        n_rewards=totals.n_rewards,
        n_pending=totals.n_pending,
        n_expired=totals.n_expired,
        n_arms=len(arms),
        n_active=int((arms.states != "retired").sum()),
        n_servable=int((arms.states == "active").sum()),
        space_version=snapshot.space_version,
        reward_range=snapshot.reward_range,
        window_s=snapshot.study.window_s,
        recent_mean=recent.mean,
        recent_interval=recent.interval,
        n_recent=recent.n,
        random_mean=at_random.mean,
        random_interval=at_random.interval,
        n_random=at_random.n,
        n_random_more=at_random.n_more,
        best=best(snapshot),
        feedback_rate=rate_of(totals, has_window) if totals.n_pulls else None,
        pulls_per_minute=60.0 * pulls / seconds if seconds > 0 else None,
        state=_state(snapshot),
    )


def best(snapshot: StudySnapshot) -> BestArm | None:
    """The recommended arm as the snapshot shows it, None without rewards."""
    found = snapshot.best
    if found is None:
        return None
    low, high = found.interval
    return BestArm(
        arm=found.arm,
        config=dict(found.config),
        mean=found.mean,
        interval=(number(low), number(high)),
        n_rewards=found.n_rewards,
        since=None if found.since is None else found.since.timestamp(),
        observed=found.observed,
        chance=found.chance,
    )


def best_of_all(snapshot: StudySnapshot) -> BestArm | None:
    """The recommended arm with all of its rewards, those from before a change too."""
    if snapshot.best is None or snapshot.best.since is None:
        return best(snapshot)
    row = snapshot.arms.row_of(snapshot.best.arm)
    record = snapshot.arms.records[row]
    low, high = snapshot.arms.intervals_of(np.array([row]))
    return BestArm(
        arm=record.id,
        config=dict(record.config),
        mean=float(snapshot.arms.means[row]),
        interval=(number(low[0]), number(high[0])),
        n_rewards=record.tally.n_rewards,
        observed=float(snapshot.arms.means[row]),
        chance=snapshot.best.chance,
    )


def _state(snapshot: StudySnapshot) -> State:
    totals, history = snapshot.totals, snapshot.history
    if not totals.n_pulls:
        return "empty"
    if totals.n_pulls >= _SILENT:
        since = history.recent(history.n_pulls, max(0.1, _SILENT / totals.n_pulls))
        if history.n_rewards[-1] == history.n_rewards[since]:
            return "no feedback"
    n_configs = snapshot.space.n_configs
    warmup = min(
        getattr(snapshot.policy, "warmup", 0), math.inf if n_configs is None else n_configs
    )
    if history.n_active[-1] < warmup or totals.n_rewards < max(_WARMUP_REWARDS * warmup, 1):
        return "warming up"
    if snapshot.best_arm is None:
        return "learning"
    served = history.by_arm[:, snapshot.arms.row_of(snapshot.best_arm)]
    since = history.recent(history.n_pulls)
    pulls = history.n_pulls[-1] - history.n_pulls[since]
    return "settled" if served[-1] - served[since] >= _SETTLED * pulls else "learning"
