"""Work with a hard deadline: done in a thread that the caller stops waiting for."""

from __future__ import annotations

import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_MOST_THREADS: Final = 64
_IDLE_S: Final = 10.0


class Workers:
    """A pool of daemon threads, made when needed and gone when idle.

    A socket's timeout bounds one read, not a call: a name that does not resolve, or an answer that
    comes byte by byte, would keep the caller. Here the caller leaves on time; the thread ends later
    and what it brings is dropped.

    Example:
        >>> Workers().run(lambda: 6 * 7, timeout_s=5.0)
        42
    """

    def __init__(self) -> None:
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without threads: a child process has none of its parent's."""
        self._lock = threading.Lock()
        self._jobs: queue.Queue[_Job] = queue.Queue()
        self._n_threads = 0
        self._n_jobs = 0

    def run(self, work: Callable[[], T], timeout_s: float) -> T:
        """What ``work()`` returns or raises; ``TimeoutError`` when that takes too long."""
        job = _Job(work)
        with self._lock:
            self._n_jobs += 1
            self._jobs.put(job)
            if self._n_jobs > self._n_threads and self._n_threads < _MOST_THREADS:
                try:
                    threading.Thread(target=self._serve, name="imabo-ask", daemon=True).start()
                    self._n_threads += 1
                except RuntimeError:
                    # No thread can be had, at the end of the program say: the job times out.
                    job.is_abandoned = self._n_threads == 0
        if job.is_abandoned or not job.is_done.wait(timeout_s):
            job.is_abandoned = True
            raise TimeoutError
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def _serve(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._n_threads -= 1
                        return
                continue
            job.do()
            with self._lock:
                self._n_jobs -= 1


class _Job:
    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._context = contextvars.copy_context()
        self.is_done = threading.Event()
        self.is_abandoned = False
        self.result: Any = None
        self.error: BaseException | None = None

    def do(self) -> None:
        if self.is_abandoned:
            return
        try:
            self.result = self._context.run(self._work)
        except BaseException as error:  # the caller raises it
            self.error = error
        self.is_done.set()
