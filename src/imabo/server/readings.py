"""What is known of a study for people to look at, read at most about once a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from imabo import insight
from imabo.study import Study

MAX_AGE_S: Final = 1.0


@dataclass
class _Reading:
    lock: threading.Lock = field(default_factory=threading.Lock)
    facts: insight.Facts | None = None
    read_at: float = 0.0


class Readings:
    """The facts of studies: those who look at the same time share one read.

    Args:
        now: Seconds that only go forwards.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        # By the study itself: one that was deleted and made again is another.
        self._readings: WeakKeyDictionary[Study, _Reading] = WeakKeyDictionary()

    def facts(self, study: Study) -> insight.Facts:
        """What is known of a study; blocks."""
        with self._lock:
            reading = self._readings.setdefault(study, _Reading())
        with reading.lock:
            now = self._now()
            if reading.facts is None or now - reading.read_at > MAX_AGE_S:
                reading.facts = insight.read(study)
                reading.read_at = now
            return reading.facts

    def forget(self, study: Study) -> None:
        """Read a study again when it is next looked at: it was just changed by hand."""
        with self._lock:
            self._readings.pop(study, None)
