"""The file of a durable outbox: SQLite, flushed at every commit, shared by a host's processes."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from imabo.errors import ImaboError, InvalidSetting, SchemaTooNew, StoreError
from imabo.space.scalars import show

T = TypeVar("T")

VERSION: Final = 1
_APPLICATION: Final = 0x696D626F  # "imbo": what SQLite files of this kind are marked with
_BUSY_S: Final = 5.0  # how long to wait for another process that writes

# Counted as it changes, because a count of all rows would make each reward dearer than the last.
_SCHEMA: Final = f"""
CREATE TABLE services (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    n_waiting INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE rewards (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    service INTEGER NOT NULL REFERENCES services (id),
    pull TEXT NOT NULL,
    reward REAL NOT NULL,
    told_at REAL NOT NULL,
    UNIQUE (service, pull)
);
CREATE TRIGGER put AFTER INSERT ON rewards BEGIN
    UPDATE services SET n_waiting = n_waiting + 1 WHERE id = NEW.service;
END;
CREATE TRIGGER settled AFTER DELETE ON rewards BEGIN
    UPDATE services SET n_waiting = n_waiting - 1 WHERE id = OLD.service;
END;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {VERSION};
"""


class OutboxFile:
    """A connection to the file, made when it is needed.

    Not safe for threads: the outbox has the lock.

    Args:
        path: Where it is; made when it is not there, for its owner's eyes only.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = checked_path(path)
        self._db: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What ``work`` reads."""
        with _Translated(self.path):
            db = self._connection()
            return _patiently(lambda: work(db))

    def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work`` in one transaction, which is on the disk when this returns."""
        with _Translated(self.path):
            db = self._connection()
            _patiently(lambda: db.execute("BEGIN IMMEDIATE"))
            try:
                result = work(db)
                db.execute("COMMIT")
            except BaseException:
                # SQLite ends a transaction by itself on some errors, a full disk for one.
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return result

    def check_in_place(self) -> None:
        """Refuse a file that was removed: nobody would find what is written to it."""
        if self._db is not None and _identity(self.path) != self._identity:
            raise StoreError(
                f"the outbox {self.path} is gone",
                "it was removed or replaced while a client used it",
                "make another Client; this one still sends what it holds",
            )

    def close(self) -> None:
        """Close the connection; the next use makes another."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = _connect(self.path)
            self._identity = _identity(self.path)
        return self._db


class _Translated:
    """Turns SQLite's errors into ours."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (sqlite3.Error, OSError)) and not isinstance(error, ImaboError):
            raise StoreError(
                f"the outbox {self._path} cannot be used",
                f"the system said {str(error)!r}",
                "check that this is a file of its own in a folder that exists, that both may be "
                "written and that the disk is not full; rewards that were not kept may be told "
                "again",
            ) from error


def checked_path(path: object) -> str:
    """A path that holds wherever the process goes."""
    if isinstance(path, (str, os.PathLike)):
        name = os.fspath(path)
        if isinstance(name, str) and name and "\0" not in name:
            return os.path.abspath(name)
    raise InvalidSetting(
        f"outbox is {show(path)}",
        "it must be the path of a file",
        "pass 'rewards.outbox', say, or leave it out to keep what waits in memory",
    )


def _connect(path: str) -> sqlite3.Connection:
    _make(path)
    db = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        # Before anything is written: it may be somebody else's.
        _check_ours(db, path)
        # This switch and its lock do not honour SQLite's own timeout.
        (mode,) = _patiently(lambda: db.execute("PRAGMA journal_mode = WAL").fetchone())
        if mode != "wal":
            raise StoreError(
                f"the outbox {path} cannot have a write-ahead log",
                f"SQLite keeps its journal mode {mode!r}, as on network file systems",
                "put the file on a local disk",
            )
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")  # macOS flushes no more than the cache without
        _patiently(lambda: db.execute("BEGIN IMMEDIATE"))
        try:
            if _check_ours(db, path) == 0:
                for statement in _statements(_SCHEMA):
                    db.execute(statement)
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
    except BaseException:
        db.close()
        raise
    return db


def _make(path: str) -> None:
    """Make the file for its owner alone: SQLite would let everybody read it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        if hasattr(os, "O_DIRECTORY"):
            # A name that is not on the disk yet would be gone after a power loss.
            folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _check_ours(db: sqlite3.Connection, path: str) -> int:
    """The file's version, 0 when it is empty; refuses a file that is not an outbox."""
    # The mark last: another process may make the file at this moment.
    (n_tables,) = _patiently(lambda: db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone())
    (version,) = _patiently(lambda: db.execute("PRAGMA user_version").fetchone())
    (application,) = _patiently(lambda: db.execute("PRAGMA application_id").fetchone())
    if n_tables or version or application:
        if application != _APPLICATION:
            raise StoreError(
                f"{path} is not an outbox",
                "it is a database of something else",
                "give the outbox a file of its own",
            )
        if version > VERSION:
            raise SchemaTooNew(
                f"the outbox {path} has version {version}",
                f"this imabo knows versions up to {VERSION}",
                "upgrade imabo",
            )
    return int(version)


def _statements(script: str) -> list[str]:
    """The statements of a script, which SQLite's own way would not keep in one transaction."""
    statements, part = [], ""
    for piece in script.split(";"):
        part += piece + ";"
        if sqlite3.complete_statement(part):
            statements.append(part)
            part = ""
    return [statement for statement in statements if statement.strip(" \n;")]


def _patiently(work: Callable[[], T]) -> T:
    """Try again while another process holds a lock, for ``_BUSY_S`` at most."""
    ends_at = time.monotonic() + _BUSY_S
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() > ends_at:
                raise
        # At random, lest two processes keep in step.
        time.sleep(random.uniform(0.0002, 0.002))


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino)
