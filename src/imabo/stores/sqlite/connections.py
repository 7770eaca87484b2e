"""Connections to a SQLite file: durable, patient with other processes, safe across a fork."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from imabo.errors import StoreError
from imabo.stores.refusals import misfit, store_closed, study_replaced, unknown_study
from imabo.stores.rows import Beside, SpaceRow, StudyHead, StudyRow
from imabo.stores.sqlite import statements
from imabo.stores.sqlite.schema import upgrade, version_of

BUSY_S: Final = 60.0  # how long to wait for another process that is writing
_LOOK_EVERY_S: Final = 0.2  # how often reads look whether the file is still there
_CHUNK: Final = 1000  # rows of a long read that are fetched at a time

Row = tuple[Any, ...]


class Connections:
    """One process's connections to a file: one that writes, one that reads, one a long read.

    They are opened when they are first needed, and closed before the process forks: SQLite's locks
    do not reach the child, so a child of open connections could lose what it commits.

    A file that is deleted or replaced lives on, without a name, for those who have it open: they
    could write to it until they close it, and all of that would be lost. So a write looks, when it
    is committed, whether the path still leads to the file; other verbs look now and then.

    Args:
        path: The file.
        limit_s: How long to wait for another process that is writing.
    """

    def __init__(self, path: str, limit_s: float = BUSY_S) -> None:
        self.path = path
        self._limit_s = limit_s
        self._pid = os.getpid()
        self._closed = False
        self._held = False  # read and set with the write lock only
        self._write_lock = threading.RLock()
        self._read_lock = threading.RLock()
        self._stream_lock = threading.RLock()
        self._writer: sqlite3.Connection | None = None
        # Readers have a connection of their own: they need not wait for a commit's flush.
        self._reader: sqlite3.Connection | None = None
        self._streams: dict[object, sqlite3.Connection] = {}
        _make(path)
        self._file = _file_at(path)
        self._look_at = 0.0
        with self.translated():
            self._writer = self._connect_writer()
            self._check_file()
        _everywhere.add(self)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the file's write lock; inside ``holding``, a part of its."""
        with self._write_lock, self.translated():
            self._check()
            self._glance_at_file()
            if self._writer is None:
                self._writer = self._connect_writer()
            db = self._writer
            if self._held:
                try:
                    yield db
                except BaseException:
                    _roll_back(db)
                    raise
                return
            # IMMEDIATE takes the write lock at the start, where waiting is safe; a transaction
            # that reads first and writes later can be refused at once.
            _execute_patiently(db, "BEGIN IMMEDIATE", self._limit_s)
            try:
                yield db
                if db.in_transaction:  # not when a part of it failed
                    db.execute("COMMIT")
                    self._check_file()
            except BaseException:
                _roll_back(db)
                raise

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold the file's write lock, so that nothing changes but by this thread's ``writing``."""
        with self.writing(), self._marked_as_held():
            yield

    @contextmanager
    def _marked_as_held(self) -> Iterator[None]:
        if self._held:
            raise misfit("a turn began within a turn")
        self._held = True
        try:
            yield
        finally:
            self._held = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that sees the file at one moment, whatever others write meanwhile."""
        with self._read_lock, self.translated():
            self._check()
            self._glance_at_file()
            if self._reader is None:
                self._reader = connect(self.path, self._limit_s)
            db = self._reader
            db.execute("BEGIN")
            try:
                yield db
            finally:
                _roll_back(db)

    def stream(
        self, query: Callable[[sqlite3.Connection, Row | None], sqlite3.Cursor]
    ) -> Iterator[Row]:
        """The rows of a long query, on a connection of its own that holds nobody up.

        ``query`` is run with None, and run again with the last row that was read when a fork
        closed the connection in between.
        """
        key = object()
        last: Row | None = None
        cursor: sqlite3.Cursor | None = None
        try:
            while True:
                with self._stream_lock, self.translated():
                    self._check()
                    self._glance_at_file()
                    if cursor is None or key not in self._streams:
                        self._streams[key] = connect(self.path, self._limit_s)
                        cursor = query(self._streams[key], last)
                    rows = cursor.fetchmany(_CHUNK)
                if not rows:
                    return
                last = rows[-1]
                yield from rows
        finally:
            with self._stream_lock:
                if key in self._streams:
                    self._streams.pop(key).close()

    def close(self) -> None:
        """Close everything for good."""
        with self._write_lock, self._read_lock, self._stream_lock:
            self._closed = True
            if self._pid == os.getpid():
                self._let_go()

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.IntegrityError as error:
            raise misfit(f"SQLite said {str(error)!r}") from error
        except sqlite3.Error as error:
            raise StoreError(
                f"SQLite could not use {self.path}",
                f"it said {str(error)!r}",
                "check that this is a file in a folder that exists, that both may be written, "
                "that the disk is not full and that no other program holds the file locked",
            ) from error

    # --- across a fork --------------------------------------------------------------------------

    def suspend(self) -> None:
        """Wait for running transactions and close the connections, until ``resume``."""
        self._write_lock.acquire()
        self._read_lock.acquire()
        self._stream_lock.acquire()
        if self._pid == os.getpid():
            self._let_go()

    def resume(self) -> None:
        """Go on after a fork, in the parent and in the child."""
        self._pid = os.getpid()
        self._stream_lock.release()
        self._read_lock.release()
        self._write_lock.release()

    def _connect_writer(self) -> sqlite3.Connection:
        db = connect(self.path, self._limit_s)
        try:
            upgrade(db, self.path)
            # SQLite's own waiting sleeps for up to 0.1 s at a time, and starves beside a busy
            # writer.
            db.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            db.close()
            raise
        return db

    def _let_go(self) -> None:
        for db in (self._reader, *self._streams.values(), self._writer):
            if db is not None:
                db.close()
        self._reader = self._writer = None
        self._streams.clear()

    def _glance_at_file(self) -> None:
        if time.monotonic() >= self._look_at:
            self._check_file()
            self._look_at = time.monotonic() + _LOOK_EVERY_S

    def _check_file(self) -> None:
        if _file_at(self.path) != self._file:
            self._look_at = 0.0  # from now on, everybody looks
            raise StoreError(
                f"{self.path} was deleted or replaced while it was in use",
                "what is written now would be lost with the file that was there before",
                "put the file back in its place, or open the store again to go on with what is "
                "there now",
            )

    def _check(self) -> None:
        if self._closed:
            raise store_closed()
        if self._pid != os.getpid():
            raise StoreError(
                f"{self.path} was opened by process {self._pid} and is used by {os.getpid()}",
                "the process forked without Python's knowledge, and SQLite must not cross a fork",
                "open the study in each process",
            )


