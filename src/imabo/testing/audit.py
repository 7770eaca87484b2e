"""The audit of a study: whether its facts, its counters and its decisions agree.

It reads the whole log, counts again, and makes the decisions that can be made again. Use it after
a crash, after a restore from a back-up, or in the tests of your own store.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from imabo.checks import stored_policy
from imabo.control import Rollout
from imabo.engine.declaring import ALL_CHANGES, first_settings
from imabo.policies.base import Policy
from imabo.stores.base import PullRecord, Snapshot, Store, steady
from imabo.testing.recount import Recount

_MOST: Final = 10  # violations of one kind that are listed; the rest are a number
_PAGE: Final = 1000


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that is not as it must be.

    ``kind`` says what is concerned: ``numbers`` (a gap or a repetition), ``arms`` (two that are
    equal, or one that is not there), ``pulls`` (a pull that is not what the log says), ``counters``
    (not the sums over the pulls), ``groups`` (not what the coin or the rollout says), ``schedule``
    (an arm admitted when none was due, or none when one was) or ``decision`` (another arm than the
    policy's).
    """

    kind: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


def audit(
    store: Store, name: str, *, policy: Policy | None = None, is_shared: bool = False
) -> list[Violation]:
    """All that is wrong with a study, nothing when it is sound; it only reads.

    Nobody may write to the study meanwhile, and none of its pulls may have been pruned. Sums of
    rewards are compared to the last digit: every store adds them in the order of the log.

    Args:
        store: Where the study is.
        name: The study's name.
        policy: The study's policy when it is a class of your own.
        is_shared: Whether several processes of a service served it at the same time. They serve
            known arms from views that are a moment old, so which of them is not checked; an arm
            that was admitted must have been due all the same.

    Example:
        >>> from imabo import Float, Space, Study
        >>> from imabo.stores import MemoryStore
        >>> store = MemoryStore()
        >>> study = Study.create("s", Space(x=Float(0, 1)), store=store, seed=0)
        >>> study.tell(study.ask().id, 0.5)
        >>> audit(store, "s")
        []
    """
    snapshot = store.load(name)
    pulls: list[PullRecord] = []
    while page := store.pulls(name, after=pulls[-1].number if pulls else 0, limit=_PAGE):
        pulls += page
    found = Findings()
    _check_numbers(found, snapshot, pulls)
    _check_arms(found, snapshot, {pull.arm for pull in pulls})
    first = first_settings(snapshot.study, store.changes(name, limit=ALL_CHANGES))
    ends = first["reward_range"]
    recount = Recount(
        replace(
            snapshot.study,
            reward_range=None if ends is None else (ends[0], ends[1]),
            window_s=first["window_s"],
            signals=first["signals"],
            objective=first["objective"],
        ),
        {arm.id: arm for arm in snapshot.arms},
        stored_policy(policy, snapshot.study.policy),
        found.add,
        # What a model expected of the arms is not in the log; decisions that rest on it are not
        # made again.
        is_exact=snapshot.beliefs is None and not is_shared,
        is_shared=is_shared,
    )
    for entry in store.log(name):
        recount.apply(entry)
    _check_log(found, snapshot, recount.seqs)
    _check_pulls(found, snapshot, pulls, recount)
    _check_counters(found, snapshot, pulls, recount)
    if len(store.spaces(name)) != snapshot.space_version:
        found.add("numbers", f"the space has version {snapshot.space_version}")
    return found.listed()


