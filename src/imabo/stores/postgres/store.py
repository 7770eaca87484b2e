"""The durable store of several processes and machines: a PostgreSQL database."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final

from imabo.arms import Restart
from imabo.errors import RewardConflict, StoreError
from imabo.settings import check_count, check_number
from imabo.stores.base import (
    ArmRecord,
    Change,
    Expired,
    KeyRecord,
    LogEntry,
    Milestone,
    NewArm,
    NewPull,
    Placed,
    PullRecord,
    Rewarded,
    Snapshot,
    StaleView,
    Store,
    StudyRecord,
)
from imabo.stores.postgres.address import parsed
from imabo.stores.postgres.connections import MOST, NONE, Connections, Found, Parameters
from imabo.stores.postgres.feedback import Batch
from imabo.stores.postgres.history import CHANGES, MILESTONES, keep_milestone
from imabo.stores.postgres.limits import DEFAULT_S
from imabo.stores.postgres.rows import (
    advanced,
    check_arms,
    insert_arms,
    insert_event,
    insert_space,
    served_rows,
)
from imabo.stores.postgres.schema import upgrade
from imabo.stores.postgres.statements import (
    access,
    decisions,
    feedback,
    notices,
    probing,
    reading,
    studies,
)
from imabo.stores.postgres.statements.terms import columns_of
from imabo.stores.postgres.streaming import stream
from imabo.stores.refusals import misfit, study_exists, unknown_study
from imabo.stores.rows import (
    ArmRows,
    dump,
    dump_or_none,
    numbered,
    to_change,
    to_milestone,
    to_pull,
    to_snapshot,
)
from imabo.stores.rules import is_milestone

_LARGEST: Final = 2**63 - 1  # a wider number is no pull's
_BOUND_S: Final = 60.0  # after this, all that waits is looked through again


class PostgresStore(Store):
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
                self._connections.apart.connect() as db,
            ):
                upgrade(db, self._connections.where)
        except BaseException:
            self._connections.close()
            raise

    # --- studies --------------------------------------------------------------------------------

    def create(self, study: StudyRecord) -> None:
        """See ``Store.create``."""
        low, high = study.reward_range or (None, None)
        row = {
            "name": study.name,
            "token": study.token,
            "seed": str(study.seed),
            "policy": dump(study.policy),
            "oracle": dump(study.oracle),
            "reward_low": low,
            "reward_high": high,
            "window_s": study.window_s,
            "created_at": study.created_at,
            "last_at": study.created_at,
        }
        with self._connections.writing(studies.CREATE, row) as (db, found):
            if not found:
                raise study_exists(study.name)
            insert_space(db, found[0].id, study.space, Restart())
            db.execute(notices.NOTIFY, {"payload": self._connections.notifier.words(found[0].id)})

    def names(self) -> list[str]:
        """See ``Store.names``."""
        return [row.name for row in self._connections.read(studies.NAMES)]

    def seqs(self) -> dict[str, int]:
        """See ``Store.seqs``."""
        return dict(self._connections.read(studies.SEQS))

    def find(self, token: str) -> str | None:
        """See ``Store.find``."""
        rows = self._connections.read(studies.FIND, {"token": token})
        return rows[0].name if rows else None

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        with self._connections.locking(name) as (db, study):
            # However many pulls there are.
            db.exec_driver_sql("SET LOCAL statement_timeout = 0")
            with self._connections.patiently():
                db.execute(studies.DELETE, {"study_id": study.id})
            db.execute(notices.NOTIFY, {"payload": self._connections.notifier.words(study.id)})

    def turn(self, name: str) -> AbstractContextManager[None]:
        """See ``Store.turn``; it holds up nobody who is busy with another study."""
        return self._connections.turn(name)

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        """See ``Store.load``."""
        bound_study, bound = self._bound_of(name)
        wanted = {"name": name, "since": since, "bound_study": bound_study, "bound": bound}
        with self._connections.snapshot(reading.LOAD, wanted, study=name) as (db, rows):
            if not rows:
                raise unknown_study(name, self.names())
            study, *facts = rows[0]
            arms = db.execute(reading.ARMS, {"study_id": study, "since": since}).all()
        snapshot = to_snapshot(name, facts, ArmRows(arms))
        self._learn(name, study, snapshot.oldest_pending_at, snapshot.last_at)
        return snapshot

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        """See ``Store.arms``."""
        return list(ArmRows(self._of(name, reading.SOME_ARMS, {"arm_ids": list(ids)})))

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        """See ``Store.spaces``."""
        return [json.loads(row.space) for row in self._of(name, reading.SPACES)]

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
        token: str | None = None,
    ) -> int:
        """See ``Store.serve``."""
        counts = Counter(new.arm for new in pulls)
        documents = [
            (decisions.PUT_BELIEFS, dump_or_none(beliefs)),
            (decisions.PUT_MEMORY, dump_or_none(memory)),
        ]
        has_document = beliefs is not None or memory is not None
        served = served_rows(pulls, counts, at) | {"mark_at": mark_at, "new_seq": seq + 1}
        after = pulls[-1].number if pulls else 0
        before = after - len(pulls)
        is_due = is_milestone(before, after)
        is_plain = not (arms or mark_at is not None or has_document or is_due)
        if is_plain and not self._connections.holds(name):
            # The study's id is not known yet; nobody who hears of the change needs it.
            meant = {"study_name": name, "study_token": token}
            at_once = served | meant | self._payload(0)
            if self._connections.write_at_once(decisions.SERVE_AT_ONCE, at_once):
                return seq + 1
            # Not done, because something is to be refused: what it is comes out below.
        with self._connections.locking(name, token) as (db, study):
            here = advanced(study, seq)
            if mark_at is not None:
                db.execute(decisions.MARK_ARMS, here)
            insert_arms(db, here, arms)
            for put, document in documents:
                if document is not None:
                    row = {"study": study.id, "seq": seq + 1, "document": document}
                    db.execute(put, row)
            done = db.execute(decisions.SERVE, served | here | self._payload(study.id)).one()
            check_arms(done.n_counted, counts)
            if is_due:
                keep_milestone(db, study.id, before, after, at)
        return seq + 1

    def serve_known(self, name: str, *, token: str, at: float, pulls: Sequence[NewPull]) -> Placed:
        """See ``Store.serve_known``."""
        if self._connections.holds(name):
            raise misfit("a turn decides from the newest view, and serves with serve()")
        served = served_rows(numbered(pulls, 1), Counter(new.arm for new in pulls), at)
        wanted = {"study_name": name, "study_token": token, "mark_at": None} | self._payload(0)
        rows = self._connections.write_once(decisions.SERVE_KNOWN, served | wanted)
        if not rows:
            self._connections.study_id(name)  # raises when there is none
            raise StaleView
        before, after = rows[0].before, rows[0].before + len(pulls)
        if is_milestone(before, after):
            # The pulls are there already; they must not seem to be lost for want of a milestone.
            with suppress(StoreError), self._connections.locking(name) as (db, study):
                keep_milestone(db, study.id, before, after, rows[0].last_at)
        return Placed(rows[0].seq, before + 1, rows[0].last_at)

    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        """See ``Store.change``."""
        data = dump(change.data)
        states = [(arm, *both) for arm, both in change.states.items()]
        with self._connections.locking(name, token) as (db, study):
            here = advanced(study, seq)
            insert_arms(db, here, change.arms)
            if states:
                named = columns_of("change", states, "arm", "state", "retired_from")
                check_arms(db.execute(decisions.CHANGE_ARMS, here | named).rowcount, change.states)
            if change.space is not None and change.restart is not None:
                insert_space(db, study.id, change.space, change.restart)
            if change.memory is not None:
                row = {"study": study.id, "seq": seq + 1, "document": dump(change.memory)}
                db.execute(decisions.PUT_MEMORY, row)
            insert_event(db, study.id, seq + 1, change.kind, at, data)
            db.execute(decisions.ADVANCE, here | self._payload(study.id) | {"now": at})
        return seq + 1

    # --- feedback -------------------------------------------------------------------------------

    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        """See ``Store.reward_many``."""
        numbers = sorted({number for number, _ in rewards if 1 <= number <= _LARGEST})
        with self._connections.locking(name, token) as (db, study):
            told = db.execute(feedback.TOLD, {"study_id": study.id, "numbers": numbers}).all()
            batch = Batch(study.seq, study.reward_sum, told)
            found = batch.add(rewards)
            if batch.fresh:
                here = {"study_id": study.id, "new_seq": study.seq + 1, "now": at}
                db.execute(feedback.REWARD, here | batch.parameters() | self._payload(study.id))
        return found

    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        """See ``Store.expire``."""
        with self._connections.locking(name, token) as (db, study):
            bound_study, bound = self._bound_of(name)
            pending = {"study_id": study.id, "bound": bound}
            if bound_study != study.id or study.last_at < bound:
                pending["bound"] = -math.inf
            rows: Found = db.execute(feedback.EXPIRE, pending | {"before": before}).all()
            counts: dict[int, int] = dict(rows)
            seq = study.seq
            if counts:
                seq += 1
                here = {"study_id": study.id, "new_seq": seq, "now": at}
                left = columns_of("left", list(counts.items()), "arm", "n")
                done = here | left | {"n_expired": sum(counts.values())}
                db.execute(feedback.EXPIRED, done | self._payload(study.id))
                insert_event(db, study.id, seq, "expire", at, dump({"before": before}))
            oldest = db.scalar(reading.OLDEST_PENDING, pending)
        return Expired(counts, oldest, seq)

    def prune(self, name: str, *, before: float, limit: int = 10_000) -> int:
        """See ``Store.prune``."""
        with self._connections.locking(name) as (db, study):
            wanted = {"study_id": study.id, "before": before, "limit": limit}
            return db.execute(feedback.PRUNE, wanted).rowcount

    # --- history --------------------------------------------------------------------------------

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        """See ``Store.pulls``."""
        page = {"after": min(after, _LARGEST), "limit": limit}
        return [to_pull(row) for row in self._of(name, reading.PULLS, page)]

    def pull(self, name: str, number: int) -> PullRecord | None:
        """See ``Store.pull``."""
        wanted = {"number": number if 1 <= number <= _LARGEST else 0}
        rows = self._of(name, reading.PULL, wanted)
        return to_pull(rows[0]) if rows else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        """See ``Store.keyed``."""
        found: dict[str, list[PullRecord]] = {}
        for key, *pull in self._of(name, reading.KEYED, {"keys": list(keys)}):
            found.setdefault(key, []).append(to_pull(pull))
        return found

    def log(self, name: str) -> Iterator[LogEntry]:
        """See ``Store.log``."""
        for seq, kind, at, pull, arm, reason, reward, data in stream(self._connections, name):
            facts = None if data is None else json.loads(data)
            if kind == "ask" and data is not None:
                facts = {"context": facts}
            yield LogEntry(seq, kind, at, pull or None, arm, reason, reward, facts)

    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        """See ``Store.changes``."""
        rows = self._of(name, CHANGES, {"limit": limit})
        return [to_change(row) for row in reversed(rows)]

    def milestones(self, name: str) -> list[Milestone]:
        """See ``Store.milestones``."""
        return [to_milestone(row) for row in self._of(name, MILESTONES)]

    # --- access keys ----------------------------------------------------------------------------

    def put_key(self, key: KeyRecord) -> None:
        """See ``Store.put_key``."""
        row = {
            "id": key.id,
            "name": key.name,
            "role": key.role,
            "studies": dump_or_none(key.studies),
            "secret_hash": key.secret_hash,
            "created_at": key.created_at,
            "revoked_at": key.revoked_at,
        }
        with self._connections.writing(access.PUT_KEY, row):
            pass

    def keys(self) -> list[KeyRecord]:
        """See ``Store.keys``."""
        return [
            KeyRecord(id_, name, role, None if studies is None else tuple(json.loads(studies)), *r)
            for id_, name, role, studies, *r in self._connections.read(access.KEYS)
        ]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        """See ``Store.revoke_key``."""
        wanted = {"key_id": key_id, "now": at}
        with self._connections.writing(access.REVOKE_KEY, wanted) as (_, found):
            return bool(found)

    # --- the store itself -----------------------------------------------------------------------

    def probe(self) -> None:
        """See ``Store.probe``."""
        with self._connections.writing(probing.SMALL, NONE) as (db, _):
            db.execute(probing.SPILL)
            db.execute(probing.TOUCH)

    def wait(self, timeout_s: float) -> None:
        """See ``Store.wait``; hears of other processes' changes, not of this one's.

        Where listening fails it only waits, so look for changes after every return.
        """
        self._connections.check()
        self._connections.listener.wait(timeout_s)

    def close(self) -> None:
        """See ``Store.close``."""
        self._connections.close()

    def _of(self, name: str, statement: Any, parameters: Parameters = NONE) -> Found:
        """The rows of a statement about a study; none may mean that there is no such study."""
        rows = self._connections.read(statement, {"name": name, **parameters}, study=name)
        if not rows:
            self._connections.study_id(name)  # raises when there is none
        return rows

    def _payload(self, study: int) -> dict[str, str | None]:
        return {"payload": self._connections.notifier.payload(study)}

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
