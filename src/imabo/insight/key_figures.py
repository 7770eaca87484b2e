"""The key figures of a study: what fits on one line of a list, and a little more."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal

import numpy as np

from imabo.insight.best_arm import BestArm, best
from imabo.insight.budgets import Goal, goals
from imabo.insight.estimates import Interval, estimate_of, random_estimate
from imabo.insight.questions import Answer, answers
from imabo.insight.snapshot import StudySnapshot
from imabo.insight.timelines import cost
from imabo.lifting import LiftReport, lift_document
from imabo.policies.counts import rate_of

State = Literal["empty", "rolled back", "no feedback", "warming up", "learning", "settled"]

_SILENT: Final = 20  # recent pulls without a single reward that are worth a word
_SETTLED: Final = 0.5  # share of the recent pulls that go to the best arm
_WARMUP_REWARDS: Final = 2  # for each warm-up arm, on average


@dataclass(frozen=True, slots=True)
class Overview:
    """The key figures of a study.

    Attributes:
        name: The study's name.
        created_at: When it was created, in seconds since 1970.
        last_at: When something last happened: a request, a reward, an expiry, a change by hand.
        last_pull_at: When the last request was served; None before the first.
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
        recent_feedback_rate: Rewards that came during the newest tenth of the pulls, for each of
            those pulls, at most 1; None before there are 20 of them.
        delay_s: Half of the rewards came within so many seconds, from a sample; None without one.
        cost: What always serving today's best arm would have given more (see ``insight.cost``).
        cost_interval: The same with the ends of the best arm's interval.
        recent_cost: What each of the newest tenth of the pulls costs, on average.
        gain: What was earned beyond serving at random; None while that is not known.
        pulls_per_minute: Over the newest tenth of the pulls; None before there is a pace.
        lift: How much better tuned requests are than the control's; None without a control.
        state: ``empty`` (no pull yet), ``rolled back`` (everyone gets the control),
            ``no feedback`` (no reward came during the newest tenth of the pulls, and at least 20),
            ``warming up`` (the policy's first arms are not there, or have fewer than two rewards
            each on average), ``settled`` (the recommended arm, or mix, gets at least half of the
            newest tenth of the pulls) or ``learning``.
        answers: What this says to the questions that a team has, in words: four, and with an
            objective a fifth.
        goals: How each budget and limit is kept; none without an objective.
    """

    name: str
    created_at: float
    last_at: float
    last_pull_at: float | None
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
    recent_feedback_rate: float | None
    delay_s: float | None
    cost: float | None
    cost_interval: Interval | None
    recent_cost: float | None
    gain: float | None
    pulls_per_minute: float | None
    lift: LiftReport | None
    state: State
    answers: tuple[Answer, ...] = ()
    goals: tuple[Goal, ...] = ()


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
    pulls, came = (float(one[-1] - one[since]) for one in (history.n_pulls, history.n_rewards))
    # Until the last request: what comes later is no traffic.
    seconds = (snapshot.last_pull_at or history.at[since]) - float(history.at[since])
    delays = snapshot.sample.delays[np.isfinite(snapshot.sample.delays)]
    lost = cost(snapshot)
    at_random, has_window = random_estimate(snapshot), snapshot.study.window_s is not None
    key = Overview(
        name=snapshot.name,
        created_at=snapshot.study.created_at,
        last_at=snapshot.last_at,
        last_pull_at=snapshot.last_pull_at,
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
        recent_feedback_rate=min(came / pulls, 1.0) if pulls >= _SILENT else None,
        delay_s=float(np.median(delays)) if len(delays) else None,
        cost=lost.cost[-1],
        cost_interval=None if lost.cost[-1] is None else (lost.cost_low[-1], lost.cost_high[-1]),
        recent_cost=_recent_cost(lost.cost, since, pulls),
        gain=lost.gain[-1],
        pulls_per_minute=60.0 * pulls / seconds if seconds > 0 else None,
        lift=snapshot.lift,
        state=_state(snapshot),
        goals=tuple(goals(snapshot)),
    )
    return replace(key, answers=tuple(answers(key)))


def overview_document(key: Overview) -> dict[str, Any]:
    """The key figures as JSON.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> insight.overview_document(insight.overview(insight.read(study)))["state"]
        'empty'
    """
    lift = None if key.lift is None else lift_document(key.lift)
    return {**asdict(replace(key, lift=None)), "lift": lift}


def _recent_cost(lost: list[float | None], since: int, pulls: float) -> float | None:
    now, before = lost[-1], lost[since - 1] if since else 0.0
    if now is None or before is None or not pulls:
        return None
    return max(now - before, 0.0) / pulls


def _state(snapshot: StudySnapshot) -> State:
    totals, history = snapshot.totals, snapshot.history
    if not totals.n_pulls:
        return "empty"
    if snapshot.lift is not None and snapshot.lift.state == "rolled back":
        return "rolled back"
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
    # Of a mix within a budget, all parts together.
    mix = None if snapshot.best is None else snapshot.best.shares
    rows = [snapshot.arms.row_of(arm) for arm in mix or (snapshot.best_arm,)]
    served = history.by_arm[:, rows].sum(axis=1)
    since = history.recent(history.n_pulls)
    pulls = history.n_pulls[-1] - history.n_pulls[since]
    return "settled" if served[-1] - served[since] >= _SETTLED * pulls else "learning"
