"""The side that awaits: steps are taken in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from ssl import SSLContext
from typing import TYPE_CHECKING, Any

from imabo.client.http import (
    Failed,
    HttpAnswer,
    RequestIds,
    failure_of,
    http_settings,
    keep_little_async,
    request_settings,
)
from imabo.client.session import Session
from imabo.client.steps import AsyncRunner, Reply, Send, Sleep, Step, Steps, T, Work, install

if TYPE_CHECKING:
    import httpx


class Asyncio:
    """The side that awaits: its methods are coroutines."""

    _run: AsyncRunner

    def __init_subclass__(cls) -> None:
        def awaited(make: Callable[..., Steps[T]]) -> Callable[..., Coroutine[Any, Any, T]]:
            async def method(self: Asyncio, *args: Any, **settings: Any) -> T:
                return await self._run(make(self, *args, **settings))

            return method

        install(cls, awaited)


class AsyncHttpConnections:
    """Pooled connections to the service, for one event loop at a time."""

    def __init__(self, session: Session, verify: bool | SSLContext) -> None:
        self._session = session
        self._verify = verify
        self._ids = RequestIds()
        self._left: list[httpx.AsyncClient] = []
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def leave(self) -> None:
        """Use the connections no more; they belong to a parent process or to another loop."""
        if self._http is not None:
            self._left.append(self._http)
            self._http = None

    async def run(self, steps: Steps[T]) -> T:
        """Take the steps of an operation and give its result."""
        reply, error = None, None
        self._session.loop = asyncio.get_running_loop()
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
            error = None  # its traceback has this frame

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
            return HttpAnswer(response.status_code, response.headers, bytes(content))

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
