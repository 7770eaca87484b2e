"""The studies behind the routes: of a service, or of a database in this process."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final

from imabo.arms import Pull
from imabo.client import AsyncClient
from imabo.client.reports import Trouble
from imabo.client.study import AsyncRemoteStudy
from imabo.defaults import default_pull
from imabo.engine.requests import Asked as AskedPulls
from imabo.engine.requests import Request
from imabo.errors import ImaboError, InvalidSetting, Unavailable, UnknownPull, UnknownStudy
from imabo.gateway.mapping import Asked, check_route
from imabo.gateway.settings import GatewaySettings, Route
from imabo.space.scalars import show
from imabo.stores import open_store
from imabo.study import Study

_START_S: Final = 3.0  # to look at the studies before the first request
_CLIENT_S: Final = 5.0  # that one attempt to deliver a reward may take
_MOST: Final = 1000  # asks that go together
_AT_ONCE: Final = 3  # calls of a route to imabo
_PLAIN: Final = Asked(None, None)

_log: Final = logging.getLogger(__name__)


class Studies(ABC):
    """Asks and rewards for routes; an ask never fails and never takes longer than the deadline."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._names = list(dict.fromkeys(route.study for route in settings.routes.values()))
        self._trouble = Trouble()

    @abstractmethod
    async def start(self) -> None:
        """Open the studies, and refuse routes that do not fit them."""

    @abstractmethod
    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull of the route's study; the default's where none comes in time."""

    @abstractmethod
    async def tell(self, pull_id: str, reward: float) -> str:
        """Report a reward, and say whose it was: the study's name."""

    @abstractmethod
    def declared(self, study: str) -> frozenset[str]:
        """The names of the signals that a study declares."""

    @abstractmethod
    async def signal(self, study: str, pull_id: str, values: Mapping[str, float]) -> list[str]:
        """Tell those signals of a pull that its study declares; their names."""

    @abstractmethod
    async def close(self) -> None:
        """Send what waits, and let go."""

    def default(self, route: Route, asked: Asked, why: object = None) -> Pull:
        """The pull of the route's default; ``why`` is said in the log, once in a while."""
        if why is not None and self._trouble.add(1):
            _log.warning("route %r serves its default: %s", route.name, why)
        return default_pull(dict(route.default), asked.context, key=asked.key)

    def _check(self, name: str, space: Any) -> None:
        for route in self._settings.routes.values():
            if route.study == name:
                check_route(route, space, self._settings)

    def _unknown(self, name: str, error: UnknownStudy) -> InvalidSetting:
        routes = [one.name for one in self._settings.routes.values() if one.study == name]
        what = f"routes.{routes[0]}.study is {show(name)}"
        return InvalidSetting(what, error.what, "create it first: imabo create FILE")

    async def _tell_each(
        self, pull_id: str, tell: Callable[[str], Awaitable[None]], first: str | None
    ) -> str:
        """Find the study of a pull: only one of them takes it."""
        names = sorted(self._names, key=lambda name: name != first)
        for name in names:
            with suppress(UnknownPull):
                await tell(name)
                return name
        raise UnknownPull(
            f"no pull has the id {show(pull_id)}",
            "no study of this gateway handed it out, or it was pruned",
            "pass the id of a completion that came through this gateway",
        )


