"""A study of any of the three kinds, as plug-ins of other libraries use it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from imabo.arms import Pull
from imabo.engine.asks import checked_request
from imabo.engine.requests import Request
from imabo.errors import ImaboError, InvalidConfig, InvalidSetting, StoreClosed, Unavailable
from imabo.space import Space
from imabo.space.scalars import show
from imabo.study import Study

if TYPE_CHECKING:
    from imabo.client import AsyncRemoteStudy, RemoteStudy

    AnyStudy: TypeAlias = Study | RemoteStudy | AsyncRemoteStudy

AGAIN_S: Final = 60.0  # between two looks at a study of a service whose facts did not suffice
LOOK_S: Final = 3.0  # that such a look may take

_log: Final = logging.getLogger(__name__)


class Source:
    """Asks and tells one study, whichever kind it is, for code that waits and for code that awaits.

    An ask raises, or gives a pull of the study, never a default's: whoever plugs imabo into another
    library has a default there. A client's breaker and deadline hold all the same.

    Args:
        study: A ``Study``, or a study of a ``Client`` or an ``AsyncClient``.
        deadline_s: How long an ask of a client may take; its ``timeout_s`` when left out.

    Example:
        >>> from imabo import Choice, Space
        >>> source = Source(Study.create("s", Space(model=Choice("small", "large")), seed=0))
        >>> source.ask("request-1", None).config == source.ask("request-1", None).config
        True
    """

    def __init__(self, study: AnyStudy, deadline_s: float | None = None) -> None:
        is_local = isinstance(study, Study)
        if not is_local and not hasattr(study, "known_space"):
            raise InvalidSetting(
                f"study is {show(study)}",
                "it must be a Study, or a study of a Client or an AsyncClient",
                "pass what Study.create or client.create returned",
            )
        if deadline_s is not None and (
            isinstance(deadline_s, bool)
            or not isinstance(deadline_s, int | float)
            or not 0.0 < deadline_s < math.inf
        ):
            why = "it must be a number of seconds above 0"
            raise InvalidSetting(f"deadline_s is {show(deadline_s)}", why, "pass 0.5, say")
        self._study: Any = study
        self._deadline_s = deadline_s
        self.is_local = is_local
        self.is_awaited = inspect.iscoroutinefunction(self._study.ask)
        self._declared: frozenset[str] | None = None
        self._drawn: tuple[Space | None, dict[str, Any]] | None = None
        self._looked_at = -math.inf
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Future[None]] = set()

    @property
    def name(self) -> str:
        """The study's name."""
        name: str = self._study.name
        return name

    @property
    def space(self) -> Space | None:
        """The space, as far as it is known without a call to a service."""
        space: Space | None = self._study.space if self.is_local else self._study.known_space
        return space

    @property
    def declared(self) -> frozenset[str] | None:
        """The names of the study's signals; None while they are not known."""
        return frozenset(self._study.signals) if self.is_local else self._declared

    # --- asking ---------------------------------------------------------------------------------

    def ask(self, key: str | None, context: object) -> Pull:
        """A pull of the study, in this thread."""
        checked_request(Request(1, key, context))  # a client that has a default would hide this
        if self.is_awaited:
            raise InvalidSetting(
                f"study {self.name!r} is one of an AsyncClient",
                "it cannot be asked by code that does not await",
                "use the asynchronous methods, or a study of a Client",
            )
        pull: Pull = self._study.ask(**self._asked(key, context))
        return self._checked(pull)

    async def ask_awaited(self, key: str | None, context: object) -> Pull:
        """The same, without holding up the event loop."""
        if not self.is_awaited:
            return await asyncio.to_thread(self.ask, key, context)
        checked_request(Request(1, key, context))
        self._loop = asyncio.get_running_loop()
        pull: Pull = await self._study.ask(**self._asked(key, context))
        return self._checked(pull)

    def _asked(self, key: str | None, context: object) -> dict[str, Any]:
        asked: dict[str, Any] = {"key": key, "context": context}
        if not self.is_local:
            asked |= {"default": self._stand_in(), "deadline_s": self._deadline_s}
        return asked

    def _stand_in(self) -> dict[str, Any] | None:
        """A default that is never served; with one, a client asks within its deadline.

        Its breaker then counts, and it remembers that the key has no pull.
        """
        space = self._study.known_space
        if self._drawn is None or self._drawn[0] is not space:
            config = {} if space is None else space.sample(np.random.default_rng(0))
            self._drawn = space, dict(config)
        try:
            self._study.check_default(self._drawn[1])
        except InvalidConfig:  # the program declared another space than the service has
            return None
        return dict(self._drawn[1])

    def _checked(self, pull: Pull) -> Pull:
        if pull.arm:
            return pull
        raise Unavailable(
            f"study {self.name!r} gave no configuration",
            "its service did not answer in time, or refused; the log of imabo.client says which",
            "check that the service runs and has the study",
        )

    # --- looking --------------------------------------------------------------------------------

    def look(self) -> None:
        """Read what a service knows of the study: its space and its signals."""
        if not self.is_local and not self.is_awaited:
            from imabo.client.threads import Workers

            self._looked_at = time.monotonic()
            try:
                facts = Workers().run(self._study.facts, LOOK_S)
            except TimeoutError:
                raise self._slow() from None
            self._declared = frozenset(facts.signals or ())

    async def look_awaited(self) -> None:
        """The same, without holding up the event loop."""
        if not self.is_awaited:
            await asyncio.to_thread(self.look)
            return
        self._looked_at = time.monotonic()
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(LOOK_S):
                facts = await self._study.facts()
        except TimeoutError:
            raise self._slow() from None
        self._declared = frozenset(facts.signals or ())

    def _slow(self) -> Unavailable:
        return Unavailable(
            f"study {self.name!r} cannot be looked at",
            f"its service did not answer within {LOOK_S:g} s",
            "check that it runs",
        )

    @property
    def may_look(self) -> bool:
        """Whether a look could bring something new: not of a study here, and not all the time."""
        return not self.is_local and time.monotonic() - self._looked_at > AGAIN_S

    # --- telling --------------------------------------------------------------------------------

    def tell(
        self,
        name: Mapping[str, str],
        reward: float | None,
        signals: Mapping[str, float],
    ) -> None:
        """Report a reward, signals or both; ``name`` is a ``pull_id`` or a ``key``.

        Signals that the study does not declare are left out. A study in this process has the rest
        when this returns; that of a client sends it from the background, and keeps it while the
        service is away. What is refused is said in the log.
        """
        if self.is_awaited:
            self._start(self._tell_awaited(name, reward, signals))
            return
        how = {} if self.is_local else {"wait": False}
        if signals and self.declared is None and self.may_look:
            with _reported(self.name, name):
                self.look()
        signals = self._taken(signals)
        with _reported(self.name, name):
            if reward is not None:
                self._study.tell(**name, reward=reward, signals=signals or None, **how)
                return
            for signal, value in signals.items():
                self._study.signal(**name, name=signal, value=value, **how)

    async def tell_awaited(
        self, name: Mapping[str, str], reward: float | None, signals: Mapping[str, float]
    ) -> None:
        """The same, without holding up the event loop."""
        if self.is_awaited:
            await self._tell_awaited(name, reward, signals)
        else:
            await asyncio.to_thread(self.tell, name, reward, signals)

    async def _tell_awaited(
        self, name: Mapping[str, str], reward: float | None, signals: Mapping[str, float]
    ) -> None:
        if signals and self.declared is None and self.may_look:
            with _reported(self.name, name):
                await self.look_awaited()
        signals = self._taken(signals)
        with _reported(self.name, name):
            if reward is not None:
                told = {"reward": reward, "signals": signals or None, "wait": False}
                await self._study.tell(**name, **told)
                return
            for signal, value in signals.items():
                await self._study.signal(**name, name=signal, value=value, wait=False)

    def _taken(self, signals: Mapping[str, float]) -> dict[str, float]:
        declared = self.declared or frozenset()
        return {name: value for name, value in signals.items() if name in declared}

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Have the event loop do it: this one's, or that of the last ask."""
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
            task = self._loop.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        try:
            if self._loop is None:
                raise RuntimeError("there is no event loop")
            asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError as error:
            work.close()
            _log.warning("a report to study %r is lost: %s", self.name, error)

    def flush(self) -> None:
        """Wait until what was told is sent, for the client's ``flush_s`` at most."""
        if not self.is_local:
            from imabo.client.study import flush_of

            with suppress(StoreClosed):
                flush_of(self._study)


@contextmanager
def _reported(study: str, name: Mapping[str, str]) -> Iterator[None]:
    """Say in the log what a study did not take; whoever plugged it in goes on."""
    try:
        yield
    except ImaboError as error:
        _log.warning("a report to study %r for %s is lost: %s", study, dict(name), error)
