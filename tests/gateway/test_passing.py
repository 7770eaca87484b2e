"""What passes: requests and answers as they are, but for what the route sets."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from imabo import Client, Signal, oracles
from tests.gateway.conftest import SPACE, UPSTREAM_KEY, Gateway, file_of
from tests.gateway.recorded import KINDS, STREAMED, written
from tests.gateway.upstream import GAP_S, N_TOKENS, Stub
from tests.server.running import RunningServer

JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def upstream(stub: tuple[Stub, str]) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stub[1]) as client:
        yield client


@pytest.mark.parametrize("kind", KINDS)
def test_other_models_pass_byte_for_byte(
    kind: str, gateway: Gateway, stub: tuple[Stub, str], upstream: httpx.Client
) -> None:
    path, recorded = KINDS[kind]
    assert len(recorded) == 40
    for n, request in enumerate(recorded):
        body = written(request, n)
        direct = upstream.post(f"/v1/{path}", content=body, headers=JSON)
        passed = gateway.http.post(f"/v1/{path}", content=body, headers=JSON)
        assert gateway.stub.seen[-1][2] == body
        assert (passed.status_code, passed.content) == (direct.status_code, direct.content)
        assert "x-imabo-pull" not in passed.headers


@pytest.mark.parametrize("kind", KINDS)
def test_tuned_ones_differ_in_what_the_route_sets_and_the_id(
    kind: str, gateway: Gateway, upstream: httpx.Client
) -> None:
    path, recorded = KINDS[kind]
    for n, request in enumerate(recorded):
        set_by_route = {"model": "small"}
        if kind != "embeddings" and "temperature" not in request:
            set_by_route["temperature"] = 0.25  # type: ignore[assignment]
        expected = request | set_by_route
        direct = upstream.post(f"/v1/{path}", json=expected).json()
        body = written(request | {"model": "imabo/one"}, n)
        answer = gateway.http.post(f"/v1/{path}", content=body, headers=JSON)
        assert gateway.stub.last == expected
        assert list(gateway.stub.last)[: len(request)] == list(request)
        if kind != "embeddings":
            prefix = "chatcmpl" if path == "chat/completions" else "cmpl"
            direct["id"] = f"{prefix}-{answer.headers['x-imabo-pull']}"
        assert answer.json() == direct
        assert answer.headers["x-imabo-cost"] == ("0.01" if kind == "embeddings" else "0.02")


def test_streams_differ_in_the_id_alone(gateway: Gateway, stub: tuple[Stub, str]) -> None:
    """All at once: each takes its time."""
    assert len(STREAMED) == 40

    async def run() -> list[tuple[httpx.Response, ...]]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=30.0, limits=limits) as client:

            async def three(request: dict[str, Any], n: int) -> tuple[httpx.Response, ...]:
                set_by_route = {"model": "small"} | (
                    {} if "temperature" in request else {"temperature": 0.25}
                )
                bodies = (
                    (stub[1], written(request | set_by_route, n)),
                    (gateway.url, written(request | set_by_route, n)),
                    (gateway.url, written(request | {"model": "imabo/one"}, n)),
                )
                return tuple(
                    await asyncio.gather(
                        *(
                            client.post(f"{url}/v1/chat/completions", content=body, headers=JSON)
                            for url, body in bodies
                        )
                    )
                )

            return await asyncio.gather(*(three(one, n) for n, one in enumerate(STREAMED)))

    n_seen = len(stub[0].seen)
    for direct, passed, tuned in asyncio.run(run()):
        assert direct.text.endswith("data: [DONE]\n\n")
        assert passed.content == direct.content
        own = f"chatcmpl-{tuned.headers['x-imabo-pull']}"
        assert tuned.text == direct.text.replace("chatcmpl-up", own)
        assert tuned.headers["content-type"] == direct.headers["content-type"]
    # Each came thrice, and said the same each time.
    seen = Counter(json.dumps(json.loads(one[2]), sort_keys=True) for one in stub[0].seen[n_seen:])
    assert set(seen.values()) == {3}
    assert len(seen) == 40


def test_models_are_listed_and_found_one_by_one(gateway: Gateway) -> None:
    listed = gateway.http.get("/v1/models").json()
    assert listed["object"] == "list"
    assert len(listed["data"]) >= 40
    for model in listed["data"]:
        assert set(model) == {"id", "object", "created", "owned_by"}
        assert gateway.http.get(f"/v1/models/{model['id']}").json() == model


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


def test_bodies_are_kept_where_the_file_says_so(
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    imabo: RunningServer,
    tmp_path: Path,
) -> None:
    path = tmp_path / "bodies.jsonl"
    other = made(file_of(stub[1], imabo.url, gateway={"bodies_file": str(path)}))
    answer, stream = other.chat("imabo/one"), other.chat("imabo/one", stream=True)
    garbage, passed = other.chat("imabo/garbage"), other.chat("large")
    until, lines = time.monotonic() + 60.0, list[dict[str, Any]]()
    while len(lines) < 3 and time.monotonic() < until:
        time.sleep(0.02)
        text = path.read_text() if path.exists() else ""
        lines = [json.loads(line) for line in text.splitlines()]
    assert [line["pull"] for line in lines] == [
        one.headers["x-imabo-pull"] for one in (answer, stream, garbage)
    ]
    assert passed.status_code == 200  # and is not kept: it is none of a study
    assert lines[0]["request"]["messages"] == [HI]
    assert lines[0]["answer"] == answer.json()
    assert lines[1]["answer"] == stream.text
    assert lines[2]["answer"] == "<html>\ufffd not JSON"
    assert path.stat().st_mode & 0o077 == 0
    assert UPSTREAM_KEY not in path.read_text()


def test_usage_of_a_stream_is_asked_for_where_the_route_wants_it(gateway: Gateway) -> None:
    answer = gateway.chat("imabo/inserted", stream=True)
    assert gateway.stub.last["stream_options"] == {"include_usage": True}
    assert '"usage"' in answer.text


def test_who_asks_for_the_usage_of_a_stream_sees_it(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    with Client(imabo.url) as client:
        signals = {"tokens": Signal(low=0.0)}
        client.create("counted", SPACE, oracle=oracles.Random(), seed=0, signals=signals)
    file = file_of(stub[1], imabo.url)
    file["routes"]["counted"] = {**file["routes"]["answers"], "study": "counted"}
    file["routes"]["off"] = {**file["routes"]["counted"], "ask_usage": False}
    file["gateway"]["ids"] = "upstream"
    other = made(file)
    asked = {"stream": True, "stream_options": {"include_usage": True, "own": 1}}
    for model in ("imabo/counted", "imabo/off", "imabo/answers"):
        assert '"usage"' in other.chat(model, **asked).text
        assert other.stub.last["stream_options"] == asked["stream_options"]
    hidden = other.chat("imabo/counted", stream=True)
    assert other.stub.last["stream_options"] == {"include_usage": True}
    for model in ("imabo/off", "imabo/answers"):
        assert other.chat(model, stream=True).text.count("data:") == hidden.text.count("data:")
        assert "stream_options" not in other.stub.last
    assert '"usage"' not in hidden.text
    assert '"id": "chatcmpl-up"' in hidden.text


def test_a_server_that_does_not_count_streams_serves_them_all_the_same(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    with Client(imabo.url) as client:
        signals = {"tokens": Signal(low=0.0)}
        client.create("uncounted", SPACE, oracle=oracles.Random(), seed=0, signals=signals)
    file = file_of(stub[1], imabo.url)
    fixed = {"study": "uncounted", "default": {"model": "small", "temperature": 0.5}}
    file["routes"] = {name: {**fixed, "model": name} for name in ("strict", "refusing")}
    other, n_sent = made(file), []
    for model in ("strict", "strict", "refusing", "refusing"):
        n_seen = len(other.stub.seen)
        answer = other.chat(f"imabo/{model}", stream=True)
        assert (answer.status_code == 200) is (model == "strict")
        n_sent.append(len(other.stub.seen) - n_seen)
    # The first is known by now not to count; the other one refused something else.
    assert n_sent == [2, 1, 2, 2]


def test_a_route_is_found_by_its_study_too(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    file = file_of(stub[1], imabo.url)
    file["routes"] = {"support": file["routes"]["answers"]}
    other = made(file)
    assert other.chat("imabo/answers").headers["x-imabo-study"] == "answers"
    assert other.chat("main/large").json()["model"] == "large"
