"""The verbs of a study in PostgreSQL."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from imabo.arms import ArmState, Restart
from imabo.errors import RewardConflict, StoreError
from imabo.settings import check_count, check_number
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
from imabo.stores.postgres import statements, writes
from imabo.stores.postgres.address import parsed
from imabo.stores.postgres.connections import NONE, Connections, Found
from imabo.stores.postgres.history import LARGEST, PostgresHistory
from imabo.stores.postgres.keys import PostgresKeys
from imabo.stores.postgres.outbox import PostgresOutbox, add_study_event, forget_study
from imabo.stores.postgres.pool import DEFAULT_S, MOST
from imabo.stores.postgres.schema import upgrade
from imabo.stores.postgres.statements import Served
from imabo.stores.records import NO_STATES
from imabo.stores.refusals import misfit, study_exists
from imabo.stores.rows import (
    ArmRows,
    Beside,
    SpaceRow,
    StudyHead,
    StudyRow,
    dump,
    of_space,
    of_study,
    to_lift,
    to_snapshot,
)
from imabo.stores.rules import (
    RewardCount,
    Rewarded,
    coin_counts,
    is_milestone,
    numbered,
)
from imabo.stores.signalling import Goal, ReportCount

_BOUND_S: Final = 60.0  # after this, all that waits is looked through again
_SPACE_AT: Final = len(StudyRow._fields)  # where a row of LOAD goes on with the space
_BESIDE_AT: Final = _SPACE_AT + len(SpaceRow._fields)


class PostgresStore(PostgresHistory, PostgresKeys, PostgresOutbox, Store):
    """Studies in a PostgreSQL database (15 or newer) that any number of processes share.

    Use the URL ``postgresql://user:password@host/database`` with ``Study``. The tables are named
    ``imabo_...`` and lie where the user's new tables go; they are made when they are not there.
    Reconnects by itself after the server was restarted; while the server is away, verbs raise
    ``StoreError``.

    Args:
        url: As above; ``?host=/run/postgresql`` reaches a socket, and other options of libpq
            (``sslmode``, ``connect_timeout``) may follow.
        limit_s: How many seconds a verb may take, 0.1 to 3600. After that it raises ``StoreError``,
            the connection is thrown away, and whether a write was done is not known. Deleting a
            study and beginning its log may take longer, as long as the server answers.
        connections: How many at once, at least 1; who needs one more waits a part of ``limit_s``.
    """

    def __init__(self, url: str, *, limit_s: float = DEFAULT_S, connections: int = MOST) -> None:
        check_number("limit_s", limit_s, 0.1, 3600.0, closed=True)
        check_count("connections", connections, least=1)
        self._connections = Connections(parsed(url), limit_s=limit_s, most=connections)
        # By study: its id, a time that no pending pull was served before, and when we knew.
        self._bounds: dict[str, tuple[int, float, float]] = {}
        try:
            with (
                self._connections.translated(),
                self._connections.patiently(),
                self._connections.apart() as db,
            ):
                upgrade(db, self._connections.where)
        except BaseException:
            self._connections.close()
            raise

    # --- studies --------------------------------------------------------------------------------

    def create(self, study: StudyRecord, first: Change | None = None) -> None:
        with self._connections.writing(statements.CREATE, of_study(study)) as (db, found):
            if not found:
                raise study_exists(study.name)
            made = found[0][0]
            db.execute(statements.INSERT_SPACE, of_space(made, study.space, Restart()))
            add_study_event(db, made, "created", {}, study.created_at)
            if first is not None:
                here = {"study": made, "seq": 1, "payload": None}
                writes.change(db, here, first, study.created_at)
            db.execute(statements.NOTIFY, {"payload": self._connections.words(made)})

    def names(self) -> list[str]:
        return [name for (name,) in self._connections.read(statements.NAMES)]

    def seqs(self) -> dict[str, int]:
        return dict(self._connections.read(statements.SEQS))

    def find(self, token: str) -> str | None:
        rows = self._connections.read(statements.FIND, {"token": token})
        return rows[0][0] if rows else None

    def delete(self, name: str) -> None:
        with self._connections.locking(name) as (db, study):
            db.execute(statements.NO_TIMEOUT)
            with self._connections.patiently():
                db.execute(statements.DELETE, {"study": study.id})
            forget_study(db, name, study.token, time.time())
            db.execute(statements.NOTIFY, {"payload": self._connections.words(study.id)})

    def turn(self, name: str) -> AbstractContextManager[None]:
        """See ``Store.turn``; it holds up nobody who is busy with another study."""
        return self._connections.turn(name)

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        rows, arms = self._load(name, since, since, statements.ARMS)
        return to_snapshot(name, *rows, ArmRows(arms))

    def outline(self, name: str) -> Outline:
        rows, ((n_arms,),) = self._load(name, 0, ALL.seq, statements.N_ARMS)
        return Outline(to_snapshot(name, *rows, ()), n_arms)

    def _load(
        self, name: str, since: int, large_since: int, of_arms: bytes
    ) -> tuple[tuple[StudyRow, SpaceRow, Beside], Found]:
        """A study without its arms, and what else is asked of them at the same moment."""
        bound_study, bound = self._bound_of(name)
        wanted = {"name": name, "since": since, "large_since": large_since}
        wanted |= {"bound_study": bound_study, "bound": bound}
        with self._connections.snapshot(statements.LOAD, wanted, study=name) as (db, rows):
            if not rows:
                raise self._connections.unknown(name)
            study = StudyRow._make(rows[0][:_SPACE_AT])
            arms = db.execute(of_arms, {"study": study.id, "since": since}).fetchall()
        latest = SpaceRow._make(rows[0][_SPACE_AT:_BESIDE_AT])
        beside = Beside._make(rows[0][_BESIDE_AT:])
        self._learn(name, study.id, beside.oldest_pending_at, study.last_at)
        return (study, latest, beside), arms

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        return list(ArmRows(self._of(name, statements.SOME_ARMS, ids=list(ids))))

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
        documents = [(statements.PUT_BELIEFS, beliefs), (statements.PUT_MEMORY, memory)]
        written = [(put, {"document": dump(text)}) for put, text in documents if text is not None]
        served = _served(pulls, at) | {"mark_at": mark_at, "seq": seq + 1}
        after = pulls[-1].number if pulls else 0
        before = after - len(pulls)
        is_due = is_milestone(before, after)
        uses = [pull.uses for pull in pulls if pull.uses is not None]
        is_plain = not (arms or states or mark_at is not None or written or is_due or uses)
        if is_plain and not self._connections.holds(name):
            # The study's id is not known yet; nobody who hears of the change needs it.
            meant = {"name": name, "token": token, "payload": self._connections.payload(0)}
            if self._connections.read(statements.SERVE_AT_ONCE, served | meant):
                return seq + 1
            # Not done, because something is to be refused: what it is comes out below.
        with self._connections.locking(name, token) as (db, study):
            here = self._advanced(study, seq)
            if mark_at is not None:
                db.execute(statements.MARK_ARMS, here)
            writes.insert_arms(db, here, arms)
            writes.put_states(db, here, states)
            for put, document in written:
                db.execute(put, here | document)
            (row,) = db.execute(statements.SERVE, served | here).fetchall()
            writes.check_arms(Served._make(row).n_counted, served["served"])
            writes.use(db, study.id, uses)
            if is_due:
                writes.keep_milestone(db, study.id, before, after, at)
        return seq + 1

    def serve_known(
        self, name: str, *, token: str, at: float, pulls: Sequence[NewPull], rollout: int = 0
    ) -> Placed:
        if self._connections.holds(name):
            raise misfit("a turn decides from the newest view, and serves with serve()")
        tuned = {new.arm for new in pulls if new.group != "control"}
        controls = [new.arm for new in pulls if new.arm not in tuned]
        wanted: dict[str, Any] = {"name": name, "token": token, "mark_at": None}
        wanted |= {"rollout": rollout, "controls": controls}
        payload = {"payload": self._connections.payload(0)}
        served = _served(numbered(pulls, 1), at) | wanted | payload
        uses = [pull.uses for pull in pulls if pull.uses is not None]
        rows: Sequence[Sequence[Any]]
        if uses:
            with self._connections.locking(name, token) as (db, locked):
                rows = db.execute(statements.SERVE_KNOWN, served).fetchall()
                writes.use(db, locked.id, uses if rows else [])
        else:
            rows = self._connections.write_once(statements.SERVE_KNOWN, served)
        if not rows:
            self._connections.study_id(name)  # raises when there is none
            raise StaleView
        done = Served._make(rows[0])
        after = done.before + len(pulls)
        if is_milestone(done.before, after):
            # The pulls are there already; they must not seem to be lost for want of a milestone.
            with suppress(StoreError), self._connections.locking(name) as (db, study):
                writes.keep_milestone(db, study.id, done.before, after, done.last_at)
        return Placed(done.seq, done.before + 1, done.last_at)

    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        with self._connections.locking(name, token) as (db, study):
            writes.change(db, self._advanced(study, seq), change, at)
        return seq + 1

    def _advanced(self, study: StudyHead, seq: int) -> dict[str, Any]:
        """What the statements of a decision share; refuses one that rests on another view."""
        if study.seq != seq:
            raise StaleView
        payload = self._connections.payload(study.id)
        return {"study": study.id, "seq": seq + 1, "payload": payload}

    # --- rewards, and pulls that expire or go ---------------------------------------------------

    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        numbers = sorted({number for number, _ in rewards if 1 <= number <= LARGEST})
        with self._connections.locking(name, token) as (db, study):
            told = db.execute(statements.TOLD, {"study": study.id, "numbers": numbers})
            count = RewardCount(study.seq, study.reward_sum, told)
            found = count.add(rewards)
            if count.fresh:
                here = self._advanced(study, study.seq)
                db.execute(statements.REWARD, here | _counted(count, at))
        return found

    def report_many(
        self, name: str, reports: Sequence[Report], *, at: float, token: str | None = None
    ) -> Reports:
        numbers = sorted({one.number for one in reports if 1 <= one.number <= LARGEST})
        with self._connections.locking(name, token) as (db, study):
            wanted = {"study": study.id, "numbers": numbers}
            told = db.execute(statements.REPORTED, wanted).fetchall()
            goal = Goal.read(*told[0][-3:]) if told else Goal(None, None, None)
            count = ReportCount(study.seq, study.reward_sum, told, at, goal)
            found = count.report(reports)
            here = self._advanced(study, study.seq)
            if count.fresh:
                db.execute(statements.REWARD, here | _counted(count, at))
            if count.pulls:
                signals = {
                    "at": at,
                    "number": list(count.pulls),
                    "told": [dump(one) for one in count.pulls.values()],
                    "arm": list(count.arms),
                    "sums": [dump(one) for one in count.arms.values()],
                    "banks": dump(goal.banks),
                }
                db.execute(statements.REPORT, here | signals)
        return Reports(found, study.seq + count.is_news, goal.banks)

    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        with self._connections.locking(name, token) as (db, study):
            bound_study, bound = self._bound_of(name)
            if bound_study != study.id or study.last_at < bound:
                bound = -math.inf
            due = {"study": study.id, "bound": bound, "before": before}
            counts: dict[int, int] = dict(db.execute(statements.EXPIRE, due).fetchall())
            if counts:
                here = self._advanced(study, study.seq) | {"at": at}
                left = {"arm": list(counts), "n": list(counts.values())}
                total = {"n_expired": sum(counts.values())}
                db.execute(statements.EXPIRED, here | left | total)
                event = {"kind": "expire", "data": dump({"before": before})}
                db.execute(statements.INSERT_EVENT, here | event)
            oldest = db.execute(statements.OLDEST_PENDING, due).fetchone()
        return Expired(counts, None if oldest is None else oldest[0], study.seq + bool(counts))

    def prune(self, name: str, *, before: float, limit: int = 10_000, taken: Taken = ALL) -> int:
        with self._connections.locking(name) as (db, study):
            wanted = {"study": study.id, "before": before, "limit": limit}
            return db.execute(statements.PRUNE, wanted | taken._asdict()).rowcount

    # --- what rewards add up to -----------------------------------------------------------------

    def keep_lift(self, name: str, lift: KeptLift, *, token: str | None = None) -> None:
        place = {"since": lift.since, "seq": lift.seq, "number": lift.number}
        kept = place | {"document": dump(lift.document), "signal": lift.signal}
        with self._connections.locking(name, token) as (db, study):
            db.execute(statements.KEEP_LIFT, kept | {"study": study.id})

    def kept_lift(
        self, name: str, *, after: tuple[int, int, int] = (0, 0, -1), signal: str = ""
    ) -> KeptLift | None:
        place = dict(zip(("since", "seq", "number"), after, strict=True))
        rows = self._of(name, statements.KEPT_LIFT, signal=signal, **place)
        return to_lift(rows[0]) if rows else None

    # --- the store itself -----------------------------------------------------------------------

    def probe(self) -> None:
        with self._connections.writing(statements.SMALL, NONE) as (db, _):
            db.execute(statements.SPILL)
            db.execute(statements.TOUCH)

    def wait(self, timeout_s: float) -> None:
        """See ``Store.wait``; hears of other processes' changes, not of this one's.

        Where listening fails it only waits, so look for changes after every return.
        """
        self._connections.check()
        self._connections.listener.wait(timeout_s)

    def close(self) -> None:
        self._connections.close()

    def _bound_of(self, name: str) -> tuple[int, float]:
        study, bound, known_at = self._bounds.get(name, (0, -math.inf, 0.0))
        # Clocks that are set back, and run past the bound again, go unnoticed for so long only.
        if time.monotonic() - known_at > _BOUND_S:
            return 0, -math.inf
        return study, bound

    def _learn(self, name: str, study: int, oldest: float | None, last_at: float) -> None:
        # Pulls come in order of time, so nothing that waits will be older, as long as no clock is
        # set back. One that was is why some may be newer than the last write.
        if oldest is not None and self._connections.is_settled:
            known_at = self._bounds.get(name, (0, 0.0, -math.inf))[2]
            if self._bound_of(name)[0] != study:
                known_at = time.monotonic()
            self._bounds[name] = study, min(oldest, last_at), known_at


def _served(pulls: Sequence[NewPull], at: float) -> dict[str, Any]:
    """What the statements that serve take."""
    counts = Counter([new.arm for new in pulls])
    n_tuned, n_control = coin_counts(pulls)
    return {
        "group": [new.group for new in pulls],
        "propensity": [new.propensity for new in pulls],
        "n_tuned": n_tuned,
        "n_control": n_control,
        "at": at,
        "n": len(pulls),
        "number": [new.number for new in pulls],
        "arm": [new.arm for new in pulls],
        "reason": [new.reason for new in pulls],
        "key": [new.key for new in pulls],
        "part": [new.part for new in pulls],
        "context": [
            None if new.context is None else new.context_json or dump(new.context) for new in pulls
        ],
        "served": list(counts),
        "served_n": list(counts.values()),
    }


def _counted(count: RewardCount, at: float) -> dict[str, Any]:
    """What the statement that rewards takes."""
    sums = count.sums.values()
    return {
        "at": at,
        "number": list(count.fresh),
        "reward": list(count.fresh.values()),
        "arm": list(count.sums),
        "n": [arm.n for arm in sums],
        "pending": [arm.n_pending for arm in sums],
        "sum": [arm.total for arm in sums],
        "squares": [arm.squares for arm in sums],
        "n_fresh": len(count.fresh),
        "n_pending": sum(arm.n_pending for arm in sums),
        "total": count.total,
    }
