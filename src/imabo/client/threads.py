"""The side that waits: steps are taken in the calling thread, what waits is sent from another."""

from __future__ import annotations

import contextvars
import logging
import math
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Final

from imabo.client.http import (
    Failed,
    HttpAnswer,
    RequestIds,
    failure_of,
    http_settings,
    keep_little,
    request_settings,
)
from imabo.client.outbox import Dispatch
from imabo.client.session import Session
from imabo.client.steps import Reply, Runner, Send, Sleep, Step, Steps, T, Work, install
from imabo.errors import StoreError

if TYPE_CHECKING:
    import httpx

_HURRY_S: Final = 0.1  # the longest pause between attempts while somebody waits for the outbox
_NUDGE_S: Final = 0.25  # between two turns that an event loop is made to take while rewards wait
_MOST_THREADS: Final = 64
_IDLE_S: Final = 10.0

_log = logging.getLogger(__name__)


class Blocking:
    """The side that waits: its methods take their steps in the calling thread."""

    _run: Runner

    def __init_subclass__(cls) -> None:
        def waiting(make: Callable[..., Steps[T]]) -> Callable[..., T]:
            def method(self: Blocking, *args: Any, **settings: Any) -> T:
                return self._run(make(self, *args, **settings))

            return method

        install(cls, waiting)


class HttpConnections:
    """Pooled connections to the service, and threads for what must end in time."""

    def __init__(self, session: Session, verify: bool | SSLContext) -> None:
        self._session = session
        self._verify = verify
        self._ids = RequestIds()
        self._inherited: list[httpx.Client] = []
        self._http: httpx.Client | None = None
        self._lock = threading.Lock()
        self._workers = Workers()

    def after_fork(self) -> None:
        """Leave the parent's connections alone: to close them here could disturb them there."""
        self._lock = threading.Lock()
        self._workers.after_fork()
        if self._http is not None:
            self._inherited.append(self._http)
            self._http = None

    def run(self, steps: Steps[T]) -> T:
        """Take the steps of an operation and give its result."""
        reply, error = None, None
        try:
            while True:
                step = steps.send(reply) if error is None else steps.throw(error)
                reply, error = None, None
                try:
                    reply = self._take(step)
                except Exception as failure:  # the operation may have a way out
                    error = failure
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()
            error = None  # its traceback has this frame

    def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return self._send(step)
        if isinstance(step, Sleep):
            return time.sleep(step.seconds)
        if isinstance(step, Work):
            return step.do()
        return self._workers.run(lambda: self.run(step.steps), step.seconds)

    def _send(self, step: Send) -> Reply:
        import httpx

        call = step.call
        headers = self._session.headers | self._ids.header()
        is_long = call.sink is not None or call.upload is not None
        ends_at = math.inf if is_long else time.monotonic() + step.timeout_s
        try:
            settings = request_settings(call, headers, step.timeout_s)
            if call.upload is not None:
                settings |= {"content": call.upload.pieces(), "extensions": {"trace": keep_little}}
            url = self._session.service.url + call.path
            with self._open().stream(call.method, url, **settings) as response:
                if self._ids.is_shifted(response.headers, sent=headers):
                    return Failed("the answer to another request")
                content = bytearray()
                for chunk in response.iter_bytes():
                    if call.sink is not None and response.status_code == 200:
                        call.sink.write(chunk)
                    else:
                        content += chunk
                        if time.monotonic() > ends_at:
                            return Failed(f"no whole answer within {step.timeout_s} s")
                return HttpAnswer(response.status_code, response.headers, bytes(content))
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError, RuntimeError) as error:
            return Failed(failure_of(error, is_closed=self._session.is_closed))

    def _open(self) -> httpx.Client:
        import httpx

        with self._lock:
            if self._http is None:
                self._http = httpx.Client(**http_settings(self._verify))
            return self._http

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            if self._http is not None:
                self._http.close()


