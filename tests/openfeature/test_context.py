"""What of a request's context is stored, and what names the request (3)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.track import TrackingEventDetails
from openfeature.transaction_context import ContextVarsTransactionContextPropagator

from imabo import Study
from tests.openfeature.asking import all_flags, client_of, failed, request


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
