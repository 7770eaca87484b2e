"""The contract of changes by hand: another space, new arms, arms paused and retired."""

from __future__ import annotations

from typing import Any

import pytest

from imabo import policies
from imabo.errors import ImaboError, InvalidConfig, InvalidSetting, NothingToServe, UnknownArm
from imabo.space import Choice, Float, Space
from imabo.study import Study
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
)

UNKNOWN: list[Any] = [0, 99, -1, "a", None, 1.5, [], True]  # arms of a study that has one
# What each verb refuses as its argument.
WRONG: dict[str, tuple[type[ImaboError], list[Any]]] = {
    "ask": (InvalidSetting, [0, -1, True, 2.0, "3", 10_001]),  # from 1 to 10,000
    "best": (InvalidSetting, [0, 1, -0.5, 1.5, float("nan"), True, "0.9", None]),  # within (0, 1)
    "events": (InvalidSetting, [-1, 1.5, True, "2", None]),  # from 0
    "update_space": (InvalidSetting, [None, {}, "space", Float(0, 1)]),
    "add_arm": (
        InvalidConfig,
        [{}, {"letter": "z"}, {"letter": "a", "x": 1}, None, "a", [], {1: 2}],
    ),
}


def _served(study: Study, rounds: int = 40) -> set[int]:
    """The arms that so many rounds serve."""
    return {pull.arm for pull in play(study, rounds, lambda pull: 0.5)}


