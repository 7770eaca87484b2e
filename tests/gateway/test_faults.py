"""It never makes things worse: whatever fails, there is an answer, and no arm gets another's."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from imabo import Client, Signal
from imabo.gateway.app import studies_of
from imabo.gateway.connections import Connection
from imabo.gateway.served import Reply, Serving
from imabo.gateway.serving import look
from imabo.gateway.settings import settings_of
from imabo.gateway.streams import Events
from imabo.gateway.tables import Table
from imabo.gateway.watching import Watch
from tests.gateway.conftest import UPSTREAM_KEY, Gateway, file_of
from tests.gateway.upstream import Stub
from tests.server.running import RunningServer

# What comes without a fallback: the upstream's own error, or words of ours.
ALONE = {
    "error": (500, "boom"),
    "busy": (429, "busy"),
    "gone": (404, "no such model"),
    "cut": (502, "broke off"),
    "cut-early": (502, "broke off"),
    "slow": (504, "sent nothing for 0.6 s"),
    "down": (502, "cannot be reached"),
    "no-http": (502, "no HTTP"),
}


@pytest.mark.parametrize("fault", ALONE)
def test_without_a_fallback_the_upstreams_own_error_comes_or_ours(
    fault: str, gateway: Gateway
) -> None:
    answer = gateway.chat(f"imabo/{fault}")
    status, words = ALONE[fault]
    assert answer.status_code == status
    assert words in answer.json()["error"]["message"]
    if fault == "busy":
        assert answer.headers["retry-after"] == "7"
    assert answer.headers["x-imabo-study"] == "one"
    assert answer.headers["x-imabo-pull"]
    assert UPSTREAM_KEY not in answer.text


@pytest.mark.parametrize("fault", ALONE)
def test_with_a_fallback_it_answers_once_and_no_arm_is_credited(
    fault: str, gateway: Gateway
) -> None:
    n_seen = len(gateway.stub.seen)
    answer = gateway.chat(f"imabo/{fault}-saved", temperature=0.1)
    assert (answer.status_code, answer.json()["model"]) == (200, "large")
    assert gateway.stub.last["temperature"] == 0.1
    assert len(gateway.stub.seen) - n_seen == (1 if fault in ("down", "no-http") else 2)
    assert answer.headers["x-imabo-served"] == "fallback"
    assert answer.headers["x-imabo-arm"] == "0"
    told = gateway.feedback(id=answer.json()["id"], reward=1)
    assert told.status_code == 200
    assert told.json()["status"] == "dropped"
    assert "the fallback answered" in told.json()["why"]
    with gateway.client() as client:
        study = client.open("one")
        pull_id = answer.headers["x-imabo-pull"].removeprefix("default-")
        until = time.monotonic() + 60.0
        while study.pull(pull_id).reward is None and time.monotonic() < until:
            time.sleep(0.02)
        assert study.pull(pull_id).reward == 0.0  # it failed, and the fallback's reward is not its
        # Who tells past the gateway does no harm either.
        study.tell(answer.headers["x-imabo-pull"], 1.0)
        assert study.pull(pull_id).reward == 0.0


def test_what_is_no_failure_passes_as_it_is(gateway: Gateway) -> None:
    for fault in ("refusing", "refusing-saved"):
        answer = gateway.chat(f"imabo/{fault}")
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, "bad temperature")
    garbage = gateway.chat("imabo/garbage")
    assert (garbage.status_code, garbage.content) == (200, b"<html>\xff not JSON")
    long = gateway.chat("imabo/heads")
    assert (long.status_code, len(long.headers["x-long"])) == (200, 10_000)


def test_a_stream_that_is_cut_is_cut_for_the_caller(gateway: Gateway) -> None:
    for model in ("imabo/cut-stream", "cut-stream"):
        with pytest.raises(httpx.RemoteProtocolError):
            gateway.chat(model, stream=True)
    assert gateway.http.get("/healthz").status_code == 200


def test_when_the_fallback_is_down_too_the_first_error_comes(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    file = file_of(stub[1], imabo.url)
    file["routes"]["busy"]["fallback"] = "down"
    answer = made(file).chat("imabo/busy")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")


# --- imabo away ---------------------------------------------------------------------------------


@pytest.fixture
def frozen() -> Iterator[str]:
    """An address that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imabo.gateway.remote._START_S", 0.05)


