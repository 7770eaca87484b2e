"""What comes after a pull: its reward, or the end of its window."""

from __future__ import annotations

from collections.abc import Sequence

from imabo.engine.decisions import Decisions
from imabo.engine.replica import Replica
from imabo.errors import RewardConflict
from imabo.stores.base import Rewarded


class Feedback:
    """Records rewards and expires pulls, in the store first; the view follows.

    Args:
        replica: The study.
        decisions: They say whether the view must be the newest.
    """

    def __init__(self, replica: Replica, decisions: Decisions) -> None:
        self._replica = replica
        self._decisions = decisions

    def reward_many(
        self, rewards: Sequence[tuple[int, float]]
    ) -> list[Rewarded | RewardConflict | None]:
        """Record rewards; None stands for a pull that there is not."""
        replica = self._replica
        now = replica.now()
        try:
            done = replica.store.reward_many(replica.record.name, rewards, at=now)
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
        return done

    def expire_due(self) -> None:
        """Expire what was past its window at the last tick, when there may be something."""
        replica = self._replica
        if replica.record.window_s is not None:
            now = replica.now()
            if now >= replica.expiry.due_at:
                self.expire_before(replica.expiry.limit(now))

    def expire_before(self, before: float) -> int:
        """Expire the pulls that were served before a time and are still pending."""
        replica = self._replica
        now = replica.now()
        try:
            done = replica.store.expire(replica.record.name, before=before, at=now)
        except BaseException:
            replica.recover()
            raise
        replica.expiry.put_oldest(now if done.oldest_pending_at is None else done.oldest_pending_at)
        if done.seq == replica.seq + bool(done.counts) and not replica.is_torn:
            if done.counts:
                replica.seq, replica.last_at = done.seq, now
            view = replica.view
            for arm, n in done.counts.items():
                view.count_expired(view.row_of(arm), n)
        else:
            replica.refresh()
        return sum(done.counts.values())
