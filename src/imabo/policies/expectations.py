"""Counting what a model expects of an arm as rewards of that arm."""

from __future__ import annotations

import numpy as np

from imabo.arms import ActiveSet, Floats

_UNKNOWN_VARIANCE = 0.25  # before any arm has two rewards: that of a fair coin


def prior_counts(arms: ActiveSet, trust: float = 1.0, limit: float = 50.0) -> Floats:
    """How many rewards the model's expectation of each arm counts for.

    Models are sometimes confidently wrong. So an expectation counts for at most ``trust`` times as
    many rewards as the average arm has, and never for more than ``limit``: then an arm's bonus
    outgrows a wrong expectation in the end, and its own rewards decide.
    """
    return np.minimum(arms.prior_counts, min(trust * average_rewards(arms), limit))


def average_rewards(arms: ActiveSet) -> float:
    """How many rewards the average arm has."""
    return arms.totals.n_rewards / max(len(arms), 1)


def expected_means(arms: ActiveSet, prior: Floats, waiting: Floats | float = 0.0) -> Floats:
    """Each arm's mean, with so many rewards of what the model expects of it.

    ``waiting`` rewards that are still out count as average ones. So a burst of requests does not
    all go to one arm before its first answer is in, and the effect goes as the answers come.
    """
    counts = prior + arms.n_rewards + waiting
    sums = prior * arms.prior_means + arms.n_rewards * arms.known_means()
    sums = sums + waiting * arms.overall_mean
    return np.where(counts > 0, sums / np.maximum(counts, 1e-300), arms.overall_mean)


def pooled_variance(arms: ActiveSet) -> float:
    """Variance of a reward around its arm's mean."""
    spare = arms.n_rewards.sum() - np.count_nonzero(arms.n_rewards)
    if spare <= 0:
        return _UNKNOWN_VARIANCE
    return float((arms.n_rewards * arms.variances()).sum() / spare)
