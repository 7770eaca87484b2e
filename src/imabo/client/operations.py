"""What the clients do, as values: calls to make, pauses to keep, and what came back.

Every operation of a client is a generator that yields steps and is sent what came of them. It does
no I/O itself, so the blocking and the asyncio client share all of it; each has a small driver that
takes the steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple, TypeAlias, TypeVar
from urllib.parse import quote

from imabo.client.uploads import Upload
from imabo.errors import InvalidSetting
from imabo.space.scalars import show

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One request of the API. A ``sink`` takes a long answer, an ``upload`` is a long body."""

    method: str
    path: str
    body: bytes | None = None
    params: Mapping[str, str | int | float] = field(default_factory=dict)
    sink: IO[bytes] | None = None
    upload: Upload | None = None

    @property
    def is_long(self) -> bool:
        """Whether it may take its time, as long as it goes on."""
        return self.sink is not None or self.upload is not None

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Send(NamedTuple):
    """Make a call; no operation on the network may take longer than ``timeout_s``."""

    call: Call
    timeout_s: float


class Sleep(NamedTuple):
    """Do nothing for a while."""

    seconds: float


class Work(NamedTuple):
    """Do something that waits for a disk, which an event loop must not."""

    do: Callable[[], None]


class Answer(NamedTuple):
    """What the service answered, and to which attempt."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    n_attempts: int = 1


class Failed(NamedTuple):
    """There was no answer, or not a whole one."""

    text: str


Steps: TypeAlias = Generator[Send | Sleep | Work, Answer | Failed | None, T]


def worked(do: Callable[[], T]) -> Steps[T]:
    """Work as a step: what it returns or raises.

    Example:
        >>> steps = worked(lambda: 6 * 7)
        >>> next(steps).do()
        >>> next(steps)
        Traceback (most recent call last):
        StopIteration: 42
    """
    results: list[T] = []
    errors: list[Exception] = []

    def work() -> None:
        try:
            results.append(do())
        except Exception as error:  # raised again where the operation goes on
            errors.append(error)

    yield Work(work)
    if errors:
        raise errors[0]
    return results[0]


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
