"""The way to the service that the studies of one client share: retries, the breaker, the outbox."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from imabo.client.answers import read
from imabo.client.default_keys import DefaultKeys
from imabo.client.http import Call, HttpAnswer
from imabo.client.lifetime import await_end, hold, release
from imabo.client.reports import Trouble
from imabo.client.steps import Reply, Send, Sleep, Steps, T
from imabo.errors import ImaboError, StoreClosed, StoreError, Unavailable

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from imabo.client.outbox import Outbox

_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_WAIT_S: Final = 30.0  # that a service may ask for; beyond it the call fails at once
_THRESHOLD: Final = 5  # failures in a row after which the service is left alone
_FIRST_S: Final = 1.0
_LONGEST_S: Final = 30.0

_log = logging.getLogger(__name__)


class Backoff:
    """Pauses that double, each shortened by a random part, so that clients do not march in step.

    Example:
        >>> backoff = Backoff(1.0, 5.0, jitter=lambda: 1.0)
        >>> [backoff.pause() for _ in range(4)]
        [1.0, 2.0, 4.0, 5.0]
        >>> backoff.reset()
        >>> backoff.pause()
        1.0
    """

    def __init__(
        self, first_s: float, longest_s: float, jitter: Callable[[], float] = random.random
    ) -> None:
        self._first_s, self._longest_s, self._jitter = first_s, longest_s, jitter
        self._next_s = first_s

    def pause(self) -> float:
        """How long to wait now; the next pause is longer."""
        whole = self._next_s
        self._next_s = min(2 * whole, self._longest_s)
        return whole * (0.5 + 0.5 * self._jitter())

    def reset(self) -> None:
        """It works again: start over with short pauses."""
        self._next_s = self._first_s


# --- one call -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Target:
    """Where the service is and how hard to try: the time for one attempt, and how many follow."""

    url: str
    timeout_s: float = 5.0
    retries: int = 3


def deliver(call: Call, service: Target, *, deadline: float | None = None) -> Steps[HttpAnswer]:
    """Make a call until it is answered; ``Unavailable`` when it is not.

    A refusal is an answer. ``deadline`` is a time of ``time.monotonic``.
    """
    backoff = Backoff(0.1, 2.0)
    tried = 0
    while True:
        timeout_s = service.timeout_s
        if deadline is not None:
            timeout_s = min(timeout_s, max(deadline - time.monotonic(), 0.001))
        reply: Reply = yield Send(call, timeout_s)
        tried += 1
        if isinstance(reply, HttpAnswer) and reply.status not in _TRY_AGAIN:
            return reply._replace(n_attempts=tried)
        pause = max(backoff.pause(), retry_after(reply) or 0.0)
        late = deadline is not None and time.monotonic() + pause >= deadline
        if tried > service.retries or late or pause > _LONGEST_WAIT_S:
            last = f"status {reply.status}" if isinstance(reply, HttpAnswer) else reply.text
            times = "once" if tried == 1 else f"{tried} times"
            raise Unavailable(
                f"{call} did not get through; it was tried {times}",
                f"the last attempt ended with {last}",
                f"check that the service runs at {service.url}, then try again",
            )
        yield Sleep(pause)


def retry_after(reply: Reply) -> float | None:
    """The seconds that the service asks to wait for, if it does."""
    text = reply.headers.get("retry-after") if isinstance(reply, HttpAnswer) else None
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


# --- whether to try at all ----------------------------------------------------------------------


class Breaker:
    """Says whether to try at all; several failures in a row begin a pause, which grows.

    After a pause one caller may try; when that fails too, the next pause is longer. ``name`` is
    what the log calls what is tried.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
        *,
        name: str = "the service",
    ) -> None:
        self._clock, self._name = clock, name
        self._backoff = Backoff(_FIRST_S, _LONGEST_S, jitter)
        self._n_failures = 0
        self._closed_until = 0.0
        self._is_trial = False
        self.after_fork()

    def after_fork(self) -> None:
        """Forget who held the lock."""
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """Whether the service may be tried now."""
        with self._lock:
            if self._n_failures < _THRESHOLD:
                return True
            if self._clock() < self._closed_until:
                return False
            # A trial that never reports back must not shut the service out for ever.
            self._closed_until = self._clock() + _LONGEST_S
            self._is_trial = True
            return True

    def record(self, got_through: bool) -> None:
        """What came of an attempt."""
        with self._lock:
            if got_through:
                if self._n_failures >= _THRESHOLD:
                    _log.info("%s answers again", self._name)
                self._n_failures, self._is_trial = 0, False
                self._backoff.reset()
                return
            self._n_failures += 1
            # Others that were under way when the pause began must not make it longer.
            if self._n_failures == _THRESHOLD or self._is_trial:
                pause = self._backoff.pause()
                self._closed_until, self._is_trial = self._clock() + pause, False
                # Said once: that it goes on is no news.
                level = logging.WARNING if self._n_failures == _THRESHOLD else logging.DEBUG
                words = "%s does not answer; it is left alone for %.1f s"
                _log.log(level, words, self._name, pause)

    def release(self) -> None:
        """An attempt ended without a verdict, because its caller went: another one may try."""
        with self._lock:
            if self._is_trial:
                self._closed_until, self._is_trial = self._clock(), False


