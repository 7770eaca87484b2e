"""Connections of the gateway's own: kept, closed without a word, cut, slow, and no HTTP at all."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from imabo.gateway import connections as module
from imabo.gateway.connections import MOST_HEAD, Connections, NoAnswer
from imabo.gateway.settings import Upstream
from imabo.gateway.upstream import UpstreamFailure, Upstreams, verify

OK = b"HTTP/1.1 200 OK\r\n"
SHORT = OK + b"content-length: 2\r\n\r\n{}"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Scripted:
    """A server that says what a test lets it say; ``heads`` are the requests that it got."""

    def __init__(self, *answers: bytes | None, close: bool = False) -> None:
        self.answers, self.close = answers, close
        self.heads: list[bytes] = []
        self.n_connections = 0
        self.is_left = asyncio.Event()  # a caller has closed its connection

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.n_connections += 1
        try:
            for answer in self.answers:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                if answer is None:
                    break
                await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
                writer.write(answer)
                await writer.drain()
            if not self.close:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self.is_left.set()
            writer.close()


async def read_all(connections: Connections, timeout_s: float = 30.0) -> tuple[int, bytes]:
    connection = await connections.send("/chat", [(b"x", b"y")], b"{}", timeout_s)
    try:
        whole = b""
        while piece := await connection.read():
            whole += piece
        return connection.status, whole
    finally:
        connection.end()


def run(server: Scripted, work: Callable[[Connections], Awaitable[None]]) -> None:
    """Do something with connections to a server."""

    async def main() -> None:
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections(f"http://127.0.0.1:{port}/v1", 5.0, verify)
        try:
            await work(connections)
        finally:
            await connections.close()
            listening.close()

    asyncio.run(main())


def test_a_connection_is_kept_and_the_request_is_whole() -> None:
    server = Scripted(SHORT, SHORT)

    async def work(connections: Connections) -> None:
        assert [await read_all(connections) for _ in range(2)] == [(200, b"{}")] * 2

    run(server, work)
    assert server.n_connections == 1
    line, host, *rest = server.heads[0].split(b"\r\n")
    assert line == b"POST /v1/chat HTTP/1.1"
    assert host.startswith(b"host: 127.0.0.1:")
    assert rest == [b"x: y", b"content-length: 2", b"", b""]


def test_a_kept_connection_that_was_closed_costs_nobody_a_request() -> None:
    server = Scripted(SHORT, None, close=True)

    async def work(connections: Connections) -> None:
        assert [await read_all(connections) for _ in range(2)] == [(200, b"{}")] * 2

    run(server, work)
    assert server.n_connections == 2


def test_a_request_that_a_new_connection_took_is_not_repeated() -> None:
    server = Scripted(None, close=True)

    async def work(connections: Connections) -> None:
        with pytest.raises(NoAnswer, match="broken"):
            await read_all(connections)

    run(server, work)
    assert server.n_connections == 1


@pytest.mark.parametrize(
    ("answer", "close", "found"),
    [
        (CHUNKED + b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n", False, b"abcde"),
        (OK + b"\r\nuntil the end", True, b"until the end"),
        (b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nx", True, b"x"),
        (b"HTTP/1.1 100 Continue\r\na: b\r\n\r\n" + SHORT, False, b"{}"),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3 + SHORT, False, b"{}"),
        (OK + b"Content-Length: 0\r\n\r\n", False, b""),
        (SHORT + SHORT, False, b"{}"),
        (OK + b"content-length: 300000\r\n\r\n" + b"z" * 300_000, False, b"z" * 300_000),
    ],
)  # fmt: skip
def test_answers_end_in_many_ways(answer: bytes, close: bool, found: bytes) -> None:
    server = Scripted(answer, *([] if close else [answer]), close=close)

    async def work(connections: Connections) -> None:
        assert await read_all(connections) == (200, found)
        assert await read_all(connections) == (200, found)

    run(server, work)
    # One that ends with its answer, or says more than was asked for, is not used again.
    assert server.n_connections == (2 if close or answer == SHORT + SHORT else 1)


@pytest.mark.parametrize(
    ("answer", "close", "kind"),
    [
        (b"\x00\x01 nonsense\r\n\r\n", False, "protocol"),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", False, "protocol"),
        (OK + b"content-length: 9\r\n\r\n{", True, "broken"),
        (CHUNKED + b"2\r\nab\r\n", True, "broken"),
        (CHUNKED + b"zz\r\nab\r\n", False, "protocol"),
        (OK + b"a: b\r\n", True, "broken"),
        (OK + b"a: " + b"b" * MOST_HEAD + b"\r\n\r\n", False, "head"),
        (OK + b"a: b\r\n" * MOST_HEAD, False, "head"),
        (OK + b"content-length: 9\r\n\r\n{", False, "timeout"),
        (b"", False, "timeout"),
    ],
)  # fmt: skip
def test_answers_fail_in_many_ways(answer: bytes, close: bool, kind: str) -> None:
    server = Scripted(answer, close=close)

    async def work(connections: Connections) -> None:
        with pytest.raises(NoAnswer) as failure:
            await read_all(connections, 0.05 if kind == "timeout" else 30.0)
        assert failure.value.kind == kind
        await asyncio.wait_for(server.is_left.wait(), 60.0)  # such a connection is not kept

    run(server, work)


def test_a_header_of_ten_thousand_bytes_passes() -> None:
    server = Scripted(OK + b"x-long: " + b"h" * 10_000 + b"\r\ncontent-length: 0\r\n\r\n")

    async def work(connections: Connections) -> None:
        connection = await connections.send("", [], b"", 30.0)
        assert dict(connection.headers)[b"x-long"] == b"h" * 10_000
        connection.end()

    run(server, work)


def test_what_a_slow_reader_does_not_take_stays_with_the_sender() -> None:
    server = Scripted(OK + b"\r\n" + b"z" * 30_000_000, close=True)

    async def work(connections: Connections) -> None:
        connection = await connections.send("", [], b"", 0.02)
        await asyncio.sleep(0.1)  # longer than nothing may come: it is the reader who waits
        size = most = len(await connection.read())
        while piece := await connection.read():
            size, most = size + len(piece), max(most, len(piece))
        connection.end()
        assert size == 30_000_000
        assert most < 3_000_000

    run(server, work)


def test_a_loop_that_was_held_up_does_not_blame_the_other_side() -> None:
    import time

    server = Scripted(SHORT)

    async def work(connections: Connections) -> None:
        sent = asyncio.create_task(connections.send("", [], b"", 0.05))
        while not server.heads:
            await asyncio.sleep(0)
        time.sleep(0.2)  # the answer comes meanwhile, and nobody can read it
        connection = await sent
        assert await connection.read() == b"{}"
        connection.end()

    run(server, work)


@pytest.mark.parametrize("close", [True, False])
def test_connections_that_are_closed_are_forgotten(close: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + (b"connection: close\r\n" if close else b"")
    server = Scripted(*[head + b"content-length: 2\r\n\r\n{}"] * 20, close=close)

    async def work(connections: Connections) -> None:
        for _ in range(20):
            assert await read_all(connections) == (200, b"{}")
        async with asyncio.timeout(60.0):
            while connections.n_open != (0 if close else 1):
                await asyncio.sleep(0.01)

    run(server, work)


def test_connections_that_nobody_uses_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_IDLE_S", 0.02)
    server = Scripted(SHORT, SHORT)

    async def work(connections: Connections) -> None:
        await read_all(connections)
        await asyncio.wait_for(server.is_left.wait(), 60.0)
        assert connections.n_open == 0

    run(server, work)


def test_an_answer_that_is_given_up_closes_its_connection() -> None:
    server = Scripted(OK + b"content-length: 9\r\n\r\n{")

    async def work(connections: Connections) -> None:
        sent = asyncio.create_task(read_all(connections))
        while not server.heads:
            await asyncio.sleep(0)
        sent.cancel()
        await asyncio.wait_for(server.is_left.wait(), 60.0)

    run(server, work)


def test_words_of_failures_have_no_address() -> None:
    async def send(upstream: Upstream) -> str:
        upstreams = Upstreams()
        try:
            await upstreams.send(upstream, "x", [], b"{}")
        except UpstreamFailure as failure:
            return failure.words
        finally:
            await upstreams.close()
        return ""

    down = Upstream("up", "http://127.0.0.1:1/v1", {})
    assert asyncio.run(send(down)) == "upstream 'up' cannot be reached"
    unknown = Upstream("up", "http://nowhere.invalid/v1", {})
    assert asyncio.run(send(unknown)) == "upstream 'up' cannot be reached"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost that nobody has signed, with its key."""
    found = shutil.which("openssl")
    if found is None:
        pytest.skip("NOT TESTED: there is no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        [found, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost",
         "-keyout", str(path), "-out", str(path.with_suffix(".crt"))],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


