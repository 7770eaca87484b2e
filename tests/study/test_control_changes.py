"""Changing a control, and settings that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from imabo import Choice, Control, Float, Guardrail, Space, Study
from imabo.errors import InvalidConfig, InvalidSetting, NoControl
from imabo.stores import Store
from tests.study.controlled import TODAY, busy, lines_of, make


def test_what_happened_is_in_the_events(store: Store) -> None:
    study = busy(store)
    study.update_control(None)
    assert [str(event) for event in study.events()][1:] == [
        "the control is arm 1 with a share of 0.2",
        "the control is arm 1 with a share of 0.2, 0.4 of the requests are tuned, "
        "the guardrail is 0.1",
        "the study was rolled back by hand: the phone rang",
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
        ("WARNING", r"study 'study': the study was rolled back by hand: the phone\nrang"),
        ("WARNING", "study 'study': tuning was resumed"),
    ]
    assert vars(caplog.records[0])["facts"]["by"] == "hand"
    caplog.clear()
    Study.replay(lines_of(study))
    assert not caplog.records
