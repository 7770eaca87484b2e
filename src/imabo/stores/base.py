"""The contract of a store: the facts of a study, kept exactly once.

A store keeps what happened (studies, space versions, arms, pulls, rewards) and the counters that
follow from it; what the facts mean is the business of policies. In prose, which
``imabo.testing.StoreContract`` checks on any store:

* Every verb is one transaction: it happens whole or not at all, and when it returns, a durable
  store has it on disk. A write that contradicts the facts (an id, an identity or a number that is
  taken, an arm that is not there) is a ``StoreError``.
* A study has a ``seq`` that grows by one with every transaction that changes it. It orders the log
  and tells a process how old its view is.
* ``serve`` and ``change`` rest on decisions made from a view. They name the ``seq`` of that view
  and raise ``StaleView`` when the study has moved on; the caller refreshes and decides again. So
  two processes on one database decide as if they took turns.
* ``serve_known`` is for processes that may decide from a view that is a moment old, as a service's
  do: the store numbers the pulls. It serves known arms that are active, under keys that are new,
  in the study of that token; when it finds anything else it does nothing and raises ``StaleView``,
  and the caller decides again in a turn. It never does so because of ``seq`` alone.
* A study that is deleted and made again under its name is another one, with another ``token``. A
  verb that names the token it means does nothing to another study, and raises ``UnknownStudy``:
  their ``seq`` may be equal by chance.
* ``turn`` holds a study for the calling thread: until the block ends, nobody else changes the
  study. The block reads, and writes at most once, as its last act; the write is committed when the
  block ends, and undone when it raises. So a decision that was stale is made again where it cannot
  be stale. Locks are taken in one order (the study first): nobody waits in a circle.
* ``reward_many`` and ``expire`` commute with everything and need no such check. A reward counts
  once: the same value again changes nothing, another value is refused. One bad reward among many
  does not hold up the others.
* ``report_many`` does the same for rewards together with signals, named numbers of a pull: each
  name once, the same value again changes nothing, another is refused. A report counts whole or not
  at all. The sums of each arm (``ArmRecord.signals``), and the banks of the budgets and limits
  (``imabo.stores.signalling``), move in the same transaction; those of what a price list says move
  with the pull (``NewPull.uses``).
* A pull may carry a ``key``, unique in its study together with ``part``, and a ``context`` of
  JSON-safe values that means nothing to the store.
* Times are seconds since the epoch by the study's clock. Pulls come in order of time; a reward may
  carry an earlier time than the last pull, because its teller may not know of that one yet. A clock
  that is a little behind the last write waits for it; one that is far behind (``steady``) is
  believed, because the last write was then made by a clock that was wrong, and is right again. So
  times may go back, by more than ``CLOCK_SLACK_S``, and no store relies on their order alone.
* A study has at most one document of beliefs: what its oracle's model expects of the arms, as
  JSON-safe values that mean nothing to the store. ``serve`` replaces it whole, in the transaction
  of what it serves; ``load`` hands it to those who may not have it yet.
* So with its memory: what the arms' counters were at some moments, and which rewards still count.
  ``serve`` or ``change`` replaces it whole, and ``load`` hands it out like the beliefs.
* A study has at most one declaration: a document that ``change`` replaces whole, in the transaction
  of what it declares, and that ``declaration`` hands out. So with the settings that may change.
* So with its rollout: who is served with a control. ``create`` or ``change`` replaces it. Its
  version is the ``seq`` of the last one, 0 before the first. ``serve_known`` names the version that
  it was decided with, and raises ``StaleView`` when there is a newer one: what a rollout says holds
  for every pull that is committed after it. A pull that was served as the control's (``group``)
  need not be of an active arm.
* A study counts the pulls of each group that a coin decided (a ``propensity`` below 1).
* What the rewards of the groups add up to is kept as a document, which says up to which reward it
  goes (``keep_lift``). It may be made from the log at any time, and only an older one is replaced.
* Numbers come back exactly as they went in, and what was loaded never changes afterwards.
* ``prune`` forgets pulls that are finished and old. The counters keep what they taught; the log and
  the list of pulls no longer have them, nor their keys.
* Now and then ``serve`` keeps a milestone: the counters of the study, what was used of each signal,
  and every arm's pulls, right after what it served. It does so when the pulls pass a multiple of
  the current width (``rules.milestone_width``: a power of two, at least 8, that doubles whenever
  there would be more than 128), in the same transaction, and not when it is refused. When the width
  has doubled, one milestone stays for each multiple, the first at or after it. So there are about
  64 to 128, however long the study. ``prune`` leaves them; a study that is older than milestones
  has none of its early days.
* Beside the studies a store keeps access keys, as hashes that mean nothing to it; and the list of
  all that happened, with the webhooks that are told of it (``imabo.stores.outbox``).
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from imabo.arms import ArmState
from imabo.errors import RewardConflict, StoreError
from imabo.stores.history import (
    ALL,
    History,
    LogEntry,
    Milestone,
    OutcomeRecord,
    PullRecord,
    Taken,
)
from imabo.stores.keys import KeyRecord, Keys
from imabo.stores.outbox import DeliveryRecord, EventRecord, Outbox, WebhookRecord
from imabo.stores.records import (
    NO_STATES,
    ArmRecord,
    Change,
    Expired,
    KeptLift,
    NewArm,
    NewPull,
    Outline,
    Placed,
    Settings,
    Snapshot,
    StudyRecord,
)
from imabo.stores.rules import Rewarded, steady
from imabo.stores.signalling import Report, Reported, Reports

__all__ = [
    "ArmRecord", "Change", "DeliveryRecord", "EventRecord", "Expired",
    "History", "KeptLift", "KeyRecord", "Keys", "LogEntry", "Milestone", "NewArm", "NewPull",
    "Outbox", "OutcomeRecord", "Outline", "Placed", "PullRecord", "Report", "Reported", "Reports",
    "Rewarded", "Settings", "Snapshot", "StaleView", "Store", "StudyRecord", "Taken",
    "WebhookRecord", "steady",
]  # fmt: skip


class StaleView(Exception):
    """The study changed since the view was read; refresh it and decide again."""


class Store(History, Keys, Outbox):
    """Where studies live. Safe to share between threads.

    Attributes:
        turns_hold_all: Whether a turn holds up the other studies as well, as in a file with one
            writer; decisions that may take long are then made outside of turns where possible.
    """

    turns_hold_all: bool = False

    @abstractmethod
    def create(self, study: StudyRecord, first: Change | None = None) -> None:
        """Add a study; ``StudyExists`` when the name is taken.

        ``first`` is a change that is made with it, at the time of its creation: it has ``seq`` 1.
        """

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the studies, sorted."""

    @abstractmethod
    def seqs(self) -> dict[str, int]:
        """The ``seq`` of every study by its name: cheap, to see which views are old."""

    @abstractmethod
    def find(self, token: str) -> str | None:
        """The name of the study whose pull ids start with this token."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Forget a study with everything about it; its name may be used again."""

    @abstractmethod
    def turn(self, name: str) -> AbstractContextManager[None]:
        """Hold a study for this thread until the block ends; see above. Turns do not nest."""

    @abstractmethod
    def load(self, name: str, *, since: int = 0) -> Snapshot:
        """A study with the arms changed after ``since``; ``UnknownStudy`` when there is none.

        So with the beliefs: they come along when they were written after ``since``.
        Never reads the pulls, however many there are.
        """

    def outline(self, name: str) -> Outline:
        """A study without its arms, beliefs and memory, and how many arms it has.

        A store of many arms should read none of them.
        """
        whole = self.load(name)
        return Outline(replace(whole, arms=(), beliefs=None, memory=None), len(whole.arms))

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        """Those of some arms that there are, in order of their ids; each id is named once.

        A store of many arms should read no others.
        """
        wanted = set(ids)
        return [arm for arm in self.load(name).arms if arm.id in wanted]

    @abstractmethod
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
        """Commit pulls, and the arms admitted for them; returns the new ``seq``.

        ``mark_at`` (a number of pulls) also copies every arm's counters to its marked ones, as they
        were before these pulls. ``beliefs`` and ``memory`` replace the study's documents; None
        leaves them. ``states`` are those of arms that change with it (see ``Change``). ``token``
        says which study is meant, here and below; None is any.
        """

    @abstractmethod
    def serve_known(
        self, name: str, *, token: str, at: float, pulls: Sequence[NewPull], rollout: int = 0
    ) -> Placed:
        """Commit pulls of known arms that were decided from a view of any age; see above.

        At least one. They count on from the last pull, whatever their ``number``, and their time is
        ``steady``. ``rollout`` is the version of the rollout that they were decided with.
        """

    @abstractmethod
    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        """Record rewards of pulls, by number, in one transaction and with at most one new ``seq``.

        They are counted in order of the pulls' numbers (of equal ones, as given). For each, as
        given: what it did, None when there is no such pull, or the conflict it would have been.
        """

    def report_many(
        self, name: str, reports: Sequence[Report], *, at: float, token: str | None = None
    ) -> Reports:
        """Record rewards and signals of pulls, by number, as ``reward_many`` does; see above.

        A store from before there were signals refuses them.
        """
        what = f"the signals of study {name!r} were not recorded"
        raise StoreError(what, "its store keeps none", "use another store, or tell rewards alone")

    def reward(self, name: str, number: int, reward: float, *, at: float) -> Rewarded | None:
        """Record one reward; ``RewardConflict`` when the pull has another."""
        (done,) = self.reward_many(name, [(number, reward)], at=at)
        if isinstance(done, RewardConflict):
            raise done
        return done

    @abstractmethod
    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        """Expire the pulls that were served before a time and are still pending."""

    @abstractmethod
    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        """Commit a change by hand, or one that was noticed; returns the new ``seq``."""

    @abstractmethod
    def prune(self, name: str, *, before: float, limit: int = 10_000, taken: Taken = ALL) -> int:
        """Forget at most ``limit`` finished pulls that were served before a time; how many.

        Their rewards stay counted. A pending pull is never forgotten, nor one of
        ``outcomes`` or ``signalled`` that is after ``taken``: a reward or a signal may come in
        after somebody read up to there.
        """

    @abstractmethod
    def keep_lift(self, name: str, lift: KeptLift, *, token: str | None = None) -> None:
        """Keep what rewards add up to, unless what is kept goes as far; no new ``seq``."""

    @abstractmethod
    def kept_lift(
        self, name: str, *, after: tuple[int, int, int] = (0, 0, -1), signal: str = ""
    ) -> KeptLift | None:
        """What was kept, when it goes further than a ``place``."""

    def probe(self) -> None:
        """Write something that means nothing, as durably as all else; raises when that fails.

        For a service that says whether it can serve. It waits for no study. A store that does not
        say otherwise only reads.
        """
        self.seqs()

    def wait(self, timeout_s: float) -> None:
        """Return when a study may have changed, at the latest after so many seconds."""
        time.sleep(timeout_s)

    @abstractmethod
    def close(self) -> None:
        """Release what the store holds; using it afterwards raises ``StoreClosed``."""
