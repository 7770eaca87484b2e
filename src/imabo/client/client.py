"""The client: studies of a service, for code that waits."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from ssl import SSLContext
from typing import IO, Any, Self

from imabo.client.answers import Imported, RemoteFacts
from imabo.client.lifetime import deliver_on_sigterm, watch
from imabo.client.session import Session, check_timeout
from imabo.client.study import RemoteStudy
from imabo.client.study_methods import StudyCalls
from imabo.client.threads import Sender, Transport
from imabo.client.uploads import upload_of
from imabo.client.workers import Workers
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.space import Space


class Client:
    """Studies of a service that runs elsewhere, with the methods of ``Study``.

    Make one for a process and keep it: it holds the connections, and the rewards that could not be
    delivered yet. All methods may be called from any thread; after a fork the child has connections
    of its own. Extra: ``client``.

    Args:
        url: Where the service is, such as ``http://127.0.0.1:8000``.
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
        self._transport = Transport(self._session, verify)
        self._workers = Workers()
        self._sender = Sender(self._session, self._transport.run)
        # By way of the client, so that it lives as long as one of its studies or rewards does.
        self._session.wake = self._wake
        watch(self._before_fork, self._after_fork, self._at_exit)
        if handle_sigterm:
            deliver_on_sigterm()
        if self._session.outbox.is_durable:
            self._session.send_waiting()  # what another process left there

    # --- studies --------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        space: Space,
        *,
        policy: Policy | None = None,
        oracle: Oracle | None = None,
        seed: int | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        window_s: float | None = None,
    ) -> RemoteStudy:
        """Start a study, or go on with the same one when it exists; see ``Study.create``.

        A study of that name with other settings is ``StudyExists``. Policies and oracles are those
        of imabo, because the service must have them.
        """
        facts = self._transport.run(
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

    def open(self, name: str) -> RemoteStudy:
        """Go on with a study that exists; ``UnknownStudy`` when it does not."""
        facts = self._transport.run(self._session.facts(name))
        return self._study(StudyCalls(self._session, facts.name, facts))

    def import_study(
        self,
        source: str | PathLike[str] | IO[Any],
        *,
        name: str | None = None,
        sent: Callable[[int], None] = lambda n: None,
    ) -> Imported:
        """Make a study from the JSON lines that ``export`` wrote; the service keeps all or nothing.

        Every decision is made again and compared with the log, which takes its time; one that
        differs, or a line that is broken, is ``ReplayMismatch``. A study of that name is
        ``StudyExists``. It is tried once: after ``Unavailable``, look whether the study is there.

        Args:
            source: A path, or an open file of text or bytes.
            name: For the study; by default the one in the log.
            sent: Called with the number of bytes of each piece that was taken, for a progress bar.

        Example:
            >>> import io
            >>> with Client("http://127.0.0.1:1") as client:  # nobody answers there
            ...     client.import_study(io.StringIO('{"kind": "study"}'))
            Traceback (most recent call last):
            imabo.errors.Unavailable: POST /v1/imports did not get through; it was tried once...
        """
        with upload_of(source, sent) as upload:
            return self._transport.run(self._session.import_study(upload, name))

    def study(self, name: str) -> RemoteStudy:
        """A study by its name, without asking the service whether it exists.

        For an application that must start although the service may be away; the first call that
        reaches the service tells.
        """
        return self._study(StudyCalls(self._session, name))

    def studies(self) -> list[str]:
        """The names of all studies that the key may see, in alphabetical order."""
        return self._transport.run(self._session.names())

    def facts(self) -> list[RemoteFacts]:
        """Every study that the key may see, with its counts, in one call."""
        return self._transport.run(self._session.all_facts())

    def delete(self, name: str) -> None:
        """Delete a study with everything that it learned, for good."""
        self._transport.run(self._session.delete(name))

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

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until no reward waits any more, for so long at most; says whether that is so."""
        check_timeout("timeout_s", timeout_s)
        return self._sender.flush(timeout_s)

    def close(self) -> None:
        """Send the rewards that wait (for ``flush_s`` at most) and close the connections."""
        self._close(self._session.flush_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._session.service.url}: {self.n_waiting} rewards waiting>"

    # --- inside ---------------------------------------------------------------------------------

    def _study(self, calls: StudyCalls) -> RemoteStudy:
        return RemoteStudy(calls, self._transport, self._workers)

    def _close(self, flush_s: float) -> None:
        if not self._session.is_closed:
            self._sender.finish(flush_s)
            self._transport.close()
            self._session.outbox.close()

    def _wake(self) -> None:
        self._sender.wake()

    def _before_fork(self) -> None:
        self._session.before_fork()

    def _after_fork(self, is_child: bool) -> None:
        self._session.after_fork(is_child=is_child)
        if not is_child:
            return
        self._transport.after_fork()
        self._workers.after_fork()
        self._sender.after_fork()

    def _at_exit(self, spent_s: float) -> None:
        self._close(max(self._session.flush_s - spent_s, 0.0))
