"""Taking the steps of an operation in the calling thread."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from ssl import SSLContext
from typing import TYPE_CHECKING, Final

from imabo.client.http import RequestIds, failed, http_settings, request_settings
from imabo.client.operations import Answer, Failed, Send, Sleep, Steps, T, Work
from imabo.client.session import Session
from imabo.errors import StoreError

if TYPE_CHECKING:
    import httpx

_HURRY_S: Final = 0.1  # the longest pause between attempts while somebody waits for the outbox

_log = logging.getLogger(__name__)


class Transport:
    """Pooled connections to the service."""

    def __init__(self, session: Session, verify: bool | SSLContext) -> None:
        self._session = session
        self._verify = verify
        self._ids = RequestIds()
        self._inherited: list[httpx.Client] = []
        self._http: httpx.Client | None = None
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """Leave the parent's connections alone: to close them here could disturb them there."""
        self._lock = threading.Lock()
        if self._http is not None:
            self._inherited.append(self._http)
            self._http = None

    def run(self, steps: Steps[T]) -> T:
        """Take the steps of an operation and give its result."""
        reply: Answer | Failed | None = None
        try:
            while True:
                step = steps.send(reply)
                if isinstance(step, Sleep):
                    time.sleep(step.seconds)
                    reply = None
                elif isinstance(step, Work):
                    step.do()
                    reply = None
                else:
                    reply = self._send(step)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    def _send(self, step: Send) -> Answer | Failed:
        import httpx

        call = step.call
        headers = self._session.headers | self._ids.header()
        ends_at = math.inf if call.is_long else time.monotonic() + step.timeout_s
        try:
            settings = request_settings(call, headers, step.timeout_s)
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
                return Answer(response.status_code, response.headers, bytes(content))
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError, RuntimeError) as error:
            return failed(error, self._session)

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

    def __init__(self, session: Session, run: Callable[[Steps[float | None]], float | None]):
        self._session = session
        self._run = run
        self.after_fork()

    def after_fork(self) -> None:
        """Begin without a thread."""
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
            # A child of a fork need not wait for what its parent left in a file.
            if self._session.outbox.may_hold:
                self.flush(timeout_s)
            self._session.close()
            # What was told while the last of it was under way.
            if self._session.outbox.may_hold:
                self.flush(max(ends_at - time.monotonic(), 0.0))
        except StoreError as error:
            _log.warning("%s", error)
        self._session.close()
        self._stop()

    def _stop(self) -> None:
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
            return self._run(self._session.dispatch.send(timeout_s))
        except Exception:
            _log.exception("sending rewards failed")
            return self._session.dispatch.pause()

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._n_hurrying or self._is_stopped, seconds)
            if self._n_hurrying and not self._is_stopped:
                self._changed.wait_for(lambda: self._is_stopped, min(seconds, _HURRY_S))
