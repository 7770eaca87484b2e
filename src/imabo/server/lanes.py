"""Threads that work for studies, each in a lane of its own: one that is stuck stops no other."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

_log: Final = logging.getLogger("imabo.server")

Job = Callable[[], None]

MOST_THREADS: Final = 8


class Lanes:
    """Does the jobs of each study in order, one at a time, and those of other studies meanwhile.

    A lane that has jobs waits for a thread; after one job it goes to the end of those that wait.
    There are as many threads as there were ever lanes with jobs at once, up to a limit. So a study
    whose job takes long, or waits for a lock, keeps one thread; when as many studies as there may
    be threads are stuck, the others wait for the first of them.

    Args:
        most: How many threads there may be.

    Example:
        >>> lanes = Lanes()
        >>> done = threading.Event()
        >>> lanes.put("a study", done.set)
        >>> done.wait(10.0)
        True
        >>> lanes.close()
    """

    def __init__(self, most: int = MOST_THREADS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._jobs: dict[str, deque[Job]] = {}  # a study is here while it waits or is worked on
        self._since: dict[str, float] = {}  # when the job under way began
        self._ready: SimpleQueue[str | None] = SimpleQueue()
        self._n_threads = 0
        self._is_closed = False

    def put(self, study: str, job: Job) -> None:
        """Do a job of a study after those that wait already; nothing, once it is closed."""
        with self._lock:
            if self._is_closed:
                return
            jobs = self._jobs.get(study)
            if jobs is not None:
                jobs.append(job)
                return
            self._jobs[study] = deque((job,))
            if len(self._jobs) > self._n_threads and self._n_threads < self._most:
                self._n_threads += 1
                name = f"imabo-lane-{self._n_threads}"
                threading.Thread(target=self._work, name=name, daemon=True).start()
        self._ready.put(study)

    def stuck(self, longer_than_s: float) -> list[str]:
        """The studies whose job has been under way for longer than that."""
        before = time.monotonic() - longer_than_s
        return [study for study, since in list(self._since.items()) if since < before]

    def close(self) -> None:
        """Take no more jobs, and let the threads end when they are done with theirs."""
        with self._lock:
            self._is_closed = True
            n_threads = self._n_threads
        for _ in range(n_threads):
            self._ready.put(None)

    def _work(self) -> None:
        while (study := self._ready.get()) is not None:
            with self._lock:
                job = self._jobs[study].popleft()
                self._since[study] = time.monotonic()
            try:
                job()
            except Exception as error:  # the thread must live as long as the process
                _log.error("a job of a study failed", exc_info=error)
            del job  # what it holds need not outlive it
            with self._lock:
                del self._since[study]
                has_more = bool(self._jobs[study])
                if not has_more:
                    del self._jobs[study]
            if has_more:
                self._ready.put(study)
