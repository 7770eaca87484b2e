"""What a connection may do before anyone knows who it is: each limit, over real sockets."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from imabo.server.settings import Settings
from imabo.stores import SQLiteStore
from imabo.stores.base import NewPull
from tests.server.calls import Api, code_of
from tests.server.running import RunningServer
from tests.server.test_registry import eventually

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture(scope="module")
def strict() -> Iterator[RunningServer]:
    """A server of narrow limits, which has time: a busy machine may be late with a request."""
    with narrow(60.0) as server:
        yield server


@pytest.fixture(scope="module")
def hasty() -> Iterator[RunningServer]:
    """Such a server of little patience, for what is to be given up."""
    with narrow(0.6) as server:
        yield server


def narrow(patience_s: float) -> RunningServer:
    settings = Settings(
        poll_s=0.05,
        proposals=False,
        receive_s=patience_s,
        stall_s=patience_s,
        max_head_bytes=4096,
        max_connections=20,
        max_body_bytes=4096,
        max_exports=2,
    )
    return RunningServer(settings=settings)


def connect(server: RunningServer) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    return raw


def everything(raw: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    parts = []
    while part := raw.recv(65_536):
        parts.append(part)
    return b"".join(parts)


def problem(answer: bytes) -> tuple[int, dict[str, object]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    return int(head.split()[1]), json.loads(body)


@pytest.mark.parametrize("size", [5000, 300_000, 10_000_000])
def test_a_head_that_is_too_long_is_refused(strict: RunningServer, size: int) -> None:
    with connect(strict) as raw:
        raw.sendall(HEAD + b"X-Long: " + b"x" * size + b"\r\n\r\n")
        status, said = problem(everything(raw))
    assert (status, said["code"]) == (431, "too_large")


def test_many_short_headers_are_too_long_as_well(strict: RunningServer) -> None:
    with connect(strict) as raw:
        raw.sendall(HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(1000)) + b"\r\n")
        assert problem(everything(raw))[0] == 431


def test_a_head_as_long_as_may_be_is_served(strict: RunningServer) -> None:
    with httpx.Client(base_url=strict.url) as http:
        assert http.get("/healthz", headers={"X-Long": "x" * 3500}).status_code == 200


@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (b"G", "head"),
        (HEAD, "head"),
        (b"POST /v1/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{", "body"),
    ],
)
def test_a_request_that_does_not_come_to_its_end_is_ended(
    hasty: RunningServer, sent: bytes, part: str
) -> None:
    with connect(hasty) as raw:
        raw.sendall(sent)
        status, said = problem(everything(raw))
    assert (status, said["code"]) == (408, "invalid_request")
    assert f"the {part} of the request" in str(said["what"])


def test_a_request_that_trickles_is_ended_as_well(hasty: RunningServer) -> None:
    with connect(hasty) as raw:
        raw.sendall(HEAD)
        raw.setblocking(False)

        def is_over() -> bool:
            try:
                raw.sendall(b"X: y\r\n")
                return b" 408 " in raw.recv(1000)
            except BlockingIOError:
                return False

        eventually(is_over)


@pytest.mark.parametrize("sent", [b"", b"\r\n"])
def test_a_connection_that_says_nothing_is_closed(hasty: RunningServer, sent: bytes) -> None:
    with connect(hasty) as raw:
        raw.sendall(sent)
        assert everything(raw) == b""


def test_a_connection_that_is_kept_alive_is_not_cut_between_requests(
    hasty: RunningServer,
) -> None:
    with connect(hasty) as raw:
        for _ in range(3):
            raw.sendall(HEAD + b"\r\n")
            assert b"200 OK" in raw.recv(1000)
            time.sleep(0.7)  # more than a request may take


def test_more_connections_than_may_be_are_refused(strict: RunningServer) -> None:
    with ExitStack() as stack:
        for _ in range(20):
            raw = stack.enter_context(connect(strict))
            raw.sendall(HEAD + b"\r\n")
            assert b"200 OK" in raw.recv(1000)
        raw = stack.enter_context(connect(strict))
        raw.sendall(HEAD + b"\r\n")
        answer = everything(raw)
        status, said = problem(answer)
        assert (status, said["code"]) == (503, "unavailable")
        assert b"retry-after: 1" in answer

    def is_served() -> bool:
        with connect(strict) as raw:
            raw.sendall(HEAD + b"\r\n")
            return b"200 OK" in raw.recv(1000)

    eventually(is_served)


def test_a_pipeline_that_nobody_reads_is_left_with_its_sender() -> None:
    with RunningServer() as server, connect(server) as raw:
        raw.settimeout(1.0)
        sent, requests, n_waiting, is_stuck = 0, (HEAD + b"\r\n") * 200_000, 0, False
        while sent < len(requests) and not (is_stuck and n_waiting):
            try:
                sent += raw.send(requests[sent : sent + 65_536])
            except TimeoutError:  # the server reads no more, or is only slow on a busy machine
                is_stuck = True
            except ConnectionResetError:  # after a while it waits no longer for a reader
                break
            n_waiting = max(n_waiting, sum(len(one.pipeline) for one in server.connections))
        assert sent < len(requests)
        # As many as fit in what is parsed at a time; all 200,000 would take 500 MB.
        assert 0 < n_waiting < 200


def test_a_pipeline_is_answered_whole_and_in_order(strict: RunningServer) -> None:
    n = 500
    with connect(strict) as raw, ThreadPoolExecutor(1) as pool:
        last = b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        requests = b"".join(
            HEAD + b"X-Request-ID: number-%d\r\n\r\n" % number for number in range(n)
        )
        sending = pool.submit(raw.sendall, requests + last)
        answers = everything(raw)
        sending.result()
    assert answers.count(b"200 OK") == n
    places = [answers.index(b"number-%d\r\n" % number) for number in range(n)]
    assert places == sorted(places)
    assert answers.rstrip().endswith(b"}")
    assert b"404" in answers[places[-1] :]


@pytest.mark.parametrize("size", [5000, 10_000_000])
def test_a_body_that_is_too_long_gets_an_answer_that_can_be_read(
    strict: RunningServer, size: int
) -> None:
    head = b"POST /v1/studies HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    with connect(strict) as raw:
        raw.sendall(head + b"Content-Length: %d\r\n\r\n" % size)
        for _ in range(size // 1000):
            raw.sendall(b" " * 1000)  # a reset would be an error here
        answer = everything(raw)
    assert problem(answer)[0] == 413
    with httpx.Client(base_url=strict.url) as http:
        refused = http.post("/v1/studies", content=b" " * size, headers={"Content-Type": "x"})
        assert code_of(refused, 413) == "too_large"


@pytest.fixture
def long_study(tmp_path: Path) -> Iterator[SQLiteStore]:
    """Whose export is longer than what sockets keep."""
    store = SQLiteStore(f"{tmp_path}/imabo.db")
    with RunningServer(store) as server, httpx.Client(base_url=server.url) as http:
        Api(http, "s").ask()
    context = "x" * 1000
    pulls = [NewPull(n + 2, 1, "index", context=context) for n in range(20_000)]
    store.serve("s", seq=1, at=time.time(), pulls=pulls)
    yield store
    store.close()


def test_exports_that_nobody_reads_hold_up_nobody_and_are_cut_off(
    long_study: SQLiteStore,
) -> None:
    settings = Settings(poll_s=0.05, proposals=False, stall_s=60.0, max_exports=2)
    path = b"/v1/studies/s/export?format=jsonl"
    export = b"GET " + path + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with (
        RunningServer(long_study, settings=settings) as server,
        httpx.Client(base_url=server.url, timeout=60) as http,
        ExitStack() as stack,
    ):
        exports = server.app.parts.exports
        callers = [stack.enter_context(connect(server)) for _ in range(60)]
        for raw in callers:
            raw.sendall(export)
        eventually(lambda: exports.borrowed_tokens == 2)
        for answer in (http.get("/readyz"), http.get("/v1/studies/s"), http.get("/healthz")):
            assert answer.status_code == 200
        assert http.get("/v1/studies/s/best").status_code == 409  # no rewards yet
        refused = http.get(path.decode())
        assert code_of(refused, 503) == "unavailable"
        assert refused.headers["retry-after"] == "1"
    settings = replace(settings, stall_s=0.5)
    with (
        RunningServer(long_study, settings=settings) as server,
        httpx.Client(base_url=server.url, timeout=20) as http,
        connect(server) as raw,
    ):
        exports = server.app.parts.exports
        raw.sendall(export)
        assert raw.recv(1)  # it has begun, and nobody reads on
        eventually(lambda: exports.borrowed_tokens == 0)

        def is_whole() -> bool:
            with suppress(httpx.RemoteProtocolError):  # a machine that stands still reads nothing
                return http.get(path.decode()).text.count("\n") > 20_000
            return False

        eventually(is_whole)
