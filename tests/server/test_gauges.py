"""What each study's gauges say, and that asking for them costs little."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from imabo import Control, Float, Guardrail, Space, Study
from imabo.server.app import make_app
from imabo.server.context import Parts
from imabo.server.gauges import LOOK_BACK, RECENT, Gauges, lift_of
from imabo.server.settings import Settings
from imabo.stores import MemoryStore
from imabo.stores.base import PullRecord
from tests.server.test_metrics import values


class Counted(MemoryStore):
    """Counts the pulls that are read."""

    n_read = 0

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        found = super().pulls(name, after=after, limit=limit)
        self.n_read += len(found)
        return found


def parts_at(clock: list[float], store: MemoryStore, **settings: Any) -> Parts:
    """A service that is not running, with a study named ``s``."""
    Study.create("s", Space(x=Float(0, 1)), store=store, seed=0, clock=lambda: clock[0], **settings)
    parts = make_app(store, Settings(proposals=False), clock=lambda: clock[0]).parts
    parts.registry.study("s")
    return parts


def shown(parts: Parts) -> dict[str, float]:
    """The gauges of the study, by name."""
    found = values(parts.metrics.text(None).decode())
    return {name: value for (name, labels), value in found.items() if dict(labels).get("study")}


def test_a_study_that_nobody_asked_shows_only_what_is_known() -> None:
    found = shown(parts_at([1000.0], MemoryStore()))
    assert found["imabo_rolled_back"] == found["imabo_study_rewards"] == 0
    absent = {"imabo_reward_recent", "imabo_feedback_rate", "imabo_last_request_age_seconds"}
    assert not (absent | {"imabo_lift", "imabo_lift_low", "imabo_lift_high"}) & set(found)


def test_gauges_tell_of_rewards_feedback_and_the_last_request() -> None:
    clock = [1000.0]
    parts = parts_at(clock, MemoryStore(), reward_range=(0.0, 10.0), window_s=100.0)
    study = parts.registry.study("s")
    pulls = study.ask(count=4)
    for pull, reward in zip(pulls, (2.0, 4.0), strict=False):
        study.tell(pull.id, reward)
    clock[0] = 1050.0
    found = shown(parts)
    assert found["imabo_reward_recent"] == pytest.approx(3.0)
    assert (found["imabo_reward_sum"], found["imabo_study_rewards"]) == (6.0, 2)
    assert found["imabo_last_request_age_seconds"] == 50.0
    assert found["imabo_feedback_rate"] == 1.0


def test_only_requests_are_traffic() -> None:
    """Not what expires, what an operator does, and a reward that comes late."""
    clock = [1000.0]
    parts = parts_at(clock, MemoryStore(), window_s=10.0)
    study = parts.registry.study("s")
    pulls = study.ask(count=3)
    clock[0] = 1100.0
    study.expire()
    clock[0] = 1200.0
    study.pause(1)
    study.tell(pulls[0].id, 0.5)
    clock[0] = 1300.0
    assert shown(parts)["imabo_last_request_age_seconds"] == 300.0


def test_the_mean_is_of_the_newest_rewards_and_is_bounded_to_read() -> None:
    clock, store = [1000.0], Counted()
    parts = parts_at(clock, store)
    study = parts.registry.study("s")
    for reward in (0.0, 1.0):
        study.tell_many([(pull.id, reward) for pull in study.ask(count=RECENT)])
    assert shown(parts)["imabo_reward_recent"] == 1.0
    assert store.n_read <= RECENT
    silent, other = Counted(), [1000.0]
    parts = parts_at(other, silent)
    late = parts.registry.study("s")
    first = late.ask(count=1)[0]
    late.ask(count=LOOK_BACK + 500)
    late.tell(first.id, 1.0)
    assert "imabo_reward_recent" not in shown(parts)
    assert silent.n_read <= LOOK_BACK


def test_a_study_is_read_again_when_it_has_changed_and_some_time_has_passed() -> None:
    store, now = Counted(), [0.0]
    study = Study.create("s", Space(x=Float(0, 1)), store=store, seed=0)
    gauges = Gauges(now=lambda: now[0])
    study.tell(study.ask().id, 1.0)
    gauges.read([study], is_away=True)
    assert store.n_read == 0, "not while the database is away"
    assert gauges.read([study], is_away=False)[0][1].reward_recent == 1.0
    n_read = store.n_read
    study.tell(study.ask().id, 0.0)
    now[0] = 1.0
    assert gauges.read([study], is_away=False)[0][1].reward_recent == 1.0
    now[0] = 6.0
    assert gauges.read([study], is_away=False)[0][1].reward_recent == 0.5
    n_more = store.n_read
    assert n_more > n_read
    now[0] = 100.0
    gauges.read([study], is_away=False)
    assert store.n_read == n_more, "nothing has changed since"


def test_when_everything_was_pruned_the_last_milestone_tells() -> None:
    clock = [1000.0]
    parts = parts_at(clock, MemoryStore())
    study = parts.registry.study("s")
    study.tell_many([(pull.id, 0.5) for pull in study.ask(count=64)])
    parts.registry.store.prune("s", before=2000.0)
    clock[0] = 5000.0
    assert shown(parts)["imabo_last_request_age_seconds"] == 4000.0


def test_a_lift_is_shown_with_both_ends_once_it_is_known() -> None:
    clock = [1000.0]
    today = Control({"x": 0.5}, share=0.5)
    parts = parts_at(clock, MemoryStore(), control=today)
    study = parts.registry.study("s")
    names = {"imabo_lift", "imabo_lift_low", "imabo_lift_high"}
    pulls = study.ask(count=1200)
    study.tell(pulls[0].id, 1.0)
    assert not names & set(shown(parts)), "one reward says nothing"
    parts.metrics._gauges = Gauges()
    study.tell_many([(pull.id, 0.9 if pull.group == "tuned" else 0.5) for pull in pulls[1:]])
    found, lift = shown(parts), study.lift()
    assert found["imabo_lift"] == lift.estimate
    assert (found["imabo_lift_low"], found["imabo_lift_high"]) == lift.interval
    assert 0 < found["imabo_lift_low"] < 0.4 < found["imabo_lift_high"]


def test_roll_backs_are_shown_and_those_of_the_guardrail_counted() -> None:
    settings: dict[str, Any] = {"control": Control({"x": 0.5}, share=0.5)}
    parts = parts_at([1000.0], MemoryStore(), guardrail=Guardrail(margin=0.02), **settings)
    study = parts.registry.study("s")
    study.roll_back(reason="by hand")
    found = shown(parts)
    assert (found["imabo_rolled_back"], found["imabo_rollbacks_total"]) == (1.0, 0.0)
    study.resume()
    assert shown(parts)["imabo_rolled_back"] == 0.0
    while study.state == "tuning":
        pulls = study.ask(count=200)
        study.tell_many([(pull.id, float(pull.group == "control")) for pull in pulls])
    found = shown(parts)
    assert (found["imabo_rolled_back"], found["imabo_rollbacks_total"]) == (1.0, 1.0)


def test_nobody_waits_for_a_study_that_a_request_holds() -> None:
    clock, store = [1000.0], MemoryStore()
    parts = parts_at(clock, store, control=Control({"x": 0.5}, share=0.5))
    study, (held, let_go) = parts.registry.study("s"), (threading.Event(), threading.Event())
    for pull in study.ask(count=400):
        study.tell(pull.id, 1.0 if pull.group == "tuned" else 0.0)
    known = lift_of(study)
    assert known is not None

    def hold() -> None:
        with study._lock:
            held.set()
            let_go.wait(60.0)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(60.0)
        assert lift_of(study, known) == known  # and not after half a minute
        assert not let_go.is_set()
    finally:
        let_go.set()
        holder.join()
