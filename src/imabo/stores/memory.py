"""The store of a study that need not outlive its process."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from imabo.arms import PullState, Restart, Tally, Totals
from imabo.errors import RewardConflict
from imabo.stores.base import (
    ArmRecord,
    Change,
    Expired,
    KeyRecord,
    LogEntry,
    NewArm,
    NewPull,
    PullRecord,
    Rewarded,
    Snapshot,
    StaleView,
    Store,
    StudyRecord,
)
from imabo.stores.refusals import misfit, reward_conflict, store_closed, study_exists, unknown_study

_PENDING, _REWARDED, _EXPIRED, _PRUNED = 0, 1, 2, 3
_STATES: Final[tuple[PullState, ...]] = ("pending", "rewarded", "expired")


class _Arm:
    """An arm's facts and its counters, changed in place."""

    __slots__ = (
        "marked_rewards",
        "marked_sum",
        "n_pending",
        "n_pulls",
        "n_rewards",
        "new",
        "retired_from",
        "reward_squares",
        "reward_sum",
        "seq",
        "state",
    )

    def __init__(self, new: NewArm, seq: int) -> None:
        self.new = new
        self.state: Any = "active"
        self.retired_from: Any = None
        self.seq = seq
        self.n_pulls = self.n_rewards = self.n_pending = self.marked_rewards = 0
        self.reward_sum = self.reward_squares = self.marked_sum = 0.0

    def record(self) -> ArmRecord:
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
        )


class _Study:
    """A study's rows. Pulls lie in typed columns, pull number i at position i - 1."""

    def __init__(self, record: StudyRecord) -> None:
        self.record = record
        self.seq = 0
        self.spaces: list[Mapping[str, Any]] = [record.space]
        self.restart = Restart()
        self.marked_at = 0
        self.last_at = record.created_at
        self.arms: dict[int, _Arm] = {}
        self.identities: set[str] = set()
        self.beliefs: Mapping[str, Any] | None = None
        self.beliefs_seq = 0
        self.events: list[LogEntry] = []
        self.n_rewards = self.n_pending = 0
        self.reward_sum = 0.0
        self.keyed: dict[str, list[int]] = {}  # positions by key, in order of their parts
        self.contexts: dict[int, Any] = {}
        self.first_open = 0  # every pull before this position has left the pending state
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
        if seq != self.seq:
            raise StaleView

    def check_arms(self, arms: Sequence[NewArm], named: Iterable[int]) -> None:
        """Refuse new arms that are there already, and named ones that are not."""
        ids, identities = {new.id for new in arms}, {new.identity for new in arms}
        if len(ids) < len(arms) or not ids.isdisjoint(self.arms):
            raise misfit(f"one of the arms {sorted(ids)} is in the study already")
        if len(identities) < len(arms) or not identities.isdisjoint(self.identities):
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

    def add_arms(self, arms: Sequence[NewArm]) -> None:
        """Add arms that passed ``check_arms``."""
        for new in arms:
            self.arms[new.id] = _Arm(new, self.seq)
            self.identities.add(new.identity)

    def pull(self, position: int) -> PullRecord:
        rewarded = self.state[position] == _REWARDED
        return PullRecord(
            number=position + 1,
            arm=self.arm[position],
            reason=self.reasons[self.reason[position]],
            state=_STATES[self.state[position]],
            served_at=self.served_at[position],
            reward=self.reward[position] if rewarded else None,
            rewarded_at=self.rewarded_at[position] if rewarded else None,
            context=self.contexts.get(position),
        )

    def kept(self, position: int) -> bool:
        """Whether a pull was served and not pruned since."""
        return 0 <= position < len(self.arm) and self.state[position] != _PRUNED

    def oldest_pending_at(self) -> float | None:
        if not self.n_pending:
            return None
        while self.state[self.first_open] != _PENDING:
            self.first_open += 1
        return self.served_at[self.first_open]