class ChangeCases(StudyCases):
    """Changes while the study runs lose nothing."""

    # --- update_space ---------------------------------------------------------------------------

    def test_another_space_keeps_every_reward_and_retires_what_it_forbids(
        self, make_study: MakeStudy
    ) -> None:
        """Arms leave service, not the study; their pulls can still be told."""
        study = make_study("s", letters("a", "b"), seed=1)
        play(study, 20, lambda pull: 0.5)
        late = study.ask(count=10)
        before = facts_of(study)
        study.update_space(letters("b", "c"))
        counts, arms, pulls = facts_of(study)
        assert (pulls, counts | {"space_version": 1}) == (before[2], before[0])
        assert counts["space_version"] == 2
        assert study.space == letters("b", "c")
        for old, new in zip(before[1], arms, strict=True):
            assert new.state == ("retired" if old.config["letter"] == "a" else "active")
            assert (new.n_rewards, new.mean, new.n_pending) == (
                old.n_rewards,
                old.mean,
                old.n_pending,
            )
        assert {pull.config["letter"] for pull in study.ask(count=50)} == {"b", "c"}
        for pull in late:
            study.tell(pull.id, 1.0)
        assert study.n_rewards == 30

    def test_an_arm_that_is_allowed_again_comes_back_with_what_it_knew(
        self, make_study: MakeStudy
    ) -> None:
        """Under its old id, in its old state."""
        study = make_study("s", letters("a", "b", "c", "d"), seed=1)
        play(study, 40, lambda pull: 0.5)
        ids = {letter: arm_with(study, letter=letter).id for letter in "abcd"}
        study.pause(ids["b"])
        study.retire(ids["c"])
        before = study.arms()
        study.update_space(letters("d"))
        assert [arm.state for arm in study.arms() if arm.id != ids["d"]] == ["retired"] * 3
        study.update_space(letters("a", "b", "c", "d"))
        assert study.arms() == before
        assert _served(study) == {ids["a"], ids["d"]}

    def test_retiring_an_arm_that_the_space_retired_is_for_good(
        self, make_study: MakeStudy
    ) -> None:
        """What a person retired does not come back by itself."""
        study = make_study("s", letters("a", "b"), seed=1)
        study.ask(count=4)
        arm = arm_with(study, letter="a")
        study.update_space(letters("b"))
        study.retire(arm)
        study.update_space(letters("a", "b"))
        assert arm_with(study, letter="a").state == "retired"
        assert arm.id not in _served(study)

    def test_a_new_choice_is_explored_at_once(self, make_study: MakeStudy) -> None:
        """The first request after the change serves it, however long the study ran before."""
        study = make_study("s", letters("a", "b"), seed=1, **QUICK)
        play(study, 200, lambda pull: 1.0)
        study.update_space(letters("a", "b", "c"))
        pull = study.ask()
        assert pull.config == {"letter": "c"}
        assert pull.reason != "index"

    def test_another_space_restarts_the_growth_schedule(self, make_study: MakeStudy) -> None:
        """A wider range makes arms due that the old schedule would not have admitted yet."""
        narrow, wide = Space(x=Float(0, 1)), Space(x=Float(0, 2))
        kept, widened = (make_study(name, narrow, seed=3, **QUICK) for name in "ab")
        for study in (kept, widened):
            play(study, 130, lambda pull: 0.5)
        widened.update_space(wide)
        reasons = [[pull.reason for pull in play(s, 9, lambda pull: 0.5)] for s in (kept, widened)]
        assert reasons[0].count("expand") <= 2
        # |M| - N_0 < 3 (t - t_0)^(1/2): true at each of the first nine rounds after the change.
        assert reasons[1] == ["expand"] * 9

    def test_the_same_space_again_changes_nothing(self, make_study: MakeStudy) -> None:
        """Not even the next decision."""
        left, right = (make_study(name, mixed_space(), seed=3, **QUICK) for name in "ab")
        for study in (left, right):
            play(study, 30, lambda pull: 0.5)
        before = facts_of(left)
        left.update_space(mixed_space())
        assert facts_of(left) == before
        assert [p.config for p in left.ask(count=20)] == [p.config for p in right.ask(count=20)]

    def test_an_arm_of_another_numeric_type_is_the_same_arm(self, make_study: MakeStudy) -> None:
        """1 of a Choice and 1.0 of a Float are one configuration; True is another."""
        study = make_study("s", Space(x=Choice(1, True)), seed=3)
        play(study, 10, lambda pull: 0.5)
        study.update_space(Space(x=Float(0, 1)))
        arms = {repr(arm.config["x"]): arm for arm in study.arms()}
        assert (arms["1"].state, arms["True"].state) == ("active", "retired")
        assert study.add_arm({"x": 1.0}).id == arms["1"].id

    # --- add_arm --------------------------------------------------------------------------------

    def test_an_arm_added_by_hand_is_served_soon(self, make_study: MakeStudy) -> None:
        """It is valid, active, new and unknown, so the index is curious about it."""
        study = make_study("s", mixed_space(), seed=1, **QUICK)
        play(study, 100, lambda pull: 0.5)
        arm = study.add_arm({"top_k": 3.0, "model": "small", "temperature": 1})
        assert arm.config == {"model": "small", "temperature": 1.0, "top_k": 3}
        assert (arm.origin, arm.state, arm.n_pulls, arm.mean) == ("manual", "active", 0, None)
        assert study.arms()[-1] == arm
        assert arm.id in {pull.arm for pull in study.ask(count=5)}

    def test_an_arm_can_be_added_before_the_first_request(self, make_study: MakeStudy) -> None:
        """Known good configurations may come first."""
        study = make_study("s", letters("a", "b"), seed=1)
        assert study.add_arm({"letter": "a"}).id == 1
        assert _served(study) == {1, 2}

    def test_adding_a_known_arm_makes_it_active_and_keeps_its_rewards(
        self, make_study: MakeStudy
    ) -> None:
        """Whether it was active, paused or retired."""
        study = make_study("s", letters("a", "b"), seed=1)
        play(study, 10, lambda pull: 0.5)
        before = arm_with(study, letter="a")
        assert study.add_arm({"letter": "a"}) == before
        study.pause(before)
        assert study.add_arm({"letter": "a"}) == before
        study.retire(before)
        assert study.add_arm({"letter": "a"}) == before
        assert study.arms()[before.id - 1] == before
        assert study.n_arms == 2
        assert before.id in _served(study)

    def test_many_are_added_as_one_after_the_other(self, make_study: MakeStudy) -> None:
        """New ones in order, a repeated one once, and known ones become active again."""
        study = make_study("s", letters(*"abcdef"), seed=1, **QUICK)
        first, second = study.add_arm({"letter": "a"}), study.add_arm({"letter": "b"})
        study.pause(first)
        wanted = ["c", "a", "d", "c", "b"]
        arms = study.add_arms([{"letter": letter} for letter in wanted])
        assert [arm.id for arm in arms] == [3, first.id, 4, 3, second.id]
        assert [arm.config["letter"] for arm in arms] == wanted
        assert [arm.state for arm in arms] == ["active"] * 5
        assert [arm.origin for arm in study.arms()] == ["manual"] * 4
        assert study.arms()[2:] == [arms[0], arms[2]]
        before = facts_of(study), study.events()
        assert study.add_arms([{"letter": letter} for letter in wanted]) == arms
        assert study.add_arms([]) == []
        assert (facts_of(study), study.events()) == before

    def test_many_that_are_added_are_one_event(self, make_study: MakeStudy) -> None:
        """It says which are new and which are back."""
        study = make_study("s", letters(*"abcdef"), seed=1, **QUICK)
        study.add_arms([{"letter": letter} for letter in "abc"])
        study.retire(2)
        study.add_arms([{"letter": letter} for letter in "bd"])
        study.pause(1)
        study.add_arms([{"letter": "a"}])
        events = [event for event in study.events() if event.kind == "arms"]
        assert [event.data for event in events] == [
            {"first": 1, "last": 3, "resumed": []},
            {"first": 4, "last": 4, "resumed": [2]},
            {"first": None, "last": None, "resumed": [1]},
        ]
        assert [str(event) for event in events] == [
            "arms 1 to 3 were added by hand",
            "arm 4 was added by hand, and 1 arm was resumed",
            "1 arm was resumed",
        ]

    def test_all_of_many_are_added_or_none(self, make_study: MakeStudy) -> None:
        """The error says which one is wrong."""
        study = make_study("s", letters("a", "b", "c"), seed=1, **QUICK)
        study.pause(study.add_arm({"letter": "a"}))
        with refused(study, InvalidConfig, "z") as caught:
            study.add_arms([{"letter": "a"}, {"letter": "b"}, {"letter": "z"}])
        assert "configuration 3 of 3" in str(caught.value)
        with refused(study, InvalidConfig):
            study.add_arms([{"letter": "b"}, None])  # type: ignore[list-item]
        for wrong in ({"letter": "b"}, "b", 3, None):
            with refused(study, InvalidSetting, wrong):
                study.add_arms(wrong)  # type: ignore[arg-type]
        with refused(study, InvalidSetting, 10_001):
            study.add_arms([{"letter": "b"}] * 10_001)

    # --- pause, resume, retire ------------------------------------------------------------------

    def test_a_paused_arm_is_not_served_until_it_is_resumed(self, make_study: MakeStudy) -> None:
        """Pausing takes an arm or its id and returns the arm as it is now."""
        study = make_study("s", letters("a", "b", "c"), seed=1)
        play(study, 30, lambda pull: 0.9 if pull.config["letter"] == "a" else 0.1)
        arm = arm_with(study, letter="a")
        paused = study.pause(arm)
        assert (paused.state, paused.n_rewards) == ("paused", arm.n_rewards)
        assert study.pause(arm.id) == paused
        assert arm.id not in _served(study)
        assert study.resume(arm.id).state == "active"
        assert study.resume(arm).state == "active"
        assert arm.id in _served(study)

    def test_a_retired_arm_is_never_served_again(self, make_study: MakeStudy) -> None:
        """It cannot be paused or resumed; retiring it again changes nothing."""
        study = make_study("s", letters("a", "b", "c"), seed=1)
        play(study, 30, lambda pull: 0.5)
        arm = arm_with(study, letter="a")
        retired = study.retire(arm)
        assert (retired.state, retired.mean) == ("retired", 0.5)
        assert study.retire(arm.id) == retired
        for change in (study.resume, study.pause):
            with refused(study, InvalidSetting, arm.id):
                change(arm)
        assert arm.id not in _served(study)
        assert study.n_arms == 3

    def test_pulls_of_an_arm_out_of_service_can_still_be_told(self, make_study: MakeStudy) -> None:
        """What was served was served."""
        study = make_study("s", letters("a", "b"), seed=1)
        pulls = study.ask(count=10)
        first, second = study.arms()
        study.pause(first)
        study.retire(second)
        for pull in pulls:
            study.tell(pull.id, 1.0)
        assert sum(arm.n_rewards for arm in study.arms()) == study.n_rewards == 10

    @pytest.mark.parametrize("change", ["pause", "resume", "retire"])
    def test_an_unknown_arm_is_refused(self, make_study: MakeStudy, change: str) -> None:
        """An arm is named by the whole number that arms() shows."""
        study = make_study("s", letters("a"), seed=1)
        for _ in range(2):
            for arm in UNKNOWN:
                with refused(study, UnknownArm, arm):
                    getattr(study, change)(arm)
            study.ask()

    @pytest.mark.parametrize("verb", WRONG)
    def test_a_wrong_argument_is_refused(self, make_study: MakeStudy, verb: str) -> None:
        """And nothing changes."""
        study = make_study("s", letters("a", "b"), seed=1)
        play(study, 1, lambda pull: 1.0)
        error, values = WRONG[verb]
        for value in values:
            with refused(study, error, None if error is InvalidConfig else value):
                getattr(study, verb)(value)

    def test_with_every_arm_paused_the_study_looks_for_another(self, make_study: MakeStudy) -> None:
        """As long as the space has one."""
        study = make_study("s", letters("a", "b", "c"), policy=policies.UCBAIR(), seed=1)
        study.pause(study.ask().arm)
        study.pause(study.ask().arm)
        assert study.ask().arm == 3

    @pytest.mark.parametrize("change", ["pause", "retire"])
    def test_with_nothing_left_the_study_says_so_and_recovers(
        self, make_study: MakeStudy, change: str
    ) -> None:
        """A request is refused, one or many, and works again when an arm is back."""
        study = make_study("s", letters("a", "b", "c"), seed=1)
        play(study, 10, lambda pull: 0.5)
        for arm in study.arms():
            getattr(study, change)(arm)
        with refused(study, NothingToServe):
            study.ask()
        with refused(study, NothingToServe):
            study.ask(count=3)
        with refused(study, NothingToServe), study.serve():
            pass
        if change == "pause":
            study.resume(2)
            assert _served(study, 5) == {2}
        else:
            study.add_arm(study.arms()[1].config)
            assert _served(study, 5) == {2}
        study.update_space(letters("a", "b", "c", "d"))
        assert study.ask().config == {"letter": "d"}
