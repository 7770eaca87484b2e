"""Connections to a server of HTTP/1.1: one request at a time on each, and kept for the next.

They stand in for httpx on the way of every request, where it took most of the gateway's time
(docs/decisions/0014-gateway.md).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

Headers = list[tuple[bytes, bytes]]
Kind = Literal["connect", "connect_timeout", "timeout", "protocol", "head", "broken"]

MOST_HEAD: Final = 65_536  # bytes of an answer's headers
_IDLE_S: Final = 4.0  # many servers close what is idle for 5 s: whoever sends then loses the race
_ENOUGH: Final = 1 << 18  # bytes that wait for a slow reader; the rest stays with the sender
# What is overdue is looked at once more after this: a loop that was held up has not yet read what
# came meanwhile, and that is not the fault of the other side.
_GRACE_S: Final = 0.01
_SAFE: Final = "/%:@!$&'()*+,;=~-._"


class NoAnswer(Exception):
    """No usable answer came; ``kind`` says why."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.kind: Final = kind


class Connection(asyncio.Protocol):
    """A connection, and the answer to the request that is under way on it.

    Args:
        keep: Called when an answer was read to its end and the connection may be used again.
        forget: Called when it is closed.
    """

    def __init__(
        self, keep: Callable[[Connection], None], forget: Callable[[Connection], None]
    ) -> None:
        self._keep, self._forget = keep, forget
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._parser: Any = None  # None: nothing is under way
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.is_closed = False
        self.idle_at = 0.0

    # --- what a request does --------------------------------------------------------------------

    async def exchange(self, head: bytes, body: bytes, timeout_s: float) -> None:
        """Send a request, and return when the head of its answer is there.

        Args:
            head: The request's line and headers.
            body: Its body.
            timeout_s: How long nothing may come, before the head and between two pieces.
        """
        self._parser = HttpResponseParser(self)
        self.status = 0
        self.headers: Headers = []
        self.n_received = 0  # bytes of the answer
        self._has_head = self._is_interim = self._is_framed = self._is_complete = False
        self._may_stay = self._is_spoilt = self._is_paused = self._is_overdue = False
        self._error: NoAnswer | None = None
        self._pieces: list[bytes] = []
        self._n_waiting = 0
        self._timeout_s, self._seen_at = timeout_s, self._loop.time()
        if self.is_closed:
            raise NoAnswer("broken")
        self._transport.writelines((head, body))
        self._timer = self._loop.call_later(timeout_s, self._look)
        while not self._has_head:
            await self._news()

    async def read(self) -> bytes:
        """What came of the body since; empty at its end."""
        while not self._pieces:
            if self._is_complete:
                return b""
            await self._news()
        data = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces, self._n_waiting = [], 0
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def end(self) -> None:
        """Be done with the answer: what was not read to its end is given up."""
        if self._parser is None:
            return
        is_good = self._may_stay and not self._is_spoilt and not self.is_closed
        self._parser = None
        if self._timer is not None:
            self._timer.cancel()
        if is_good:
            self._keep(self)
        else:
            self.abort()

    def abort(self) -> None:
        """Close at once."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.abort()

    async def _news(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, kind: Kind) -> None:
        if self._error is None and not self._is_complete:
            self._error = NoAnswer(kind)
        self._is_spoilt = True
        self._wake()

    def _look(self) -> None:
        """Whether nothing came for too long."""
        now = self._loop.time()
        if self._waiter is None or self._is_paused:  # whoever reads is not waiting
            self._seen_at, self._is_overdue = now, False
        left_s = self._seen_at + self._timeout_s - now
        if left_s <= 0.0:
            if self._is_overdue:
                self._fail("timeout")
                return
            self._is_overdue, left_s = True, _GRACE_S
        self._timer = self._loop.call_later(left_s, self._look)

    # --- what the transport calls ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed, by whomever."""
        self.is_closed = True
        self._forget(self)
        if self._parser is None:
            return
        if exc is None and self._has_head and not self._is_framed:
            self._is_complete = True  # a body without a length ends with its connection
            self._wake()
        elif not self._is_complete:
            self._fail("broken")

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self._parser is None:  # nobody asked for it
            self.abort()
            return
        self._seen_at, self._is_overdue = self._loop.time(), False
        self.n_received += len(data)
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._fail("protocol")
            return
        if not self._has_head:
            if self.n_received > MOST_HEAD:
                self._fail("head")
            return
        if self._n_waiting > _ENOUGH and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    # --- what the parser calls ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """An answer begins."""
        if self._is_complete:
            self._is_spoilt = True  # a second answer to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came."""
        if not self._has_head:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """The head is there."""
        if self._has_head:
            return
        self.status = self._parser.get_status_code()
        self._is_interim = self.status < 200
        if self._is_interim:
            return
        if sum(len(name) + len(value) + 4 for name, value in self.headers) > MOST_HEAD:
            self._fail("head")
            return
        self._has_head = True
        self._is_framed = self.status in (204, 304) or any(
            name == b"content-length" or (name == b"transfer-encoding" and b"chunked" in value)
            for name, value in self.headers
        )

    def on_body(self, body: bytes) -> None:
        """A piece of the body came."""
        if self._has_head and not self._is_complete:
            self._pieces.append(body)
            self._n_waiting += len(body)

    def on_message_complete(self) -> None:
        """The answer is complete."""
        if self._is_interim and not self._has_head:
            self._is_interim, self.headers = False, []  # the answer itself is still to come
        elif self._has_head and not self._is_complete:
            self._is_complete = True
            self._may_stay = self._parser.should_keep_alive()


