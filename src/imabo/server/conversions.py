"""Checking what comes in: bodies and queries as models, texts as times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, TypeVar

from pydantic import BaseModel, ValidationError

from imabo.server.problems import invalid_request
from imabo.space.scalars import show

_AT: Final = "2026-11-15T12:00:00.000000Z"

B = TypeVar("B", bound=BaseModel)


def checked(model: type[B], value: object, where: str = "the body") -> B:
    """A value as a model, or a refusal that says where it went wrong and what was there.

    Example:
        >>> from imabo.server.wire import AskBody
        >>> checked(AskBody, {"count": 0})
        Traceback (most recent call last):
        imabo.server.problems.Refusal: the body's count is 0: input should be greater than or...
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        path = ".".join(map(str, first["loc"]))
        at = f"{where}'s {path}" if path else where
        why = first["msg"][:1].lower() + first["msg"][1:]
        raise invalid_request(f"{at[:200]} is {show(first['input'])}", why[:300]) from None


def time_of(text: str) -> datetime:
    """An RFC 3339 time as an aware datetime."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and "T" in text.upper() and 2 <= moment.year <= 9998:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise invalid_request(
        f"the time is {show(text)}",
        f"it must be an RFC 3339 time of the years 2 to 9998 with an offset, such as {_AT}",
        "write it so",
    )
