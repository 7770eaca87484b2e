"""What is tracked is told to the study (2.7, 6)."""

from __future__ import annotations

import logging

import pytest
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from imabo import Choice, Space, Study
from tests.openfeature.asking import all_flags, client_of, request


def test_2_7_1_track_tells_the_reward_with_the_signals_beside_it(study: Study) -> None:
    client = client_of(study)
    all_flags(client, request())
    details = TrackingEventDetails(0.75, {"cost": 0.002, "page": 3, "who": "x"})
    client.track("reward", request(), details)
    pull = study.pull(key="request-1")
    assert (pull.reward, pull.signals) == (0.75, {"cost": 0.002})


def test_an_event_with_a_signals_name_is_that_signal_and_others_are_nothing(study: Study) -> None:
    client = client_of(study)
    all_flags(client, request())
    client.track("thumbs", request(), TrackingEventDetails(1.0))
    client.track("page-view", request(), TrackingEventDetails(1.0))
    client.track("page-view")
    pull = study.pull(key="request-1")
    assert (pull.reward, pull.signals) == (None, {"thumbs": 1.0})


def test_6_an_event_without_a_value_may_stand_for_a_reward(study: Study) -> None:
    client = client_of(study, rewards={"bought": 1.0, "left": 0.0})
    for n, event in enumerate(("bought", "left", "reward")):
        all_flags(client, request(str(n)))
        client.track(event, request(str(n)))
    assert [study.pull(key=str(n)).reward for n in range(3)] == [1.0, 0.0, None]


def test_a_pull_may_be_named_by_its_id(study: Study) -> None:
    client = client_of(study)
    whole = client.get_object_details("support-answers", {})
    pull = str(whole.flag_metadata["pull"])
    client.track("reward", None, TrackingEventDetails(0.5, {"pull": pull}))
    assert study.pull(pull).reward == 0.5


def test_the_id_of_a_pull_says_which_of_several_studies_is_meant(
    study: Study, caplog: pytest.LogCaptureFixture
) -> None:
    other = Study.create("ranking.v2", Space(method=Choice("a", "b")), seed=0)
    details = client_of(study, other).get_object_details("support-answers", {})
    pull = str(details.flag_metadata["pull"])
    client = client_of(other, study)  # another process, say: it remembers nothing
    with caplog.at_level(logging.WARNING, "imabo"):
        client.track("reward", None, TrackingEventDetails(0.5, {"pull": pull}))
    assert (study.pull(pull).reward, caplog.text) == (0.5, "")


@pytest.mark.parametrize(
    ("context", "details", "words"),
    [
        (request("never-asked"), TrackingEventDetails(1.0), "never-asked"),
        (request(), TrackingEventDetails(7.0), "7.0"),
        (request(), None, "carries no number"),
        (request(), TrackingEventDetails(float("nan")), "carries no number"),
        (None, TrackingEventDetails(1.0), "names no request"),
    ],
)
def test_what_cannot_be_told_is_said_in_the_log_and_never_raised(
    study: Study,
    context: EvaluationContext | None,
    details: TrackingEventDetails | None,
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = client_of(study)
    all_flags(client, request())
    with caplog.at_level(logging.WARNING, "imabo"):
        client.track("reward", context, details)
    assert words in caplog.text
    assert study.n_rewards == 0


def test_a_reward_goes_to_the_studies_that_served_the_request(study: Study) -> None:
    other = Study.create("ranking.v2", Space(method=Choice("a", "b")), seed=0)
    third = Study.create("unused", Space(method=Choice("a", "b")), seed=0)
    client = client_of(study, other, third)
    all_flags(client, request())
    assert client.get_string_value("ranking.v2.method", "?", request()) in ("a", "b")
    client.track("reward", request(), TrackingEventDetails(1.0))
    assert (study.n_rewards, other.n_rewards, third.n_rewards) == (1, 1, 0)
    all_flags(client, request("2"))
    client.get_object_value("ranking.v2", {}, request("2"))
    client.track("reward", request("2"), TrackingEventDetails(0.0, {"study": "ranking.v2"}))
    assert (study.n_rewards, other.n_rewards) == (1, 2)


def test_feedback_that_comes_to_another_process_finds_its_pull(study: Study) -> None:
    all_flags(client_of(study), request())
    client_of(study).track("reward", request(), TrackingEventDetails(1.0))  # remembers nothing
    assert study.pull(key="request-1").reward == 1.0
