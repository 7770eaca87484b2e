"""The keys of asks that a client answered with its default: no study has a pull for them."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import Final

from imabo.client.reports import Trouble

_MOST: Final = 100_000  # keys; the oldest are forgotten beyond that

_log = logging.getLogger(__name__)


class DefaultKeys:
    """Remembers which keys stand for the default, so that their rewards go to no arm.

    The service may know such a key all the same: the ask may have reached it, and only the answer
    came too late. A reward told by that key would be that of the default, and count for an arm that
    nobody was served with.

    Example:
        >>> keys = DefaultKeys()
        >>> keys.add("support-answers", "order-3")
        >>> keys.drops("support-answers", "order-3"), keys.drops("support-answers", "order-4")
        (True, False)
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._keys: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._trouble = Trouble()
        self.after_fork()

    def after_fork(self) -> None:
        """Forget who held the lock."""
        self._lock = threading.Lock()
        self._trouble.after_fork()

    def add(self, study: str, key: str) -> None:
        """An ask with this key was answered with the default."""
        with self._lock:
            self._keys[study, key] = None
            self._keys.move_to_end((study, key))
            if len(self._keys) > self._most:
                self._keys.popitem(last=False)

    def discard(self, study: str, key: str) -> None:
        """The study answered an ask with this key."""
        if self._keys:
            with self._lock:
                self._keys.pop((study, key), None)

    def drops(self, study: str, key: str) -> bool:
        """Whether the reward of a key belongs to a default; if so, the log says what became of it.

        Once in a while, with a count: in an outage there may be many.
        """
        if (study, key) not in self._keys:
            return False
        if count := self._trouble.add(1):
            _log.warning(
                "%d rewards were dropped; the last was that of key %r of study %r: its ask was "
                "answered with the default, so no arm is to be credited",
                count, key, study,
            )  # fmt: skip
        return True
