"""The contract of the loop: ask, tell, serve, close."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from imabo.arms import Pull
from imabo.errors import InvalidReward, RewardConflict, StoreClosed, UnknownPull
from imabo.magnitude import LARGEST
from imabo.study import Study
from imabo.testing.extremes import REWARDS
from imabo.testing.study.base import (
    QUICK,
    MakeStudy,
    StudyCases,
    arm_with,
    facts_of,
    letters,
    mixed_space,
    play,
    refused,
    temperature_of,
)

NOT_A_REWARD: list[Any] = [
    *(-0.01, 1.01, math.nan, math.inf, -math.inf, 10**400, "0.5", None, 0.5 + 0j),
    *(np.float64("nan"), np.array(0.5), [0.5], {}),
]
NOT_AN_ID: list[Any] = ["", "x", "x-1", "-1", 1, 1.0, None, True, b"x-1", [], "\0", "\ud800-1"]


def _fail(pull: Pull) -> None:
    pull.reward = 1.0
    raise ZeroDivisionError


class LoopCases(StudyCases):
    """Asking, telling, and what must not happen in between."""

    # --- ask ------------------------------------------------------------------------------------

    def test_a_pull_says_what_to_serve_and_starts_pending(self, study: Study) -> None:
        """An ask hands out a valid configuration under an id."""
        pull = study.ask()
        assert study.space.validate(pull.config) == pull.config
        assert isinstance(pull.id, str)
        assert (pull.state, pull.reward, pull.rewarded_at) == ("pending", None, None)
        assert pull.reason == "warmup"
        assert pull.served_at.utcoffset() is not None
        assert study.pull(pull.id) == pull
        assert (study.n_pulls, study.n_pending, study.n_rewards) == (1, 1, 0)

    def test_changing_a_pull_in_hand_changes_nothing_in_the_study(
        self, make_study: MakeStudy
    ) -> None:
        """Pulls and arms are copies."""
        study = make_study("s", letters("a", "b"), seed=1)
        pull, before = study.ask(), facts_of(study)
        pull.config["letter"] = "z"
        pull.reward = 1.0
        study.arms()[0].config.clear()
        assert facts_of(study) == before

    def test_a_batch_is_a_list_of_distinct_pulls(self, study: Study) -> None:
        """ask(count=n) gives n pulls in the order of service, also for n = 1."""
        pulls = study.ask(count=25)
        assert len({pull.id for pull in pulls}) == 25
        assert list(study) == pulls
        assert [len(study.ask(count=1)), study.n_pulls] == [1, 26]

    def test_a_batch_decides_like_single_asks(self, make_study: MakeStudy) -> None:
        """Batching changes nothing but the number of calls."""
        one, many = (make_study(name, mixed_space(), seed=5) for name in "ab")
        single = [one.ask().config for _ in range(30)]
        batched = [pull.config for pull in [*many.ask(count=20), *many.ask(count=10)]]
        assert single == batched

    def test_a_burst_without_feedback_spreads_over_the_arms(self, make_study: MakeStudy) -> None:
        """With all rewards out, no arm may pile up the traffic."""
        study = make_study("s", letters(*"abcde"), seed=1)
        served = Counter(pull.arm for pull in study.ask(count=100))
        assert len(served) == 5
        assert max(served.values()) <= 2 * min(served.values())

    def test_the_same_seed_gives_the_same_decisions(self, make_study: MakeStudy) -> None:
        """And another seed gives others."""
        runs = []
        for name, seed in [("a", 7), ("b", 7), ("c", 8)]:
            study = make_study(name, mixed_space(), seed=seed, **QUICK)
            pulls = play(study, 60, temperature_of)
            runs.append([pull.config for pull in pulls])
        assert runs[0] == runs[1]
        assert runs[0] != runs[2]

    def test_a_space_of_three_configurations_works_for_ever(self, make_study: MakeStudy) -> None:
        """Exhausted, the study serves known arms and finds the best of them."""
        study = make_study("s", letters("a", "b", "c"), seed=1, **QUICK)
        means = {"a": 0.1, "b": 0.2, "c": 0.9}
        pulls = play(study, 250, lambda pull: means[str(pull.config["letter"])])
        assert len(study.arms()) == 3
        assert study.best().config == {"letter": "c"}
        assert Counter(pull.config["letter"] for pull in pulls)["c"] > 190

    # --- tell -----------------------------------------------------------------------------------

    def test_a_reward_is_recorded(self, make_study: MakeStudy) -> None:
        """A tell moves the pull, its arm and the study's counters."""
        study = make_study("s", letters("a"), seed=1)
        pull = study.ask()
        study.tell(pull.id, 0.25)
        told = study.pull(pull.id)
        assert (told.state, told.reward) == ("rewarded", 0.25)
        assert told.rewarded_at is not None
        assert told.rewarded_at >= told.served_at
        arm = arm_with(study, letter="a")
        assert (arm.n_pulls, arm.n_rewards, arm.n_pending, arm.mean) == (1, 1, 0, 0.25)
        assert (study.n_pulls, study.n_rewards, study.n_pending) == (1, 1, 0)

    def test_telling_twice_changes_nothing(self, study: Study) -> None:
        """A report may be retried, also with another numeric type."""
        pull = study.ask()
        study.tell(pull.id, 1)
        before = facts_of(study)
        same: list[Any] = [1, 1.0, np.float32(1), np.int8(1)]
        for again in same:
            study.tell(pull.id, again)
        assert facts_of(study) == before

    def test_another_reward_for_the_same_pull_is_a_conflict(self, study: Study) -> None:
        """The first reward counts."""
        pull = study.ask()
        study.tell(pull.id, 0.5)
        with refused(study, RewardConflict, 0.75):
            study.tell(pull.id, 0.75)

    def test_what_is_not_an_id_is_unknown(self, study: Study) -> None:
        """Any value that was never handed out."""
        study.ask()
        for pull_id in NOT_AN_ID:
            with refused(study, UnknownPull, pull_id):
                study.tell(pull_id, 0.5)
            with refused(study, UnknownPull, pull_id):
                study.pull(pull_id)

    def test_a_pull_in_the_place_of_its_id_is_told_so(self, study: Study) -> None:
        """The mistake that is made most often gets a hint."""
        pull = study.ask()
        wrong: Any = pull
        for call in (lambda: study.tell(wrong, 0.5), lambda: study.pull(wrong)):
            with refused(study, UnknownPull, pull.id) as caught:
                call()
            assert caught.value.fix == "pass pull.id"

    def test_variants_of_an_id_and_ids_of_other_studies_are_unknown(
        self, make_study: MakeStudy
    ) -> None:
        """An id is one exact text of one study."""
        study, other = (make_study(name, mixed_space(), seed=1) for name in "ab")
        pull_id, foreign = study.ask().id, other.ask().id
        variants = [pull_id + " ", " " + pull_id, pull_id + "0", pull_id + "9" * 30, pull_id + "\n"]
        for wrong in [foreign, *variants]:
            with refused(study, UnknownPull, wrong):
                study.tell(wrong, 0.5)
        study.tell(pull_id, 0.5)
        assert study.n_rewards == 1

    def test_what_is_not_a_reward_is_refused(self, study: Study) -> None:
        """Only a finite number of the range is a reward; the pull can still get a valid one."""
        pull = study.ask()
        for reward in NOT_A_REWARD:
            shown = None if isinstance(reward, int) and reward > 1 else reward
            with refused(study, InvalidReward, shown):
                study.tell(pull.id, reward)
        study.tell(pull.id, 0.5)
        assert study.n_rewards == 1

    def test_any_real_number_of_the_range_is_a_reward(self, study: Study) -> None:
        """Numbers and bools of Python and NumPy; what comes back is a plain float."""
        numbers: list[Any] = [0, 1, 0.0, 1.0, -0.0, np.float64(0.5), np.float32(0.5), np.int64(1)]
        for reward in [*numbers, np.uint8(0), True, False, np.True_]:
            pull = study.ask()
            study.tell(pull.id, reward)
            told = study.pull(pull.id).reward
            assert (told, type(told)) == (float(reward), float)

    def test_a_study_without_a_range_takes_any_finite_number(self, make_study: MakeStudy) -> None:
        """reward_range=None lifts the limits, not the sanity."""
        study = make_study("s", letters("a"), seed=1, reward_range=None)
        for value in (-1e6, 1e6, 0.25):
            study.tell(study.ask().id, value)
        pull = study.ask()
        with refused(study, InvalidReward, math.inf):
            study.tell(pull.id, math.inf)
        assert study.arms()[0].mean == pytest.approx(0.25 / 3)

    @pytest.mark.parametrize("rewards", ["large, both signs", "tiny", "one outlier"])
    def test_a_study_goes_on_after_any_reward_that_it_took(
        self, make_study: MakeStudy, rewards: str
    ) -> None:
        """However large or small: it serves, recommends and tells what happened."""
        study = make_study("s", letters("a", "b", "c"), seed=1, reward_range=None, **QUICK)
        for start in range(0, 40, 10):
            told = [
                (pull.id, REWARDS[rewards](start + i)) for i, pull in enumerate(study.ask(count=10))
            ]
            assert study.tell_many(told) == [None] * 10
        assert math.isfinite(study.best().mean)
        assert all(str(event) for event in study.events())
        assert study.ask().config["letter"] in ("a", "b", "c")

    @pytest.mark.parametrize("reward", [1e155, -1.01 * LARGEST])
    def test_a_reward_too_large_to_work_with_is_refused(
        self, make_study: MakeStudy, reward: float
    ) -> None:
        """The error says the limit, one by one and in a batch; up to it, a reward is taken."""
        study = make_study("s", letters("a"), seed=1, reward_range=None)
        first, second = study.ask(count=2)
        with refused(study, InvalidReward, reward) as caught:
            study.tell(first.id, reward)
        assert f"{LARGEST:g}" in str(caught.value)
        answers = study.tell_many([(first.id, reward), (second.id, LARGEST)])
        assert [answer and answer.code for answer in answers] == ["invalid_reward", None]
        assert study.ask(count=3)

    def test_rewards_may_come_in_any_order(self, study: Study) -> None:
        """Each goes to the pull it names."""
        pulls = study.ask(count=20)
        for number, pull in reversed(list(enumerate(pulls))):
            study.tell(pull.id, number / 20)
        assert [pull.reward for pull in study] == [number / 20 for number in range(20)]

    # --- serve ----------------------------------------------------------------------------------

    def test_serve_tells_the_reward_that_was_set(self, study: Study) -> None:
        """And shows it on the pull."""
        with study.serve() as pull:
            pull.reward = 0.0
        assert pull.state == "rewarded"
        told = study.pull(pull.id)
        assert (told.state, told.reward) == ("rewarded", 0.0)

    def test_serve_without_a_reward_leaves_the_pull_pending(self, study: Study) -> None:
        """The reward may come later."""
        with study.serve() as pull:
            pass
        assert (study.n_pulls, study.n_pending) == (1, 1)
        study.tell(pull.id, 0.5)
        assert study.n_rewards == 1

    def test_serve_passes_exceptions_on_and_tells_nothing(self, study: Study) -> None:
        """A request that failed has no reward, whatever was set before it failed."""
        with pytest.raises(ZeroDivisionError), study.serve() as pull:
            _fail(pull)
        assert (study.n_pulls, study.n_pending, study.n_rewards) == (1, 1, 0)

    def test_serve_refuses_an_invalid_reward(self, study: Study) -> None:
        """As tell does; the pull stays pending."""
        with pytest.raises(InvalidReward), study.serve() as pull:
            pull.reward = 2.0
        assert study.pull(pull.id).state == "pending"
        assert (study.n_pending, study.n_rewards) == (1, 0)

    # --- close ----------------------------------------------------------------------------------

    def test_a_closed_study_refuses_everything_and_closes_again(self, study: Study) -> None:
        """Every call says that it is closed; closing twice is harmless."""
        pull = study.ask()
        study.close()
        study.close()
        calls: list[Any] = [
            study.ask,
            lambda: study.ask(count=2),
            lambda: study.tell(pull.id, 0.5),
            lambda: study.serve().__enter__(),
            lambda: study.pull(pull.id),
            lambda: list(study),
            study.arms,
            study.best,
            study.expire,
            lambda: study.export("never-written.jsonl"),
            lambda: study.update_space(letters("a")),
            lambda: study.add_arm(pull.config),
            lambda: study.pause(pull.arm),
            lambda: study.resume(pull.arm),
            lambda: study.retire(pull.arm),
        ]
        for call in calls:
            with pytest.raises(StoreClosed):
                call()

    def test_a_study_is_a_context_manager(self, make_study: MakeStudy) -> None:
        """Leaving the block closes it, with or without an exception."""
        with make_study("a", mixed_space(), seed=1) as study:
            study.ask()
        with pytest.raises(StoreClosed):
            study.ask()
        with pytest.raises(KeyError), make_study("b", mixed_space(), seed=1) as failed:
            raise KeyError
        with pytest.raises(StoreClosed):
            failed.ask()
