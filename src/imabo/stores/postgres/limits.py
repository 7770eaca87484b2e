"""How long PostgreSQL may take: a limit on this side, because a frozen server keeps no other.

A server that is stopped (SIGSTOP, a stuck disk, a host that is paused) leaves its sockets open. No
timeout of its own and none of TCP ends such a wait, so each wait has a deadline here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import psycopg

DEFAULT_S: Final = 8.0  # a request that waits for one that failed is still answered within 10 s
FIRST_WORD_S: Final = 2.0  # what a server that was silent gets to show that it is back
_QUIET_S: Final = 0.5  # how long a silent server is left alone
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()


class NotAnswered(psycopg.OperationalError):
    """The server did not answer in time; what it was told may be done or not."""


class NotConnected(NotAnswered):
    """The server did not take a connection in time."""


class StillSilent(psycopg.OperationalError):
    """The server did not answer others a moment ago; it was told nothing."""


class Deadline:
    """When a verb must be over.

    Args:
        limit_s: From now on.
        is_alive: For what may take long: says at the end whether the server answers others, and
            then the time begins anew.
    """

    def __init__(self, limit_s: float, is_alive: Callable[[], bool] | None = None) -> None:
        self._limit_s = limit_s
        self._is_alive = is_alive
        self._ends_at = time.monotonic() + limit_s

    @property
    def left_s(self) -> float:
        """Seconds until then."""
        return max(self._ends_at - time.monotonic(), 0.0)

    def check(self) -> None:
        """Raise ``NotAnswered`` when it is over."""
        if time.monotonic() < self._ends_at:
            return
        if self._is_alive is None or not self._is_alive():
            raise NotAnswered(f"no answer within {self._limit_s:g} s")
        self._ends_at = time.monotonic() + self._limit_s


class _OfThread(threading.local):
    deadline: Deadline | None = None


_current: Final = _OfThread()


class limited:  # noqa: N801 - a block, not a thing; a class because it is on every verb's way
    """All that this thread waits for has one deadline; with None, each wait has one of its own."""

    __slots__ = ("_before", "_deadline")

    def __init__(self, deadline: Deadline | None) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        self._before, _current.deadline = _current.deadline, self._deadline

    def __exit__(self, *_: object) -> None:
        _current.deadline = self._before


def as_verb(limit_s: float) -> limited:
    """A verb with a deadline; within another verb, a part of that one."""
    return limited(_current.deadline or Deadline(limit_s))


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that waits for its server until the thread's deadline, and then is closed."""

    limit_s: float = DEFAULT_S  # where the thread has no deadline

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """See ``psycopg.Connection``: every statement comes through here."""
        deadline = _current.deadline or Deadline(self.limit_s)
        try:
            return super().wait(_until(gen, deadline), *args, **kwargs)
        except NotAnswered:
            # Nobody can tell what a later answer would belong to.
            self.close()
            raise


def _until(gen: Generator[Any, Any, Any], deadline: Deadline) -> Generator[Any, Any, Any]:
    """The steps of a generator of psycopg; between them it is woken several times a second."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            wanted = gen.send(ready)  # an answer that is here counts, however late
            deadline.check()
    except StopIteration as end:
        return end.value


def connect(limit_s: float, *args: Any, **kwargs: Any) -> LimitedConnection:
    """Connect before the thread's deadline.

    In a thread of its own: the driver's timeout is 2 s or more, counts for each address of a host
    anew, and not for finding these addresses.
    """
    deadline = _current.deadline or Deadline(limit_s)
    attempt = _Attempt(args, kwargs)
    try:
        attempt.start()
    except RuntimeError:  # at the end of the interpreter there are no new threads
        attempt.run()
    else:
        attempt.join(deadline.left_s)
    made = attempt.result()
    made.limit_s = limit_s
    return made


class _Attempt(threading.Thread):
    """Connects; what comes when nobody waits for it any more is closed."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__(name="imabo-connect", daemon=True)
        self._given = args, kwargs
        self._lock = threading.Lock()
        self._is_over = False
        self._made: LimitedConnection | None = None
        self._error: Exception | None = None

    def run(self) -> None:
        """See ``Thread``."""
        args, kwargs = self._given
        try:
            made = LimitedConnection.connect(*args, **kwargs)
        except Exception as error:
            self._error = error
            return
        with self._lock:
            if not self._is_over:
                self._made = made
                return
        made.close()

    def result(self) -> LimitedConnection:
        """What it has by now."""
        with self._lock:
            self._is_over = True
        if self._error is not None:
            raise self._error
        if self._made is None:
            raise NotConnected("no connection in time")
        return self._made


class Silence:
    """Remembers that the server did not answer, so that not everybody waits to find out again.

    For a moment nothing is sent to it. Then one thread at a time tries, with little patience.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Know nothing, as at the start and in the child of a fork."""
        self._again_at: float | None = None
        self._trying = threading.Lock()

    def begin(self) -> None:
        """The server did not answer."""
        self._again_at = time.monotonic() + _QUIET_S

    def first_word(self) -> AbstractContextManager[None]:
        """Around what makes sure of a connection to the server."""
        return _NOTHING if self._again_at is None else self._trial(self._again_at)

    @contextmanager
    def _trial(self, again_at: float) -> Iterator[None]:
        if time.monotonic() < again_at or not self._trying.acquire(blocking=False):
            raise StillSilent("it did not answer a moment ago")
        try:
            left_s = FIRST_WORD_S if _current.deadline is None else _current.deadline.left_s
            with limited(Deadline(min(left_s, FIRST_WORD_S))):
                yield
            self._again_at = None
        finally:
            self._trying.release()
