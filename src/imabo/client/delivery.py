"""Getting a call through: retries with growing, jittered pauses, within a deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from imabo.client.operations import Answer, Call, Failed, Send, Sleep, Steps
from imabo.errors import Unavailable

_TRY_AGAIN: Final = frozenset({429, 502, 503, 504})
_LONGEST_WAIT_S: Final = 30.0  # that a service may ask for; beyond it the call fails at once


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


@dataclass(frozen=True, slots=True)
class Service:
    """Where the service is and how hard to try: the time for one attempt, and how many follow."""

    url: str
    timeout_s: float = 5.0
    retries: int = 3


def deliver(call: Call, service: Service, *, deadline: float | None = None) -> Steps[Answer]:
    """Make a call until it is answered; ``Unavailable`` when it is not.

    A refusal is an answer. ``deadline`` is a time of ``time.monotonic``.
    """
    backoff = Backoff(0.1, 2.0)
    tried = 0
    while True:
        timeout_s = service.timeout_s
        if deadline is not None:
            timeout_s = min(timeout_s, max(deadline - time.monotonic(), 0.001))
        reply = yield Send(call, timeout_s)
        tried += 1
        if isinstance(reply, Answer) and reply.status not in _TRY_AGAIN:
            return reply._replace(n_attempts=tried)
        pause = max(backoff.pause(), retry_after(reply) or 0.0)
        late = deadline is not None and time.monotonic() + pause >= deadline
        if tried > service.retries or late or pause > _LONGEST_WAIT_S:
            raise unavailable(service, call, tried, reply)
        yield Sleep(pause)


def unavailable(
    service: Service, call: Call, tried: int, reply: Answer | Failed | None
) -> Unavailable:
    """The error of a call that did not get through."""
    last = f"status {reply.status}" if isinstance(reply, Answer) else _text_of(reply)
    times = "once" if tried == 1 else f"{tried} times"
    return Unavailable(
        f"{call} did not get through; it was tried {times}",
        f"the last attempt ended with {last}",
        f"check that the service runs at {service.url}, then try again",
    )


def _text_of(reply: Failed | None) -> str:
    return reply.text if reply is not None and reply.text else "no answer"


def retry_after(reply: Answer | Failed | None) -> float | None:
    """The seconds that the service asks to wait for, if it does.

    Example:
        >>> retry_after(Answer(503, {"retry-after": "2"}, b"")), retry_after(Failed("refused"))
        (2.0, None)
    """
    text = reply.headers.get("retry-after") if isinstance(reply, Answer) else None
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
