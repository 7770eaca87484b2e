"""Models that failed several times in a row: a fallback answers in their place for a while."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from imabo.client.session import Backoff
from imabo.gateway.settings import Target

_THRESHOLD: Final = 5  # failures in a row
_FIRST_S: Final = 1.0  # the first pause; the next are longer, as long as trials fail
_LONGEST_S: Final = 30.0

_log: Final = logging.getLogger("imabo.gateway")


class Breaker:
    """Says whether a model of an upstream may be tried; after a pause, one request tries.

    Each is used from one event loop, so nothing is locked.

    Example:
        >>> breaker, at = Breaker("local/small", clock=lambda: at[0]), [0.0]
        >>> for _ in range(5):
        ...     breaker.admits(), breaker.record(False)
        (True, None)
        (True, None)
        (True, None)
        (True, None)
        (True, None)
        >>> breaker.admits()
        False
        >>> at[0] = 2.0
        >>> breaker.admits(), breaker.admits()
        (True, False)
        >>> breaker.record(True), breaker.admits()
        (None, True)
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._name, self._clock = name, clock
        self._backoff = Backoff(_FIRST_S, _LONGEST_S)
        self._n_failures = 0
        self._closed_until = 0.0
        self._is_trial = False

    def admits(self) -> bool:
        """Whether it may be tried now; who is told so must ``record`` or ``release``."""
        if self._n_failures < _THRESHOLD:
            return True
        if self._is_trial or self._clock() < self._closed_until:
            return False
        self._is_trial = True
        return True

    def record(self, got_through: bool) -> None:
        """What came of an attempt."""
        if got_through:
            if self._n_failures >= _THRESHOLD:
                _log.info("%s answers again", self._name)
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
            words = "%s failed %d times in a row; its routes' fallbacks answer for %.1f s"
            _log.log(level, words, self._name, self._n_failures, pause)

    def release(self) -> None:
        """An attempt ended without a verdict, because its caller went: another one may try."""
        self._is_trial = False


class Breakers:
    """One for each model of an upstream: a server may have lost one model and not the others."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Breaker] = {}

    def of(self, target: Target) -> Breaker:
        """The one of a model."""
        key = (target.upstream.name, target.model)
        found = self._known.get(key)
        if found is None:
            name = f"model {target.model!r} of upstream {target.upstream.name!r}"
            found = self._known[key] = Breaker(name)
        return found