class RemoteStudies(Studies):
    """Studies of a service, by way of the client: its deadline, its breaker, its outbox."""

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__(settings)
        self._client = AsyncClient(
            settings.url or "",
            key=settings.key,
            timeout_s=_CLIENT_S,
            outbox=settings.outbox,
            handle_sigterm=False,  # the server has a graceful end of its own
        )
        self._studies: dict[str, AsyncRemoteStudy] = {}
        self._gatherers: dict[str, Gatherer] = {}
        self._tokens: dict[str, str] = {}
        self._declared: dict[str, frozenset[str]] = {}

    async def start(self) -> None:
        """Open the studies; a service that is away is no reason not to start."""
        for name in self._names:
            try:
                async with asyncio.timeout(_START_S):
                    study = await self._client.open(name)
                    facts = await study.facts()
                self._check(name, facts.space)
                self._declared[name] = signals_of(facts.document)
            except UnknownStudy as error:
                raise self._unknown(name, error) from None
            except (Unavailable, TimeoutError) as error:
                study = self._client.study(name)
                words = f"study {name!r} cannot be looked at, so its routes are not checked"
                _log.warning("%s: %s", words, error or f"no answer within {_START_S:g} s")
            self._studies[name] = study
        for route in self._settings.routes.values():
            self._gatherers[route.name] = Gatherer(self._plain(route), _AT_ONCE)

    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull, or the default."""
        try:
            if asked == _PLAIN:
                wait = self._gatherers[route.name].ask(asked, self._settings.deadline_s)
                pull = await wait or self.default(route, asked, "imabo did not answer in time")
            else:
                pull = await self._studies[route.study].ask(
                    key=asked.key,
                    context=asked.context,
                    default=dict(route.default),
                    deadline_s=self._settings.deadline_s,
                )
        except Exception as error:  # whatever it was, the application goes on
            return self.default(route, asked, error)
        if pull.arm:
            self._tokens[pull.id.rpartition("-")[0]] = route.study
        return pull

    def _plain(self, route: Route) -> Callable[[Sequence[Asked]], Awaitable[Sequence[Pull]]]:
        async def ask(requests: Sequence[Asked]) -> list[Pull]:
            return await self._studies[route.study].ask(
                len(requests),
                default=dict(route.default),
                deadline_s=self._settings.deadline_s,
            )

        return ask

    async def tell(self, pull_id: str, reward: float) -> str:
        """Report a reward."""

        async def one(name: str) -> None:
            await self._studies[name].tell(pull_id, reward)

        first = self._tokens.get(pull_id.rpartition("-")[0])
        return await self._tell_each(pull_id, one, first)

    def declared(self, study: str) -> frozenset[str]:
        """The names of its signals, as they were at the start."""
        return self._declared.get(study, frozenset())

    async def signal(self, study: str, pull_id: str, values: Mapping[str, float]) -> list[str]:
        """Tell what the study declares."""
        remote: Any = self._studies[study]
        told = [name for name in values if name in self.declared(study)]
        for name in told:
            await remote.signal(pull_id, name, values[name])
        return told

    async def close(self) -> None:
        """Let go."""
        await self._client.close()


class OwnStudies(Studies):
    """Studies of a database, decided in this process, in a thread a study."""

    def __init__(self, settings: GatewaySettings) -> None:
        super().__init__(settings)
        self._threads = {name: ThreadPoolExecutor(1, "imabo-study") for name in self._names}
        self._studies: dict[str, Study] = {}
        self._gatherers: dict[str, Gatherer] = {}

    async def start(self) -> None:
        """Open the studies."""
        self._store = await asyncio.to_thread(open_store, self._settings.store)
        for name in self._names:
            try:
                study = await self._in_thread(name, partial(Study.open, name, store=self._store))
            except UnknownStudy as error:
                raise self._unknown(name, error) from None
            self._studies[name] = study
            self._check(name, study.space)
            self._gatherers[name] = Gatherer(self._asking(name))

    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull, or the default."""
        try:
            pull = await self._gatherers[route.study].ask(asked, self._settings.deadline_s)
        except Exception as error:  # whatever it was, the application goes on
            return self.default(route, asked, error)
        return pull or self.default(route, asked, "the study did not answer in time")

    def _asking(self, name: str) -> Callable[[Sequence[Asked]], Awaitable[Sequence[Pull]]]:
        def decide(requests: Sequence[Asked]) -> list[Pull | ImaboError]:
            study = self._studies[name]
            wanted = [Request(1, one.key, one.context) for one in requests]
            try:
                answers = study.ask_many(wanted)
            except ImaboError:
                if len(wanted) == 1:
                    raise
                # One of them cannot be asked; it must not harm the others.
                return [_one(study, request) for request in wanted]
            return [one.pulls[0] if isinstance(one, AskedPulls) else one for one in answers]

        async def ask(requests: Sequence[Asked]) -> Sequence[Any]:
            pulls: list[Pull | ImaboError] = await self._in_thread(name, partial(decide, requests))
            return pulls

        return ask

    async def tell(self, pull_id: str, reward: float) -> str:
        """Report a reward."""

        async def one(name: str) -> None:
            await self._in_thread(name, lambda: self._studies[name].tell(pull_id, reward))

        return await self._tell_each(pull_id, one, None)

    def declared(self, study: str) -> frozenset[str]:
        """The names of its signals."""
        return signals_of({"signals": getattr(self._studies[study], "signals", None)})

    async def signal(self, study: str, pull_id: str, values: Mapping[str, float]) -> list[str]:
        """Tell what the study declares."""
        own: Any = self._studies[study]
        told = [name for name in values if name in self.declared(study)]
        for name in told:
            await self._in_thread(study, partial(own.signal, pull_id, name, values[name]))
        return told

    async def close(self) -> None:
        """Let go."""
        for thread in self._threads.values():
            await asyncio.to_thread(thread.shutdown)
        for study in self._studies.values():
            study.close()
        if hasattr(self, "_store"):
            self._store.close()

    async def _in_thread(self, name: str, do: Callable[[], Any]) -> Any:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads[name], do)


