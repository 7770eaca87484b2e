"""Server-sent events on their way through: another id, and what they say of tokens."""

from __future__ import annotations

import json
from typing import Any, Final

from imabo.gateway.bodies import with_id

_LONGEST: Final = 1 << 20  # bytes of a line that is waited for; a longer one passes as it comes
_DATA: Final = b"data:"


class Events:
    r"""Passes events on; with an id, each ``data:`` line that has one gets this one.

    A line is passed on when it is whole, which is when a reader can use it. Without an id every
    piece passes as it came, unless ``hides_usage``: then the event that only counts the tokens,
    which the caller did not ask for, is left out.

    Example:
        >>> events = Events("chatcmpl-k3-15")
        >>> events.feed(b'data: {"id":"chatcmpl-1","n":1}\n\ndata: {"id":"chat')
        b'data: {"id":"chatcmpl-k3-15","n":1}\n\n'
        >>> events.feed(b'cmpl-1","n":2}\n\ndata: [DONE]\n\n')
        b'data: {"id":"chatcmpl-k3-15","n":2}\n\ndata: [DONE]\n\n'
        >>> hiding = Events(None, hides_usage=True)
        >>> hiding.feed(b'data: {"choices":[],"usage":{"prompt_tokens":5}}\n\ndata: [DONE]\n\n')
        b'data: [DONE]\n\n'
    """

    def __init__(self, new_id: str | None, *, hides_usage: bool = False) -> None:
        self._id = new_id
        self._hides_usage = hides_usage
        self._is_hiding = False  # the rest of an event, up to the empty line that ends it
        self._tail = b""
        self._usage = b""

    def feed(self, piece: bytes) -> bytes:
        """What to send of what has come."""
        data = self._tail + piece
        cut = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        whole, self._tail = data[:cut], data[cut:]
        if len(self._tail) > _LONGEST:
            whole, self._tail = data, b""
        lines = whole.splitlines(keepends=True)
        for n, line in enumerate(lines):
            if line.startswith(_DATA):
                said = line[len(_DATA) :]
                if b'"usage"' in line:
                    self._usage = said
                    self._is_hiding = self._hides_usage and _only_counts(said)
                if self._id is not None:
                    lines[n] = _DATA + with_id(said, self._id)
            if self._is_hiding:
                self._is_hiding = line.strip() != b""
                lines[n] = b""
        return piece if self._passes else b"".join(lines)

    @property
    def _passes(self) -> bool:
        return self._id is None and not self._hides_usage

    def end(self) -> bytes:
        """What is left of a stream that ended in the middle of a line."""
        return b"" if self._passes else self._tail

    @property
    def usage(self) -> tuple[int, int] | None:
        """The tokens that the last event with a count named."""
        return usage_of(self._usage)


def _only_counts(data: bytes) -> bool:
    """Whether an event is the one that the count of tokens adds: it has no part of an answer."""
    try:
        document: Any = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(document, dict):
        return False
    return document.get("choices") == [] and isinstance(document.get("usage"), dict)


def usage_of(answer: bytes) -> tuple[int, int] | None:
    """The tokens in and out that an answer names; None where it does not.

    Example:
        >>> usage_of(b'{"usage": {"prompt_tokens": 5, "completion_tokens": 7}}')
        (5, 7)
    """
    if b'"usage"' not in answer:
        return None
    try:
        document: Any = json.loads(answer)
        usage = document["usage"]
        found = usage["prompt_tokens"], usage.get("completion_tokens") or 0  # none of embeddings
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    is_count = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in found)
    return found if is_count else None
