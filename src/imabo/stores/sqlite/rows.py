"""Rows of the SQLite file: how facts become rows, and rows facts."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from imabo.arms import Restart
from imabo.stores.base import LogEntry, Milestone, NewArm, NewPull, StaleView
from imabo.stores.refusals import misfit
from imabo.stores.rows import dump, to_change, to_milestone
from imabo.stores.rules import is_milestone, is_wider, superfluous


def names_in(db: sqlite3.Connection) -> list[str]:
    """Names of the studies, sorted."""
    return [row[0] for row in db.execute("SELECT name FROM studies ORDER BY name")]


def spaces_of(db: sqlite3.Connection, study: int) -> list[str]:
    """A study's spaces as JSON, the first one first."""
    rows = db.execute("SELECT space FROM spaces WHERE study = ? ORDER BY version", (study,))
    return [row[0] for row in rows]


def oldest_pending_at(db: sqlite3.Connection, study: int) -> float | None:
    """When the oldest pull that still waits was served."""
    row = db.execute(
        "SELECT served_at FROM pulls WHERE study = ? AND state = 'pending' "
        "ORDER BY served_at LIMIT 1",
        (study,),
    ).fetchone()
    return None if row is None else float(row[0])


def record(
    db: sqlite3.Connection,
    study: int,
    number: int,
    arm: int,
    reward: float,
    was_pending: bool,
    at: float,
    seq: int,
) -> None:
    """A pull's reward, and its arm's counters."""
    db.execute(
        "UPDATE pulls SET state = 'rewarded', reward = ?, rewarded_at = ?, rewarded_seq = ? "
        "WHERE study = ? AND number = ?",
        (reward, at, seq, study, number),
    )
    db.execute(
        "UPDATE arms SET n_rewards = n_rewards + 1, n_pending = n_pending - ?, "
        "reward_sum = reward_sum + ?, reward_squares = reward_squares + ?, seq = ? "
        "WHERE study = ? AND id = ?",
        (was_pending, reward, reward * reward, seq, study, arm),
    )


def advance(db: sqlite3.Connection, study: int, seq: int, at: float) -> None:
    """Count the study's transaction, or refuse a decision from an old view."""
    moved = db.execute(
        "UPDATE studies SET seq = seq + 1, last_at = ? WHERE id = ? AND seq = ?", (at, study, seq)
    )
    if moved.rowcount != 1:
        raise StaleView


def check_known(
    db: sqlite3.Connection, study: int, token: str, pulls: Sequence[NewPull]
) -> tuple[int, int, float]:
    """The study's seq, pulls and last time; refuses pulls that need a decision of the newest view.

    That the keys are new is not checked here: the index of keys does that.
    """
    seq, n_pulls, last_at, known = db.execute(
        "SELECT seq, n_pulls, last_at, token FROM studies WHERE id = ?", (study,)
    ).fetchone()
    arms = {pull.arm for pull in pulls}
    (n_active,) = db.execute(
        "SELECT count(*) FROM arms WHERE study = ? AND state = 'active' "
        "AND id IN (SELECT value FROM json_each(?))",
        (study, dump(list(arms))),
    ).fetchone()
    if token != known or n_active != len(arms):
        raise StaleView
    return seq, n_pulls, last_at


def insert_pulls(
    db: sqlite3.Connection, study: int, seq: int, pulls: Sequence[NewPull], at: float
) -> None:
    """Serve arms that are there, and keep the milestone that is due."""
    db.executemany(
        "INSERT INTO pulls (study, number, arm, reason, state, served_at, served_seq, "
        "key, part, context) VALUES (?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)",
        [
            (
                study,
                pull.number,
                pull.arm,
                pull.reason,
                at,
                seq,
                pull.key,
                pull.part,
                None if pull.context is None else dump(pull.context),
            )
            for pull in pulls
        ],
    )
    counts = Counter(pull.arm for pull in pulls)
    served = db.executemany(
        "UPDATE arms SET n_pulls = n_pulls + ?1, n_pending = n_pending + ?1, seq = ?2 "
        "WHERE study = ?3 AND id = ?4",
        [(n, seq, study, arm) for arm, n in counts.items()],
    )
    check_arms(served, counts)
    db.execute(
        "UPDATE studies SET n_pulls = n_pulls + ?1, n_pending = n_pending + ?1 WHERE id = ?2",
        (len(pulls), study),
    )
    if pulls:
        keep_milestone(db, study, pulls[0].number - 1, pulls[-1].number, at)


