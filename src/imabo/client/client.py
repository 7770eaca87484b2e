"""The clients: studies of a service, for code that waits and for code that awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from ssl import SSLContext
from typing import IO, Any, Final, Generic, Self, TypeVar
from urllib.parse import urlsplit

from imabo import checks
from imabo.client import answers
from imabo.client.answers import Imported, RemoteFacts, read
from imabo.client.http import Call, json_of, path_of, upload_of
from imabo.client.lifetime import deliver_on_sigterm, watch
from imabo.client.outbox import MemoryOutbox, Outbox
from imabo.client.outbox_file import DurableOutbox
from imabo.client.reports import Reports
from imabo.client.session import Session, Target, deliver
from imabo.client.steps import Steps, T, shared
from imabo.client.study import AsyncRemoteStudy, RemoteStudy
from imabo.client.study_control import settings_body
from imabo.client.study_loop import LONGEST_S
from imabo.client.tasks import AsyncHttpConnections, Asyncio
from imabo.client.threads import Blocking, HttpConnections, Sender
from imabo.control import Control, checked_rollout
from imabo.errors import InvalidSetting, MissingExtra, StoreError, UnknownStudy
from imabo.evaluation import Guardrail
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.settings import check_count, check_positive, describe, is_number
from imabo.space import Space
from imabo.space.scalars import show

_TURN_S: Final = 0.25
_SIZE_IN_MEMORY: Final = 10_000
_SIZE_IN_FILE: Final = 1_000_000

AnyStudy = TypeVar("AnyStudy", RemoteStudy, AsyncRemoteStudy)


class _ClientMethods(Generic[AnyStudy]):
    """What both clients are, and do."""

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
        _check_httpx()
        _check_timeout("timeout_s", timeout_s)
        check_count("retries", retries)
        if outbox_size is not None:
            check_count("outbox_size", outbox_size, least=1)
        if not is_number(flush_s) or not 0 <= flush_s <= LONGEST_S:
            raise _refused("flush_s", flush_s, "it must be a number of seconds from 0 to 86400")
        service = Target(_checked_url(url), float(timeout_s), retries)
        headers = {"User-Agent": "imabo-client"} | _key_header(key)
        reports = Reports(service.url)
        if outbox is None:
            waiting: Outbox = MemoryOutbox(outbox_size or _SIZE_IN_MEMORY, reports)
        else:
            size = outbox_size or _SIZE_IN_FILE
            waiting = DurableOutbox(outbox, service.url, size, reports)
        self._session = Session(service, headers, waiting, float(flush_s))
        # What waits is sent from a thread on both sides: an event loop may end before it is.
        self._connections = HttpConnections(self._session, verify)
        self._sender = Sender(self._session, self._connections)
        self._connect(verify)
        # By way of the client, so that it lives as long as one of its studies or rewards does.
        self._session.wake = self._wake
        watch(self._session.before_fork, self._after_fork, self._finish)
        if handle_sigterm:
            deliver_on_sigterm()
        if waiting.is_durable:
            self._session.send_waiting()  # what another process left there

    # --- studies --------------------------------------------------------------------------------

    @shared
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
        control: Control | None = None,
        exposure: float = 1.0,
        guardrail: Guardrail | None = None,
    ) -> Steps[AnyStudy]:
        """Start a study, or go on with the same one when it exists; see ``Study.create``.

        A study of that name with other settings is ``StudyExists``. Policies and oracles are those
        of imabo, because the service must have them.
        """
        settings: dict[str, Any] = {
            "name": checks.checked_name(name),
            "space": checks.checked_space(space).to_dict(),
            "policy": describe(checks.checked_policy(policy)),
            "oracle": describe(checks.checked_oracle(oracle)),
            "reward_range": checks.checked_range(reward_range),
            "window_s": checks.checked_window(window_s),
        }
        if checked_rollout(control, exposure, guardrail) is not None:
            settings |= settings_body(control, exposure, guardrail)
        if seed is not None:
            settings["seed"] = str(checks.checked_seed(seed))
        call = Call("POST", path_of("studies"), json_of(**settings))
        facts = yield from self._session.call(call, answers.facts_of)
        return self._study(facts.name, facts)

    @shared
    def open(self, name: str) -> Steps[AnyStudy]:
        """Go on with a study that exists; ``UnknownStudy`` when it does not."""
        call = Call("GET", path_of("studies", checks.checked_name(name)))
        facts = yield from self._session.call(call, answers.facts_of)
        return self._study(facts.name, facts)

    def study(self, name: str) -> AnyStudy:
        """A study by its name, without asking the service whether it exists.

        For an application that must start although the service may be away; the first call that
        reaches the service tells.
        """
        return self._study(name)

    @shared
    def import_study(
        self,
        source: str | PathLike[str] | IO[Any],
        *,
        name: str | None = None,
        sent: Callable[[int], None] = lambda n: None,
    ) -> Steps[Imported]:
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
            self._session.check_open()
            params = {} if name is None else {"name": checks.checked_name(name)}
            call = Call("POST", path_of("imports"), params=params, upload=upload)
            # A part of it may be under way, so it is not repeated.
            answer = yield from deliver(call, replace(self._session.service, retries=0))
            return read(call, answer, answers.imported_of)

    @shared
    def studies(self) -> Steps[list[str]]:
        """The names of all studies that the key may see, in alphabetical order."""
        return (yield from self._all(lambda study: str(study["name"])))

    @shared
    def facts(self) -> Steps[list[RemoteFacts]]:
        """Every study that the key may see, with its counts, in one call."""
        return (yield from self._all(answers.facts_of))

    @shared
    def delete(self, name: str) -> Steps[None]:
        """Delete a study with everything that it learned, for good."""
        self._session.check_open()
        call = Call("DELETE", path_of("studies", checks.checked_name(name)))
        answer = yield from deliver(call, self._session.service)
        try:
            read(call, answer, answers.nothing_of)
        except UnknownStudy:
            # Gone, perhaps by an attempt whose answer got lost.
            if answer.n_attempts == 1:
                raise

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

    def __repr__(self) -> str:
        url = self._session.service.url
        return f"<{type(self).__name__} of {url}: {self.n_waiting} rewards waiting>"

    # --- inside ---------------------------------------------------------------------------------

    def _all(self, decode: Callable[[Any], T]) -> Steps[list[T]]:
        def decoded(document: Any) -> list[T]:
            return [decode(study) for study in document["studies"]]

        return (yield from self._session.call(Call("GET", path_of("studies")), decoded))

    def _connect(self, verify: bool | SSLContext) -> None:
        raise NotImplementedError

    def _study(self, name: str, known: RemoteFacts | None = None) -> AnyStudy:
        raise NotImplementedError

    def _wake(self) -> None:
        self._sender.wake()

    def _after_fork(self, is_child: bool) -> None:
        self._session.after_fork(is_child=is_child)
        if is_child:
            self._connections.after_fork()
            self._sender.after_fork()

    def _finish(self, spent_s: float) -> None:
        if not self._session.is_closed:
            self._sender.finish(max(self._session.flush_s - spent_s, 0.0))
            self._connections.close()
            self._session.outbox.close()


class Client(_ClientMethods[RemoteStudy], Blocking):
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
        _check_timeout("timeout_s", timeout_s)
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


class AsyncClient(_ClientMethods[AsyncRemoteStudy], Asyncio):
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
        _check_timeout("timeout_s", timeout_s)
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


def _check_httpx() -> None:
    try:
        import httpx  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "a client needs the package httpx",
            "it is not installed",
            'run: pip install "imabo[client]"',
        ) from error


def _check_timeout(name: str, seconds: object) -> None:
    check_positive(name, seconds)
    if isinstance(seconds, (int, float)) and seconds > LONGEST_S:
        raise _refused(name, seconds, "it must be at most 86400 seconds, a day")


def _refused(name: str, value: object, why: str) -> InvalidSetting:
    return InvalidSetting(f"{name} is {show(value)}", why, f"pass another {name}")


def _checked_url(url: object) -> str:
    if isinstance(url, str) and url.isprintable():
        try:
            parts = urlsplit(url)
            usable = parts.port is None or parts.port > 0
        except ValueError:
            usable = False
        else:
            usable = usable and parts.scheme in ("http", "https") and bool(parts.hostname)
            usable = usable and "@" not in parts.netloc and not parts.query and not parts.fragment
        if usable:
            return url.rstrip("/")
    raise InvalidSetting(
        f"url is {show(url)}",
        "it must be the address of the service: http or https, a host, no name or password",
        "pass 'http://127.0.0.1:8766', say",
    )


def _key_header(key: object) -> dict[str, str]:
    if key is None:
        return {}
    # Its value must not end up in a log, so the message leaves it out.
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable():
        raise InvalidSetting(
            f"key is a {type(key).__name__} that cannot be one",
            "it must be the text that 'imabo keys create' showed",
            "pass that text, or leave key out",
        )
    return {"Authorization": f"Bearer {key}"}
