"""What the studies of one client share, and the calls that are about no study yet."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from imabo.checks import (
    checked_name,
    checked_oracle,
    checked_policy,
    checked_range,
    checked_seed,
    checked_space,
    checked_window,
)
from imabo.client.answers import Imported, RemoteFacts, facts_of, imported_of, nothing_of, read
from imabo.client.breaker import Breaker
from imabo.client.delivery import Service, deliver
from imabo.client.lifetime import await_end, hold, release
from imabo.client.operations import Call, Steps, json_of, path_of
from imabo.client.outbox import MemoryOutbox, Outbox
from imabo.client.outbox_file import DurableOutbox
from imabo.client.outbox_sending import Dispatch, at_disk
from imabo.client.reports import Reports
from imabo.client.uploads import Upload
from imabo.errors import (
    ImaboError,
    InvalidSetting,
    MissingExtra,
    StoreClosed,
    StoreError,
    UnknownStudy,
)
from imabo.oracles.base import Oracle
from imabo.policies.base import Policy
from imabo.settings import check_count, check_positive, describe, is_number
from imabo.space import Space
from imabo.space.scalars import show

T = TypeVar("T")

_LONGEST_TIMEOUT_S: Final = 86_400.0
_SIZE_IN_MEMORY: Final = 10_000
_SIZE_IN_FILE: Final = 1_000_000


class Session:
    """A client's settings and state: everything but its connections."""

    def __init__(
        self,
        url: str,
        key: str | None,
        *,
        timeout_s: float,
        retries: int,
        outbox: str | PathLike[str] | None,
        outbox_size: int | None,
        flush_s: float,
    ) -> None:
        check_httpx()
        check_timeout("timeout_s", timeout_s)
        check_count("retries", retries)
        if outbox_size is not None:
            check_count("outbox_size", outbox_size, least=1)
        if not is_number(flush_s) or not 0 <= flush_s <= _LONGEST_TIMEOUT_S:
            raise _refused("flush_s", flush_s, "it must be a number of seconds from 0 to 86400")
        self.service = Service(_checked_url(url), float(timeout_s), retries)
        self.headers = {"User-Agent": "imabo-client"} | _key_header(key)
        self.flush_s = float(flush_s)
        self.breaker = Breaker()
        reports = Reports(self.service.url)
        self.outbox: Outbox
        if outbox is None:
            self.outbox = MemoryOutbox(outbox_size or _SIZE_IN_MEMORY, reports)
        else:
            size = outbox_size or _SIZE_IN_FILE
            self.outbox = DurableOutbox(outbox, self.service.url, size, reports)
        self.dispatch = Dispatch(self.outbox)
        self.is_closed = False
        self._reported_at = -math.inf
        # The client's driver puts its own here: something that begins to send what waits.
        self.wake: Callable[[], None] = lambda: None

    def rest(self) -> None:
        """Nothing waits any more: the session may go when its client goes."""
        release(self)

    def before_fork(self) -> None:
        """Let nothing be half done."""
        self.outbox.before_fork()

    def after_fork(self, *, is_child: bool) -> None:
        """Go on after a fork. A child starts afresh; its parent keeps what waits in memory."""
        self.outbox.after_fork(is_child=is_child)
        if is_child:
            release(self)
            self.breaker.after_fork()
            self.outbox.reports.after_fork()
            self.dispatch.after_fork()

    def close(self) -> None:
        """Refuse every call from now on."""
        self.is_closed = True
        self.outbox.seal()

    def check_open(self) -> None:
        """Refuse to work for a client that was closed."""
        if self.is_closed:
            await_end()
            raise StoreClosed(
                f"the client of {self.service.url} is closed",
                "close() was called on it",
                "make another Client",
            )

    def is_time_to_report(self, every_s: float) -> bool:
        """Whether the last message of its kind is long ago, so that no log fills up."""
        now = time.monotonic()
        if now - self._reported_at < every_s:
            return False
        self._reported_at = now
        return True

    def holds(self, pull_id: str, reward: float) -> Steps[bool]:
        """Whether this very reward waits already; ``RewardConflict`` when another one does."""
        if not self.outbox.may_hold:
            return False
        try:
            return (yield from at_disk(self.outbox, lambda: self.outbox.holds(pull_id, reward)))
        except StoreError:
            return False  # the service may well take it, and knows what it took before

    def keep(self, rewards: Sequence[tuple[str, float]]) -> Steps[list[ImaboError | None]]:
        """Send rewards in the background; for each None, or why that is not possible."""

        def put() -> list[ImaboError | None]:
            try:
                return self.outbox.put(rewards)
            except StoreError as error:
                return [error] * len(rewards)

        answers = yield from at_disk(self.outbox, put)
        if not self.is_closed:
            self.send_waiting()
        elif any(answers):
            await_end()
        return answers

    def send_waiting(self) -> None:
        """Begin to send what waits."""
        hold(self)
        self.wake()

    def call(
        self, call: Call, decode: Callable[[Any], T], *, deadline: float | None = None
    ) -> Steps[T]:
        """Make a call and read its answer."""
        self.check_open()
        answer = yield from deliver(call, self.service, deadline=deadline)
        return read(call, answer, decode)

    # --- studies --------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        space: Space,
        *,
        policy: Policy | None,
        oracle: Oracle | None,
        seed: int | None,
        reward_range: tuple[float, float] | None,
        window_s: float | None,
    ) -> Steps[RemoteFacts]:
        """Create a study, or find that it is there."""
        settings: dict[str, Any] = {
            "name": checked_name(name),
            "space": checked_space(space).to_dict(),
            "policy": describe(checked_policy(policy)),
            "oracle": describe(checked_oracle(oracle)),
            "reward_range": checked_range(reward_range),
            "window_s": checked_window(window_s),
        }
        if seed is not None:
            settings["seed"] = str(checked_seed(seed))
        return (
            yield from self.call(Call("POST", path_of("studies"), json_of(**settings)), facts_of)
        )

    def import_study(self, upload: Upload, name: str | None) -> Steps[Imported]:
        """Make a study from a log; tried once, because a part of it may be under way."""
        self.check_open()
        params = {} if name is None else {"name": checked_name(name)}
        call = Call("POST", path_of("imports"), params=params, upload=upload)
        answer = yield from deliver(call, replace(self.service, retries=0))
        return read(call, answer, imported_of)

    def facts(self, name: str) -> Steps[RemoteFacts]:
        """What the service knows of a study."""
        return (yield from self.call(Call("GET", path_of("studies", checked_name(name))), facts_of))

    def names(self) -> Steps[list[str]]:
        """The studies that the key may see."""

        def decode(document: Any) -> list[str]:
            return [study["name"] for study in document["studies"]]

        return (yield from self.call(Call("GET", path_of("studies")), decode))

    def all_facts(self) -> Steps[list[RemoteFacts]]:
        """What the service knows of every study that the key may see."""

        def decode(document: Any) -> list[RemoteFacts]:
            return [facts_of(study) for study in document["studies"]]

        return (yield from self.call(Call("GET", path_of("studies")), decode))

    def delete(self, name: str) -> Steps[None]:
        """Delete a study."""
        self.check_open()
        call = Call("DELETE", path_of("studies", checked_name(name)))
        answer = yield from deliver(call, self.service)
        try:
            read(call, answer, nothing_of)
        except UnknownStudy:
            # Gone, perhaps by an attempt whose answer got lost.
            if answer.n_attempts == 1:
                raise


def check_httpx() -> None:
    """Refuse to make a client without the library that it talks HTTP with."""
    try:
        import httpx  # noqa: F401
    except ImportError as error:
        raise MissingExtra(
            "a client needs the package httpx",
            "it is not installed",
            'run: pip install "imabo[client]"',
        ) from error


def check_timeout(name: str, seconds: object) -> None:
    """Refuse anything but a time to wait."""
    check_positive(name, seconds)
    if isinstance(seconds, (int, float)) and seconds > _LONGEST_TIMEOUT_S:
        raise _refused(name, seconds, "it must be at most 86400 seconds, a day")


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
        "pass 'http://127.0.0.1:8000', say",
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


def _refused(name: str, value: object, why: str) -> InvalidSetting:
    return InvalidSetting(f"{name} is {show(value)}", why, f"pass another {name}")


def checked_deadline(seconds: object) -> float:
    """How long a call may take in all; nothing is left of a time that has passed already."""
    if is_number(seconds):
        return min(max(float(seconds), 0.0), _LONGEST_TIMEOUT_S)
    if isinstance(seconds, float) and seconds == math.inf:
        return _LONGEST_TIMEOUT_S
    raise _refused("deadline_s", seconds, "it must be a number of seconds")
