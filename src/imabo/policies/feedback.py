"""Counting pulls whose reward is still out: the effective counts of eq. (delayed-feedback)."""

from __future__ import annotations

import numpy as np

from imabo.arms import ActiveSet, Floats

_UNSERVED = 1e-9  # stands for a count of zero: the bonus is then huge and finite


def feedback_rate(arms: ActiveSet) -> float:
    """p, the fraction of pulls that return a reward, from the study's own log.

    Counted over the pulls whose outcome is due: those rewarded or expired. Without a window
    nothing expires, so a pending pull counts as due at once; that is pessimistic while feedback is
    on its way, and right in the long run, where lost feedback would otherwise count as coming for
    ever. One imaginary reward keeps p above zero.
    """
    totals = arms.totals
    missing = totals.n_expired if arms.has_window else totals.n_expired + totals.n_pending
    return (totals.n_rewards + 1.0) / (totals.n_rewards + missing + 1.0)


def effective_counts(arms: ActiveSet) -> tuple[float, Floats]:
    """(N~, n~): rewards in hand plus p times the pending pulls, for the study and for each arm.

    With instant feedback these are the plain counts. An arm counts for at least half of the rewards
    that its pulls should have brought: otherwise one whose feedback never comes would keep its
    first bonus for ever and draw all the traffic.
    """
    totals = arms.totals
    if totals.n_pulls == totals.n_rewards:
        return float(totals.n_rewards), np.maximum(arms.n_rewards, _UNSERVED)
    p = feedback_rate(arms)
    effective = np.maximum(arms.n_rewards + p * arms.n_pending, 0.5 * p * arms.n_pulls)
    return totals.n_rewards + p * totals.n_pending, np.maximum(effective, _UNSERVED)


def printed_counts(arms: ActiveSet) -> tuple[float, Floats]:
    """(N~, n~) to the letter of eq. (delayed-feedback): n~ has one more, and no lower limit."""
    p = feedback_rate(arms)
    totals = arms.totals
    return totals.n_rewards + p * totals.n_pending, arms.n_rewards + p * arms.n_pending + 1.0


def effective_start(arms: ActiveSet) -> float:
    """N~ at the round where the growth schedule started (t_0), by today's p."""
    restart = arms.restart
    if not restart.n_pulls:
        return 0.0
    return restart.n_rewards + feedback_rate(arms) * restart.n_pending


def rewarded_counts(arms: ActiveSet) -> Floats:
    """N of each arm, pending pulls ignored: what a policy that is blind to delay works with."""
    return np.maximum(arms.n_rewards, _UNSERVED)
