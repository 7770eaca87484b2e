"""The outbox: rewards that wait for the service, bounded and without doubles."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Final

from imabo.client.calls import Answer, Call, Send, Steps, json_of, path_of
from imabo.client.delivery import retry_after
from imabo.client.documents import read, results_of
from imabo.errors import Forbidden, ImaboError, RewardConflict, Unauthorized, Unavailable

MOST_REWARDS: Final = 1000  # of one call

_log = logging.getLogger(__name__)


class Outbox:
    """Rewards by pull, oldest first. When it is full the oldest is dropped and counted.

    Example:
        >>> outbox = Outbox(size=2)
        >>> for number in (1, 2, 3):
        ...     outbox.put(f"k3f9x2-{number}", 0.5)
        >>> outbox.n_waiting, outbox.n_dropped
        (2, 1)
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._waiting: OrderedDict[str, float] = OrderedDict()
        self._under_way: dict[str, float] = {}
        self.n_dropped = 0
        self.n_refused = 0
        self.after_fork()

    def after_fork(self) -> None:
        """Leave to the parent what is the parent's to send."""
        self._lock = threading.Lock()
        self._waiting.clear()
        self._under_way.clear()

    @property
    def n_waiting(self) -> int:
        """Rewards that the service has not acknowledged yet."""
        with self._lock:
            return len(self._waiting) + len(self._under_way)

    def holds(self, pull_id: str, reward: float) -> bool:
        """Whether this very reward waits already; ``RewardConflict`` when another one does."""
        with self._lock:
            known = self._waiting.get(pull_id, self._under_way.get(pull_id))
        if known is not None and known != reward:
            raise RewardConflict(
                f"the reward of pull {pull_id!r} is {reward!r} now",
                f"{known!r} was told before and waits to be sent",
                "report each pull once",
            )
        return known is not None

    def put(self, pull_id: str, reward: float) -> None:
        """Keep a reward until it can be sent; the first one of a pull counts."""
        with self._lock:
            if pull_id not in self._under_way:
                self._waiting.setdefault(pull_id, reward)
                self._drop_surplus()

    def take(self) -> dict[str, float]:
        """The oldest rewards, as many as one call takes; ``settle`` says what became of them."""
        with self._lock:
            # What a sender that vanished had taken (its event loop is gone) is still to be sent.
            self._put_first(self._under_way)
            count = min(len(self._waiting), MOST_REWARDS)
            self._under_way = dict(self._waiting.popitem(last=False) for _ in range(count))
            return dict(self._under_way)

    def settle(self, *, again: Mapping[str, float]) -> None:
        """End what ``take`` began; the rewards in ``again`` wait for another attempt."""
        with self._lock:
            # Not what was given up meanwhile.
            kept = {pull_id: again[pull_id] for pull_id in self._under_way if pull_id in again}
            self._under_way = {}
            self._put_first(kept)
            self._drop_surplus()

    def refuse(self, refusals: Iterable[tuple[str, ImaboError]]) -> None:
        """Count and log rewards that the service does not take; sending them again is no use."""
        for pull_id, error in refusals:
            self.n_refused += 1
            _log.warning("the reward of pull %r was refused: %s", pull_id, error)

    def abandon(self) -> int:
        """Give up what waits, and say how much that was."""
        with self._lock:
            count = len(self._waiting) + len(self._under_way)
            self._waiting.clear()
            self._under_way = {}
            self.n_dropped += count
        if count:
            _log.warning("%d rewards could not be delivered and are lost", count)
        return count

    def _put_first(self, rewards: Mapping[str, float]) -> None:
        for pull_id, reward in reversed(list(rewards.items())):
            self._waiting[pull_id] = reward
            self._waiting.move_to_end(pull_id, last=False)

    def _drop_surplus(self) -> None:
        while len(self._waiting) > self._size:
            self._waiting.popitem(last=False)
            self.n_dropped += 1
            if self.n_dropped == 1 or self.n_dropped % 1000 == 0:
                _log.warning("the outbox is full; %d rewards were dropped", self.n_dropped)


def rewards_call(rewards: Iterable[tuple[str, float]]) -> Call:
    """Report several rewards."""
    items = [{"pull": pull_id, "reward": reward} for pull_id, reward in rewards]
    return Call("POST", path_of("rewards"), json_of(rewards=items))


def send_waiting(outbox: Outbox, timeout_s: float) -> Steps[float | None]:
    """Send one batch. None when it got through; else how long the service wants to be left alone.

    A batch that ends in the middle, for whatever reason, waits again.
    """
    batch = outbox.take()
    again: Mapping[str, float] = batch
    try:
        if not batch:
            return None
        call = rewards_call(batch.items())
        reply = yield Send(call, timeout_s)
        if not isinstance(reply, Answer):
            return 0.0
        try:
            results = read(call, reply, results_of(list(batch)))
        except (Unavailable, Unauthorized, Forbidden) as error:
            _log.warning("rewards wait for the service: %s", error)
            return retry_after(reply) or 0.0
        except ImaboError as error:
            if reply.status == 429:
                return retry_after(reply) or 0.0
            results = [error] * len(batch)
        again = {}
        pairs = zip(batch, results, strict=True)
        outbox.refuse((pull_id, error) for pull_id, error in pairs if error is not None)
        return None
    finally:
        outbox.settle(again=again)
