"""Ties are broken without bias."""

from __future__ import annotations

import pytest
from scipy.stats import chisquare

from imabo.arms import ActiveSet
from imabo.policies import IMOSS, QRM2, UCBAIR, Informed, Policy, Serve
from imabo.policies.base import Draws

from .sets import arms_with

N_ARMS = 6
POLICIES: dict[str, Policy] = {
    "IMOSS": IMOSS(warmup=0, beta=0.1),
    "IMOSS-kl": IMOSS(warmup=0, beta=0.1, index="kl"),
    "Informed": Informed(warmup=0, scale=0.1),
    "UCBAIR": UCBAIR(beta=0.1),
    "QRM2": QRM2(),
}


def counts_of(policy: Policy, arms: ActiveSet, decisions: int) -> list[int]:
    counts = [0] * len(arms)
    for number in range(decisions):
        decision = policy.decide(arms, Draws(11, number))
        assert isinstance(decision, Serve)
        counts[decision.row] += 1
    return counts


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("state", ["rewarded", "pending"])
def test_equal_arms_are_served_equally_often(policy: Policy, state: str) -> None:
    rewards: list[list[float]] = [[0.3, 0.8]] * N_ARMS if state == "rewarded" else [[]] * N_ARMS
    arms = arms_with(*rewards, pending=[0 if state == "rewarded" else 2] * N_ARMS)
    counts = counts_of(policy, arms, 1200)
    assert chisquare(counts).pvalue > 1e-3, counts


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_paused_arms_take_no_part_in_a_tie(policy: Policy) -> None:
    arms = arms_with(*[[0.3, 0.8]] * N_ARMS)
    arms.put_state(0, "paused")
    arms.put_state(3, "paused")
    counts = counts_of(policy, arms, 1200)
    assert counts[0] == counts[3] == 0
    assert chisquare([counts[row] for row in (1, 2, 4, 5)]).pvalue > 1e-3, counts


def test_kl_index_ties_stay_ties_when_the_budget_is_zero() -> None:
    """Equal means reached by different sums: rounding noise must not choose for the dice."""
    arms = arms_with(*[[0.1, 0.2, 0.6] * 20] * N_ARMS)
    assert len(set(IMOSS(index="kl").scores(arms).tolist())) == 1
