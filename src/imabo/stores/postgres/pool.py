"""The connections that a process has to PostgreSQL, and what each of them is told first.

The pool is our own: psycopg's makes connections in threads of its own, which the child of a fork
does not have, and says of a server that refuses them only that none came in time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.types.numeric import Int8Dumper

from imabo.stores.postgres.limits import (
    FIRST_WORD_S,
    AllInUse,
    Deadline,
    LimitedConnection,
    Silence,
    connect,
    limited,
)

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


class _ListDumper(Dumper):
    """A list as an array's text, which takes a fraction of the time that the driver's own takes."""

    def dump(self, obj: list[Any]) -> bytes:
        return array_of(obj).encode()


def array_of(values: list[Any]) -> str:
    r"""Numbers or texts as PostgreSQL reads an array of them.

    Example:
        >>> print(array_of([1, 0.25, None]), array_of(['say "a"', None]))
        {1, 0.25, null} {"say \\"a\\"",null}
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