class Connections:
    """The connections to one server, for one event loop.

    Args:
        url: Its address; a path is where all requests begin.
        connect_s: Seconds to connect.
        verify: Makes what certificates are checked with, where the address is one of https.
    """

    def __init__(self, url: str, connect_s: float, verify: Callable[[], ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        self._name = host if host.isascii() else host.encode("idna").decode()
        self._port = parts.port or (443 if parts.scheme == "https" else 80)
        self._ssl = None if parts.scheme == "http" else verify()
        self._connect_s = connect_s
        named = f"[{self._name}]" if ":" in self._name else self._name
        named += f":{parts.port}" if parts.port else ""
        self._host = b"host: " + named.encode() + b"\r\n"
        self._path = quote(parts.path, safe=_SAFE)
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()
        self._sweep: asyncio.TimerHandle | None = None

    async def send(
        self, path: str, headers: Iterable[tuple[bytes, bytes]], body: bytes, timeout_s: float
    ) -> Connection:
        """Send a POST, and return when the head of the answer is there; ``end`` it in any case.

        Args:
            path: What follows the address, from a slash on, encoded.
            headers: Without the host and the length of the body.
            body: The body.
            timeout_s: How long nothing may come, before the head and between two pieces.
        """
        line = f"POST {self._path}{path} HTTP/1.1\r\n".encode()
        fields = b"".join([b"%b: %b\r\n" % header for header in headers])
        head = b"%b%b%bcontent-length: %d\r\n\r\n" % (line, self._host, fields, len(body))
        kept = self._take()
        if kept is not None:
            try:
                return await _sent(kept, head, body, timeout_s)
            except NoAnswer as failure:
                # The other side may have closed it meanwhile: then the request was never taken. On
                # a new one it was, perhaps, and must not be repeated.
                if failure.kind != "broken" or kept.n_received:
                    raise
        return await _sent(await self._connect(), head, body, timeout_s)

    @property
    def n_open(self) -> int:
        """How many are open, at work or kept."""
        return len(self._all)

    async def close(self) -> None:
        """Close all connections."""
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in list(self._all):
            connection.abort()

    def _take(self) -> Connection | None:
        """The connection that was used last: it is the likeliest to be there still."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed:
                return connection
        return None

    def _keep(self, connection: Connection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_at = loop.time()
        self._idle.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(_IDLE_S, self._close_idle)

    def _close_idle(self) -> None:
        before = asyncio.get_running_loop().time() - _IDLE_S
        kept = []
        for connection in self._idle:
            if connection.is_closed or connection.idle_at <= before:
                connection.abort()
            else:
                kept.append(connection)
        self._idle, self._sweep = kept, None
        if kept:
            wait_s = kept[0].idle_at - before
            self._sweep = asyncio.get_running_loop().call_later(wait_s, self._close_idle)

    async def _connect(self) -> Connection:
        loop = asyncio.get_running_loop()
        name = None if self._ssl is None else self._name
        making = loop.create_task(
            loop.create_connection(
                lambda: Connection(self._keep, self._all.discard),
                self._name,
                self._port,
                ssl=self._ssl,
                server_hostname=name,
            )
        )
        try:
            await asyncio.wait((making,), timeout=self._connect_s)
            if not making.done():
                await asyncio.wait((making,), timeout=_GRACE_S)
            if not making.done():
                raise NoAnswer("connect_timeout")
            _, connection = making.result()
        except (OSError, UnicodeError):  # of the network, of TLS, or of a name
            raise NoAnswer("connect") from None
        finally:
            if not making.done():
                making.cancel()
                making.add_done_callback(_let_go)
        if not connection.is_closed:
            self._all.add(connection)
        return connection


async def _sent(connection: Connection, head: bytes, body: bytes, timeout_s: float) -> Connection:
    try:
        await connection.exchange(head, body, timeout_s)
    except BaseException:
        connection.end()
        raise
    return connection


def _let_go(making: asyncio.Task[Any]) -> None:
    """What was connected although nobody waits any more is closed."""
    with suppress(asyncio.CancelledError, OSError, UnicodeError):
        transport, _ = making.result()
        transport.abort()
