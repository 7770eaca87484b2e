"""Counting pulls whose reward is still out: the effective counts of eq. (delayed-feedback)."""

from __future__ import annotations

import numpy as np

from imabo.arms import ActiveSet, Floats, Number, Totals

UNSERVED = 1e-9  # stands for a count of zero: the bonus is then huge and finite


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
    missing = totals.n_expired if has_window else totals.n_expired + totals.n_pending
    return (totals.n_rewards + 1.0) / (totals.n_rewards + missing + 1.0)


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
        return np.maximum(arms.n_rewards, UNSERVED)
    p = feedback_rate(arms) if rate is None else rate
    counts = arms.n_rewards + p * arms.n_pending
    return np.maximum(np.maximum(counts, least_count(p, arms.n_pulls)), UNSERVED)


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
