"""A long body: the event loop receives it, a thread works on it, neither holds all of it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Final, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from imabo.errors import ReplayMismatch
from imabo.server.bodies import too_large
from imabo.server.context import Parts
from imabo.server.problems import invalid_request, unavailable

T = TypeVar("T")

_LONGEST_LINE: Final = 1 << 24
_PIECES: Final = 1  # that waits for the thread; the sender then waits as well
_LOOK_S: Final = 0.5  # how often it is looked whether the service stops
_PATIENCE_S: Final = 60.0  # for a sender that sends nothing
_DIGEST: Final = re.compile(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]*):")

_Piece = bytes | Exception  # empty: that was all


class Incoming:
    """The lines of a request's body, for work in a thread.

    They are received no faster than the work takes them. A body that does not come whole, or not
    as its ``Content-Digest`` says, is an error where the next line would be: the work never takes
    a part for the whole.

    Args:
        request: Whose body.
        parts: The service; work under way ends when it stops.
    """

    def __init__(self, request: Request, parts: Parts) -> None:
        self._request = request
        self._stopping = parts.stopping
        self._slots = parts.imports
        self._limit = parts.settings.max_import_bytes
        self._is_gone = False
        length = request.headers.get("content-length", "0")
        if int(length) > self._limit:
            raise self._too_large()
        stated = _DIGEST.search(request.headers.get("content-digest", ""))
        self._digest = None if stated is None else stated[1]

    async def given_to(self, work: Callable[[Iterator[bytes]], T]) -> T:
        """What the work makes of the lines; other requests are served meanwhile."""
        sender, receiver = anyio.create_memory_object_stream[_Piece](_PIECES)
        handing = asyncio.create_task(self._hand_on(sender))
        try:
            with receiver:
                return await anyio.to_thread.run_sync(
                    work, self._lines(receiver), limiter=self._slots
                )
        finally:
            handing.cancel()
            with suppress(asyncio.CancelledError):
                await handing

    # --- in the event loop ----------------------------------------------------------------------

    async def _hand_on(self, sender: MemoryObjectSendStream[_Piece]) -> None:
        with sender, suppress(anyio.BrokenResourceError):  # the work ended before the body
            try:
                await self._hand_on_body(sender)
            except Exception as error:
                await sender.send(error)
                return
            await sender.send(b"")
            while (await self._request.receive())["type"] != "http.disconnect":
                pass
            self._is_gone = True

    async def _hand_on_body(self, sender: MemoryObjectSendStream[_Piece]) -> None:
        size, digest, more = 0, hashlib.sha256(), True
        while more:
            message = await self._receive()
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            if size > self._limit:
                raise self._too_large()
            digest.update(piece)
            if piece:
                await sender.send(piece)
        made = base64.b64encode(digest.digest()).decode()
        if self._digest not in (None, made):
            raise invalid_request(
                f"the body's SHA-256 is {made}",
                f"its Content-Digest says {self._digest}, so it was changed on its way",
                "send it again",
            )

    async def _receive(self) -> Message:
        since = monotonic()
        while monotonic() - since < _PATIENCE_S:
            if self._stopping.is_set():
                raise _stopping()
            with anyio.move_on_after(_LOOK_S):
                message = await self._request.receive()
                if message["type"] == "http.disconnect":
                    break
                return message
        raise ClientDisconnect

    # --- in the thread --------------------------------------------------------------------------

    def _lines(self, receiver: MemoryObjectReceiveStream[_Piece]) -> Iterator[bytes]:
        number, rest = 0, b""
        while piece := _next(receiver):
            *whole, rest = (rest + piece).split(b"\n")
            for line in whole:
                if self._is_gone:
                    raise ClientDisconnect
                if self._stopping.is_set():
                    raise _stopping()
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


def _next(receiver: MemoryObjectReceiveStream[_Piece]) -> bytes:
    piece = anyio.from_thread.run(receiver.receive)
    if isinstance(piece, Exception):
        raise piece
    return piece


def _stopping() -> Exception:
    return unavailable("the service is stopping")
