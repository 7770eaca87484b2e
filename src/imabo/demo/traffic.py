"""The traffic: requests at a steady pace, and ratings that arrive when their users get to it."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from imabo.demo.live_study import Live
from imabo.demo.world import Visit
from imabo.space import Config

_MOST_LATE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a user was served."""

    visit: Visit
    config: Config
    is_default: bool
    is_control: bool = False


class Inbox:
    """Ratings on their way, in the order in which they arrive."""

    def __init__(self) -> None:
        self._coming: list[tuple[float, str, float]] = []

    def expect(self, at: float, pull_id: str, reward: float) -> None:
        """A rating will arrive at a simulated time."""
        heapq.heappush(self._coming, (at, pull_id, reward))

    def arrived(self, now: float) -> Iterator[tuple[str, float]]:
        """Take out what has arrived by now."""
        while self._coming and self._coming[0][0] <= now:
            _, pull_id, reward = heapq.heappop(self._coming)
            yield pull_id, reward


class Pace:
    """One request every so many seconds (0: as fast as it goes).

    After a delay no more than a second is caught up on.
    """

    def __init__(self, request_s: float) -> None:
        self._request_s = request_s
        self._began = time.monotonic()

    def wait_for(self, n: int) -> None:
        """Wait until request ``n`` is due."""
        if not self._request_s:
            return
        left = self._began + n * self._request_s - time.monotonic()
        if left > 0:
            time.sleep(left)
        elif left < -_MOST_LATE_S:
            self._began -= left + _MOST_LATE_S  # users do not come in crowds to make up for it


def serve(study: Live, visit: Visit, inbox: Inbox) -> Reply:
    """Serve one user, and report the ratings that have arrived by then."""
    for pull_id, reward in inbox.arrived(visit.n):
        study.tell(pull_id, reward)
    pull = study.ask(visit.n)
    if visit.rated_at is not None:
        inbox.expect(visit.rated_at, pull.id, float(visit.is_good(pull.config)))
    return Reply(visit, pull.config, pull.reason == "default", pull.group == "control")
