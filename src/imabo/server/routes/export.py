"""Streaming an export: a thread writes it, the event loop sends it, neither holds all of it."""

from __future__ import annotations

import io
from typing import Final, TextIO, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from imabo.server.exports import Exports
from imabo.study import Study

_CHUNK: Final = 65_536
_MEDIA: Final = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}


class ExportAnswer(Response):
    """A study as a stream of text; when the caller goes away, the writing ends.

    One who stays and does not read is cut off (see ``imabo.server.protocol``).

    Args:
        study: What to write.
        form: ``jsonl`` or ``csv``.
        exports: Those that run.
    """

    def __init__(self, study: Study, form: str, exports: Exports) -> None:
        super().__init__(media_type=_MEDIA[form])
        del self.headers["content-length"]
        self._study = study
        self._form = form
        self._exports = exports
        self._thread = anyio.CapacityLimiter(1)  # its own, none of those that all requests share

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope
        with self._exports.one_more():
            await self._send(receive, send)

    async def _send(self, receive: Receive, send: Send) -> None:
        sender, receiver = anyio.create_memory_object_stream[bytes](4)
        async with anyio.create_task_group() as group:
            group.start_soon(self._write, sender)
            group.start_soon(_watch, receive, group.cancel_scope)
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with receiver:
                async for chunk in receiver:
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            group.cancel_scope.cancel()

    async def _write(self, sender: MemoryObjectSendStream[bytes]) -> None:
        async with sender:
            await anyio.to_thread.run_sync(
                _export, self._study, self._form, sender, limiter=self._thread
            )


async def _watch(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _export(study: Study, form: str, sender: MemoryObjectSendStream[bytes]) -> None:
    with _Pipe(sender) as pipe:
        study.export(cast(TextIO, pipe), form)
        pipe.flush()


class _Pipe(io.TextIOBase):
    """A text file whose other end is a stream of the event loop."""

    def __init__(self, sender: MemoryObjectSendStream[bytes]) -> None:
        self._sender = sender
        self._parts: list[str] = []
        self._size = 0

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
            anyio.from_thread.run(self._sender.send, chunk)
