"""The verbs of a study in a SQLite file."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from imabo.arms import ArmState, Restart
from imabo.errors import RewardConflict, StoreError
from imabo.settings import check_number
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
    Reports,
    Snapshot,
    StaleView,
    Store,
    StudyRecord,
)
from imabo.stores.history import ALL, Taken
from imabo.stores.records import NO_STATES
from imabo.stores.refusals import misfit, reward_conflict, study_exists
from imabo.stores.rows import (
    ArmRows,
    StudyHead,
    dump,
    of_settings,
    of_space,
    of_study,
    to_lift,
    to_snapshot,
)
from imabo.stores.rules import (
    Rewarded,
    coin_counts,
    is_milestone,
    is_wider,
    numbered,
    steady,
    superfluous,
)
from imabo.stores.signalling import Goal, ReportCount
from imabo.stores.sqlite import statements
from imabo.stores.sqlite.connections import BUSY_S, Connections, head_of, rows_of
from imabo.stores.sqlite.history import SQLiteHistory
from imabo.stores.sqlite.keys import SQLiteKeys
from imabo.stores.sqlite.outbox import SQLiteOutbox, add_study_event, forget_study

_LEAST_FREE: Final = 1 << 20  # bytes; with less, a group of requests may not fit any more


class SQLiteStore(SQLiteHistory, SQLiteKeys, SQLiteOutbox, Store):
    """Studies in one file: write-ahead log, one writer at a time, flushed before a verb returns.

    Any number of threads and processes may read it while one writes, and a process that forks may
    use it on both sides. Use the URL form ``sqlite:///imabo.db`` (relative) or
    ``sqlite:////var/lib/imabo.db`` (absolute) with ``Study``.

    Args:
        path: The file; it is made when it does not exist, readable by its owner alone. Its folder
            is not made. While the store is open the file stays where it is: when it was deleted or
            replaced, every verb raises ``StoreError``.
        limit_s: How many seconds a verb waits for another process that is writing, 0.1 to 3600.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = SQLiteStore(f"{folder}/imabo.db")
        ...     store.names()
        ...     store.close()
        []
    """

    turns_hold_all = True

    def __init__(self, path: str, *, limit_s: float = BUSY_S) -> None:
        check_number("limit_s", limit_s, 0.1, 3600.0, closed=True)
        self.path = os.path.abspath(path)
        self._connections = Connections(self.path, limit_s)

    # --- studies --------------------------------------------------------------------------------

    def create(self, study: StudyRecord, first: Change | None = None) -> None:
        with self._connections.writing() as db:
            if db.execute(statements.HEAD, (study.name,)).fetchone() is not None:
                raise study_exists(study.name)
            made = db.execute(statements.CREATE, of_study(study)).lastrowid or 0
            db.execute(statements.INSERT_SPACE, of_space(made, study.space, Restart()))
            add_study_event(db, made, "created", {}, study.created_at)
            if first is not None:
                _change(db, made, first, 0, study.created_at)

    def names(self) -> list[str]:
        with self._connections.reading() as db:
            return [name for (name,) in db.execute(statements.NAMES)]

    def seqs(self) -> dict[str, int]:
        with self._connections.reading() as db:
            return dict(db.execute(statements.SEQS).fetchall())

    def find(self, token: str) -> str | None:
        with self._connections.reading() as db:
            row = db.execute(statements.FIND, {"token": token}).fetchone()
            return None if row is None else str(row[0])

    def delete(self, name: str) -> None:
        with self._connections.writing() as db:
            study = head_of(db, name)
            db.execute(statements.DELETE, {"study": study.id})
            forget_study(db, name, study.token, time.time())

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """See ``Store.turn``; a file has one writer, so it holds up the other studies as well."""
        with self._connections.reading() as db:
            head_of(db, name)
        with self._connections.holding():
            yield

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        with self._connections.reading() as db:
            rows = rows_of(db, name, since, since)
            arms = db.execute(statements.ARMS, {"study": rows[0].id, "since": since}).fetchall()
        return to_snapshot(name, *rows, ArmRows(arms))

    def outline(self, name: str) -> Outline:
        with self._connections.reading() as db:
            rows = rows_of(db, name, 0, ALL.seq)
            (n_arms,) = db.execute(statements.N_ARMS, {"study": rows[0].id}).fetchone()
        return Outline(to_snapshot(name, *rows, ()), n_arms)

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        return list(ArmRows(self._of(name, statements.SOME_ARMS, ids=dump(list(ids)))))

    # --- decisions ------------------------------------------------------------------------------

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
        with self._connections.writing() as db:
            study = head_of(db, name, token).id
            here = _advance(db, study, seq, at)
            if mark_at is not None:
                db.execute(statements.MARK_STUDY, {"study": study, "mark_at": mark_at})
                db.execute(statements.MARK_ARMS, here)
            _insert_arms(db, study, seq + 1, arms)
            if states:
                _put_states(db, study, seq + 1, states)
            _insert_pulls(db, study, seq + 1, pulls, at)
            if beliefs is not None:
                db.execute(statements.PUT_BELIEFS, here | {"document": dump(beliefs)})
            if memory is not None:
                db.execute(statements.PUT_MEMORY, here | {"document": dump(memory)})
            _use(db, study, pulls)
            return seq + 1

    def serve_known(
        self, name: str, *, token: str, at: float, pulls: Sequence[NewPull], rollout: int = 0
    ) -> Placed:
        with self._connections.writing() as db:
            study = head_of(db, name)
            # The control is served whatever its state.
            arms = {pull.arm for pull in pulls if pull.group != "control"}
            named = {"study": study.id, "ids": json.dumps(list(arms))}
            (n_active,) = db.execute(statements.N_ACTIVE, named).fetchone()
            if (token, rollout) != (study.token, study.rollout_seq) or n_active != len(arms):
                raise StaleView
            at = steady(at, study.last_at)
            _advance(db, study.id, study.seq, at)
            first = study.n_pulls + 1
            try:
                _insert_pulls(db, study.id, study.seq + 1, numbered(pulls, first), at)
            except sqlite3.IntegrityError:
                raise StaleView from None  # a key is known
            _use(db, study.id, pulls)
            return Placed(study.seq + 1, first, at)

    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        with self._connections.writing() as db:
            return _change(db, head_of(db, name, token).id, change, seq, at)

    # --- rewards, and pulls that expire or go ---------------------------------------------------

    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
        with self._connections.writing() as db:
            study = head_of(db, name, token)
            new, total, n_fresh, n_pending = study.seq + 1, study.reward_sum, 0, 0
            for i in sorted(range(len(rewards)), key=lambda i: rewards[i][0]):
                number, reward = rewards[i]
                row = db.execute(statements.TOLD, (study.id, number)).fetchone()
                if row is None:
                    continue
                arm, state, recorded = row
                if state == "rewarded":
                    if recorded != reward:
                        found[i] = reward_conflict(number, recorded, reward)
                    else:
                        found[i] = Rewarded(arm, False, False, study.seq + (n_fresh > 0))
                    continue
                was_pending = state == "pending"
                db.execute(statements.REWARD_PULL, (reward, at, new, study.id, number))
                counted = (was_pending, reward, reward * reward, new, study.id, arm)
                db.execute(statements.REWARD_ARM, counted)
                n_fresh, n_pending, total = n_fresh + 1, n_pending + was_pending, total + reward
                found[i] = Rewarded(arm, True, was_pending, new)
            if n_fresh:
                last_at = steady(at, study.last_at)
                db.execute(
                    statements.REWARD_STUDY, (new, n_fresh, n_pending, total, last_at, study.id)
                )
        return found

    def report_many(
        self, name: str, reports: Sequence[Report], *, at: float, token: str | None = None
    ) -> Reports:
        with self._connections.writing() as db:
            study = head_of(db, name, token)
            goal = Goal.read(*db.execute(statements.GOAL, (study.id,)).fetchone())
            numbers = {report.number for report in reports}
            told = [
                row
                for number in sorted(numbers)
                if (row := db.execute(statements.REPORTED, (study.id, number)).fetchone())
            ]
            count = ReportCount(study.seq, study.reward_sum, told, at, goal)
            found = count.report(reports)
            if count.is_news:
                _write_reports(db, study, count, at)
                db.execute(statements.PUT_BANKS, (dump(goal.banks), study.id))
        return Reports(found, study.seq + count.is_news, goal.banks)

    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        with self._connections.writing() as db:
            study = head_of(db, name, token)
            here: dict[str, Any] = {"study": study.id, "before": before}
            counts: dict[int, int] = dict(db.execute(statements.DUE, here).fetchall())
            seq = study.seq
            if counts:
                seq += 1
                db.execute(statements.EXPIRE_PULLS, here)
                db.executemany(
                    statements.EXPIRE_ARMS, [(n, seq, study.id, arm) for arm, n in counts.items()]
                )
                counted = {"seq": seq, "n": sum(counts.values()), "at": steady(at, study.last_at)}
                db.execute(statements.EXPIRE_STUDY, here | counted)
                event = {"seq": seq, "kind": "expire", "at": at, "data": dump({"before": before})}
                db.execute(statements.INSERT_EVENT, here | event)
            oldest = db.execute(statements.OLDEST_PENDING, here).fetchone()
            return Expired(counts, None if oldest is None else oldest[0], seq)

    def prune(self, name: str, *, before: float, limit: int = 10_000, taken: Taken = ALL) -> int:
        with self._connections.writing() as db:
            wanted = {"study": head_of(db, name).id, "before": before, "limit": limit}
            return db.execute(statements.PRUNE, wanted | taken._asdict()).rowcount

    # --- what rewards add up to -----------------------------------------------------------------

    def keep_lift(self, name: str, lift: KeptLift, *, token: str | None = None) -> None:
        place = dict(zip(("since", "seq", "number"), lift.place, strict=True))
        with self._connections.writing() as db:
            here = {"study": head_of(db, name, token).id, "document": dump(lift.document)}
            db.execute(statements.KEEP_LIFT, place | here | {"signal": lift.signal})

    def kept_lift(
        self, name: str, *, after: tuple[int, int, int] = (0, 0, -1), signal: str = ""
    ) -> KeptLift | None:
        place = dict(zip(("since", "seq", "number"), after, strict=True))
        rows = self._of(name, statements.KEPT_LIFT, signal=signal, **place)
        return to_lift(rows[0]) if rows else None

    # --- the store itself -----------------------------------------------------------------------

    def probe(self) -> None:
        free = os.statvfs(os.path.dirname(self.path))
        if free.f_bavail * free.f_frsize < _LEAST_FREE:
            raise StoreError(
                f"the disk of {self.path} is full",
                f"less than {_LEAST_FREE} bytes of it are free",
                "make room there",
            )
        with self._connections.writing() as db:
            # The same again, and still written: a page goes to the log and is flushed.
            (version,) = db.execute("PRAGMA user_version").fetchone()
            db.execute(f"PRAGMA user_version = {version}")

    def close(self) -> None:
        self._connections.close()


def _use(db: sqlite3.Connection, study: int, pulls: Sequence[NewPull]) -> None:
    """Move the banks of what price lists say of pulls."""
    uses = [pull.uses for pull in pulls if pull.uses is not None]
    if uses:
        goal = Goal.read(*db.execute(statements.GOAL, (study,)).fetchone())
        for one in uses:
            goal.use(one)
        db.execute(statements.PUT_BANKS, (dump(goal.banks), study))


def _write_reports(db: sqlite3.Connection, study: StudyHead, count: ReportCount, at: float) -> None:
    new = study.seq + 1
    rewarded = [(reward, at, new, study.id, n) for n, reward in count.fresh.items()]
    db.executemany(statements.REWARD_PULL, rewarded)
    signalled = [(dump(told), new, study.id, number) for number, told in count.pulls.items()]
    db.executemany(statements.SIGNAL_PULL, signalled)
    summed = [
        (arm.n, arm.n_pending, arm.total, arm.squares, new, study.id, arm_id)
        for arm_id, arm in count.sums.items()
    ]
    db.executemany(statements.REPORT_ARM, summed)
    arms = [(dump(sums), new, study.id, arm_id) for arm_id, sums in count.arms.items()]
    db.executemany(statements.SIGNAL_ARM, arms)
    n_pending = sum(arm.n_pending for arm in count.sums.values())
    counted = (new, len(count.fresh), n_pending, count.total, steady(at, study.last_at), study.id)
    db.execute(statements.REWARD_STUDY, counted)


def _advance(db: sqlite3.Connection, study: int, seq: int, at: float) -> dict[str, Any]:
    """Count the study's transaction, or refuse a decision from an old view; study and new seq."""
    moved = db.execute(statements.ADVANCE, (at, study, seq))
    if moved.rowcount != 1:
        raise StaleView
    return {"study": study, "seq": seq + 1}


