"""How long PostgreSQL may take, and what is said when it does not answer in time.

The limit is on this side: a server that is stopped (SIGSTOP, a stuck disk, a host that is paused)
leaves its sockets open. No timeout of its own and none of TCP ends such a wait, so each wait has a
deadline here.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final, Literal

import psycopg

from imabo.errors import StoreError

DEFAULT_S: Final = 8.0  # a request that waits for one that failed is still answered within 10 s
FIRST_WORD_S: Final = 2.0  # what a server that was silent gets to show that it is back
_QUIET_S: Final = 0.5  # how long a silent server is left alone
# A statement by itself, a transaction that writes, one that sees a single moment.
Kind = Literal["single", "write", "snapshot"]
_LEVELS: Final = {
    "write": psycopg.IsolationLevel.READ_COMMITTED,
    "snapshot": psycopg.IsolationLevel.REPEATABLE_READ,
}
_NOTHING: Final[AbstractContextManager[None]] = nullcontext()


class NotAnswered(psycopg.OperationalError):
    """The server did not answer in time; what it was told may be done or not."""


class NotConnected(NotAnswered):
    """The server did not take a connection in time."""


class StillSilent(psycopg.OperationalError):
    """The server did not answer others a moment ago; it was told nothing."""


class AllInUse(psycopg.OperationalError):
    """No connection came free in time; the server was told nothing."""


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
    age: int = 0  # of the pool, when this one was made
    is_lost: bool = False  # when it came back to the pool
    _kind: Kind = "single"

    def begin_as(self, kind: Kind) -> None:
        """What the next statement begins; the connection was made for single ones."""
        if kind != self._kind:
            self.autocommit = kind == "single"
            if kind != "single":
                self.isolation_level = _LEVELS[kind]
            self._kind = kind

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
    coming: Future[LimitedConnection] = Future()

    def dial() -> None:
        try:
            made = LimitedConnection.connect(*args, **kwargs)
        except Exception as error:
            with suppress(InvalidStateError):  # nobody waits for it any more
                coming.set_exception(error)
            return
        try:
            coming.set_result(made)
        except InvalidStateError:
            made.close()

    try:
        threading.Thread(target=dial, name="imabo-connect", daemon=True).start()
    except RuntimeError:  # at the end of the interpreter there are no new threads
        dial()
    if not wait([coming], timeout=deadline.left_s).done and coming.cancel():
        raise NotConnected("no connection in time")
    made = coming.result()
    made.limit_s = limit_s
    return made


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


def said(error: psycopg.Error) -> str:
    """What PostgreSQL or its driver says, without the statement and its parameters."""
    return error.diag.message_primary or str(error).strip() or type(error).__name__


def unusable(error: psycopg.Error, where: str, *, limit_s: float, most: int) -> StoreError:
    """A database that did not say that it did what it was told.

    Nothing here says that something was not done: a statement that is sent again, after its first
    connection was lost, may have been done the first time.
    """
    if isinstance(error, NotConnected):
        return StoreError(
            f"{where} took no connection in time",
            "it may be frozen or out of reach",
            "send the same again in a second; check that the server runs",
        )
    if isinstance(error, NotAnswered):
        return StoreError(
            f"{where} did not answer within the limit of {limit_s:g} s",
            "whether what it was told is done is not known",
            "send the same again, which settles it for asks with a key and for rewards; check that "
            "the server runs and is not frozen or out of reach",
        )
    if isinstance(error, StillSilent):
        return StoreError(
            f"{where} did not answer a moment ago",
            "nothing was sent to it now",
            "send the same again in a second; check that the server runs and is not frozen or out "
            "of reach",
        )
    if isinstance(error, AllInUse):
        return StoreError(
            f"all {most} connections to {where} are in use",
            "none came free in time",
            "try again; use fewer threads at once, or open the store with more connections",
        )
    if isinstance(error, (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled)):
        return StoreError(
            f"{where} gave up within the limit of {limit_s:g} s",
            f"it said {said(error)!r} and undid what it was at",
            "try again; if another session holds the study for long, end that one "
            "(pg_stat_activity shows it), or open the store with a longer limit_s",
        )
    return StoreError(
        f"{where} could not be used",
        f"it said {said(error)!r}",
        "check that the server runs and is reached from here, that the user and the "
        "database of the URL exist, and that the user may make and write tables there",
    )


def lost_commit(error: psycopg.Error, where: str) -> StoreError:
    """A connection that ended while it committed."""
    return StoreError(
        f"{where} went away during a commit",
        f"it said {said(error)!r}, and whether the write was done is not known",
        "read the study again; asks with a key and rewards may be sent again",
    )
