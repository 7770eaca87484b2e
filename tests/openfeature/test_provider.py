"""The provider by the requirements of the OpenFeature specification, on a study in process.

The SDK ships no behavioural tests, in its wheel or in its source distribution; the numbers are
those of the specification's requirements.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from openfeature import api
from openfeature.client import OpenFeatureClient
from openfeature.evaluation_context import EvaluationContext
from openfeature.event import EventDetails, ProviderEvent
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason
from openfeature.provider import ProviderStatus
from openfeature.track import TrackingEventDetails
from openfeature.transaction_context import ContextVarsTransactionContextPropagator

from imabo import Choice, Control, Space, Study
from imabo.arms import Pull
from imabo.errors import InvalidSetting, StoreError
from imabo.openfeature import ImaboProvider

CONFIG = {"model": "small", "temperature": 0.2, "top_k": 3, "cite": False}


def client_of(*studies: Any, **settings: Any) -> OpenFeatureClient:
    api.set_provider_and_wait(ImaboProvider(*studies, **settings))
    return api.get_client()


def request(key: str = "request-1", **attributes: Any) -> EvaluationContext:
    return EvaluationContext(key, attributes)


def all_flags(client: OpenFeatureClient, context: EvaluationContext) -> dict[str, Any]:
    return {
        "model": client.get_string_value("support-answers.model", "?", context),
        "temperature": client.get_float_value("support-answers.temperature", -1.0, context),
        "top_k": client.get_integer_value("support-answers.top_k", -1, context),
        "cite": client.get_boolean_value("support-answers.cite", False, context),
        "thinking_tokens": client.get_integer_value("support-answers.thinking_tokens", -1, context),
    }


# --- 2.1 and 2.2: names, values, variants, reasons, metadata ------------------------------------


def test_2_1_1_the_provider_has_a_name(study: Study) -> None:
    client_of(study)
    assert api.get_provider_metadata().name == "imabo"


def test_2_2_2_1_every_type_resolves_and_one_request_is_one_pull(study: Study) -> None:
    client = client_of(study)
    for n in range(12):
        context = request(f"request-{n}")
        values = all_flags(client, context)
        whole = client.get_object_value("support-answers", {}, context)
        assert study.n_pulls == n + 1
        assert study.pull(key=f"request-{n}").config == whole
        assert values == {"thinking_tokens": -1} | dict(whole)
        assert [type(values[name]) for name in CONFIG] == [str, float, int, bool]


def test_2_2_3_to_2_2_6_and_2_2_9_details_of_a_flag_that_is_resolved(study: Study) -> None:
    details = client_of(study).get_string_details("support-answers.model", "?", request())
    pull = study.pull(key="request-1")
    assert details.value == pull.config["model"]
    assert (details.variant, details.reason) == (f"arm-{pull.arm}", Reason.SPLIT)
    assert (details.error_code, details.error_message) == (None, None)
    assert details.flag_metadata == {
        "study": "support-answers", "pull": pull.id, "arm": pull.arm, "decision": pull.reason,
    }  # fmt: skip


def test_2_2_10_metadata_says_who_has_the_control() -> None:
    control = Control({"model": "small"}, share=0.5)
    study = Study.create("s", Space(model=Choice("small", "large")), seed=0, control=control)
    client = client_of(study)
    groups = {
        client.get_string_details("s.model", "?", request(str(n))).flag_metadata["group"]
        for n in range(20)
    }
    assert groups == {"tuned", "control"}


def test_a_number_without_a_fraction_is_a_float_too(study: Study) -> None:
    value = client_of(study).get_float_value("support-answers.top_k", -1.0, request())
    assert (value, type(value)) == (study.pull(key="request-1").config["top_k"], float)


def test_2_2_5_a_parameter_that_is_not_active_has_the_default_and_no_error(study: Study) -> None:
    client = client_of(study)
    seen = set()
    for n in range(20):
        context = request(f"request-{n}")
        details = client.get_integer_details("support-answers.thinking_tokens", 7, context)
        model = client.get_string_value("support-answers.model", "?", context)
        seen.add(model)
        assert details.error_code is None
        assert (details.reason, details.value == 7) == (
            (Reason.SPLIT, False) if model == "large" else (Reason.DEFAULT, True)
        )
    assert seen == {"small", "large"}


# --- 2.2.7: errors ------------------------------------------------------------------------------


def failed(details: FlagEvaluationDetails[Any], default: object, code: ErrorCode) -> str:
    assert (details.value, details.reason, details.error_code) == (default, Reason.ERROR, code)
    assert details.variant is None
    assert details.error_message
    return details.error_message


@pytest.mark.parametrize("flag", ["missing-flag", "support-answers.mdoel", "other.model", "", "."])
def test_2_2_7_a_flag_that_is_not_there(study: Study, flag: str) -> None:
    details = client_of(study).get_string_details(flag, "uh-oh", request())
    failed(details, "uh-oh", ErrorCode.FLAG_NOT_FOUND)
    assert study.n_pulls == 0


def test_2_2_7_another_type_is_found_out_before_anything_is_served(study: Study) -> None:
    client, code = client_of(study), ErrorCode.TYPE_MISMATCH
    failed(client.get_integer_details("support-answers.model", 13, request()), 13, code)
    failed(client.get_integer_details("support-answers.temperature", 13, request()), 13, code)
    failed(client.get_integer_details("support-answers.cite", 13, request()), 13, code)
    failed(client.get_boolean_details("support-answers.top_k", True, request()), True, code)
    failed(client.get_string_details("support-answers", "x", request()), "x", code)
    failed(client.get_object_details("support-answers.model", {}, request()), {}, code)
    assert study.n_pulls == 0


def test_2_2_7_a_choice_of_several_types_is_judged_by_its_value() -> None:
    study = Study.create("s", Space(limit=Choice("none", 10, None)), seed=0)
    client = client_of(study)
    found = [client.get_integer_details("s.limit", -1, request(str(n))) for n in range(30)]
    assert {one.error_code for one in found} == {None, ErrorCode.TYPE_MISMATCH}
    assert {one.value for one in found} == {10, -1}


def test_2_2_7_a_parameter_needs_a_request_and_a_whole_configuration_does_not(
    study: Study,
) -> None:
    client = client_of(study)
    details = client.get_string_details("support-answers.model", "?")
    words = failed(details, "?", ErrorCode.TARGETING_KEY_MISSING)
    assert "'support-answers'" in words
    assert study.n_pulls == 0
    whole = client.get_object_details("support-answers", {})
    assert study.pull(str(whole.flag_metadata["pull"])).config == whole.value


@pytest.mark.parametrize("context", [request("k" * 201), request(size="x" * 20_000)])
def test_2_2_7_a_context_that_cannot_be_stored(study: Study, context: EvaluationContext) -> None:
    details = client_of(study).get_string_details("support-answers.model", "?", context)
    failed(details, "?", ErrorCode.INVALID_CONTEXT)
    # Once it can be, the request goes on.
    assert all_flags(api.get_client(), request())["model"] in ("small", "large")


class Away:
    """A study whose store is away for a while."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, study: Study) -> None:
        self.is_away = True
        real: Callable[..., Pull] = study.ask

        def ask(**asked: Any) -> Pull:
            if self.is_away:
                raise StoreError("the disk is full", "nothing can be written", "make room")
            return real(**asked)

        monkeypatch.setattr(study, "ask", ask)


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


