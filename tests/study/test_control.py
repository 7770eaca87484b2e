"""A study with a control: the coin and the groups, changes by hand, what survives."""

from __future__ import annotations

from collections import Counter

import pytest

from imabo import Control, Study
from imabo.control import coin_of
from imabo.errors import ReplayMismatch, StudyExists
from imabo.stores import Store
from imabo.testing.audit import audit
from tests.study.controlled import TINY, TODAY, busy, clock, lines_of, make, run


def test_without_a_control_nothing_has_a_group() -> None:
    study = make(control=None)
    pulls = study.ask(count=20)
    assert {(pull.group, pull.propensity) for pull in pulls} == {(None, None)}
    assert (study.state, study.rollout.control) == ("tuning", None)


def test_the_coin_alone_decides_who_gets_the_control(store: Store) -> None:
    study = make(store)
    run(study, 300)
    groups = [pull.group for pull in study]
    assert groups == ["control" if coin_of(3, n) < 0.2 else "tuned" for n in range(1, 301)]
    for pull in study:
        assert (pull.reason == "control") == (pull.group == "control")
        assert pull.propensity == (0.2 if pull.group == "control" else 0.8)
        assert pull.group == "tuned" or pull.config == TODAY
    (first, *_) = study.arms()
    assert (first.config, first.origin, first.state) == (TODAY, "control", "active")
    assert first.n_pulls >= groups.count("control")


def test_a_tuned_request_is_decided_as_without_a_control() -> None:
    """Two studies with the same arms and the same pulls decide the same: the coin draws apart."""
    one, two = make(control=None), make(control=None)
    for study in (one, two):
        study.add_arm(TODAY)
        run(study, 100)
    two.update_control(Control(TODAY, share=1e-9))
    assert [pull.config for pull in one.ask(30)] == [pull.config for pull in two.ask(30)]


def test_exposure_is_the_share_that_may_be_tuned() -> None:
    study = make(exposure=0.1, control=Control(TODAY, share=0.05))
    counts = Counter((pull.group, round(pull.propensity or 0.0, 6)) for pull in study.ask(2000))
    assert set(counts) == {("control", 0.905), ("tuned", 0.095)}
    assert 140 < counts["tuned", 0.095] < 240
    study.update_control(exposure=0.0)
    assert {(p.group, p.propensity) for p in study.ask(50)} == {("control", 1.0)}


def test_a_control_that_is_an_arm_already_stays_that_arm(store: Store) -> None:
    study = make(store, control=None)
    arm = study.add_arm(TODAY)
    study.pause(arm)
    study.update_control(Control(TODAY, share=0.5))
    assert (study.rollout.arm, study.n_arms) == (arm.id, 1)
    served = study.ask(count=40)
    assert {p.arm for p in served if p.group == "control"} == {arm.id}
    assert arm.id not in {p.arm for p in served if p.group == "tuned"}


def test_an_arm_that_is_retired_by_hand_stays_so(store: Store) -> None:
    """Also one that is the control then, in a space where an oracle would propose it."""
    study = make(store, space=TINY, control=None)
    study.retire(study.add_arm({"model": "small", "n": 1}))
    study.update_control(Control({"model": "small", "n": 1}, share=0.5))
    run(study, 100)
    assert {pull.arm for pull in study if pull.group == "control"} == {1}
    assert 1 not in {pull.arm for pull in study if pull.group == "tuned"}
    assert audit(store, "study") == []


@pytest.mark.parametrize("control", [Control(TODAY, share=0.2), Control.random(0.3)])
def test_a_replay_makes_it_again(store: Store, control: Control) -> None:
    study = busy(store, control=control)
    assert audit(store, "study") == []
    again = Study.replay(lines_of(study))
    assert lines_of(again)[1:] == lines_of(study)[1:]
    assert again.lift() == study.lift()
    assert again.rollout == study.rollout
    later, here = again.ask(20), study.ask(20)
    assert [(p.config, p.group) for p in later] == [(p.config, p.group) for p in here]


def test_a_study_that_is_opened_again_goes_on(store: Store) -> None:
    study = busy(store)
    again = Study.open("study", store=store, clock=clock())
    assert (again.rollout, again.lift()) == (study.rollout, study.lift())
    study.roll_back()
    assert Study.open("study", store=store).state == "rolled back"
    assert {pull.group for pull in again.ask(5)} == {"control"}


def test_a_log_with_a_coin_of_its_own_is_followed(store: Store) -> None:
    """As the logs of services are; one whose propensity is wrong is refused."""
    study = make(store)
    run(study, 40)
    lines = lines_of(study)
    place = next(i for i, line in enumerate(lines) if '"tuned"' in line and '"index"' in line)
    wrong = [*lines]
    wrong[place] = lines[place].replace('"propensity": 0.8', '"propensity": 0.7')
    with pytest.raises(ReplayMismatch):
        Study.replay(wrong)


def test_creating_it_again_keeps_the_control_that_it_has(store: Store) -> None:
    study = make(store)
    study.update_control(Control(TODAY, share=0.4))
    assert make(store).rollout == study.rollout
    study.update_control(None)
    assert make(store).rollout.control is None
    assert study.ask().group is None


def test_a_study_from_before_gets_its_first_control(store: Store) -> None:
    make(store, control=None).ask(count=15)
    with pytest.raises(StudyExists, match="control: none becomes"):
        make(store)
    study = make(store, if_changed="update")
    assert study.rollout.control == Control(TODAY, share=0.2)
    assert study.rollout.start is not None
    assert study.rollout.start.pull == 15