def test_an_upstream_of_https_is_read_and_its_certificate_checked(certificate: Path) -> None:
    assert verify().verify_mode is ssl.CERT_REQUIRED
    server = Scripted(SHORT, SHORT)

    def trusting() -> ssl.SSLContext:
        return ssl.create_default_context(cafile=certificate)

    async def main() -> None:
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certificate)
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0, ssl=own)
        port = listening.sockets[0].getsockname()[1]
        trusted = Connections(f"https://localhost:{port}", 5.0, trusting)
        assert [await read_all(trusted) for _ in range(2)] == [(200, b"{}")] * 2
        assert server.n_connections == 1
        for host, check in (("localhost", verify), ("127.0.0.1", trusting)):
            other = Connections(f"https://{host}:{port}", 5.0, check)
            with pytest.raises(NoAnswer, match="connect"):
                await read_all(other)
            await other.close()
        await trusted.close()
        listening.close()

    asyncio.run(main())


def test_a_server_that_speaks_no_tls_cannot_be_reached() -> None:
    server = Scripted(SHORT)

    async def main() -> None:
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections(f"https://localhost:{port}", 0.1, verify)
        with pytest.raises(NoAnswer, match="connect"):
            await connections.send("", [], b"", 1.0)
        await connections.close()
        listening.close()

    asyncio.run(main())