class Sender:
    """Sends what waits in the outbox from a thread that lives while there is something to send."""

    def __init__(self, session: Session, connections: HttpConnections) -> None:
        self._session = session
        self._connections = connections
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without a thread."""
        self._dispatch = Dispatch(self._session.outbox)
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._n_hurrying = 0
        self._is_stopped = False

    def wake(self) -> None:
        """Begin to send."""
        with self._changed:
            if self._thread is None and not self._is_stopped:
                thread = threading.Thread(target=self._send_all, name="imabo-outbox", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return  # the program ends; flush sends what waits itself
                self._thread = thread

    def flush(self, timeout_s: float) -> bool:
        """Wait until nothing waits to be sent, for so long at most; True when that is so."""
        ends_at = time.monotonic() + timeout_s
        outbox = self._session.outbox
        if not outbox.n_waiting:
            return True
        self.wake()
        with self._changed:
            self._n_hurrying += 1
            self._changed.notify_all()
            if self._thread is not None:
                self._changed.wait_for(lambda: not self._has_more(), timeout_s)
            self._n_hurrying -= 1
            has_thread = self._thread is not None
        # At the end of the program no thread can be had.
        while not has_thread and time.monotonic() < ends_at:
            pause_s = self._send_once(ends_at - time.monotonic())
            if pause_s is None:
                break
            time.sleep(min(pause_s, _HURRY_S, max(ends_at - time.monotonic(), 0.0)))
        return not outbox.n_waiting

    def finish(self, timeout_s: float) -> None:
        """Send what waits, for so long at most, take no more and stop."""
        ends_at = time.monotonic() + timeout_s
        try:
            for _ in range(2):  # again for what was told while the last of it was under way
                # A child of a fork need not wait for what its parent left in a file.
                if self._session.outbox.may_hold:
                    self.flush(max(ends_at - time.monotonic(), 0.0))
                self._session.close()
        except StoreError as error:
            _log.warning("%s", error)
        self._session.close()
        with self._changed:
            self._is_stopped = True
            self._session.rest()
            self._changed.notify_all()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                if self._is_stopped or not self._has_more():
                    self._thread = None
                    self._session.rest()
                    self._changed.notify_all()
                    return
            pause_s = self._send_once()
            if pause_s:
                self._rest(pause_s)

    def _has_more(self) -> bool:
        try:
            return bool(self._session.outbox.n_waiting)
        except StoreError:
            return True  # the next attempt tells, in the log

    def _send_once(self, limit_s: float = math.inf) -> float | None:
        timeout_s = max(min(self._session.service.timeout_s, limit_s), 0.001)
        try:
            return self._connections.run(self._dispatch.send(timeout_s))
        except Exception:
            _log.exception("sending rewards failed")
            return self._dispatch.pause()

    def _rest(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        with self._changed:
            while not (self._n_hurrying or self._is_stopped) and time.monotonic() < ends_at:
                self._nudge()
                self._changed.wait(min(ends_at - time.monotonic(), _NUDGE_S))
            if self._n_hurrying and not self._is_stopped:
                self._changed.wait_for(lambda: self._is_stopped, min(seconds, _HURRY_S))

    def _nudge(self) -> None:
        """Let the event loop of an asyncio client take a turn.

        Python handles a signal between two steps of the main thread. One that comes just as a loop
        begins to wait would be handled at the loop's next event, which may never come.
        """
        if self._session.loop is not None:
            with suppress(RuntimeError):  # it is closed
                self._session.loop.call_soon_threadsafe(lambda: None)


class Workers:
    """A pool of daemon threads for work with a deadline, made when needed and gone when idle.

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
        self._jobs: queue.Queue[tuple[Future[Any], Callable[[], Any]]] = queue.Queue()
        self._n_threads = 0
        self._n_jobs = 0

    def run(self, work: Callable[[], T], timeout_s: float) -> T:
        """What ``work()`` returns or raises; ``TimeoutError`` when that takes too long."""
        job: Future[T] = Future()
        with self._lock:
            self._n_jobs += 1
            self._jobs.put((job, partial(contextvars.copy_context().run, work)))
            if self._n_jobs > self._n_threads and self._n_threads < _MOST_THREADS:
                try:
                    threading.Thread(target=self._serve, name="imabo-ask", daemon=True).start()
                    self._n_threads += 1
                except RuntimeError:
                    # No thread can be had, at the end of the program say.
                    timeout_s = timeout_s if self._n_threads else 0.0
        try:
            return job.result(timeout_s)
        finally:
            job.cancel()  # if nobody began it, nobody need

    def _serve(self) -> None:
        while True:
            try:
                job, work = self._jobs.get(timeout=_IDLE_S)
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._n_threads -= 1
                        return
                continue
            if job.set_running_or_notify_cancel():
                try:
                    job.set_result(work())
                except BaseException as error:  # the caller raises it
                    job.set_exception(error)
            with self._lock:
                self._n_jobs -= 1
