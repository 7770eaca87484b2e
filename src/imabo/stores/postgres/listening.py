"""Hearing of changes by other processes: LISTEN on a connection of its own, or sleep instead."""

from __future__ import annotations

import math
import secrets
import threading
import time
from typing import Any, Final

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from imabo.stores.postgres.limits import Deadline, limited
from imabo.stores.postgres.statements.notices import CHANNEL

_EVERY_S: Final = 0.1  # at most one notification of a process in this time
_SLICE_S: Final = 0.25  # how long a waiting thread takes to see that the store was closed
_RETRY_S: Final = 5.0  # after this, try again to listen where that failed


class Notifier:
    """Says which of this process's changes are told to the others, and in what words.

    A transaction that notifies holds a lock of the whole database while it is flushed to disk. So
    only the first change in a while is told; whoever hears of it reads the later ones too, or sees
    them when it looks again by itself.
    """

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Be somebody else: a fork's child is not its parent."""
        self.origin = secrets.token_hex(4)
        self._next = 0.0

    def payload(self, study: int) -> str | None:
        """What to tell about a study now; None when it is too early to tell more."""
        now = time.monotonic()
        if now < self._next:
            return None
        self._next = now + _EVERY_S
        return self.words(study)

    def words(self, study: int) -> str:
        """What a notification about a study says: which one, and whose it is."""
        return f"{study} {self.origin}"


class Listener:
    """Waits for notifications of other processes; one thread at a time."""

    def __init__(self, engine: Engine, notifier: Notifier) -> None:
        self._engine = engine
        self._notifier = notifier
        self._db: Connection | None = None
        self.renew()

    def renew(self) -> Connection | None:
        """Start anew in the child of a fork; returns the connection, which is the parent's."""
        db, self._db = self._db, None
        self._retry_at = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()
        return db

    def wait(self, timeout_s: float) -> None:
        """Return at the first change by another process, at the latest after so many seconds."""
        ends_at = time.monotonic() + timeout_s
        # Another thread may be listening; then this one waits for it to finish, or in vain.
        if not self._lock.acquire(timeout=max(timeout_s, 0.0)):
            return
        try:
            try:
                heard = self._hears_before(ends_at)
            except (SQLAlchemyError, psycopg.Error, OSError):
                heard = False
                self._retry_at = time.monotonic() + _RETRY_S
                self._hang_up()
        finally:
            self._lock.release()
        if not heard:
            self._closed.wait(max(ends_at - time.monotonic(), 0.0))

    def _hears_before(self, ends_at: float) -> bool:
        if self._db is None:
            if time.monotonic() < self._retry_at:
                return False
            self._db = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._db.execute(text(f"LISTEN {CHANNEL}"))
        driver: Any = self._db.connection.driver_connection
        while not self._closed.is_set():
            left = ends_at - time.monotonic()
            with limited(Deadline(math.inf)):  # a server that has nothing to say is not silent
                heard = [*driver.notifies(timeout=max(min(left, _SLICE_S), 0.0), stop_after=1)]
                # Those that are here already say the same: look again.
                heard += driver.notifies(timeout=0)
            if any(not told.payload.endswith(self._notifier.origin) for told in heard):
                return True
            if left <= 0:
                return False
        return False

    def _hang_up(self) -> None:
        if self._db is not None:
            db, self._db = self._db, None
            try:
                db.invalidate()
                db.close()
            except (SQLAlchemyError, psycopg.Error, OSError):
                pass

    def close(self) -> None:
        """Stop listening, and wake whoever waits."""
        self._closed.set()
        with self._lock:
            self._hang_up()
