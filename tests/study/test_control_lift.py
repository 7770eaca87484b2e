"""The lift of a study with a control, and the guardrail that watches it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from imabo import Choice, Control, Guardrail, Signal, Space, Study, policies
from imabo.policies import Policy
from imabo.stores import Store
from imabo.testing.audit import audit
from tests.study.controlled import TODAY, clock, make, run


def test_the_lift_is_known_and_covers_the_truth(store: Store) -> None:
    study = make(store, space=Space(model=Choice("small", "large")), policy=None, oracle=None,
                 control=Control({"model": "small"}, share=0.3))  # fmt: skip
    run(study, 1500)
    lift = study.lift()
    assert lift.interval is not None
    assert lift.estimate is not None
    assert 0.0 < lift.interval[0] < 0.4 < lift.interval[1] + 0.05
    assert lift.n_tuned + lift.n_control == study.n_rewards
    assert lift.served_tuned + lift.served_control == 1500
    assert not lift.is_uneven
    assert str(lift).startswith("Tuned is better than the control: +0.")
    assert list(lift.by_day) == [datetime(1970, 1, 12, tzinfo=UTC).date()]


def test_another_control_is_another_lift_and_another_share_is_not(store: Store) -> None:
    study = make(store)
    run(study, 200)
    before = study.lift()
    waiting = study.ask(count=30)
    study.update_control(Control(TODAY, share=0.5), exposure=0.9)
    assert study.lift().n_tuned == before.n_tuned
    study.update_control(Control({"model": "large", "x": 0.5}, share=0.5))
    for pull in waiting:
        study.tell(pull.id, 1.0)  # of requests that the old control was served for
    after = study.lift()
    assert (after.n_tuned, after.n_control, after.served_tuned, after.served_control) == (0,) * 4
    run(study, 40)
    assert study.lift().n_tuned > 0


def test_feedback_that_comes_for_one_group_alone_is_said() -> None:
    study = make(control=Control(TODAY, share=0.5))
    for pull in study.ask(count=600):
        if pull.group == "tuned" or int(pull.id.rpartition("-")[2]) % 3 == 0:
            study.tell(pull.id, 0.5)
    lift = study.lift()
    assert lift.is_uneven
    assert "33 % of the control's" in str(lift) or "the lift may be wrong" in str(lift)


def test_pruning_leaves_the_lift(store: Store) -> None:
    study = make(store)
    other = Study.open("study", store=store, clock=clock())
    run(study, 300)
    other.lift()
    run(study, 100)
    before = study.lift()
    assert study.prune(datetime.now(UTC) + timedelta(days=1)) > 250
    assert study.lift() == before
    assert other.lift() == before, "it had less, and what it did not have is gone"
    assert Study.open("study", store=store).lift() == before


def test_a_reward_that_comes_while_pruning_is_in_the_lift(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process tells it after the lift was kept, and before the pulls are deleted."""
    study = make(store)
    other = Study.open("study", store=store, clock=clock())
    run(study, 100)
    late = [pull for pull in study.ask(count=20) if pull.group is not None]
    n = study.lift().n_tuned + study.lift().n_control
    prune = type(store).prune

    def slowly(self: Store, *args: Any, **kwargs: Any) -> int:
        monkeypatch.setattr(type(store), "prune", prune)
        for pull in late:
            other.tell(pull.id, 0.5)
        return prune(self, *args, **kwargs)

    monkeypatch.setattr(type(store), "prune", slowly)
    assert study.prune(datetime.now(UTC) + timedelta(days=1)) > 50
    lift = study.lift()
    assert lift.n_tuned + lift.n_control == n + len(late)
    assert Study.open("study", store=store).lift() == lift


def test_pulls_of_a_control_that_ended_can_be_pruned(store: Store) -> None:
    study = make(store)
    run(study, 100)
    n_finished = sum(pull.state != "pending" for pull in study.pulls())
    study.update_control(None)
    again = Study.open("study", store=store, clock=clock())
    assert again.prune(datetime.now(UTC) + timedelta(days=1)) == n_finished


def test_opening_a_study_reads_few_rewards(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make(store, control=Control(TODAY, share=0.5))
    for pull in study.ask(count=1500):
        study.tell(pull.id, 0.5)
        if pull.id.endswith("00"):
            study.lift()
    read: list[int] = []
    outcomes = type(store).outcomes

    def counted(*args: Any, **named: Any) -> Any:
        found = outcomes(*args, **named)
        read.append(len(found))
        return found

    monkeypatch.setattr(type(store), "outcomes", counted)
    again = Study.open("study", store=store).lift()
    # The first page is thrown away, because somebody has more; what is left is short.
    assert sum(read[1:]) < 400
    assert again == study.lift()


class Worst(policies.IMOSS):
    """A policy to be warned of: it serves what it thinks is worst."""

    def scores(self, arms: Any) -> Any:
        return -policies.IMOSS.scores(self, arms)


@pytest.mark.parametrize("policy", [Worst(index="kl")])
def test_the_guardrail_rolls_back_once_and_says_so(
    policy: Policy, caplog: pytest.LogCaptureFixture
) -> None:
    study = make(
        space=Space(model=Choice("small", "large")),
        policy=policy,
        guardrail=Guardrail(margin=0.02),
        control=Control({"model": "large"}, share=0.3),
    )
    with caplog.at_level(logging.WARNING):
        run(study, 1200, large=0.95, small=0.2)
    assert study.state == "rolled back"
    (event,) = [event for event in study.events() if event.kind == "rolled back"]
    assert str(event) == (
        "the study was rolled back by the guardrail to arm 1 {'model': 'large'}: "
        "worse than the control by more than 0.02"
    )
    assert event.data["interval"][1] < 0.0
    assert event.data["n_tuned"] > 0
    (record,) = [r for r in caplog.records if "rolled back" in r.getMessage()]
    assert record.facts["kind"] == "rolled back"  # type: ignore[attr-defined]
    assert {pull.group for pull in study.ask(50)} == {"control"}
    assert audit(study.store, "study", policy=policy) == []
    study.resume()
    assert study.rollout.mark is not None
    run(study, 8, large=0.95, small=0.2)
    assert study.rollout.state == "tuning", "what was before is not held against it"
    run(study, 1500, seed=5, large=0.95, small=0.2)
    assert [event.kind for event in study.events()].count("rolled back") == 2


def test_a_good_study_is_left_alone() -> None:
    study = make(guardrail=Guardrail(margin=0.02))
    run(study, 800)
    assert study.state == "tuning"


def test_the_guardrail_sees_rewards_that_come_with_signals() -> None:
    study = make(
        space=Space(model=Choice("small", "large")),
        policy=Worst(index="kl"),
        guardrail=Guardrail(margin=0.02),
        control=Control({"model": "large"}, share=0.3),
        signals={"cost": Signal(low=0.0)},
    )
    for n in range(1200):
        pull = study.ask()
        good = n % 20 > 0 if pull.config["model"] == "large" else n % 5 == 0
        study.tell(pull.id, good, signals={"cost": 1.0})
    assert study.state == "rolled back"
