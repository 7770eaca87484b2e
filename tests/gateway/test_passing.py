"""What passes: requests and answers as they are, but for what the route sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.gateway.conftest import Gateway, file_of
from tests.gateway.recorded import KINDS, written
from tests.gateway.upstream import GAP_S, N_TOKENS, Stub
from tests.server.running import RunningServer

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("kind", KINDS)
def test_other_models_pass_byte_for_byte(
    kind: str, gateway: Gateway, stub: tuple[Stub, str]
) -> None:
    assert len(KINDS[kind]) == 40
    for n, request in enumerate(KINDS[kind]):
        body = written(request, n)
        direct = httpx.post(f"{stub[1]}/v1/{kind}", content=body, headers=JSON)
        passed = gateway.http.post(f"/v1/{kind}", content=body, headers=JSON)
        assert gateway.stub.seen[-1][2] == body
        assert (passed.status_code, passed.content) == (direct.status_code, direct.content)
        assert "x-imabo-pull" not in passed.headers


@pytest.mark.parametrize("kind", KINDS)
def test_tuned_ones_differ_in_what_the_route_sets_and_the_id(
    kind: str, gateway: Gateway, stub: tuple[Stub, str]
) -> None:
    for n, request in enumerate(KINDS[kind]):
        set_by_route = {"model": "small"}
        if kind != "embeddings" and "temperature" not in request:
            set_by_route["temperature"] = 0.25  # type: ignore[assignment]
        expected = request | set_by_route
        direct = httpx.post(f"{stub[1]}/v1/{kind}", json=expected).json()
        body = written(request | {"model": "imabo/one"}, n)
        answer = gateway.http.post(f"/v1/{kind}", content=body, headers=JSON)
        assert gateway.stub.last == expected
        assert list(gateway.stub.last)[: len(request)] == list(request)
        if kind != "embeddings":
            prefix = "chatcmpl" if kind == "chat/completions" else "cmpl"
            direct["id"] = f"{prefix}-{answer.headers['x-imabo-pull']}"
        assert answer.json() == direct
        assert answer.headers["x-imabo-cost"] == ("0.01" if kind == "embeddings" else "0.02")


def test_streams_differ_in_the_id_alone(gateway: Gateway, stub: tuple[Stub, str]) -> None:
    request = {"model": "small", "stream": True, "messages": [], "temperature": 0.25}
    direct = httpx.post(f"{stub[1]}/v1/chat/completions", json=request)
    passed = gateway.http.post("/v1/chat/completions", json=request)
    assert passed.content == direct.content
    tuned = gateway.http.post("/v1/chat/completions", json=request | {"model": "imabo/one"})
    own = f"chatcmpl-{tuned.headers['x-imabo-pull']}"
    assert tuned.text == direct.text.replace("chatcmpl-up", own)
    assert tuned.headers["content-type"] == direct.headers["content-type"]


@pytest.mark.parametrize("model", ["small", "imabo/one"])
def test_nothing_of_a_stream_is_held_back(model: str, gateway: Gateway) -> None:
    request = {"model": model, "stream": True, "messages": []}
    n_before: list[int] = []
    with gateway.http.stream("POST", "/v1/chat/completions", json=request) as answer:
        n_seen = 0
        for piece in answer.iter_raw():
            n_seen += piece.count(b"data: {")
            if len(n_before) < n_seen <= N_TOKENS:
                # The upstream is still at it: a buffer would have kept this for the end.
                n_before += [gateway.stub.n_open] * (n_seen - len(n_before))
    assert n_seen == N_TOKENS
    assert n_before[: N_TOKENS - 1] == [1] * (N_TOKENS - 1), f"a token every {GAP_S} s"


def test_an_id_that_comes_late_in_the_answer_is_found(
    gateway: Gateway, stub: tuple[Stub, str]
) -> None:
    direct = httpx.post(f"{stub[1]}/v1/chat/completions", json={"model": "late-id"})
    tuned = gateway.chat("imabo/late-id")
    assert list(tuned.json()) == list(direct.json())
    assert tuned.json()["id"] == f"chatcmpl-{tuned.headers['x-imabo-pull']}"


def test_ids_can_stay_the_upstreams(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    other = made(file_of(stub[1], imabo.url, gateway={"ids": "upstream"}))
    answer = other.chat()
    assert answer.json()["id"] == "chatcmpl-up"
    told = other.feedback(id=answer.headers["x-imabo-pull"], reward=1)
    assert told.json()["status"] == "told"


def test_metadata_is_stored_with_the_pull_and_not_sent_on(gateway: Gateway) -> None:
    context = json.dumps({"kind": "math"})
    ours = {"imabo_key": "order-3", "imabo_context": context}
    first = gateway.chat(metadata=ours)
    assert "metadata" not in gateway.stub.last
    again = gateway.chat(metadata={**ours, "team": "a"})
    assert gateway.stub.last["metadata"] == {"team": "a"}
    assert again.json()["id"] == first.json()["id"]
    with gateway.client() as client:
        pull = client.open("answers").pull(key="order-3")
    assert (pull.id, pull.context) == (first.headers["x-imabo-pull"], {"kind": "math"})


def test_what_the_caller_sets_wins_unless_the_route_says_otherwise(gateway: Gateway) -> None:
    answer = gateway.chat("imabo/one", temperature=0.9)
    assert gateway.stub.last["temperature"] == 0.9
    assert answer.headers["x-imabo-overridden"] == "temperature"
    gateway.chat("imabo/one", temperature=None)
    assert gateway.stub.last["temperature"] == 0.25
    answer = gateway.chat("imabo/replaced", temperature=0.9)
    assert gateway.stub.last["temperature"] == 0.25
    assert "x-imabo-overridden" not in answer.headers


SHORT = {"role": "system", "content": "Be short."}
THEIRS = {"role": "system", "content": "Be long."}
TURNS = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]
HI = {"role": "user", "content": "hi"}
PAST = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


@pytest.mark.parametrize(
    ("route", "messages", "sent"),
    [
        ("prompted", [HI], [SHORT, *TURNS, HI]),
        ("prompted", [THEIRS, *PAST, HI], [THEIRS, *TURNS, *PAST, HI]),
        ("inserted", [THEIRS, HI], [SHORT, THEIRS, HI]),
        ("replaced", [THEIRS, *PAST, HI], [SHORT, *TURNS, HI]),
        ("prompted", [], [SHORT, *TURNS]),
    ],
)
def test_named_prompts_and_turns(
    route: str, messages: list[Any], sent: list[Any], gateway: Gateway
) -> None:
    gateway.chat(f"imabo/{route}", messages=messages)
    assert gateway.stub.last["messages"] == sent


def test_usage_of_a_stream_is_asked_for_where_the_route_wants_it(gateway: Gateway) -> None:
    answer = gateway.chat("imabo/inserted", stream=True)
    assert gateway.stub.last["stream_options"] == {"include_usage": True}
    assert '"usage"' in answer.text


def test_a_route_is_found_by_its_study_too(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    file = file_of(stub[1], imabo.url)
    file["routes"] = {"support": file["routes"]["answers"]}
    other = made(file)
    assert other.chat("imabo/answers").headers["x-imabo-study"] == "answers"
    assert other.chat("main/large").json()["model"] == "large"
