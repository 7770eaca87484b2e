"""Any policy pairs with any oracle in a real study, late and lost feedback included."""

from __future__ import annotations

import math
from collections import deque

import numpy as np
import pytest

from imabo import Study
from imabo.errors import NothingToServe
from imabo.oracles import Oracle
from imabo.policies import IMOSS, Policy
from imabo.testing.situations import conditional_space, tiny_space
from tests.oracles.cases import ORACLES
from tests.policies.cases import POLICIES

ROUNDS = 150
LAG = 4  # rounds until a reward comes
LOST = 0.2
# Each policy with three oracles and each oracle with three policies; the others in the long run.
PAIRS = [
    pytest.param(policy, oracle, id=f"{policy_name}-{oracle_name}", marks=marks)
    for i, (policy_name, policy) in enumerate(POLICIES.items())
    for j, (oracle_name, oracle) in enumerate(ORACLES.items())
    for marks in [[] if (i - j) % min(len(POLICIES), len(ORACLES)) < 3 else [pytest.mark.long]]
]


@pytest.mark.parametrize(("policy", "oracle"), PAIRS)
def test_a_pair_tunes_a_mixed_conditional_space(policy: Policy, oracle: Oracle) -> None:
    moment, rng = [0.0], np.random.default_rng(0)
    space = conditional_space()
    study = Study.create(
        "s",
        space,
        policy=policy,
        oracle=oracle,
        seed=1,
        window_s=20.0,
        clock=lambda: moment[0],
    )
    waiting: deque[tuple[str, float]] = deque()
    for t in range(1, ROUNDS + 1):
        moment[0] = float(t)
        pull = study.ask()
        assert space.validate(pull.config) == pull.config
        is_large, temperature = pull.config["model"] == "large", pull.config["temperature"]
        mean = 0.5 * is_large + 0.5 * float(temperature or 0.0)
        waiting.append((pull.id, float(rng.random() < mean)))
        if len(waiting) > LAG:
            pull_id, reward = waiting.popleft()
            if rng.random() > LOST:
                study.tell(pull_id, reward)
        if isinstance(policy, IMOSS):
            # Growth rule: |M_t| <= max(N_s, ceil(t^beta)); late feedback only slows it down.
            assert study.n_arms <= max(policy.warmup, math.ceil(t**policy.beta))
    assert study.n_arms == len({space.identity(arm.config) for arm in study.arms()}) > 1
    assert study.best().n_rewards > 0


@pytest.mark.parametrize(("policy", "oracle"), PAIRS)
def test_a_pair_serves_three_configurations_for_ever(policy: Policy, oracle: Oracle) -> None:
    study = Study.create("s", tiny_space(), policy=policy, oracle=oracle, seed=1)
    for _ in range(ROUNDS):
        with study.serve() as pull:
            pull.reward = {"a": 0.2, "b": 0.9, "c": 0.5}[str(pull.config["prompt"])]
    assert len(study) == study.n_rewards == ROUNDS
    assert study.n_arms == 3
    assert study.best().config == {"prompt": "b"}


@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("index", ["moss", "kl"])
def test_imoss_holds_exactly_the_paper_s_number_of_arms_with_instant_feedback(
    beta: float, index: str
) -> None:
    """Growth rule: |M_t| = max(N_s, ceil(t^beta)) after round t, once the warm-up is over."""
    policy = IMOSS(beta=beta, warmup=4, index=index)  # type: ignore[arg-type]
    study = Study.create("s", conditional_space(), policy=policy, oracle=ORACLES["Random"], seed=2)
    n_arms = 0
    for t in range(1, ROUNDS + 1):
        study.tell(study.ask().id, 0.5)
        # One arm a round at most, so a steep start is caught up with one by one.
        n_arms += n_arms < 4 or n_arms < t**beta
        assert study.n_arms == n_arms


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_used_up_space_whose_arms_are_all_paused_is_refused_not_served(policy: Policy) -> None:
    study = Study.create("s", tiny_space(), policy=policy, seed=1)
    for _ in range(40):
        study.tell(study.ask().id, 0.5)
    for arm in study.arms():
        study.pause(arm)
    with pytest.raises(NothingToServe):
        study.ask()
    study.resume(2)
    assert {study.ask().arm for _ in range(10)} == {2}
