"""What the clients do, written once for both: operations that yield steps and do no I/O.

An operation is a generator. It yields a step (make this call, sleep, use the disk, take these steps
within a time); what comes of it is sent to it, or thrown. ``Client`` and ``RemoteStudy`` take the
steps in the calling thread (``threads.py``), ``AsyncClient`` and ``AsyncRemoteStudy`` in an event
loop (``tasks.py``). ``operation`` makes a method of each side from one definition.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import (
    IO,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    overload,
)
from urllib.parse import quote

from imabo.client.http import Upload
from imabo.errors import InvalidSetting
from imabo.space.scalars import show

T = TypeVar("T")
P = ParamSpec("P")
B = TypeVar("B")  # what a method is for code that waits
A = TypeVar("A")  # and for code that awaits

# --- steps --------------------------------------------------------------------------------------


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


class Send(NamedTuple):
    """Make a call; no operation on the network may take longer than ``timeout_s``."""

    call: Call
    timeout_s: float


class Sleep(NamedTuple):
    """Do nothing for a while."""

    seconds: float


class Work(NamedTuple):
    """Do something that waits for a disk, which an event loop must not."""

    do: Callable[[], Any]


class Within(NamedTuple):
    """Take these steps, and raise ``TimeoutError`` after so many seconds."""

    steps: Steps[Any]
    seconds: float


class Answer(NamedTuple):
    """What the service answered, and to which attempt."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    n_attempts: int = 1


class Failed(NamedTuple):
    """There was no answer, or not a whole one."""

    text: str


Step: TypeAlias = Send | Sleep | Work | Within
Reply: TypeAlias = Answer | Failed  # to a call; other steps give what they return
Steps: TypeAlias = Generator[Step, Any, T]


def worked(do: Callable[[], T]) -> Steps[T]:
    """Work as a step: what it returns or raises.

    Example:
        >>> steps = worked(lambda: 6 * 7)
        >>> steps.send(next(steps).do())
        Traceback (most recent call last):
        StopIteration: 42
    """
    result: T = yield Work(do)
    return result


def within(steps: Steps[T], seconds: float) -> Steps[T]:
    """Steps that must end in time: what they return or raise, or ``TimeoutError``."""
    result: T = yield Within(steps, seconds)
    return result


# --- one definition, two methods ----------------------------------------------------------------


class Run(Protocol):
    """Takes steps, and waits for them."""

    def __call__(self, steps: Steps[T], /) -> T: ...  # noqa: D102


class AsyncRun(Protocol):
    """Takes steps, to be awaited."""

    def __call__(self, steps: Steps[T], /) -> Coroutine[Any, Any, T]: ...  # noqa: D102


class Operation(Generic[B, A]):
    """A method of both sides: of type ``B`` where it waits, and ``A`` where it is awaited."""

    def __init__(self, make: Callable[..., Steps[Any]]) -> None:
        self.make = make

    @overload
    def __get__(self, instance: Blocking, owner: object) -> B: ...
    @overload
    def __get__(self, instance: Asyncio, owner: object) -> A: ...
    def __get__(self, instance: object, owner: object) -> object:
        return self  # the sides have functions in its place; see below


def operation(
    make: Callable[Concatenate[Any, P], Steps[T]],
) -> Operation[Callable[P, T], Callable[P, Coroutine[Any, Any, T]]]:
    """Make a method of both sides from a generator that describes it.

    Example:
        >>> class Both:
        ...     @operation
        ...     def answer(self, to: str) -> Steps[int]:
        ...         '''The answer.'''
        ...         return (yield from worked(lambda: len(to)))
        >>> class Mine(Both, Asyncio): ...
        >>> inspect.iscoroutinefunction(Mine.answer), inspect.getdoc(Mine.answer)
        (True, 'The answer.')
        >>> inspect.signature(Mine.answer)
        <Signature (self, to: 'str') -> 'int'>
    """
    return Operation(make)


class Blocking:
    """The side that waits: its operations are taken in the calling thread."""

    _run: Run

    def __init_subclass__(cls) -> None:
        def waiting(make: Callable[..., Steps[T]]) -> Callable[..., T]:
            def method(self: Blocking, *args: Any, **settings: Any) -> T:
                return self._run(make(self, *args, **settings))

            return method

        _install(cls, waiting)


class Asyncio:
    """The side that awaits: its operations are coroutines."""

    _run: AsyncRun

    def __init_subclass__(cls) -> None:
        def awaited(make: Callable[..., Steps[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
            async def method(self: Asyncio, *args: Any, **settings: Any) -> T:
                return await self._run(make(self, *args, **settings))

            return method

        _install(cls, awaited)


def _install(cls: type, method_of: Callable[[Callable[..., Steps[Any]]], Any]) -> None:
    """Put functions in place of a class's operations, with their signatures and docstrings."""
    found = [(name, one) for base in cls.__mro__ for name, one in vars(base).items()]
    for name, make in [(name, one.make) for name, one in found if isinstance(one, Operation)]:
        method: Any = functools.update_wrapper(method_of(make), make)
        del method.__wrapped__  # a generator, which it is not
        signature = inspect.signature(make)
        result = str(signature.return_annotation).removeprefix("Steps[")[:-1]
        method.__annotations__ = make.__annotations__ | {"return": result}
        method.__signature__ = signature.replace(return_annotation=result)
        method.__qualname__ = f"{cls.__name__}.{name}"
        if inspect.iscoroutinefunction(method):  # an example is one of the other side
            method.__doc__ = (inspect.getdoc(make) or "").partition("\n\nExample:")[0]
        setattr(cls, name, method)


# --- what travels -------------------------------------------------------------------------------


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
