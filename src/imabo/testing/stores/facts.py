"""What the contract writes to a store, and how it reads everything back."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from imabo.arms import ArmState, Totals
from imabo.stores.base import (
    Change,
    LogEntry,
    Milestone,
    NewArm,
    NewPull,
    PullRecord,
    Snapshot,
    StaleView,
    Store,
    StudyRecord,
)

SPACE = {"parameters": [{"name": "x", "type": "float", "low": 0.0, "high": 1.0}], "forbid": []}


def study_record(name: str = "study", **settings: Any) -> StudyRecord:
    """A study to create; ``settings`` replace the usual ones."""
    usual: dict[str, Any] = {
        "token": f"token-of-{name}",
        "seed": 7,
        "space": SPACE,
        "policy": {"type": "IMOSS", "beta": 0.5},
        "oracle": {"type": "Random"},
        "reward_range": (0.0, 1.0),
        "window_s": None,
        "created_at": 100.0,
    }
    return StudyRecord(name=name, **usual | settings)


def new_arm(arm: int, **facts: Any) -> NewArm:
    """An arm to admit; ``facts`` replace the usual ones."""
    usual: dict[str, Any] = {
        "config": {"x": arm / 8},
        "identity": f"identity-{arm}",
        "origin": "warmup",
        "parent": None,
        "mutated": None,
        "admitted_at": 101.0,
    }
    return NewArm(id=arm, **usual | facts)


def beliefs_of(*arms: int, **state: Any) -> dict[str, Any]:
    """A document of beliefs about some arms, with digits that are easily lost."""
    return {
        "arms": list(arms),
        "means": [arm / 3 for arm in arms],
        "counts": [0.1 + 0.2] * len(arms),
        "state": {"scales": [1e-300, -0.0, 2**70, None, True, "🎉"], **state},
    }


def memory_of(*arms: int, **more: Any) -> dict[str, Any]:
    """A document of the memory about some arms, with digits that are easily lost."""
    return {
        "arms": list(arms),
        "moments": [16, 2**40],
        "counts": [[0.0] * len(arms), [arm / 3 for arm in arms]],
        "level": 0.1 + 0.2,
        "since": None,
        "digits": [1e-300, -0.0, 2**70, None, True, "🎉"],
        **more,
    }


@dataclass(frozen=True)
class Everything:
    """All that a store says about a study."""

    snapshot: Snapshot
    spaces: Sequence[Mapping[str, Any]]
    pulls: Sequence[PullRecord]
    log: Sequence[LogEntry]
    milestones: Sequence[Milestone]


def everything(store: Store, name: str = "study") -> Everything:
    """Read all of a study."""
    pulls: list[PullRecord] = []
    while page := store.pulls(name, after=len(pulls), limit=100):
        pulls += page
    log = list(store.log(name))
    return Everything(store.load(name), store.spaces(name), pulls, log, store.milestones(name))


class Writer:
    """Writes to one study and keeps its ``seq``, as a process would.

    ``serve`` takes arms and numbers the pulls itself; arms it has not seen are admitted.
    """

    def __init__(self, store: Store, name: str = "study", *, create: bool = True) -> None:
        self.store = store
        self.name = name
        if create:
            store.create(study_record(name))
        self.refresh()

    def refresh(self) -> None:
        """Catch up with other writers."""
        snapshot = self.store.load(self.name)
        self.seq = snapshot.seq
        self.n_pulls = snapshot.totals.n_pulls
        self.arms = {arm.id for arm in snapshot.arms}

    def serve(
        self,
        *arms: int,
        at: float = 200.0,
        mark_at: int | None = None,
        beliefs: Mapping[str, Any] | None = None,
        memory: Mapping[str, Any] | None = None,
        reason: str = "index",
    ) -> list[int]:
        """Serve arms; returns the numbers of the pulls."""
        numbers = list(range(self.n_pulls + 1, self.n_pulls + 1 + len(arms)))
        admitted = sorted(set(arms) - self.arms)
        self.seq = self.store.serve(
            self.name,
            seq=self.seq,
            at=at,
            pulls=[NewPull(n, arm, reason) for n, arm in zip(numbers, arms, strict=True)],
            arms=[new_arm(arm, admitted_at=at) for arm in admitted],
            mark_at=mark_at,
            beliefs=beliefs,
            memory=memory,
        )
        self.n_pulls += len(arms)
        self.arms.update(admitted)
        return numbers

    def serve_patiently(self, *arms: int, at: float = 200.0) -> list[int]:
        """Serve arms, again and again while others are faster."""
        while True:
            try:
                return self.serve(*arms, at=at)
            except StaleView:
                self.refresh()

    def reward(self, number: int, reward: float, *, at: float = 300.0) -> None:
        """Tell a reward that must be new."""
        done = self.store.reward(self.name, number, reward, at=at)
        assert done is not None
        assert done.fresh
        self.seq = done.seq

    def expire(self, before: float, *, at: float = 400.0) -> Mapping[int, int]:
        """Expire pulls; returns how many of which arms."""
        done = self.store.expire(self.name, before=before, at=at)
        self.seq = done.seq
        return done.counts

    def put_state(self, arm: int, state: ArmState, *, at: float = 500.0) -> None:
        """Change the state of an arm by hand."""
        change = Change("state", {"arm": arm, "state": state}, {arm: (state, None)})
        self.seq = self.store.change(self.name, change, seq=self.seq, at=at)

    def drift(
        self, memory: Mapping[str, Any] | None = None, *, at: float = 600.0, **data: Any
    ) -> None:
        """Note a change of the world."""
        self.seq = self.store.change(
            self.name, Change("drift", data, memory=memory), seq=self.seq, at=at
        )

    def traffic(self, seed: int, n_steps: int) -> None:
        """Write at random: batches, marks, rewards on time, late and repeated, expiry, changes."""
        rng, at = Random(seed), 1000.0
        told: dict[int, float] = {}
        for _ in range(n_steps):
            at += rng.random()
            step = rng.random()
            if step < 0.4 or not self.n_pulls:
                arms = [rng.randint(1, len(self.arms) + 1) for _ in range(rng.randint(1, 4))]
                mark_at = self.n_pulls if rng.random() < 0.1 else None
                beliefs, memory = beliefs_of(*set(arms)), memory_of(*set(arms))
                self.serve(*arms, at=at, mark_at=mark_at, beliefs=beliefs, memory=memory)
            elif step < 0.85:
                number = rng.randint(1, self.n_pulls)
                # Eighths add up without rounding, so sums can be compared exactly.
                reward = told.setdefault(number, rng.randint(-8, 8) / 8)
                done = self.store.reward(self.name, number, reward, at=at)
                assert done is not None
                self.seq = done.seq
            elif step < 0.95:
                self.expire(at - 5 * rng.random(), at=at)
            else:
                states: Sequence[ArmState] = ("active", "paused", "retired")
                arm = rng.randint(1, len(self.arms))
                self.put_state(arm, rng.choice(states), at=at)
                self.drift(memory_of(arm), at=at, arm=arm)


def check_sums(store: Store, name: str = "study") -> None:
    """The counters of the study and of every arm are the sums over its pulls."""
    found = everything(store, name)
    rewards: dict[int, list[float]] = defaultdict(list)
    for pull in found.pulls:
        if pull.reward is not None:
            rewards[pull.arm].append(pull.reward)
    n_pulls = Counter(pull.arm for pull in found.pulls)
    n_pending = Counter(pull.arm for pull in found.pulls if pull.state == "pending")
    told = [reward for arm in rewards.values() for reward in arm]
    totals = Totals(len(found.pulls), len(told), n_pending.total(), sum(told))
    assert found.snapshot.totals == totals
    assert [pull.number for pull in found.pulls] == list(range(1, len(found.pulls) + 1))
    assert set(n_pulls) <= {arm.id for arm in found.snapshot.arms}
    for arm in found.snapshot.arms:
        tally = arm.tally
        assert (tally.n_pulls, tally.n_pending) == (n_pulls[arm.id], n_pending[arm.id])
        assert tally.n_rewards == len(rewards[arm.id])
        assert tally.reward_sum == sum(rewards[arm.id])
        assert tally.reward_squares == squares(rewards[arm.id])
    waiting = [pull.served_at for pull in found.pulls if pull.state == "pending"]
    assert found.snapshot.oldest_pending_at == min(waiting, default=None)


def squares(rewards: Iterable[float]) -> float:
    """The sum of squares."""
    return sum(reward * reward for reward in rewards)


class Cases:
    """What the parts of the contract share: a store, a study in it, and opening the store again."""

    @pytest.fixture
    def store(self) -> Store:
        """A fresh and empty store."""
        raise NotImplementedError("give your subclass of StoreContract a fixture named store")

    @pytest.fixture
    def writer(self, store: Store) -> Writer:
        """Who writes to a new study, named ``study``."""
        return Writer(store)

    def reopen(self, store: Store) -> Store:
        """Close a store and open the same one again, as a new process would."""
        pytest.skip("this store does not outlive its process")
