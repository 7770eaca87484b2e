"""Whether requests can be served: the database answers, and takes what is written."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Final

from imabo.server.logs import log
from imabo.server.problems import Refusal, unavailable
from imabo.server.registry import Registry

_GOOD_FOR_S: Final = 5.0  # that a write which was done says that writes work
_BAD_FOR_S: Final = 0.5  # that one which failed says that they do not
_PATIENCE_S: Final = 2.0  # for a probe; who asks whether the service is ready has not much more


class Readiness:
    """Finds out whether the database takes writes, in a thread of its own and rarely.

    A request that was committed a moment ago is the proof. Where there was none, something is
    written that means nothing (``Store.probe``). However many ask, one probe runs at a time; while
    one does not come back, the answer is no.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._finished: asyncio.Event | None = None
        self._checked_at = -1e9
        self._began_at = 0.0
        self._problem: str | None = None

    async def check(self) -> Refusal | None:
        """Why requests cannot be served now, None when they can."""
        registry, now = self._registry, time.monotonic()
        is_doubtful = registry.is_away or self._problem is not None
        wrote_at, failed_at = registry.wrote_at, registry.failed_at
        if not is_doubtful and wrote_at > failed_at and now - wrote_at < _GOOD_FOR_S:
            return None
        is_doubtful = is_doubtful or failed_at > self._checked_at
        age = now - self._checked_at
        if self._finished is None and age >= (_BAD_FOR_S if is_doubtful else _GOOD_FOR_S):
            self._begin()
        if self._finished is not None:
            left_s = self._began_at + _PATIENCE_S - time.monotonic()
            try:
                await asyncio.wait_for(self._finished.wait(), max(0.0, left_s))
            except TimeoutError:
                waited = time.monotonic() - self._began_at
                return _not_ready(f"a write was not answered within {waited:.0f} s")
        return None if self._problem is None else _not_ready(self._problem)

    def _begin(self) -> None:
        self._began_at = time.monotonic()
        finished = self._finished = asyncio.Event()
        loop = asyncio.get_running_loop()

        def probe() -> None:
            problem = self._probe()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._end, finished, problem)

        threading.Thread(target=probe, name="imabo-probe", daemon=True).start()

    def _probe(self) -> str | None:
        store = self._registry.store
        try:
            store.seqs()
        except Exception as error:  # whatever a driver raises, the database is away
            self._registry.lost(error)
            return "the database does not answer"
        self._registry.found()
        try:
            store.probe()
        except Exception as error:
            if self._problem is None:
                log.warning("the database takes no writes: %s", error)
            return "the database answers but takes no writes"
        return None

    def _end(self, finished: asyncio.Event, problem: str | None) -> None:
        self._problem, self._checked_at, self._finished = problem, time.monotonic(), None
        finished.set()


def _not_ready(what: str) -> Refusal:
    return unavailable(what, "requests would not be served; the service's log says more")
