"""The group commit: one thread writes for all requests, a transaction a study and round."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final

from imabo.engine.requests import Request
from imabo.errors import ImaboError, StoreError, UnknownStudy
from imabo.server.histogram import Histogram
from imabo.server.office import Office
from imabo.server.problems import internal, unavailable, unknown_study
from imabo.study import Asked

_log: Final = logging.getLogger("imabo.server")

_MAX_ROUND: Final = 1000  # pulls and rewards that one round takes on, so that none waits for long
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, slots=True, eq=False)
class _Ask:
    study: str
    request: Request
    answer: asyncio.Future[Any]

    @property
    def size(self) -> int:
        return self.request.count


@dataclass(frozen=True, slots=True, eq=False)
class _Tell:
    study: str
    rewards: Sequence[tuple[str, float]]
    answer: asyncio.Future[Any]

    @property
    def size(self) -> int:
        return len(self.rewards)


_Done = list[tuple["asyncio.Future[Any]", Any]]


class Commits:
    """Takes asks and rewards from the event loop and commits them in groups.

    While the thread waits for the disk, requests queue up; it then takes all that is there, and
    each study's share is one transaction. So the disk flush of one commit serves many requests.

    Args:
        office: The studies.
        limit: How many requests may wait; more are refused as ``unavailable``.
    """

    def __init__(self, office: Office, *, limit: int = 10_000) -> None:
        self._office = office
        self._limit = limit
        self._queue: SimpleQueue[_Ask | _Tell | None] = SimpleQueue()
        self.is_closed = False
        self._thread = threading.Thread(target=self._work, name="imabo-commits", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.n_waiting = 0
        self.sizes = Histogram(_SIZES)

    def start(self) -> None:
        """Start the thread; call it in the event loop that the requests run in."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()

    async def drain(self, timeout_s: float) -> bool:
        """Take no more, commit what was taken, and stop; False when the time was not enough."""
        self.is_closed = True
        self._queue.put(None)
        until = time.monotonic() + timeout_s
        while self._thread.is_alive() and time.monotonic() < until:
            await asyncio.sleep(0.01)  # the loop must go on, to hand out the answers
        return not self._thread.is_alive()

    def ask(self, study: str, request: Request) -> asyncio.Future[Asked]:
        """Ask a study for pulls; the future has them once they are committed."""
        answer = self._future()
        self._queue.put(_Ask(study, request, answer))
        return answer

    def tell(
        self, study: str, rewards: Sequence[tuple[str, float]]
    ) -> asyncio.Future[list[ImaboError | None]]:
        """Report rewards of a study's pulls; the future says of each what was wrong with it."""
        answer = self._future()
        self._queue.put(_Tell(study, rewards, answer))
        return answer

    def _future(self) -> asyncio.Future[Any]:
        if self.is_closed or self._loop is None:
            raise unavailable("the service is stopping")
        if self._office.is_away:
            raise unavailable()
        if self.n_waiting >= self._limit:
            raise unavailable("more requests wait than the service takes on")
        self.n_waiting += 1
        return self._loop.create_future()

    # --- the thread -----------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            first = self._queue.get()
            asks: dict[str, list[_Ask]] = {}
            tells: dict[str, list[_Tell]] = {}
            size, item = 0, first
            while item is not None:
                if isinstance(item, _Ask):
                    asks.setdefault(item.study, []).append(item)
                else:
                    tells.setdefault(item.study, []).append(item)
                size += item.size
                if size >= _MAX_ROUND:
                    break
                try:
                    item = self._queue.get_nowait()
                except Empty:
                    break
            if size:
                # Rewards first: the decisions that follow rest on them.
                for name, told in tells.items():
                    self._hand_out(self._tell_all(name, told))
                for name, asked in asks.items():
                    self._hand_out(self._ask_all(name, asked))
            if item is None:
                return

    def _ask_all(self, name: str, items: list[_Ask]) -> _Done:
        try:
            study = self._office.study(name)
            results = study.ask_many([item.request for item in items])
        except Exception as error:
            is_ours = isinstance(error, ImaboError) and not isinstance(error, StoreError)
            if is_ours and len(items) > 1 and not isinstance(error, UnknownStudy):
                # What refuses the group may concern one of them: a known key is still answered.
                return [done for item in items for done in self._ask_all(name, [item])]
            return self._failed(name, items, error)
        self._office.moved(study)
        return [(item.answer, result) for item, result in zip(items, results, strict=True)]

    def _tell_all(self, name: str, items: list[_Tell]) -> _Done:
        try:
            study = self._office.study(name)
            results = study.tell_many([reward for item in items for reward in item.rewards])
        except Exception as error:
            return self._failed(name, items, error)
        self._office.moved(study)
        done: _Done = []
        start = 0
        for item in items:
            done.append((item.answer, results[start : start + item.size]))
            start += item.size
        return done

    def _failed(self, name: str, items: Sequence[_Ask | _Tell], error: Exception) -> _Done:
        if isinstance(error, UnknownStudy):
            self._office.drop(name)  # deleted by another process
            error = unknown_study(name)
        elif not isinstance(error, ImaboError):
            _log.error("a commit failed", exc_info=error)
            error = internal()
        return [(item.answer, error) for item in items]

    def _hand_out(self, done: _Done) -> None:
        self.sizes.observe(len(done))
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._resolve, done)

    def _resolve(self, done: _Done) -> None:
        self.n_waiting -= len(done)
        for future, result in done:
            if future.done():
                continue
            if isinstance(result, ImaboError):
                future.set_exception(result)
            else:
                future.set_result(result)
