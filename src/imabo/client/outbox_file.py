"""The durable outbox: what waits is in a file that outlives the process."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from sqlite3 import Connection
from typing import Final

from imabo.client.outbox import Outbox, conflict
from imabo.client.outbox_sqlite import OutboxFile
from imabo.client.reports import Reports
from imabo.errors import ImaboError, OutboxFull

_STUCK_S: Final = 30.0  # a process that sends for longer than this is not waited for any more

_log = logging.getLogger(__name__)

_NUMBER: Final = "SELECT id FROM services WHERE url = ?"
_KNOWN: Final = f"SELECT reward FROM rewards WHERE service = ({_NUMBER}) AND pull = ?"
_OLDEST: Final = f"""
SELECT pull, reward FROM rewards
WHERE service = ({_NUMBER})
  AND rtrim(pull, '0123456789') NOT IN (SELECT value || '-' FROM json_each(?))
ORDER BY number LIMIT ?
"""


class DurableOutbox(Outbox):
    """An outbox in a file. What ``put`` takes is on the disk when it returns.

    Any number of processes of one host may share the file. One of them sends at a time: it holds a
    lock on a second file, which the system takes back when the process dies.

    Args:
        path: Of the file.
        url: Of the service; rewards for another one in the same file are left alone.
        size: How many rewards the file may hold, of all services together.
        reports: Where to speak of what was refused.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     url, path = "http://127.0.0.1:8000", f"{folder}/rewards.outbox"
        ...     outbox = DurableOutbox(path, url, 100, Reports(url))
        ...     answers = outbox.put([("k3f9x2-1", 0.5)])
        ...     outbox.close()
        ...     DurableOutbox(path, url, 100, Reports(url)).take(10, ())
        {'k3f9x2-1': 0.5}
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
        self._introduce()

    # --- what waits -----------------------------------------------------------------------------

    @property
    def n_waiting(self) -> int:
        """Rewards for this service in the file, whichever process told them."""
        with self._lock:
            try:
                return self._file.read(self._count)
            finally:
                if self._is_closed:
                    self._file.close()

    def holds(self, pull_id: str, reward: float) -> bool:
        """Whether this very reward waits already; ``RewardConflict`` when another one does."""
        with self._lock:
            known = self._file.read(lambda db: self._known(db, pull_id))
        if known is not None and known != reward:
            raise conflict(pull_id, known, reward)
        return known is not None

    def put(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Write rewards to the disk; for each None, or why it is not kept."""

        def write(db: Connection) -> list[ImaboError | None]:
            db.execute("INSERT OR IGNORE INTO services (url) VALUES (?)", (self._url,))
            (service,) = db.execute(_NUMBER, (self._url,)).fetchone()
            (total,) = db.execute("SELECT SUM(n_waiting) FROM services").fetchone()
            now, answers = time.time(), list[ImaboError | None]()
            for pull_id, reward in rewards:
                known = self._known(db, pull_id)
                if known is not None:
                    same = known == reward
                    answers.append(None if same else conflict(pull_id, known, reward))
                elif total >= self._size:
                    answers.append(self._full(pull_id))
                else:
                    values = (service, pull_id, reward, now)
                    db.execute(
                        "INSERT INTO rewards (service, pull, reward, told_at) VALUES (?, ?, ?, ?)",
                        values,
                    )
                    total += 1
                    answers.append(None)
            return answers

        with self._lock:
            self.may_hold = True
            self._file.check_in_place()
            try:
                return self._file.write(write)
            finally:
                if self._is_closed:
                    self._file.close()

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

    def _introduce(self) -> None:
        with self._lock:
            others = self._file.read(
                lambda db: db.execute(
                    "SELECT url, n_waiting FROM services WHERE url != ? AND n_waiting > 0",
                    (self._url,),
                ).fetchall()
            )
        for url, count in others:
            _log.warning(
                "the outbox %s holds %d rewards for the service at %s; only a client of that "
                "address sends them",
                self._file.path, count, url,
            )  # fmt: skip

    def _count(self, db: Connection) -> int:
        row = db.execute("SELECT n_waiting FROM services WHERE url = ?", (self._url,)).fetchone()
        return 0 if row is None else int(row[0])

    def _known(self, db: Connection, pull_id: str) -> float | None:
        row = db.execute(_KNOWN, (self._url, pull_id)).fetchone()
        return None if row is None else float(row[0])

    def _full(self, pull_id: str) -> OutboxFull:
        return OutboxFull(
            f"the reward of pull {pull_id!r} is neither delivered nor kept",
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
