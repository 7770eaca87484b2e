"""The connections that a process has to PostgreSQL: how long each may take, and a pool of them.

The limit is on this side: a server that is stopped (SIGSTOP, a stuck disk, a host that is paused)
leaves its sockets open. No timeout of its own and none of TCP ends such a wait, so each wait has a
deadline here.

The pool is our own: psycopg's makes connections in threads of its own, which the child of a fork
does not have, and says of a server that refuses them only that none came in time.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, Final, Literal

import psycopg
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.types.numeric import Int8Dumper

from imabo.stores.postgres.failures import AllInUse, NotAnswered, NotConnected, StillSilent

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
# Nobody waits for ever: not for a server that does not answer (``limits``), nor for a host that is
# gone, nor for a study that another process holds.
_CONNECT: Final = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "client_encoding": "utf8",
    "application_name": "imabo",
}
_SETTINGS: Final = {
    "extra_float_digits": "3",
    "lock_timeout": "'60s'",  # for what takes long; verbs have less
    "idle_in_transaction_session_timeout": "'120s'",
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
}
# Every statement is written so that an index finds its rows and a hash joins them to arrays. A
# plan that was made for a small table, or from old statistics, must not be another one.
_PLANNING: Final = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_sort": "off",
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# Shares of the limit, in order: a study that is held, or a pool that is empty, is found out before
# the limit says that the server is gone.
_POOL_SHARE: Final = 0.15
_LOCK_SHARE: Final = 0.7
_STATEMENT_SHARE: Final = 0.8
MOST: Final = 32  # connections at once; others wait for one of them
_KEPT: Final = 16  # of these, how many stay open when nobody uses them


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


class _ListDumper(Dumper):
    """A list as an array's text, which takes a fraction of the time that the driver's own takes."""

    def dump(self, obj: list[Any]) -> bytes:
        return array_of(obj).encode()


def array_of(values: list[Any]) -> str:
    r"""Numbers or texts as PostgreSQL reads an array of them.

    Example:
        >>> print(array_of([1, 0.25, None]), array_of(['say "a"', None]))
        {1, 0.25, null} {"say \"a\"",null}
    """
    if any(isinstance(value, str) for value in values):
        return f"{{{','.join('null' if text is None else _quoted(text) for text in values)}}}"
    return f"{{{json.dumps(values)[1:-1]}}}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_ADAPTERS: Final = AdaptersMap(psycopg.adapters)
_ADAPTERS.register_dumper(list, _ListDumper)
_ADAPTERS.register_dumper(int, Int8Dumper)  # one type for all, lest a statement be prepared thrice


class Pool:
    """Open connections, and new ones when they are needed.

    Args:
        options: What the driver is told of the database.
        limit_s: How long a verb may take, above 0.
        most: Connections at once, at least 1.
    """

    def __init__(self, options: Mapping[str, Any], *, limit_s: float, most: int) -> None:
        timeouts = {
            "lock_timeout": f"{max(round(1000 * _LOCK_SHARE * limit_s), 1)}",
            "statement_timeout": f"{max(round(1000 * _STATEMENT_SHARE * limit_s), 1)}",
        }
        self._options = {**_CONNECT, **options}
        self._settings = _SETTINGS | _PLANNING | timeouts
        self._limit_s = limit_s
        self._most = most
        self.is_closed = False
        self.silence = Silence()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Have no connections, as at the start and in the child of a fork."""
        self._free = threading.Semaphore(self._most)
        self._lock = threading.Lock()
        self._idle: list[LimitedConnection] = []  # the last one is used first
        self._open: set[LimitedConnection] = set()
        self._age = 0  # of connections; those that are older than a lost one are not used again

    def take(self) -> LimitedConnection:
        """A connection of the pool: one that is open, or else a new one."""
        with self.silence.first_word():
            if not self._free.acquire(timeout=_POOL_SHARE * self._limit_s):
                raise AllInUse("all connections are in use")
            try:
                with self._lock:
                    if self._idle:
                        return self._idle.pop()
                return self._dial(self._settings)
            except BaseException:
                self._free.release()
                raise

    def give(self, db: LimitedConnection) -> None:
        """Take a connection back; what was not committed is undone."""
        try:
            db.is_lost = db.closed
            with limited(Deadline(self._limit_s)):  # the verb's own may be over
                if not db.closed:
                    with suppress(psycopg.Error):
                        db.rollback()
                with self._lock:
                    if db.closed:
                        self._age += db.age == self._age
                        gone, self._idle = [db, *self._idle], []
                    elif self.is_closed or db.age != self._age or len(self._idle) >= _KEPT:
                        gone = [db]
                    else:
                        gone = []
                        self._idle.append(db)
                for old in gone:
                    self.hang_up(old)
        finally:
            self._free.release()

    def _dial(self, settings: Mapping[str, str]) -> LimitedConnection:
        age = self._age
        db = connect(self._limit_s, context=_ADAPTERS, autocommit=True, **self._options)
        self._open.add(db)
        try:
            db.execute(";".join(f"SET {key} = {value}" for key, value in settings.items()).encode())
        except BaseException:
            self.hang_up(db)
            raise
        db.age = age
        return db

    def dial_apart(self) -> LimitedConnection:
        """A connection for what takes long or lasts; it is no part of the pool."""
        return self._dial(_SETTINGS)

    def hang_up(self, db: LimitedConnection) -> None:
        """End a connection."""
        self._open.discard(db)
        db.close()

    def answers(self) -> bool:
        """Whether the server takes a connection, soon."""
        try:
            with limited(Deadline(FIRST_WORD_S)):
                connect(FIRST_WORD_S, **self._options).close()
        except psycopg.Error:
            return False
        return True

    def close(self) -> None:
        """Close what is not in use; the rest closes when its user is done."""
        self.is_closed = True
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            self.hang_up(db)

    def forget(self) -> None:
        """In the child of a fork: leave the parent its connections, without closing them."""
        # Kept, lest the garbage collector says goodbye to the server in the parent's name.
        _left_behind.append(self._open)
        self.silence.renew()
        self._begin_anew()


_left_behind: list[object] = []
