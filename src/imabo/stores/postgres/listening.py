"""Hearing of changes by other processes: LISTEN on a connection of its own, or sleep instead."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import psycopg

from imabo.stores.postgres.pool import Deadline, LimitedConnection, Pool, limited
from imabo.stores.postgres.statements import LISTEN

_SLICE_S: Final = 0.25  # how long a waiting thread takes to see that the store was closed
_RETRY_S: Final = 5.0  # after this, try again to listen where that failed


class Listener:
    """Waits for notifications of other processes; one thread at a time.

    Args:
        pool: Where its connection is from.
        origin: Says how this process's own notifications end.
    """

    def __init__(self, pool: Pool, origin: Callable[[], str]) -> None:
        self._pool, self._origin = pool, origin
        self.renew()

    def renew(self) -> None:
        """Start anew in the child of a fork; the connection is the parent's."""
        self._db: LimitedConnection | None = None
        self._retry_at = 0.0
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def wait(self, timeout_s: float) -> None:
        """Return at the first change by another process, at the latest after so many seconds."""
        ends_at = time.monotonic() + timeout_s
        # Another thread may be listening; then this one waits for it to finish, or in vain.
        if not self._lock.acquire(timeout=max(timeout_s, 0.0)):
            return
        try:
            try:
                heard = self._hears_before(ends_at)
            except (psycopg.Error, OSError):
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
            self._db = self._pool.dial_apart()
            self._db.execute(LISTEN)
        while not self._closed.is_set():
            left = ends_at - time.monotonic()
            with limited(Deadline(math.inf)):  # a server that has nothing to say is not silent
                heard = [*self._db.notifies(timeout=max(min(left, _SLICE_S), 0.0), stop_after=1)]
                # Those that are here already say the same: look again.
                heard += self._db.notifies(timeout=0)
            if any(not told.payload.endswith(self._origin()) for told in heard):
                return True
            if left <= 0:
                return False
        return False

    def _hang_up(self) -> None:
        if self._db is not None:
            db, self._db = self._db, None
            with suppress(psycopg.Error, OSError):
                self._pool.hang_up(db)

    def close(self) -> None:
        """Stop listening, and wake whoever waits."""
        self._closed.set()
        with self._lock:
            self._hang_up()