class Gatherer:
    """Asks that come while others are under way are asked together, when one is answered.

    Args:
        ask: Gives a pull, or an error, for each of several requests.
        at_once: How many such calls may be under way. More make less wait when there is little to
            do, and save less when there is much.
    """

    def __init__(
        self, ask: Callable[[Sequence[Asked]], Awaitable[Sequence[Any]]], at_once: int = 1
    ) -> None:
        self._ask = ask
        self._at_once = at_once
        self._waiting: list[tuple[Asked, asyncio.Future[Pull | None]]] = []
        self._turns: set[asyncio.Task[None]] = set()

    async def ask(self, asked: Asked, deadline_s: float) -> Pull | None:
        """The pull of one request; None when it did not come in time."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Pull | None] = loop.create_future()
        self._waiting.append((asked, future))
        if len(self._turns) < self._at_once:
            self._start()
        timer = loop.call_later(deadline_s, _settle, future, None)
        try:
            return await future
        finally:
            timer.cancel()

    def _start(self) -> None:
        turn = asyncio.get_running_loop().create_task(self._take_turns())
        self._turns.add(turn)
        turn.add_done_callback(self._ended)

    def _ended(self, turn: asyncio.Task[None]) -> None:
        self._turns.discard(turn)
        if self._waiting and not self._turns:  # one came in the turn's last moment
            self._start()

    async def _take_turns(self) -> None:
        while self._waiting:
            # Who is gone by now needs no pull.
            live = [one for one in self._waiting if not one[1].done()]
            batch, self._waiting = live[:_MOST], live[_MOST:]
            if not batch:
                continue
            try:
                answers = await self._ask([asked for asked, _ in batch])
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                _settle(future, answer)


def _settle(future: asyncio.Future[Pull | None], answer: Pull | Exception | None) -> None:
    if future.done():
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


def _one(study: Study, request: Request) -> Pull | ImaboError:
    try:
        return study.ask(key=request.key, context=request.context)
    except ImaboError as error:
        return error


def signals_of(document: Mapping[str, Any]) -> frozenset[str]:
    """The names of the signals that a study declares; none where it declares none."""
    declared = document.get("signals")
    return frozenset(declared) if isinstance(declared, Mapping) else frozenset()


def studies_of(settings: GatewaySettings) -> Studies:
    """The studies at the place that the file names."""
    return OwnStudies(settings) if settings.url is None else RemoteStudies(settings)
