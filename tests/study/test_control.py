"""A study with a control: the coin, the groups, the lift, the guardrail and the way back."""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from imabo import Choice, Control, Float, Guardrail, Int, Space, Study, oracles, policies
from imabo.control import coin_of
from imabo.errors import InvalidConfig, InvalidSetting, NoControl, ReplayMismatch
from imabo.insight import read
from imabo.insight.estimates import random_estimate
from imabo.policies import Policy
from imabo.stores import Store
from imabo.testing.audit import audit

SPACE = Space(model=Choice("small", "large"), x=Float(0.0, 1.0))
TINY = Space(model=Choice("small", "middle", "large"), n=Int(1, 2))
TODAY = {"model": "small", "x": 0.5}
CHEAP: dict[str, Any] = {"policy": policies.IMOSS(), "oracle": oracles.Mutate()}


def clock() -> Callable[[], float]:
    """Seconds that pass."""
    now = [1_000_000.0]

    def tick() -> float:
        now[0] += 1.0
        return now[0]

    return tick


def make(store: Store | None = None, space: Space = SPACE, **settings: Any) -> Study:
    settings = {"control": Control(TODAY, share=0.2), "seed": 3, **CHEAP} | settings
    return Study.create("study", space, store=store, clock=clock(), **settings)


def run(study: Study, n: int, seed: int = 0, large: float = 0.8, small: float = 0.4) -> None:
    """Requests, of which seven in ten get feedback."""
    rng = Random(seed)
    for _ in range(n):
        pull = study.ask()
        mean = large if pull.config["model"] == "large" else small
        if rng.random() < 0.7:
            study.tell(pull.id, float(rng.random() < mean))


def lines_of(study: Study) -> list[str]:
    file = io.StringIO()
    study.export(file, "jsonl")
    return file.getvalue().splitlines()


# --- the coin -------------------------------------------------------------------------------------


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


# --- a random control -----------------------------------------------------------------------------


def test_a_random_control_leaves_the_schedule_alone(store: Store) -> None:
    """Its arms teach, and are neither served by the policy nor in its way."""
    study = make(store, control=Control.random(0.5))
    run(study, 200)
    arms = study.arms()
    spare = [arm for arm in arms if arm.origin == "control"]
    assert len(spare) > 60
    assert {arm.state for arm in spare} == {"retired"}
    assert len(arms) - len(spare) == policies.IMOSS().warmup + 1 or len(arms) - len(spare) < 20
    tuned = {pull.arm for pull in study if pull.group == "tuned"}
    assert tuned.isdisjoint(arm.id for arm in spare)
    assert sum(arm.n_rewards for arm in spare) > 40


@pytest.mark.parametrize("part", [CHEAP, {"policy": None, "oracle": None}])
def test_in_a_small_space_what_the_control_tried_can_still_be_admitted(
    part: dict[str, Any],
) -> None:
    study = make(space=TINY, control=Control.random(0.7), **part)
    run(study, 120)
    assert study.n_arms == 6
    assert study.view.n_spare == 0
    assert {arm.state for arm in study.arms()} == {"active"}
    assert audit(study.store, "study") == []


def test_its_rewards_tell_what_serving_at_random_gives() -> None:
    study = make(control=Control.random(0.5))
    run(study, 400)
    drawn = [p.reward for p in study if p.group == "control" and p.reward is not None]
    n, total, squares = study.random_rewards()
    assert (n, total, squares) == (len(drawn), sum(drawn), sum(drawn))
    shown = random_estimate(read(study))
    assert shown.mean is not None
    assert abs(shown.mean - 0.6) < 0.1  # half of the draws are large
    study.update_space(Space(model=Choice("small", "large"), x=Float(0.0, 2.0)))
    assert study.random_rewards()[0] == 0, "those were of another P0"


# --- what survives --------------------------------------------------------------------------------


def busy(store: Store | None, **settings: Any) -> Study:
    """A study to which everything happens that may."""
    study = make(store, **settings)
    run(study, 120)
    study.update_control(exposure=0.5, guardrail=Guardrail(margin=0.1))
    run(study, 60, seed=1)
    study.roll_back(reason="the phone rang")
    run(study, 30, seed=2)
    study.resume()
    run(study, 60, seed=3)
    if study.rollout.arm is not None:
        study.update_control(Control({"model": "large", "x": 0.25}, share=0.3))
    run(study, 60, seed=4)
    return study


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
    study = make(store)
    assert study.rollout.control == Control(TODAY, share=0.2)
    assert study.rollout.start is not None
    assert study.rollout.start.pull == 15


# --- changes --------------------------------------------------------------------------------------


def test_what_happened_is_in_the_events(store: Store) -> None:
    study = busy(store)
    study.update_control(None)
    assert [str(event) for event in study.events()][1:] == [
        "the control is arm 1 with a share of 0.2",
        "the control is arm 1 with a share of 0.2, 0.5 of the requests are tuned, "
        "the guardrail is 0.1",
        "the study was rolled back by hand: the phone rang",
        "tuning was resumed",
        f"the control is arm {study.events()[-2].data['arm']} with a share of 0.3, "
        "0.5 of the requests are tuned, the guardrail is 0.1",
        "the control was ended",
    ]


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


# --- the lift -------------------------------------------------------------------------------------


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


# --- the guardrail --------------------------------------------------------------------------------


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
        "the study was rolled back by the guardrail: worse than the control by more than 0.02"
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


def test_an_arm_that_is_retired_by_hand_stays_so(store: Store) -> None:
    """Also one that came in for the control, in a space where an oracle would propose it."""
    study = make(store, space=TINY, control=Control({"model": "small", "n": 1}, share=0.5))
    study.retire(1)
    run(study, 100)
    assert {pull.arm for pull in study if pull.group == "control"} == {1}
    assert 1 not in {pull.arm for pull in study if pull.group == "tuned"}
    assert audit(store, "study") == []


def test_a_draw_of_a_random_control_may_be_retired_for_good(store: Store) -> None:
    study = make(store, space=TINY, control=Control.random(0.9), policy=policies.IMOSS(warmup=1))
    while not study.view.n_spare:
        study.ask()
    spare = next(arm for arm in study.arms() if arm.state == "retired")
    study.retire(spare.id)
    assert study.view.n_spare == 0
    run(study, 150)
    tuned = {pull.arm for pull in study if pull.group == "tuned"}
    assert spare.id not in tuned
    assert study.n_arms == 6
    again = Study.open("study", store=store, clock=clock())
    assert (again.view.n_spare, again.view.n_retired) == (study.view.n_spare, 1)
    assert audit(store, "study") == []


def test_draws_of_a_random_control_stay_what_they_are_in_another_space(store: Store) -> None:
    study = make(store, control=Control.random(0.5))
    run(study, 60)
    n_spare = study.view.n_spare
    study.update_space(Space(model=Choice("small", "large"), x=Float(0.0, 0.5)))
    fewer = study.view.n_spare
    assert 0 < fewer < n_spare
    run(study, 30)
    study.update_space(SPACE)
    assert study.view.n_spare >= n_spare
    assert Study.open("study", store=store).view.n_spare == study.view.n_spare
    assert audit(store, "study") == []
