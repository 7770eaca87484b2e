"""What is known of a study for people to look at, and what was made of it: once for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from imabo import insight
from imabo.study import Study

MAX_AGE_S: Final = 1.0
SHARE: Final = 0.1  # of a core's time that looking at one study may take, at most
LONGEST_S: Final = 30.0  # that facts are kept while the study goes on, however slow the machine
MOST_KEPT: Final = 32  # answers that are kept of one study
MOST_BYTES: Final = 2**18  # of an answer that is kept


@dataclass
class _Reading:
    lock: threading.Lock = field(default_factory=threading.Lock)
    facts: insight.StudySnapshot | None = None
    is_stale: bool = False
    checked_at: float = 0.0
    spent_s: float = 0.0
    kept: dict[Hashable, bytes] = field(default_factory=dict)


class InsightCache:
    """The facts of studies: those who look at the same time share one read.

    Facts are looked up again after a second, and read again when the study has changed. When
    reading and drawing took long, they stay for ten times as long: a page that is open costs a
    bounded share of a core, whatever the number of people and of arms.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        # By the study itself: one that was deleted and made again is another.
        self._readings: WeakKeyDictionary[Study, _Reading] = WeakKeyDictionary()

    def facts(self, study: Study) -> insight.StudySnapshot:
        """What is known of a study; blocks."""
        return self._read(study)[1]

    def answer(
        self, study: Study, key: Hashable, make: Callable[[insight.StudySnapshot], bytes]
    ) -> bytes:
        """What is made of the facts of a study, once for all who ask for the same; blocks."""
        reading, facts = self._read(study)
        known = reading.kept.get(key)
        if known is not None and reading.facts is facts:
            return known
        began = self._now()
        made = make(facts)
        with reading.lock:
            if reading.facts is facts:
                reading.spent_s += self._now() - began
                if len(made) <= MOST_BYTES:
                    reading.kept[key] = made
                if len(reading.kept) > MOST_KEPT:
                    del reading.kept[next(iter(reading.kept))]
        return made

    def forget(self, study: Study) -> None:
        """Read a study again when it is next looked at: it was just changed by hand."""
        with self._lock:
            reading = self._readings.get(study)
        if reading is not None:
            with reading.lock:
                reading.is_stale = True

    def _read(self, study: Study) -> tuple[_Reading, insight.StudySnapshot]:
        with self._lock:
            reading = self._readings.setdefault(study, _Reading())
        with reading.lock:
            now = self._now()
            facts = reading.facts
            rest_s = min(max(MAX_AGE_S, reading.spent_s / SHARE), LONGEST_S)
            if facts is None or reading.is_stale or now - reading.checked_at > rest_s:
                if facts is not None and not reading.is_stale:
                    study.refresh()
                if facts is None or reading.is_stale or study.seq != facts.seq:
                    facts = reading.facts = insight.read(study, since=facts)
                    reading.kept.clear()
                    reading.spent_s = self._now() - now
                    reading.is_stale = False
                reading.checked_at = now
            return reading, facts
