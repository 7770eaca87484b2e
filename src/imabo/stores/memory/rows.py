"""What a study in memory is made of."""

from __future__ import annotations

import copy
import threading
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from imabo.arms import ArmState, Group, PullState, Restart, Tally
from imabo.stores.base import ArmRecord, Change, KeptLift, NewArm, NewPull, StaleView, StudyRecord
from imabo.stores.history import ADMITTING, LogEntry, Milestone, PullRecord, Taken
from imabo.stores.keys import KeyRecord
from imabo.stores.outbox import DeliveryRecord, EventRecord, WebhookRecord, is_quiet, wants
from imabo.stores.refusals import misfit, store_closed, study_replaced, unknown_study
from imabo.stores.rules import coin_counts, is_milestone, is_wider, superfluous
from imabo.stores.signalling import Banks, Goal, OfArm, OfPull, used_by, values_of

PENDING, REWARDED, EXPIRED, PRUNED = 0, 1, 2, 3
_STATES: Final[tuple[PullState, ...]] = ("pending", "rewarded", "expired")
_NO_COIN: Final = (None, None)


@dataclass(slots=True)
class ArmEntry:
    """An arm's facts and its counters, changed in place."""

    new: NewArm
    seq: int
    state: ArmState = "active"
    retired_from: ArmState | None = None
    n_pulls: int = 0
    n_rewards: int = 0
    n_pending: int = 0
    reward_sum: float = 0.0
    reward_squares: float = 0.0
    marked_rewards: int = 0
    marked_sum: float = 0.0
    signals: OfArm | None = None

    def record(self) -> ArmRecord:
        """The arm as a value."""
        new = self.new
        tally = Tally(
            n_pulls=self.n_pulls,
            n_rewards=self.n_rewards,
            n_pending=self.n_pending,
            reward_sum=self.reward_sum,
            reward_squares=self.reward_squares,
            marked_rewards=self.marked_rewards,
            marked_sum=self.marked_sum,
        )
        return ArmRecord(
            id=new.id,
            config=new.config,
            origin=new.origin,
            state=self.state,
            retired_from=self.retired_from,
            parent=new.parent,
            mutated=new.mutated,
            admitted_at=new.admitted_at,
            tally=tally,
            signals=None if self.signals is None else copy.deepcopy(self.signals),
        )


