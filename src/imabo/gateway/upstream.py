"""Requests to upstreams: connections, the headers that pass, and what counts as a failure."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterable
from typing import Final

import httpx

from imabo.gateway.settings import Upstream

Headers = list[tuple[bytes, bytes]]

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
_MOST_HEAD: Final = 65_536  # bytes of an upstream's headers
# The request may be good, and this upstream cannot answer it now, or not with this model or key.
_FAILED: Final = frozenset((401, 404, 408, 429))
_WRITE_S: Final = 60.0
_MOST_OPEN: Final = 8  # requests of a pool
_IDLE_S: Final = 4.0
_BROKEN: Final = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)


class UpstreamFailure(Exception):
    """No usable answer came; ``words`` are for the caller, and ``reason`` names the kind."""

    def __init__(self, upstream: Upstream, reason: str, words: str) -> None:
        super().__init__(words)
        self.upstream, self.reason, self.words = upstream.name, reason, words


class Answer:
    """The head of an upstream's answer, with its body still to come."""

    def __init__(self, upstream: Upstream, response: httpx.Response, pool: _Pool) -> None:
        self._upstream = upstream
        self._pool: _Pool | None = pool
        self._stream = response.stream
        self.status = response.status_code
        self.headers = [
            (name.lower(), value)
            for name, value in response.headers.raw
            if name.lower() not in _NOT_DOWN and not name.lower().startswith(_OURS)
        ]
        self.length = response.headers.get("content-length")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        self.is_stream = kind == "text/event-stream"
        self.is_plain = response.headers.get("content-encoding", "identity") == "identity"

    @property
    def is_failure(self) -> bool:
        """Whether another upstream may do better."""
        return self.status >= 500 or self.status in _FAILED

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        if not isinstance(self._stream, httpx.AsyncByteStream):  # the transport has no other
            raise TypeError("the answer has no asynchronous stream")
        try:
            async for piece in self._stream:
                if piece:
                    yield piece
        except Exception as error:
            raise _failure(self._upstream, error) from None

    async def close(self) -> None:
        """Let the connection go; a body that was not read to its end is given up."""
        if self._pool is not None:
            self._pool.n_open -= 1
            self._pool = None
            if isinstance(self._stream, httpx.AsyncByteStream):
                await self._stream.aclose()


class _Pool:
    """Connections of a few requests; a pool's work grows with the square of its connections."""

    def __init__(self, verify: ssl.SSLContext, kept: int = _MOST_OPEN) -> None:
        # Many servers close what is idle for 5 s: whoever sends then loses the race.
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=kept, keepalive_expiry=_IDLE_S
        )
        # The transport alone: no redirects, no cookies, no log of requests.
        self.transport = httpx.AsyncHTTPTransport(verify=verify, limits=limits)
        self.n_open = 0


class Upstreams:
    """Connections to upstreams, for one event loop."""

    def __init__(self) -> None:
        self._verify = httpx.create_ssl_context()
        self._pools: list[_Pool] = []
        self._fresh = _Pool(self._verify, kept=0)

    def _pool(self) -> _Pool:
        for pool in self._pools:
            if pool.n_open < _MOST_OPEN:
                return pool
        self._pools.append(_Pool(self._verify))
        return self._pools[-1]

    async def send(
        self, upstream: Upstream, path: str, headers: Iterable[tuple[bytes, bytes]], body: bytes
    ) -> Answer:
        """Send a request and return when the head of the answer is there."""
        sent = [
            (name, value)
            for name, value in headers
            if name not in _NOT_UP and not name.startswith(_OURS)
        ]
        sent.append((b"accept-encoding", b"identity"))
        if upstream.key is not None:
            sent.append((b"authorization", b"Bearer " + upstream.key.encode()))
        elif upstream.forward_key:
            sent += [one for one in headers if one[0] == b"authorization"]
        timeout = httpx.Timeout(
            upstream.timeout_s, connect=upstream.connect_s, write=_WRITE_S, pool=upstream.connect_s
        )
        request = httpx.Request(
            "POST",
            f"{upstream.base_url}/{path}",
            headers=sent,
            content=body,
            extensions={"timeout": timeout.as_dict()},
        )
        pool, response = await self._exchange(upstream, request)
        answer = Answer(upstream, response, pool)
        if sum(len(name) + len(value) + 4 for name, value in answer.headers) > _MOST_HEAD:
            await answer.close()
            words = f"upstream {upstream.name!r} sent more than {_MOST_HEAD} bytes of headers"
            raise UpstreamFailure(upstream, "head", words)
        return answer

    async def _exchange(
        self, upstream: Upstream, request: httpx.Request
    ) -> tuple[_Pool, httpx.Response]:
        is_new = False

        async def trace(event: str, facts: object) -> None:
            nonlocal is_new
            is_new = is_new or event == "connection.connect_tcp.started"

        request.extensions["trace"] = trace
        try:
            return await _through(self._pool(), request)
        except _BROKEN as error:
            # A connection that was kept may have been closed by the other side meanwhile: then the
            # request was never taken. On a new one it was, perhaps, and must not be repeated.
            if is_new:
                raise _failure(upstream, error) from None
        except Exception as error:
            raise _failure(upstream, error) from None
        try:
            return await _through(self._fresh, request)
        except Exception as error:
            raise _failure(upstream, error) from None

    async def close(self) -> None:
        """Close all connections."""
        for pool in [self._fresh, *self._pools]:
            await pool.transport.aclose()


async def _through(pool: _Pool, request: httpx.Request) -> tuple[_Pool, httpx.Response]:
    pool.n_open += 1
    try:
        return pool, await pool.transport.handle_async_request(request)
    except BaseException:
        pool.n_open -= 1
        raise


def _failure(upstream: Upstream, error: Exception) -> UpstreamFailure:
    """An error in words that hold no address and no key."""
    name = f"upstream {upstream.name!r}"
    if isinstance(error, httpx.ConnectTimeout | httpx.PoolTimeout):
        words = f"{name} could not be reached within {upstream.connect_s:g} s"
        return UpstreamFailure(upstream, "connect", words)
    if isinstance(error, httpx.TimeoutException):
        words = f"{name} sent nothing for {upstream.timeout_s:g} s"
        return UpstreamFailure(upstream, "timeout", words)
    if isinstance(error, httpx.ConnectError):
        return UpstreamFailure(upstream, "connect", f"{name} cannot be reached")
    if isinstance(error, httpx.RemoteProtocolError):
        return UpstreamFailure(upstream, "protocol", f"{name} broke off, or answered with no HTTP")
    return UpstreamFailure(upstream, "broken", f"{name} broke off ({type(error).__name__})")
