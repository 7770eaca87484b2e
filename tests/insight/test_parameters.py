"""Effects and importance of parameters, against counting over all pulls."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imabo import Choice, Float, Int, Pull, Space, Study, insight, oracles, policies
from imabo.insight import StudySnapshot
from imabo.insight.grouping import ENOUGH, INACTIVE, MOST_VALUES, OTHERS, RANGES
from imabo.insight.parameters import Effect
from imabo.space import Config
from tests.insight.story import by_model, eventful, instant


def holds(effect: Effect, config: Config, name: str) -> bool:
    """Whether a configuration belongs to a group, by what the group says of itself."""
    if effect.label == INACTIVE:
        return name not in config
    if name not in config:
        return False
    value = config[name]
    if effect.low is not None and effect.high is not None:
        assert isinstance(value, (int, float))
        return effect.low <= value <= effect.high
    return value == effect.value and isinstance(value, bool) == isinstance(effect.value, bool)


def check_against_pulls(study: Study) -> None:
    pulls, arms = list(study), study.arms()
    for parameter in insight.effects(insight.read(study)):
        assert sum(effect.n_arms for effect in parameter.effects) == len(arms)
        assert sum(effect.n_pulls for effect in parameter.effects) == len(pulls)
        for effect in parameter.effects:
            inside = [pull for pull in pulls if holds(effect, pull.config, parameter.name)]
            rewards = [pull.reward for pull in inside if pull.reward is not None]
            n_arms = sum(holds(effect, arm.config, parameter.name) for arm in arms)
            assert (effect.n_arms, effect.n_pulls) == (n_arms, len(inside))
            assert effect.n_rewards == len(rewards)
            if not rewards:
                assert (effect.mean, effect.mean_low, effect.mean_high) == (None, None, None)
                continue
            assert effect.mean == pytest.approx(np.mean(rewards))
            assert effect.mean_low is not None
            assert effect.mean_high is not None
            assert effect.mean_low <= np.mean(rewards) + 1e-9
            assert effect.mean_high >= np.mean(rewards) - 1e-9


def test_effects_are_what_counting_over_all_pulls_gives() -> None:
    check_against_pulls(instant(300)[0])


@pytest.mark.slow
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_effects_are_right_whatever_happened(seed: int) -> None:
    check_against_pulls(eventful(steps=120, seed=seed))


def test_groups_are_the_values_of_a_choice_and_ranges_of_a_number() -> None:
    study, _ = instant(400)
    found = {one.name: one for one in insight.effects(insight.read(study))}
    assert [effect.value for effect in found["model"].effects] == ["small", "large", "<b>&amp;"]
    assert [effect.value for effect in found["fast"].effects] == [False, True]
    assert [effect.value for effect in found["top_k"].effects] == [1, 2, 3, 4]
    assert 2 <= len(found["temperature"].effects) <= RANGES
    assert found["tokens"].effects[-1].label == INACTIVE
    assert found["rate"].log
    ranges = [effect for effect in found["rate"].effects if effect.low is not None]
    ends = [end for effect in ranges for end in (effect.low, effect.high)]
    assert ends == sorted(ends, key=lambda end: end or 0.0)


def test_ranges_have_about_as_many_arms_each() -> None:
    study, _ = instant(400, policy=policies.IMOSS(warmup=50), oracle=oracles.Random())
    for parameter in insight.effects(insight.read(study)):
        sizes = [effect.n_arms for effect in parameter.effects if effect.label != INACTIVE]
        if parameter.name in ("temperature", "rate", "tokens"):
            assert len(sizes) == min(RANGES, sum(sizes) // ENOUGH)
            assert max(sizes) - min(sizes) <= 1


def test_rare_values_of_a_long_choice_are_put_together() -> None:
    space = Space(number=Choice(*range(100)))
    study, _ = instant(80, lambda pull: 0.5, space=space, policy=policies.IMOSS(warmup=60))
    (found,) = insight.effects(insight.read(study))
    assert len(found.effects) == MOST_VALUES
    assert found.effects[-1].label == OTHERS
    assert sum(effect.n_arms for effect in found.effects) == study.n_arms


def test_values_of_an_earlier_space_still_count() -> None:
    study, _ = instant(60, by_model)
    study.update_space(
        Space({**study.space.parameters, "model": Choice("large", "huge"), "new": Int(0, 1)})
    )
    found = {one.name: one for one in insight.effects(insight.read(study))}
    assert [effect.value for effect in found["model"].effects][:2] == ["large", "huge"]
    assert {"small", "<b>&amp;"} >= {effect.value for effect in found["model"].effects[2:]}
    assert [effect.label for effect in found["new"].effects] == [INACTIVE]


# --- importance ---------------------------------------------------------------------------------


def test_the_one_parameter_that_decides_the_reward_explains_it_all() -> None:
    study, _ = instant(500, by_model, policy=policies.IMOSS(warmup=60), oracle=oracles.Random())
    first, *rest = insight.importance(insight.read(study)).parameters
    assert first.name == "model"
    assert first.share == pytest.approx(1.0, abs=0.01)
    # tokens is there for one model only, so it shares the credit.
    assert rest[0].name == "tokens"
    assert all((one.share or 0.0) < 0.15 for one in rest[1:])


@pytest.mark.slow
def test_a_parameter_that_does_nothing_has_no_share_on_average() -> None:
    shares = defaultdict(list)
    space = Space(a=Choice(1, 2, 3), b=Float(0, 1), c=Int(1, 100, log=True))
    for seed in range(12):
        rng = np.random.default_rng(seed)

        def reward(pull: Pull, rng: np.random.Generator = rng) -> float:
            return float(rng.random() < (0.8 if pull.config["a"] == 2 else 0.3))

        policy = policies.IMOSS(warmup=80)
        study, _ = instant(
            320, reward, space=space, policy=policy, oracle=oracles.Random(), seed=seed
        )
        for one in insight.importance(insight.read(study)).parameters:
            shares[one.name].append((one.share or 0.0, one.raw or 0.0))
    assert np.mean(shares["a"], axis=0)[0] > 0.3
    for name in ("b", "c"):
        share, raw = np.mean(shares[name], axis=0)
        # Without the correction, eight ranges look as if they explained something.
        assert raw > 0.08
        assert share < raw / 2


def test_without_enough_arms_nothing_is_said() -> None:
    study, _ = instant(2)
    assert {one.share for one in insight.importance(insight.read(study)).parameters} == {None}


def test_arms_that_are_all_alike_leave_nothing_to_explain() -> None:
    policy = policies.IMOSS(warmup=40)
    study, _ = instant(100, lambda pull: 0.5, policy=policy)
    assert {one.share for one in insight.importance(insight.read(study)).parameters} == {0.0}


def test_values_that_nearly_each_arm_has_alone_explain_nothing() -> None:
    space = Space(seed=Choice(*range(20)), letter=Choice("a", "b"))
    study, _ = instant(
        100,
        lambda pull: 0.9 if pull.config["letter"] == "a" else 0.2,
        space=space,
        policy=policies.IMOSS(warmup=20),
    )
    found = {one.name: one.share for one in insight.importance(insight.read(study)).parameters}
    assert found["letter"] == pytest.approx(1.0)
    assert found["seed"] is None


def test_shares_are_between_0_and_1_and_sorted(any_snapshot: StudySnapshot) -> None:
    found = insight.importance(any_snapshot).parameters
    shares = [one.share or 0.0 for one in found]
    assert all(0.0 <= share <= 1.0 and math.isfinite(share) for share in shares)
    assert shares == sorted(shares, reverse=True)
    assert {one.name for one in found} == set(any_snapshot.space.names)


def test_after_a_change_only_rewards_that_speak_of_now_count(fallen: Study) -> None:
    snapshot = insight.read(fallen)
    model, _ = insight.effects(snapshot)
    memory = fallen.view.memory
    assert memory is not None
    assert memory.since is not None
    n_since = fallen.n_rewards - memory.since["noticed"]
    n_counted = sum(effect.n_rewards for effect in model.effects)
    assert n_counted == pytest.approx(
        n_since, abs=2
    )  # arms that were new by then have all of theirs
    assert n_counted < 0.6 * fallen.n_rewards
    for effect, mean in zip(model.effects, (0.2, 0.5, 0.3), strict=True):
        assert effect.n_rewards > 0
        assert (effect.mean_low or 0.0) <= mean <= (effect.mean_high or 0.0)
    assert (model.effects[0].mean or 1.0) < 0.45  # it was 0.8, and noticed a little later
    assert insight.importance(snapshot).parameters[0].name == "model"
