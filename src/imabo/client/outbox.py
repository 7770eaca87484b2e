"""The outbox: rewards that wait for the service, bounded and without doubles, and their sending."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import ClassVar, Final

from imabo.client.addresses import in_words, is_signal, named, study_of, told
from imabo.client.answers import read, results_of
from imabo.client.http import Call, HttpAnswer, json_of, path_of
from imabo.client.reports import Reports
from imabo.client.session import Backoff, retry_after
from imabo.client.steps import Reply, Send, Steps, T, worked
from imabo.errors import (
    ImaboError,
    RewardConflict,
    SignalConflict,
    StoreClosed,
    StoreError,
    Unavailable,
)

MOST_REWARDS: Final = 1000  # of one call
_LONGEST_WAIT_S: Final = 60.0  # that a service may ask for
_OTHERS_S: Final = 0.05  # until the next look whether another process still sends
# What a request is refused with for one of its rewards, or because they are too many.
_BLAMED_ON_CONTENT: Final = (413, 422)


class Outbox(ABC):
    """Rewards by pull, oldest first; each stays until ``settle`` says that it is done with.

    ``pull_id`` is an address: the id of a pull, or what ``addresses`` makes of a key.
    So two that send at once, or one that vanishes half-way, repeat a reward and never lose one.
    """

    # Whether what waits outlives the process. Its methods then wait for a disk.
    is_durable: ClassVar[bool]

    def __init__(self, reports: Reports) -> None:
        self.reports = reports
        self.n_dropped = 0
        self.n_refused = 0
        self.may_hold = True  # False when nothing that this process put can still wait

    @property
    @abstractmethod
    def n_waiting(self) -> int:
        """Rewards that the service has not acknowledged yet."""

    @abstractmethod
    def known(self, pull_id: str) -> float | None:
        """The reward of a pull that waits, if one does."""

    def holds(self, pull_id: str, reward: float) -> bool:
        """Whether this very value waits already; a conflict when another one does."""
        known = self.known(pull_id)
        if known is not None and known != reward:
            raise conflict(pull_id, known, reward)
        return known is not None

    @abstractmethod
    def put(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Keep rewards until they can be sent; for each None, or why it is not kept."""

    @abstractmethod
    def take(self, limit: int, resting: Collection[str]) -> dict[str, float]:
        """The oldest rewards, but for those of some studies (as ``study_of`` has them)."""

    @abstractmethod
    def settle(self, pull_ids: Collection[str]) -> int:
        """Forget rewards that the service took or refused for good; how many still wait."""

    def begin(self) -> bool:
        """Whether to send now: not while another process sends what waits in the same place."""
        return True

    @abstractmethod
    def end(self) -> None:
        """End what ``begin`` began."""

    def at_disk(self, work: Callable[[], T]) -> Steps[T]:
        """Use the outbox: as a step of its own where it waits for a disk."""
        return (yield from worked(work)) if self.is_durable else work()

    def refuse(self, refusals: Sequence[tuple[str, ImaboError]]) -> None:
        """Count and log rewards that the service does not take; sending them again is no use."""
        if refusals:
            self.n_refused += len(refusals)
            self.reports.refused(len(refusals), *refusals[-1])

    @abstractmethod
    def seal(self) -> None:
        """Take no more where that would be lost: what is told from now on is refused."""

    @abstractmethod
    def close(self) -> None:
        """Give up what waits, or leave it to the next process where it outlives this one."""

    @abstractmethod
    def before_fork(self) -> None:
        """Let nothing be half done; ``after_fork`` follows, in the parent and in the child."""

    @abstractmethod
    def after_fork(self, *, is_child: bool) -> None:
        """Go on after a fork."""


