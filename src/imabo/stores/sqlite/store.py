"""The durable store of one machine: a SQLite file, through the standard library."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from imabo.arms import Restart
from imabo.errors import RewardConflict, StoreError
from imabo.settings import check_number
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
    steady,
)
from imabo.stores.refusals import reward_conflict, study_exists, study_replaced, unknown_study
from imabo.stores.rows import ArmRows, dump, numbered, to_pull, to_snapshot
from imabo.stores.sqlite.connections import BUSY_S, Connections, Row
from imabo.stores.sqlite.rows import (
    advance,
    changes_of,
    check_arms,
    check_known,
    document_of,
    insert_arms,
    insert_event,
    insert_pulls,
    insert_space,
    milestones_of,
    names_in,
    oldest_pending_at,
    put_document,
    record,
    spaces_of,
)

_ARM_COLUMNS: Final = ", ".join(ArmRows.COLUMNS)
_PULL_COLUMNS: Final = "number, arm, reason, state, served_at, reward, rewarded_at, context"
_LEAST_FREE: Final = 1 << 20  # bytes; with less, a group of requests may not fit any more
# An entry that is about no pull has number 0 here, so that (seq, number) orders them all.
_LOG: Final = """
    SELECT * FROM (
        SELECT served_seq AS seq, 'ask', served_at, number, arm, reason, NULL, context
        FROM pulls WHERE study = ?1
        UNION ALL SELECT rewarded_seq, 'tell', rewarded_at, number, NULL, NULL, reward, NULL
        FROM pulls WHERE study = ?1 AND state = 'rewarded'
        UNION ALL SELECT seq, kind, at, 0, NULL, NULL, NULL, data FROM events WHERE study = ?1
    ) WHERE (seq, number) > (?2, ?3) ORDER BY seq, number
