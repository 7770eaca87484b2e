"""Properties of any traffic: order and repetition do not matter, growth is bounded."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo import Study, oracles, policies
from imabo.testing.study.base import facts_of, mixed_space

from .invariants import check_counters

REWARDS = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)


def told(rewards: list[float], order: list[int], repeats: int = 1) -> Study:
    """A study with so many pulls, told in an order; each report comes ``repeats`` times."""
    study = Study.create("s", mixed_space(), seed=9)
    pulls = study.ask(count=len(rewards))
    for position in order:
        for _ in range(repeats):
            study.tell(pulls[position].id, rewards[position])
    return study


@settings(deadline=None, max_examples=60)
@given(data=st.data(), rewards=REWARDS)
def test_rewards_commute(data: st.DataObject, rewards: list[float]) -> None:
    places = range(len(rewards))
    order = data.draw(st.permutations(places))
    in_order, shuffled = told(rewards, list(places)), told(rewards, order)
    assert facts_of(in_order)[0] == facts_of(shuffled)[0]
    for one, other in zip(in_order.arms(), shuffled.arms(), strict=True):
        assert (one.n_rewards, one.n_pending) == (other.n_rewards, other.n_pending)
        assert one.mean == (None if other.mean is None else pytest.approx(other.mean, abs=1e-12))
    assert [pull.reward for pull in in_order] == [pull.reward for pull in shuffled] == rewards


@settings(deadline=None, max_examples=40)
@given(rewards=REWARDS, repeats=st.integers(2, 4))
def test_repeated_rewards_change_nothing(rewards: list[float], repeats: int) -> None:
    order = list(range(len(rewards)))
    once, often = told(rewards, order), told(rewards, order, repeats)
    assert facts_of(once)[0] == facts_of(often)[0]
    assert [(arm.n_rewards, arm.mean) for arm in once.arms()] == [
        (arm.n_rewards, arm.mean) for arm in often.arms()
    ]
    check_counters(often)


@settings(deadline=None, max_examples=40)
@given(
    beta=st.floats(0.1, 0.9),
    warmup=st.integers(0, 12),
    index=st.sampled_from(["moss", "kl"]),
    answered=st.lists(st.sampled_from([0.0, 0.3, 1.0, None]), max_size=80),
)
def test_the_active_set_stays_within_the_growth_schedule(
    beta: float, warmup: int, index: Any, answered: list[float | None]
) -> None:
    policy = policies.IMOSS(beta=beta, warmup=warmup, index=index)
    study = Study.create("s", mixed_space(), policy=policy, oracle=oracles.Random(), seed=2)
    for number, reward in enumerate(answered, start=1):
        pull = study.ask()
        # |M_t| < t^beta decides whether an arm is added at round t, so it holds one more at most.
        assert study.n_arms <= max(warmup, math.ceil(number**beta))
        if reward is not None:
            study.tell(pull.id, reward)


@settings(deadline=None, max_examples=20)
@given(beta=st.floats(0.1, 0.9), warmup=st.integers(0, 12), rounds=st.integers(1, 80))
def test_with_instant_feedback_the_active_set_is_as_large_as_the_schedule_says(
    beta: float, warmup: int, rounds: int
) -> None:
    policy = policies.IMOSS(beta=beta, warmup=warmup)
    study = Study.create("s", mixed_space(), policy=policy, oracle=oracles.Random(), seed=2)
    for _ in range(rounds):
        study.tell(study.ask().id, 0.5)
    grown = max(min(warmup, rounds), math.ceil(rounds**beta) if rounds > warmup else 0)
    assert study.n_arms == grown