def head_of(db: sqlite3.Connection, name: str, token: str | None = None) -> StudyHead:
    """A study as it is now; refuses another one than that of a token."""
    # Looked up each time: another process may have deleted the study, and made it again.
    row = db.execute(statements.HEAD, (name,)).fetchone()
    if row is None:
        raise unknown_study(name, [row[0] for row in db.execute(statements.NAMES)])
    study = StudyHead._make(row)
    if token not in (None, study.token):
        raise study_replaced(name)
    return study


def rows_of(
    db: sqlite3.Connection, name: str, since: int, large_since: int
) -> tuple[StudyRow, SpaceRow, Beside]:
    """A study without its arms; its beliefs and its memory, when they are newer than the second."""
    here = {"study": head_of(db, name).id, "since": since, "large_since": large_since}
    study = StudyRow._make(db.execute(statements.STUDY, here).fetchone())
    latest = SpaceRow._make(db.execute(statements.LATEST_SPACE, here).fetchone())
    return study, latest, Beside._make(db.execute(statements.BESIDE, here).fetchone())


def _make(path: str) -> None:
    """Make an empty file for its owner alone, where there is none; SQLite's others follow it.

    What is wrong with the path is said by SQLite.
    """
    there = os.path.realpath(path)
    try:
        # Without opening it: to close it again would end the locks that another thread has there.
        os.mknod(there, 0o600)
    except (AttributeError, PermissionError):  # not offered by every system, or not to everybody
        with suppress(OSError):
            os.close(os.open(there, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError:
        pass


def _file_at(path: str) -> tuple[int, int] | None:
    """Which file a path leads to; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def connect(path: str, limit_s: float = BUSY_S) -> sqlite3.Connection:
    """Open a file in write-ahead mode, flushed at every commit; refuses a file that is not ours."""
    # A file that is gone must not be made anew: that would hide the loss.
    where = f"{Path(path).absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(
        where, timeout=limit_s, isolation_level=None, check_same_thread=False, uri=True
    )
    try:
        version_of(db, path)  # before anything is written
        _use_wal(db, path, limit_s)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: sqlite3.Connection, path: str, limit_s: float) -> None:
    # The switch does not honour SQLite's timeout.
    (mode,) = _execute_patiently(db, "PRAGMA journal_mode = WAL", limit_s).fetchone()
    if mode != "wal":
        raise StoreError(
            f"{path} cannot have a write-ahead log",
            f"SQLite keeps its journal mode {mode!r}, as on network file systems",
            "put the file on a local disk",
        )


def _execute_patiently(db: sqlite3.Connection, statement: str, limit_s: float) -> sqlite3.Cursor:
    """Execute, again and again while another process holds a lock, at most ``limit_s``."""
    began = time.monotonic()
    while True:
        try:
            return db.execute(statement)
        except sqlite3.OperationalError as error:
            waited = time.monotonic() - began
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or waited > limit_s:
                raise
        # Often enough to find the gaps of a process that writes without pause; at random, lest
        # two processes keep in step.
        time.sleep(random.uniform(0.0001, 0.001))


def _roll_back(db: sqlite3.Connection) -> None:
    # SQLite ends a transaction by itself on some errors, a full disk for one.
    if db.in_transaction:
        db.execute("ROLLBACK")


_everywhere: weakref.WeakSet[Connections] = weakref.WeakSet()
_suspended: list[Connections] = []
_fork_lock = threading.RLock()  # two threads may fork at once


def _suspend_all() -> None:
    _fork_lock.acquire()
    for connections in list(_everywhere):
        connections.suspend()
        _suspended.append(connections)


def _resume_all() -> None:
    while _suspended:
        _suspended.pop().resume()
    _fork_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_suspend_all, after_in_parent=_resume_all, after_in_child=_resume_all
    )
