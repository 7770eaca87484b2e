"""The four questions: each answer follows from the key figures, and admits what is not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from imabo import Choice, Control, Space, Study, insight
from imabo.insight import Overview, StudySnapshot
from imabo.insight.compared import measure
from imabo.insight.questions import answers, duration
from imabo.testing.study.base import ManualClock, play
from tests.insight.story import drawn_often, instant, make


@pytest.fixture(scope="module")
def known() -> Overview:
    """Key figures of a study of which serving at random is known."""
    return insight.overview(insight.read(drawn_often(400)[0]))


def said(key: Overview) -> dict[str, tuple[str, str]]:
    return {one.name: (one.answer, one.tone) for one in answers(key)}


def test_every_study_has_four_answers_and_one_with_an_objective_a_fifth(
    any_snapshot: StudySnapshot,
) -> None:
    found = insight.overview(any_snapshot).answers
    fifth = ["budget"] if any_snapshot.study.objective is not None else []
    assert [one.name for one in found] == ["working", "best", "cost", "feedback", *fifth]
    assert all(one.answer and one.question and one.detail.endswith(".") for one in found)
    assert not any("None" in one.detail + one.answer for one in found)


def test_it_works_when_the_intervals_say_so(known: Overview) -> None:
    assert known.random_interval is not None
    low, high = known.random_interval
    assert low is not None
    assert high is not None

    def working(mean: float, ends: tuple[float, float]) -> tuple[str, str]:
        return said(replace(known, recent_mean=mean, recent_interval=ends))["working"]

    mean = known.random_mean or 0.0
    by = f"{measure(0.5)} against random"
    assert working(mean + 0.5, (high + 0.01, 1.0)) == (f"Yes: +{by}", "good")
    assert working(mean - 0.5, (0.0, low - 0.01)) == (f"No: −{by}", "bad")
    assert working(mean + 0.5, (high - 0.01, 1.0)) == (f"Not clear yet: +{by}", "plain")


def test_the_lift_of_the_strip_is_that_of_the_study() -> None:
    space = Space(x=Choice(*range(3)))
    with Study.create("s", space, control=Control({"x": 0}, share=0.5), seed=0) as study:
        for _ in range(400):
            pull = study.ask()
            study.tell(pull.id, 0.2 if pull.config["x"] == 0 else 0.9)
        key, lift = insight.overview(insight.read(study)), study.lift()
    assert key.lift == lift
    assert said(key)["working"][0].startswith("Yes: +0.")


def test_what_is_not_known_is_said_so_with_what_it_takes() -> None:
    key = insight.overview(insight.read(instant(60)[0]))
    assert key.random_mean is None
    working = key.answers[0]
    assert working.answer == "Not known yet"
    assert f"about {key.n_random_more} more requests" in working.detail
    assert said(insight.overview(insight.read(make())))["best"] == ("Not known yet", "plain")


def test_the_cost_is_that_of_the_figure_and_of_the_newest_requests(known: Overview) -> None:
    snapshot = insight.read(drawn_often(400)[0])
    model = insight.cost(snapshot)
    assert (known.cost, known.gain) == (model.cost[-1], model.gain[-1])
    since = snapshot.history.recent(snapshot.history.n_pulls)
    before, pulls = model.cost[since - 1] or 0.0, 400 - (model.pulls[since - 1] or 0.0)
    assert known.recent_cost == pytest.approx(max((known.cost or 0.0) - before, 0.0) / pulls)
    assert measure((known.cost or 0.0) / 400) in said(known)["cost"][0]


def test_a_cost_of_nothing_is_called_almost_nothing_only_where_it_cannot_be_much(
    known: Overview,
) -> None:
    nothing = replace(known, cost=0.0, cost_interval=(0.0, 120.0))
    assert said(nothing)["cost"][0] == "At most 0.300 a request"
    assert said(replace(nothing, cost_interval=(0.0, 3.0)))["cost"][0] == "Almost nothing"
    assert said(replace(nothing, cost_interval=(0.0, None)))["cost"][0] == "Not known yet"


def test_feedback_that_falls_or_stops_is_no_good_news(known: Overview) -> None:
    assert said(known)["feedback"] == ("Yes: 100 % of requests", "good")
    less = replace(known, feedback_rate=0.8, recent_feedback_rate=0.3)
    assert said(less)["feedback"] == ("Less than before: 30 % lately", "warn")
    assert said(replace(less, state="no feedback"))["feedback"][1] == "bad"


def test_only_requests_are_traffic() -> None:
    clock = ManualClock(1e9)
    study = make(clock=clock, window_s=10.0)
    assert insight.overview(insight.read(study)).last_pull_at is None
    for _ in range(30):
        clock.now += 1.0
        play(study, 1, lambda pull: 0.5)
    pull = study.ask()
    served_at = clock.now
    clock.now += 5000.0
    study.expire()
    study.tell(pull.id, 0.5)
    study.pause(1)
    key = insight.overview(insight.read(study))
    assert key.last_at == clock.now
    assert key.last_pull_at == served_at
    assert key.pulls_per_minute == pytest.approx(60.0, rel=0.5)
    assert key.delay_s == 0.0
    study.prune(datetime.fromtimestamp(clock.now, UTC))
    assert insight.overview(insight.read(study)).last_pull_at == pytest.approx(served_at, abs=9.0)


def test_durations_and_measures_are_short() -> None:
    shown = [duration(s) for s in (0.123, 12.3, 119, 121, 7300, 200_000)]
    assert shown == ["0.12 s", "12 s", "119 s", "2 min", "2 h", "2 days"]
    assert [measure(x) for x in (0.0, 0.1234, -12.345, 1e7, None)] == [
        "0", "0.123", "-12.35", "1.00e+07", "–",
    ]  # fmt: skip
