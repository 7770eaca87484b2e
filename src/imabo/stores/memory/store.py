"""The verbs of a study in memory."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from imabo.arms import ArmState, Totals
from imabo.errors import ImaboError, RewardConflict
from imabo.stores.base import (
    ArmRecord,
    Change,
    Expired,
    KeptLift,
    NewArm,
    NewPull,
    Outline,
    Placed,
    Report,
    Reported,
    Reports,
    Snapshot,
    Store,
    StudyRecord,
)
from imabo.stores.history import ALL, LogEntry, Taken
from imabo.stores.memory.history import MemoryHistory
from imabo.stores.memory.keys import MemoryKeys
from imabo.stores.memory.outbox import MemoryOutbox
from imabo.stores.memory.rows import EXPIRED, PENDING, REWARDED, AllRows, StudyRows
from imabo.stores.records import NO_STATES
from imabo.stores.refusals import misfit, reward_conflict, signal_conflict, study_exists
from imabo.stores.rules import Rewarded, numbered, steady


class MemoryStore(MemoryHistory, MemoryKeys, MemoryOutbox, Store):
    """Keeps studies in this process, about 60 bytes a pull; for experiments and simulations.

    Example:
        >>> from imabo import Float, Space, Study
        >>> store = MemoryStore()
        >>> first = Study.create("s", Space(x=Float(0, 1)), store=store, seed=1)
        >>> first.ask().config == Study.open("s", store=store).ask().config
        False
        >>> len(Study.open("s", store=store))
        2
    """

    turns_hold_all = True

    def __init__(self) -> None:
        self._all = AllRows()

    def create(self, study: StudyRecord, first: Change | None = None) -> None:
        with self._all.lock:
            self._all.check()
            if study.name in self._all.studies:
                raise study_exists(study.name)
            if self.find(study.token) is not None:
                raise misfit(f"the token {study.token!r} is another study's")
            made = StudyRows(study)
            self._all.add_event("created", {}, study.created_at, study.name, study)
            if first is not None:
                made.change(first, study.created_at)
                self._all.add_event(first.kind, first.data, study.created_at, study.name, study)
            self._all.studies[study.name] = made

    def names(self) -> list[str]:
        with self._all.lock:
            self._all.check()
            return sorted(self._all.studies)

    def seqs(self) -> dict[str, int]:
        with self._all.lock:
            return {name: self._all.studies[name].seq for name in self.names()}

    def find(self, token: str) -> str | None:
        with self._all.lock:
            known = {self._all.studies[name].record.token: name for name in self.names()}
            return known.get(token)

    def delete(self, name: str) -> None:
        with self._all.lock:
            token = self._all.study(name).record.token
            del self._all.studies[name]
            self._all.forget_events(name, token, time.time())

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """See ``Store.turn``; here a verb either happens or raises, so there is nothing to undo."""
        with self._all.lock:
            self._all.study(name)
            yield

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        with self._all.lock:
            study = self._all.study(name)
            changed = [arm.record() for arm in study.arms.values() if arm.seq > since]
            return _snapshot(study, since, since, changed)

    def outline(self, name: str) -> Outline:
        with self._all.lock:
            study = self._all.study(name)
            return Outline(_snapshot(study, 0, study.seq, ()), len(study.arms))

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        with self._all.lock:
            known = self._all.study(name).arms
            return [known[arm].record() for arm in sorted(ids) if arm in known]

    def serve(
        self,
        name: str,
        *,
        seq: int,
        at: float,
        pulls: Sequence[NewPull],
        arms: Sequence[NewArm] = (),
        mark_at: int | None = None,
        beliefs: Mapping[str, Any] | None = None,
        memory: Mapping[str, Any] | None = None,
        states: Mapping[int, tuple[ArmState, ArmState | None]] = NO_STATES,
        token: str | None = None,
    ) -> int:
        with self._all.lock:
            study = self._all.study(name, token)
            study.check(seq)
            study.check_arms(arms, [*states, *(pull.arm for pull in pulls)])
            study.check_pulls(pulls)
            study.seq += 1
            study.last_at = at
            if beliefs is not None:
                study.beliefs, study.beliefs_seq = beliefs, study.seq
            if memory is not None:
                study.memory, study.memory_seq = memory, study.seq
            if mark_at is not None:
                study.marked_at = mark_at
                for arm in study.arms.values():
                    arm.marked_rewards, arm.marked_sum = arm.n_rewards, arm.reward_sum
                    arm.seq = study.seq
            if arms:
                study.add_arms(arms)
            if states:
                study.put_states(states)
            study.add_pulls(pulls, at)
            return study.seq

    def serve_known(
        self, name: str, *, token: str, at: float, pulls: Sequence[NewPull], rollout: int = 0
    ) -> Placed:
        with self._all.lock:
            study = self._all.study(name)
            first = len(study.arm) + 1
            study.check_known(token, pulls, rollout)
            study.seq += 1
            study.last_at = steady(at, study.last_at)
            study.add_pulls(numbered(pulls, first), study.last_at)
            return Placed(study.seq, first, study.last_at)

    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        with self._all.lock:
            study = self._all.study(name, token)
            new = study.seq + 1
            found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
            for i in sorted(range(len(rewards)), key=lambda i: rewards[i][0]):
                number, reward = rewards[i]
                position = number - 1
                if not study.kept(position):
                    continue
                arm_id, state = study.arm[position], study.state[position]
                if state != REWARDED:
                    study.seq = new
                    study.last_at = steady(at, study.last_at)
                    self._count(study, position, reward, at)
                    found[i] = Rewarded(arm_id, True, state == PENDING, new)
                elif study.reward[position] != reward:
                    found[i] = reward_conflict(number, study.reward[position], reward)
                else:
                    found[i] = Rewarded(arm_id, False, False, study.seq)
            return found

    def report_many(
        self, name: str, reports: Sequence[Report], *, at: float, token: str | None = None
    ) -> Reports:
        with self._all.lock:
            study = self._all.study(name, token)
            new = study.seq + 1
            found: list[Reported | ImaboError | None] = [None] * len(reports)
            for i in sorted(range(len(reports)), key=lambda i: reports[i].number):
                if study.kept(reports[i].number - 1):
                    found[i] = self._report(study, reports[i], at, new)
            return Reports(found, study.seq, dict(study.banks))

    def _report(
        self, study: StudyRows, report: Report, at: float, new: int
    ) -> Reported | ImaboError:
        """As ``ReportCount`` does it, on rows that need not be read and written as JSON."""
        number, reward, fresh = report.number, report.reward, report.signals
        position = number - 1
        arm_id, state, told = (
            study.arm[position],
            study.state[position],
            study.signals.get(position),
        )
        if told:
            for name, value in fresh.items():
                if name in told and told[name][0] != value:
                    return signal_conflict(number, name, told[name][0], value)
            fresh = {name: value for name, value in fresh.items() if name not in told}
        rewarded = None
        if reward is not None:
            if state == REWARDED and study.reward[position] != reward:
                return reward_conflict(number, study.reward[position], reward)
            is_new = state != REWARDED
            rewarded = Rewarded(arm_id, is_new, state == PENDING, new if is_new else study.seq)
        if fresh or (rewarded is not None and rewarded.fresh):
            study.seq = new
            study.last_at = steady(at, study.last_at)
        if reward is not None and state != REWARDED:
            self._count(study, position, reward, at)
        if fresh:
            study.learn(position, fresh, at)
        return Reported(arm_id, rewarded, fresh)

    def _count(self, study: StudyRows, position: int, reward: float, at: float) -> None:
        was_pending = study.state[position] == PENDING
        study.state[position] = REWARDED
        study.reward[position] = reward
        study.rewarded_at[position] = at
        study.rewarded_seq[position] = study.seq
        study.n_rewards += 1
        study.n_pending -= was_pending
        study.reward_sum += reward
        if study.coins.get(position, ("", 1.0))[1] < 1.0:
            study.outcomes.append(position)
        arm = study.arms[study.arm[position]]
        arm.n_rewards += 1
        arm.n_pending -= was_pending
        arm.reward_sum += reward
        arm.reward_squares += reward * reward
        arm.seq = study.seq

    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        with self._all.lock:
            study = self._all.study(name, token)
            end = study.end_of(before, start=study.first_open)
            due = [
                i
                for i in range(study.first_open, end)
                if study.state[i] == PENDING and study.served_at[i] < before
            ]
            if study.is_sorted:
                study.first_open = max(study.first_open, end)
            counts = Counter(study.arm[i] for i in due)
            if due:
                study.seq += 1
                study.last_at = steady(at, study.last_at)
                study.n_pending -= len(due)
                data = {"before": before}
                study.events.append(LogEntry(study.seq, "expire", at, data=data))
            for i in due:
                study.state[i] = EXPIRED
            for arm_id, n in counts.items():
                study.arms[arm_id].n_pending -= n
                study.arms[arm_id].seq = study.seq
            return Expired(dict(counts), study.oldest_pending_at(), study.seq)

    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        with self._all.lock:
            study = self._all.study(name, token)
            study.check(seq)
            study.change(change, at)
            self._all.add_event(change.kind, change.data, at, name, study.record)
            return study.seq

    def keep_lift(self, name: str, lift: KeptLift, *, token: str | None = None) -> None:
        with self._all.lock:
            study = self._all.study(name, token)
            kept = study.lifts.get(lift.signal)
            if kept is None or lift.place > kept.place:
                study.lifts[lift.signal] = lift

    def kept_lift(
        self, name: str, *, after: tuple[int, int, int] = (0, 0, -1), signal: str = ""
    ) -> KeptLift | None:
        with self._all.lock:
            kept = self._all.study(name).lifts.get(signal)
            return kept if kept is not None and kept.place > after else None

    def prune(self, name: str, *, before: float, limit: int = 10_000, taken: Taken = ALL) -> int:
        """See ``Store.prune``; the columns keep their length, about 60 bytes a pull."""
        with self._all.lock:
            study = self._all.study(name)
            finished = (
                i
                for i in range(study.end_of(before))
                if study.state[i] in (REWARDED, EXPIRED)
                and study.served_at[i] < before
                and not study.is_after(i, taken)
            )
            old = list(islice(finished, limit))
            study.forget(old)
            return len(old)

    def probe(self) -> None:
        """See ``Store.probe``; there is nothing that could be full."""
        self.names()

    def close(self) -> None:
        with self._all.lock:
            self._all.is_closed = True
            self._all.studies.clear()


def _snapshot(
    study: StudyRows, since: int, large_since: int, arms: Sequence[ArmRecord]
) -> Snapshot:
    """A study with these arms; its beliefs and its memory, when they are newer than the second."""
    return Snapshot(
        study=study.record,
        seq=study.seq,
        space_version=len(study.spaces),
        space=study.spaces[-1],
        restart=study.restart,
        totals=Totals(len(study.arm), study.n_rewards, study.n_pending, study.reward_sum),
        marked_at=study.marked_at,
        arms=arms,
        last_at=study.last_at,
        oldest_pending_at=study.oldest_pending_at(),
        beliefs=study.beliefs if study.beliefs_seq > large_since else None,
        memory=study.memory if study.memory_seq > large_since else None,
        rollout=study.rollout if study.rollout_seq > since else None,
        rollout_seq=study.rollout_seq,
        n_tuned=study.n_tuned,
        n_control=study.n_control,
        banks=dict(study.banks),
    )
