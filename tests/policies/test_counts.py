"""Late and lost feedback: the fraction p, silent arms, and bursts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from imabo import Choice, Float, Space, Study
from imabo.oracles import Random
from imabo.policies import IMOSS, QRM2, UCBAIR, Policy
from imabo.policies.counts import effective_counts, effective_total, feedback_rate

from .sets import arms_with

AWARE: dict[str, Policy] = {
    "IMOSS": IMOSS(warmup=5),
    "IMOSS-kl": IMOSS(warmup=5, index="kl"),
    "UCBAIR": UCBAIR(),
    "QRM2": QRM2(),
}
every_aware_policy = pytest.mark.parametrize("policy", AWARE.values(), ids=AWARE)


class TestFeedbackRate:
    def test_without_a_window_a_pending_pull_may_be_lost(self) -> None:
        # 3 rewards, 6 pending: (3 + 1) / (3 + 6 + 1).
        assert feedback_rate(arms_with([1, 1], [0], pending=[2, 4])) == pytest.approx(0.4)

    def test_with_a_window_only_expired_pulls_are_lost(self) -> None:
        # 3 rewards, 4 expired, 6 pending: (3 + 1) / (3 + 4 + 1).
        arms = arms_with([1, 1], [0], pending=[2, 4], expired=[4, 0])
        assert feedback_rate(arms) == pytest.approx(0.5)

    def test_with_instant_feedback_it_is_one(self) -> None:
        assert feedback_rate(arms_with([1, 1], [0])) == 1.0

    def test_before_anything_is_known_it_is_one(self) -> None:
        assert feedback_rate(arms_with([])) == 1.0

    def test_a_late_reward_raises_it(self) -> None:
        arms = arms_with([], expired=[3])
        before = feedback_rate(arms)  # (0 + 1) / (0 + 3 + 1)
        arms.count_reward(0, 1.0, was_pending=False)
        assert (before, feedback_rate(arms)) == (0.25, 0.5)  # then (1 + 1) / (1 + 2 + 1)

    def test_effective_counts_are_the_plain_counts_when_nothing_is_out(self) -> None:
        arms = arms_with([1, 0, 1], [1])
        assert effective_total(arms) == 4.0
        assert effective_counts(arms).tolist() == [3.0, 1.0]


@pytest.mark.slow
@every_aware_policy
@pytest.mark.parametrize("window_s", [3.0, 30.0, None])
def test_a_silent_arm_does_not_draw_all_the_traffic(policy: Policy, window_s: float | None) -> None:
    """Its feedback never comes, that of four others at once; the clock counts rounds."""
    moment, rng = [0.0], np.random.default_rng(3)
    means = {"silent": 0.0, "a": 0.2, "b": 0.4, "c": 0.6, "d": 0.8}
    study = Study.create(
        "s",
        Space(arm=Choice(*means)),
        policy=policy,
        oracle=Random(),
        seed=3,
        window_s=window_s,
        clock=lambda: moment[0],
    )
    served: Counter[str] = Counter()
    for _ in range(1000):
        moment[0] += 1.0
        pull = study.ask()
        arm = str(pull.config["arm"])
        served[arm] += 1
        if arm != "silent":
            study.tell(pull.id, float(rng.random() < means[arm]))
    assert served["silent"] < 450, dict(served)


@every_aware_policy
@pytest.mark.parametrize("window_s", [None, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_burst_without_any_reward_spreads_over_the_arms(
    policy: Policy, window_s: float | None, seed: int
) -> None:
    study = Study.create(
        "s",
        Space(x=Float(0, 1)),
        policy=policy,
        oracle=Random(),
        seed=seed,
        window_s=window_s,
        clock=lambda: 0.0,
    )
    study.ask(count=100)
    n_pulls = [arm.n_pulls for arm in study.arms()]
    # QRM2 measures all that is pending by one phase's length: its arms tie, and go by the dice.
    slack = 20 if isinstance(policy, QRM2) else 2
    assert len(n_pulls) > 1
    assert max(n_pulls) - min(n_pulls) <= slack, n_pulls


def test_a_burst_on_equal_arms_does_not_pile_on_one() -> None:
    """After instant feedback, with nothing to tell the arms apart."""
    study = Study.create("s", Space(x=Float(0, 1)), policy=IMOSS(beta=0.3), seed=0)
    for _ in range(100):
        study.tell(study.ask().id, 0.5)
    before = {arm.id: arm.n_pulls for arm in study.arms()}
    study.ask(count=100)
    gained = [arm.n_pulls - before.get(arm.id, 0) for arm in study.arms()]
    assert max(gained) <= 15, gained
