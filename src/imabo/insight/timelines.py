"""How a study went: its reward over time, its active set, its cost and gain."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Floats, Ints, Restart, Totals
from imabo.insight.best_arm import BestArm, best_of_all
from imabo.insight.estimates import (
    Estimate,
    RandomEstimate,
    estimate_of,
    mean_intervals,
    numbers,
    random_estimate,
    ratio,
)
from imabo.insight.snapshot import StudySnapshot
from imabo.policies import IMOSS, QRM2, UCBAIR, Informed
from imabo.policies.base import Policy
from imabo.policies.counts import effective_total

ROLLING: Final = 5  # points that the rolling mean reaches back
MOST_ARRIVALS: Final = 200  # marks of new arms
_MOST_DUE: Final = 1 << 40
_ROWS: Final = 8  # of a table that are multiplied together
_IN_HAND: Final = "the rewards in hand (requests before the first)"
_IN_PARTS: Final = "the rewards in hand, and pending requests as parts of one"

Column = list[float | None]


@dataclass(frozen=True, slots=True)
class Arrival:
    """An arm that came in, at about so many pulls."""

    arm: int
    origin: str
    pulls: float
    at: float


@dataclass(frozen=True, slots=True)
class SpaceChange:
    """A change of the space to a version, at about so many pulls."""

    version: int
    at: float
    pulls: float


@dataclass(frozen=True, slots=True)
class NoticedDrift:
    """A change of the rewards, in words, that was noticed at about so many pulls."""

    text: str
    at: float
    pulls: float


@dataclass(frozen=True, slots=True)
class RewardOverTime:
    """Rewards by when they arrived; lists have an entry for each point of the past.

    Attributes:
        pulls: Pulls served by then.
        times: When that was, in seconds since 1970.
        n_rewards: Rewards that arrived since the point before.
        mean: Their mean, None without any.
        rolling: The mean of the rewards since ``window`` points before.
        rolling_low: Lower end of its interval.
        rolling_high: Upper end.
        cumulative: The mean of all rewards so far.
        window: How many points the rolling mean reaches back.
        random: What serving at random would give (see ``estimates.random_estimate``).
        baseline: The mean of the chosen arm, None when none was chosen.
        baseline_arm: That arm.
        arrivals: Where arms came in; of many arms, evenly picked ones.
        n_arrivals: How many arms came in.
        space_changes: Where the space changed.
        drifts: Where the study noticed that the rewards had changed.
    """

    pulls: Column
    times: Column
    n_rewards: Column
    mean: Column
    rolling: Column
    rolling_low: Column
    rolling_high: Column
    cumulative: Column
    window: int
    random: RandomEstimate
    baseline: Estimate | None
    baseline_arm: int | None
    arrivals: list[Arrival]
    n_arrivals: int
    space_changes: list[SpaceChange]
    drifts: list[NoticedDrift]


@dataclass(frozen=True, slots=True)
class Growth:
    """The active set at points of the past, against the policy's schedule.

    Attributes:
        pulls: Pulls served by then.
        times: When that was, in seconds since 1970.
        effective: t of the schedule, see ``counted``.
        n_active: Arms that were not retired.
        due: Arms that the policy wanted by then, None when it has no such schedule.
        law: The schedule in words.
        counted: What t counts, in words.
    """

    pulls: Column
    times: Column
    effective: Column
    n_active: Column
    due: Column | None
    law: str | None
    counted: str


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate of the price and of the yield of exploring, in units of reward.

    Lists have an entry for each point of the past; the last is now.

    Attributes:
        pulls: Pulls served by then.
        times: When that was, in seconds since 1970.
        cost: What serving today's best arm would have given more for the pulls that others got, at
            least 0; with an objective, today's best mix.
        cost_low: The same with the lower end of the best arm's interval.
        cost_high: The same with its upper end.
        gain: What was earned more than serving at random would have given; None while that is not
            known.
        gain_low: The same with the upper end of the estimate for random serving.
        gain_high: The same with its lower end.
        best_arm: The arm to compare with, None without rewards.
        random: What serving at random gives.
    """

    pulls: Column
    times: Column
    cost: Column
    cost_low: Column
    cost_high: Column
    gain: Column
    gain_low: Column
    gain_high: Column
    best_arm: int | None
    random: RandomEstimate


