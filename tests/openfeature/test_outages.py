"""A study that is away: defaults, and the provider's status and events (2.4, 2.5, 5)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from openfeature import api
from openfeature.event import EventDetails, ProviderEvent
from openfeature.exception import ErrorCode
from openfeature.provider import ProviderStatus
from openfeature.track import TrackingEventDetails

from imabo import Study
from imabo.arms import Pull
from imabo.errors import StoreError
from tests.openfeature.asking import Away, all_flags, client_of, failed, request


def test_a_request_that_began_with_defaults_keeps_them_and_its_reward_counts_for_no_arm(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, client = Away(monkeypatch, study), client_of(study)
    details = client.get_string_details("support-answers.model", "today", request())
    assert "the disk is full" in failed(details, "today", ErrorCode.GENERAL)
    away.is_away = False
    assert client.get_string_value("support-answers.model", "today", request()) == "today"
    client.track("reward", request(), TrackingEventDetails(1.0))
    assert (study.n_pulls, study.n_rewards) == (0, 0)
    assert client.get_string_value("support-answers.model", "today", request("next")) != "today"


def test_an_answer_that_got_lost_is_no_pull_though_the_study_has_one(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., Pull] = study.ask

    def ask(**asked: Any) -> Pull:
        real(**asked)
        raise StoreError("the answer got lost", "the connection broke", "ask again")

    client = client_of(study)
    monkeypatch.setattr(study, "ask", ask)
    assert client.get_string_value("support-answers.model", "today", request()) == "today"
    client.track("reward", request(), TrackingEventDetails(1.0))
    assert study.pull(key="request-1").reward is None


def test_a_request_that_began_with_a_pull_goes_on_with_it(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, client = Away(monkeypatch, study), client_of(study)
    away.is_away = False
    model = client.get_string_value("support-answers.model", "?", request())
    away.is_away = True
    whole: Any = client.get_object_details("support-answers", {}, request())
    assert (whole.value["model"], whole.error_code) == (model, None)


def test_2_4_and_2_5_status_follows_the_provider(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, client = Away(monkeypatch, study), client_of(study)
    assert client.get_provider_status() == ProviderStatus.READY
    assert client.get_string_value("support-answers.model", "?", request()) == "?"
    away.is_away = False
    provider = client.provider
    api.shutdown()
    assert client.provider is not provider
    # The study is its owner's: it goes on. The provider begins anew when it is set again.
    api.set_provider_and_wait(provider)
    assert client.get_provider_status() == ProviderStatus.READY
    assert all_flags(client, request())["model"] in ("small", "large")


def test_5_1_an_outage_is_one_event_and_so_is_its_end(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    away, client = Away(monkeypatch, study), client_of(study)
    seen: list[tuple[str, str | None]] = []
    ready = threading.Event()

    def on_error(details: EventDetails) -> None:
        seen.append(("error", details.message))

    def on_ready(details: EventDetails) -> None:
        if details.message:  # the first one says that it was ready before
            seen.append(("ready", None))
            ready.set()

    client.add_handler(ProviderEvent.PROVIDER_ERROR, on_error)
    client.add_handler(ProviderEvent.PROVIDER_READY, on_ready)
    for n in range(3):
        client.get_string_value("support-answers.model", "?", request(f"a-{n}"))
    assert client.get_provider_status() == ProviderStatus.ERROR
    away.is_away = False
    client.get_string_value("support-answers.model", "?", request("b"))
    assert client.get_provider_status() == ProviderStatus.READY
    assert ready.wait(60)
    assert [kind for kind, _ in seen] == ["error", "ready"]
    assert "the disk is full" in str(seen[0][1])
