"""What the summary says of runs that went well and of runs that did not."""

from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO
from types import SimpleNamespace
from typing import cast

from imabo import Best, Event
from imabo.demo.live_study import Counts, Live
from imabo.demo.running import _answers
from imabo.demo.story import Story, best_text
from imabo.demo.summary import Played, answer_lines, summary
from imabo.demo.terminal import store_text
from imabo.demo.traffic import Reply
from imabo.demo.world import DEFAULT, IDEAL, World
from imabo.space import Config

ROUNDS = 200
COUNTS = Counts(n_pulls=200, n_rewards=80, n_pending=30, n_expired=90)
WORST: Config = {
    "model": "small",
    "prompt": "plain",
    "temperature": 1.0,
    "passages": 1,
    "rerank": False,
}


def told(config: Config, *, n_defaults: int = 0, has_best: bool = True, noticed_at: int = 0) -> str:
    """The summary of a run that served everybody the same."""
    world = World(ROUNDS, 3)
    answers = [Reply(visit, config, visit.n <= n_defaults) for visit in world.visits]
    best = Best(5, config, 0.9, (0.8, 0.95), 0.95, 40) if has_best else None
    noticed = [(noticed_at, "rewards fell")] if noticed_at else []
    return "\n".join(summary(Played(world, answers, noticed), best, COUNTS))


def test_a_good_run_is_compared_with_serving_the_same_users_as_today_and_at_random() -> None:
    text = told(IDEAL)
    visits = World(ROUNDS, 3).visits
    good = sum(one.is_good(IDEAL) for one in visits)
    at_random = sum(one.is_good(one.at_random) for one in visits)
    assert good > at_random
    today = sum(one.is_good(DEFAULT) for one in visits)
    assert f"The users got {good} good answers" in text
    assert f"would have got {today}; at random, {at_random}." in text
    assert "The new model was found: it served 100% of the last requests" in text
    assert "its true rate is 94.0%, the highest possible is 94.0%" in text
    assert "good 90.0% of the time, 95% interval 80.0% to 95.0%, 40 ratings" in text
    assert "80 were rated, 90 were given up" in text
    assert "30 still wait" in text
    assert "did not pay" not in text
    assert "default" not in text


def test_a_change_that_was_noticed_is_told_with_the_request_and_one_that_was_not_as_well() -> None:
    assert "At request 101 the medium model got worse; by request 120 the study" in told(
        IDEAL, noticed_at=120
    )
    assert "did not notice" in told(IDEAL)
    assert "did not notice" in told(IDEAL, noticed_at=90)  # before there was anything to notice


def test_a_change_is_told_once_when_the_study_has_noticed_it() -> None:
    out, at = StringIO(), datetime(2026, 11, 16, tzinfo=UTC)
    data = {"parameter": "model", "value": "medium", "arm": None, "before": 0.7, "after": 0.1}
    events = [Event("created", at, {}), Event("drift", at, data)]
    story = Story(ROUNDS, out, looks=10)
    story.happened(100, events[:1])
    story.happened(110, events)
    story.happened(120, events)
    what = "rewards with model = 'medium' fell from 0.7 to 0.1"
    assert out.getvalue() == f"request 110: the study noticed a change: {what}\n"
    assert [n for n, _ in story.noticed] == [110]


def test_rates_are_of_the_tuned_alone_beside_what_the_same_users_had_today() -> None:
    world = World(ROUNDS, 3)
    replies = [
        Reply(visit, DEFAULT if visit.n % 2 else IDEAL, False, bool(visit.n % 2))
        for visit in world.visits
    ]
    assert round(Played(world, replies, []).final_rate, 2) == 0.94
    lines = summary(Played(world, replies, []), None, COUNTS)
    (line,) = (one for one in lines if one.startswith("  last 20 requests"))
    assert line.split()[-3:-1] == ["94.0%", "36.9%"]


def test_the_four_answers_are_told_with_what_they_rest_on() -> None:
    answers = [
        {"question": "Is it working?", "answer": "Yes", "detail": "It is."},
        {"question": "Healthy?", "answer": "No", "detail": "None comes."},
    ]
    assert answer_lines(answers) == [
        "Is it working?  Yes",
        "                It is.",
        "Healthy?        No",
        "                None comes.",
    ]


def test_a_bad_run_is_called_one() -> None:
    text = told(WORST)
    assert "Learning did not pay in this run" in text
    assert "The new model was missed: 0 of 67 requests tried it" in text


def test_a_run_without_ratings_recommends_nothing() -> None:
    assert "No rating came back" in told(WORST, has_best=False)


def test_requests_that_the_service_did_not_answer_are_counted() -> None:
    assert "7 were served the default" in told(DEFAULT, n_defaults=7)


def test_a_recommendation_in_a_few_words_and_a_store_without_its_password() -> None:
    shown = best_text({"mean": 0.5, "interval": (0.25, 0.75), "n_rewards": 12})
    assert shown == "good 50% of the time (95% interval 25% to 75%, 12 ratings)"
    assert store_text("postgresql://me:secret@host/name") == "postgresql://...@host/name"


def test_the_end_waits_for_figures_that_have_all_ratings() -> None:
    seen = iter(
        [{"n_rewards": 79, "answers": [{"n": 1}]}, {"n_rewards": 80, "answers": [{"n": 2}]}]
    )
    study = SimpleNamespace(overview=lambda: next(seen))
    assert _answers(cast(Live, study), COUNTS) == [{"n": 2}]
