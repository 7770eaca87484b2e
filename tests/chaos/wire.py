"""HTTP to one server, as little as needed: a connection that is kept, and a loss that is said."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Final

PATIENCE_S: Final = 10.0  # a request without an answer after this is lost


class Lost(Exception):
    """There is no answer; whether the request was done is not known."""


@dataclass(frozen=True)
class Answer:
    """What a server said."""

    status: int
    body: Any

    @property
    def code(self) -> str:
        """The code of a refusal."""
        return str(self.body.get("code", "")) if isinstance(self.body, dict) else ""


class Line:
    """One connection to a server on loopback; after ``Lost`` it is of no more use."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, method: str, path: str, body: object = None) -> Answer:
        """Send a request and read its answer."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._send(method, path, body)
        except (OSError, EOFError, TimeoutError, ValueError) as error:
            self.close()
            raise Lost(f"{type(error).__name__}: {error}") from error

    async def _send(self, method: str, path: str, body: object) -> Answer:
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode() + content)
        await self._writer.drain()
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        content = await self._reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return Answer(int(lines[0].split()[1]), json.loads(content) if content else None)

    def close(self) -> None:
        """Hang up."""
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None