class MemoryOutbox(Outbox):
    """An outbox that ends with its process. When it is full the oldest is dropped and counted."""

    is_durable = False

    def __init__(self, size: int, reports: Reports) -> None:
        super().__init__(reports)
        self.may_hold = False
        self._size = size
        self._waiting: OrderedDict[str, float] = OrderedDict()
        self._under_way: Collection[str] = ()
        self._lock = threading.Lock()
        self._is_closed = False

    def before_fork(self) -> None:
        """Let nothing be half done."""
        self._lock.acquire()

    def after_fork(self, *, is_child: bool) -> None:
        """In a child, leave to the parent what is the parent's to send."""
        if is_child:
            self._lock = threading.Lock()
            self._waiting.clear()
            self._under_way = ()
            self.may_hold = False
        else:
            self._lock.release()

    @property
    def n_waiting(self) -> int:
        """Rewards that the service has not acknowledged yet."""
        with self._lock:
            return len(self._waiting)

    def known(self, pull_id: str) -> float | None:
        """The reward of a pull that waits, if one does."""
        with self._lock:
            return self._waiting.get(pull_id)

    def put(self, rewards: Sequence[tuple[str, float]]) -> list[ImaboError | None]:
        """Keep rewards until they can be sent; the first one of a pull counts."""
        answers: list[ImaboError | None] = []
        n_dropped = 0
        with self._lock:
            if self._is_closed:
                return [_closed(pull_id) for pull_id, _ in rewards]
            for pull_id, reward in rewards:
                known = self._waiting.setdefault(pull_id, reward)
                answers.append(None if known == reward else conflict(pull_id, known, reward))
                n_dropped += self._drop_surplus()
            self.n_dropped += n_dropped
            self.may_hold = True
        if n_dropped:
            self.reports.dropped(n_dropped)
        return answers

    def take(self, limit: int, resting: Collection[str]) -> dict[str, float]:
        """The oldest rewards, but for those of some studies."""
        with self._lock:
            ready = ((p, r) for p, r in self._waiting.items() if study_of(p) not in resting)
            batch = dict(islice(ready, limit))
            self._under_way = batch
            return dict(batch)

    def end(self) -> None:
        """Nothing is under way any more."""
        with self._lock:
            self._under_way = ()

    def settle(self, pull_ids: Collection[str]) -> int:
        """Forget rewards that the service took or refused for good; how many still wait."""
        with self._lock:
            for pull_id in pull_ids:
                self._waiting.pop(pull_id, None)
            self.may_hold = bool(self._waiting)
            return len(self._waiting)

    def seal(self) -> None:
        """Take no more: what is told from now on is refused."""
        with self._lock:
            self._is_closed = True

    def close(self) -> None:
        """Give up what waits."""
        with self._lock:
            count = len(self._waiting)
            self._waiting.clear()
            self._under_way = ()
            self._is_closed = True
            self.n_dropped += count
        self.reports.closing(count)

    def _drop_surplus(self) -> int:
        # Not what is under way: it may well arrive, and would be counted as dropped.
        if len(self._waiting) - len(self._under_way) <= self._size:
            return 0
        del self._waiting[next(p for p in self._waiting if p not in self._under_way)]
        return 1


def conflict(pull_id: str, known: float, value: float) -> RewardConflict | SignalConflict:
    """Two rewards for one pull, or two values for a signal of it."""
    why = f"{known!r} was told before and waits to be sent"
    what = f"{_what(pull_id)} is {value!r} now"
    if is_signal(pull_id):
        return SignalConflict(what, why, "report each signal of a pull once")
    return RewardConflict(what, why, "report each pull once")


def _what(pull_id: str) -> str:
    return in_words(pull_id) if is_signal(pull_id) else f"the reward of {in_words(pull_id)}"


def _closed(pull_id: str) -> StoreClosed:
    return StoreClosed(
        f"{_what(pull_id)} is neither delivered nor kept",
        "the client was closed meanwhile",
        "tell rewards before close(), or make another Client and tell it again",
    )


# --- sending ------------------------------------------------------------------------------------


class Dispatch:
    """Sends an outbox, oldest first; pauses grow while nothing gets through.

    Nothing but an answer about the very reward is final. One that says "try again" leaves the
    reward in its place, and lets its study rest while the others' rewards go on.
    """

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._backoff = Backoff(0.5, 30.0)
        self._limit = MOST_REWARDS
        self._resting: dict[str, float] = {}  # studies, and how long they want to be left alone

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
        batch = yield from outbox.at_disk(lambda: outbox.take(self._limit, list(resting)))
        if not batch:
            if not resting:
                return None
            wanted_s = max(tuple(resting.values()), default=0.0)  # others may send as well
            resting.clear()
            return self.pause(wanted_s)
        call = rewards_call(batch.items())
        reply: Reply = yield Send(call, timeout_s)
        if not isinstance(reply, HttpAnswer):
            yield from self._report(reply.text)
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
        n_waiting = yield from outbox.at_disk(lambda: outbox.settle(done))
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
        yield from outbox.at_disk(lambda: outbox.reports.failed(lambda: outbox.n_waiting, why))


def rewards_call(rewards: Iterable[tuple[str, float]]) -> Call:
    """Report several rewards."""
    items = [named(address) | told(address, value) for address, value in rewards]
    return Call("POST", path_of("rewards"), json_of(rewards=items))
