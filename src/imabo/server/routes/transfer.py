"""Whole logs, streamed: exports and imports.

A thread writes or reads, the event loop sends or receives, and neither holds all of it.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from time import monotonic
from typing import Final, TextIO, TypeVar, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from imabo.checks import checked_name
from imabo.documents import Document, study_document
from imabo.errors import ReplayMismatch
from imabo.replay import make_again, read_log
from imabo.server.access import require_name
from imabo.server.bodies import check_media_type, too_large
from imabo.server.context import Context, respond
from imabo.server.problems import invalid_request, stopping, unavailable
from imabo.server.wire import FormatQuery, ImportQuery
from imabo.study import Study

T = TypeVar("T")

_CHUNK: Final = 65_536
_LINES: Final = "application/x-ndjson"
_MEDIA: Final = {"jsonl": _LINES, "csv": "text/csv; charset=utf-8"}
_LONGEST_LINE: Final = 1 << 24
_LOOK_S: Final = 0.5  # how often it is looked whether the service stops
_PATIENCE_S: Final = 60.0  # for a sender that sends nothing
_DIGEST: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):")


async def export(context: Context) -> Response:
    """The study as JSON lines (the whole log) or as CSV (a row a pull)."""
    form = context.checked_query(FormatQuery).format
    study = await context.with_study(lambda study: study)
    return ExportResponse(study, form, context.parts.exports)


async def import_study(context: Context) -> Response:
    """Make a study from the JSON lines of an export; it is there when all of them are, or not.

    Every decision is made again and compared with the log. What a service served with proposals
    made in the background is done as the log says. A body that comes with a `Content-Digest`
    (`sha-256`) is compared with it.
    """
    name = context.checked_query(ImportQuery).name
    check_media_type(context, _LINES)
    registry = context.parts.registry

    def make(lines: Iterator[bytes]) -> Document:
        record, entries = read_log(lines, None, None)
        if name is not None:
            record = replace(record, name=checked_name(name))
        require_name(context.caller, record.name)
        with registry.making(record.token):
            checked = make_again(registry.store, record, entries)
        made = study_document(registry.store.outline(record.name))
        return {"study": made, "checked": asdict(checked)}

    return respond(await Incoming(context).given_to(make), 201)


class ExportResponse(Response):
    """A study as a stream of text; when the caller goes away, the writing ends.

    One who stays and does not read is cut off (see ``imabo.server.protocol``). Each has a thread,
    and holds a connection of the store, so only a few run at once.
    """

    def __init__(self, study: Study, form: str, running: anyio.CapacityLimiter) -> None:
        super().__init__(media_type=_MEDIA[form])
        del self.headers["content-length"]
        self._study = study
        self._form = form
        self._running = running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; refused for the moment when as many run as may."""
        del scope
        try:
            self._running.acquire_on_behalf_of_nowait(self)
        except anyio.WouldBlock:
            n = self._running.borrowed_tokens
            why = "no more of them run at once"
            raise unavailable(f"{n} exports are under way", why) from None
        pipe = _Pipe(send)
        watching = asyncio.create_task(pipe.watch(receive))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            # A thread of its own, none of those that all requests share.
            own = anyio.CapacityLimiter(1)
            with suppress(ClientDisconnect):
                await anyio.to_thread.run_sync(self._write, pipe, limiter=own)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            pipe.is_gone = True
            watching.cancel()
            self._running.release_on_behalf_of(self)

    def _write(self, pipe: _Pipe) -> None:
        with pipe:
            self._study.export(cast(TextIO, pipe), self._form)
            pipe.flush()


class _Pipe(io.TextIOBase):
    """A text file that a thread writes and the event loop sends."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._parts: list[str] = []
        self._size = 0
        self.is_gone = False

    async def watch(self, receive: Receive) -> None:
        """Notice that the caller has gone."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._parts.append(text)
        self._size += len(text)
        if self._size >= _CHUNK:
            self.flush()
        return len(text)

    def flush(self) -> None:
        if self._parts:
            chunk = "".join(self._parts).encode()
            self._parts, self._size = [], 0
            if self.is_gone:
                raise ClientDisconnect
            anyio.from_thread.run(self._send_on, chunk)

    async def _send_on(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})


class Incoming:
    """The lines of a request's body, for work in a thread.

    They are received no faster than the work takes them. A body that does not come whole, or not
    as its ``Content-Digest`` says, is an error where the next line would be: the work never takes
    a part for the whole.
    """

    def __init__(self, context: Context) -> None:
        self._receive = context.receive
        self._stopping = context.parts.stopping
        self._slots = context.parts.imports
        self._limit = context.parts.settings.max_import_bytes
        self._size, self._sha, self._has_more = 0, hashlib.sha256(), True
        if int(context.headers.get("content-length", "0")) > self._limit:
            raise self._too_large()
        stated = _DIGEST.search(context.headers.get("content-digest", ""))
        self._digest = None if stated is None else stated[1]

    async def given_to(self, work: Callable[[Iterator[bytes]], T]) -> T:
        """What the work makes of the lines; other requests are served meanwhile."""
        return await anyio.to_thread.run_sync(work, self._lines(), limiter=self._slots)

    # --- in the event loop ----------------------------------------------------------------------

    async def _next(self) -> bytes:
        """The next piece of the body; empty at its end, if that is as it was said to be."""
        piece = b""
        while self._has_more and not piece:
            message = await self._message()
            piece, self._has_more = message.get("body", b""), message.get("more_body", False)
        self._size += len(piece)
        if self._size > self._limit:
            raise self._too_large()
        self._sha.update(piece)
        if not piece and self._digest is not None:
            made = base64.b64encode(self._sha.digest()).decode()
            if self._digest != made:
                raise invalid_request(
                    f"the body's SHA-256 is {made}",
                    f"its Content-Digest says {self._digest}, so it was changed on its way",
                    "send it again",
                )
        return piece

    async def _message(self) -> Message:
        since = monotonic()
        while monotonic() - since < _PATIENCE_S:
            if self._stopping.is_set():
                raise stopping()
            with anyio.move_on_after(_LOOK_S):
                message = await self._receive()
                if message["type"] == "http.disconnect":
                    break
                return message
        raise ClientDisconnect

    # --- in the thread --------------------------------------------------------------------------

    def _lines(self) -> Iterator[bytes]:
        number, rest = 0, b""
        while piece := anyio.from_thread.run(self._next):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if self._stopping.is_set():
                    raise stopping()
                number += 1
                yield line
            if len(rest) > _LONGEST_LINE:
                raise ReplayMismatch(
                    f"line {number + 1} of the log is longer than {_LONGEST_LINE} bytes",
                    "no line of an export is",
                    "check that the log is whole",
                )
        if rest:
            yield rest

    def _too_large(self) -> Exception:
        # Without closing: the caller shall hear of it, and may be sending for a while yet.
        return too_large(self._limit, "raise max_import_bytes", is_last=False)
