"""Reading what comes in: bounded bodies, JSON that means one thing only, values of a model."""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request

from imabo.server.misfits import misfit
from imabo.server.problems import Refusal, invalid_request

MAX_DEPTH: Final = 32

B = TypeVar("B", bound=BaseModel)


async def read_body(request: Request, limit: int) -> bytes:
    """The body of a request, refused as soon as it is longer than ``limit`` bytes."""
    length, has_body = None, False
    for name, value in request.scope["headers"]:
        if name == b"content-length":
            length, has_body = value, value != b"0"
        elif name == b"transfer-encoding":
            has_body = True
    if not has_body:
        return b""
    if length is not None and int(length) > limit:
        raise too_large(limit)
    message = await request.receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body") or message["type"] == "http.disconnect":
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        if len(body) > limit:
            break
        message = await request.receive()
        body += message.get("body", b"")
    if len(body) > limit:
        raise too_large(limit)
    return body


def check_media_type(request: Request, wanted: str = "application/json") -> None:
    """Refuse a body that does not say that it is what the route reads."""
    given = request.headers.get("content-type", "")
    if given.partition(";")[0].strip().lower() != wanted:
        raise Refusal(
            "unsupported_media_type",
            f"the body's Content-Type is {given[:100]!r}",
            f"the service reads {wanted} here",
            f"send 'Content-Type: {wanted}'",
        )


def checked(model: type[B], value: object, where: str = "the body") -> B:
    """A value as a model, or a refusal that says where it went wrong and what was there.

    Example:
        >>> from imabo.server.wire import AskBody
        >>> checked(AskBody, {"count": 0})
        Traceback (most recent call last):
        imabo.server.problems.Refusal: the body's count is 0: input should be greater than or...
        >>> checked(AskBody, {"cuont": 2})
        Traceback (most recent call last):
        imabo.server.problems.Refusal: the body's cuont is 2: there is no such field, only count...
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise misfit(model, error, where) from None


def parse(body: bytes) -> Any:
    """JSON as plain values: finite numbers, no name twice in an object, at most 32 deep.

    Example:
        >>> parse(b'{"reward": 0.5}')
        {'reward': 0.5}
        >>> parse(b'{"reward": NaN}')
        Traceback (most recent call last):
        imabo.server.problems.Refusal: the body is not JSON: NaN is not a JSON number...
    """
    try:
        text = body.decode()
        value = _DECODER.decode(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise _malformed(str(error)) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(value):
        raise _too_deep()
    if "\\u" in text:
        _check_unicode(value)
    return value


def too_large(limit: int, fix: str = "send less at a time", *, is_last: bool = True) -> Refusal:
    """A body that is longer than the service takes; the last thing that its connection is for."""
    return Refusal(
        "too_large",
        f"the body is longer than {limit} bytes",
        "the service bounds what one request may send",
        fix,
        headers={"Connection": "close"} if is_last else None,  # the rest of the body is not read
    )


def no_body() -> Refusal:
    """A body that is missing."""
    return invalid_request(
        "the request has no body", "this route needs one", "send a JSON object", status=400
    )


def _malformed(why: str) -> Refusal:
    return invalid_request(
        "the body is not JSON", why.rstrip(".")[:200], "send one JSON object in UTF-8", status=400
    )


def _too_deep() -> Refusal:
    why = f"lists and objects may be at most {MAX_DEPTH} deep"
    return invalid_request("the body is nested too deeply", why, "flatten it", status=400)


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in level if isinstance(item, (dict, list))]
        if not level:
            return False
        level = [
            inner for item in level for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return True


def _check_unicode(value: Any) -> None:
    # Half a pair of surrogates can be escaped in JSON, but is no text that a database could hold.
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _malformed("a text has half a surrogate pair") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of a name that comes twice, programs disagree which one counts.
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is beyond the largest number")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)
