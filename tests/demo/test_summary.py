"""What the summary says of runs that went well and of runs that did not."""

from __future__ import annotations

from imabo import Best
from imabo.demo.live_study import Counts
from imabo.demo.story import best_text
from imabo.demo.summary import summary
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


def told(config: Config, *, n_defaults: int = 0, has_best: bool = True) -> str:
    """The summary of a run that served everybody the same."""
    world = World(ROUNDS, 3)
    answers = [Reply(visit, config, visit.n <= n_defaults) for visit in world.visits]
    best = Best(5, config, 0.9, (0.8, 0.95), 0.95, 40) if has_best else None
    return "\n".join(summary(world, answers, best, COUNTS))


def test_a_good_run_is_compared_with_serving_the_same_users_at_random() -> None:
    text = told(IDEAL)
    visits = World(ROUNDS, 3).visits
    good = sum(one.is_good(IDEAL) for one in visits)
    at_random = sum(one.is_good(one.at_random) for one in visits)
    assert good > at_random
    assert f"The users got {good} good answers" in text
    assert f"would have got {at_random}." in text
    assert "The new model was found: it served 100% of the last requests" in text
    assert "its true rate is 94.0%, the highest possible is 94.0%" in text
    assert "good 90.0% of the time, 95% interval 80.0% to 95.0%, 40 ratings" in text
    assert "80 were rated, 90 were given up" in text
    assert "30 still wait" in text
    assert "did not pay" not in text
    assert "default" not in text


def test_a_bad_run_is_called_one() -> None:
    text = told(WORST)
    assert "Learning did not pay in this run" in text
    assert "The new model was missed: 0 of 100 requests tried it" in text


def test_a_run_without_ratings_recommends_nothing() -> None:
    assert "No rating came back" in told(WORST, has_best=False)


def test_requests_that_the_service_did_not_answer_are_counted() -> None:
    assert "7 were served the default" in told(DEFAULT, n_defaults=7)


def test_a_recommendation_in_a_few_words_and_a_store_without_its_password() -> None:
    shown = best_text({"mean": 0.5, "interval": (0.25, 0.75), "n_rewards": 12})
    assert shown == "good 50% of the time (95% interval 25% to 75%, 12 ratings)"
    assert store_text("postgresql://me:secret@host/name") == "postgresql://...@host/name"
