"""The view of a study in memory, kept in step with its store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from imabo.arms import ActiveSet
from imabo.checks import checked_time
from imabo.engine.expiry import Expiry
from imabo.oracles.base import Proposal
from imabo.space import Space
from imabo.stores.base import NewArm, Snapshot, StaleView, Store, steady
from imabo.stores.refusals import study_replaced

_CROWDED: Final = 20  # writes in turn after one that was stale, before hoping again

T = TypeVar("T")


class Replica:
    """One study as this process knows it.

    Who writes to the store brings the view, ``seq``, ``last_at`` and ``is_torn`` in line with it.

    A write that the store refuses because another process was faster (``StaleView``) is decided
    again in a turn of its own, where nobody is faster. After a write that fails in any other way,
    the view is read again: the store may have it or not.

    Args:
        store: Where the study is.
        snapshot: The whole study, as the store has it.
        clock: Seconds as a float.

    Attributes:
        record: What the study was created with.
        view: The arms in columns; another object after some refreshes.
        space_version: Number of the view's space.
        n_arms: Arms ever admitted.
        seq: Number of the last change that the view has.
        last_at: When the last write was.
        is_torn: Whether the view may show what the store does not have. Who changes the view ahead
            of the store sets it first, and clears it when the store has the same.
        expiry: When pulls are past their window.
    """

    view: ActiveSet
    space_version: int
    n_arms: int
    seq: int
    last_at: float
    is_torn: bool
    expiry: Expiry

    def __init__(self, store: Store, snapshot: Snapshot, clock: Callable[[], float]) -> None:
        self.store = store
        self.record = snapshot.study
        self.clock = clock
        self._crowded = 0
        self._take(snapshot)

    def now(self) -> float:
        """The clock's time, not before the last write unless that was made by a wrong clock."""
        return steady(checked_time(self.clock()), self.last_at)

    # --- writing --------------------------------------------------------------------------------

    def retrying(self, action: Callable[[float], T]) -> T:
        """Do what writes to the store, given the time; again, in turn, when it was stale."""
        if self.is_torn:
            self.refresh()
        try:
            if not self._crowded:
                try:
                    return action(self.now())
                except StaleView:
                    # Others write a lot: hoping to be the fastest is a waste for a while.
                    self._crowded = _CROWDED
            self._crowded -= 1
        except BaseException:
            self.recover()
            raise
        return self.in_turn(action)

    def in_turn(self, action: Callable[[float], T]) -> T:
        """Do what writes to the store, given the time, on the newest view and undisturbed."""
        try:
            with self.store.turn(self.record.name):
                self.refresh()
                done = action(self.now())
                # The store has it when the turn ends well; until then the view is ahead of it.
                is_torn, self.is_torn = self.is_torn, True
            self.is_torn = is_torn
            return done
        except BaseException:
            self.recover()
            raise

    def new_arm(self, proposal: Proposal, now: float, ahead: int = 0) -> NewArm:
        """The next arm, after ``ahead`` others, for the store; the view does not have it yet."""
        return NewArm(
            id=self.n_arms + ahead + 1,
            config=proposal.config,
            identity=self.view.space.identity(proposal.config),
            origin=proposal.origin,
            parent=proposal.parent,
            mutated=proposal.mutated,
            admitted_at=now,
        )

    def admit(self, new: NewArm) -> int:
        """Put what ``new_arm`` made into the view; returns its row."""
        self.n_arms += 1
        return self.view.admit(new.id, new.config, mutated=new.mutated)

    # --- reading --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Bring the view up to date with what other processes wrote."""
        snapshot = self.store.load(self.record.name, since=self.seq)
        if snapshot.study.token != self.record.token:
            raise study_replaced(self.record.name)
        if self.is_torn or snapshot.space_version != self.space_version:
            self._take(self.store.load(self.record.name))
        elif snapshot.seq != self.seq:
            self._merge(snapshot)

    def recover(self) -> None:
        """Read the view again after a failure: now if the store answers, else at the next call.

        Without an answer now, the old ``seq`` (or the torn view) tells the next call to do it.
        """
        with suppress(Exception):
            self.refresh()

    def _take(self, snapshot: Snapshot) -> None:
        """Build the view from a whole snapshot."""
        self.view = ActiveSet(
            Space.from_dict(snapshot.space),
            reward_range=snapshot.study.reward_range,
            has_window=snapshot.study.window_s is not None,
        )
        self.n_arms = 0
        self.space_version = snapshot.space_version
        self.last_at = snapshot.last_at
        self.expiry = Expiry(self.record.window_s, _oldest_at(snapshot))
        self._merge(snapshot)
        self.is_torn = False

    def _merge(self, snapshot: Snapshot) -> None:
        view = self.view
        for arm in snapshot.arms:
            self.n_arms = max(self.n_arms, arm.id)
            row = view.row_of(arm.id)
            if row is not None:
                view.put_tally(row, arm.tally)
                view.put_state(row, arm.state)
            elif arm.retired_from is None and view.space.allows(arm.config):
                config = view.space.validate(arm.config)
                row = view.admit(
                    arm.id, config, state=arm.state, mutated=arm.mutated, tally=arm.tally
                )
                # Known by its form in this space (which may round it), served as it was admitted.
                view.configs[row] = dict(arm.config)
        if snapshot.beliefs is not None:
            view.load_beliefs(snapshot.beliefs)
        if snapshot.memory is not None:
            view.load_memory(snapshot.memory)
        view.put_totals(snapshot.totals)
        view.restart = snapshot.restart
        view.marked_at = snapshot.marked_at
        if snapshot.last_at < self.last_at:  # a clock was set back: what comes is due earlier
            self.expiry.put_oldest(_oldest_at(snapshot))
        self.last_at = snapshot.last_at
        self.seq = snapshot.seq


def _oldest_at(snapshot: Snapshot) -> float:
    """A time that no pull which waits, or is to come, was served before."""
    oldest = snapshot.oldest_pending_at
    return snapshot.last_at if oldest is None else min(oldest, snapshot.last_at)
