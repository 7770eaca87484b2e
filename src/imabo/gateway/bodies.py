"""Changing single members of a JSON text: every other byte of it stays what it was."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

# Nothing in it is tried twice (the possessive +): a text of megabytes must not fill the memory.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{},:]', re.DOTALL)
_SPACE: Final = " \t\n\r"
# The id of an answer nearly always comes first.
_ID_FIRST: Final = re.compile(rb'\s*+\{\s*+"id"\s*+:\s*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)


class Piece(NamedTuple):
    """A member of an object (with its key) or an element of an array: where its value stands."""

    key: str
    start: int
    end: int


def pieces(text: str, start: int = 0) -> Iterator[Piece]:
    """The members or elements of the object or array that begins at ``start`` or after a space.

    The text must be JSON: it is looked through, not checked.

    Example:
        >>> text = '{"model": "a", "messages": [{"role": "user"}, 2]}'
        >>> [text[one.start:one.end] for one in pieces(text)]
        ['"a"', '[{"role": "user"}, 2]']
        >>> [text[one.start:one.end] for one in pieces(text, text.index("["))]
        ['{"role": "user"}', '2']
    """
    depth, begin, key, is_object = 0, start, "", False
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        if mark in ("{", "["):
            depth += 1
            if depth == 1:
                begin, is_object = token.end(), mark == "{"
        elif mark in ("}", "]", ","):
            if mark != ",":
                depth -= 1
            if depth == (1 if mark == "," else 0):
                if value := text[begin : token.start()].strip(_SPACE):
                    first = text.index(value[0], begin)
                    yield Piece(key, first, first + len(value))
                begin, key = token.end(), ""
            if depth == 0:
                return
        elif mark == ":" and depth == 1 and is_object:
            key = json.loads(text[begin : token.start()])
            begin = token.end()


class Body:
    """The JSON object of a request; ``set`` and ``remove`` change members, ``text`` is the result.

    Args:
        text: A JSON object.
        document: What it says.

    Example:
        >>> body = Body('{"model": "imabo/x", "n": 1.50, "seed":7 }', {"model": "imabo/x"})
        >>> body.set("model", "small")
        >>> body.set("temperature", 0.5)
        >>> body.text
        '{"model": "small", "n": 1.50, "seed":7 ,"temperature":0.5}'
    """

    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self.document = document
        self._text = text
        self._pieces = list(pieces(text))
        self._changes: dict[str, str | None] = {}

    def set(self, name: str, value: object) -> None:
        """Give a member a value; it keeps its place, a new one comes last."""
        self.write(name, _dumped(value))

    def write(self, name: str, text: str) -> None:
        """The same, with the JSON of the value."""
        self._changes[name] = text

    def remove(self, name: str) -> None:
        """Take a member out."""
        self._changes[name] = None

    def elements(self, name: str) -> list[str]:
        """The JSON of each element of a member that is an array."""
        member = next(one for one in reversed(self._pieces) if one.key == name)
        return [self._text[one.start : one.end] for one in pieces(self._text, member.start)]

    @property
    def text(self) -> str:
        """The JSON text with the changes."""
        if not self._changes:
            return self._text
        if any(value is None for value in self._changes.values()):
            return self._written_again()
        parts, end = [], 0
        for one in self._pieces:
            # A name that stands there twice must not have two values: who reads takes either.
            if (value := self._changes.get(one.key)) is not None:
                parts += [self._text[end : one.start], value]
                end = one.end
        known = {one.key for one in self._pieces}
        new = [_member(k, v) for k, v in self._changes.items() if k not in known and v is not None]
        close = self._text.rindex("}")
        parts.append(self._text[end:close])
        if new:
            parts.append(("," if known else "") + ",".join(new))
        return "".join(parts) + self._text[close:]

    def _written_again(self) -> str:
        """Member by member, where one is gone; the values are still the bytes they were."""
        kept: dict[str, str] = {}
        for one in self._pieces:
            kept[one.key] = self._text[one.start : one.end]
        kept |= {name: value for name, value in self._changes.items() if value is not None}
        gone = {name for name, value in self._changes.items() if value is None}
        return "{" + ",".join(_member(k, v) for k, v in kept.items() if k not in gone) + "}"


def array(elements: Sequence[str]) -> str:
    """The JSON of an array from that of its elements."""
    return "[" + ",".join(elements) + "]"


def element(value: object) -> str:
    """The JSON of a value."""
    return _dumped(value)


def with_id(answer: bytes, new: str) -> bytes:
    """An answer's JSON with another id, and with one where a completion has none.

    Example:
        >>> with_id(b'{"choices": []}', "cmpl-k3-15"), with_id(b'{"error": {}}', "cmpl-k3-15")
        (b'{"id":"cmpl-k3-15","choices": []}', b'{"error": {}}')
        >>> with_id(b'{"id":"chatcmpl-1","choices":[{"id": 1}]}', "chatcmpl-k3-15")
        b'{"id":"chatcmpl-k3-15","choices":[{"id": 1}]}'
        >>> with_id(b'{"choices":[{"id":"a"}], "id": "chatcmpl-1"}', "b")
        b'{"choices":[{"id":"a"}], "id": "b"}'
    """
    value = _dumped(new)
    if first := _ID_FIRST.match(answer):
        return answer[: first.start(1) - 1] + value.encode() + answer[first.end(1) + 1 :]
    if b'"id"' not in answer and b'"choices"' not in answer:
        return answer
    try:
        text = answer.decode()
        document = json.loads(text)
    except (ValueError, RecursionError):
        return answer
    if not isinstance(document, dict) or not ("id" in document or "choices" in document):
        return answer
    for one in pieces(text):
        if one.key == "id":
            is_text = text[one.start] in '"n'  # or null
            return (text[: one.start] + value + text[one.end :]).encode() if is_text else answer
    begin = text.index("{") + 1
    return (text[:begin] + '"id":' + value + "," + text[begin:]).encode()


def _member(name: str, value: str) -> str:
    return f"{_dumped(name)}:{value}"


def _dumped(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which was an escape in what came
        return json.dumps(value, separators=(",", ":"))
    return text
