"""What comes after a pull: its reward, what that says of the world, or the end of its window."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from imabo.drift import Drift, find_drift
from imabo.engine.changes import Changes
from imabo.engine.decisions import Decisions
from imabo.engine.replica import Replica
from imabo.errors import RewardConflict, StoreError
from imabo.events import drift_event
from imabo.stores.base import Rewarded

_log: Final = logging.getLogger(__name__)

_LOOKS: Final = 8  # rewards between two looks for a change ...
_ARMS_PER_REWARD: Final = 8  # ... or more, where there are so many times more arms


class Rewards:
    """Records rewards and expires pulls, in the store first; the view follows.

    Args:
        replica: The study.
        decisions: They say whether the view must be the newest, and whether changes matter.
        changes: Where a change that is noticed goes.

    Attributes:
        is_watching: Whether changes are looked for; a replay follows its log instead.
        n_drifts: Changes that were noticed here; another process counts its own.
    """

    def __init__(self, replica: Replica, decisions: Decisions, changes: Changes) -> None:
        self._replica = replica
        self._decisions = decisions
        self._changes = changes
        self.is_watching = True
        self.n_drifts = 0

    def reward_many(
        self, rewards: Sequence[tuple[int, float]]
    ) -> list[Rewarded | RewardConflict | None]:
        """Record rewards; None stands for a pull that there is not."""
        replica = self._replica
        now = replica.now()
        try:
            record = replica.record
            done = replica.store.reward_many(record.name, rewards, at=now, token=record.token)
        except BaseException:
            replica.recover()
            raise
        recorded = [(rewards[i], d) for i, d in enumerate(done) if isinstance(d, Rewarded)]
        if not recorded:
            return done
        fresh = [item for item in recorded if item[1].fresh]
        seq = max(item[1].seq for item in recorded)
        is_newest = seq == replica.seq + bool(fresh)
        if replica.is_torn or not (is_newest or self._decisions.is_shared):
            replica.refresh()
        elif fresh:
            replica.seq, replica.last_at = seq if is_newest else replica.seq, now
            view = replica.view
            for (_, reward), did in sorted(fresh, key=lambda item: item[0][0]):
                view.count_reward(view.row_of(did.arm), reward, was_pending=did.was_pending)
        self._watch(len(fresh))
        return done

    def _watch(self, n_fresh: int) -> None:
        """Look for a change, now and then."""
        if not (self.is_watching and self._decisions.policy.watches):
            return
        view = self._replica.view
        n, every = view.totals.n_rewards, max(_LOOKS, len(view) // _ARMS_PER_REWARD)
        if (n - n_fresh) // every != n // every and find_drift(view) is not None:
            try:
                drift = self._changes.note_drift()
            except StoreError:
                # The rewards are recorded. The change is found again at the next look.
                return
            if drift is not None:
                self._tell_of(drift)

    def _tell_of(self, drift: Drift) -> None:
        self.n_drifts += 1
        record = self._replica.record
        event = drift_event(record, self._replica.last_at, drift.data())
        facts = {"study": record.name, "kind": event.kind, **event.data}
        text = str(event)
        if not text.isprintable():  # a parameter's name must not forge lines of a log
            text = repr(text)[1:-1]
        _log.warning("study %r: %s", record.name, text, extra={"facts": facts})

    def expire_due(self) -> None:
        """Expire what was past its window at the last tick, when there may be something."""
        replica = self._replica
        if replica.record.window_s is not None:
            now = replica.now()
            # A clock that was set back: what is served from now on is due before what waits.
            if now >= replica.expiry.due_at or now < replica.last_at:
                self.expire_before(replica.expiry.limit(now))

    def expire_before(self, before: float) -> int:
        """Expire the pulls that were served before a time and are still pending."""
        replica = self._replica
        now = replica.now()
        try:
            record = replica.record
            done = replica.store.expire(record.name, before=before, at=now, token=record.token)
        except BaseException:
            replica.recover()
            raise
        oldest = done.oldest_pending_at
        replica.expiry.put_oldest(now if oldest is None else min(oldest, now))
        if done.seq == replica.seq + bool(done.counts) and not replica.is_torn:
            if done.counts:
                replica.seq, replica.last_at = done.seq, now
            view = replica.view
            for arm, n in done.counts.items():
                view.count_expired(view.row_of(arm), n)
        else:
            replica.refresh()
        return sum(done.counts.values())