class Findings:
    """Violations as they are found."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._found: list[Violation] = []

    def add(self, kind: str, detail: str) -> None:
        """One more."""
        self._counts[kind] += 1
        if self._counts[kind] <= _MOST:
            self._found.append(Violation(kind, detail))

    def compare(self, kind: str, what: str, stored: object, true: object) -> None:
        """One more when the store has another value than the true one."""
        if stored != true:
            self.add(kind, f"{what} is {stored!r} in the store and should be {true!r}")

    def listed(self) -> list[Violation]:
        """The first of each kind, and how many more there are."""
        more = [
            Violation(kind, f"and {n - _MOST} more like these")
            for kind, n in self._counts.items()
            if n > _MOST
        ]
        return self._found + more


def _check_numbers(found: Findings, snapshot: Snapshot, pulls: Sequence[PullRecord]) -> None:
    for what, numbers in (
        ("pull", [pull.number for pull in pulls]),
        ("arm", [arm.id for arm in snapshot.arms]),
    ):
        for place, number in enumerate(numbers, start=1):
            if number != place:
                found.add("numbers", f"{what} number {place} of the list has the number {number}")
                break
    found.compare("numbers", "the number of pulls", snapshot.totals.n_pulls, len(pulls))


def _check_arms(found: Findings, snapshot: Snapshot, pulled: set[int]) -> None:
    first: dict[str, int] = {}
    for arm in snapshot.arms:
        form = json.dumps(arm.config, sort_keys=True)
        if form in first:
            found.add("arms", f"arms {first[form]} and {arm.id} are equal: {form}")
        first.setdefault(form, arm.id)
    for missing in sorted(pulled - {arm.id for arm in snapshot.arms}):
        found.add("arms", f"arm {missing} was served and is not there")


def _check_log(found: Findings, snapshot: Snapshot, seqs: set[int]) -> None:
    missing = set(range(1, snapshot.seq + 1)) - seqs
    for seq in sorted(missing):
        found.add("pulls", f"nothing in the log has seq {seq} of {snapshot.seq}")
    for seq in sorted(seqs - set(range(1, snapshot.seq + 1))):
        found.add("pulls", f"the log has seq {seq} and the study only {snapshot.seq}")


def _check_pulls(
    found: Findings, snapshot: Snapshot, pulls: Sequence[PullRecord], recount: Recount
) -> None:
    low, high = snapshot.study.reward_range or (float("-inf"), float("inf"))
    last = snapshot.study.created_at
    for pull in pulls:
        what = f"pull {pull.number}"
        found.compare("pulls", f"the state of {what}", pull.state, recount.state_of(pull.number))
        found.compare(
            "pulls", f"the reward of {what}", pull.reward, recount.rewards.get(pull.number)
        )
        told = recount.signals.get(pull.number, {})
        found.compare("pulls", f"the signals of {what}", dict(pull.signals), told)
        has_reward = pull.reward is not None, pull.rewarded_at is not None
        if has_reward != (pull.state == "rewarded",) * 2:
            found.add("pulls", f"{what} is {pull.state}, reward and time are {has_reward}")
        if pull.reward is not None and not low <= pull.reward <= high:
            found.add("pulls", f"the reward of {what} is {pull.reward!r}, out of the range")
        if pull.served_at < steady(pull.served_at, last):
            found.add("pulls", f"{what} was served before the one before it")
        last = pull.served_at


def _check_counters(
    found: Findings, snapshot: Snapshot, pulls: Sequence[PullRecord], recount: Recount
) -> None:
    states = Counter(pull.state for pull in pulls)
    by_state = (len(pulls), states["rewarded"], states["pending"], states["expired"])
    totals = snapshot.totals
    counted = (totals.n_pulls, totals.n_rewards, totals.n_pending, totals.n_expired)
    found.compare("counters", "pulls, rewards, pending and expired", counted, by_state)
    found.compare("counters", "the totals", totals, recount.totals)
    found.compare("counters", "the restart", snapshot.restart, recount.restart)
    coins = Counter(pull.group for pull in pulls if (pull.propensity or 1.0) < 1.0)
    groups = coins["tuned"], coins["control"]
    found.compare("counters", "the groups", (snapshot.n_tuned, snapshot.n_control), groups)
    if snapshot.rollout is not None:
        rollout = Rollout.from_document(snapshot.rollout)
        facts = ("control", "arm", "exposure", "state")
        kept, logged = ([getattr(one, f) for f in facts] for one in (rollout, recount.rollout))
        found.compare("groups", "the rollout", kept, logged)
    found.compare("counters", "marked_at", snapshot.marked_at, recount.marked_at)
    waiting = [pull.served_at for pull in pulls if pull.state == "pending"]
    oldest = min(waiting, default=None)
    found.compare("counters", "the oldest pending pull", snapshot.oldest_pending_at, oldest)
    found.compare("counters", "the banks", dict(snapshot.banks), recount.banks)
    for arm in snapshot.arms:
        what = f"arm {arm.id}"
        signals = recount.signals_of(arm.id)
        found.compare("counters", f"the signals of {what}", arm.signals, signals)
        tally, state, retired_from = recount.arm(arm.id)
        found.compare("counters", f"the tally of {what}", arm.tally, tally)
        stored = arm.state, arm.retired_from
        found.compare("arms", f"the state of {what}", stored, (state, retired_from))
