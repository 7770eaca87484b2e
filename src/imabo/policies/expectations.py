"""Counting what a model expects of an arm as rewards of that arm."""

from __future__ import annotations

from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Floats

ANCHOR: Final = 3.0  # rewards of the average arm that stand in for a model that says less
_UNSKILLED: Final = 0.3  # part of its trust that a model keeps whose expectations do not come true
_STALE: Final = 0.8  # share of the rewards that a model must have seen to be believed in full
_UNKNOWN_VARIANCE: Final = 0.25  # before any arm has two rewards: that of a fair coin


def prior_counts(arms: ActiveSet, trust: float = 1.0, limit: float = 50.0) -> Floats:
    """How many rewards the model's expectation of each arm counts for; eq. (expectation)."""
    return np.minimum(arms.prior_counts, most_expected(arms, trust, limit)) * freshness(arms)


def most_expected(arms: ActiveSet, trust: float, limit: float) -> float:
    """How many rewards an expectation may count for.

    Models are sometimes confidently wrong. So it is at most ``trust`` times as many rewards as the
    average arm has, less where expectations have not come true, and never more than ``limit``:
    then an arm's own rewards decide in the end.
    """
    earned = trust * (_UNSKILLED + (1.0 - _UNSKILLED) * arms.skill)
    return min(earned * average_rewards(arms), limit)


def freshness(arms: ActiveSet) -> float:
    """How much of an expectation is left, now that there are rewards that the model has not seen.

    Where the space is used up, no proposal brings a new one: what was expected of an arm with four
    rewards must not be held against it when it has four hundred. A change ends it at once.
    """
    if arms.believed_at < arms.noticed_at:
        return 0.0
    n = arms.totals.n_rewards
    return min(arms.believed_at / (_STALE * n), 1.0) if arms.believed_at and n else 1.0


def average_rewards(arms: ActiveSet) -> float:
    """How many rewards the average arm has that speak of now."""
    if arms.memory is None:
        return arms.totals.n_rewards / max(len(arms), 1)
    return float(arms.n_now.sum()) / max(len(arms), 1)


def expected_means(arms: ActiveSet, prior: Floats, waiting: Floats | float = 0.0) -> Floats:
    """Each arm's mean, with so many rewards of what the model expects of it; eq. (informed-mean).

    ``waiting`` rewards that are still out count as average ones. So a burst of requests does not
    all go to one arm before its first answer is in, and the effect goes as the answers come.
    """
    anchor = np.maximum(ANCHOR - prior, 0.0)
    sums = prior * arms.prior_means + arms.sums_now + (anchor + waiting) * arms.level
    return sums / (prior + anchor + arms.n_now + waiting)


def pooled_variance(arms: ActiveSet) -> float:
    """Variance of a reward around its arm's mean."""
    spare = arms.n_rewards.sum() - np.count_nonzero(arms.n_rewards)
    if spare <= 0:
        return _UNKNOWN_VARIANCE
    return float((arms.n_rewards * arms.variances()).sum() / spare)
