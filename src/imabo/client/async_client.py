"""The asyncio client: studies of a service, for code that awaits."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from ssl import SSLContext
from typing import IO, Any, Self

from imabo.client.answers import Imported, RemoteFacts
from imabo.client.async_study import AsyncRemoteStudy
from imabo.client.lifetime import deliver_on_sigterm, watch
from imabo.client.session import Session, check_timeout
from imabo.client.study_methods import StudyCalls
from imabo.client.tasks import AsyncSender, AsyncTransport
from imabo.client.threads import Sender, Transport
from imabo.client.uploads import upload_of
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.space import Space


class AsyncClient:
    """The twin of ``Client`` for asyncio: the same methods, to be awaited.

    Make one for a process and keep it; use it from one event loop at a time. Its arguments are
    those of ``Client``. Use ``async with``, or await ``close()``: rewards that still wait when the
    loop has ended are sent at the end of the program. Extra: ``client``.

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

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout_s: float = 5.0,
        retries: int = 3,
        outbox: str | PathLike[str] | None = None,
        outbox_size: int | None = None,
        flush_s: float = 5.0,
        handle_sigterm: bool = True,
        verify: bool | SSLContext = True,
    ) -> None:
        self._session = Session(
            url,
            key,
            timeout_s=timeout_s,
            retries=retries,
            outbox=outbox,
            outbox_size=outbox_size,
            flush_s=flush_s,
        )
        self._verify = verify
        self._transport = AsyncTransport(self._session, verify)
        self._sender = AsyncSender(self._session, self._transport.run)
        # By way of the client, so that it lives as long as one of its studies or rewards does.
        self._session.wake = self._wake
        watch(self._before_fork, self._after_fork, self._at_exit)
        if handle_sigterm:
            deliver_on_sigterm()
        if self._session.outbox.is_durable:
            self._transport.at_first = self._session.send_waiting  # what another process left there

    # --- studies --------------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        space: Space,
        *,
        policy: Policy | None = None,
        oracle: Oracle | None = None,
        seed: int | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        window_s: float | None = None,
    ) -> AsyncRemoteStudy:
        """Start a study, or go on with the same one when it exists; see ``Study.create``.

        A study of that name with other settings is ``StudyExists``. Policies and oracles are those
        of imabo, because the service must have them.
        """
        facts = await self._transport.run(
            self._session.create(
                name,
                space,
                policy=policy,
                oracle=oracle,
                seed=seed,
                reward_range=reward_range,
                window_s=window_s,
            )
        )
        return self._study(StudyCalls(self._session, facts.name, facts))

    async def open(self, name: str) -> AsyncRemoteStudy:
        """Go on with a study that exists; ``UnknownStudy`` when it does not."""
        facts = await self._transport.run(self._session.facts(name))
        return self._study(StudyCalls(self._session, facts.name, facts))

    async def import_study(
        self,
        source: str | PathLike[str] | IO[Any],
        *,
        name: str | None = None,
        sent: Callable[[int], None] = lambda n: None,
    ) -> Imported:
        """Make a study from the JSON lines that ``export`` wrote; see ``Client.import_study``."""
        with upload_of(source, sent) as upload:
            return await self._transport.run(self._session.import_study(upload, name))

    def study(self, name: str) -> AsyncRemoteStudy:
        """A study by its name, without asking the service whether it exists.

        For an application that must start although the service may be away; the first call that
        reaches the service tells.
        """
        return self._study(StudyCalls(self._session, name))

    async def studies(self) -> list[str]:
        """The names of all studies that the key may see, in alphabetical order."""
        return await self._transport.run(self._session.names())

    async def facts(self) -> list[RemoteFacts]:
        """Every study that the key may see, with its counts, in one call."""
        return await self._transport.run(self._session.all_facts())

    async def delete(self, name: str) -> None:
        """Delete a study with everything that it learned, for good."""
        await self._transport.run(self._session.delete(name))

    # --- rewards that wait ----------------------------------------------------------------------

    @property
    def n_waiting(self) -> int:
        """Rewards that the service has not acknowledged yet; they are sent in the background.

        With a durable outbox these are all that wait in its file, of whichever process.
        """
        return self._session.outbox.n_waiting

    @property
    def n_dropped(self) -> int:
        """Rewards that were given up: the outbox was full, or the client was closed too early."""
        return self._session.outbox.n_dropped

    @property
    def n_refused(self) -> int:
        """Rewards that the service refused when they were sent in the background; see the log."""
        return self._session.outbox.n_refused

    async def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until no reward waits any more, for so long at most; says whether that is so."""
        check_timeout("timeout_s", timeout_s)
        return await self._sender.flush(timeout_s)

    async def close(self) -> None:
        """Send the rewards that wait (for ``flush_s`` at most) and close the connections."""
        if not self._session.is_closed:
            await self._sender.finish(self._session.flush_s)
            await self._transport.close()
            self._session.outbox.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<AsyncClient of {self._session.service.url}: {self.n_waiting} rewards waiting>"

    # --- inside ---------------------------------------------------------------------------------

    def _study(self, calls: StudyCalls) -> AsyncRemoteStudy:
        return AsyncRemoteStudy(calls, self._transport)

    def _wake(self) -> None:
        self._sender.wake()

    def _before_fork(self) -> None:
        self._session.before_fork()

    def _after_fork(self, is_child: bool) -> None:
        self._session.after_fork(is_child=is_child)
        if not is_child:
            return
        self._transport.leave()
        self._sender.leave()

    def _at_exit(self, spent_s: float) -> None:
        # The event loop is gone, or goes on without us, so this goes the blocking way.
        if self._session.is_closed:
            return
        transport = Transport(self._session, self._verify)
        sender = Sender(self._session, transport.run)
        sender.finish(max(self._session.flush_s - spent_s, 0.0))
        transport.close()
        self._session.outbox.close()