class StudyRows:
    """A study's rows. Pulls lie in typed columns, pull number i at position i - 1."""

    def __init__(self, record: StudyRecord) -> None:
        self.record = record
        self.seq = 0
        self.spaces: list[Mapping[str, Any]] = [record.space]
        self.restart = Restart()
        self.marked_at = 0
        self.last_at = record.created_at
        self.arms: dict[int, ArmEntry] = {}
        self.identities: set[str] = set()
        self.beliefs: Mapping[str, Any] | None = None
        self.beliefs_seq = 0
        self.memory: Mapping[str, Any] | None = None
        self.memory_seq = 0
        self.declared: Mapping[str, Any] | None = None
        self.rollout: Mapping[str, Any] | None = None
        self.rollout_seq = 0
        self.lifts: dict[str, KeptLift] = {}  # by signal; '' is of rewards
        self.coins: dict[int, tuple[Group, float]] = {}  # positions of pulls that have a group
        self.outcomes: list[int] = []  # positions of those that have a reward, as they came in
        self.n_tuned = self.n_control = 0
        self.events: list[LogEntry] = []
        self.milestones: dict[int, Milestone] = {}  # by their number of pulls, in order
        self.n_rewards = self.n_pending = 0
        self.reward_sum = 0.0
        self.keyed: dict[str, list[int]] = {}  # positions by key, in order of their parts
        self.key_of: dict[int, tuple[str, int]] = {}  # the key and the part by position
        self.contexts: dict[int, Any] = {}
        self.signals: dict[int, OfPull] = {}  # by position
        self.signalled: list[tuple[int, int]] = []  # seq and position of those with a coin
        self.signalled_seq: dict[int, int] = {}  # of their last signals; older entries are void
        self.banks: Banks = {}
        self._goal: tuple[StudyRecord, Goal] | None = None  # with what it was made from
        self.admitted_by: dict[int, int] = {}  # positions of the pulls that brought arms in
        self.first_open = 0  # every pull before this position has left the pending state
        self.is_sorted = True  # whether the pulls are in order of time: no clock was set back
        self.reasons: list[str] = []
        self.arm = array("q")
        self.reason = array("b")
        self.state = array("b")
        self.served_at = array("d")
        self.served_seq = array("q")
        self.reward = array("d")
        self.rewarded_at = array("d")
        self.rewarded_seq = array("q")

    def check(self, seq: int) -> None:
        """Refuse a decision from an old view."""
        if seq != self.seq:
            raise StaleView

    def check_arms(self, arms: Sequence[NewArm], named: Iterable[int]) -> None:
        """Refuse new arms that are there already, and named ones that are not."""
        ids, identities = {new.id for new in arms}, {new.identity for new in arms}
        if len(ids) < len(arms) or not self.arms.keys().isdisjoint(ids):
            raise misfit(f"one of the arms {sorted(ids)} is in the study already")
        if len(identities) < len(arms) or not self.identities.isdisjoint(identities):
            raise misfit(f"one of the identities {sorted(identities)} is an arm already")
        for arm in named:
            if arm not in self.arms and arm not in ids:
                raise misfit(f"arm {arm} is not in the study")

    def check_pulls(self, pulls: Sequence[NewPull]) -> None:
        """Refuse pulls that do not count on from the last one."""
        for number, pull in enumerate(pulls, start=len(self.arm) + 1):
            if pull.number != number:
                raise misfit(f"a pull has the number {pull.number}, the next is {number}")
        keys = {(pull.key, pull.part) for pull in pulls if pull.key is not None}
        n_keys = sum(pull.key is not None for pull in pulls)
        if len(keys) < n_keys or any(part < len(self.keyed.get(key, ())) for key, part in keys):
            raise misfit("a key is given twice")

    def check_known(self, token: str, pulls: Sequence[NewPull], rollout: int) -> None:
        """Refuse pulls that must be decided from the newest view."""
        tuned = [self.arms.get(pull.arm) for pull in pulls if pull.group != "control"]
        if (
            token != self.record.token
            or rollout != self.rollout_seq
            or any(arm is None or arm.state != "active" for arm in tuned)
            or any(pull.arm not in self.arms for pull in pulls)
            or any(pull.key in self.keyed for pull in pulls if pull.key is not None)
        ):
            raise StaleView

    def add_pulls(self, pulls: Sequence[NewPull], at: float) -> None:
        """Serve arms that are there, and keep the milestone that is due."""
        before = len(self.arm)
        self.is_sorted &= not self.served_at or self.served_at[-1] <= at
        for pull in pulls:
            if pull.reason not in self.reasons:
                self.reasons.append(pull.reason)
            self.arm.append(pull.arm)
            self.reason.append(self.reasons.index(pull.reason))
            self.state.append(PENDING)
            self.served_at.append(at)
            self.served_seq.append(self.seq)
            self.reward.append(0.0)
            self.rewarded_at.append(0.0)
            self.rewarded_seq.append(0)
            if pull.reason in ADMITTING:
                self.admitted_by.setdefault(pull.arm, pull.number - 1)
            if pull.key is not None:
                self.keyed.setdefault(pull.key, []).append(pull.number - 1)
                self.key_of[pull.number - 1] = pull.key, pull.part
            if pull.context is not None:
                self.contexts[pull.number - 1] = pull.context
            if pull.group is not None and pull.propensity is not None:
                self.coins[pull.number - 1] = pull.group, pull.propensity
            arm = self.arms[pull.arm]
            arm.n_pulls += 1
            arm.n_pending += 1
            arm.seq = self.seq
        self.n_pending += len(pulls)
        self.use([pull.uses for pull in pulls if pull.uses is not None])
        n_tuned, n_control = coin_counts(pulls)
        self.n_tuned, self.n_control = self.n_tuned + n_tuned, self.n_control + n_control
        self.keep_milestone(before, at)

    @property
    def goal(self) -> Goal:
        """The budgets and limits; its banks are the study's own."""
        if self._goal is None or self._goal[0] is not self.record:
            goal = Goal(self.record.signals, self.record.objective, None)
            self._goal = self.record, goal
        goal = self._goal[1]
        goal.banks = self.banks
        return goal

    def learn(self, position: int, signals: Mapping[str, float], at: float) -> None:
        """Signals of a pull that are new, in the transaction that ``seq`` counts."""
        told = self.signals.get(position)
        if told is None:
            told = self.signals[position] = {}
        arm, goal = self.arms[self.arm[position]], self.goal
        if arm.signals is None:
            arm.signals = {}
        for name, value in signals.items():
            told[name] = [value, at, self.seq]
            goal.learn(arm.signals, name, value)
        arm.seq = self.seq
        if self.coins.get(position, ("", 1.0))[1] < 1.0:
            self.signalled.append((self.seq, position))
            self.signalled_seq[position] = self.seq

    def use(self, uses: Sequence[Mapping[str, float]]) -> None:
        """Move the banks of what price lists say of pulls."""
        if uses:
            goal = self.goal
            for one in uses:
                goal.use(one)

    def add_arms(self, arms: Sequence[NewArm]) -> None:
        """Add arms that passed ``check_arms``."""
        for new in arms:
            self.arms[new.id] = ArmEntry(new, self.seq)
            self.identities.add(new.identity)

    def put_states(self, states: Mapping[int, tuple[ArmState, ArmState | None]]) -> None:
        """Set the states of arms that are there."""
        for arm_id, (state, retired_from) in states.items():
            arm = self.arms[arm_id]
            arm.state, arm.retired_from, arm.seq = state, retired_from, self.seq

    def change(self, change: Change, at: float) -> None:
        """Do what a change says, which is the next thing that happens."""
        self.check_arms(change.arms, change.states)
        self.seq += 1
        self.last_at = at
        self.add_arms(change.arms)
        self.put_states(change.states)
        if change.space is not None and change.restart is not None:
            self.spaces.append(change.space)
            self.restart = change.restart
        if change.memory is not None:
            self.memory, self.memory_seq = change.memory, self.seq
        if change.rollout is not None:
            self.rollout, self.rollout_seq = change.rollout, self.seq
        if change.settings is not None:
            self.record = replace(self.record, **asdict(change.settings))
        if change.banks is not None:
            self.banks = dict(change.banks)
        if change.declared is not None:
            self.declared = change.declared
        self.events.append(LogEntry(self.seq, change.kind, at, data=change.data))

    def keep_milestone(self, before: int, at: float) -> None:
        """Keep a milestone when there were so many pulls before, and the one for now is due."""
        after = len(self.arm)
        if not is_milestone(before, after):
            return
        arms = [self.arms[arm] for arm in sorted(self.arms)]
        self.milestones[after] = Milestone(
            at=at,
            n_pulls=after,
            n_rewards=self.n_rewards,
            n_pending=self.n_pending,
            reward_sum=self.reward_sum,
            reward_squares=sum(arm.reward_squares for arm in arms),
            n_active=sum(arm.state != "retired" for arm in arms),
            arm_pulls=tuple(arm.n_pulls for arm in arms),
            signals=None if self.record.signals is None else used_by(one.signals for one in arms),
        )
        if is_wider(before, after):
            for n_pulls in superfluous(list(self.milestones)):
                del self.milestones[n_pulls]

    def pull(self, position: int) -> PullRecord:
        """The pull as a value."""
        rewarded = self.state[position] == REWARDED
        key, part = self.key_of.get(position, (None, 0))
        return PullRecord(
            number=position + 1,
            arm=self.arm[position],
            reason=self.reasons[self.reason[position]],
            state=_STATES[self.state[position]],
            served_at=self.served_at[position],
            reward=self.reward[position] if rewarded else None,
            rewarded_at=self.rewarded_at[position] if rewarded else None,
            context=self.contexts.get(position),
            key=key,
            part=part,
            signals=values_of(self.signals.get(position)),
            group=self.coins.get(position, _NO_COIN)[0],
            propensity=self.coins.get(position, _NO_COIN)[1],
        )

    def forget(self, positions: Iterable[int]) -> None:
        """Prune pulls; the columns keep their length."""
        gone = set(positions)
        if self.outcomes:
            self.outcomes = [i for i in self.outcomes if i not in gone]
        if self.signalled:
            self.signalled = [one for one in self.signalled if one[1] not in gone]
        for i in gone:
            self.state[i] = PRUNED
            self.contexts.pop(i, None)
            self.signals.pop(i, None)
            self.signalled_seq.pop(i, None)
            self.coins.pop(i, None)
            key, _ = self.key_of.pop(i, (None, 0))
            if key is not None:
                left = [place for place in self.keyed.pop(key) if place != i]
                if left:
                    self.keyed[key] = left

    def kept(self, position: int) -> bool:
        """Whether a pull was served and not pruned since."""
        return 0 <= position < len(self.arm) and self.state[position] != PRUNED

    def oldest_pending_at(self) -> float | None:
        """When the oldest pull that still waits was served."""
        if not self.n_pending:
            return None
        while self.state[self.first_open] != PENDING:
            self.first_open += 1
        if self.is_sorted:
            return self.served_at[self.first_open]
        waiting = (i for i in range(self.first_open, len(self.arm)) if self.state[i] == PENDING)
        return min(self.served_at[i] for i in waiting)

    def is_after(self, position: int, taken: Taken) -> bool:
        """Whether a pull that a coin decided has a reward or a signal that is not taken in."""
        if position not in self.coins or self.coins[position][1] >= 1.0:
            return False
        is_told = self.state[position] == REWARDED
        return (
            is_told and (self.rewarded_seq[position], position + 1) > taken[:2]
        ) or self.signalled_seq.get(position, 0) > taken.signalled

    def end_of(self, before: float, start: int = 0) -> int:
        """A position that no pull from ``start`` on with a time before this is at or after."""
        if self.is_sorted:
            return bisect_left(self.served_at, before, lo=start)
        return len(self.arm)


