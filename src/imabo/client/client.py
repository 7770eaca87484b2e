"""The clients: studies of a service, for code that waits and for code that awaits."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from ssl import SSLContext
from typing import Final, Self, TypeVar

from imabo.client.answers import RemoteFacts
from imabo.client.methods import ClientMethods, check_timeout
from imabo.client.study import AsyncRemoteStudy, RemoteStudy
from imabo.client.tasks import AsyncHttpConnections, Asyncio
from imabo.client.threads import Blocking
from imabo.errors import StoreError

_log: Final = logging.getLogger(__name__)
_TURN_S: Final = 0.25
_SIZE_IN_MEMORY: Final = 10_000
_SIZE_IN_FILE: Final = 1_000_000

AnyStudy = TypeVar("AnyStudy", RemoteStudy, AsyncRemoteStudy)


class Client(ClientMethods[RemoteStudy], Blocking):
    """Studies of a service that runs elsewhere, with the methods of ``Study``.

    Make one for a process and keep it: it holds the connections, and the rewards that could not be
    delivered yet. All methods may be called from any thread; after a fork the child has connections
    of its own. Extra: ``client``.

    Args:
        url: Where the service is, such as ``http://127.0.0.1:8766``.
        key: The access key, when the service asks for one.
        timeout_s: How long one attempt may take, in seconds; above 0.
        retries: How many attempts follow the first when the service does not answer; at least 0.
        outbox: A file that keeps the rewards which could not be delivered yet, so that they outlive
            the process; it is made when it is not there. Processes of one host may share it. By
            default they are kept in memory.
        outbox_size: How many rewards are kept for later while the service is away; by default
            10,000 in memory and 1,000,000 in a file. When there are more, the oldest is dropped and
            counted in ``n_dropped``; a file drops none, and ``tell`` raises ``OutboxFull``.
        flush_s: How long ``close``, the end of the program and SIGTERM wait for these; at least 0.
        handle_sigterm: Whether to send what waits before SIGTERM ends the process. That is done
            only where the program has no handler of its own, and the client is made in the main
            thread.
        verify: Whether to check the certificate of an https address, or the context to do it with.

    Example:
        >>> with Client("http://127.0.0.1:1", retries=0) as client:  # nobody answers there
        ...     study = client.study("support-answers")
        ...     pull = study.ask(default={"model": "small"})
        >>> pull.config, pull.reason
        ({'model': 'small'}, 'default')
    """

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until no reward waits any more, for so long at most; says whether that is so."""
        check_timeout("timeout_s", timeout_s)
        return self._sender.flush(timeout_s)

    def close(self) -> None:
        """Send the rewards that wait (for ``flush_s`` at most) and close the connections."""
        self._finish(0.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _connect(self, verify: bool | SSLContext) -> None:
        self._run = self._connections.run

    def _study(self, name: str, known: RemoteFacts | None = None) -> RemoteStudy:
        return RemoteStudy(self._session, self._run, name, known)


class AsyncClient(ClientMethods[AsyncRemoteStudy], Asyncio):
    """The twin of ``Client`` for asyncio: the same methods, to be awaited.

    Make one for a process and keep it; use it from one event loop at a time. Its arguments are
    those of ``Client``. Use ``async with``, or await ``close()``. Rewards that wait are sent from a
    thread, so that they need no loop that goes on. Extra: ``client``.

    Example:
        >>> import asyncio
        >>> async def answer() -> str:
        ...     async with AsyncClient("http://127.0.0.1:1", retries=0) as client:
        ...         study = client.study("support-answers")  # nobody answers there
        ...         pull = await study.ask(default={"model": "small"})
        ...     return pull.reason
        >>> asyncio.run(answer())
        'default'
    """

    async def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until no reward waits any more, for so long at most; says whether that is so."""
        check_timeout("timeout_s", timeout_s)
        return await self._flushed(timeout_s)

    async def close(self) -> None:
        """Send the rewards that wait (for ``flush_s`` at most) and close the connections."""
        began = time.monotonic()
        if not self._session.is_closed and self._session.outbox.may_hold:
            with suppress(StoreError):  # the end says so
                await self._flushed(self._session.flush_s)
        await asyncio.to_thread(self._finish, time.monotonic() - began)
        await self._awaited.close()

    async def _flushed(self, timeout_s: float) -> bool:
        ends_at = time.monotonic() + timeout_s
        # In short turns: a thread would go on waiting for somebody who was cancelled.
        while (left_s := ends_at - time.monotonic()) > 0.0:
            if await asyncio.to_thread(self._sender.flush, min(left_s, _TURN_S)):
                return True
        return not await asyncio.to_thread(lambda: self.n_waiting)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def _connect(self, verify: bool | SSLContext) -> None:
        self._awaited = AsyncHttpConnections(self._session, verify)
        self._run = self._awaited.run

    def _study(self, name: str, known: RemoteFacts | None = None) -> AsyncRemoteStudy:
        return AsyncRemoteStudy(self._session, self._run, name, known)

    def _after_fork(self, is_child: bool) -> None:
        super()._after_fork(is_child)
        if is_child:
            self._awaited.leave()


# --- settings -----------------------------------------------------------------------------------
