"""What a client says in the log: each kind of trouble once in a while, with a count."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from imabo.client.addresses import in_words

EVERY_S: Final = 60.0

_log = logging.getLogger(__name__)


class Trouble:
    """One kind of trouble: how often it came, and whether it is time to speak of it again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._n_untold = 0
        self._told_at: float | None = None
        self.after_fork()

    def after_fork(self) -> None:
        """Forget who held the lock, and what the parent will speak of."""
        self._lock = threading.Lock()
        self._n_untold = 0

    def add(self, count: int) -> int:
        """Count more of it; how many to speak of now, 0 when the last message is not long ago."""
        with self._lock:
            self._n_untold += count
            if self._told_at is not None and self._clock() - self._told_at < EVERY_S:
                return 0
            return self._tell()

    def rest(self) -> int:
        """How many were not spoken of yet, at the end."""
        with self._lock:
            return self._tell() if self._n_untold else 0

    def _tell(self) -> int:
        count, self._n_untold, self._told_at = self._n_untold, 0, self._clock()
        return count


class Reports:
    """The log of one client's rewards: those that wait, were refused, or were dropped."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._clock = clock
        self._troubles = [Trouble(clock) for _ in range(4)]
        self._waiting, self._refused, self._dropped, self._broken = self._troubles
        self._failing_since: float | None = None
        self._last_refusal = ""

    def after_fork(self) -> None:
        """Begin anew in a child process."""
        self._failing_since = None
        for trouble in self._troubles:
            trouble.after_fork()

    def failed(self, count: Callable[[], int], why: object) -> None:
        """The service did not take what waits; ``count`` says how much that is."""
        if self._failing_since is None:
            self._failing_since = self._clock()
        if self._waiting.add(1):
            _log.warning(
                "%d rewards wait for the service at %s, which has not taken them for %.0f s: %s",
                count(), self._url, self._clock() - self._failing_since, why,
            )  # fmt: skip

    def delivered(self) -> None:
        """Nothing waits any more."""
        since, self._failing_since = self._failing_since, None
        if since is not None:
            _log.info(
                "the service at %s took all rewards that waited, after %.0f s",
                self._url, self._clock() - since,
            )  # fmt: skip

    def refused(self, count: int, pull_id: str, why: object) -> None:
        """The service will never take these rewards; one of them is an example."""
        self._last_refusal = f"the last was that of {in_words(pull_id)}: {why}"
        self._say_refused(self._refused.add(count))

    def dropped(self, count: int) -> None:
        """There was no room for these rewards."""
        self._say_dropped(self._dropped.add(count))

    def broken(self, why: object) -> None:
        """The outbox itself cannot be used."""
        if self._broken.add(1):
            _log.warning("rewards cannot be sent: %s", why)

    def closing(self, n_lost: int = 0) -> None:
        """Say what was not said yet, and how many rewards end with the client."""
        self._say_refused(self._refused.rest())
        self._say_dropped(self._dropped.rest())
        if n_lost:
            _log.warning("%d rewards could not be delivered and are lost", n_lost)

    def _say_refused(self, count: int) -> None:
        if count:
            _log.warning("%d rewards were refused; %s", count, self._last_refusal)

    def _say_dropped(self, count: int) -> None:
        if count:
            _log.warning("the outbox is full; %d rewards were dropped, the oldest first", count)
