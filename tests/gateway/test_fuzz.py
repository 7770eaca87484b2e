"""Whatever is sent: no 5xx of ours, and what is not ours to judge goes to the upstream."""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from contextlib import suppress
from typing import Any, cast

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from imabo.gateway.bodies import Body, pieces, with_id
from imabo.gateway.connections import Connection, NoAnswer
from imabo.gateway.streams import Events
from tests.gateway.conftest import UPSTREAM_KEY, Gateway

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NAMES = st.sampled_from(
    ["messages", "model", "temperature", "stream", "metadata", "stream_options", "max_tokens",
     "prompt", "input", "id", "tools"]
)  # fmt: skip
ROUTES = st.sampled_from(["imabo/replaced", "imabo/prompted", "imabo/inserted", "small", 7, None])
PATHS = st.sampled_from(["chat/completions", "completions", "embeddings", "feedback"])
QUIET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def ours(answer: httpx.Response) -> bool:
    """Whether the gateway itself failed, or said what it must not."""
    return answer.status_code >= 500 or UPSTREAM_KEY in f"{answer.headers!r} {answer.text}"


@QUIET
@given(path=PATHS, body=st.binary(max_size=200))
def test_bytes(gateway: Gateway, path: str, body: bytes) -> None:
    assert not ours(gateway.http.post(f"/v1/{path}", content=body))


@QUIET
@given(path=PATHS, model=ROUTES, rest=st.dictionaries(NAMES, VALUES, max_size=6))
def test_documents(gateway: Gateway, path: str, model: Any, rest: dict[str, Any]) -> None:
    rest.pop("stream", None) if rest.get("stream") is True else None
    content = json.dumps(rest | {"model": model}).encode("utf-8", "surrogatepass")
    assert not ours(gateway.http.post(f"/v1/{path}", content=content))


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"model": "imabo/one", "n": ' + b"9" * 10_000 + b"}",
        b'{"model": "imabo/one", "x": "\\ud800", "temperature": NaN}',
        b'{"model": "imabo/one", "model": "imabo/one", "messages": 3, "messages": []}',
        b'\xef\xbb\xbf{"model": "imabo/one"}',
        '{"model": "imabo/one"}'.encode("utf-16"),
        b'{"model": "imabo/one", "metadata": {"imabo_key": "", "imabo_context": [1]}}',
        b'{"model": "imabo/one", "metadata": {"imabo_key": 5, "imabo_context": "[[["}}',
        b'{"model": "imabo/one", "metadata": {"imabo_key": "\\ud800", "x": "\\ud800"}}',
        b'{"model": "imabo/inserted", "stream": true, "stream_options": {"\\udfff": NaN}}',
        b'{"model": "main/\\ud800"}',
        b"",
    ],
)
def test_odd_bodies(body: bytes, gateway: Gateway) -> None:
    assert not ours(gateway.http.post("/v1/chat/completions", content=body))


def test_a_body_that_is_too_long_and_one_in_pieces(gateway: Gateway) -> None:
    long = b'{"model": "small", "x": "' + b"a" * (1 << 25) + b'"}'
    assert gateway.http.post("/v1/chat/completions", content=long).status_code == 413
    assert gateway.http.post("/v1/chat/completions", content=iter([long])).status_code == 413
    assert gateway.http.post("/v1/feedback", content=b" " * 70_000).status_code == 413


@pytest.mark.parametrize("text", ["a", "\\\\n", '\\\\"'])
def test_long_texts_take_little_time_and_memory(text: str) -> None:
    long = '{"messages": "' + text * (1 << 21) + '", "model": "m"}'
    tracemalloc.start()
    began = time.thread_time()
    try:
        (_, model) = pieces(long)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert long[model.start : model.end] == '"m"'
    assert peak < 8 * len(long)
    assert time.thread_time() - began < 5.0


def test_addresses_and_methods_that_are_not_there(gateway: Gateway) -> None:
    assert gateway.http.get("/v1/chat/completions").status_code == 405
    assert gateway.http.post("/v1/responses").status_code == 404
    assert gateway.http.get("/v1/models/none/at/all").status_code == 404


