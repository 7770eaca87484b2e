"""Answers sent in one piece: a transport that gathers what is written at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

_ENOUGH: Final = 65_536  # bytes after which they are sent without waiting for more


class Cork:
    """A transport that sends what is written within one turn of the loop together.

    uvicorn writes an answer's head and its body apart, and each would be sent at once: this is one
    system call less an answer.

    Args:
        transport: What sends; everything but writing and closing is its business.
        loop: Where it belongs.
        linger: Called before it is closed; says whether the caller closes the transport later.
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
