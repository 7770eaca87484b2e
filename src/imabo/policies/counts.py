"""What counts as a reward of an arm, besides those that it has.

Pulls whose reward is still out: the effective counts of eq. (delayed-feedback). And what a model
expects of an arm: eq. (expectation) and eq. (informed-mean).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from imabo.arms import ActiveSet, Floats, Number, Totals

UNSERVED: Final = 1e-9  # stands for a count of zero: the bonus is then huge and finite
ANCHOR: Final = 3.0  # rewards of the average arm that stand in for a model that says less
FEW: Final = 8.0  # arms among which an unlucky one is looked at again soon enough
_UNSKILLED: Final = 0.3  # part of its trust that a model keeps whose expectations do not come true
_UNRELATED: Final = 0.1  # the same where arms can teach nothing about each other
_STALE: Final = 0.8  # share of the rewards that a model must have seen to be believed in full
_UNKNOWN_VARIANCE: Final = 0.25  # before any arm has two rewards: that of a fair coin


def feedback_rate(arms: ActiveSet) -> float:
    """p, the fraction of pulls that return a reward, from the study's own log.

    Counted over the pulls whose outcome is due: those rewarded or expired. Without a window
    nothing expires, so a pending pull counts as due at once; that is pessimistic while feedback is
    on its way, and right in the long run, where lost feedback would otherwise count as coming for
    ever. One imaginary reward keeps p above zero.
    """
    return rate_of(arms.totals, arms.has_window)


def rate_of(totals: Totals, has_window: bool) -> float:
    """``feedback_rate`` at such totals."""
    n_pulls, n_rewards, n_pending, _ = totals
    return (n_rewards + 1.0) / ((n_pulls - n_pending if has_window else n_pulls) + 1.0)


def effective_total(arms: ActiveSet) -> float:
    """N~: all rewards in hand plus p times the pending pulls; the plain count when none is out."""
    totals = arms.totals
    if not totals.n_pending:
        return float(totals.n_rewards)
    return totals.n_rewards + feedback_rate(arms) * totals.n_pending


def effective_counts(arms: ActiveSet, rate: float | None = None) -> Floats:
    """n~ of each arm: its rewards in hand plus p times its pending pulls.

    With instant feedback these are the plain counts. An arm counts for at least ``least_count``:
    otherwise one whose feedback never comes would keep its first bonus for ever and draw all the
    traffic. ``rate`` stands for another p than today's.
    """
    totals = arms.totals
    if totals.n_pulls == totals.n_rewards:
        return np.maximum(arms.n_rewards, UNSERVED) if arms.n_unrewarded else arms.n_rewards
    p = feedback_rate(arms) if rate is None else rate
    counts = arms.n_rewards + p * arms.n_pending
    return np.maximum(np.maximum(counts, least_count(p, arms.n_pulls)), UNSERVED)


def waiting_counts(arms: ActiveSet, counts: Floats) -> Floats | float:
    """What of each arm's effective count is still out; 0 where nothing is."""
    return 0.0 if counts is arms.n_rewards else np.maximum(counts - arms.n_rewards, 0.0)


def least_count(rate: float, n_pulls: Number) -> Number:
    """What an arm's pulls count for at least: half of the rewards that they should have brought."""
    return 0.5 * rate * n_pulls


def printed_counts(arms: ActiveSet) -> Floats:
    """n~ to the letter of eq. (delayed-feedback): it has one more, and no lower limit."""
    return arms.n_rewards + feedback_rate(arms) * arms.n_pending + 1.0


def effective_start(arms: ActiveSet) -> float:
    """N~ at the round where the growth schedule started (t_0), by today's p."""
    restart = arms.growth_start
    if not restart.n_pulls:
        return 0.0
    return restart.n_rewards + feedback_rate(arms) * restart.n_pending


def rewarded_counts(arms: ActiveSet) -> Floats:
    """N of each arm, pending pulls ignored: what a policy that is blind to delay works with."""
    return np.maximum(arms.n_rewards, UNSERVED)


def prior_counts(arms: ActiveSet, trust: float = 1.0, limit: float = 50.0) -> Floats:
    """How many rewards the model's expectation of each arm counts for; eq. (expectation)."""
    return np.minimum(arms.prior_counts, most_expected(arms, trust, limit)) * freshness(arms)


def most_expected(arms: ActiveSet, trust: float, limit: float) -> float:
    """How many rewards an expectation may count for.

    Models are sometimes confidently wrong. So it is at most ``trust`` times as many rewards as the
    average arm has, less where expectations have not come true, and never more than ``limit``:
    then an arm's own rewards decide in the end.
    """
    unskilled = _UNRELATED if arms.space.is_unrelated else _UNSKILLED
    earned = trust * (unskilled + (1.0 - unskilled) * arms.skill)
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
    """How many rewards the average arm has that speak of now; but for the control's own arms."""
    n_arms = max(len(arms) - arms.n_spare, 1)
    if arms.memory is None:
        return arms.totals.n_rewards / n_arms
    return float(np.add.reduce(arms.kept_rewards)) / n_arms


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
