"""Transactions of PostgreSQL: such that lock a study first, turns, forks, what others are told."""

from __future__ import annotations

import os
import secrets
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import psycopg

from imabo.errors import StoreError, UnknownStudy
from imabo.stores.postgres import statements
from imabo.stores.postgres.address import Address
from imabo.stores.postgres.failures import NotAnswered, lost_commit, said, unusable
from imabo.stores.postgres.listening import Listener
from imabo.stores.postgres.pool import (
    DEFAULT_S,
    MOST,
    Deadline,
    Kind,
    LimitedConnection,
    Pool,
    as_verb,
    limited,
)
from imabo.stores.refusals import misfit, store_closed, study_replaced, unknown_study
from imabo.stores.rows import StudyHead

_EVERY_S: Final = 0.1  # at most one notification of a process in this time

Parameters = Mapping[str, Any]
Found = Sequence[Any]  # rows; their types are the statement's business
NONE: Final[Parameters] = MappingProxyType({})


class Turn:
    """A study held by a thread, and the transaction that holds it."""

    def __init__(self, name: str, db: LimitedConnection) -> None:
        self.name = name
        self.db = db
        self.pid = os.getpid()
        self.has_written = self.is_over = False


class Connections:
    """One process's connections to a database; a fork's child gets its own.

    Args:
        address: The database.
        limit_s: How long a verb may take, above 0.
        most: Connections at once, at least 1.
    """

    def __init__(self, address: Address, *, limit_s: float = DEFAULT_S, most: int = MOST) -> None:
        self.where = address.shown
        self._limit_s = limit_s
        self._most = most
        self._pool = Pool(address.options, limit_s=limit_s, most=most)
        self._closed = False
        self.listener = Listener(self._pool, lambda: self.origin)
        self._begin_anew()
        _everywhere.add(self)

    def _begin_anew(self) -> None:
        """Be a process of its own: at the start, and in the child of a fork."""
        self._pid = os.getpid()
        self._local = threading.local()
        self.origin = secrets.token_hex(4)
        self._notify_at = 0.0

    # --- reading --------------------------------------------------------------------------------

    def read(
        self, statement: bytes, parameters: Parameters = NONE, *, study: str | None = None
    ) -> Found:
        """The rows of one statement; of the turn's view when this thread holds the study.

        A transaction of its own, sent again when the connection turns out to be dead. So if it
        writes, it must do nothing when it was done already.
        """
        with self.snapshot(statement, parameters, study=study, is_single=True) as (_, rows):
            return rows

    @contextmanager
    def snapshot(
        self,
        statement: bytes,
        parameters: Parameters,
        *,
        study: str | None = None,
        is_single: bool = False,
    ) -> Iterator[tuple[LimitedConnection, Found]]:
        """A transaction that sees one moment, with the rows of its first statement."""
        with self.translated():
            turn = self._turn(study)
            if turn is not None:
                yield turn.db, turn.db.execute(statement, parameters).fetchall()
                return
            db, rows = self._begin("single" if is_single else "snapshot", statement, parameters)
            with self.returned(db):
                yield db, rows

    def study_id(self, name: str) -> int:
        """The id of a study; ``UnknownStudy`` when there is none of that name."""
        rows = self.read(statements.STUDY_ID, {"name": name}, study=name)
        if not rows:
            raise self.unknown(name)
        return int(rows[0][0])

    # --- writing --------------------------------------------------------------------------------

    @contextmanager
    def writing(
        self, statement: bytes, parameters: Parameters
    ) -> Iterator[tuple[LimitedConnection, Found]]:
        """A transaction that is about no study that exists, with the rows of its first statement.

        The first statement is sent again when the connection turns out to be dead, so it must be
        harmless when it is done and not committed.
        """
        with self.translated():
            db, rows = self._begin("write", statement, parameters)
            with self.returned(db):
                yield db, rows
                self._commit(db)

    def write_once(self, statement: bytes, parameters: Parameters) -> Found:
        """The rows of a statement that is a transaction of its own, and never sent again.

        None when it was refused for a row that is there already, and when the connection is lost:
        then it may have been done.
        """
        with self.translated():
            self.check()
            db = self._pool.take()
            try:
                rows = self._first(db, "single", statement, parameters)
            except psycopg.Error as error:
                if _is_lost(db, error) or isinstance(error, psycopg.IntegrityError):
                    return []
                raise
            self._pool.give(db)
            return rows

    @contextmanager
    def locking(
        self, name: str, token: str | None = None
    ) -> Iterator[tuple[LimitedConnection, StudyHead]]:
        """A transaction that has locked a study's row, with the row; in a turn, a part of it.

        Refuses another study than that of a token.
        """
        with self.translated():
            turn = self._turn(name)
            if turn is None:
                db, rows = self._begin("write", statements.LOCK, {"name": name})
                with self.returned(db):
                    yield db, self._head(rows, name, token)
                    self._commit(db)
                return
            turn.has_written = True
            try:
                rows = turn.db.execute(statements.LOCK, {"name": name}).fetchall()
                yield turn.db, self._head(rows, name, token)
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
            db, rows = self._begin("write", statements.LOCK, {"name": name})
            with self.returned(db):
                self._head(rows, name)
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

    def _head(self, rows: Found, name: str, token: str | None = None) -> StudyHead:
        if not rows:
            raise self.unknown(name)
        study = StudyHead._make(rows[0])
        if token not in (None, study.token):
            raise study_replaced(name)
        return study

    def unknown(self, name: str) -> UnknownStudy:
        """That there is no study of a name."""
        return unknown_study(name, [row[0] for row in self.read(statements.NAMES)])

    # --- what others are told of a change

    def payload(self, study: int) -> str | None:
        """What to tell about a study now; None when it is too early to tell more.

        A transaction that notifies holds a lock of the whole database while it is flushed to disk.
        So only the first change in a while is told; whoever hears of it reads the later ones too,
        or sees them when it looks again by itself.
        """
        now = time.monotonic()
        if now < self._notify_at:
            return None
        self._notify_at = now + _EVERY_S
        return self.words(study)

    def words(self, study: int) -> str:
        """What a notification about a study says: which one, and whose it is."""
        return f"{study} {self.origin}"

    # --- beginning and ending -------------------------------------------------------------------

    def _begin(
        self, kind: Kind, statement: bytes, parameters: Parameters
    ) -> tuple[LimitedConnection, Found]:
        """Begin with a statement; on a fresh connection when the one from the pool is dead."""
        self.check()
        db = self._pool.take()
        try:
            return db, self._first(db, kind, statement, parameters)
        except psycopg.Error as error:
            # Nothing was committed, so it may be sent again. The pool has thrown away the other
            # connections of that time as well.
            if not _is_lost(db, error):
                raise
        db = self._pool.take()
        return db, self._first(db, kind, statement, parameters)

    def _first(
        self, db: LimitedConnection, kind: Kind, statement: bytes, parameters: Parameters
    ) -> Found:
        """The rows of a first statement; the connection is given back when it fails."""
        try:
            db.begin_as(kind)
            return db.execute(statement, parameters).fetchall()
        except BaseException:
            self._pool.give(db)
            raise

    def _commit(self, db: LimitedConnection) -> None:
        try:
            db.commit()
        except psycopg.Error as error:
            if not db.closed or isinstance(error, NotAnswered):
                raise
            raise lost_commit(error, self.where) from error

    @contextmanager
    def returned(self, db: LimitedConnection) -> Iterator[None]:
        """Give a connection back at the end; what was not committed is undone."""
        pid = os.getpid()
        try:
            yield
        finally:
            if os.getpid() == pid:  # else it is the parent's
                self._pool.give(db)

    @contextmanager
    def apart(self) -> Iterator[LimitedConnection]:
        """A connection of one's own, for migrations and long reads."""
        pid = os.getpid()
        with self.translated():
            db = self._pool.dial_apart()
        try:
            yield db
        finally:
            if os.getpid() == pid:
                self._pool.hang_up(db)

    @contextmanager
    def translated(self) -> Iterator[None]:
        """A verb: within the limit, with the errors of PostgreSQL, driver and pool as ours."""
        try:
            with as_verb(self._limit_s):
                yield
        except psycopg.Error as error:
            if isinstance(error, (NotAnswered, psycopg.errors.ConnectionTimeout)):
                self._pool.silence.begin()
            if isinstance(error, psycopg.IntegrityError):
                raise misfit(f"PostgreSQL said {said(error)!r}") from error
            if self._closed:
                raise store_closed() from error
            raise unusable(error, self.where, limit_s=self._limit_s, most=self._most) from error

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """What may take long: it has no limit as long as the server answers others."""
        with limited(Deadline(self._limit_s, self._pool.answers)):
            yield

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
            self._pool.close()

    def forget(self) -> None:
        """In the child of a fork: leave the parent its connections, without closing them."""
        self._pool.forget()
        self.listener.renew()
        self._begin_anew()


def _is_lost(db: LimitedConnection, error: psycopg.Error) -> bool:
    """Whether a connection is gone; not when the server may still be at it."""
    return db.is_lost and not isinstance(error, NotAnswered)


_everywhere: weakref.WeakSet[Connections] = weakref.WeakSet()


def _forget_all() -> None:
    for connections in list(_everywhere):
        connections.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
