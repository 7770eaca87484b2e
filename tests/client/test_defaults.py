"""With a default an ask never fails and keeps its deadline, whatever the service does."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from imabo.errors import InvalidSetting
from imabo.stores import MemoryStore
from imabo.testing.study.base import letters
from tests.client.conftest import MakeClient
from tests.client.tcp import Handler, dripping, listening, saying, silent
from tests.server.running import RunningServer

DEFAULT = {"letter": "a"}
SLACK_S = 20.0  # a busy machine may be this late; a hanging ask would be much later

JSON = "Content-Type: application/json"
BROKEN: dict[str, Handler] = {
    "never answers": silent,
    "answers byte by byte": dripping,
    "says 500": saying("500 Internal Server Error", b'{"code": "internal"}', JSON),
    "says 503": saying("503 Service Unavailable", b"{}", JSON, "Retry-After: 3600"),
    "says 429": saying("429 Too Many Requests", b"slow down", "Retry-After: nonsense"),
    "redirects": saying("302 Found", b"", "Location: /elsewhere"),
    "sends a page": saying("200 OK", b"<html>hello</html>", "Content-Type: text/html"),
    "sends other JSON": saying("200 OK", b'{"pulls": [{}]}', JSON),
    "sends a list": saying("201 Created", b"[]", JSON),
    "sends no pulls": saying("201 Created", b'{"pulls": []}', JSON),
    "sends bytes": saying("200 OK", b"\xff\xfe\x00", JSON),
    "sends bad gzip": saying("200 OK", b"not gzip", "Content-Encoding: gzip"),
    "sends a strange problem": saying("409 Conflict", b'{"code": 7}', JSON),
    "speaks no HTTP": saying("", b"", "SSH-2.0"),
}


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{reserved.getsockname()[1]}"


def check_default(study: Any, deadline_s: float = 0.2) -> None:
    """One ask and several, then rewards for them."""
    for _ in range(2):
        began = time.monotonic()
        pull = study.ask(default=DEFAULT, deadline_s=deadline_s)
        assert time.monotonic() - began < deadline_s + SLACK_S
        assert (pull.config, pull.reason, pull.state) == (DEFAULT, "default", "pending")
        assert pull.config is not DEFAULT
        study.tell(pull.id, 0.5)
    several = study.ask(count=3, default=DEFAULT, deadline_s=deadline_s, context={"user": 1})
    assert [(pull.reason, pull.context) for pull in several] == [("default", {"user": 1})] * 3
    assert len({pull.id for pull in several}) == 3
    assert study.tell_many([(pull.id, 0.5) for pull in several]) == [None] * 3
    with study.serve(default=DEFAULT, deadline_s=deadline_s) as pull:
        pull.reward = 1.0
    assert pull.reason == "default"


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_service_costs_at_most_the_deadline(make_client: MakeClient, kind: str) -> None:
    with listening(BROKEN[kind]) as url:
        client = make_client(url, timeout_s=30.0, flush_s=0.0)
        check_default(client.study("s"))
        assert client.n_waiting == client.n_dropped == 0


def test_a_service_that_is_not_there_gives_the_default(
    make_client: MakeClient, nobody: str
) -> None:
    check_default(make_client(nobody).study("s"))


@pytest.mark.parametrize("url", ["http://nowhere.invalid", "http://[::1]:1", f"http://{'a' * 70}"])
def test_an_address_that_leads_nowhere_gives_the_default(make_client: MakeClient, url: str) -> None:
    check_default(make_client(url).study("s"))


@pytest.mark.parametrize("key", [None, "imabo_wrong_key"])
def test_a_key_that_is_refused_gives_the_default(make_client: MakeClient, key: str | None) -> None:
    with RunningServer(keys={"admin": ("admin", None)}) as guarded:
        make_client(guarded.url, key=guarded.keys["admin"]).create("s", letters("a"))
        check_default(make_client(guarded.url, key=key).study("s"))


def test_a_study_that_does_not_exist_gives_the_default(
    make_client: MakeClient, server: RunningServer
) -> None:
    check_default(make_client(server.url).study("not there"))


def test_a_study_with_nothing_to_serve_gives_the_default(make_client: MakeClient) -> None:
    with RunningServer() as alone:
        study = make_client(alone.url).create("s", letters("a"), seed=1)
        study.pause(study.ask().arm)
        check_default(study)


def test_a_closed_study_and_a_closed_client_give_the_default(
    make_client: MakeClient, server: RunningServer
) -> None:
    client = make_client(server.url)
    study, other = client.study("a"), client.study("b")
    study.close()
    assert study.ask(default=DEFAULT).reason == "default"
    client.close()
    assert other.ask(default=DEFAULT).reason == "default"


@pytest.mark.parametrize(
    "given",
    [{"context": {1}}, {"context": "x" * 20_000}, {"context": float("nan")},
     {"key": ""}, {"key": "k" * 201}, {"key": 7}, {"deadline_s": 0}, {"deadline_s": -1.5}],
    ids=lambda given: str(given)[:30],
)  # fmt: skip
def test_what_comes_with_the_data_gives_the_default(
    make_client: MakeClient, server: RunningServer, given: dict[str, Any]
) -> None:
    study = make_client(server.url).study("s")
    assert study.ask(default=DEFAULT, **given).reason == "default"


@pytest.mark.parametrize(
    "given",
    [{"default": "letter"}, {"default": [DEFAULT]}, {"default": 0},
     {"default": DEFAULT, "count": 0}, {"default": DEFAULT, "count": "2"},
     {"default": DEFAULT, "deadline_s": "soon"}],
    ids=lambda given: str(given)[:40],
)  # fmt: skip
def test_mistakes_of_the_program_are_refused_at_once(
    make_client: MakeClient, nobody: str, given: dict[str, Any]
) -> None:
    study = make_client(nobody).study("s")
    with pytest.raises(InvalidSetting):
        study.ask(**given)


def test_a_service_that_works_is_asked(make_client: MakeClient) -> None:
    with RunningServer() as alone:
        study = make_client(alone.url).create("s", letters("a", "b"), seed=1)
        pull = study.ask(default=DEFAULT, deadline_s=60.0)
        assert (pull.reason, study.pull(pull.id)) == ("warmup", pull)
        several = study.ask(count=2, default=DEFAULT, deadline_s=60.0)
        assert [p.reason for p in several] != ["default"] * 2
        assert study.n_pulls == 3


def test_a_dead_service_is_left_alone(make_client: MakeClient) -> None:
    calls: list[int] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader, writer
        calls.append(1)

    with listening(hang_up) as url:
        study = make_client(url, retries=0).study("s")
        for _ in range(5):
            study.ask(default=DEFAULT)
        assert len(calls) == 5
        for _ in range(200):
            assert study.ask(default=DEFAULT).reason == "default"
        assert len(calls) < 15  # the asks after a pause, each pause longer than the last


def test_a_service_that_is_back_is_found_again(make_client: MakeClient) -> None:
    store = MemoryStore()
    with RunningServer(store) as first:
        study = make_client(first.url, retries=0).create("s", letters("a"), seed=1)
    for _ in range(10):
        assert study.ask(default=DEFAULT).reason == "default"
    with RunningServer(store, port=first.port):
        ends = time.monotonic() + 60.0
        while study.ask(default=DEFAULT).reason == "default" and time.monotonic() < ends:
            time.sleep(0.1)
        assert study.ask(default=DEFAULT).reason != "default"