def _change(db: sqlite3.Connection, study: int, change: Change, seq: int, at: float) -> int:
    """Do what a change says; returns the new ``seq``."""
    here = _advance(db, study, seq, at)
    _insert_arms(db, study, seq + 1, change.arms)
    _put_states(db, study, seq + 1, change.states)
    if change.space is not None and change.restart is not None:
        db.execute(statements.INSERT_SPACE, of_space(study, change.space, change.restart))
    if change.memory is not None:
        db.execute(statements.PUT_MEMORY, here | {"document": dump(change.memory)})
    if change.rollout is not None:
        db.execute(statements.PUT_ROLLOUT, here | {"document": dump(change.rollout)})
        db.execute(statements.ROLLOUT_SEQ, here)
    if change.settings is not None:
        db.execute(statements.PUT_SETTINGS, here | of_settings(change.settings))
    if change.banks is not None:
        db.execute(statements.PUT_BANKS, (dump(change.banks), study))
    if change.declared is not None:
        db.execute(statements.PUT_DECLARATION, here | {"document": dump(change.declared)})
    event = {"kind": change.kind, "at": at, "data": dump(change.data)}
    db.execute(statements.INSERT_EVENT, here | event)
    add_study_event(db, study, change.kind, change.data, at)
    return seq + 1