# --- all calls ----------------------------------------------------------------------------------


class Session:
    """A client's settings and state: everything but its connections."""

    def __init__(
        self, service: Target, headers: dict[str, str], outbox: Outbox, flush_s: float
    ) -> None:
        self.service = service
        self.headers = headers
        self.outbox = outbox
        self.flush_s = flush_s
        self.breaker = Breaker()
        self.defaults = Trouble()
        self.default_keys = DefaultKeys()
        self.is_closed = False
        self.loop: AbstractEventLoop | None = None  # that of an asyncio client's last call
        # Whose pulls have ids that start so. A study that was made again has another token.
        self.studies: dict[str, str] = {}
        # The client puts its own here: something that begins to send what waits.
        self.wake: Callable[[], None] = lambda: None
        # And this: something that waits until nothing waits to be sent, for so many seconds.
        self.flush: Callable[[float], bool] = lambda timeout_s: True

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
            self.loop = None
            self.breaker.after_fork()
            self.defaults.after_fork()
            self.default_keys.after_fork()
            self.outbox.reports.after_fork()

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

    def call(
        self, call: Call, decode: Callable[[Any], T], *, deadline: float | None = None
    ) -> Steps[T]:
        """Make a call and read its answer."""
        self.check_open()
        answer = yield from deliver(call, self.service, deadline=deadline)
        return read(call, answer, decode)

    def gets_through(self, attempt: Callable[[float], Steps[None]]) -> Steps[bool]:
        """Tell the service something now; False when it is away, and the outbox must.

        The attempt gets its deadline: the outbox takes over soon, so that no caller waits for
        every retry. What the service refuses is raised.
        """
        if not self.breaker.admits():
            return False
        try:
            yield from attempt(time.monotonic() + self.service.timeout_s)
        except Unavailable:
            self.breaker.record(False)
            return False
        except ImaboError:
            self.breaker.record(True)
            raise
        self.breaker.record(True)
        return True

    def holds(self, pull_id: str, reward: float) -> Steps[bool]:
        """Whether this very value waits already; a conflict when another one does."""
        try:
            return (yield from self.outbox.at_disk(lambda: self.outbox.holds(pull_id, reward)))
        except StoreError:
            return False  # the service may well take it, and knows what it took before

    def keep(self, rewards: Sequence[tuple[str, float]]) -> Steps[list[ImaboError | None]]:
        """Send rewards in the background; for each None, or why that is not possible."""

        def put() -> list[ImaboError | None]:
            try:
                answers = self.outbox.put(rewards)
            except StoreError as error:
                answers = [error] * len(rewards)
            if not self.is_closed:
                self.send_waiting()
            elif any(answers):
                await_end()
            return answers

        return (yield from self.outbox.at_disk(put))

    def send_waiting(self) -> None:
        """Begin to send what waits."""
        hold(self)
        self.wake()
