"""Doubt: what pays less than it did is believed less, and only as long as it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from imabo import Choice, Float, Space, Study
from imabo.arms import ActiveSet
from imabo.doubt import errors_below
from imabo.drift import Drift, forget, remember
from imabo.memory import Memory
from imabo.oracles import Random
from imabo.policies import Informed
from imabo.space import Config

from .test_drift import MODELS, give, means_now, nine_arms

B = [3, 4, 5]  # rows of the nine arms that have model b
OTHERS = [0, 1, 2, 6, 7, 8]


def serve(arms: ActiveSet, row: int, n: int, share: float) -> None:
    """n rewards of an arm, evenly mixed, with a moment as often as a study keeps one."""
    good = 0
    for number in range(1, n + 1):
        is_good = round(number * share) > good
        good += is_good
        give(arms, row, 1, is_good)
        if arms.is_moment:
            arms.put_memory(remember(arms))
    arms.put_memory(remember(arms))


def memory_of(arms: ActiveSet) -> Memory:
    assert arms.memory is not None
    return arms.memory


def fallen() -> ActiveSet:
    """An arm of model b had 0.75 for 150 rewards and another of it 0.4 for 150 more."""
    arms = nine_arms()
    serve(arms, 3, 150, 0.75)
    assert not memory_of(arms).doubted_at.any()
    serve(arms, 4, 150, 0.4)
    return arms


def test_a_value_that_pays_clearly_less_is_doubted_with_all_its_arms() -> None:
    arms = fallen()
    doubted_at = memory_of(arms).doubted_at
    assert doubted_at[B[0]] in memory_of(arms).moments
    assert_array_equal(doubted_at[B], doubted_at[B[0]])
    assert not doubted_at[OTHERS].any()


def test_what_its_arms_had_counts_for_four_rewards_that_moved() -> None:
    arms = fallen()
    assert arms.n_now[5] == 4.0
    # The arm that nobody has served since had 3 of 4. From odds of 3 to 2/3 would be to 0.4; that
    # the moment is some rewards after the fall takes a part of it.
    shift = memory_of(arms).shifts[5]
    assert np.log(2.0 / 9.0) < shift < 0.7 * np.log(2.0 / 9.0)
    odds = 3.0 * np.exp(shift)
    assert means_now(arms)[5] == pytest.approx(odds / (1.0 + odds))
    assert 100.0 < arms.n_now[4] <= 154.0
    assert means_now(arms)[4] == pytest.approx(0.4, abs=0.03)


def test_all_that_others_had_goes_on_counting() -> None:
    arms = fallen()
    assert_allclose(arms.n_now[OTHERS], 40.0)
    assert_allclose(means_now(arms)[OTHERS], 0.75)


def test_rewards_after_it_count_one_by_one() -> None:
    arms = fallen()
    n, total = arms.n_now[5], arms.sums_now[5]
    give(arms, 5, 3, 2)
    assert (arms.n_now[5], arms.sums_now[5]) == (n + 3.0, pytest.approx(total + 2.0))


def test_the_index_is_that_of_arms_with_fewer_rewards_and_lower_means() -> None:
    arms = fallen()
    scores = Informed().scores(arms)
    assert scores[B].max() < scores[OTHERS].min()


@pytest.mark.parametrize(("n_before", "n_after"), [(150, 60), (20, 150)])
def test_below_a_hundred_rewards_on_either_side_nothing_is_doubted(
    n_before: int, n_after: int
) -> None:
    arms = ActiveSet.from_rewards(MODELS, [({"model": m, "x": 0.5}, [1.0]) for m in "abc"])
    serve(arms, 1, n_before, 0.9)
    serve(arms, 1, n_after, 0.2)
    assert not memory_of(arms).doubted_at.any()


def test_a_fall_within_four_standard_errors_is_not_doubted() -> None:
    arms = nine_arms()
    serve(arms, 3, 150, 0.75)
    serve(arms, 4, 150, 0.6)
    assert not memory_of(arms).doubted_at.any()


def test_a_rise_is_no_reason_to_doubt() -> None:
    arms = nine_arms()
    serve(arms, 3, 150, 0.4)
    serve(arms, 4, 150, 0.8)
    assert not memory_of(arms).doubted_at.any()


def test_it_ends_when_the_value_pays_as_before() -> None:
    arms = fallen()
    serve(arms, 3, 3000, 0.75)
    assert not memory_of(arms).doubted_at.any()
    assert arms.n_now[5] == 40.0


def test_all_arms_together_are_left_to_the_alarm() -> None:
    """With nothing to compare them with, that they pay less is no reason to serve another."""
    space = Space(x=Float(0.0, 1.0))
    arms = ActiveSet.from_rewards(space, [({"x": x}, [1.0, 0.0] * 5) for x in (0.2, 0.8)])
    serve(arms, 0, 150, 0.8)
    serve(arms, 0, 150, 0.3)
    assert not memory_of(arms).doubted_at.any()


def test_a_change_that_is_noticed_ends_it() -> None:
    arms = fallen()
    drift = Drift(510, 0.75, 0.4, 100.0, 20.0, parameter="model", value="b")
    arms.put_memory(forget(arms, drift, 0.0))
    assert not memory_of(arms).doubted_at.any()
    # What was before it, and shows the same fall once more, is compared with nothing.
    serve(arms, 4, 150, 0.4)
    assert not memory_of(arms).doubted_at.any()


def test_rewards_without_a_range_move_by_what_is_seen() -> None:
    configs: list[Config] = [{"model": m, "x": x} for m in "ab" for x in (0.2, 0.8)]
    rewards = [90.0, 110.0] * 20
    arms = ActiveSet.from_rewards(
        MODELS, [(config, rewards) for config in configs], reward_range=None
    )
    for row, level in ((2, 100.0), (3, 80.0)):
        for number in range(150):
            arms.count_pull(row)
            arms.count_reward(row, level + (10.0 if number % 2 else -10.0), was_pending=True)
            if arms.is_moment:
                arms.put_memory(remember(arms))
    arms.put_memory(remember(arms))
    shift = memory_of(arms).shifts[2]
    assert -20.0 < shift < -14.0
    assert means_now(arms)[2] == pytest.approx(100.0 + shift)
    assert means_now(arms)[0] == 100.0


def test_the_interval_of_a_doubted_arm_has_in_it_what_came_after() -> None:
    arms = fallen()
    n, total = float(arms.n_rewards[4]), float(arms.unit_sums()[4])
    before = memory_of(arms)
    calm = replace(before, doubted_at=np.zeros(9), shifts=np.zeros(9))
    known = set(before.stretches(4, n, total)) - set(calm.stretches(4, n, total))
    ((since, good),) = known
    assert 100.0 <= since < n
    assert good / since == pytest.approx(0.4, abs=0.02)


def test_what_earlier_versions_wrote_doubts_nothing() -> None:
    arms = fallen()
    ids = list(range(1, 10))
    rows = {arm: row for row, arm in enumerate(ids)}
    document = memory_of(arms).document(ids)
    assert_array_equal(
        Memory.from_document(document, rows, True).doubted_at, memory_of(arms).doubted_at
    )
    for name in ("doubted_at", "shifts"):
        del document[name]
    assert not Memory.from_document(document, rows, True).doubted_at.any()


def test_errors_below_by_hand() -> None:
    """80 of 100 and then 50 of 100: 0.3 less, with a pooled mean of 0.65."""
    memory = Memory.start(1, level=0.5, dispersion=1.0, strength=2.0, is_bounded=True)
    counts, sums = np.array([0.0, 100.0]), np.array([0.0, 80.0])
    errors = errors_below(memory, counts, sums, 200.0, 130.0, 100.0)
    assert errors[0, 1] == pytest.approx(0.3 / np.sqrt(0.65 * 0.35 * 0.02))
    assert np.isneginf(errors[[0, 1, 1], [0, 0, 1]]).all()
    assert np.isneginf(errors_below(memory, counts, sums, 200.0, 130.0, 101.0)).all()


def slowly(model: str, t: int) -> float:
    """One model falls from 0.8 to 0.4 in five hundred requests; the other stays at 0.6."""
    return 0.6 if model == "calm" else 0.8 - 0.4 * min(max((t - 600) / 500, 0.0), 1.0)


def play(study: Study, first: int, last: int, seed: int) -> int:
    """How many of the requests the model got that falls."""
    served = 0
    for t in range(first, last):
        pull = study.ask()
        model = str(pull.config["model"])
        served += model != "calm"
        # A stream for each request: a study that is opened again goes on with the same luck.
        study.tell(pull.id, float(np.random.default_rng([seed, t]).random() < slowly(model, t)))
    return served


def test_a_slow_fall_is_followed_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space(model=Choice("calm", "tired"), x=Float(0.0, 1.0))
    served = []
    for clear in (4.0, np.inf):
        monkeypatch.setattr("imabo.doubt._CLEAR", clear)
        studies = [
            Study.create("s", space, policy=Informed(), oracle=Random(), seed=seed)
            for seed in range(6)
        ]
        for seed, study in enumerate(studies):
            play(study, 1, 850, seed)
        served.append(sum(play(study, 850, 1300, seed) for seed, study in enumerate(studies)))
    assert served[0] < 0.9 * served[1]


def test_a_study_that_is_opened_again_doubts_the_same(tmp_path: Path) -> None:
    space = Space(model=Choice("calm", "tired"), x=Float(0.0, 1.0))
    url = f"sqlite:///{tmp_path / 'imabo.db'}"
    study = Study.create("s", space, policy=Informed(), oracle=Random(), seed=0, store=url)
    t = 1
    while not (study.view.memory is not None and study.view.memory.doubted_at.any()):
        play(study, t, t + 16, 0)
        t += 16
        assert t < 2000
    again = Study.open("s", store=url)
    assert_array_equal(memory_of(again.view).doubted_at, memory_of(study.view).doubted_at)
    assert_array_equal(again.view.n_now, study.view.n_now)
    assert_array_equal(again.view.sums_now, study.view.sums_now)
    study.close()
    play(again, t, t + 100, 0)
    again.close()
