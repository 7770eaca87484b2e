"""Rows of the SQLite file: how facts become rows, and rows facts."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from imabo.arms import Restart
from imabo.stores.base import NewArm, StaleView
from imabo.stores.refusals import misfit
from imabo.stores.rows import dump


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