def reward(snapshot: StudySnapshot, baseline: int | None = None) -> RewardOverTime:
    """The reward over time, beside serving at random and beside a chosen arm.

    Means are over the rewards that arrived between two points, whenever their pulls were served.
    The band is the interval of the mean of the rolling window (see ``estimates.mean_intervals``).

    Args:
        snapshot: From ``insight.read``.
        baseline: The id of an arm to compare with; None for none.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(9):
        ...     study.tell(study.ask().id, 0.5)
        >>> reward(insight.read(study)).rolling
        [0.5, 0.5]
    """
    history, arms = snapshot.history, snapshot.arms
    before = np.maximum(np.arange(1, len(history)) - ROLLING, 0)
    n, sums, squares = history.n_rewards, history.sums, history.squares
    wide = n[1:] - n[before], sums[1:] - sums[before], squares[1:] - squares[before]
    low, high = mean_intervals(*wide, snapshot.reward_range)
    has_any = wide[0] > 0
    chosen = None
    if baseline is not None:
        row = arms.row_of(baseline)
        chosen = estimate_of(
            arms.n_rewards[row], arms.sums[row], arms.squares[row], snapshot.reward_range
        )
    # Evenly spread, the first and the last among them.
    ends = 0, max(len(arms) - 1, 0)
    picked = np.linspace(*ends, min(len(arms), MOST_ARRIVALS)).round().astype(np.int64)
    came = arms.admitted_at[picked]
    places = history.pulls_at(came)
    return RewardOverTime(
        pulls=numbers(history.n_pulls[1:]),
        times=numbers(history.at[1:]),
        n_rewards=numbers(np.diff(n)),
        mean=numbers(ratio(np.diff(sums), np.diff(n))),
        rolling=numbers(ratio(wide[1], wide[0])),
        rolling_low=numbers(np.where(has_any, low, np.nan)),
        rolling_high=numbers(np.where(has_any, high, np.nan)),
        cumulative=numbers(ratio(sums[1:], n[1:])),
        window=ROLLING,
        random=random_estimate(snapshot),
        baseline=chosen,
        baseline_arm=baseline,
        arrivals=[
            Arrival(int(arms.ids[row]), str(arms.origins[row]), float(place), float(at))
            for row, place, at in zip(picked.tolist(), places, came, strict=True)
        ],
        n_arrivals=len(arms),
        space_changes=[SpaceChange(*change) for change in snapshot.space_changes],
        drifts=[NoticedDrift(*drift) for drift in snapshot.drifts],
    )