class AllRows:
    """All that a store in memory has. Whoever reads or writes it holds the lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.studies: dict[str, StudyRows] = {}
        self.keys: dict[str, KeyRecord] = {}
        self.events: list[tuple[str | None, EventRecord]] = []  # with the study's token
        self.webhooks: dict[str, WebhookRecord] = {}
        self.deliveries: dict[int, DeliveryRecord] = {}
        self._n_events = self._n_deliveries = 0
        self.is_closed = False

    def check(self) -> None:
        """Refuse to go on after the store was closed."""
        if self.is_closed:
            raise store_closed()

    def study(self, name: str, token: str | None = None) -> StudyRows:
        """A study; refuses another one than that of a token."""
        self.check()
        study = self.studies.get(name)
        if study is None:
            raise unknown_study(name, sorted(self.studies))
        if token not in (None, study.record.token):
            raise study_replaced(name)
        return study

    # --- what happened, and whom to tell ------------------------------------------------------

    def add_event(
        self,
        kind: str,
        data: Mapping[str, Any],
        at: float,
        study: str | None = None,
        record: StudyRecord | None = None,
        *,
        is_told: bool = True,
    ) -> EventRecord:
        """Put an event into the list, and queue its deliveries; one of a study has its record."""
        self._n_events += 1
        ends = None if record is None else record.reward_range
        event = EventRecord(self._n_events, study, kind, at, data, ends)
        self.events.append((None if record is None else record.token, event))
        if is_told and not is_quiet():
            for webhook in self.webhooks.values():
                if wants(webhook, event):
                    self.queue(webhook, event)
        return event

    def queue(self, webhook: WebhookRecord, event: EventRecord) -> int:
        """Queue a delivery; its id."""
        self._n_deliveries += 1
        number = self._n_deliveries
        self.deliveries[number] = DeliveryRecord(
            number, webhook.id, event, "pending", 0, 0.0, None, None, None
        )
        return number

    def forget_events(self, name: str, token: str, at: float) -> None:
        """Take a study's events from the list, and list that it was deleted."""
        self.events = [(owner, event) for owner, event in self.events if owner != token]
        if not is_quiet():
            self.add_event("deleted", {}, at, name)
