"""The decorator ``tuned``, and what it makes of a function."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MethodType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar, overload

from imabo.decorator.asking import Asking, OnError
from imabo.decorator.calls import Told, TunedCall
from imabo.decorator.streams import AsyncTunedStream, TunedStream
from imabo.errors import InvalidSetting, UnknownPull
from imabo.space import Space
from imabo.space.scalars import show

if TYPE_CHECKING:
    from imabo.client import AsyncRemoteStudy
    from imabo.decorator.asking import AnyStudy, BlockingStudy

P = ParamSpec("P")
R = TypeVar("R")

KEY: Final = "imabo_key"  # an argument of a call that is not the function's
_BY_NAME: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

_log = logging.getLogger("imabo.tuned")


class Tuned(Generic[P, R, Told]):
    """A function whose arguments a study chooses; ``tuned`` makes it.

    It is called as the function is, without the parameters of the space. ``__wrapped__`` is the
    function itself.
    """

    __wrapped__: Callable[P, R]
    __name__: str

    def __init__(
        self,
        function: Callable[P, R],
        asking: Asking,
        key: Callable[..., str | None] | None,
        context: Callable[..., object] | None,
    ) -> None:
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial, or an object that can be called
            self.__name__ = type(function).__name__
        self._asking = asking
        self._key = key
        self._context = context
        self._signature = inspect.signature(function)
        self._names: frozenset[str] = frozenset(asking.default)  # of parameters, as far as known
        self._ignored: set[str] = set()  # parameters that the function does not take
        self._last: ContextVar[TunedCall[Told]] = ContextVar(f"last call of {self.__name__}")
        self._is_checked = False
        found: Any = self._call
        body: Any = function
        if not inspect.isroutine(function) and not isinstance(function, functools.partial):
            body = type(function).__call__
        if inspect.isasyncgenfunction(body):
            found = self._stream_awaited
        elif inspect.isgeneratorfunction(body):
            found = self._stream
        elif inspect.iscoroutinefunction(body):
            found = self._call_awaited
            _mark_coroutine_function(self)
        self._run = found
        self._is_awaited = found in (self._stream_awaited, self._call_awaited)
        if asking.is_early:
            self._check()

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Call the function with a configuration of the study."""
        result: R = self._run(args, kwargs)
        return result

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<tuned {self.__wrapped__!r}>"

    @property
    def last(self) -> TunedCall[Told]:
        """The last call of the function in this thread or task, or the one that runs in it now."""
        try:
            return self._last.get()
        except LookupError:
            raise UnknownPull(
                f"{self.__name__} was not called here",
                "every thread and every task of an event loop has a last call of its own",
                "read it where the function was called, or give the call a key and tell by that",
            ) from None

    # --- the four kinds of functions ------------------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self._new_call(args, kwargs)
        function: Any = self.__wrapped__
        with self._beginning(call):
            if not call.is_own:
                call.pull = self._asking.ask(call.key, call.context)
            ready = self._filled(call, args, kwargs)
        try:
            result = function(*args, **ready)
        except Exception as error:
            self._end(call, "raised")
            self._asking.tell_error(_counted(call), error)
            raise
        except BaseException:
            self._end(call, "abandoned")
            raise
        self._end(call, "returned")
        return result

    async def _call_awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        call = self._new_call(args, kwargs)
        function: Any = self.__wrapped__
        with self._beginning(call):
            if not call.is_own:
                call.pull = await self._asking.ask_awaited(call.key, call.context)
            ready = self._filled(call, args, kwargs)
        try:
            result = await function(*args, **ready)
        except Exception as error:
            self._end(call, "raised")
            await self._asking.tell_error_awaited(_counted(call), error)
            raise
        except BaseException:  # cancelled, say
            self._end(call, "abandoned")
            raise
        self._end(call, "returned")
        return result

    def _stream(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TunedStream:
        call = self._new_call(args, kwargs)
        function: Any = self.__wrapped__

        def begin() -> Generator[Any, Any, Any]:
            with self._beginning(call):
                if not call.is_own:
                    call.pull = self._asking.ask(call.key, call.context)
                ready = self._filled(call, args, kwargs)
            items: Generator[Any, Any, Any] = function(*args, **ready)
            return items

        def fail(error: Exception) -> None:
            self._asking.tell_error(_counted(call), error)

        self._last.set(call)
        return TunedStream(call, begin, fail, self._last.set)

    def _stream_awaited(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncTunedStream:
        call = self._new_call(args, kwargs)
        function: Any = self.__wrapped__

        async def begin() -> AsyncGenerator[Any, Any]:
            with self._beginning(call):
                if not call.is_own:
                    call.pull = await self._asking.ask_awaited(call.key, call.context)
                ready = self._filled(call, args, kwargs)
            items: AsyncGenerator[Any, Any] = function(*args, **ready)
            return items

        async def fail(error: Exception) -> None:
            await self._asking.tell_error_awaited(_counted(call), error)

        self._last.set(call)
        return AsyncTunedStream(call, begin, fail, self._last.set)

    # --- inside ---------------------------------------------------------------------------------

    def _new_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TunedCall[Told]:
        """A call that has no pull yet; takes the key out of the arguments."""
        if not self._is_checked:
            self._check()
        key = kwargs.pop(KEY, None)
        if key is None and self._key is not None:
            key = self._key(*args, **kwargs)
        context = None if self._context is None else self._context(*args, **kwargs)
        call: TunedCall[Told] = TunedCall(self._asking, self.__name__, key, context)
        space = self._asking.space
        names = self._names if space is None else frozenset(space.names)
        call.is_own = bool(names & self._passed(args, kwargs))
        return call

    def _passed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> set[str]:
        """The names of what a caller passed; ``TypeError`` for what the function does not take."""
        return {*self._signature.bind_partial(*args, **kwargs).arguments, *kwargs}

    def _filled(
        self, call: TunedCall[Told], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[str, Any]:
        """The keyword arguments with the configuration's values; what the caller passed stays."""
        passed = self._passed(args, kwargs)
        config = self._asking.default if call.pull is None else call.config
        self._names |= config.keys()
        if call.pull is not None and passed & config.keys():
            call.is_own = True  # the space was not known before
        taken = {name: config[name] for name in config if self._takes(name)}
        ready = {name: value for name, value in taken.items() if name not in passed} | kwargs
        if len(taken) < len(config) and not self._ignored >= config.keys() - taken.keys():
            self._ignored |= config.keys() - taken.keys()
            _log.warning("%s does not take %s", self.__name__, ", ".join(sorted(self._ignored)))
        try:
            self._signature.bind(*args, **ready)
        except TypeError as error:
            if call.is_own:
                why = "a call that passes a parameter itself gets the others from the default"
                raise TypeError(f"{error}; {why}, and there is none") from None
            raise
        return ready

    def _takes(self, name: str) -> bool:
        found = self._signature.parameters.get(name)
        if found is not None and found.kind in _BY_NAME:
            return True
        kinds = [one.kind for one in self._signature.parameters.values()]
        return found is None and inspect.Parameter.VAR_KEYWORD in kinds

    @contextmanager
    def _beginning(self, call: TunedCall[Told]) -> Iterator[None]:
        """Up to the start of the function; a call that does not get there is the last one, too.

        Else a reward for what was served in its place would go to the call before it.
        """
        self._last.set(call)
        try:
            yield
        except Exception:
            call.end("raised")
            raise
        except BaseException:  # cancelled while it asked, say
            call.end("abandoned")
            raise
        call.start()

    def _end(self, call: TunedCall[Told], outcome: Any) -> None:
        call.end(outcome)
        self._last.set(call)  # it may have called itself in between

    def _check(self) -> None:
        """Compare the function with the study, once the study is known."""
        if self._asking.is_awaited and not self._is_awaited:
            raise InvalidSetting(
                f"{self.__name__} is not an async function",
                "a study of an AsyncClient must be awaited",
                "write 'async def', or use a study of a Client",
            )
        if self._asking.space is not None:
            self._check_space(self._asking.space)
        self._is_checked = True

    def _check_space(self, space: Space) -> None:
        for name in space.names:
            if not self._takes(name):
                raise InvalidSetting(
                    f"{self.__name__}{self._signature} does not take {name!r} by its name",
                    "it is a parameter of the study's space, so its value must go somewhere",
                    f"add {name} to the function's arguments, or take it out of the space",
                )
            found = self._signature.parameters.get(name)
            is_needed = found is not None and found.default is inspect.Parameter.empty
            if is_needed and space.parameters[name].when:
                raise InvalidSetting(
                    f"{self.__name__} needs {name!r} in every call",
                    f"the space has it only when {show(dict(space.parameters[name].when), 200)}",
                    f"give it a value for the other calls: {name}=None, say",
                )


def _counted(call: TunedCall[Any]) -> Any:
    return call.pull if call.is_counted else None


def _mark_coroutine_function(thing: Any) -> None:
    """Let frameworks see that a call must be awaited."""
    if hasattr(inspect, "markcoroutinefunction"):
        inspect.markcoroutinefunction(thing)
    else:  # Python 3.11
        thing._is_coroutine = asyncio.coroutines._is_coroutine  # type: ignore[attr-defined]


@overload
def tuned(
    study: AsyncRemoteStudy | Callable[[], AsyncRemoteStudy],
    *,
    default: dict[str, Any] | None = None,
    key: Callable[..., str | None] | None = None,
    context: Callable[..., object] | None = None,
    on_error: OnError = None,
    deadline_s: float | None = None,
) -> Callable[[Callable[P, R]], Tuned[P, R, asyncio.Task[None]]]: ...
@overload
def tuned(
    study: BlockingStudy | Callable[[], BlockingStudy],
    *,
    default: dict[str, Any] | None = None,
    key: Callable[..., str | None] | None = None,
    context: Callable[..., object] | None = None,
    on_error: OnError = None,
    deadline_s: float | None = None,
) -> Callable[[Callable[P, R]], Tuned[P, R, None]]: ...
def tuned(
    study: AnyStudy | Callable[[], AnyStudy],
    *,
    default: dict[str, Any] | None = None,
    key: Callable[..., str | None] | None = None,
    context: Callable[..., object] | None = None,
    on_error: OnError = None,
    deadline_s: float | None = None,
) -> Callable[[Callable[P, R]], Tuned[P, R, Any]]:
    """Let a study choose arguments of a function, call by call.

    The function may be plain, ``async``, a generator or an asynchronous generator (a streamed
    answer). Its arguments that are parameters of the study's space get their values from a
    configuration that each call asks for. After a call, ``answer.last`` is that call in the same
    thread or task: ``answer.last.tell(0.8)`` reports its reward, ``answer.last.latency_s`` says how
    long it took.

    A caller may pass a parameter itself. Then no configuration is asked for, the other parameters
    come from the default, and a reward of that call is dropped: it would say nothing of what the
    study chose. A study that cannot be reached is as with ``ask``: with a default, the call is
    served with it, and its reward is dropped.

    Args:
        study: A ``Study``, a study of a ``Client`` or an ``AsyncClient`` (for async functions
            alone), or a function without arguments that returns one, for studies that are made
            after the function. In an async function, a study that blocks is asked in a thread.
        default: What to serve when the study gives nothing; checked against the space.
        key: Makes the caller's own name of a request from the arguments of the call, to tell its
            reward by later. A call may also pass ``imabo_key="..."``, which the function does not
            get.
        context: Makes JSON-safe values from the arguments of the call, stored with the pull.
        on_error: The reward of a call that raises an ``Exception``; or a function of the exception
            that returns it, or None. By default nothing is told, and the pull stays pending.
        deadline_s: How long an ask of a client may take; see ``RemoteStudy.ask``.

    Example:
        >>> from imabo import Choice, Float, Space, Study
        >>> space = Space(model=Choice("small", "large"), temperature=Float(0.0, 1.0))
        >>> study = Study.create("support-answers", space, seed=0)
        >>> @tuned(study, default={"model": "small", "temperature": 0.2}, on_error=0.0)
        ... def answer(question: str, *, model: str, temperature: float) -> str:
        ...     return f"{model} says yes"
        >>> text = answer("Is it open?")
        >>> answer.last.tell(0.8)
        >>> answer("Is it open?", model="large", temperature=0.0), answer.last.is_counted
        ('large says yes', False)
        >>> study.n_pulls, study.n_rewards
        (1, 1)
    """
    if inspect.isroutine(study) and _needs_arguments(study):
        raise InvalidSetting(
            f"study is {show(study)}",
            "tuned needs the study before the function",
            "write @tuned(study), with the study in brackets",
        )
    asking = Asking(study, default, on_error, deadline_s)

    def decorate(function: Callable[P, R]) -> Tuned[P, R, Any]:
        if not callable(function):
            raise InvalidSetting(
                f"the function is {show(function)}",
                "it cannot be called",
                "put @tuned(study) above a function, below @classmethod or @staticmethod",
            )
        try:
            inspect.signature(function)
        except ValueError as error:  # a few that are written in C do not say it
            raise InvalidSetting(
                f"the function is {show(function)}",
                "Python does not know what arguments it takes",
                "put @tuned(study) above a function of your own that calls it",
            ) from error
        return Tuned(function, asking, key, context)

    return decorate


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):
        return True
    return False
