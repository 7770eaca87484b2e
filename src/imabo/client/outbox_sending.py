"""Sending what waits in the outbox: batches, and what becomes of each reward."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from imabo.client.answers import read, results_of
from imabo.client.delivery import Backoff, retry_after
from imabo.client.operations import Answer, Call, Send, Steps, T, json_of, path_of, worked
from imabo.client.outbox import MOST_REWARDS, Outbox, study_of
from imabo.errors import ImaboError, StoreError, Unavailable

_LONGEST_WAIT_S: Final = 60.0  # that a service may ask for
_OTHERS_S: Final = 0.05  # until the next look whether another process still sends
# What a request is refused with for one of its rewards, or because they are too many.
_BLAMED_ON_CONTENT: Final = (413, 422)


class Dispatch:
    """Sends an outbox, oldest first; pauses grow while nothing gets through.

    Nothing but an answer about the very reward is final. One that says "try again" leaves the
    reward in its place, and lets its study rest while the others' rewards go on.

    Args:
        outbox: What to send.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._backoff = Backoff(0.5, 30.0)
        self._limit = MOST_REWARDS
        self._resting: dict[str, float] = {}  # studies, and how long they want to be left alone

    def after_fork(self) -> None:
        """Begin anew in a child process."""
        self._resting.clear()
        self._backoff.reset()

    def send(self, timeout_s: float) -> Steps[float | None]:
        """Send one batch; the seconds until the next one, or None when nothing is left to send."""
        if not self._outbox.begin():
            return _OTHERS_S
        try:
            return (yield from self._send(timeout_s))
        except StoreError as error:
            self._outbox.reports.broken(error)
            return self.pause()
        finally:
            self._outbox.end()

    def pause(self, wanted_s: float = 0.0) -> float:
        """How long to wait after an attempt that came to nothing."""
        return max(self._backoff.pause(), min(wanted_s, _LONGEST_WAIT_S))

    def _send(self, timeout_s: float) -> Steps[float | None]:
        outbox, resting = self._outbox, self._resting
        batch = yield from at_disk(outbox, lambda: outbox.take(self._limit, list(resting)))
        if not batch:
            if not resting:
                return None
            wanted_s = max(tuple(resting.values()), default=0.0)  # others may send as well
            resting.clear()
            return self.pause(wanted_s)
        call = rewards_call(batch.items())
        reply = yield Send(call, timeout_s)
        if not isinstance(reply, Answer):
            yield from self._report(reply.text if reply is not None else "no answer")
            return self.pause()
        try:
            results = read(call, reply, results_of(list(batch)))
        except ImaboError as error:
            is_about_content = reply.status in _BLAMED_ON_CONTENT
            if is_about_content and len(batch) > 1:
                self._limit = len(batch) // 2
                return 0.0
            if not is_about_content or isinstance(error, Unavailable):
                yield from self._report(error)
                return self.pause(retry_after(reply) or 0.0)
            results = [error]
        yield from self._settle(dict(zip(batch, results, strict=True)), retry_after(reply) or 0.0)
        return 0.0

    def _settle(self, results: dict[str, ImaboError | None], wanted_s: float) -> Steps[None]:
        outbox = self._outbox
        later = {pull: error for pull, error in results.items() if isinstance(error, Unavailable)}
        done = [pull_id for pull_id in results if pull_id not in later]
        n_waiting = yield from at_disk(outbox, lambda: outbox.settle(done))
        outbox.refuse([(p, e) for p, e in results.items() if e is not None and p not in later])
        if done:
            self._backoff.reset()
            self._limit = min(2 * self._limit, MOST_REWARDS)
        for pull_id in later:
            self._resting[study_of(pull_id)] = wanted_s
        if later:
            outbox.reports.failed(lambda: n_waiting, next(iter(later.values())))
        elif not n_waiting:
            outbox.reports.delivered()

    def _report(self, why: object) -> Steps[None]:
        outbox = self._outbox
        yield from at_disk(outbox, lambda: outbox.reports.failed(lambda: outbox.n_waiting, why))


def at_disk(outbox: Outbox, work: Callable[[], T]) -> Steps[T]:
    """Use an outbox: as a step of its own where it waits for a disk."""
    if not outbox.is_durable:
        return work()
    return (yield from worked(work))


def rewards_call(rewards: Iterable[tuple[str, float]]) -> Call:
    """Report several rewards."""
    items = [{"pull": pull_id, "reward": reward} for pull_id, reward in rewards]
    return Call("POST", path_of("rewards"), json_of(rewards=items))
