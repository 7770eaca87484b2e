"""What each study's gauges say: read in bounded pieces, and not again before it has changed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from imabo.errors import ImaboError, NoControl, StoreError
from imabo.policies.counts import rate_of
from imabo.study import Study

RECENT: Final = 200  # rewards that the recent mean is of, at most
LOOK_BACK: Final = 1000  # requests among which they are looked for
_PAGE: Final = 200
_MAX_AGE_S: Final = 5.0  # of what is shown of a study that goes on
_BUDGET_S: Final = 1.0  # for all studies of one page; the rest is shown as it was

Lift = tuple[float, float, float]


@dataclass(slots=True)
class StudyGauges:
    """What is shown of a study; None where there is nothing to show."""

    reward_recent: float | None = None
    last_request_at: float | None = None
    lift: Lift | None = None
    seq: int = -1
    read_at: float = field(default=-math.inf)


class Gauges:
    """The studies' gauges, for whoever asks for metrics.

    A page costs at most a second of reading, however many studies there are, and none while the
    database is away: then the last values stay.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._known: WeakKeyDictionary[Study, StudyGauges] = WeakKeyDictionary()
        self._lock = threading.Lock()  # two who ask at once share one reading

    def read(self, studies: list[Study], *, is_away: bool) -> list[tuple[Study, StudyGauges]]:
        """The gauges of some studies."""
        with self._lock:
            until = self._now() + _BUDGET_S
            for study in studies:
                known = self._known.setdefault(study, StudyGauges())
                is_old = known.seq != study.seq and self._now() - known.read_at >= _MAX_AGE_S
                if is_old and not is_away and self._now() < until:
                    try:
                        self._known[study] = self._look(study, known)
                    except StoreError:
                        is_away = True
                    except ImaboError:
                        continue  # deleted a moment ago
            return [(study, self._known[study]) for study in studies]

    def _look(self, study: Study, known: StudyGauges) -> StudyGauges:
        seq, rewards, last_at = study.seq, [], None
        for after in _pages(study.n_pulls):
            pulls = study.store.pulls(study.name, after=after, limit=_PAGE)
            if pulls and last_at is None:
                last_at = pulls[-1].served_at
            rewards += [pull.reward for pull in reversed(pulls) if pull.reward is not None]
            if len(rewards) >= RECENT:
                break
        newest = rewards[:RECENT]
        if last_at is None and study.n_pulls:  # all were pruned; the last milestone is about then
            kept = study.store.milestones(study.name)
            last_at = kept[-1].at if kept else known.last_request_at
        mean = sum(newest) / len(newest) if newest else None
        return StudyGauges(mean, last_at, lift_of(study, known.lift), seq, self._now())


def _pages(n_pulls: int) -> Iterator[int]:
    """Where the newest pages of a study's pulls begin, the newest first."""
    for start in range(n_pulls, max(n_pulls - LOOK_BACK, 0), -_PAGE):
        yield max(start - _PAGE, 0)


def feedback_rate(study: Study) -> float | None:
    """The share of a study's requests that bring a reward, as the page says it."""
    totals = study.view.totals
    return rate_of(totals, study.window_s is not None) if totals.n_pulls else None


def lift_of(study: Study, known: Lift | None = None) -> Lift | None:
    """The lift of a study over its control, with both ends; None where it is not known.

    While a request holds the study, as one does that waits for the database, it is the last one:
    metrics are wanted most when something hangs.
    """
    if study.rollout.control is None:
        return None
    try:
        found = study.lift_unless_busy()
    except NoControl:
        return None
    if found is None:
        return known
    if found.estimate is None or found.interval is None:
        return None
    shown = found.estimate, *found.interval
    return shown if all(map(math.isfinite, shown)) else None