def test_headers_that_are_too_long_are_refused(gateway: Gateway) -> None:
    assert gateway.http.get("/healthz", headers={"x": "y" * 40_000}).status_code == 431


@given(document=st.dictionaries(st.text(), VALUES, max_size=5), indent=st.sampled_from([None, 1]))
def test_pieces_are_those_of_the_parser(document: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(document, indent=indent)
    found = {one.key: text[one.start : one.end] for one in pieces(text)}
    assert {key: json.dumps(json.loads(value)) for key, value in found.items()} == {
        key: json.dumps(value) for key, value in document.items()
    }


@given(document=st.dictionaries(st.text(), VALUES, max_size=5), name=st.text(), value=VALUES)
def test_a_change_changes_that_alone(document: dict[str, Any], name: str, value: Any) -> None:
    body = Body(json.dumps(document), document)
    body.set(name, value)
    assert json.dumps(json.loads(body.text)) == json.dumps(document | {name: value})
    body.remove(name)
    rest = {key: one for key, one in document.items() if key != name}
    assert json.dumps(json.loads(body.text)) == json.dumps(rest)


@given(document=st.dictionaries(st.text(), VALUES, max_size=5), new=st.text())
def test_an_id_changes_that_alone(document: dict[str, Any], new: str) -> None:
    document.pop("choices", None)
    whole = {"choices": [], **document}
    for place in ({"id": "old", **document}, {**document, "id": "old"}, document, whole):
        text = json.dumps(place).encode()
        expected = place
        if isinstance(place.get("id", 0), str | None):
            expected = place | {"id": new}
        elif "choices" in place and "id" not in place:
            expected = {"id": new} | place
        if not new.isascii() and any("\ud800" <= char <= "\udfff" for char in new):
            continue
        assert json.dumps(json.loads(with_id(text, new))) == json.dumps(expected)


@given(
    lines=st.lists(
        st.sampled_from([b'data: {"id":"up","x":"a"}', b"", b": note", b"data: [DONE]"])
    ),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts=st.lists(st.integers(0, 200), max_size=8),
)
def test_events_are_the_same_however_they_are_cut(
    lines: list[bytes], end: bytes, cuts: list[int]
) -> None:
    stream = b"".join(line + end for line in lines) + b"data: {"
    events, sent, begin = Events("new"), b"", 0
    for cut in [*sorted(min(cut, len(stream)) for cut in cuts), len(stream)]:
        sent += events.feed(stream[begin:cut])
        begin = cut
    assert sent + events.end() == stream.replace(b'"up"', b'"new"')


class NoTransport:
    """Takes whatever a connection does to it."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


ANSWERS = st.lists(
    st.sampled_from([
        b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.0 500 \r\n", b"\r\n",
        b"content-length: 3\r\n", b"transfer-encoding: chunked\r\n", b"upgrade: x\r\n", b"abc",
        b"connection: close\r\n", b"3\r\nabc\r\n", b"0\r\n\r\n", b"HTTP/2 200", b": \x00\r\n",
    ]) | st.binary(max_size=8),
    max_size=12,
)  # fmt: skip


@given(sent=ANSWERS, is_closed=st.booleans(), is_clean=st.booleans())
@settings(deadline=None)
def test_whatever_an_upstream_sends_is_an_answer_or_none(
    sent: list[bytes], is_closed: bool, is_clean: bool
) -> None:
    async def run() -> None:
        kept: list[Connection] = []
        connection = Connection(kept.append, lambda _: None)
        connection.connection_made(cast(Any, NoTransport()))

        async def read() -> bytes:
            await connection.exchange(b"", b"", 60.0)
            whole = b""
            while piece := await connection.read():
                whole += piece
            return whole

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        for piece in sent:
            connection.data_received(piece)
            await asyncio.sleep(0)
        if is_closed:
            connection.connection_lost(None if is_clean else OSError())
        for _ in range(3):
            await asyncio.sleep(0)
        if not reading.done():
            reading.cancel()  # more is expected, so the deadline decides
            assert not is_closed
        with suppress(NoAnswer, asyncio.CancelledError):
            await reading
            assert connection.status >= 200
        connection.end()
        assert not (is_closed and kept)

    asyncio.run(run())
