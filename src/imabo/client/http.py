"""What both clients ask of httpx, and how they read its failures."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping
from ssl import SSLContext
from typing import Any, Final

from imabo.client.operations import Call, Failed
from imabo.client.session import Session
from imabo.client.uploads import SILENCE_S, keep_little

_REQUEST_ID: Final = "X-Request-ID"


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
    """One request, but for its method and address."""
    if call.sink is not None:
        call.sink.seek(0)
        call.sink.truncate()
    timeout: object = timeout_s
    if call.upload is not None:
        import httpx

        headers = {**headers, **call.upload.headers}
        # It is taken as fast as it is worked on, and the answer comes when that is done.
        timeout = httpx.Timeout(timeout_s, read=SILENCE_S, write=SILENCE_S)
    elif call.body is not None:
        headers = {**headers, "Content-Type": "application/json"}
    return {
        "content": call.body if call.upload is None else call.upload.pieces(),
        "params": dict(call.params) or None,
        "headers": headers,
        "timeout": timeout,
        "extensions": None if call.upload is None else {"trace": keep_little},
    }


def failed(error: Exception, session: Session) -> Failed:
    """A request that got no answer; anything else that went wrong is raised again."""
    if isinstance(error, RuntimeError) and not session.is_closed:
        raise error
    return Failed(f"{type(error).__name__} ({error})" if str(error) else type(error).__name__)
