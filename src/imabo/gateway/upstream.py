"""Requests to upstreams: the headers that pass, and what counts as a failure."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from typing import Final

import httpx

from imabo.gateway.connections import MOST_HEAD, Connection, Connections, Headers, NoAnswer
from imabo.gateway.settings import Upstream

_HOP: Final = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade content-length".split()
)
# Of a caller: the keys and cookies are the gateway's own, and answers must come as plain text.
_NOT_UP: Final = _HOP | frozenset(
    b"host authorization api-key x-api-key cookie accept-encoding expect".split()
)
# Of an upstream: the date is the server's own, and cookies would be those of another host.
_NOT_DOWN: Final = _HOP | frozenset((b"date", b"set-cookie"))
_OURS: Final = b"x-imabo-"
# The request may be good, and this upstream cannot answer it now, or not with this model or key.
_FAILED: Final = frozenset((401, 404, 408, 429))
_PLAIN: Final = (b"accept-encoding", b"identity")


class UpstreamFailure(Exception):
    """No usable answer came; ``words`` are for the caller, and ``reason`` names the kind."""

    def __init__(self, upstream: Upstream, reason: str, words: str) -> None:
        super().__init__(words)
        self.upstream, self.reason, self.words = upstream.name, reason, words


class Answer:
    """The head of an upstream's answer, with its body still to come."""

    def __init__(self, upstream: Upstream, connection: Connection) -> None:
        self._upstream = upstream
        self._connection: Connection | None = connection
        self.status = connection.status
        self.headers: Headers = []
        self.length: bytes | None = None
        self.is_stream, self.is_plain = False, True
        for name, value in connection.headers:
            if name not in _NOT_DOWN and not name.startswith(_OURS):
                self.headers.append((name, value))
            if name == b"content-length":
                self.length = value
            elif name == b"content-type":
                self.is_stream = value.partition(b";")[0].strip().lower() == b"text/event-stream"
            elif name == b"content-encoding":
                self.is_plain = value == b"identity"

    @property
    def is_failure(self) -> bool:
        """Whether another upstream may do better."""
        return self.status >= 500 or self.status in _FAILED

    async def read(self) -> bytes:
        """What came of the body since; empty at its end."""
        if self._connection is None:
            return b""
        try:
            return await self._connection.read()
        except NoAnswer as error:
            raise _failure(self._upstream, error) from None

    def close(self) -> None:
        """Let the connection go; a body that was not read to its end is given up."""
        if self._connection is not None:
            self._connection.end()
            self._connection = None


class Upstreams:
    """Connections to upstreams, for one event loop."""

    def __init__(self) -> None:
        self._connections: dict[tuple[str, float], Connections] = {}

    async def send(
        self, upstream: Upstream, path: str, headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> Answer:
        """Send a request and return when the head of the answer is there."""
        sent = [
            header
            for header in headers
            if header[0] not in _NOT_UP and not header[0].startswith(_OURS)
        ]
        sent.append(_PLAIN)
        if upstream.key is not None:
            sent.append((b"authorization", b"Bearer " + upstream.key.encode()))
        elif upstream.forward_key:
            sent += [one for one in headers if one[0] == b"authorization"]
        place = (upstream.base_url, upstream.connect_s)
        connections = self._connections.get(place)
        if connections is None:
            connections = self._connections[place] = Connections(*place, verify)
        try:
            connection = await connections.send(f"/{path}", sent, body, upstream.timeout_s)
        except NoAnswer as error:
            raise _failure(upstream, error) from None
        return Answer(upstream, connection)

    async def close(self) -> None:
        """Close all connections."""
        for connections in self._connections.values():
            await connections.close()


def verify() -> ssl.SSLContext:
    """What the certificates of servers are checked with: as httpx does."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def _failure(upstream: Upstream, error: NoAnswer) -> UpstreamFailure:
    """An error in words that hold no address and no key."""
    words = {
        "connect_timeout": f"could not be reached within {upstream.connect_s:g} s",
        "connect": "cannot be reached",
        "timeout": f"sent nothing for {upstream.timeout_s:g} s",
        "protocol": "answered with no HTTP",
        "head": f"sent more than {MOST_HEAD} bytes of headers",
        "broken": "broke off",
    }[error.kind]
    return UpstreamFailure(upstream, error.kind, f"upstream {upstream.name!r} {words}")
