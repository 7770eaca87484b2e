"""A control that is declared again: by deploys, beside hands, roll-backs and replays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from imabo import Choice, Control, Float, Guardrail, Signal, Space, Study
from imabo.errors import StudyExists
from imabo.stores import MemoryStore, Store
from imabo.testing.audit import audit
from tests.study.controlled import SPACE, TODAY, lines_of, make, run

OTHER = {"model": "large", "x": 0.25}
WIDER = Space(model=Choice("small", "large", "huge"), x=Float(0.0, 1.0))
NEW = Space(model=Choice("large", "huge"), x=Float(0.0, 1.0))
UPDATE: dict[str, Any] = {"if_changed": "update"}


def test_what_was_changed_by_hand_stays_until_the_declaration_changes(store: Store) -> None:
    for mode in ("error", "update", "keep"):
        study = make(store)
        study.update_control(Control(TODAY, share=0.4), exposure=0.5)
        again = make(store, if_changed=mode)
        assert (again.rollout.control, again.rollout.exposure) == (Control(TODAY, 0.4), 0.5)
    newer = make(store, control=Control(TODAY, share=0.1), **UPDATE)
    assert (newer.rollout.control, newer.rollout.exposure) == (Control(TODAY, 0.1), 1.0)
    # And what it replaced does not come back when an old server starts late.
    assert make(store, **UPDATE).rollout.control == Control(TODAY, 0.1)


def test_a_control_that_was_ended_by_hand_stays_ended(store: Store) -> None:
    make(store).update_control(None)
    assert make(store, **UPDATE).rollout.control is None
    assert make(store).rollout.control is None


def test_the_lift_goes_on_with_another_share_and_begins_anew_with_another_control(
    store: Store,
) -> None:
    study = make(store)
    run(study, 60)
    n = study.lift().n_tuned + study.lift().n_control
    study = make(store, control=Control(TODAY, share=0.4), **UPDATE)
    assert study.lift().n_tuned + study.lift().n_control == n > 0
    study = make(store, control=Control(OTHER, share=0.4), **UPDATE)
    assert study.lift().n_tuned + study.lift().n_control == 0
    assert audit(store, "study") == []


def test_a_study_that_is_rolled_back_stays_so(store: Store) -> None:
    study = make(store)
    study.roll_back(reason="the phone rang")
    with pytest.raises(StudyExists, match="leaves the study rolled back"):
        make(store, control=Control(OTHER, share=0.4))
    study = make(store, control=Control(OTHER, share=0.4), **UPDATE)
    assert (study.state, study.rollout.reason) == ("rolled back", "the phone rang")
    assert {pull.config["x"] for pull in study.ask(10)} == {0.25}


def test_what_somebody_rolled_back_to_goes_on_being_served(store: Store) -> None:
    study = make(store)
    emergency = {"model": "large", "x": 0.75}
    study.roll_back(emergency)
    assert make(store, **UPDATE).rollout == study.rollout  # no difference to what is declared
    study = make(store, space=WIDER, control=Control(OTHER, share=0.4), exposure=0.5, **UPDATE)
    assert {pull.config["x"] for pull in study.ask(10)} == {0.75}
    assert "once tuning is resumed, with a share of 0.4" in str(study.events()[-1])
    study.resume()
    assert (study.rollout.control, study.rollout.exposure) == (Control(OTHER, 0.4), 0.5)
    assert audit(store, "study") == []
    assert lines_of(Study.replay(lines_of(study)))[1:] == lines_of(study)[1:]


def test_space_settings_and_control_are_one_change(store: Store) -> None:
    study = make(store)
    run(study, 40)
    seq = study.seq
    huge = {"model": "huge", "x": 0.5}
    signals = {"latency_s": Signal(low=0.0, high=9.0)}
    watch = Guardrail(margin=0.5, signal="latency_s")
    with pytest.raises(StudyExists, match=r"guardrail: none becomes margin 0\.5 of 'latency_s', "):
        make(store, space=NEW, control=Control(huge), guardrail=watch, signals=signals)
    wanted: dict[str, Any] = {"space": NEW, "control": Control(huge), "guardrail": watch}
    study = make(store, signals=signals, window_s=60.0, revision=3, **wanted, **UPDATE)
    assert study.seq == seq + 1
    assert (study.rollout.control, study.rollout.guardrail) == (Control(huge), watch)
    assert (study.space, study.window_s, study.revision) == (NEW, 60.0, 3)
    assert study.arms()[0].state == "retired"  # the old control, which the space does not allow
    assert study.rollout.arm == study.arms()[-1].id
    assert study.arms()[-1].config == huge
    run(study, 40, seed=1)
    assert audit(store, "study") == []
    lines = lines_of(study)
    again = Study.replay(lines, store=MemoryStore())
    assert lines_of(again)[1:] == lines[1:]
    assert again.rollout.control == study.rollout.control
    # What was declared is known there, too, and an older revision does not undo it.
    old = make(again.store, revision=2, **UPDATE)
    assert old.rollout.control == Control(huge)
    entry = next(i for i, line in enumerate(lines) if json.loads(line)["kind"] == "space")
    assert json.loads(lines[entry])["rollout"]["before"]["control"]["config"] == TODAY


def test_a_control_that_an_earlier_space_retired_is_that_arm_again(store: Store) -> None:
    study = make(store, control=None)
    arm = study.add_arm(TODAY)
    study.update_space(NEW)
    assert study.arms()[arm.id - 1].state == "retired"
    study = make(store, space=WIDER, **UPDATE)
    assert (study.rollout.arm, study.arms()[arm.id - 1].state) == (arm.id, "active")
    assert audit(store, "study") == []


def test_one_program_of_a_deploy_may_say_nothing_of_the_control(store: Store) -> None:
    """Whoever of the two starts first, and under one revision."""
    for revision, silent_first in ((1, True), (2, False)):
        control = Control(TODAY, share=0.1 * revision)
        declared: dict[str, Any] = {"revision": revision, **UPDATE}
        declared["space"] = WIDER if revision == 2 else SPACE
        both: list[dict[str, Any]] = [{"control": None}, {"control": control}]
        for one in both if silent_first else both[::-1]:
            study = make(store, **one, **declared)
        assert (study.rollout.control, study.revision) == (control, revision)
        for one in both:
            assert make(store, **one, **declared).rollout.control == control
    with pytest.raises(StudyExists, match=r"control: share 0\.2 becomes 0\.3"):
        make(store, control=Control(TODAY, share=0.3), space=WIDER, revision=2, **UPDATE)


def test_a_replay_knows_a_declared_control(store: Store) -> None:
    study = make(store)
    run(study, 20)
    study = make(store, control=Control(OTHER, share=0.5), exposure=0.5, **UPDATE)
    run(study, 20, seed=1)
    again = Study.replay(lines_of(study), store=MemoryStore())
    assert lines_of(again)[1:] == lines_of(study)[1:]
    assert again.store.declaration("study") == study.store.declaration("study")
    assert make(again.store, **UPDATE).rollout.control == Control(OTHER, share=0.5)


def test_a_random_control_is_declared_and_replaced(store: Store) -> None:
    make(store, control=Control.random(0.2))
    with pytest.raises(StudyExists, match=r"control: random serving with share 0\.2 becomes \{"):
        make(store)
    study = make(store, **UPDATE)
    assert (study.rollout.control, study.rollout.arm) == (Control(TODAY, share=0.2), 1)