def _put_states(
    db: sqlite3.Connection,
    study: int,
    seq: int,
    states: Mapping[int, tuple[ArmState, ArmState | None]],
) -> None:
    rows = [(*both, seq, study, arm) for arm, both in states.items()]
    _check_arms(db.executemany(statements.CHANGE_ARMS, rows), states)


def _insert_arms(db: sqlite3.Connection, study: int, seq: int, arms: Sequence[NewArm]) -> None:
    for new in arms:
        facts = (new.identity, new.origin, new.parent, new.mutated, new.admitted_at)
        db.execute(statements.INSERT_ARM, (study, seq, new.id, dump(new.config), *facts))


def _insert_pulls(
    db: sqlite3.Connection, study: int, seq: int, pulls: Sequence[NewPull], at: float
) -> None:
    """Serve arms that are there, and keep the milestone that is due."""
    contexts = [
        None if new.context is None else new.context_json or dump(new.context) for new in pulls
    ]
    rows = [
        (
            study,
            new.number,
            new.arm,
            new.reason,
            at,
            seq,
            new.key,
            new.part,
            context,
            new.group,
            new.propensity,
        )
        for new, context in zip(pulls, contexts, strict=True)
    ]
    db.executemany(statements.INSERT_PULLS, rows)
    counts = Counter([new.arm for new in pulls])
    served = [(n, seq, study, arm) for arm, n in counts.items()]
    _check_arms(db.executemany(statements.COUNT_ARMS, served), counts)
    db.execute(statements.COUNT_PULLS, (len(pulls), *coin_counts(pulls), study))
    after = pulls[-1].number if pulls else 0
    before = after - len(pulls)
    if not is_milestone(before, after):
        return
    here = {"study": study, "at": at}
    db.execute(statements.KEEP_MILESTONE, here)
    if is_wider(before, after):
        kept = [n_pulls for (n_pulls,) in db.execute(statements.KEPT_MILESTONES, here)]
        gone = [(study, n_pulls) for n_pulls in superfluous(kept)]
        db.executemany(statements.DROP_MILESTONES, gone)


def _check_arms(update: sqlite3.Cursor, arms: Collection[int]) -> None:
    """Refuse a write that named an arm which is not there."""
    # One row an arm must have changed; executemany adds them up, and says -1 for none at all.
    if max(update.rowcount, 0) != len(arms):
        raise misfit(f"one of the arms {sorted(arms)} is not in the study")
