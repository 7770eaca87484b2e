"""The first answer where a study has a control: its lift, in the words of page, report and CLI."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from imabo import Choice, Control, Float, Space, Study, insight, oracles, policies
from imabo.insight import Answer, Overview
from imabo.insight.questions import answers
from imabo.lifting import LiftReport
from imabo.testing.study.base import ManualClock

SPACE = Space(model=Choice("small", "large"), x=Float(0.0, 1.0))
TODAY = Control({"model": "small", "x": 0.5}, share=0.3)


def made(control: Control | None = TODAY, **settings: Any) -> Study:
    parts: dict[str, Any] = {"policy": policies.IMOSS(), "oracle": oracles.Random()}
    return Study.create("s", SPACE, control=control, seed=0, **parts, **settings)


def serve(study: Study, n: int, tuned: float, control: float) -> None:
    pulls = study.ask(count=n)
    study.tell_many([(p.id, tuned if p.group == "tuned" else control) for p in pulls])


def first(study: Study) -> Answer:
    return insight.overview(insight.read(study)).answers[0]


def test_it_is_compared_with_the_control_where_there_is_one() -> None:
    study = made()
    assert first(study).answer == "Not known yet"
    serve(study, 10, 0.9, 0.6)
    unknown = first(study)
    assert unknown.answer == "Not known yet"
    assert "more rewards" in unknown.detail
    serve(study, 3000, 0.9, 0.6)
    known, lift = first(study), study.lift()
    assert lift.interval is not None
    assert known.answer.startswith("Yes: +0.")
    assert known.answer.endswith(" %) over control")
    assert known.tone == "good"
    assert f"Between +{lift.interval[0]:.3f} and +{lift.interval[1]:.3f}" in known.detail
    assert "tuned 0.900, control 0.600" in known.detail
    assert " rewards: +0.300." in known.detail


def test_a_worse_one_says_so_and_a_small_difference_is_not_clear() -> None:
    study = made()
    serve(study, 2000, 0.2, 0.6)
    assert (first(study).answer, first(study).tone) == ("No: −0.400 (−67 %) against control", "bad")
    study = made()
    serve(study, 2000, 0.6, 0.6)
    assert first(study).answer.startswith("Not clear yet: ")


def test_it_says_so_when_it_is_sure_that_tuned_is_better_before_it_is_known_how_much() -> None:
    study = made()
    serve(study, 38, 1.0, 0.0)
    sure, lift = first(study), study.lift()
    assert lift.estimate is None
    assert lift.is_different
    assert (sure.answer, sure.tone) == ("Yes: better than control", "good")
    assert sure.detail.startswith("How much is not known well yet, between +0.")
    assert f"about {lift.n_more} more rewards, tuned and control together" in sure.detail
    assert str(lift).startswith("Tuned is better than the control, between +0.")
    assert f": it takes about {lift.n_more} more rewards, tuned and control" in str(lift)
    study = made()
    serve(study, 38, 0.0, 1.0)
    assert (first(study).answer, first(study).tone) == ("No: worse than control", "bad")


def test_an_asymptotic_interval_is_called_approximate_wherever_it_is_shown() -> None:
    words = "The interval is approximate (asymptotic), because rewards have no range."
    study = made(reward_range=None)
    serve(study, 400, 9.0, 6.0)
    lift = study.lift()
    assert lift.interval is None
    assert 100 <= lift.n_more <= 101  # 500 are enough, whatever the units are
    assert words not in str(lift) + first(study).detail
    serve(study, 2000, 9.0, 6.0)
    lift = study.lift()
    assert lift.method == "asymptotic"
    assert words in str(lift)
    assert words in first(study).detail
    assert words in insight.report(insight.read(study))
    bounded = made()
    serve(bounded, 2000, 0.9, 0.6)
    assert "approximate" not in str(bounded.lift()) + first(bounded).detail


def test_the_cost_says_that_the_controls_requests_are_in_it() -> None:
    study = made()
    serve(study, 200, 0.9, 0.5)
    (cost,) = (one for one in insight.overview(insight.read(study)).answers if one.name == "cost")
    assert cost.detail.endswith("; the control's requests are counted with the rest.")


def test_a_random_control_is_named() -> None:
    study = made(Control.random(0.3))
    serve(study, 2000, 0.9, 0.6)
    assert first(study).answer.endswith("over random serving")


def test_without_a_control_it_is_compared_with_serving_at_random() -> None:
    study = made(None)
    serve(study, 50, 0.5, 0.5)
    key = insight.overview(insight.read(study))
    assert key.lift is None
    assert "at random" in key.answers[0].detail


@pytest.fixture(scope="module")
def key() -> Overview:
    study = made()
    serve(study, 2000, 0.9, 0.6)
    return insight.overview(insight.read(study))


def changed(key: Overview, **changes: object) -> Answer:
    assert isinstance(key.lift, LiftReport)
    return answers(replace(key, lift=replace(key.lift, **changes)))[0]  # type: ignore[arg-type]


def test_feedback_that_differs_between_the_groups_is_said(key: Overview) -> None:
    assert isinstance(key.lift, LiftReport)
    served = key.lift.n_tuned * 2
    said = changed(key, is_uneven=True, served_tuned=served)
    assert said.tone == "warn"
    assert "50 % of the tuned requests and 100 % of the control's bring feedback" in said.detail


def test_a_study_that_is_rolled_back_says_so_first() -> None:
    study = made()
    serve(study, 2000, 0.9, 0.6)
    study.roll_back(reason="complaints")
    key = insight.overview(insight.read(study))
    assert key.state == "rolled back"
    assert (key.answers[0].answer, key.answers[0].tone) == ("Rolled back", "bad")
    assert key.answers[0].detail.startswith("Everyone gets the control. The lift was +0.300.")


def test_the_key_figures_are_json_with_the_lift_and_its_days(key: Overview) -> None:
    document = json.loads(json.dumps(insight.overview_document(key)))
    assert document["lift"]["estimate"] == pytest.approx(0.3, abs=0.01)
    assert len(document["lift"]["by_day"]) == 1
    assert document["answers"][0]["name"] == "working"


def test_what_only_a_random_control_served_is_told_from_what_someone_retired() -> None:
    study = made(Control.random(0.5))
    serve(study, 40, 0.9, 0.6)
    mine = study.add_arm({"model": "small", "x": 0.25})
    study.retire(mine)
    rows = insight.arm_table(insight.read(study), states=["retired"]).rows
    draws = [row for row in rows if row.is_draw]
    assert {row.origin for row in draws} == {"control"}
    assert len(draws) >= 10
    assert [row.id for row in rows if not row.is_draw] == [mine.id]
    study.add_arm(draws[0].config)
    again = insight.arm_table(insight.read(study), states=["active"]).rows
    assert [row.is_draw for row in again if row.id == draws[0].id] == [False]


def test_the_reward_over_time_has_tuned_and_control_as_two_lines() -> None:
    clock = ManualClock(1e9)
    study = made(clock=clock)

    def drawn(axis: str = "time") -> dict[str, Any]:
        figure = insight.figure("reward", insight.read(study), axis=axis)
        return {one["name"]: one for one in figure["data"] if "name" in one}

    assert not {"tuned, so far", "tuned, by day"} & drawn().keys()
    serve(study, 200, 0.9, 0.6)
    now = drawn()
    assert now["tuned, so far"]["y"] == pytest.approx([0.9] * 2)
    assert now["control, so far"]["y"] == pytest.approx([0.6] * 2)
    for tuned in (0.7, 0.8):
        clock.now += 86_400.0
        serve(study, 200, tuned, 0.5)
    days, by_count = drawn(), drawn("requests")
    for shown in (days, by_count):
        assert shown["tuned, by day"]["y"] == pytest.approx([0.9, 0.7, 0.8])
        assert shown["control, by day"]["y"] == pytest.approx([0.6, 0.5, 0.5])
        places = shown["tuned, by day"]["x"]
        assert places == sorted(places)
    assert days["tuned, by day"]["x"][-1] <= 1000.0 * clock.now
    assert by_count["control, by day"]["x"][-1] <= 600
    without = made(None)
    serve(without, 50, 0.9, 0.6)
    figure = insight.figure("reward", insight.read(without))
    assert not {"tuned, so far", "tuned, by day"} & {one.get("name") for one in figure["data"]}
