"""Proposals in the background: taken when ready, never waited for, made anew."""

from __future__ import annotations

import io
import logging
import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from imabo import Choice, Float, Space, Study
from imabo.arms import ActiveSet
from imabo.oracles import GP, Oracle
from imabo.oracles.base import Proposal
from imabo.policies import IMOSS
from imabo.server.proposals import Proposals, StudyProposals

from .slow import Failing, Slow

SPACE = Space(x=Float(0, 1), y=Float(0, 1))


@pytest.fixture
def proposals() -> Iterator[Proposals]:
    proposals = Proposals()
    yield proposals
    proposals.close()


def study_with(oracle: Oracle, space: Space = SPACE, **settings: Any) -> Study:
    return Study.create("s", space, oracle=oracle, seed=0, **settings)


def play(study: Study, rounds: int, after: Callable[[], None] = lambda: None) -> list[str]:
    """Ask and tell; returns the reasons."""
    reasons = []
    for _ in range(rounds):
        pull = study.ask()
        reasons.append(pull.reason)
        study.tell(pull.id, 0.5)
        after()
    return reasons


def until(true: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            pytest.fail("it never came true")
        time.sleep(0.005)


def prepared(mine: StudyProposals) -> bool:
    """Go on preparing; whether a proposal is ready."""
    mine.refresh()
    return mine.n_ready > 0


class Hand:
    """A proposer that is filled by hand."""

    def __init__(self, *configs: dict[str, Any]) -> None:
        self.configs = list(configs)

    @property
    def n_ready(self) -> int:
        return len(self.configs)

    def take(self, view: ActiveSet, space_version: int) -> Proposal | None:
        return Proposal(self.configs.pop(0)) if self.configs else None


def test_without_a_ready_proposal_a_known_arm_is_served_and_the_next_request_tries_again() -> None:
    study = study_with(Slow(1e9))
    study.use_proposer(Hand())
    reasons = play(study, 30)
    assert set(reasons[:10]) == {"warmup"}
    assert "waiting" in reasons[10:]
    assert set(reasons[10:]) <= {"waiting", "index"}
    study.use_proposer(Hand({"x": 0.25, "y": 0.5}))
    pull = study.ask()
    assert (pull.reason, pull.config) == ("prepared", {"x": 0.25, "y": 0.5})
    assert study.arms()[-1].origin == "oracle"


def test_a_proposal_that_is_an_arm_by_now_is_replaced() -> None:
    study = study_with(Slow(1e9))
    study.use_proposer(Hand())
    play(study, 20)
    study.use_proposer(Hand(dict(study.arms()[0].config)))
    pull = study.ask()
    assert study.n_arms == 11
    assert pull.config not in [arm.config for arm in study.arms()[:10]]


def test_with_no_arm_to_serve_a_request_does_not_wait_for_the_oracle_either() -> None:
    study = study_with(Slow(1e9), policy=IMOSS(warmup=0))
    study.use_proposer(Hand())
    assert study.ask().reason == "expand"


def test_an_exhausted_space_goes_on_with_its_arms() -> None:
    study = study_with(Slow(1e9), Space(letter=Choice("a", "b")))
    study.use_proposer(Hand())
    assert set(play(study, 20)[2:]) == {"index"}


def test_a_slow_oracle_does_not_hold_up_requests(proposals: Proposals) -> None:
    study = study_with(Slow(600.0))
    mine = proposals.attach(study)
    play(study, 10)
    began = time.monotonic()
    reasons = play(study, 50, mine.refresh)
    # To wait for a single one of its proposals would have taken ten minutes.
    assert time.monotonic() - began < 300.0
    assert not [reason for reason in reasons if "prepared" in reason]


def test_beliefs_of_a_prepared_proposal_reach_the_study(proposals: Proposals) -> None:
    study = study_with(GP(epsilon=0.0))
    mine = proposals.attach(study)
    play(study, 30)
    mine.refresh()
    until(lambda: mine.n_ready)
    # Arms that came in since then are nothing to it.
    study.add_arm({"x": 0.123, "y": 0.456})
    until(lambda: study.ask().reason == "prepared")
    counts = study.view.prior_counts
    assert counts[study.view.row_of(study.n_arms)] > 0
    assert counts[study.view.row_of(11)] == 0
    assert study.view.model_state is not None


def test_a_proposal_is_made_anew_as_rewards_arrive(
    proposals: Proposals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imabo.server.proposals._STALE_S", 0.0)
    study = study_with(Slow(0.0), policy=IMOSS(beta=0.01))
    mine = proposals.attach(study)
    play(study, 12)
    until(lambda: prepared(mine))
    first = mine._ready
    mine.refresh()
    assert mine._ready is first
    play(study, 40)
    until(lambda: prepared(mine) and mine._ready is not first)


def test_a_change_of_the_space_discards_what_is_ready(proposals: Proposals) -> None:
    study = study_with(Slow(0.0))
    mine = proposals.attach(study)
    play(study, 12)
    until(lambda: prepared(mine))
    study.update_space(Space(x=Float(0, 1), y=Float(0, 1), z=Float(0, 1)))
    assert study.read(lambda view: mine.take(view, study.space_version)) is None


def test_a_failing_oracle_is_reported_and_tried_again_later(
    proposals: Proposals, caplog: pytest.LogCaptureFixture
) -> None:
    study = study_with(Failing())
    mine = proposals.attach(study)
    play(study, 12)
    with caplog.at_level(logging.WARNING, "imabo.server"):
        mine.refresh()
        until(lambda: "no luck today" in caplog.text)
    assert play(study, 5)[-1] == "waiting"
    caplog.clear()
    mine.refresh()  # too soon
    time.sleep(0.2)
    assert not caplog.text


def worker_of(proposals: Proposals, mine: StudyProposals) -> Any:
    until(lambda: prepared(mine))
    (worker,) = [p for p in multiprocessing.active_children() if "Spawn" in p.name]
    return worker


def test_a_worker_that_was_killed_is_replaced(
    proposals: Proposals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("imabo.server.proposals._PAUSES_S", (0.0, 0.0))
    study = study_with(Slow(0.0))
    mine = proposals.attach(study)
    play(study, 12)
    worker_of(proposals, mine).kill()
    study.read(lambda view: mine.take(view, study.space_version))
    until(lambda: prepared(mine))


def test_closing_ends_the_worker_in_the_middle_of_its_work() -> None:
    proposals = Proposals()
    quick, slow = study_with(Slow(0.0)), study_with(Slow(600.0))
    mine = proposals.attach(quick)
    play(quick, 12)
    worker = worker_of(proposals, mine)
    other = proposals.attach(slow)
    play(slow, 12)
    other.refresh()
    proposals.close()
    assert not worker.is_alive()
    other.refresh()  # harmless


def test_what_a_service_served_can_be_replayed(proposals: Proposals) -> None:
    study = study_with(GP())
    mine = proposals.attach(study)
    play(study, 40, mine.refresh)
    until(lambda: prepared(mine))
    assert "prepared" in play(study, 40, mine.refresh)
    log = io.StringIO()
    study.export(log)
    again = Study.replay(log.getvalue().splitlines(), oracle=GP())
    assert again.arms() == study.arms()
    assert [pull.config for pull in again] == [pull.config for pull in study]
