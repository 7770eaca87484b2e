"""Connections to PostgreSQL: a pool, transactions that lock a study first, turns, forks."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, Engine, Executable, create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from imabo.errors import StoreError
from imabo.stores.postgres.address import shown
from imabo.stores.postgres.limits import (
    DEFAULT_S,
    FIRST_WORD_S,
    Deadline,
    NotAnswered,
    Silence,
    as_verb,
    connect,
    limited,
)
from imabo.stores.postgres.listening import Listener, Notifier
from imabo.stores.postgres.refusals import cause_of, lost_commit, said, unusable
from imabo.stores.postgres.statements import studies
from imabo.stores.refusals import misfit, store_closed, study_replaced, unknown_study

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

Parameters = Mapping[str, Any]
Found = Sequence[Any]  # rows; their types are the statement's business
NONE: Final[Parameters] = MappingProxyType({})


class Turn:
    """A study held by a thread, and the transaction that holds it."""

    def __init__(self, name: str, db: Connection) -> None:
        self.name = name
        self.db = db
        self.pid = os.getpid()
        self.has_written = self.is_over = False


class Connections:
    """One process's connections to a database; a fork's child gets its own.

    Args:
        url: The database.
        limit_s: How long a verb may take, above 0.
        most: Connections at once, at least 1.
    """

    def __init__(self, url: URL, *, limit_s: float = DEFAULT_S, most: int = MOST) -> None:
        self.where = shown(url)
        self._limit_s = limit_s
        self._most = most
        self._silence = Silence()
        self._pid = os.getpid()
        self._closed = False
        self._local = threading.local()
        # Without parameters in its texts: an error's cause may be printed.
        options: dict[str, Any] = {
            "connect_args": {k: v for k, v in _CONNECT.items() if k not in url.query},
            "hide_parameters": True,
            "isolation_level": "READ COMMITTED",
        }
        self._engine = create_engine(
            url,
            pool_size=min(_KEPT, most),
            max_overflow=max(most - _KEPT, 0),
            pool_timeout=_POOL_SHARE * limit_s,
            pool_use_lifo=True,
            **options,
        )
        # For what takes long or lasts: migrations, long reads, listening.
        self.apart = create_engine(url, poolclass=NullPool, **options)
        timeouts = {
            "lock_timeout": f"{max(round(1000 * _LOCK_SHARE * limit_s), 1)}",
            "statement_timeout": f"{max(round(1000 * _STATEMENT_SHARE * limit_s), 1)}",
        }
        _set_on_connect(self._engine, _SETTINGS | _PLANNING | timeouts, limit_s)
        _set_on_connect(self.apart, _SETTINGS, limit_s)
        args, kwargs = self.apart.dialect.create_connect_args(url)
        self._dial = args, kwargs | options["connect_args"]
        self.notifier = Notifier()
        self.listener = Listener(self.apart, self.notifier)
        self._single = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._snapshots = self._engine.execution_options(isolation_level="REPEATABLE READ")
        _everywhere.add(self)

    # --- reading --------------------------------------------------------------------------------

    def read(
        self, statement: Executable, parameters: Parameters = NONE, *, study: str | None = None
    ) -> Found:
        """The rows of one statement; of the turn's view when this thread holds the study."""
        with self.snapshot(statement, parameters, study=study, is_single=True) as (_, rows):
            return rows

    @contextmanager
    def snapshot(
        self,
        statement: Executable,
        parameters: Parameters,
        *,
        study: str | None = None,
        is_single: bool = False,
    ) -> Iterator[tuple[Connection, Found]]:
        """A transaction that sees one moment, with the rows of its first statement."""
        with self.translated():
            turn = self._turn(study)
            if turn is not None:
                yield turn.db, turn.db.execute(statement, parameters).all()
                return
            engine = self._single if is_single else self._snapshots
            db, rows = self._begin(engine, statement, parameters)
            with self.returned(db):
                yield db, rows

    def study_id(self, name: str) -> int:
        """The id of a study; ``UnknownStudy`` when there is none of that name."""
        return int(self._only(self.read(studies.STUDY_ID, {"name": name}, study=name), name).id)

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(
        self, statement: Executable, parameters: Parameters
    ) -> Iterator[tuple[Connection, Found]]:
        """A transaction that is about no study that exists, with the rows of its first statement.

        The first statement is sent again when the connection turns out to be dead, so it must be
        harmless when it is done and not committed.
        """
        with self.translated():
            db, rows = self._begin(self._engine, statement, parameters)
            with self.returned(db):
                yield db, rows
                self._commit(db)

    def write_at_once(self, statement: Executable, parameters: Parameters) -> Found:
        """The rows of a statement that is a transaction of its own.

        It is sent again when the connection turns out to be dead, so it must do nothing when it
        was done already. Not for a study that this thread ``holds``: it would wait for itself.
        """
        return self.read(statement, parameters)

    def write_once(self, statement: Executable, parameters: Parameters) -> Found:
        """The rows of a statement that is a transaction of its own, and never sent again.

        None when it was refused for a row that is there already, and when the connection is lost:
        then it may have been done.
        """
        with self.translated():
            self.check()
            try:
                db, rows = self._started(self._single, statement, parameters)
            except DBAPIError as error:
                if _is_lost(error) or isinstance(error.orig, psycopg.IntegrityError):
                    return []
                raise
            with self.returned(db):
                return rows

    @contextmanager
    def locking(self, name: str, token: str | None = None) -> Iterator[tuple[Connection, Any]]:
        """A transaction that has locked a study's row, with the row; in a turn, a part of it.

        Refuses another study than that of a token.
        """
        with self.translated():
            turn = self._turn(name)
            if turn is None:
                db, rows = self._begin(self._engine, studies.LOCK, {"name": name})
                with self.returned(db):
                    yield db, self._only(rows, name, token)
                    self._commit(db)
                return
            turn.has_written = True
            try:
                rows = turn.db.execute(studies.LOCK, {"name": name}).all()
                yield turn.db, self._only(rows, name, token)
            except BaseException:
                turn.is_over = True
                turn.db.rollback()
                raise

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Hold a study: this thread's verbs on it join the transaction that holds it."""
        if getattr(self._local, "turn", None) is not None:
            raise misfit("a turn began within a turn")
        with self.translated():
            db, rows = self._begin(self._engine, studies.LOCK, {"name": name})
            with self.returned(db):
                self._only(rows, name)
                turn = self._local.turn = Turn(name, db)
                try:
                    with limited(None):  # deciding takes its time; each verb has a limit again
                        yield
                finally:
                    self._local.turn = None
                if turn.pid != os.getpid():
                    raise StoreError(
                        f"a turn of process {turn.pid} ended in process {os.getpid()}",
                        "the process forked within a turn, which stays with the parent",
                        "fork before or after ask()",
                    )
                if not turn.is_over:
                    with limited(Deadline(self._limit_s)):
                        self._commit(db)

    def holds(self, name: str) -> bool:
        """Whether this thread is in a turn of a study."""
        return self._turn(name) is not None

    def _turn(self, name: str | None) -> Turn | None:
        turn: Turn | None = getattr(self._local, "turn", None)
        if turn is None or turn.name != name:
            return None
        self.check()
        if turn.is_over:
            raise misfit("a verb followed one that failed, in the same turn")
        return turn

    @property
    def is_settled(self) -> bool:
        """Whether what this thread reads now is committed: no turn of its own has written."""
        turn: Turn | None = getattr(self._local, "turn", None)
        return turn is None or not turn.has_written

    def _only(self, rows: Found, name: str, token: str | None = None) -> Any:
        if not rows:
            raise unknown_study(name, [row[0] for row in self.read(studies.NAMES)])
        if token is not None and rows[0].token != token:
            raise study_replaced(name)
        return rows[0]

    # --- beginning and ending -------------------------------------------------------------------

    def _begin(
        self, engine: Engine, statement: Executable, parameters: Parameters
    ) -> tuple[Connection, Found]:
        """Begin with a statement; on a fresh connection when the one from the pool is dead."""
        self.check()
        try:
            return self._started(engine, statement, parameters)
        except DBAPIError as error:
            # Nothing was committed, so it may be sent again. The pool has thrown away the other
            # connections of that time as well.
            if not _is_lost(error):
                raise
        return self._started(engine, statement, parameters)

    def _started(
        self, engine: Engine, statement: Executable, parameters: Parameters
    ) -> tuple[Connection, Found]:
        with self._silence.first_word():
            db = engine.connect()
        try:
            return db, db.execute(statement, parameters).all()
        except BaseException:
            self._close(db)
            raise

    def _commit(self, db: Connection) -> None:
        try:
            db.commit()
        except DBAPIError as error:
            if not _is_lost(error):
                raise
            raise lost_commit(error, self.where) from error

    def _close(self, db: Connection) -> None:
        with limited(Deadline(self._limit_s)):  # the verb's own may be over
            db.close()

    @contextmanager
    def returned(self, db: Connection) -> Iterator[None]:
        """Give a connection back at the end; what was not committed is undone."""
        pid = os.getpid()
        try:
            yield
        finally:
            if os.getpid() != pid:
                _left_behind.append(db)
            else:
                if self._closed:
                    db.invalidate()  # the pool that it came from is gone
                self._close(db)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """A verb: within the limit, with the errors of PostgreSQL, driver and pool as ours."""
        try:
            with as_verb(self._limit_s):
                yield
        except (DBAPIError, PoolTimeout, psycopg.Error) as error:
            if isinstance(cause_of(error), (NotAnswered, psycopg.errors.ConnectionTimeout)):
                self._silence.begin()
            if isinstance(cause_of(error), psycopg.IntegrityError):
                raise misfit(f"PostgreSQL said {said(error)!r}") from error
            if self._closed:
                raise store_closed() from error
            raise unusable(error, self.where, limit_s=self._limit_s, most=self._most) from error

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """What may take long: it has no limit as long as the server answers others."""
        with limited(Deadline(self._limit_s, self._answers)):
            yield

    def _answers(self) -> bool:
        """Whether the server takes a connection, soon."""
        args, kwargs = self._dial
        try:
            # Not from an engine: it may be waiting for its own first connection right now.
            with limited(Deadline(FIRST_WORD_S)):
                connect(FIRST_WORD_S, *args, **kwargs).close()
        except psycopg.Error:
            return False
        return True

    def check(self) -> int:
        """The process that may use these connections; raises when it is not this one."""
        if self._closed:
            raise store_closed()
        if self._pid != os.getpid():
            raise StoreError(
                f"{self.where} was opened by process {self._pid} and is used by {os.getpid()}",
                "the process forked without Python's knowledge, and a connection has one owner",
                "open the study in each process",
            )
        return self._pid

    def close(self) -> None:
        """Close what is not in use; the rest closes when its user is done."""
        self._closed = True
        if self._pid == os.getpid():
            self.listener.close()
            self._engine.dispose()
            self.apart.dispose()

    def forget(self) -> None:
        """In the child of a fork: leave the parent its connections, without closing them."""
        self._pid = os.getpid()
        self._local = threading.local()
        self._silence.renew()
        self.notifier.renew()
        _left_behind.append(self.listener.renew())
        for engine in (self._engine, self.apart):
            # Kept, lest the garbage collector says goodbye to the server in the parent's name.
            _left_behind.append(engine.pool)
            engine.dispose(close=False)


def _is_lost(error: DBAPIError) -> bool:
    """Whether the connection is gone; not when the server may still be at it."""
    return error.connection_invalidated and not isinstance(error.orig, NotAnswered)


def _set_on_connect(engine: Engine, settings: Mapping[str, str], limit_s: float) -> None:
    statement = ";".join(f"SET {key} = {value}" for key, value in settings.items())

    @event.listens_for(engine, "do_connect")
    def make(_d: object, _r: object, args: Any, kwargs: Any) -> psycopg.Connection[Any]:
        return connect(limit_s, *args, **kwargs)

    @event.listens_for(engine, "connect")
    def apply(connection: psycopg.Connection[Any], _: object) -> None:
        connection.execute(statement)
        connection.commit()


_everywhere: weakref.WeakSet[Connections] = weakref.WeakSet()
_left_behind: list[object] = []


def _forget_all() -> None:
    for connections in list(_everywhere):
        connections.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