@pytest.mark.usefixtures("quick_start")
@pytest.mark.parametrize("state", ["away", "frozen"])
def test_without_imabo_the_default_is_served_within_the_deadline(
    state: str,
    frozen: str,
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = file_of(stub[1], frozen if state == "frozen" else "http://127.0.0.1:1")
    file["imabo"]["deadline_s"] = 0.2
    gateway = made(file)
    took = []
    for _ in range(3):
        began = time.monotonic()
        answer = gateway.chat()
        took.append(time.monotonic() - began)
        assert answer.headers["x-imabo-served"] == "default"
        sent = gateway.stub.last
        assert (sent["model"], sent["temperature"]) == ("small", 0.5)
    assert min(took) < 1.0  # the machine may stand still in one of them
    both = gateway.chat("imabo/error-saved")
    assert (both.headers["x-imabo-served"], both.json()["model"]) == ("fallback", "large")
    for one in (answer, both):
        told = gateway.feedback(id=one.json()["id"], reward=1).json()
        assert told["status"] == "dropped"
        assert "default was served" in told["why"]
    assert any("default" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("is_looked", [False, True])
def test_a_frozen_imabo_delays_the_start_once(
    is_looked: bool,
    frozen: str,
    stub: tuple[Stub, str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("imabo.gateway.remote._START_S", 0.4)
    file = file_of(stub[1], frozen)
    for n in range(10):
        file["routes"][f"n{n}"] = {**file["routes"]["answers"], "study": f"n{n}"}
    settings = settings_of(Table("", file), {"UP_KEY": UPSTREAM_KEY})

    async def start() -> float:
        looked = await look(settings)
        studies, began = studies_of(settings, looked if is_looked else None), time.monotonic()
        await studies.start()
        took = time.monotonic() - began
        await studies.close()
        return took

    took = asyncio.run(start())
    assert took < (0.3 if is_looked else 3.0)
    said = [one for one in caplog.messages if "cannot be looked at" in one]
    assert len(said) == 12 * (1 if is_looked else 2)
    assert all(one.endswith("no answer within 0.4 s") for one in said)


def test_imabo_may_freeze_and_come_back(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], imabo: RunningServer
) -> None:
    file = file_of(stub[1], imabo.url)
    file["imabo"]["deadline_s"] = 0.2
    gateway, gate = made(file), threading.Event()
    until = time.monotonic() + 60.0
    while (before := gateway.chat()).headers["x-imabo-served"] != "arm":
        assert time.monotonic() < until
    imabo.app.parts.registry.lanes.put("answers", gate.wait)
    try:
        for metadata in ({}, {"imabo_key": "frozen-1"}):
            frozen = gateway.chat(metadata=metadata)  # as long as it is frozen, nothing else comes
            assert frozen.headers["x-imabo-served"] == "default"
            assert gateway.feedback(id=frozen.json()["id"], reward=1).json()["status"] == "dropped"
    finally:
        gate.set()
    until = time.monotonic() + 60.0
    while gateway.chat().headers["x-imabo-served"] != "arm":
        assert time.monotonic() < until
        time.sleep(0.02)
    assert gateway.feedback(id=before.json()["id"], reward=1).json()["status"] == "told"


@pytest.mark.usefixtures("quick_start")
def test_signals_are_told_of_a_service_that_came_later(
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.gateway.conftest import SPACE, free_port

    monkeypatch.setattr("imabo.gateway.remote._LOOK_SOON_S", 0.05)
    port = free_port()
    file = file_of(stub[1], f"http://127.0.0.1:{port}")
    file["routes"] = {"answers": file["routes"]["answers"]}
    gateway = made(file)
    with RunningServer(port=port) as late, Client(late.url) as client:
        study = client.create("answers", SPACE, seed=0, signals={"latency_s": Signal(low=0.0)})
        until, told = time.monotonic() + 60.0, False
        while not told and time.monotonic() < until:
            answer = gateway.chat()
            if answer.headers["x-imabo-served"] == "arm":
                time.sleep(0.1)
                told = "latency_s" in study.pull(answer.headers["x-imabo-pull"]).signals
        assert told


@pytest.mark.usefixtures("quick_start")
def test_a_reward_outlives_an_outage_of_imabo(
    made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str], database: str
) -> None:
    from tests.gateway.conftest import SPACE

    with RunningServer(database) as first:
        with Client(first.url) as client:
            client.create("answers", SPACE, seed=0)
        file = file_of(stub[1], first.url)
        file["routes"] = {"answers": file["routes"]["answers"]}
        gateway = made(file)
        answer = gateway.chat()
        port = first.port
    pull_id = answer.headers["x-imabo-pull"]
    assert gateway.feedback(id=answer.json()["id"], reward=1).json()["status"] == "told"
    with RunningServer(database, port=port) as again, Client(again.url) as client:
        study = client.open("answers")
        until = time.monotonic() + 60.0
        while study.pull(pull_id).reward is None and time.monotonic() < until:
            time.sleep(0.02)
        assert study.pull(pull_id).reward == 1.0


# --- callers that go ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["slow", "imabo/slow"])
def test_a_caller_that_goes_before_the_answer_ends_the_upstreams_work(
    model: str, made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str],
    imabo: RunningServer,
) -> None:  # fmt: skip
    file = file_of(stub[1], imabo.url)
    file["upstreams"]["wrong"]["timeout_s"] = 60.0
    gateway = made(file)
    gateway.stub.cancelled.clear()
    n_seen, until = len(gateway.stub.seen), time.monotonic() + 60.0
    body = json.dumps({"model": model}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(gateway.url.rpartition(":")[2]))) as caller:
        caller.sendall(head % len(body) + body)
        while len(gateway.stub.seen) == n_seen and time.monotonic() < until:
            time.sleep(0.01)
    assert gateway.stub.cancelled.wait(60.0)


@pytest.mark.parametrize("model", ["silent-stream", "imabo/silent-stream"])
def test_a_caller_that_goes_in_a_stream_ends_the_upstreams_work(
    model: str, made: Callable[[dict[str, Any]], Gateway], stub: tuple[Stub, str],
    imabo: RunningServer,
) -> None:  # fmt: skip
    file = file_of(stub[1], imabo.url)
    file["upstreams"]["wrong"]["timeout_s"] = 60.0
    gateway = made(file)
    gateway.stub.cancelled.clear()
    request = {"model": model, "stream": True}
    url = f"{gateway.url}/v1/chat/completions"
    with httpx.stream("POST", url, json=request) as answer:
        next(answer.iter_raw())
    assert gateway.stub.cancelled.wait(60.0)


def test_many_streams_at_once_hold_and_leave_nothing(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them, and the process' memory: python -m imabo_bench.gateway."""
    monkeypatch.setattr("imabo.gateway.connections._IDLE_S", 0.05)
    kinds = (Connection, Watch, Serving, Reply, Events)

    def n_alive() -> int:
        gc.collect()
        # By the type: to ask an object for its class wakes what some libraries load late.
        return sum(type(one) in kinds for one in gc.get_objects())

    async def run() -> list[str]:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(timeout=60.0, limits=limits) as client:
            body = {"model": "imabo/answers", "messages": [], "stream": True}
            url = f"{gateway.url}/v1/chat/completions"
            answers = await asyncio.gather(*(client.post(url, json=body) for _ in range(200)))
            return [answer.text for answer in answers]

    texts = asyncio.run(run())
    assert [text for text in texts if not text.endswith("data: [DONE]\n\n")] == []
    assert gateway.stub.n_open == 0
    until = time.monotonic() + 60.0
    while (n_left := n_alive()) > 20 and time.monotonic() < until:
        gateway.chat()  # whoever comes later lets go of connections that were kept
        time.sleep(0.1)
    assert n_left <= 20


def test_no_key_is_in_a_log_or_an_answer(
    made: Callable[[dict[str, Any]], Gateway],
    stub: tuple[Stub, str],
    imabo: RunningServer,
    caplog: pytest.LogCaptureFixture,
    no_http: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    file = file_of(stub[1], imabo.url, no_http, gateway={"key_env": "OWN_KEY"})
    gateway = made(file)
    texts = [repr(gateway.settings)]
    gateway.http.headers["authorization"] = "Bearer wrong-key-9911"
    refused = gateway.chat()
    assert refused.status_code == 401
    texts.append(refused.text)
    assert gateway.http.get("/v1/models").status_code == 401
    assert gateway.feedback(id="x", reward=1).status_code == 401
    gateway.http.headers["authorization"] = "Bearer gw-secret-4242"
    for model in ("imabo/answers", *(f"imabo/{fault}" for fault in ALONE), "nobody", "small"):
        answer = gateway.chat(model)
        assert "gw-secret-4242" not in repr(gateway.stub.seen[-1])
        # The echo of the stub holds bodies, never headers.
        texts += [answer.text, repr(answer.headers)]
    texts += [record.getMessage() + str(record.exc_text) for record in caplog.records]
    for key in (UPSTREAM_KEY, "gw-secret-4242", "wrong-key-9911"):
        assert not any(key in text for text in texts)
