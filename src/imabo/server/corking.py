"""Answers sent in one piece: a protocol whose connections gather what is written at once."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_ENOUGH: Final = 65_536  # bytes after which they are sent without waiting for more


class CorkedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, less one system call an answer.

    uvicorn writes an answer's head and its body apart, and each would be sent at once.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection."""
        super().connection_made(cast(asyncio.Transport, Cork(transport, self.loop)))


class Cork:
    """A transport that sends what is written within one turn of the loop together.

    Args:
        transport: What sends; everything but writing is its business.
        loop: Where it belongs.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send data, soon."""
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
            self._transport.write(b"".join(parts))

    def close(self) -> None:
        """Send what was gathered, and close."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
