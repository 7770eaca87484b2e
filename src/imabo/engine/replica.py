"""The view of a study in memory, kept in step with its store; the only one that writes to both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from imabo.arms import ActiveSet, Pull, number_of
from imabo.checks import EARLIEST, LATEST, checked_time, unknown_pull
from imabo.control import Rollout
from imabo.counters import usable_totals
from imabo.documents import to_pull
from imabo.engine.drafts import Draft
from imabo.engine.expiry import Expiry
from imabo.engine.settled import count_reports, oldest_at, settings_of, signals_of, spending_of
from imabo.errors import ImaboError, RewardConflict, UnknownPull
from imabo.objective import Signal
from imabo.oracles.base import Proposal
from imabo.space import Config, Space
from imabo.stores.base import (
    ArmRecord,
    Change,
    NewArm,
    Placed,
    PullRecord,
    Report,
    Reported,
    Rewarded,
    Snapshot,
    StaleView,
    Store,
    steady,
)
from imabo.stores.records import SPARE
from imabo.stores.refusals import study_replaced

_CROWDED: Final = 20  # writes in turn after one that was stale, before hoping again

T = TypeVar("T")


class Replica:
    """One study as this process knows it.

    All that is written to the store passes here, and the view follows. What a decision shows in the
    view before the store has it (``ahead``) is committed as a ``Draft``; rewards, expiry and
    changes are in the store first. A write that the store refuses because another process was
    faster (``StaleView``) is decided again in a turn of its own, where nobody is faster. After a
    write that fails in any other way the view is read again: the store may have it or not.

    Attributes:
        record: What the study was created with, and the settings that changed since.
        view: The arms in columns; another object after some refreshes.
        space_version: Number of the view's space.
        n_arms: Arms ever admitted.
        expiry: When pulls are past their window.
        signals: Those that were declared, by name.
        rollout: Who is served with a control; None where there never was one.
        rollout_seq: Its version.
    """

    view: ActiveSet
    space_version: int
    n_arms: int
    expiry: Expiry
    signals: dict[str, Signal]
    rollout: Rollout | None
    rollout_seq: int
    _seq: int
    _last_at: float
    _is_torn: bool

    def __init__(self, store: Store, snapshot: Snapshot, clock: Callable[[], float]) -> None:
        self.store = store
        self.record = snapshot.study
        self.clock = clock
        self._crowded = 0
        self._take(snapshot)

    @property
    def seq(self) -> int:
        """Number of the last change that the view has."""
        return self._seq

    @property
    def last_at(self) -> float:
        """When the last write was."""
        return self._last_at

    @property
    def is_torn(self) -> bool:
        """Whether the view may show what the store does not have."""
        return self._is_torn

    def now(self) -> float:
        """The clock's time, not before the last write unless that was made by a wrong clock."""
        at = self.clock()
        if type(at) is not float or not EARLIEST <= at <= LATEST:
            at = checked_time(at)
        return at if at >= self._last_at else steady(at, self._last_at)

    # --- when to write --------------------------------------------------------------------------

    def retrying(self, action: Callable[[float], T]) -> T:
        """Do what writes to the store, given the time; again, in turn, when it was stale."""
        if self._is_torn:
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
                is_torn, self._is_torn = self._is_torn, True
            self._is_torn = is_torn
            return done
        except BaseException:
            self.recover()
            raise

    def loosely(self, action: Callable[[float], T]) -> T | None:
        """Do what may rest on a view that is a moment old; None when that does not do."""
        now = self.now()
        try:
            return action(now)
        except StaleView:
            return None
        except BaseException:
            self.recover()
            raise

    # --- decisions: the view first ---------------------------------------------------------------

    def ahead(self) -> ActiveSet:
        """The view, to show in it what ``commit`` will have the store keep."""
        self._is_torn = True
        return self.view

    def admit(self, proposal: Proposal, draft: Draft, now: float) -> int:
        """Put a new arm into a draft and into the view, which is ahead; returns its row."""
        known = self.view.row_of_config(proposal.config)
        if known is not None:  # one that only the control served until now
            draft.states[int(self.view.ids[known])] = "active", None
            self.view.put_state(known, "active")
            return known
        new = self.new_arm(proposal, now)
        draft.arms.append(new)
        return self._show(new)

    def admit_spare(self, config: Config, draft: Draft, now: float) -> int:
        """Put an arm that only the control serves into a draft and into the view."""
        new = self.new_arm(Proposal(config, origin="control"), now)
        draft.arms.append(new)
        draft.states[new.id] = SPARE
        row = self._show(new)
        self.view.put_state(row, "retired", is_spare=True)
        return row

    def new_arm(self, proposal: Proposal, now: float, further: int = 0) -> NewArm:
        """The next arm, after ``further`` others, for the store; the view does not have it yet."""
        return NewArm(
            id=self.n_arms + further + 1,
            config=proposal.config,
            identity=self.view.space.identity(proposal.config),
            origin=proposal.origin,
            parent=proposal.parent,
            mutated=proposal.mutated,
            admitted_at=now,
        )

    def commit(self, draft: Draft, now: float) -> Placed:
        """Have the store keep what the view shows already; says where the pulls are now."""
        record = self.record
        if draft.is_loose:
            placed = self.store.serve_known(
                record.name,
                token=record.token,
                at=now,
                pulls=draft.pulls,
                rollout=self.rollout_seq,
            )
            if placed.seq == self._seq + 1:  # else others wrote, and the view is a moment old
                self._seq = placed.seq
        else:
            self._seq = self.store.serve(
                record.name,
                seq=self._seq,
                at=now,
                pulls=draft.pulls,
                arms=draft.arms,
                mark_at=draft.mark_at,
                beliefs=draft.beliefs,
                memory=draft.memory,
                states=draft.states,
                token=record.token,
            )
            placed = Placed(self._seq, draft.pulls[0].number, now)
        self._last_at, self._is_torn = placed.at, False
        return placed

    def take_back(self, draft: Draft) -> None:
        """Take a draft out of the view where it is nothing but counts; else it is read again."""
        is_counts = not (draft.arms or draft.states or any(pull.uses for pull in draft.pulls))
        if is_counts and draft.mark_at is None and draft.memory is None:
            for pull in draft.pulls:
                self.view.count_pull(self.view.row_of(pull.arm), -1)
            self._is_torn = False

    # --- all else: the store first ----------------------------------------------------------------

    def reward(
        self, rewards: Sequence[tuple[int, float]], *, may_lag: bool
    ) -> tuple[list[Rewarded | RewardConflict | None], int]:
        """Record rewards; what each did (None: there is no such pull), and how many were new.

        ``may_lag``: what other processes wrote meanwhile need not be read at once.
        """
        now, record = self.now(), self.record
        try:
            done = self.store.reward_many(record.name, rewards, at=now, token=record.token)
        except BaseException:
            self.recover()
            raise
        recorded = [(rewards[i], d) for i, d in enumerate(done) if isinstance(d, Rewarded)]
        if not recorded:
            return done, 0
        fresh = [item for item in recorded if item[1].fresh]
        seq = max(item[1].seq for item in recorded)
        is_newest = seq == self._seq + bool(fresh)
        if self._is_torn or not (is_newest or may_lag):
            self.refresh()
        elif fresh:
            self._seq, self._last_at = seq if is_newest else self._seq, now
            view = self.view
            for (_, reward), did in sorted(fresh, key=lambda item: item[0][0]):
                view.count_reward(view.row_of(did.arm), reward, was_pending=did.was_pending)
        return done, len(fresh)

    def report(
        self, reports: Sequence[Report], *, may_lag: bool
    ) -> tuple[Sequence[Reported | ImaboError | None], int]:
        """As ``reward``, for reports that may have signals; how many rewards were new."""
        now, record = self.now(), self.record
        try:
            done = self.store.report_many(record.name, reports, at=now, token=record.token)
        except BaseException:
            self.recover()
            raise
        told, n_rewarded, is_news = list[tuple[Report, Reported]](), 0, False
        for report, one in zip(reports, done.found, strict=True):
            if isinstance(one, Reported):
                told.append((report, one))
                n_rewarded += one.rewarded is not None and one.rewarded.fresh
                is_news = is_news or bool(one.fresh)
        is_news = is_news or n_rewarded > 0
        is_newest = done.seq == self._seq + is_news
        if self._is_torn or not (is_newest or may_lag):
            self.refresh()
        elif is_news:
            self._seq, self._last_at = done.seq if is_newest else self._seq, now
            if len(told) > 1:
                told.sort(key=lambda pair: pair[0].number)
            count_reports(self.view, told, done.banks)
        return done.found, n_rewarded

    def expire(self, before: float) -> int:
        """Expire the pulls that were served before a time and are still pending."""
        now, record = self.now(), self.record
        try:
            done = self.store.expire(record.name, before=before, at=now, token=record.token)
        except BaseException:
            self.recover()
            raise
        oldest = done.oldest_pending_at
        self.expiry.put_oldest(now if oldest is None else min(oldest, now))
        if done.seq == self._seq + bool(done.counts) and not self._is_torn:
            if done.counts:
                self._seq, self._last_at = done.seq, now
            for arm, n in done.counts.items():
                self.view.count_expired(self.view.row_of(arm), n)
        else:
            self.refresh()
        return sum(done.counts.values())

    def change(self, change: Change, now: float, seq: int | None = None) -> None:
        """Commit a change and show its new arms and states.

        Another space and other settings are to be read back by the caller.

        ``seq``: that of the snapshot that the change rests on, when it is not the view's.
        """
        record, seq = self.record, self._seq if seq is None else seq
        is_whole = change.space is not None or change.settings is not None
        self._is_torn = self._is_torn or is_whole  # until it is read again
        seq = self.store.change(record.name, change, seq=seq, at=now, token=record.token)
        if not is_whole:
            self._seq, self._last_at = seq, now
            for new in change.arms:
                self._show(new)
            for arm, both in change.states.items():
                row = self.view.row_of(arm)
                if row is not None:
                    self.view.put_state(row, both[0], is_spare=both == SPARE)
            if change.rollout is not None:
                self.rollout, self.rollout_seq = Rollout.from_document(change.rollout), seq

    def _show(self, new: NewArm) -> int:
        self.n_arms += 1
        return self.view.admit(new.id, new.config, mutated=new.mutated)

    # --- reading --------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Bring the view up to date with what other processes wrote."""
        snapshot = self.store.load(self.record.name, since=self._seq)
        if snapshot.study.token != self.record.token:
            raise study_replaced(self.record.name)
        is_other = settings_of(snapshot.study) != settings_of(self.record)
        if self._is_torn or is_other or snapshot.space_version != self.space_version:
            self._take(self.store.load(self.record.name))
        elif snapshot.seq != self._seq:
            self._merge(snapshot)

    def recover(self) -> None:
        """Read the view again after a failure: now if the store answers, else at the next call.

        Without an answer now, the old ``seq`` (or the torn view) tells the next call to do it.
        """
        with suppress(Exception):
            self.refresh()

    def number(self, pull_id: object) -> int:
        """The number of a pull of this study, by its id."""
        number = number_of(self.record.token, pull_id)
        if number is None:
            raise self.unknown_pull(pull_id)
        return number

    def unknown_pull(self, pull_id: object) -> UnknownPull:
        """The refusal of an id."""
        return unknown_pull(self.record.name, pull_id)

    def pull(self, pull_id: object) -> Pull:
        """A pull as the store has it now."""
        record = self.store.pull(self.record.name, self.number(pull_id))
        if record is None:
            raise self.unknown_pull(pull_id)
        return self.shown([record])[0]

    def shown(self, records: Sequence[PullRecord]) -> list[Pull]:
        """Pulls of the store as a study shows them."""
        configs, token = self._configs({record.arm for record in records}), self.record.token
        return [to_pull(record, token, configs) for record in records]

    def _configs(self, arms: Iterable[int]) -> dict[int, Config]:
        """Their configurations; from the store when the view does not have them all."""
        rows = {arm: self.view.row_of(arm) for arm in arms}
        if None not in rows.values():
            return {arm: self.view.config_of(arm) for arm in rows}
        return {arm.id: arm.config for arm in self.store.arms(self.record.name, list(rows))}

    def _take(self, snapshot: Snapshot) -> None:
        """Build the view from a whole snapshot."""
        self.record = snapshot.study
        self.view = ActiveSet(
            Space.from_dict(snapshot.space),
            reward_range=snapshot.study.reward_range,
            has_window=snapshot.study.window_s is not None,
        )
        self.view.spending = spending_of(snapshot.study)
        self.signals = signals_of(snapshot.study)
        self.n_arms = 0
        self.rollout, self.rollout_seq = None, 0
        self.space_version = snapshot.space_version
        self._last_at = snapshot.last_at
        self.expiry = Expiry(self.record.window_s, oldest_at(snapshot))
        self._merge(snapshot)
        self._is_torn = False

    def _merge(self, snapshot: Snapshot) -> None:
        view, spending = self.view, self.view.spending
        with view.admitting():
            for arm in snapshot.arms:
                self.n_arms = max(self.n_arms, arm.id)
                row, is_spare = view.row_of(arm.id), (arm.state, arm.retired_from) == SPARE
                if row is not None:
                    view.put_tally(row, arm.tally)
                    view.put_state(row, arm.state, is_spare=is_spare)
                elif arm.retired_from is None or is_spare:
                    row = self._admit(arm, is_spare)
                if spending is not None and row is not None and arm.signals is not None:
                    spending.put_sums(row, arm.signals)
        if spending is not None:
            spending.put_banks(snapshot.banks)
        if snapshot.beliefs is not None:
            view.load_beliefs(snapshot.beliefs)
        if snapshot.memory is not None:
            view.load_memory(snapshot.memory)
        if snapshot.rollout is not None:
            self.rollout = Rollout.from_document(snapshot.rollout)
            self.rollout_seq = snapshot.rollout_seq
        view.totals = usable_totals(snapshot.totals)
        view.restart = snapshot.restart
        view.marked_at = snapshot.marked_at
        if snapshot.last_at < self._last_at:  # a clock was set back: what comes is due earlier
            self.expiry.put_oldest(oldest_at(snapshot))
        self._last_at = snapshot.last_at
        self._seq = snapshot.seq

    def _admit(self, arm: ArmRecord, is_spare: bool) -> int | None:
        """Give an arm of the store a row; None when the space does not allow it."""
        view = self.view
        try:
            config = view.space.validate(arm.config)
        except ImaboError:
            return None
        row = view.admit(
            arm.id, config, state=arm.state, mutated=arm.mutated, tally=arm.tally, is_spare=is_spare
        )
        # Known by its form in this space (which may round it), served as it was admitted.
        view.configs[row] = dict(arm.config)
        return row
