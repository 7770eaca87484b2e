"""What both clients do: studies of a service, made, found, moved and deleted."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from ssl import SSLContext
from typing import IO, Any, Final, Generic, TypeVar
from urllib.parse import urlsplit

from imabo import checks
from imabo.client import answers
from imabo.client.answers import Imported, RemoteFacts, read
from imabo.client.ask_types import LONGEST_S
from imabo.client.http import Call, json_of, path_of, upload_of
from imabo.client.lifetime import deliver_on_sigterm, watch
from imabo.client.outbox import MemoryOutbox, Outbox
from imabo.client.outbox_file import DurableOutbox
from imabo.client.reports import Reports
from imabo.client.session import Session, Target, deliver
from imabo.client.steps import Steps, T, shared
from imabo.client.study import AsyncRemoteStudy, RemoteStudy
from imabo.client.study_control import settings_body
from imabo.client.threads import HttpConnections, Sender
from imabo.control import Control, checked_rollout
from imabo.engine.declaring import IfChanged, check_declaring
from imabo.errors import InvalidSetting, MissingExtra, UnknownStudy
from imabo.evaluation import Guardrail
from imabo.objective import Objective, Signal, objective_document, signals_document
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.settings import check_count, check_positive, describe, is_number
from imabo.space import Space
from imabo.space.scalars import show

_log: Final = logging.getLogger(__name__)
_TURN_S: Final = 0.25
_SIZE_IN_MEMORY: Final = 10_000
_SIZE_IN_FILE: Final = 1_000_000

AnyStudy = TypeVar("AnyStudy", RemoteStudy, AsyncRemoteStudy)


class ClientMethods(ABC, Generic[AnyStudy]):
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
        check_timeout("timeout_s", timeout_s)
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
        self._session.wake, self._session.flush = self._wake, self._sender.flush
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
        if_changed: IfChanged = "error",
        revision: int | None = None,
        signals: Mapping[str, Signal] | None = None,
        objective: Objective | None = None,
    ) -> Steps[AnyStudy]:
        """Start a study, or go on with the same one when it exists; see ``Study.create``.

        What that says of ``if_changed`` and ``revision`` holds here, too. Policies and oracles are
        those of imabo, because the service must have them.
        """
        check_declaring(if_changed, revision)
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
        if if_changed != "error":
            settings["if_changed"] = if_changed
        if revision is not None:
            settings["revision"] = revision
        declared = signals_document(signals)
        goal = {"signals": declared, "objective": objective_document(objective, declared)}
        settings |= {name: one for name, one in goal.items() if one is not None}
        call = Call("POST", path_of("studies"), json_of(**settings))
        facts = yield from self._session.call(call, answers.facts_of)
        self._tell_of(facts)
        study = self._study(facts.name, facts)
        study._begin_with(space)
        return study

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

    @shared
    def events(
        self,
        study: str | None = None,
        *,
        after: int | None = None,
        before: int | None = None,
        kind: str = "",
        limit: int = 1000,
    ) -> Steps[dict[str, Any]]:
        """A page of what happened: to a study, or, for an admin, in the whole service.

        In plain values, as the API has it: ``events``, the newest last, and ``next`` for the page
        that follows.

        Args:
            study: A study's name; None for all studies and the service itself.
            after: The first events after this id; 0 for the very first.
            before: The newest before this id.
            kind: Only these kinds, with commas between them.
            limit: How many at most, up to 10,000.
        """
        asked = {"after": after, "before": before, "kind": kind or None, "limit": limit}
        params = {name: value for name, value in asked.items() if value is not None}
        path = path_of(
            *([] if study is None else ["studies", checks.checked_name(study)]), "events"
        )
        call = Call("GET", path, params=params)
        return (yield from self._session.call(call, answers.document_of))

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

    def _tell_of(self, facts: RemoteFacts) -> None:
        """Say in the log what became of a declaration, where that is news."""
        why, lines = facts.document.get("why"), facts.document.get("difference") or ()
        if why:
            _log.warning("study %r goes on as it is: %s", facts.name, why)
        elif facts.document.get("outcome") == "updated":
            _log.info("study %r was changed as it is declared: %s", facts.name, "; ".join(lines))

    @abstractmethod
    def _connect(self, verify: bool | SSLContext) -> None:
        """Make what the side runs its requests with."""

    @abstractmethod
    def _study(self, name: str, known: RemoteFacts | None = None) -> AnyStudy:
        """The study of that name, as the side has it."""

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


def _check_httpx() -> None:
    try:
        import httpx  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "a client needs the package httpx",
            "it is not installed",
            'run: pip install "imabo[client]"',
        ) from error


def check_timeout(name: str, seconds: object) -> None:
    """Refuse what is no number of seconds up to a day."""
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
