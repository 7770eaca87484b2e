"""Changing a control, and settings that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from imabo import Choice, Control, Float, Guardrail, Space, Study
from imabo.errors import InvalidConfig, InvalidSetting, NoControl
from imabo.stores import Store
from imabo.testing.audit import audit
from tests.study.controlled import TODAY, busy, lines_of, make, run


def test_what_happened_is_in_the_events(store: Store) -> None:
    study = busy(store)
    study.update_control(None)
    assert [str(event) for event in study.events()][1:] == [
        "the control is arm 1 with a share of 0.2",
        "the control is arm 1 with a share of 0.2, 0.4 of the requests are tuned, "
        "the guardrail is 0.1",
        f"the study was rolled back by hand to arm 1 {TODAY}: the phone rang",
        "tuning was resumed",
        f"the control is arm {study.events()[-2].data['arm']} with a share of 0.3, "
        "0.35 of the requests are tuned, the guardrail is 0.1",
        "the control was ended",
    ]


def test_the_event_s_share_of_tuned_requests_is_what_the_coin_gives(store: Store) -> None:
    study = make(store, control=Control(TODAY, share=0.3), exposure=0.9)
    assert study.rollout.chance == pytest.approx(1.0 - 0.63)
    assert str(study.events()[-1]).endswith("share of 0.3, 0.63 of the requests are tuned")


def test_doing_it_again_changes_nothing(store: Store) -> None:
    study = make(store)
    seq = study.seq
    study.update_control(Control(TODAY, share=0.2))
    study.resume()
    assert study.seq == seq
    study.roll_back()
    study.roll_back(reason="again")
    assert study.seq == seq + 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"control": Control({"model": "huge"})}, "huge"),
        ({"control": None, "exposure": 0.5}, "without a control"),
        ({"control": None, "guardrail": Guardrail()}, "without a control"),
        ({"exposure": 1.5}, "exposure is 1.5"),
        ({"control": {"x": 0.5}}, "it must be a Control"),
        ({"guardrail": 0.02}, "it must be a Guardrail"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidSetting, InvalidConfig), match=words):
        make(**settings)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan"), True])
def test_a_share_is_between_0_and_1(share: float) -> None:
    with pytest.raises(InvalidSetting, match="share"):
        Control(TODAY, share=share)


def test_a_space_without_the_control_is_refused(store: Store) -> None:
    study = make(store)
    before = study.seq
    with pytest.raises(InvalidSetting, match=r"does not allow the control.*update_control"):
        study.update_space(Space(model=Choice("large"), x=Float(0.0, 1.0)))
    assert study.seq == before
    study.update_control(None)
    study.update_space(Space(model=Choice("large"), x=Float(0.0, 1.0)))
    assert study.space_version == 2


def test_without_a_control_there_is_no_lift_and_no_way_back(store: Store) -> None:
    study = make(store, control=None)
    with pytest.raises(NoControl, match="nothing to compare it with"):
        study.lift()
    with pytest.raises(NoControl, match="roll_back"):
        study.roll_back()
    study.roll_back({"model": "large", "x": 0.25}, reason="none yet")
    assert {pull.config["x"] for pull in study.ask(20)} == {0.25}
    with pytest.raises(InvalidSetting, match="resume it first"):
        study.update_control(None)


@pytest.mark.parametrize("verb", ["pause", "retire"])
def test_the_arm_of_the_control_stays_in_service(store: Store, verb: str) -> None:
    study = make(store)
    arm, seq = study.rollout.arm, study.seq
    assert arm is not None
    with pytest.raises(InvalidSetting, match=r"is the control.*update_control\(None\)"):
        getattr(study, verb)(arm)
    assert (study.seq, study.arms()[0].state) == (seq, "active")
    study.update_control(Control({"model": "large", "x": 0.25}))
    assert getattr(study, verb)(arm).state in ("paused", "retired")


def test_another_process_s_control_is_not_retired_either(sqlite_url: str) -> None:
    study = make(sqlite_url, control=None)
    arm = study.add_arm(TODAY)
    with study, Study.open("study", store=sqlite_url) as other:
        study.update_control(Control(TODAY))
        with pytest.raises(InvalidSetting, match="is the control"):
            other.retire(arm)


def test_a_log_of_an_older_version_in_which_the_control_was_retired_is_replayed() -> None:
    study = make()
    study.ask(3)
    study._engine.changes.follow_state(1, "retired")
    study.ask(3)
    again = Study.replay(lines_of(study))
    assert again.arms()[0].state == "retired"
    assert lines_of(again)[1:] == lines_of(study)[1:]


_ROLLED_BACK = (
    f"study 'study': the study was rolled back by hand to arm 1 {TODAY}: the phone" r"\nrang"
)


def test_the_kill_switch_and_the_way_on_are_in_the_log_once(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    study = make(store)
    for _ in range(2):
        study.roll_back(reason="the phone\nrang")
    for _ in range(2):
        study.resume()
    told = [(one.levelname, one.getMessage()) for one in caplog.records]
    assert told == [
        ("WARNING", _ROLLED_BACK),
        ("WARNING", "study 'study': tuning was resumed"),
    ]
    assert vars(caplog.records[0])["facts"]["by"] == "hand"
    caplog.clear()
    Study.replay(lines_of(study))
    assert not caplog.records


OTHER = {"model": "large", "x": 0.25}


def test_resuming_leaves_a_study_without_a_control_as_it_was(store: Store) -> None:
    study = make(store, control=None)
    study.ask(5)
    study.roll_back(OTHER, reason="the phone rang")
    assert {pull.config["x"] for pull in study.ask(10)} == {0.25}
    assert Study.open("study", store=store).rollout == study.rollout
    study.resume()
    assert (study.rollout.control, study.rollout.arm, study.rollout.chance) == (None, None, None)
    assert {pull.group for pull in study.ask(20)} == {None}
    told = [str(event) for event in study.events()][1:]
    assert told == [
        f"the study was rolled back by hand to arm {study.events()[1].data['arm']} {OTHER}: "
        "the phone rang",
        "tuning was resumed, without a control, as before",
    ]
    assert audit(store, "study") == []
    again = Study.replay(lines_of(study))
    assert (lines_of(again)[1:], again.rollout) == (lines_of(study)[1:], study.rollout)


def test_resuming_brings_back_the_control_that_was_replaced(store: Store) -> None:
    study = make(store, exposure=0.5)
    run(study, 40)
    study.roll_back()
    for config in (OTHER, {"model": "large", "x": 0.5}):
        study.roll_back(config)
        assert {pull.config["x"] for pull in study.ask(10)} == {config["x"]}
    with pytest.raises(InvalidSetting, match="resume"):
        study.update_space(Space(model=Choice("large"), x=Float(0.0, 1.0)))
    with pytest.raises(InvalidSetting, match="resume"):
        study.retire(1)
    study.update_control(exposure=0.25)  # of the control that comes back
    study.resume()
    rollout = study.rollout
    assert (rollout.control, rollout.arm, rollout.exposure) == (Control(TODAY, share=0.2), 1, 0.25)
    assert str(study.events()[-1]) == "tuning was resumed, the control is arm 1 again"
    assert rollout.changed_at == study.events()[-1].at.timestamp()
    run(study, 40)
    assert study.lift().served_tuned + study.lift().served_control == 40
    assert audit(store, "study") == []
    again = Study.replay(lines_of(study))
    assert lines_of(again)[1:] == lines_of(study)[1:]
    assert (again.rollout.control, again.rollout.exposure) == (rollout.control, 0.25)


@pytest.mark.parametrize(
    "settings",
    [{"control": Control(OTHER, share=0.1)}, {"exposure": 0.5}],
    ids=["control", "share"],
)
def test_a_control_that_is_set_while_it_is_rolled_back_stays(
    store: Store, settings: dict[str, Any]
) -> None:
    study = make(store, control=None)
    study.roll_back(OTHER)
    study.update_control(**settings)
    wanted = study.rollout.control
    study.resume()
    assert study.rollout.control == wanted is not None
    again = Study.replay(lines_of(study))
    assert again.rollout == study.rollout


def test_a_log_of_an_older_version_in_which_the_control_stayed_is_replayed() -> None:
    study = make(control=None)
    study.roll_back(OTHER)
    study._engine.rollouts.resume(restores=False)
    study.ask(20)
    again = Study.replay(lines_of(study))
    assert (again.rollout, again.rollout.control) == (study.rollout, Control(OTHER))
