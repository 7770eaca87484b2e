"""The group commit: what waits for a study is one transaction, and no study waits for another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Final, cast

from imabo.engine.requests import Asked, Request, Reward
from imabo.errors import ImaboError, StoreError, UnknownStudy
from imabo.server.logs import log
from imabo.server.problems import internal, stopping, unavailable, unknown_study
from imabo.server.registry import Registry

_MAX_ROUND: Final = 1000  # pulls and rewards that one round takes on, so that none waits for long


@dataclass(frozen=True, slots=True, eq=False)
class _Item:
    what: Request | Sequence[tuple[str, float] | Reward]  # an ask, or rewards
    size: int
    answer: asyncio.Future[Any]


_Done = list[tuple["asyncio.Future[Any]", Any]]


class Commits:
    """Takes asks and rewards from the event loop and commits them in groups.

    While a study's transaction waits for the disk, its requests queue up; the next round takes all
    that is there, in one transaction. So the disk flush of one commit serves many requests. Each
    study has a lane of its own (``Lanes``): what holds up one study holds up no other.

    Of more than ``limit`` requests that wait, or ``study_limit`` for one study, the rest is refused
    as ``unavailable``.
    """

    def __init__(
        self, registry: Registry, *, limit: int = 10_000, study_limit: int | None = None
    ) -> None:
        self._registry = registry
        self._limit = limit
        self._study_limit = limit if study_limit is None else study_limit
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Item]] = {}  # of the studies that wait for a round
        # Counted in the event loop alone, from the request to its answer.
        self.n_waiting = 0
        self.waiting: dict[str, int] = {}
        self.refused: dict[str, int] = {}
        self.sizes: Counter[int] = Counter()  # how many requests shared a commit

    def start(self) -> None:
        """Begin to take requests; call it in the event loop that they run in."""
        self._loop = asyncio.get_running_loop()

    async def drain(self, timeout_s: float) -> bool:
        """Take no more, and answer what was taken; False when the time was not enough."""
        self.is_closed = True
        until = time.monotonic() + timeout_s
        while self.n_waiting and time.monotonic() < until:
            await asyncio.sleep(0.01)  # the loop must go on, to hand out the answers
        return not self.n_waiting

    def ask(self, study: str, request: Request) -> asyncio.Future[Asked]:
        """Ask a study for pulls; the future has them once they are committed."""
        return self._put(study, request, request.count)

    def tell(
        self, study: str, rewards: Sequence[tuple[str, float] | Reward]
    ) -> asyncio.Future[list[ImaboError | None]]:
        """Report rewards of a study's pulls; the future says of each what was wrong with it."""
        return self._put(study, rewards, len(rewards))

    def _put(self, study: str, what: Any, size: int) -> asyncio.Future[Any]:
        if self.is_closed or self._loop is None:
            raise stopping()
        if self._registry.is_away:
            raise unavailable()
        n_waiting = self.waiting.get(study, 0)
        if n_waiting >= self._study_limit:
            self.refused[study] = self.refused.get(study, 0) + 1
            raise unavailable("more requests for this study wait than the service takes on")
        if self.n_waiting >= self._limit:
            raise unavailable("more requests wait than the service takes on")
        self.waiting[study] = n_waiting + 1
        self.n_waiting += 1
        answer: asyncio.Future[Any] = self._loop.create_future()
        item = _Item(what, size, answer)
        with self._lock:
            queue = self._queues.get(study)
            if queue is not None:
                queue.append(item)  # the round that takes it is due already
                return answer
            self._queues[study] = deque((item,))
        self._registry.lanes.put(study, partial(self._round, study))
        return answer

    # --- in a thread of the study's lane ----------------------------------------------------------

    def _round(self, name: str) -> None:
        asks, tells, has_more = self._take(name)
        # Rewards first: the decisions that follow rest on them.
        if tells:
            self._hand_out(name, self._tell_all(name, tells))
        if asks:
            self._hand_out(name, self._ask_all(name, asks))
        if has_more:
            self._registry.lanes.put(name, partial(self._round, name))

    def _take(self, name: str) -> tuple[list[_Item], list[_Item], bool]:
        """What waits for a study, up to the size of a round; and whether there is more."""
        asks: list[_Item] = []
        tells: list[_Item] = []
        size = 0
        with self._lock:
            queue = self._queues[name]
            while queue and size < _MAX_ROUND:
                item = queue.popleft()
                size += item.size
                (asks if isinstance(item.what, Request) else tells).append(item)
            if not queue:
                del self._queues[name]
            return asks, tells, bool(queue)

    def _ask_all(self, name: str, items: list[_Item]) -> _Done:
        try:
            study = self._registry.study(name)
            results = study.ask_many([cast(Request, item.what) for item in items])
        except Exception as error:
            is_ours = isinstance(error, ImaboError) and not isinstance(error, StoreError)
            if is_ours and len(items) > 1 and not isinstance(error, UnknownStudy):
                # What refuses the group may concern one of them: a known key is still answered.
                return [done for item in items for done in self._ask_all(name, [item])]
            return self._failed(name, items, error)
        self._registry.moved(study)
        return [(item.answer, result) for item, result in zip(items, results, strict=True)]

    def _tell_all(self, name: str, items: list[_Item]) -> _Done:
        try:
            study = self._registry.study(name)
            rewards = [cast("Sequence[tuple[str, float] | Reward]", item.what) for item in items]
            results = iter(study.tell_many(list(chain.from_iterable(rewards))))
        except Exception as error:
            return self._failed(name, items, error)
        self._registry.moved(study)
        return [(item.answer, list(islice(results, item.size))) for item in items]

    def _failed(self, name: str, items: list[_Item], error: Exception) -> _Done:
        if isinstance(error, UnknownStudy):
            self._registry.drop(name)  # deleted by another process
            error = unknown_study(name)
        elif isinstance(error, StoreError):
            self._registry.failed_at = time.monotonic()
        elif not isinstance(error, ImaboError):
            log.error("a commit failed", exc_info=error)
            error = internal()
        return [(item.answer, error) for item in items]

    def _hand_out(self, name: str, done: _Done) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._resolve, name, done)

    def _resolve(self, name: str, done: _Done) -> None:
        self.sizes[len(done)] += 1
        self.n_waiting -= len(done)
        left = self.waiting[name] - len(done)
        if left:
            self.waiting[name] = left
        else:
            del self.waiting[name]
        for future, result in done:
            if future.done():
                continue
            if isinstance(result, ImaboError):
                future.set_exception(result)
            else:
                future.set_result(result)
