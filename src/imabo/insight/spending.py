"""What exploring has cost, and what it has gained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from imabo.arms import Floats
from imabo.insight.estimates import Estimate, numbers, random_estimate
from imabo.insight.key_figures import best_of_all
from imabo.insight.snapshot import StudySnapshot

Column = list[float | None]

_ROWS: Final = 8


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate of the price and of the yield of exploring, in units of reward.

    Lists have an entry for each point of the past; the last is now.

    Attributes:
        pulls: Pulls served by then.
        cost: What always serving today's best arm would have given more, at least 0.
        cost_low: The same with the lower end of the best arm's interval.
        cost_high: The same with its upper end.
        gain: What was earned more than serving at random would have given.
        gain_low: The same with the upper end of the estimate for random serving.
        gain_high: The same with its lower end.
        best_arm: The arm to compare with, None without rewards.
        random: What serving at random gives.
    """

    pulls: Column
    cost: Column
    cost_low: Column
    cost_high: Column
    gain: Column
    gain_low: Column
    gain_high: Column
    best_arm: int | None
    random: Estimate


def cost(snapshot: StudySnapshot) -> Cost:
    """What exploring has cost against today's best arm, and gained against serving at random.

    Every pull served someone, whether its reward came back or not. So each counts with the mean of
    its arm as it is known today (the mean of all rewards for an arm without any); the cost is the
    pulls times the best arm's mean, less that, and the gain is that, less the pulls times the mean
    of serving at random. The ranges carry the interval of the best arm's mean, or of the random
    estimate, and nothing else: they are wide early on, and the best arm was picked because it
    looked good, which makes the cost look a little high.

    Example:
        >>> from imabo import Float, Space, Study, insight
        >>> study = Study.create("s", Space(x=Float(0, 1)), seed=0)
        >>> for _ in range(3):
        ...     study.tell(study.ask().id, 0.5)
        >>> insight.cost(insight.read(study)).gain
        [0.0]
    """
    history, known, totals = snapshot.history, snapshot.arms, snapshot.totals
    pulls = history.n_pulls[1:]
    overall = totals.reward_sum / totals.n_rewards if totals.n_rewards else np.nan
    means = np.where(known.n_rewards > 0, known.means, overall)
    worth = _products(history.by_arm[1:], means) if len(known) else np.full(len(pulls), np.nan)
    top, at_random = best_of_all(snapshot), random_estimate(snapshot)
    low, high = (None, None) if top is None else top.interval

    def lost(mean: float | None) -> Column:
        return numbers(np.maximum(pulls * (np.nan if mean is None else mean) - worth, 0.0))

    def won(mean: float | None) -> Column:
        return numbers(worth - pulls * (np.nan if mean is None else mean))

    return Cost(
        pulls=numbers(pulls),
        cost=lost(None if top is None else top.mean),
        cost_low=lost(low),
        cost_high=lost(high),
        gain=won(at_random.mean),
        gain_low=won(at_random.high),
        gain_high=won(at_random.low),
        best_arm=None if top is None else top.arm,
        random=at_random,
    )


def _products(table: Floats, column: Floats) -> Floats:
    """Rows of a table times a column, a few at a time.

    At once, NumPy's library would share them out to threads, which wait for each other longer than
    the work takes, and the last digit would depend on how many there are.
    """
    return np.concatenate([table[i : i + _ROWS] @ column for i in range(0, len(table), _ROWS)])
