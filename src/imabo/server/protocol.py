"""A connection: limits on what comes before a request is known, and answers sent in one piece."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, ClassVar, Final, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from imabo.server.problems import MEDIA_TYPE, Refusal, document, invalid_request, unavailable
from imabo.server.settings import Settings

_SLICE: Final = 4096  # bytes that are parsed at a time: as many short requests as fit may queue up
_MOST_QUEUED: Final = 8  # requests of one connection that wait for the one before
_LINGER_S: Final = 5.0  # for a caller who is sending still, to finish and read the answer
_LINGER_BYTES: Final = 1 << 25
_MOST_REFUSED: Final = 100  # connections above the limit that are told so
_ENOUGH: Final = 65_536  # bytes of an answer that are sent without waiting for more
_LONG: Final = frozenset({"/v1/imports"})  # bodies of any length, read by a handler of their own


def protocol_for(settings: Settings) -> type[_Guarded]:
    """The protocol class for uvicorn, with the limits of these settings.

    Example:
        >>> protocol_for(Settings(receive_s=3.0)).limits.receive_s
        3.0
    """
    return type("Guarded", (_Guarded,), {"limits": settings})


class _Guarded(HttpToolsProtocol):
    """uvicorn's protocol with limits, and with answers that leave in one piece (``Cork``).

    * A head that is too long is answered with 431, one that does not come in time with 408.
    * Requests of a pipeline that wait for their turn are few; the rest stays with the sender.
    * Who does not read its answers is cut off.
    * Who is refused in the middle of a body may finish sending it, and so reads the answer: closing
      at once would reset the connection.
    """

    limits: ClassVar[Settings]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or tell that there are too many."""
        self._now = self.loop.time
        self._raw = transport
        self._since: float | None = self._now()  # when what must come next began to be due
        self._stalled_since: float | None = None
        self._in_head = self._in_message = self._is_long = False
        self._head_bytes = 0
        self._is_refused = self._is_lingering = False
        self._may_linger = True
        self._linger_left = _LINGER_BYTES
        self._held = b""
        self._timer = self.loop.call_later(self._tick_s, self._look)
        super().connection_made(cast(asyncio.Transport, Cork(transport, self.loop, self._linger)))
        self.flow = _Flow(self)
        n_above = len(self.connections) - self.limits.max_connections
        if n_above > _MOST_REFUSED:
            self._raw.abort()
        elif n_above > 0:
            self._in_message = True  # whatever it sends is not read: let it, and then close
            self._refuse(unavailable("too many connections are open", "one more would harm others"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._held = b""
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End when the answer under way is sent: the service stops."""
        self._may_linger = False
        super().shutdown()

    # --- what comes in --------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_lingering:
            self._linger_left -= len(data)
            if self._linger_left < 0:
                self._raw.close()
        elif self._held:
            self._held += data
        elif not self.transport.is_closing():
            self._feed(data)

    def _feed(self, data: bytes) -> None:
        for start in range(0, len(data), _SLICE):
            if len(self.pipeline) >= _MOST_QUEUED:
                self._held = data[start:]
                self.flow.pause_reading()
                return
            piece = data if len(data) <= _SLICE else data[start : start + _SLICE]
            if self._since is None:
                self._since = self._now()
            was_in_head = self._in_head
            super().data_received(piece)
            if self.transport.is_closing():
                return
            if was_in_head and self._in_head:
                self._head_bytes += len(piece)
                if self._head_bytes > self.limits.max_head_bytes:
                    self._refuse_head()
                    return

    def on_message_begin(self) -> None:
        self._in_head = self._in_message = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._is_refused:
            return
        size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
        if size > self.limits.max_head_bytes:
            self._refuse_head()
            return
        self._in_head = False
        self._since = self._now()
        super().on_headers_complete()
        self._is_long = self.scope["path"] in _LONG

    def on_body(self, body: bytes) -> None:
        if self._is_refused:
            return
        if self._is_long:
            self._since = self._now()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_message, self._since = False, None
        if not self._is_refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Go on with the next request of the connection."""
        super().on_response_complete()
        if self._held and len(self.pipeline) < _MOST_QUEUED and not self.transport.is_closing():
            held, self._held = self._held, b""
            self._feed(held)
            self.flow.resume_reading()

    # --- what goes out --------------------------------------------------------------------------

    def pause_writing(self) -> None:
        self._stalled_since = self._now()
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()

    # --- limits ---------------------------------------------------------------------------------

    @property
    def _tick_s(self) -> float:
        return min(self.limits.receive_s, self.limits.stall_s) / 4.0

    def _look(self) -> None:
        """Now and then: end what takes too long. Cheaper than a timer a request."""
        now, limits = self._now(), self.limits
        if self._raw.is_closing():  # what was written last must still be read by someone
            self._stalled_since = self._stalled_since or now
        if self._stalled_since is not None and now - self._stalled_since > limits.stall_s:
            self._raw.abort()
            return
        if self._since is not None and not self._is_lingering:
            if self.flow.read_paused:
                self._since = now  # it is us who do not read
            elif now - self._since > limits.receive_s:
                self._overdue()
        self._timer = self.loop.call_later(self._tick_s, self._look)

    def _overdue(self) -> None:
        if not self._in_message:  # it never began: nobody waits for words
            self.transport.close()
            return
        part = "head" if self._in_head else "body"
        self._since, self._may_linger = None, False  # it had its time
        self._refuse(
            invalid_request(
                f"the {part} of the request did not come within {self.limits.receive_s:g} s",
                "the service bounds how long it waits",
                "send it at once",
                status=408,
            )
        )

    def _refuse_head(self) -> None:
        self._refuse(
            Refusal(
                "too_large",
                f"the head of the request is longer than {self.limits.max_head_bytes} bytes",
                "the service bounds the line and the headers of a request",
                "send fewer and shorter headers",
                status=431,
            )
        )

    def _refuse(self, error: Refusal) -> None:
        """Answer what is no whole request yet, and close."""
        self._is_refused = True
        cycle = self.cycle
        # Only where no answer is under way or due: what comes out of turn would be taken for it.
        if cycle is None or cycle.response_complete or (self._is_next and not self._in_head):
            body = json.dumps(document(error)).encode()
            headers = [
                *self.server_state.default_headers,
                (b"content-type", MEDIA_TYPE.encode()),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
                *((name.lower().encode(), text.encode()) for name, text in error.headers.items()),
            ]
            lines = b"".join(b"%b: %b\r\n" % header for header in headers)
            self.transport.write(STATUS_LINE[error.status] + lines + b"\r\n" + body)
        self.transport.close()

    @property
    def _is_next(self) -> bool:
        """Whether the last request is the one to be answered now, and is not answered yet."""
        return not self.pipeline and not self.cycle.response_started

    def _linger(self) -> bool:
        """Whether the end is put off: a caller in the middle of a request may finish it first."""
        if not self._in_message or not self._may_linger or self._raw.is_closing():
            return False
        self._is_lingering = True
        if self._raw.can_write_eof():
            self._raw.write_eof()
        if self.flow.read_paused:
            self.flow.read_paused = False
            self._raw.resume_reading()
        self.loop.call_later(_LINGER_S, self._raw.close)
        return True


class _Flow(FlowControl):
    """Reads on only when nothing that was read waits for its turn."""

    def __init__(self, protocol: _Guarded) -> None:
        super().__init__(protocol.transport)
        self._protocol = protocol

    def resume_reading(self) -> None:
        protocol: Any = self._protocol
        if not protocol.pipeline and not protocol._held:
            super().resume_reading()


class Cork:
    """A transport that sends what is written within one turn of the loop together.

    uvicorn writes an answer's head and its body apart, and each would be sent at once: this is one
    system call less an answer, and a quarter of the time of a short one (docs/decisions/0010).
    ``linger`` is called before it is closed, and says whether the caller closes it later.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        linger: Callable[[], bool] = lambda: False,
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._linger = linger
        self._is_closed = False
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send data, soon; nothing after the end."""
        if self._is_closed:
            return
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= _ENOUGH:
            # The transport must see it, or a long stream would never be told to pause.
            self.flush()

    def flush(self) -> None:
        """Send what was gathered."""
        if self._parts:
            parts, self._parts, self._size = self._parts, [], 0
            if not self._transport.is_closing():  # the other side may have gone meanwhile
                self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Send what was gathered, and close, now or when whoever lingers is done."""
        if not self._is_closed:
            self._is_closed = True
            self.flush()
            if not self._linger():
                self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._is_closed or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
