"""The key figures of a study: what fits on one line of a list, and a little more."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from imabo.arms import Totals
from imabo.insight.estimates import Interval, estimate_of, number, random_estimate
from imabo.insight.reading import Facts
from imabo.policies.counts import rate_of
from imabo.space import Config

State = Literal["empty", "no feedback", "warming up", "learning", "settled"]

_SILENT: Final = 20  # recent pulls without a single reward that are worth a word
_SETTLED: Final = 0.5  # share of the recent pulls that go to the best arm
_WARMUP_REWARDS: Final = 2  # for each warm-up arm, on average


@dataclass(frozen=True, slots=True)
class BestArm:
    """The arm to keep if learning stopped now (see ``Study.best``).

    ``since`` is when the study last noticed a change, in seconds since 1970, or None: then mean,
    interval and ``n_rewards`` are of the rewards after it.
    """

    arm: int
    config: Config
    mean: float
    interval: Interval
    n_rewards: int
    since: float | None = None


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
        random_mean: What serving at random would give, from the arms drawn from P0.
        random_interval: Its interval.
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
    best: BestArm | None
    feedback_rate: float | None
    pulls_per_minute: float | None
    state: State


def overview(facts: Facts) -> Overview:
    """The key figures of a study.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> insight.overview(insight.read(study)).state
        'empty'
    """
    history, arms, totals = facts.history, facts.arms, facts.totals
    since = history.recent(history.n_rewards)
    recent = estimate_of(
        history.n_rewards[-1] - history.n_rewards[since],
        history.sums[-1] - history.sums[since],
        history.squares[-1] - history.squares[since],
        facts.reward_range,
    )
    at_random = random_estimate(facts)
    return Overview(
        name=facts.name,
        created_at=facts.study.created_at,
        last_at=facts.last_at,
        n_pulls=totals.n_pulls,
        n_rewards=totals.n_rewards,
        n_pending=totals.n_pending,
        n_expired=totals.n_expired,
        n_arms=len(arms),
        n_active=int((arms.states != "retired").sum()) if len(arms) else 0,
        n_servable=int((arms.states == "active").sum()) if len(arms) else 0,
        space_version=facts.space_version,
        reward_range=facts.reward_range,
        window_s=facts.study.window_s,
        recent_mean=recent.mean,
        recent_interval=recent.interval,
        n_recent=recent.n,
        random_mean=at_random.mean,
        random_interval=at_random.interval,
        best=best(facts),
        feedback_rate=_feedback_rate(totals, facts.study.window_s is not None),
        pulls_per_minute=_pace(facts),
        state=_state(facts),
    )


def best(facts: Facts) -> BestArm | None:
    """The recommended arm as these facts show it, None without rewards."""
    if facts.best is None or facts.best.since is None:
        return best_of_all(facts)
    low, high = facts.best.interval
    return BestArm(
        arm=facts.best.arm,
        config=dict(facts.best.config),
        mean=facts.best.mean,
        interval=(number(low), number(high)),
        n_rewards=facts.best.n_rewards,
        since=facts.best.since.timestamp(),
    )


def best_of_all(facts: Facts) -> BestArm | None:
    """The recommended arm with all of its rewards, those from before a change too."""
    if facts.best is None:
        return None
    row = facts.arms.row_of(facts.best.arm)
    record = facts.arms.records[row]
    low, high = facts.arms.intervals_of(np.array([row]))
    return BestArm(
        arm=record.id,
        config=dict(record.config),
        mean=float(facts.arms.means[row]),
        interval=(number(low[0]), number(high[0])),
        n_rewards=record.tally.n_rewards,
    )


def _feedback_rate(totals: Totals, has_window: bool) -> float | None:
    return rate_of(totals, has_window) if totals.n_pulls else None


def _pace(facts: Facts) -> float | None:
    history = facts.history
    since = history.recent(history.n_pulls)
    seconds = history.at[-1] - history.at[since]
    if seconds <= 0:
        return None
    return float(60.0 * (history.n_pulls[-1] - history.n_pulls[since]) / seconds)


def _state(facts: Facts) -> State:
    totals, history = facts.totals, facts.history
    if not totals.n_pulls:
        return "empty"
    if totals.n_pulls >= _SILENT:
        since = history.recent(history.n_pulls, max(0.1, _SILENT / totals.n_pulls))
        if history.n_rewards[-1] == history.n_rewards[since]:
            return "no feedback"
    n_configs = facts.space.n_configs
    warmup = min(getattr(facts.policy, "warmup", 0), math.inf if n_configs is None else n_configs)
    if history.n_active[-1] < warmup or totals.n_rewards < max(_WARMUP_REWARDS * warmup, 1):
        return "warming up"
    if facts.best_arm is not None:
        row = facts.arms.row_of(facts.best_arm)
        since = history.recent(history.n_pulls)
        pulls = history.n_pulls[-1] - history.n_pulls[since]
        served = history.by_arm[-1, row] - history.by_arm[since, row]
        if served >= _SETTLED * pulls:
            return "settled"
    return "learning"