def test_callers_at_once_get_one_pull_and_one_ask(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go = [], threading.Event()
    real: Callable[..., Pull] = study.ask

    def ask(**wanted: Any) -> Pull:
        asked.append(wanted["key"])
        go.wait(60.0)
        return real(**wanted)

    monkeypatch.setattr(study, "ask", ask)
    client, found = client_of(study), []
    threads = [
        threading.Thread(target=lambda: found.append(all_flags(client, request())))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(60.0)
    assert asked == ["request-1"]
    assert len(found) == 8
    assert all(one == found[0] for one in found)


# --- 2.4, 2.5 and 5: status, events, the end ----------------------------------------------------


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
    assert ready.wait(60.0)
    assert [kind for kind, _ in seen] == ["error", "ready"]
    assert "the disk is full" in str(seen[0][1])


# --- 3: the context is stored -------------------------------------------------------------------


def test_3_the_merged_context_is_stored_with_the_pull(study: Study) -> None:
    client = client_of(study)
    api.set_evaluation_context(EvaluationContext(attributes={"region": "eu", "kind": "none"}))
    at = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    all_flags(client, request(kind="math", tags=("a", "b"), nested={"n": 1}, at=at))
    assert study.pull(key="request-1").context == {
        "targeting_key": "request-1", "region": "eu", "kind": "math", "tags": ["a", "b"],
        "nested": {"n": 1}, "at": "2026-01-02T03:04:00+00:00",
    }  # fmt: skip


def test_3_3_a_request_may_be_named_once_for_its_thread_or_task(study: Study) -> None:
    client = client_of(study)
    api.set_transaction_context_propagator(ContextVarsTransactionContextPropagator())

    async def handle(key: str) -> str:
        api.set_transaction_context(request(key))
        model = await client.get_string_value_async("support-answers.model", "?")
        client.track("reward", None, TrackingEventDetails(float(key == "b")))
        return model

    async def both() -> list[str]:
        return list(await asyncio.gather(handle("a"), handle("b")))

    models = asyncio.run(both())
    pulls = [study.pull(key=key) for key in ("a", "b")]
    assert [pull.config["model"] for pull in pulls] == models
    assert [pull.reward for pull in pulls] == [0.0, 1.0]


def test_attributes_that_are_not_named_are_not_stored(study: Study) -> None:
    client = client_of(study, attributes=["kind"])
    all_flags(client, request(kind="math", email="someone@example.com"))
    assert study.pull(key="request-1").context == {"targeting_key": "request-1", "kind": "math"}


def test_an_attribute_may_name_the_request_in_place_of_the_targeting_key(study: Study) -> None:
    client = client_of(study, key="request_id")
    for n in range(2):
        all_flags(client, request("user-7", request_id=f"request-{n}"))
    client.track("reward", request("user-7", request_id="request-1"), TrackingEventDetails(1.0))
    assert [study.pull(key=f"request-{n}").reward for n in range(2)] == [None, 1.0]
    assert study.n_pulls == 2
    details = client.get_string_details("support-answers.model", "?", request("user-7"))
    assert "'request_id'" in failed(details, "?", ErrorCode.TARGETING_KEY_MISSING)


# --- 2.7 and 6: tracking ------------------------------------------------------------------------


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


# --- awaited, and settings ----------------------------------------------------------------------


def test_awaited_flags_come_from_the_same_pull(study: Study) -> None:
    client = client_of(study)

    async def ask() -> tuple[Any, ...]:
        return await asyncio.gather(
            client.get_string_value_async("support-answers.model", "?", request()),
            client.get_float_value_async("support-answers.temperature", -1.0, request()),
            client.get_integer_value_async("support-answers.top_k", -1, request()),
            client.get_boolean_value_async("support-answers.cite", False, request()),
            client.get_object_value_async("support-answers", {}, request()),
        )

    *values, whole = asyncio.run(ask())
    assert values == [whole[name] for name in CONFIG]
    assert study.n_pulls == 1
    details = asyncio.run(client.get_string_details_async("nothing", "?", request()))
    failed(details, "?", ErrorCode.FLAG_NOT_FOUND)


def test_an_awaited_request_that_is_cancelled_leaves_the_others_their_pull(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, go = client_of(study), threading.Event()
    real: Callable[..., Pull] = study.ask

    def ask(**wanted: Any) -> Pull:
        go.wait(60.0)
        return real(**wanted)

    monkeypatch.setattr(study, "ask", ask)

    async def three(leaves: int) -> list[str]:
        go.clear()
        context = request(f"request-{leaves}")
        flag = ("support-answers.model", "?", context)
        tasks = []
        for _ in range(3):
            tasks.append(asyncio.create_task(client.get_string_value_async(*flag)))
            await asyncio.sleep(0.01)
        tasks.pop(leaves).cancel()
        await asyncio.sleep(0.01)
        go.set()
        return await asyncio.gather(*tasks)

    for leaves in (0, 1):  # who asks, and one that waits for it
        models = asyncio.run(three(leaves))
        assert models == [study.pull(key=f"request-{leaves}").config["model"]] * 2


def test_flags_may_have_names_of_their_own(study: Study) -> None:
    client = client_of(study, flags={"answer-model": "support-answers.model"})
    model = client.get_string_value("answer-model", "?", request())
    assert model == study.pull(key="request-1").config["model"]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"flags": {"a": "other.model"}}, "no study is meant"),
        ({"flags": {"a": "support-answers.mdoel"}}, "has no parameter 'mdoel'"),
        ({"rewards": {"reward": "1"}}, "'1'"),
        ({"attributes": "kind"}, "a list of names"),
        ({"key": ""}, "key"),
        ({"deadline_s": 0}, "deadline_s is 0"),
    ],
)
def test_settings_that_make_no_sense(study: Study, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidSetting, match=words):
        ImaboProvider(study, **settings)


def test_studies_that_make_no_sense(study: Study) -> None:
    nobody: Any = "support-answers"
    for studies in [(), (study, study), (nobody,)]:
        with pytest.raises(InvalidSetting):
            ImaboProvider(*studies)
