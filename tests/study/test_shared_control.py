"""The control of a study that several processes of a service share."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from imabo import Choice, Control, Float, Guardrail, Space, Study
from imabo.oracles import Random
from imabo.policies import IMOSS
from imabo.stores import Store, open_store
from imabo.testing.audit import audit
from tests.study.test_shared import Hand

SPACE = Space(x=Float(0.0, 1.0), y=Choice(1, 2))
TODAY = {"x": 0.5, "y": 1}


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Store]:
    where = None if request.param == "memory" else f"sqlite:///{tmp_path}/imabo.db"
    store = open_store(where)
    yield store
    store.close()


def pair(store: Store, control: Control, **settings: Any) -> tuple[Study, Study]:
    """One study as two processes of a service have it, past its warm-up."""
    policy = IMOSS(beta=0.3, warmup=10)
    one = Study.create(
        "study", SPACE, policy=policy, oracle=Random(), store=store, seed=0, control=control,
        **settings,
    )  # fmt: skip
    for pull in one.ask(30):
        one.tell(pull.id, 0.5)
    two = Study.open("study", store=store)
    for study in (one, two):
        study.use_proposer(Hand())
    return one, two


def test_no_view_serves_another_rollout_than_the_newest(store: Store) -> None:
    one, two = pair(store, Control(TODAY, share=0.1))
    one.roll_back(reason="3 am")
    assert two.state == "tuning", "it has not heard of it"
    assert {pull.arm for pull in two.ask(40)} == {1}
    assert two.rollout.state == "rolled back"
    two.resume()
    groups = Counter(pull.group for pull in one.ask(200))
    assert groups["tuned"] > groups["control"] > 0
    assert audit(store, "study", is_shared=True) == []


@pytest.mark.parametrize("control", [Control(TODAY, share=0.25), Control.random(0.25)])
def test_each_request_has_a_coin_of_its_own(store: Store, control: Control) -> None:
    """Not that of a number which two views may both give: their groups would be the same."""
    one, two = pair(store, control)
    seen = [[pull.group for pull in study.ask(400)] for study in (one, two)]
    assert seen[0] != seen[1]
    n_control = sum(groups.count("control") for groups in seen)
    assert 140 < n_control < 260  # of 800, five standard errors
    # Whether a request needs a second try depends on what is decided; its coin does not.
    one.update_control(exposure=0.5)
    hand = Hand()
    hand.configs = [{"x": n / 1000, "y": 1} for n in range(300)]
    one.use_proposer(hand)
    groups = [one.ask().group for _ in range(600)]
    assert 300 < groups.count("control") < 450  # 0.625 of 600
    runs = sum(a != b for a, b in pairwise(groups))
    assert 220 < runs < 345  # as of independent coins: 281
    assert audit(store, "study", is_shared=True) == []


@pytest.mark.parametrize("control", [Control(TODAY, share=0.1), Control.random(0.3)])
def test_what_a_service_served_is_followed_by_a_replay(store: Store, control: Control) -> None:
    one, two = pair(store, control)
    for study in (one, two, one):
        study.refresh()
        hand = Hand()
        hand.configs = [{"x": study.n_pulls / 1000, "y": 2}]
        study.use_proposer(hand)
        for pull in study.ask(60):
            study.tell(pull.id, 0.25 * (pull.arm % 5))
    files = []
    for study in (one, Study.replay(lines_of(one))):
        files.append(lines_of(study)[1:])
        assert study.lift() == two.lift()
    assert files[0] == files[1]


def lines_of(study: Study) -> list[str]:
    file = io.StringIO()
    study.export(file, "jsonl")
    return file.getvalue().splitlines()


def test_two_that_both_notice_a_loss_roll_back_once(store: Store) -> None:
    one, two = pair(store, Control(TODAY, share=0.5), guardrail=Guardrail(margin=0.0))
    for _ in range(20):
        for study in (one, two):
            for pull in study.ask(16):
                study.tell(pull.id, 1.0 if pull.group == "control" else 0.0)
    kinds = [event.kind for event in one.events()]
    assert kinds.count("rolled back") == 1
    assert {one.ask().group, two.ask().group} == {"control"}
