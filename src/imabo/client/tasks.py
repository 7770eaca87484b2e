"""The side that awaits: steps are taken in an event loop, what waits is sent from a task."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from ssl import SSLContext
from typing import TYPE_CHECKING, Any, Final

from imabo.client.http import (
    RequestIds,
    failure_of,
    http_settings,
    keep_little_async,
    request_settings,
)
from imabo.client.operations import Answer, Failed, Reply, Send, Sleep, Step, Steps, T, Work
from imabo.client.outbox import Dispatch
from imabo.client.session import Session
from imabo.errors import StoreError

if TYPE_CHECKING:
    import httpx

_HURRY_S: Final = 0.1  # the longest pause between attempts while somebody waits for the outbox

_log = logging.getLogger(__name__)


class AsyncConnections:
    """Pooled connections to the service, for one event loop at a time."""

    def __init__(self, session: Session, verify: bool | SSLContext) -> None:
        self._session = session
        self._verify = verify
        self._ids = RequestIds()
        self._left: list[httpx.AsyncClient] = []
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # What to do as soon as there is an event loop.
        self.at_first: Callable[[], None] | None = None

    def leave(self) -> None:
        """Use the connections no more; they belong to a parent process or to another loop."""
        if self._http is not None:
            self._left.append(self._http)
            self._http = None

    async def run(self, steps: Steps[T]) -> T:
        """Take the steps of an operation and give its result."""
        first, self.at_first = self.at_first, None
        if first is not None:
            first()
        reply, error = None, None
        try:
            while True:
                step = steps.send(reply) if error is None else steps.throw(error)
                reply, error = None, None
                try:
                    reply = await self._take(step)
                except Exception as failure:  # the operation may have a way out
                    error = failure
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    async def _take(self, step: Step) -> Any:
        if isinstance(step, Send):
            return await self._send(step)
        if isinstance(step, Sleep):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Work):
            return await asyncio.to_thread(step.do)
        async with asyncio.timeout(step.seconds):
            return await self.run(step.steps)

    async def _send(self, step: Send) -> Reply:
        import httpx

        try:
            # A file may take its time, as long as it goes on.
            is_long = step.call.sink is not None or step.call.upload is not None
            async with asyncio.timeout(None if is_long else step.timeout_s):
                return await self._exchange(step)
        except TimeoutError:
            return Failed(f"no whole answer within {step.timeout_s} s")
        except (httpx.RequestError, httpx.InvalidURL, UnicodeError, RuntimeError) as error:
            return Failed(failure_of(error, is_closed=self._session.is_closed))

    async def _exchange(self, step: Send) -> Reply:
        call = step.call
        headers = self._session.headers | self._ids.header()
        settings = request_settings(call, headers, step.timeout_s)
        if call.upload is not None:
            settings |= {"content": call.upload.pieces_async()}
            settings |= {"extensions": {"trace": keep_little_async}}
        url = self._session.service.url + call.path
        async with self._open().stream(call.method, url, **settings) as response:
            if self._ids.is_shifted(response.headers, sent=headers):
                return Failed("the answer to another request")
            content = bytearray()
            async for chunk in response.aiter_bytes():
                if call.sink is not None and response.status_code == 200:
                    call.sink.write(chunk)
                else:
                    content += chunk
            return Answer(response.status_code, response.headers, bytes(content))

    def _open(self) -> httpx.AsyncClient:
        import httpx

        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self.leave()
            self._http, self._loop = httpx.AsyncClient(**http_settings(self._verify)), loop
        return self._http

    async def close(self) -> None:
        """Close the connections of this loop."""
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()


class AsyncSender:
    """Sends what waits in the outbox from a task that lives while there is something to send."""

    def __init__(self, session: Session, connections: AsyncConnections) -> None:
        self._session = session
        self._connections = connections
        self._dispatch = Dispatch(session.outbox)
        self.leave()

    def after_fork(self) -> None:
        """Begin anew in a child process."""
        self._dispatch = Dispatch(self._session.outbox)
        self.leave()

    def leave(self) -> None:
        """Forget a task that runs in a parent process or in another loop."""
        self._task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self._n_hurrying = 0
        self._is_woken = False

    def wake(self) -> None:
        """Begin to send."""
        loop = asyncio.get_running_loop()
        if self._task is not None and self._task.get_loop() is not loop:
            self.leave()
        self._is_woken = True
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._send_all(), name="imabo-outbox")

    async def flush(self, timeout_s: float) -> bool:
        """Wait until nothing waits to be sent, for so long at most; True when that is so."""
        if await self._count():
            self.wake()
        if self._task is not None and not self._task.done():
            self._n_hurrying += 1
            self._hurry.set()
            try:
                await asyncio.wait([self._task], timeout=timeout_s)
            finally:
                self._n_hurrying -= 1
                if not self._n_hurrying:
                    self._hurry.clear()
        return not await self._count()

    async def finish(self, timeout_s: float) -> None:
        """Send what waits, for so long at most, take no more and stop."""
        ends_at = time.monotonic() + timeout_s
        try:
            for _ in range(2):  # again for what was told while the last of it was under way
                # A child of a fork need not wait for what its parent left in a file.
                if self._session.outbox.may_hold:
                    await self.flush(max(ends_at - time.monotonic(), 0.0))
                self._session.close()
        except StoreError as error:
            _log.warning("%s", error)
        self._session.close()
        self._session.rest()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _count(self) -> int:
        outbox = self._session.outbox
        if outbox.is_durable:
            return await asyncio.to_thread(lambda: outbox.n_waiting)
        return outbox.n_waiting

    async def _send_all(self) -> None:
        while self._is_woken:
            self._is_woken = False
            while (pause_s := await self._send_once()) is not None:
                await self._rest(pause_s)
        self._session.rest()

    async def _send_once(self) -> float | None:
        try:
            steps = self._dispatch.send(self._session.service.timeout_s)
            return await self._connections.run(steps)
        except Exception:
            _log.exception("sending rewards failed")
            return self._dispatch.pause()

    async def _rest(self, seconds: float) -> None:
        if not self._hurry.is_set():
            # Not wait_for, which may swallow a cancellation that comes with the event.
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._hurry.wait()
        else:
            await asyncio.sleep(min(seconds, _HURRY_S))