class MemoryStore(Store):
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

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._studies: dict[str, _Study] = {}
        self._keys: dict[str, KeyRecord] = {}
        self._closed = False

    def _study(self, name: str) -> _Study:
        if self._closed:
            raise store_closed()
        study = self._studies.get(name)
        if study is None:
            raise unknown_study(name, self.names())
        return study

    def create(self, study: StudyRecord) -> None:
        """See ``Store.create``."""
        with self._lock:
            if self._closed:
                raise store_closed()
            if study.name in self._studies:
                raise study_exists(study.name)
            if self.find(study.token) is not None:
                raise misfit(f"the token {study.token!r} is another study's")
            self._studies[study.name] = _Study(study)

    def names(self) -> list[str]:
        """See ``Store.names``."""
        with self._lock:
            if self._closed:
                raise store_closed()
            return sorted(self._studies)

    def seqs(self) -> dict[str, int]:
        """See ``Store.seqs``."""
        with self._lock:
            return {name: self._studies[name].seq for name in self.names()}

    def find(self, token: str) -> str | None:
        """See ``Store.find``."""
        with self._lock:
            known = {self._studies[name].record.token: name for name in self.names()}
            return known.get(token)

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        with self._lock:
            self._study(name)
            del self._studies[name]

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """See ``Store.turn``; here a verb either happens or raises, so there is nothing to undo."""
        with self._lock:
            self._study(name)
            yield

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        """See ``Store.load``."""
        with self._lock:
            study = self._study(name)
            return Snapshot(
                study=study.record,
                seq=study.seq,
                space_version=len(study.spaces),
                space=study.spaces[-1],
                restart=study.restart,
                totals=Totals(len(study.arm), study.n_rewards, study.n_pending, study.reward_sum),
                marked_at=study.marked_at,
                arms=[arm.record() for arm in study.arms.values() if arm.seq > since],
                last_at=study.last_at,
                oldest_pending_at=study.oldest_pending_at(),
                beliefs=study.beliefs if study.beliefs_seq > since else None,
            )

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        """See ``Store.spaces``."""
        with self._lock:
            return list(self._study(name).spaces)

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
    ) -> int:
        """See ``Store.serve``."""
        with self._lock:
            study = self._study(name)
            study.check(seq)
            study.check_arms(arms, [pull.arm for pull in pulls])
            study.check_pulls(pulls)
            study.seq += 1
            study.last_at = at
            if beliefs is not None:
                study.beliefs, study.beliefs_seq = beliefs, study.seq
            if mark_at is not None:
                study.marked_at = mark_at
                for arm in study.arms.values():
                    arm.marked_rewards, arm.marked_sum = arm.n_rewards, arm.reward_sum
                    arm.seq = study.seq
            if arms:
                study.add_arms(arms)
            for pull in pulls:
                if pull.reason not in study.reasons:
                    study.reasons.append(pull.reason)
                study.arm.append(pull.arm)
                study.reason.append(study.reasons.index(pull.reason))
                study.state.append(_PENDING)
                study.served_at.append(at)
                study.served_seq.append(study.seq)
                study.reward.append(0.0)
                study.rewarded_at.append(0.0)
                study.rewarded_seq.append(0)
                if pull.key is not None:
                    study.keyed.setdefault(pull.key, []).append(pull.number - 1)
                if pull.context is not None:
                    study.contexts[pull.number - 1] = pull.context
                arm = study.arms[pull.arm]
                arm.n_pulls += 1
                arm.n_pending += 1
                arm.seq = study.seq
            study.n_pending += len(pulls)
            return study.seq

    def reward_many(
        self, name: str, rewards: Sequence[tuple[int, float]], *, at: float
    ) -> list[Rewarded | RewardConflict | None]:
        """See ``Store.reward_many``."""
        with self._lock:
            study = self._study(name)
            new = study.seq + 1
            found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
            for i in sorted(range(len(rewards)), key=lambda i: rewards[i][0]):
                number, reward = rewards[i]
                position = number - 1
                if not study.kept(position):
                    continue
                arm_id, state = study.arm[position], study.state[position]
                if state != _REWARDED:
                    study.seq = new
                    study.last_at = max(study.last_at, at)
                    self._count(study, position, reward, at)
                    found[i] = Rewarded(arm_id, True, state == _PENDING, new)
                elif study.reward[position] != reward:
                    found[i] = reward_conflict(number, study.reward[position], reward)
                else:
                    found[i] = Rewarded(arm_id, False, False, study.seq)
            return found

    def _count(self, study: _Study, position: int, reward: float, at: float) -> None:
        was_pending = study.state[position] == _PENDING
        study.state[position] = _REWARDED
        study.reward[position] = reward
        study.rewarded_at[position] = at
        study.rewarded_seq[position] = study.seq
        study.n_rewards += 1
        study.n_pending -= was_pending
        study.reward_sum += reward
        arm = study.arms[study.arm[position]]
        arm.n_rewards += 1
        arm.n_pending -= was_pending
        arm.reward_sum += reward
        arm.reward_squares += reward * reward
        arm.seq = study.seq

    def expire(self, name: str, *, before: float, at: float) -> Expired:
        """See ``Store.expire``."""
        with self._lock:
            study = self._study(name)
            # Pulls are served in order of time, so the ones to look at lie in one stretch.
            end = bisect_left(study.served_at, before, lo=study.first_open)
            due = [i for i in range(study.first_open, end) if study.state[i] == _PENDING]
            study.first_open = max(study.first_open, end)
            counts = Counter(study.arm[i] for i in due)
            if due:
                study.seq += 1
                study.last_at = max(study.last_at, at)
                study.n_pending -= len(due)
                data = {"before": before}
                study.events.append(LogEntry(study.seq, "expire", at, data=data))
            for i in due:
                study.state[i] = _EXPIRED
            for arm_id, n in counts.items():
                study.arms[arm_id].n_pending -= n
                study.arms[arm_id].seq = study.seq
            return Expired(dict(counts), study.oldest_pending_at(), study.seq)

    def change(self, name: str, change: Change, *, seq: int, at: float) -> int:
        """See ``Store.change``."""
        with self._lock:
            study = self._study(name)
            study.check(seq)
            study.check_arms(change.arms, change.states)
            study.seq += 1
            study.last_at = at
            study.add_arms(change.arms)
            for arm_id, (state, retired_from) in change.states.items():
                arm = study.arms[arm_id]
                arm.state, arm.retired_from, arm.seq = state, retired_from, study.seq
            if change.space is not None and change.restart is not None:
                study.spaces.append(change.space)
                study.restart = change.restart
            study.events.append(LogEntry(study.seq, change.kind, at, data=change.data))
            return study.seq

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        """See ``Store.pulls``."""
        with self._lock:
            study = self._study(name)
            kept = (i for i in range(max(after, 0), len(study.arm)) if study.kept(i))
            return [study.pull(i) for i in islice(kept, limit)]

    def pull(self, name: str, number: int) -> PullRecord | None:
        """See ``Store.pull``."""
        with self._lock:
            study = self._study(name)
            return study.pull(number - 1) if study.kept(number - 1) else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        """See ``Store.keyed``."""
        with self._lock:
            study = self._study(name)
            known = {key: study.keyed[key] for key in keys if key in study.keyed}
            return {key: [study.pull(i) for i in places] for key, places in known.items()}

    def prune(self, name: str, *, before: float, limit: int = 10_000) -> int:
        """See ``Store.prune``; the columns keep their length, about 60 bytes a pull."""
        with self._lock:
            study = self._study(name)
            end = bisect_left(study.served_at, before)
            finished = (i for i in range(end) if study.state[i] in (_REWARDED, _EXPIRED))
            old = set(islice(finished, limit))
            for i in old:
                study.state[i] = _PRUNED
                study.contexts.pop(i, None)
            study.keyed = {
                key: left
                for key, places in study.keyed.items()
                if (left := [i for i in places if i not in old])
            }
            return len(old)

    def log(self, name: str) -> Iterator[LogEntry]:
        """See ``Store.log``."""
        with self._lock:
            study = self._study(name)
            entries = list(study.events)
            for i in filter(study.kept, range(len(study.arm))):
                context = study.contexts.get(i)
                entries.append(
                    LogEntry(
                        study.served_seq[i],
                        "ask",
                        study.served_at[i],
                        pull=i + 1,
                        arm=study.arm[i],
                        reason=study.reasons[study.reason[i]],
                        data=None if context is None else {"context": context},
                    )
                )
                if study.state[i] == _REWARDED:
                    entries.append(
                        LogEntry(
                            study.rewarded_seq[i],
                            "tell",
                            study.rewarded_at[i],
                            pull=i + 1,
                            reward=study.reward[i],
                        )
                    )
        yield from sorted(entries, key=lambda entry: (entry.seq, entry.pull or 0))

    def put_key(self, key: KeyRecord) -> None:
        """See ``Store.put_key``."""
        with self._lock:
            if any(known.id == key.id for known in self.keys()):
                raise misfit(f"the access key {key.id!r} is there already")
            self._keys[key.id] = key

    def keys(self) -> list[KeyRecord]:
        """See ``Store.keys``."""
        with self._lock:
            if self._closed:
                raise store_closed()
            return sorted(self._keys.values(), key=lambda key: (key.created_at, key.id))

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        """See ``Store.revoke_key``."""
        with self._lock:
            known = {key.id: key for key in self.keys()}.get(key_id)
            if known is not None and known.revoked_at is None:
                self._keys[key_id] = replace(known, revoked_at=at)
            return known is not None

    def close(self) -> None:
        """See ``Store.close``."""
        with self._lock:
            self._closed = True
            self._studies.clear()
