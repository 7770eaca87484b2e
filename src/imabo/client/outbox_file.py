"""The durable outbox: what waits is in a file that outlives the process, shared by a host's."""

from __future__ import annotations

import json
import logging
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from sqlite3 import Connection
from typing import Final

from imabo.client.addresses import in_words, is_key
from imabo.client.outbox import Outbox, conflict
from imabo.client.reports import Reports
from imabo.client.steps import T
from imabo.errors import ImaboError, InvalidSetting, OutboxFull, SchemaTooNew, StoreError
from imabo.space.scalars import show

VERSION: Final = 2
_BY_ID: Final = 1  # the version that a file has until it holds a reward by a key
_APPLICATION: Final = 0x696D626F  # "imbo": what SQLite files of this kind are marked with
_BUSY_S: Final = 5.0  # how long to wait for another process that writes
_STUCK_S: Final = 30.0  # a process that sends for longer than this is not waited for any more

_log = logging.getLogger(__name__)

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
PRAGMA user_version = {_BY_ID};
"""
_NUMBER: Final = "SELECT id FROM services WHERE url = ?"
_KNOWN: Final = f"SELECT reward FROM rewards WHERE service = ({_NUMBER}) AND pull = ?"
_OLDEST: Final = f"""
SELECT pull, reward FROM rewards
WHERE service = ({_NUMBER})
  AND CASE instr(pull, '!') WHEN 0 THEN rtrim(pull, '0123456789')
      ELSE substr(pull, 1, instr(pull, '!')) END NOT IN (SELECT value FROM json_each(?))
ORDER BY number LIMIT ?
"""


class DurableOutbox(Outbox):
    """An outbox in a file. What ``put`` takes is on the disk when it returns.

    Any number of processes of one host may share the file. One of them sends at a time: it holds a
    lock on a second file, which the system takes back when the process dies. Rewards for another
    service (``url``) in the same file are left alone; ``size`` counts those of all together.
    """

    is_durable = True

    def __init__(self, path: str | os.PathLike[str], url: str, size: int, reports: Reports) -> None:
        super().__init__(reports)
        self._file = OutboxFile(path)
        self._url = url
        self._size = size
        self._lock = threading.RLock()
        # One of its own, because the other one's holder may wait for the disk.
        self._sending_lock = threading.Lock()
        self._sending: int | None = None  # the open lock file, while this process sends
        self._blocked_since: float | None = None
        self._is_closed = False
        query = "SELECT url, n_waiting FROM services WHERE url != ? AND n_waiting > 0"
        for other, count in self._file.read(lambda db: db.execute(query, (url,)).fetchall()):
            _log.warning(
                "the outbox %s holds %d rewards for the service at %s; only a client of that "
                "address sends them",
                self._file.path, count, other,
            )  # fmt: skip

    # --- what waits -----------------------------------------------------------------------------

    @property
    def n_waiting(self) -> int:
        """Rewards for this service in the file, whichever process told them."""
        with self._lock, self._closing_again():
            return self._file.read(self._count)

    def known(self, pull_id: str) -> float | None:
        """The reward of a pull that waits, if one does."""
        with self._lock:
            return self._file.read(lambda db: self._known(db, pull_id))

    def put(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Write rewards to the disk; for each None, or why it is not kept."""

        def write(db: Connection) -> list[ImaboError | None]:
            db.execute("INSERT OR IGNORE INTO services (url) VALUES (?)", (self._url,))
            (service,) = db.execute(_NUMBER, (self._url,)).fetchone()
            (total,) = db.execute("SELECT SUM(n_waiting) FROM services").fetchone()
            insert = "INSERT INTO rewards (service, pull, reward, told_at) VALUES (?, ?, ?, ?)"
            now, answers = time.time(), list[ImaboError | None]()
            if any(is_key(address) for address, _ in rewards):
                # An older imabo would send a key as if it were an id; now it leaves the file alone.
                db.execute(f"PRAGMA user_version = {VERSION}")
            for pull_id, reward in rewards:
                known = self._known(db, pull_id)
                if known is not None:
                    same = known == reward
                    answers.append(None if same else conflict(pull_id, known, reward))
                elif total >= self._size:
                    answers.append(self._full(pull_id))
                else:
                    db.execute(insert, (service, pull_id, reward, now))
                    total += 1
                    answers.append(None)
            return answers

        with self._lock, self._closing_again():
            self.may_hold = True
            self._file.check_in_place()
            return self._file.write(write)

    def take(self, limit: int, resting: Collection[str]) -> dict[str, float]:
        """The oldest rewards for this service, but for those of some studies."""
        values = (self._url, json.dumps(list(resting)), limit)
        with self._lock:
            return dict(self._file.read(lambda db: db.execute(_OLDEST, values).fetchall()))

    def settle(self, pull_ids: Collection[str]) -> int:
        """Delete rewards that the service took or refused for good; how many still wait."""

        def write(db: Connection) -> int:
            db.executemany(
                f"DELETE FROM rewards WHERE service = ({_NUMBER}) AND pull = ?",
                [(self._url, pull_id) for pull_id in pull_ids],
            )
            return self._count(db)

        with self._lock:
            count = self._file.write(write) if pull_ids else self._file.read(self._count)
            self.may_hold = count > 0
            return count

    def seal(self) -> None:
        """What is told now is kept all the same."""

    def close(self) -> None:
        """Leave what waits to the next process that opens the file."""
        with self._lock:
            self.end()
            self._is_closed = True
            try:
                count = self.n_waiting
            except ImaboError as error:
                _log.warning("%s", error)
                count = 0
        self.reports.closing()
        if count:
            _log.warning(
                "%d rewards wait in the outbox %s; the next client with that outbox sends them",
                count, self._file.path,
            )  # fmt: skip

    # --- one process sends at a time ------------------------------------------------------------

    def begin(self) -> bool:
        """Whether to send now: not while another process does, unless it is stuck."""
        with self._sending_lock:
            if self._sending is not None:
                return True
            try:
                self._sending = _locked(f"{self._file.path}-lock")
            except BlockingIOError:
                now = time.monotonic()
                self._blocked_since = self._blocked_since or now
                return now - self._blocked_since > _STUCK_S
            except (ImportError, OSError):
                return True  # as on Windows: processes repeat each other, which does no harm
            self._blocked_since = None
            return True

    def end(self) -> None:
        """Let others send."""
        with self._sending_lock:
            if self._sending is not None:
                os.close(self._sending)
                self._sending = None

    # --- forks ----------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Close the connection: SQLite's must not cross a fork, not even to be closed there."""
        self._lock.acquire()
        self._sending_lock.acquire()
        with suppress(sqlite3.Error):
            self._file.close()

    def after_fork(self, *, is_child: bool) -> None:
        """Go on with a connection of one's own; a child leaves the sending to its parent."""
        self._sending_lock.release()
        self._lock.release()
        if is_child:
            # The parent's lock would outlive it for as long as a copy of its file is open.
            self.end()
            self.may_hold = False

    # --- inside ---------------------------------------------------------------------------------

    @contextmanager
    def _closing_again(self) -> Iterator[None]:
        """For what may be used after the end: leave no connection behind."""
        try:
            yield
        finally:
            if self._is_closed:
                self._file.close()

    def _count(self, db: Connection) -> int:
        row = db.execute("SELECT n_waiting FROM services WHERE url = ?", (self._url,)).fetchone()
        return 0 if row is None else int(row[0])

    def _known(self, db: Connection, pull_id: str) -> float | None:
        row = db.execute(_KNOWN, (self._url, pull_id)).fetchone()
        return None if row is None else float(row[0])

    def _full(self, pull_id: str) -> OutboxFull:
        return OutboxFull(
            f"the reward of {in_words(pull_id)} is neither delivered nor kept",
            f"the outbox {self._file.path} holds {self._size} rewards, its outbox_size, because "
            f"the service at {self._url} does not take them",
            "see why it does not, tell the reward again later, or allow more with outbox_size",
        )


