"""What the clients do, written once for both: operations that yield steps and do no I/O.

An operation is a generator. It yields a step (make this call, sleep, use the disk, take these steps
within a time); what comes of it is sent to it, or thrown. ``Client`` and ``RemoteStudy`` take the
steps in the calling thread (``threads.py``), ``AsyncClient`` and ``AsyncRemoteStudy`` in an event
loop (``tasks.py``). ``shared`` makes a method of each side from one definition.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import (
    TYPE_CHECKING,
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

from imabo.client.http import Call, Failed, HttpAnswer

if TYPE_CHECKING:
    from imabo.client.tasks import Asyncio
    from imabo.client.threads import Blocking

T = TypeVar("T")
P = ParamSpec("P")
B = TypeVar("B")  # what a method is for code that waits
A = TypeVar("A")  # and for code that awaits

# --- steps --------------------------------------------------------------------------------------


class Send(NamedTuple):
    """Make a call; nothing on the network may take longer than ``timeout_s``."""

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


Step: TypeAlias = Send | Sleep | Work | Within
Reply: TypeAlias = HttpAnswer | Failed  # to a call; other steps give what they return
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


class Runner(Protocol):
    """Takes steps, and waits for them."""

    def __call__(self, steps: Steps[T], /) -> T: ...  # noqa: D102


class AsyncRunner(Protocol):
    """Takes steps, to be awaited."""

    def __call__(self, steps: Steps[T], /) -> Coroutine[Any, Any, T]: ...  # noqa: D102


class SharedMethod(Generic[B, A]):
    """A method of both sides: of type ``B`` where it waits, and ``A`` where it is awaited."""

    def __init__(self, make: Callable[..., Steps[Any]]) -> None:
        self.make = make

    @overload
    def __get__(self, instance: Blocking, owner: object) -> B: ...
    @overload
    def __get__(self, instance: Asyncio, owner: object) -> A: ...
    @overload
    def __get__(self, instance: None, owner: object) -> Callable[..., Any]: ...
    def __get__(self, instance: object, owner: object) -> object:
        return self  # the sides have functions in its place; see below


def shared(
    make: Callable[Concatenate[Any, P], Steps[T]],
) -> SharedMethod[Callable[P, T], Callable[P, Coroutine[Any, Any, T]]]:
    """Make a method of both sides from a generator that describes it.

    Example:
        >>> from imabo.client.tasks import Asyncio
        >>> class Both:
        ...     @shared
        ...     def answer(self, to: str) -> Steps[int]:
        ...         '''The answer.'''
        ...         return (yield from worked(lambda: len(to)))
        >>> class Mine(Both, Asyncio): ...
        >>> inspect.iscoroutinefunction(Mine.answer), inspect.getdoc(Mine.answer)
        (True, 'The answer.')
        >>> inspect.signature(Mine.answer)
        <Signature (self, to: 'str') -> 'int'>
    """
    return SharedMethod(make)


def install(cls: type, method_of: Callable[[Callable[..., Steps[Any]]], Any]) -> None:
    """Put functions in place of a class's shared methods, with their signatures and docstrings."""
    for name in dir(cls):
        found = inspect.getattr_static(cls, name)
        if not isinstance(found, SharedMethod):
            continue
        make = found.make
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
