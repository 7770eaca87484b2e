"""What the gateway wants of studies, wherever they are: asks, rewards and signals.

``remote.py`` has those of a service, ``own.py`` those of a database in this process, and
``mounted.py`` those of the service that the gateway is mounted in.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from imabo.arms import Pull
from imabo.client.reports import Trouble
from imabo.defaults import default_pull
from imabo.engine.requests import Reward
from imabo.errors import ImaboError, InvalidSetting, UnknownPull, UnknownStudy
from imabo.gateway.mapping import Asked, check_on_error, check_route, doubts_of
from imabo.gateway.settings import GatewaySettings, Route
from imabo.objective import Objective
from imabo.space import Space
from imabo.space.scalars import show

_MOST: Final = 1000  # asks, or reports of signals, that go together
_SIGNALS_S: Final = 0.05  # that a signal may wait for others to go with
_LAST_S: Final = 5.0  # at the end, for signals that are not told yet

_log: Final = logging.getLogger(__name__)


class Declared(NamedTuple):
    """What a study declares that the gateway goes by."""

    signals: frozenset[str] = frozenset()
    reward_range: tuple[float, float] | None = None

    @property
    def lowest(self) -> float | None:
        """The lowest reward; None where rewards have no ends."""
        return None if self.reward_range is None else self.reward_range[0]


class Studies(ABC):
    """Asks and rewards for routes; an ask never fails and never takes longer than the deadline."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._names = list(dict.fromkeys(route.study for route in settings.routes.values()))
        self.doubts: list[str] = []  # what was found when routes and studies were compared
        self._trouble, self._untold = Trouble(), Trouble()
        self._noted: dict[str, dict[str, Reward]] = {}  # study -> pull -> what to tell of it
        self._telling: dict[str, asyncio.Task[None]] = {}

    @abstractmethod
    async def start(self) -> None:
        """Open the studies, and refuse routes that do not fit them."""

    @abstractmethod
    async def ask(self, route: Route, asked: Asked) -> Pull:
        """A pull of the route's study; the default's where none comes in time."""

    @abstractmethod
    async def study_of(self, pull_id: str) -> str | None:
        """The study of a pull; None where that cannot be known now. ``UnknownPull`` of no study."""

    @abstractmethod
    async def require(self, study: str, pull_id: str) -> None:
        """Raise ``UnknownPull`` where a study has no such pull."""

    @abstractmethod
    async def tell(self, study: str | None, told: Reward) -> None:
        """Report a reward and signals of a pull, all of it or nothing."""

    @abstractmethod
    def declared(self, study: str) -> Declared:
        """What a study declares, as far as it is known without a call."""

    @abstractmethod
    async def report(self, study: str, reports: list[Reward]) -> Sequence[ImaboError | None]:
        """Report rewards and signals of a study's pulls; of each None, or what was wrong."""

    @abstractmethod
    async def close(self) -> None:
        """Send what waits, and let go."""

    def default(self, route: Route, asked: Asked, why: object = None) -> Pull:
        """The pull of the route's default; ``why`` is said in the log, once in a while."""
        if why is not None and self._trouble.add(1):
            _log.warning("route %r serves its default: %s", route.name, why)
        return default_pull(dict(route.default), asked.context, key=asked.key)

    # --- signals --------------------------------------------------------------------------------

    def note(
        self, study: str, pull_id: str, values: Mapping[str, float], reward: float | None = None
    ) -> None:
        """Tell them, and perhaps a reward, beside the requests, those of many pulls together."""
        declared = self.declared(study).signals
        told = {name: value for name, value in values.items() if name in declared}
        if not told and reward is None:
            return
        noted = Reward(reward, pull_id, signals=told or None)
        # A pull whose request was sent again has been measured: the first counts.
        self._noted.setdefault(study, {}).setdefault(pull_id, noted)
        if study not in self._telling:
            task = asyncio.get_running_loop().create_task(self._tell_noted(study))
            self._telling[study] = task

    async def _tell_noted(self, study: str) -> None:
        try:
            while noted := self._noted.get(study):
                await asyncio.sleep(_SIGNALS_S)
                batch = dict(list(noted.items())[:_MOST])
                for pull_id in batch:
                    del noted[pull_id]
                refused: list[Exception]
                try:
                    reports = list(batch.values())
                    refused = [one for one in await self.report(study, reports) if one is not None]
                except Exception as error:  # a measurement that is lost harms nobody
                    refused = [error] * len(batch)
                if refused and (n_lost := self._untold.add(len(refused))):
                    words = "what was measured of %d pulls of study %r was not told: %s"
                    _log.warning(words, n_lost, study, refused[-1])
        finally:
            del self._telling[study]

    async def finish(self) -> None:
        """Wait for the signals that are not told yet, a moment."""
        if self._telling:
            await asyncio.wait(self._telling.values(), timeout=_LAST_S)
        for task in list(self._telling.values()):
            task.cancel()

    # --- for those who make one -----------------------------------------------------------------

    def _check(
        self, name: str, space: Space, declared: Declared, objective: Objective | None
    ) -> None:
        """Refuse routes that do not fit a study, and say which budgets cannot be kept."""
        for route in self._settings.routes.values():
            if route.study == name:
                check_route(route, space, self._settings)
                check_on_error(route, declared.reward_range)
                for doubt in doubts_of(route, space, objective, self._settings):
                    if doubt not in self.doubts:
                        self.doubts.append(doubt)
                        _log.warning("%s", doubt)

    def _unknown(self, name: str, error: UnknownStudy) -> InvalidSetting:
        routes = [one.name for one in self._settings.routes.values() if one.study == name]
        what = f"routes.{routes[0]}.study is {show(name)}"
        return InvalidSetting(what, error.what, "create it first: imabo create FILE")


def unknown_pull(pull_id: str) -> UnknownPull:
    """The error of an id that no study of the gateway knows."""
    return UnknownPull(
        f"no pull has the id {show(pull_id)}",
        "no study of this gateway handed it out, or it was pruned",
        "pass the id of a completion that came through this gateway",
    )


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
