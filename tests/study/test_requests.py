"""Requests with keys and contexts, many at once, rewards in batches, retention."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from numpy.testing import assert_array_equal

from imabo import Float, Space, Study
from imabo.arms import Pull
from imabo.engine.requests import Asked, Request
from imabo.errors import InvalidReward, InvalidSetting, KeyConflict, UnknownPull
from imabo.stores import MemoryStore, SQLiteStore, Store
from imabo.testing.study.base import ManualClock, facts_of, play, refused

SPACE = Space(x=Float(0, 1))


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Store:
    return MemoryStore() if request.param == "memory" else SQLiteStore(f"{tmp_path}/imabo.db")


@pytest.fixture
def study(store: Store) -> Study:
    return Study.create("s", SPACE, store=store, seed=0, clock=ManualClock(1000.0))


def test_a_retried_request_gets_the_same_pull(study: Study) -> None:
    first = study.ask(key="request-1", context={"user": 7})
    before = facts_of(study)
    assert study.ask(key="request-1") == first
    assert facts_of(study) == before
    assert study.pull(first.id).context == {"user": 7}
    assert study.ask(key="request-2").id != first.id


def test_a_key_works_in_another_process_and_after_a_reward(study: Study, store: Store) -> None:
    first = study.ask(2, key="a")
    study.tell(first[0].id, 0.5)
    again = Study.open("s", store=store).ask(2, key="a")
    assert [pull.id for pull in again] == [pull.id for pull in first]
    assert [pull.state for pull in again] == ["rewarded", "pending"]


def test_a_repetition_is_known_as_one_whatever_the_view_has_seen(
    study: Study, store: Store
) -> None:
    other = Study.open("s", store=store)
    study.ask(key="a")
    (again,) = other.ask_many([Request(key="a")])
    assert isinstance(again, Asked)
    assert not again.is_new


def test_a_key_with_another_count_is_a_conflict(study: Study) -> None:
    study.ask(2, key="a")
    with refused(study, KeyConflict, "a"):
        study.ask(3, key="a")


def test_a_key_of_an_arm_that_the_space_no_longer_allows_still_has_its_pull(study: Study) -> None:
    first = study.ask(key="a")
    study.update_space(Space(x=Float(2, 3)))
    assert study.ask(key="a").config == first.config


def test_requests_in_one_call_are_one_transaction(study: Study) -> None:
    served = study.ask_many([Request(), Request(3, "a"), Request(1, "b", "why"), Request(3, "a")])
    asked = [one for one in served if isinstance(one, Asked)]
    assert [len(one.pulls) for one in asked] == [1, 3, 1, 3]
    assert [one.is_new for one in asked] == [True, True, True, False]
    assert asked[1].pulls == asked[3].pulls
    assert asked[2].pulls[0].context == "why"
    assert (study.seq, study.n_pulls) == (1, 5)


def test_they_decide_as_single_ones_do(study: Study) -> None:
    twin = Study.create("twin", SPACE, seed=0)
    together = [one for one in study.ask_many([Request()] * 30) if isinstance(one, Asked)]
    assert [one.pulls[0].config for one in together] == [twin.ask().config for _ in range(30)]


def test_one_conflict_does_not_hold_up_the_others(study: Study) -> None:
    study.ask(key="a")
    conflict, fine = study.ask_many([Request(2, "a"), Request(1, "b")])
    assert isinstance(conflict, KeyConflict)
    assert isinstance(fine, Asked)
    assert study.n_pulls == 2
    assert study.ask_many([]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0},
        {"count": 10_001},
        {"count": 1.5},
        {"key": ""},
        {"key": "k" * 201},
        {"key": 7},
        {"key": "nul\0"},
        {"context": float("nan")},
        {"context": {1}},
        {"context": "x" * 20_000},
    ],
    ids=str,
)
def test_a_request_that_makes_no_sense_changes_nothing(study: Study, wrong: dict[str, Any]) -> None:
    study.ask()
    with refused(study, InvalidSetting):
        study.ask(**wrong)


def test_rewards_of_a_batch_each_have_their_answer(study: Study) -> None:
    one, two, three = study.ask(3)
    study.tell(three.id, 0.25)
    answers = study.tell_many(
        [(one.id, 0.5), ("x-1", 0.5), (two.id, 7.0), (three.id, 0.5), (one.id, 0.5), (two.id, 1)]
    )
    codes = [answer and answer.code for answer in answers]
    assert codes == [None, "unknown_pull", "invalid_reward", "reward_conflict", None, None]
    assert isinstance(answers[1], UnknownPull)
    assert isinstance(answers[2], InvalidReward)
    assert (study.n_rewards, study.seq) == (3, 3)
    assert study.view.totals.reward_sum == 1.75
    assert study.tell_many([]) == []


def test_views_and_store_agree_after_batches(study: Study, store: Store) -> None:
    pulls: list[Pull] = []
    for _ in range(20):
        pulls += study.ask(5)
        study.tell_many([(pull.id, len(pulls) % 7 / 7) for pull in pulls[-4:]])
    other = Study.open("s", store=store)
    assert_array_equal(other.view.means, study.view.means)
    assert_array_equal(other.view.sums_now, study.view.sums_now)
    assert other.view.totals == study.view.totals


def test_history_comes_in_pages(study: Study) -> None:
    pulls = study.ask(25)
    assert study.pulls(limit=10) == pulls[:10]
    assert study.pulls(after=20) == pulls[20:]
    for wrong in ({"limit": 0}, {"limit": 10_001}, {"after": -1}):
        with pytest.raises(InvalidSetting):
            study.pulls(**wrong)


def test_pruning_keeps_what_was_learned(study: Study) -> None:
    play(study, 50, lambda pull: float(pull.config["x"]))  # type: ignore[arg-type]
    waiting = study.ask()
    learned = study.best(), study.arms(), study.n_pulls
    assert study.prune(datetime.fromtimestamp(2000.0, UTC)) == 50
    assert (study.best(), study.arms(), study.n_pulls) == learned
    assert list(study) == [waiting]
    study.tell(waiting.id, 0.5)
    assert study.ask().id.endswith("-52")


@pytest.mark.parametrize("wrong", [1000.0, None, datetime(2026, 1, 1)])
def test_pruning_needs_a_time_with_its_zone(study: Study, wrong: Any) -> None:
    with pytest.raises(InvalidSetting):
        study.prune(wrong)


def test_processes_that_write_at_once_decide_in_turns(store: Store) -> None:
    one = Study.create("s", SPACE, store=store, seed=0)
    two = Study.open("s", store=store)
    ids = set()
    for _ in range(60):
        for study in (one, two):
            pull = study.ask()
            ids.add(pull.id)
            study.tell(pull.id, 0.5)
    assert len(ids) == 120
    alone = Study.create("s", SPACE, seed=0)
    play(alone, 120, lambda _: 0.5)
    one.refresh()
    assert [arm.config for arm in one.arms()] == [arm.config for arm in alone.arms()]