"""


class SQLiteStore(Store):
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

    def _id(self, db: sqlite3.Connection, name: str, token: str | None = None) -> int:
        # Looked up each time: another process may have deleted the study, and made it again.
        row = db.execute("SELECT id, token FROM studies WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise unknown_study(name, names_in(db))
        if token not in (None, row[1]):
            raise study_replaced(name)
        return int(row[0])

    def create(self, study: StudyRecord) -> None:
        """See ``Store.create``."""
        low, high = study.reward_range or (None, None)
        with self._connections.writing() as db:
            if db.execute("SELECT 1 FROM studies WHERE name = ?", (study.name,)).fetchone():
                raise study_exists(study.name)
            row = db.execute(
                "INSERT INTO studies (name, token, seed, policy, oracle, reward_low, reward_high, "
                "window_s, created_at, last_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    study.name,
                    study.token,
                    str(study.seed),
                    dump(study.policy),
                    dump(study.oracle),
                    low,
                    high,
                    study.window_s,
                    study.created_at,
                    study.created_at,
                ),
            )
            insert_space(db, int(row.lastrowid or 0), study.space, Restart())

    def names(self) -> list[str]:
        """See ``Store.names``."""
        with self._connections.reading() as db:
            return names_in(db)

    def seqs(self) -> dict[str, int]:
        """See ``Store.seqs``."""
        with self._connections.reading() as db:
            return dict(db.execute("SELECT name, seq FROM studies ORDER BY name").fetchall())

    def find(self, token: str) -> str | None:
        """See ``Store.find``."""
        with self._connections.reading() as db:
            row = db.execute("SELECT name FROM studies WHERE token = ?", (token,)).fetchone()
            return None if row is None else str(row[0])

    def delete(self, name: str) -> None:
        """See ``Store.delete``."""
        with self._connections.writing() as db:
            db.execute("DELETE FROM studies WHERE id = ?", (self._id(db, name),))

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """See ``Store.turn``; a file has one writer, so it holds up the other studies as well."""
        with self._connections.reading() as db:
            self._id(db, name)
        with self._connections.holding():
            yield

    def load(self, name: str, *, since: int = 0) -> Snapshot:
        """See ``Store.load``."""
        with self._connections.reading() as db:
            study = self._id(db, name)
            facts = db.execute(
                "SELECT token, seed, policy, oracle, reward_low, reward_high, window_s, "
                "created_at, seq, n_pulls, n_rewards, n_pending, reward_sum, marked_at, last_at "
                "FROM studies WHERE id = ?",
                (study,),
            ).fetchone()
            version, space, *restart = db.execute(
                "SELECT version, space, n_pulls, n_rewards, n_pending, n_arms FROM spaces "
                "WHERE study = ? ORDER BY version DESC LIMIT 1",
                (study,),
            ).fetchone()
            first = space if version == 1 else spaces_of(db, study)[0]
            arms = db.execute(
                f"SELECT {_ARM_COLUMNS} FROM arms WHERE study = ? AND seq > ? ORDER BY id",
                (study, since),
            ).fetchall()
            oldest = oldest_pending_at(db, study)
            documents = [document_of(db, table, study, since) for table in ("beliefs", "memories")]
        columns = (*facts, first, version, space, *restart, *documents, oldest)
        return to_snapshot(name, columns, ArmRows(arms))

    def arms(self, name: str, ids: Sequence[int]) -> list[ArmRecord]:
        """See ``Store.arms``."""
        with self._connections.reading() as db:
            rows = db.execute(
                f"SELECT {_ARM_COLUMNS} FROM arms WHERE study = ? "
                "AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
                (self._id(db, name), dump(list(ids))),
            ).fetchall()
        return list(ArmRows(rows))

    def spaces(self, name: str) -> list[Mapping[str, Any]]:
        """See ``Store.spaces``."""
        with self._connections.reading() as db:
            return [json.loads(space) for space in spaces_of(db, self._id(db, name))]

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
        with self._connections.writing() as db:
            study = self._id(db, name, token)
            advance(db, study, seq, at)
            new = seq + 1
            if mark_at is not None:
                db.execute("UPDATE studies SET marked_at = ? WHERE id = ?", (mark_at, study))
                db.execute(
                    "UPDATE arms SET marked_rewards = n_rewards, marked_sum = reward_sum, seq = ? "
                    "WHERE study = ?",
                    (new, study),
                )
            insert_arms(db, study, new, arms)
            insert_pulls(db, study, new, pulls, at)
            put_document(db, "beliefs", study, new, beliefs)
            put_document(db, "memories", study, new, memory)
            return new

    def serve_known(self, name: str, *, token: str, at: float, pulls: Sequence[NewPull]) -> Placed:
        """See ``Store.serve_known``."""
        with self._connections.writing() as db:
            study = self._id(db, name)
            seq, n_pulls, last_at = check_known(db, study, token, pulls)
            at = steady(at, last_at)
            advance(db, study, seq, at)
            try:
                insert_pulls(db, study, seq + 1, numbered(pulls, n_pulls + 1), at)
            except sqlite3.IntegrityError:
                raise StaleView from None  # a key is known
            return Placed(seq + 1, n_pulls + 1, at)

    def reward_many(
        self,
        name: str,
        rewards: Sequence[tuple[int, float]],
        *,
        at: float,
        token: str | None = None,
    ) -> list[Rewarded | RewardConflict | None]:
        """See ``Store.reward_many``."""
        found: list[Rewarded | RewardConflict | None] = [None] * len(rewards)
        with self._connections.writing() as db:
            study = self._id(db, name, token)
            seq, total, last_at = db.execute(
                "SELECT seq, reward_sum, last_at FROM studies WHERE id = ?", (study,)
            ).fetchone()
            n_fresh = n_pending = 0
            for i in sorted(range(len(rewards)), key=lambda i: rewards[i][0]):
                number, reward = rewards[i]
                row = db.execute(
                    "SELECT arm, state, reward FROM pulls WHERE study = ? AND number = ?",
                    (study, number),
                ).fetchone()
                if row is None:
                    continue
                arm, state, recorded = row
                if state != "rewarded":
                    was_pending = state == "pending"
                    record(db, study, number, arm, reward, was_pending, at, seq + 1)
                    n_fresh, n_pending, total = n_fresh + 1, n_pending + was_pending, total + reward
                    found[i] = Rewarded(arm, True, was_pending, seq + 1)
                elif recorded != reward:
                    found[i] = reward_conflict(number, recorded, reward)
                else:
                    found[i] = Rewarded(arm, False, False, seq + (n_fresh > 0))
            if n_fresh:
                db.execute(
                    "UPDATE studies SET seq = seq + 1, n_rewards = n_rewards + ?, n_pending = "
                    "n_pending - ?, reward_sum = ?, last_at = ? WHERE id = ?",
                    (n_fresh, n_pending, total, steady(at, last_at), study),
                )
        return found

    def expire(self, name: str, *, before: float, at: float, token: str | None = None) -> Expired:
        """See ``Store.expire``."""
        with self._connections.writing() as db:
            study = self._id(db, name, token)
            due = "WHERE study = ? AND state = 'pending' AND served_at < ?"
            rows = db.execute(
                f"SELECT arm, count(*) FROM pulls {due} GROUP BY arm", (study, before)
            ).fetchall()
            counts = {int(arm): int(n) for arm, n in rows}
            seq, last_at = db.execute(
                "SELECT seq, last_at FROM studies WHERE id = ?", (study,)
            ).fetchone()
            if counts:
                seq += 1
                db.execute(f"UPDATE pulls SET state = 'expired' {due}", (study, before))
                db.executemany(
                    "UPDATE arms SET n_pending = n_pending - ?, seq = ? WHERE study = ? AND id = ?",
                    [(n, seq, study, arm) for arm, n in counts.items()],
                )
                db.execute(
                    "UPDATE studies SET seq = ?, n_pending = n_pending - ?, last_at = ? "
                    "WHERE id = ?",
                    (seq, sum(counts.values()), steady(at, last_at), study),
                )
                insert_event(db, study, seq, "expire", at, {"before": before})
            return Expired(counts, oldest_pending_at(db, study), seq)

    def change(
        self, name: str, change: Change, *, seq: int, at: float, token: str | None = None
    ) -> int:
        """See ``Store.change``."""
        with self._connections.writing() as db:
            study = self._id(db, name, token)
            advance(db, study, seq, at)
            new = seq + 1
            insert_arms(db, study, new, change.arms)
            changed = db.executemany(
                "UPDATE arms SET state = ?, retired_from = ?, seq = ? WHERE study = ? AND id = ?",
                [
                    (state, retired_from, new, study, arm)
                    for arm, (state, retired_from) in change.states.items()
                ],
            )
            check_arms(changed, change.states)
            if change.space is not None and change.restart is not None:
                insert_space(db, study, change.space, change.restart)
            put_document(db, "memories", study, new, change.memory)
            insert_event(db, study, new, change.kind, at, change.data)
            return new

    def pulls(self, name: str, *, after: int = 0, limit: int = 1000) -> list[PullRecord]:
        """See ``Store.pulls``."""
        with self._connections.reading() as db:
            rows = db.execute(
                f"SELECT {_PULL_COLUMNS} FROM pulls WHERE study = ? AND number > ? "
                "ORDER BY number LIMIT ?",
                (self._id(db, name), after, limit),
            )
            return [to_pull(row) for row in rows]

    def pull(self, name: str, number: int) -> PullRecord | None:
        """See ``Store.pull``."""
        with self._connections.reading() as db:
            row = db.execute(
                f"SELECT {_PULL_COLUMNS} FROM pulls WHERE study = ? AND number = ?",
                (self._id(db, name), number),
            ).fetchone()
            return to_pull(row) if row else None

    def keyed(self, name: str, keys: Sequence[str]) -> dict[str, list[PullRecord]]:
        """See ``Store.keyed``."""
        found: dict[str, list[PullRecord]] = {}
        with self._connections.reading() as db:
            # Told which index: by itself, SQLite would go through all pulls of the study.
            rows = db.execute(
                f"SELECT key, {_PULL_COLUMNS} FROM pulls INDEXED BY pulls_key WHERE study = ? "
                "AND key IS NOT NULL AND key IN (SELECT value FROM json_each(?)) ORDER BY part",
                (self._id(db, name), dump(list(keys))),
            )
            for key, *pull in rows:
                found.setdefault(key, []).append(to_pull(pull))
        return found

    def prune(self, name: str, *, before: float, limit: int = 10_000) -> int:
        """See ``Store.prune``."""
        with self._connections.writing() as db:
            study = self._id(db, name)
            gone = db.execute(
                "DELETE FROM pulls WHERE study = ?1 AND number IN (SELECT number FROM pulls WHERE "
                "study = ?1 AND state != 'pending' AND served_at < ?2 ORDER BY number LIMIT ?3)",
                (study, before, limit),
            )
            return gone.rowcount

    def log(self, name: str) -> Iterator[LogEntry]:
        """See ``Store.log``."""
        with self._connections.reading() as db:
            study = self._id(db, name)

        def query(db: sqlite3.Connection, last: Row | None) -> sqlite3.Cursor:
            after = (0, 0) if last is None else (last[0], last[3])
            return db.execute(_LOG, (study, *after))

        for seq, kind, at, pull, arm, reason, reward, data in self._connections.stream(query):
            facts = None if data is None else json.loads(data)
            if kind == "ask" and data is not None:
                facts = {"context": facts}
            yield LogEntry(seq, kind, at, pull or None, arm, reason, reward, facts)

    def changes(self, name: str, *, limit: int = 1000) -> list[LogEntry]:
        """See ``Store.changes``."""
        with self._connections.reading() as db:
            return changes_of(db, self._id(db, name), limit)

    def milestones(self, name: str) -> list[Milestone]:
        """See ``Store.milestones``."""
        with self._connections.reading() as db:
            return milestones_of(db, self._id(db, name))

    def put_key(self, key: KeyRecord) -> None:
        """See ``Store.put_key``."""
        studies = None if key.studies is None else dump(key.studies)
        with self._connections.writing() as db:
            db.execute(
                "INSERT INTO keys (id, name, role, studies, secret_hash, created_at, revoked_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    key.id,
                    key.name,
                    key.role,
                    studies,
                    key.secret_hash,
                    key.created_at,
                    key.revoked_at,
                ),
            )

    def keys(self) -> list[KeyRecord]:
        """See ``Store.keys``."""
        with self._connections.reading() as db:
            rows = db.execute(
                "SELECT id, name, role, studies, secret_hash, created_at, revoked_at FROM keys "
                "ORDER BY created_at, id"
            ).fetchall()
        return [
            KeyRecord(id_, name, role, None if studies is None else tuple(json.loads(studies)), *r)
            for id_, name, role, studies, *r in rows
        ]

    def revoke_key(self, key_id: str, *, at: float) -> bool:
        """See ``Store.revoke_key``."""
        with self._connections.writing() as db:
            revoked = db.execute(
                "UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?", (at, key_id)
            )
            return revoked.rowcount == 1

    def probe(self) -> None:
        """See ``Store.probe``."""
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
        """See ``Store.close``."""
        self._connections.close()
