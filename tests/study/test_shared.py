"""Studies of one service's processes: views may be a moment old, what is written is exact."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from imabo import Float, Space, Study
from imabo.arms import ActiveSet
from imabo.engine.requests import Asked, Request
from imabo.errors import KeyConflict, UnknownStudy
from imabo.oracles import Proposal, Random
from imabo.policies import IMOSS
from imabo.stores import Store, open_store
from imabo.testing.stores.facts import check_sums

SPACE = Space(x=Float(0.0, 1.0))


class Hand:
    """A proposer that is filled by hand."""

    def __init__(self) -> None:
        self.configs: list[dict[str, Any]] = []

    @property
    def n_ready(self) -> int:
        return len(self.configs)

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        return Proposal(self.configs.pop(0)) if self.configs else None


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Store]:
    where = None if request.param == "memory" else f"sqlite:///{tmp_path}/imabo.db"
    store = open_store(where)
    yield store
    store.close()


@pytest.fixture
def pair(store: Store) -> tuple[Study, Study]:
    """One study as two processes have it, with 10 arms, and 10 pulls that were rewarded."""
    policy = IMOSS(beta=0.3, warmup=10)
    one = Study.create("study", SPACE, policy=policy, oracle=Random(), store=store, seed=0)
    for pull in one.ask(10):
        one.tell(pull.id, 0.5)
    two = Study.open("study", store=store)
    for study in (one, two):
        study.use_proposer(Hand())
    return one, two


def numbers(pulls: list[Any]) -> list[int]:
    return [int(pull.id.rpartition("-")[2]) for pull in pulls]


def test_a_view_that_is_old_serves_all_the_same(pair: tuple[Study, Study], store: Store) -> None:
    one, two = pair
    assert numbers(one.ask(3)) == [11, 12, 13]
    seq = two.seq
    assert numbers(two.ask(2)) == [14, 15]
    assert two.seq == seq, "it has not seen what the other wrote, and knows that"
    two.refresh()
    assert two.seq == store.load("study").seq
    assert two.n_pulls == 15
    check_sums(store)


def test_alone_the_view_stays_the_newest(pair: tuple[Study, Study], store: Store) -> None:
    one, _ = pair
    for pull in one.ask(5):
        one.tell(pull.id, 1.0)
    assert one.seq == store.load("study").seq


def test_rewards_count_in_a_view_that_is_old(pair: tuple[Study, Study], store: Store) -> None:
    one, two = pair
    (pull,) = one.ask(1)
    two.tell(pull.id, 1.0)
    (other,) = two.ask(1)
    one.tell(other.id, 0.0)
    assert [study.n_rewards for study in pair] == [11, 11]
    for study in pair:
        study.refresh()
    assert [study.n_rewards for study in pair] == [12, 12]
    check_sums(store)


def test_a_key_is_answered_alike_by_both(pair: tuple[Study, Study]) -> None:
    one, two = pair
    first = one.ask(2, key="k", context={"user": 1})
    again = two.ask(2, key="k", context={"user": 1})
    assert [p.id for p in again] == [p.id for p in first]
    assert [p.context for p in again] == [{"user": 1}] * 2
    assert two.n_pulls == 12
    with pytest.raises(KeyConflict):
        two.ask(3, key="k")


def test_a_key_that_comes_twice_in_a_group_is_one_request(pair: tuple[Study, Study]) -> None:
    one, two = pair
    one.ask(4)
    asked = two.ask_many([Request(key="a"), Request(key="a"), Request(key="b")])
    pulls = [pull for each in asked if isinstance(each, Asked) for pull in each.pulls]
    assert numbers(pulls) == [15, 15, 16]


def test_an_arm_that_the_other_paused_is_not_served(pair: tuple[Study, Study]) -> None:
    one, two = pair
    favourite = two.ask().arm
    for arm in range(1, 11):
        if arm != favourite % 10 + 1:
            one.pause(arm)
    assert {pull.arm for pull in two.ask(20)} == {favourite % 10 + 1}


def test_new_arms_come_in_turn(pair: tuple[Study, Study], store: Store) -> None:
    """Both have a proposal ready, and the schedule has room for one arm only."""
    one, _ = pair
    for study in pair:
        proposer = Hand()
        proposer.configs = [{"x": 0.111 if study is one else 0.222}]
        study.use_proposer(proposer)
    reasons: list[str] = []
    while "prepared" not in reasons and len(reasons) < 5000:
        for study in pair:
            pulls = study.ask(10)
            reasons += [pull.reason for pull in pulls]
            study.tell_many([(pull.id, 0.5) for pull in pulls])
    rounds = store.load("study").totals.n_rewards
    arms = store.load("study").arms
    assert len(arms) <= (rounds + 1) ** 0.3 + 1
    assert len(arms) == 10 + reasons.count("prepared")
    check_sums(store)


def test_a_study_that_was_made_again_is_not_served_for_the_old_one(
    pair: tuple[Study, Study], store: Store
) -> None:
    _, two = pair
    store.delete("study")
    again = Study.create("study", SPACE, policy=IMOSS(), oracle=Random(), store=store, seed=1)
    again.ask(10)
    with pytest.raises(UnknownStudy):
        two.ask()
    assert again.n_pulls == 10


def test_threads_of_both_share_the_numbers(pair: tuple[Study, Study], store: Store) -> None:
    seen: list[str] = []

    def work(study: Study) -> None:
        for _ in range(25):
            pulls = study.ask(3)
            seen.extend(pull.id for pull in pulls)
            study.tell_many([(pull.id, 0.25) for pull in pulls])

    threads = [threading.Thread(target=work, args=(study,)) for study in pair * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen) == 300
    assert store.load("study").totals.n_rewards == 310
    check_sums(store)