def check_arms(update: sqlite3.Cursor, arms: Collection[int]) -> None:
    """Refuse a write that named an arm which is not there."""
    # One row an arm must have changed; executemany adds them up, and says -1 for none at all.
    if max(update.rowcount, 0) != len(arms):
        raise misfit(f"one of the arms {sorted(arms)} is not in the study")


def insert_arms(db: sqlite3.Connection, study: int, seq: int, arms: Sequence[NewArm]) -> None:
    """Admit arms."""
    db.executemany(
        "INSERT INTO arms (study, id, config, identity, origin, state, parent, mutated, "
        "admitted_at, seq) VALUES (?, ?, ?, ?, ?, 'active', ?, ?, ?, ?)",
        [
            (
                study,
                arm.id,
                dump(arm.config),
                arm.identity,
                arm.origin,
                arm.parent,
                arm.mutated,
                arm.admitted_at,
                seq,
            )
            for arm in arms
        ],
    )


def insert_space(
    db: sqlite3.Connection, study: int, space: Mapping[str, Any], restart: Restart
) -> None:
    """Add a version of the space."""
    db.execute(
        "INSERT INTO spaces (study, version, space, n_pulls, n_rewards, n_pending, n_arms) "
        "SELECT ?1, coalesce(max(version), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM spaces WHERE study = ?1",
        (
            study,
            dump(space),
            restart.n_pulls,
            restart.n_rewards,
            restart.n_pending,
            restart.n_arms,
        ),
    )


def insert_event(
    db: sqlite3.Connection, study: int, seq: int, kind: str, at: float, data: Mapping[str, Any]
) -> None:
    """Add what is not a pull to the log."""
    db.execute(
        "INSERT INTO events (study, seq, kind, at, data) VALUES (?, ?, ?, ?, ?)",
        (study, seq, kind, at, dump(data)),
    )


def put_document(
    db: sqlite3.Connection,
    table: str,
    study: int,
    seq: int,
    document: Mapping[str, Any] | None,
) -> None:
    """Replace what ``beliefs`` or ``memories`` has of a study; None leaves it."""
    if document is not None:
        db.execute(
            f"INSERT OR REPLACE INTO {table} (study, seq, document) VALUES (?, ?, ?)",
            (study, seq, dump(document)),
        )


def document_of(db: sqlite3.Connection, table: str, study: int, since: int) -> str | None:
    """What ``beliefs`` or ``memories`` has of a study, when it was written after ``since``."""
    row = db.execute(
        f"SELECT document FROM {table} WHERE study = ? AND seq > ?", (study, since)
    ).fetchone()
    return None if row is None else str(row[0])


def keep_milestone(db: sqlite3.Connection, study: int, before: int, after: int, at: float) -> None:
    """Keep a milestone when the one between these numbers of pulls is due; after all counting."""
    if not is_milestone(before, after):
        return
    # The key of the arms has their order, and the subquery keeps it for the list.
    db.execute(
        "INSERT INTO milestones (study, n_pulls, at, n_rewards, n_pending, reward_sum, "
        "reward_squares, n_active, arm_pulls) SELECT id, n_pulls, ?2, n_rewards, n_pending, "
        "reward_sum, squares, active, listed FROM studies, (SELECT sum(reward_squares) AS "
        "squares, sum(state != 'retired') AS active, json_group_array(n_pulls) AS listed FROM "
        "(SELECT * FROM arms WHERE study = ?1 ORDER BY id)) WHERE id = ?1",
        (study, at),
    )
    if is_wider(before, after):
        kept = db.execute("SELECT n_pulls FROM milestones WHERE study = ? ORDER BY 1", (study,))
        db.executemany(
            "DELETE FROM milestones WHERE study = ? AND n_pulls = ?",
            [(study, n_pulls) for n_pulls in superfluous([row[0] for row in kept])],
        )


def milestones_of(db: sqlite3.Connection, study: int) -> list[Milestone]:
    """A study's milestones in order."""
    rows = db.execute(
        "SELECT at, n_pulls, n_rewards, n_pending, reward_sum, reward_squares, n_active, "
        "arm_pulls FROM milestones WHERE study = ? ORDER BY n_pulls",
        (study,),
    )
    return [to_milestone(row) for row in rows]


def changes_of(db: sqlite3.Connection, study: int, limit: int) -> list[LogEntry]:
    """A study's newest changes by hand, in order."""
    # Told which index: by itself, SQLite would go through the expiries as well.
    rows = db.execute(
        "SELECT seq, kind, at, data FROM events INDEXED BY events_changes WHERE study = ? "
        "AND kind != 'expire' ORDER BY seq DESC LIMIT ?",
        (study, limit),
    )
    return [to_change(row) for row in rows][::-1]
