"""Which pull a request got: all its flags come from one, and its rewards go to that one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Final

from imabo.arms import Pull
from imabo.errors import ImaboError, InvalidSetting, KeyConflict
from imabo.integration import Source

MOST: Final = 10_000  # requests; the oldest are forgotten beyond that, and asked for again
FAILED_S: Final = 60.0  # that a request without a pull stays without one


class Entry:
    """The pull of one request, now or soon, or why there is none."""

    def __init__(self, *, is_awaited: bool, at: float) -> None:
        self.is_awaited = is_awaited
        self.at = at
        self.found: Pull | None = None
        self.outcome: Future[Pull | ImaboError | None] = Future()

    @property
    def has_failed(self) -> bool:
        """Whether the request has its flags' defaults."""
        return self.outcome.done() and isinstance(self.outcome.result(), ImaboError)


class Requests:
    """Remembers the last requests by study and key.

    A request that began with a pull goes on with it, and one that began with its flags' defaults
    goes on with those, even when the service comes back in between: a mixture of both would be
    nobody's configuration, and its reward would be another one's.

    Example:
        >>> requests = Requests()
        >>> entry, is_mine = requests.claim("support-answers", "request-1", is_awaited=False)
        >>> is_mine, requests.claim("support-answers", "request-1", is_awaited=False)[1]
        (True, False)
    """

    def __init__(self, most: int = MOST, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._entries: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        self._lock = threading.Lock()

    def pull(self, source: Source, key: str | None, context: object) -> Pull:
        """The pull of a request; without a key, one of its own."""
        if key is None:
            return source.ask(None, context)
        while True:
            entry, is_mine = self.claim(source.name, key, is_awaited=False)
            if is_mine:
                with self._settling(source.name, key, entry):
                    pull = source.ask(key, context)
                    entry.found = pull
                return pull
            if (found := _pull_of(entry.outcome.result())) is not None:
                return found

    async def pull_awaited(self, source: Source, key: str | None, context: object) -> Pull:
        """The same, without holding up the event loop."""
        if key is None:
            return await source.ask_awaited(None, context)
        while True:
            entry, is_mine = self.claim(source.name, key, is_awaited=True)
            if is_mine:
                with self._settling(source.name, key, entry):
                    pull = await source.ask_awaited(key, context)
                    entry.found = pull
                return pull
            # Shielded: who waits may be cancelled, and the others wait on.
            outcome = await asyncio.shield(asyncio.wrap_future(entry.outcome))
            if (found := _pull_of(outcome)) is not None:
                return found

    def claim(self, study: str, key: str, *, is_awaited: bool) -> tuple[Entry, bool]:
        """The entry of a request, and whether the caller is the one to settle it.

        Who waits must not wait for who awaits: both may be of one thread. It asks as well, and the
        key sees to it that both get the same pull.
        """
        with self._lock:
            entry = self._entries.get((study, key))
            if entry is not None and not self._is_over(entry):
                if entry.outcome.done() or entry.is_awaited == is_awaited:
                    self._entries.move_to_end((study, key))
                    return entry, False
                return Entry(is_awaited=is_awaited, at=self._clock()), True
            entry = Entry(is_awaited=is_awaited, at=self._clock())
            self._entries[study, key] = entry
            self._entries.move_to_end((study, key))
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
            return entry, True

    @contextmanager
    def _settling(self, study: str, key: str, entry: Entry) -> Iterator[None]:
        """Say what became of a request, whatever that is."""
        outcome: Pull | ImaboError | None = None
        try:
            yield
            outcome = entry.found
        except (InvalidSetting, KeyConflict):
            raise  # with another context or key it may go well
        except ImaboError as error:
            outcome = error
            raise
        finally:
            if outcome is None:
                with self._lock:
                    if self._entries.get((study, key)) is entry:
                        del self._entries[study, key]
            entry.outcome.set_result(outcome)

    def known(self, study: str, key: str) -> Entry | None:
        """The entry of a request; None when it is not remembered."""
        with self._lock:
            return self._entries.get((study, key))

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._entries.clear()

    def _is_over(self, entry: Entry) -> bool:
        return entry.has_failed and self._clock() - entry.at > FAILED_S


def _pull_of(outcome: Pull | ImaboError | None) -> Pull | None:
    """What the first of a request's callers found; None when it left before that."""
    if isinstance(outcome, ImaboError):
        raise outcome
    return outcome