def _locked(path: str) -> int:
    """A file that this process alone holds until it closes it or dies."""
    import fcntl

    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


# --- the file -----------------------------------------------------------------------------------


class OutboxFile:
    """A connection to the file, made when it is needed; the outbox has the lock for it.

    The file is SQLite's, flushed at every commit. It is made when it is not there, for its owner's
    eyes only.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = _checked_path(path)
        self._db: Connection | None = None
        self._identity: tuple[int, int] | None = None

    def read(self, work: Callable[[Connection], T]) -> T:
        """What ``work`` reads."""
        with self._translated():
            db = self._connection()
            return _patiently(lambda: work(db))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Do ``work`` in one transaction, which is on the disk when this returns."""
        with self._translated():
            return _in_transaction(self._connection(), work)

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

    def _connection(self) -> Connection:
        if self._db is None:
            self._db = _connect(self.path)
            self._identity = _identity(self.path)
        return self._db

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, ImaboError):
                raise
            raise StoreError(
                f"the outbox {self.path} cannot be used",
                f"the system said {str(error)!r}",
                "check that this is a file of its own in a folder that exists, that both may be "
                "written and that the disk is not full; rewards that were not kept may be told "
                "again",
            ) from error


def _checked_path(path: object) -> str:
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


def _connect(path: str) -> Connection:
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
        _in_transaction(db, lambda db: _set_up(db) if _check_ours(db, path) == 0 else None)
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


def _check_ours(db: Connection, path: str) -> int:
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


def _set_up(db: Connection) -> None:
    """Make the tables, a statement at a time: SQLite's own way would end the transaction."""
    part = ""
    for piece in _SCHEMA.strip().split(";")[:-1]:
        part += piece + ";"
        if sqlite3.complete_statement(part):
            db.execute(part)
            part = ""


def _in_transaction(db: Connection, work: Callable[[Connection], T]) -> T:
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
    with suppress(OSError):
        found = os.stat(path)
        return (found.st_dev, found.st_ino)
    return None
