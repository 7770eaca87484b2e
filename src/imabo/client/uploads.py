"""A file on its way to the service: how long it is, its digest, and its pieces as they are sent."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

LINES: Final = "application/x-ndjson"
SILENCE_S: Final = 3600.0  # that the service may take over what it was sent

_PIECE: Final = 65_536
_SPOOLED: Final = 2**20  # bytes kept in memory before they go to a file


@dataclass(frozen=True, slots=True)
class Upload:
    """A long body. ``sent`` is called with the number of bytes of each piece.

    Example:
        >>> import io
        >>> with upload_of(io.StringIO("{}"), lambda n: None) as upload:
        ...     upload.headers["Content-Length"], list(upload.pieces())
        ('2', [b'{}'])
    """

    file: IO[bytes]
    headers: dict[str, str]
    sent: Callable[[int], None]

    def pieces(self) -> Iterator[bytes]:
        """What to send, piece by piece."""
        self.file.seek(0)
        while piece := self.file.read(_PIECE):
            yield piece
            self.sent(len(piece))

    async def pieces_async(self) -> AsyncIterator[bytes]:
        """The same, for asyncio."""
        for piece in self.pieces():
            yield piece


def keep_little(event: str, info: Mapping[str, Any]) -> None:
    """Let the system hold little of an upload, so that what was sent is nearly what was taken."""
    if event == "connection.connect_tcp.complete":
        raw = info["return_value"].get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _PIECE)


async def keep_little_async(event: str, info: Mapping[str, Any]) -> None:
    """The same, for asyncio."""
    keep_little(event, info)


@contextmanager
def upload_of(
    source: str | os.PathLike[str] | IO[Any], sent: Callable[[int], None]
) -> Iterator[Upload]:
    """A path, or an open file of text or bytes, as a body; an open file is read to its end."""
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield _described(file, sent)
        return
    with tempfile.SpooledTemporaryFile(max_size=_SPOOLED) as copied:
        while piece := source.read(_PIECE):
            copied.write(piece.encode() if isinstance(piece, str) else piece)
        yield _described(copied, sent)


def _described(file: IO[bytes], sent: Callable[[int], None]) -> Upload:
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(_PIECE):
        digest.update(piece)
        size += len(piece)
    headers = {
        "Content-Type": LINES,
        "Content-Length": str(size),
        "Content-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:",
    }
    return Upload(file, headers, sent)
