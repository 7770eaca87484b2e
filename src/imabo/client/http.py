"""One request of the API and its answer: as values, and as httpx takes it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import IO, Any, Final, NamedTuple
from urllib.parse import quote

from imabo.errors import InvalidSetting
from imabo.space.scalars import show

_REQUEST_ID: Final = "X-Request-ID"
_SILENCE_S: Final = 3600.0  # that the service may take over what it was sent
_PIECE: Final = 65_536
SPOOLED: Final = 2**20  # bytes of a file kept in memory before they go to the disk


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the API. A ``sink`` takes a long answer, an ``upload`` is a long body."""

    method: str
    path: str
    body: bytes | None = None
    params: Mapping[str, str | int | float] = field(default_factory=dict)
    sink: IO[bytes] | None = None
    upload: Upload | None = None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class HttpAnswer(NamedTuple):
    """What the service answered, and to which attempt."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    n_attempts: int = 1


class Failed(NamedTuple):
    """There was no answer, or not a whole one."""

    text: str


def path_of(*parts: str | int) -> str:
    """A path of the API; each part is one segment, whatever it contains.

    Example:
        >>> path_of("studies", "a/b", "pulls"), path_of("studies", "..")
        ('/v1/studies/a%2Fb/pulls', '/v1/studies/%2E%2E')
    """
    return "/v1/" + "/".join(_segment(str(part)) for part in parts)


def _segment(part: str) -> str:
    # Dots alone would be taken for a way up.
    return part.replace(".", "%2E") if set(part) == {"."} else quote(part, safe="")


def json_of(**fields: Any) -> bytes:
    """A body; refuses what JSON cannot say.

    Example:
        >>> json_of(count=2)
        b'{"count": 2}'
    """
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        name = next((name for name, value in fields.items() if not _is_json(value)), "the value")
        raise InvalidSetting(
            f"{name} is {show(fields.get(name))}",
            f"it travels as JSON, which cannot hold it ({error})",
            "use numbers, texts, lists and dicts",
        ) from error


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


# --- what httpx is told -------------------------------------------------------------------------


class RequestIds:
    """Names requests, to notice an answer that belongs to another one.

    A proxy that answers twice would shift all later answers of a connection, and a reward that was
    lost would look acknowledged. A proxy that puts names of its own in their place is let be.

    Example:
        >>> ids = RequestIds()
        >>> first, second = ids.header(), ids.header()
        >>> ids.is_shifted(first, sent=second), ids.is_shifted(second, sent=second)
        (True, False)
        >>> ids.is_shifted({"X-Request-ID": "of-a-proxy"}, sent=second)
        False
    """

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count(1)

    def header(self) -> dict[str, str]:
        """The header of the next request."""
        return {_REQUEST_ID: f"{self._prefix}-{next(self._numbers)}"}

    def is_shifted(self, received: Mapping[str, str], sent: Mapping[str, str]) -> bool:
        """Whether an answer is that to another request of ours."""
        name = received.get(_REQUEST_ID, "")
        return name.startswith(self._prefix) and name != sent[_REQUEST_ID]


def http_settings(verify: bool | SSLContext) -> dict[str, Any]:
    """How connections are kept: as many as needed, and not as long as servers keep them."""
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=4.0)
    return {"verify": verify, "limits": limits, "follow_redirects": False}


def request_settings(call: Call, headers: Mapping[str, str], timeout_s: float) -> dict[str, Any]:
    """One request, but for its method, its address and a long body."""
    if call.sink is not None:
        call.sink.seek(0)
        call.sink.truncate()
    settings = {"content": call.body, "params": dict(call.params) or None, "timeout": timeout_s}
    if call.upload is not None:
        import httpx

        # It is taken as fast as it is worked on, and the answer comes when that is done.
        timeout = httpx.Timeout(timeout_s, read=_SILENCE_S, write=_SILENCE_S)
        return settings | {"headers": {**headers, **call.upload.headers}, "timeout": timeout}
    if call.body is not None:
        headers = {**headers, "Content-Type": "application/json"}
    return settings | {"headers": headers}


def failure_of(error: Exception, *, is_closed: bool) -> str:
    """Why a request got no answer; anything else that went wrong is raised again."""
    # A client that is closed at this moment has no connections any more.
    if isinstance(error, RuntimeError) and not is_closed:
        raise error
    return f"{type(error).__name__} ({error})" if str(error) else type(error).__name__


# --- a long body --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Upload:
    """A file on its way. ``sent`` is called with the number of bytes of each piece.

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
    with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as copied:
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
        "Content-Type": "application/x-ndjson",
        "Content-Length": str(size),
        "Content-Digest": f"sha-256=:{base64.b64encode(digest.digest()).decode()}:",
    }
    return Upload(file, headers, sent)
