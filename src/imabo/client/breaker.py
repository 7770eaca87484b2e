"""The circuit breaker: a service that is away is left alone for a while."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Final

from imabo.client.delivery import Backoff

_THRESHOLD: Final = 5
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 30.0

_log = logging.getLogger(__name__)


class Breaker:
    """Says whether to try at all; several failures in a row begin a pause, which grows.

    After a pause one caller may try; when that fails too, the next pause is longer.

    Example:
        >>> now = 0.0
        >>> breaker = Breaker(clock=lambda: now, jitter=lambda: 1.0)
        >>> for _ in range(5):
        ...     breaker.record(False)
        >>> breaker.admits()
        False
        >>> now = 1.0
        >>> breaker.admits(), breaker.admits()
        (True, False)
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._backoff = Backoff(_FIRST_S, _LONGEST_S, jitter)
        self._n_failures = 0
        self._closed_until = 0.0
        self._is_trial = False
        self.after_fork()

    def after_fork(self) -> None:
        """Forget who held the lock."""
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """Whether the service may be tried now."""
        with self._lock:
            if self._n_failures < _THRESHOLD:
                return True
            if self._clock() < self._closed_until:
                return False
            # A trial that never reports back must not shut the service out for ever.
            self._closed_until = self._clock() + _LONGEST_S
            self._is_trial = True
            return True

    def record(self, got_through: bool) -> None:
        """What came of an attempt."""
        with self._lock:
            if got_through:
                if self._n_failures >= _THRESHOLD:
                    _log.info("the service answers again")
                self._n_failures, self._is_trial = 0, False
                self._backoff.reset()
                return
            self._n_failures += 1
            # Others that were under way when the pause began must not make it longer.
            if self._n_failures == _THRESHOLD or self._is_trial:
                pause = self._backoff.pause()
                self._closed_until, self._is_trial = self._clock() + pause, False
                # Said once: that it goes on is no news.
                level = logging.WARNING if self._n_failures == _THRESHOLD else logging.DEBUG
                _log.log(level, "the service does not answer; it is left alone for %.1f s", pause)