def trend(snapshot: StudySnapshot, most: int) -> Column:
    """The rolling mean of the reward in at most so many points, the newest one always.

    For a small line beside the key figures, where ``reward`` says more than there is room for.

    Args:
        snapshot: From ``insight.read``.
        most: How many points at most; at least 1.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(9):
        ...     study.tell(study.ask().id, 0.5)
        >>> trend(insight.read(study), 1)
        [0.5]
    """
    values = reward(snapshot).rolling
    n = len(values)
    return values if n <= most else [values[(n - 1) * (i + 1) // most] for i in range(most)]


def growth(snapshot: StudySnapshot) -> Growth:
    """The active set over time, and how many arms the policy wanted by then.

    The policy itself is asked at each point, with the counters of that point. Where the schedule
    restarted with an earlier change of the space, or of the world, is known from the milestones,
    so about.

    Example:
        >>> from imabo import Float, Space, Study, insight, oracles, policies
        >>> study = Study.create(
        ...     "s", Space(x=Float(0, 1)), policy=policies.IMOSS(warmup=2),
        ...     oracle=oracles.Random(), seed=0)
        >>> for _ in range(16):
        ...     study.tell(study.ask().id, 0.5)
        >>> grown = growth(insight.read(study))
        >>> grown.n_active, grown.due, grown.law
        ([3.0, 4.0], [3.0, 5.0], 't^0.5')
    """
    history = snapshot.history
    law = _law(snapshot.policy)
    restarts = _restarts(snapshot)
    has_window = snapshot.study.window_s is not None
    asked = _Counts(snapshot.space, reward_range=snapshot.reward_range, has_window=has_window)
    n_configs = snapshot.space.n_configs if law is not None else None
    effective, due = [], []
    for i in range(1, len(history)):
        n_pulls = int(history.n_pulls[i])
        asked.totals = Totals(
            n_pulls, int(history.n_rewards[i]), int(history.n_pending[i]), float(history.sums[i])
        )
        asked.restart = [one for one in restarts if one.n_pulls < max(n_pulls, 1)][-1]
        effective.append(_t(snapshot.policy, asked))
        if law is not None:
            wanted = _due(snapshot.policy, asked)
            due.append(float(wanted if n_configs is None else min(wanted, n_configs)))
    return Growth(
        pulls=numbers(history.n_pulls[1:]),
        times=numbers(history.at[1:]),
        effective=numbers(effective),
        n_active=numbers(history.n_active[1:]),
        due=None if law is None else numbers(due),
        law=law,
        counted=_IN_HAND if _counts_in_hand(snapshot.policy) else _IN_PARTS,
    )


class _Counts(ActiveSet):
    """An active set of which only the counts matter: what a growth schedule looks at."""

    growing = 0

    @property
    def n_growing(self) -> int:
        """As many as are being tried out."""
        return self.growing


def _law(policy: Policy) -> str | None:
    """The growth schedule of a policy whose rule looks at nothing but counts."""
    rule = type(policy).growth
    if isinstance(policy, IMOSS | UCBAIR) and rule in (IMOSS.growth, UCBAIR.growth):
        return f"t^{policy.beta:g}"
    if isinstance(policy, Informed) and rule is Informed.growth:
        return f"{policy.scale:g} t^{policy.beta:g}"
    if isinstance(policy, QRM2) and rule is QRM2.growth:
        return f"in phases of 2^r pulls, 2^({policy.alpha:g} r)"
    return None


def _t(policy: Policy, arms: ActiveSet) -> float:
    """What the growth schedule counts; see ``_counts_in_hand``."""
    totals = arms.totals
    if _counts_in_hand(policy):
        return float(totals.n_rewards or totals.n_pulls)
    return effective_total(arms)


def _counts_in_hand(policy: Policy) -> bool:
    """Whether the schedule counts rewards in hand alone, and no pulls that wait."""
    return isinstance(policy, Informed) and type(policy).growth is Informed.growth


def _due(policy: Policy, arms: _Counts) -> int:
    """The fewest arms with which the policy admits no more."""

    def wants_more(n: int) -> bool:
        arms.growing = n
        return policy.growth(arms) is not None

    high = 1
    while high < _MOST_DUE and wants_more(high):
        high *= 2
    # More are wanted with half as many.
    return bisect_left(range(high), True, high // 2, key=lambda n: not wants_more(n))


def _restarts(snapshot: StudySnapshot) -> list[Restart]:
    """Where the schedule started: first, and after each change of the space or of all the world."""
    history = snapshot.history
    found = [Restart()]
    changes = [(at, n_pulls) for _, at, n_pulls in snapshot.space_changes[:-1]]
    for at, n_pulls in [*changes, *snapshot.upheavals]:
        after = min(int(np.searchsorted(history.at, at)), len(history) - 1)
        came = (snapshot.arms.admitted_at > at) & (snapshot.arms.admitted_at <= history.at[after])
        columns = (history.n_rewards, history.n_pending)
        rewards, pending = (int(np.interp(at, history.at, column)) for column in columns)
        n_arms = int(history.n_active[after] - came.sum())
        found.append(Restart(int(n_pulls), rewards, pending, max(n_arms, 0)))
    if snapshot.space_version > 1:
        found.append(snapshot.restart)
    return sorted(found, key=lambda one: one.n_pulls)


def cost(snapshot: StudySnapshot) -> Cost:
    """What exploring has cost against today's best arm, and gained against serving at random.

    Every pull served someone, whether its reward came back or not. So each counts with the mean of
    its arm as it is known today (the mean of all rewards for an arm without any). The cost is over
    the pulls that other arms than the best got: so many times the best arm's mean, less those arms'
    means. The best arm's own pulls cost nothing, whatever its mean is. Its mean is the one that is
    not flattered by its choice (``Study.best``), and the others' are drawn towards each other in
    the same way: those that were given up were mostly unlucky. The gain is what all pulls earned,
    less the pulls times the mean of serving at random, where that is known. The ranges carry the
    best arm's interval, or that of the random estimate, and nothing else: they are wide early on.

    With budgets, each arm of the best mix should have had its share of the pulls; the cost is over
    what it was short of, less what it had too much.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(3):
        ...     study.tell(study.ask().id, 0.5)
        >>> found = insight.cost(insight.read(study))
        >>> found.cost, found.gain, found.random.n
        ([0.0], [None], 3)
    """
    history, known, totals = snapshot.history, snapshot.arms, snapshot.totals
    pulls, by_arm = history.n_pulls[1:], history.by_arm[1:]
    overall = totals.reward_sum / totals.n_rewards if totals.n_rewards else np.nan
    means = np.where(known.n_rewards > 0, known.means, overall)
    worth = _products(by_arm, means) if len(known) else np.full(len(pulls), np.nan)
    top, at_random = best_of_all(snapshot), random_estimate(snapshot)
    is_known = at_random.mean is not None
    lost, low, high = (np.full(len(pulls), np.nan) for _ in range(3))
    if top is not None:
        rows, shares, (mean, least, most) = _worth_of_best(snapshot, top)
        others = np.where(known.n_rewards > 0, known.estimates_of_all, overall)
        others[rows] = 0.0
        earned = _products(by_arm, others)
        missing = np.outer(pulls, shares) - by_arm[:, rows]  # below 0: more than its share
        short, over = np.maximum(missing, 0.0), np.minimum(missing, 0.0)
        lost = _weighed(missing, mean) - earned
        low = _weighed(short, least) + _weighed(over, most) - earned
        high = _weighed(short, most) + _weighed(over, least) - earned

    def won(mean: float | None) -> Column:
        return numbers(worth - pulls * (np.nan if mean is None else mean))

    return Cost(
        pulls=numbers(pulls),
        times=numbers(history.at[1:]),
        cost=numbers(np.maximum(lost, 0.0)),
        cost_low=numbers(np.maximum(low, 0.0)),
        cost_high=numbers(np.maximum(high, 0.0)),
        gain=won(at_random.mean),
        gain_low=won(at_random.high if is_known else None),
        gain_high=won(at_random.low if is_known else None),
        best_arm=None if top is None else top.arm,
        random=at_random,
    )


def _worth_of_best(
    snapshot: StudySnapshot, top: BestArm
) -> tuple[Ints, Floats, tuple[Floats, Floats, Floats]]:
    """Rows and shares of what is best, an arm or a mix, with means and both ends of each."""
    known = snapshot.arms
    if top.mix is None or len(top.mix.parts) < 2:
        low, high = (np.nan if end is None else end for end in top.interval)
        ends = np.array([top.mean]), np.array([low]), np.array([high])
        return np.array([known.row_of(top.arm)]), np.ones(1), ends
    parts = top.mix.parts
    rows = np.array([known.row_of(part.arm) for part in parts])
    shares = np.array([part.share for part in parts])
    return rows, shares, (known.estimates_of_all[rows], *known.intervals_of_all(rows))


def _weighed(counts: Floats, values: Floats) -> Floats:
    """The sums of so many of each; none of something counts nothing, be it unknown or infinite."""
    return np.asarray(np.where(counts == 0.0, 0.0, counts * values).sum(axis=1))


def _products(table: Floats, column: Floats) -> Floats:
    """Rows of a table times a column, a few at a time.

    At once, NumPy's library would share them out to threads, which wait for each other longer than
    the work takes, and the last digit would depend on how many there are.
    """
    return np.concatenate([table[i : i + _ROWS] @ column for i in range(0, len(table), _ROWS)])
