"""The SQLite schema and how a file gets it: numbered steps, applied under the write lock."""

from __future__ import annotations

import sqlite3
from typing import Final

from imabo.errors import SchemaTooNew, StoreError

Steps = tuple[tuple[str, ...], ...]

APPLICATION_ID: Final = 0x696D6162  # "imab": marks the file as ours

# Step i takes a file from version i to version i + 1. A step that has shipped never changes.
STEPS: Final[Steps] = (
    (
        """
        CREATE TABLE studies (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE,
            token TEXT NOT NULL UNIQUE,
            seed TEXT NOT NULL,
            policy TEXT NOT NULL,
            oracle TEXT NOT NULL,
            reward_low REAL,
            reward_high REAL,
            window_s REAL,
            created_at REAL NOT NULL,
            seq INTEGER NOT NULL DEFAULT 0,
            n_pulls INTEGER NOT NULL DEFAULT 0,
            n_rewards INTEGER NOT NULL DEFAULT 0,
            n_pending INTEGER NOT NULL DEFAULT 0,
            reward_sum REAL NOT NULL DEFAULT 0,
            marked_at INTEGER NOT NULL DEFAULT 0,
            last_at REAL NOT NULL
        )
        """,
        """
        CREATE TABLE spaces (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            version INTEGER NOT NULL,
            space TEXT NOT NULL,
            n_pulls INTEGER NOT NULL,
            n_rewards INTEGER NOT NULL,
            n_pending INTEGER NOT NULL,
            n_arms INTEGER NOT NULL,
            PRIMARY KEY (study, version)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE arms (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            id INTEGER NOT NULL,
            config TEXT NOT NULL,
            identity TEXT NOT NULL,
            origin TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'retired')),
            retired_from TEXT,
            parent INTEGER,
            mutated TEXT,
            admitted_at REAL NOT NULL,
            seq INTEGER NOT NULL,
            n_pulls INTEGER NOT NULL DEFAULT 0,
            n_rewards INTEGER NOT NULL DEFAULT 0,
            n_pending INTEGER NOT NULL DEFAULT 0,
            reward_sum REAL NOT NULL DEFAULT 0,
            reward_squares REAL NOT NULL DEFAULT 0,
            marked_rewards INTEGER NOT NULL DEFAULT 0,
            marked_sum REAL NOT NULL DEFAULT 0,
            PRIMARY KEY (study, id),
            UNIQUE (study, identity)
        ) WITHOUT ROWID
        """,
        """
        CREATE TABLE pulls (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            arm INTEGER NOT NULL,
            reason TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'rewarded', 'expired')),
            served_at REAL NOT NULL,
            served_seq INTEGER NOT NULL,
            reward REAL,
            rewarded_at REAL,
            rewarded_seq INTEGER,
            PRIMARY KEY (study, number)
        ) WITHOUT ROWID
        """,
        "CREATE INDEX pulls_pending ON pulls (study, served_at) WHERE state = 'pending'",
        """
        CREATE TABLE events (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at REAL NOT NULL,
            data TEXT NOT NULL,
            PRIMARY KEY (study, seq)
        ) WITHOUT ROWID
        """,
    ),
    (
        # Apart from ``studies``, whose row is written anew with each reward and should stay small.
        """
        CREATE TABLE beliefs (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            document TEXT NOT NULL
        )
        """,
    ),
    (
        "ALTER TABLE pulls ADD COLUMN key TEXT",
        "ALTER TABLE pulls ADD COLUMN part INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE pulls ADD COLUMN context TEXT",
        "CREATE UNIQUE INDEX pulls_key ON pulls (study, key, part) WHERE key IS NOT NULL",
        """
        CREATE TABLE keys (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
            studies TEXT,
            secret_hash TEXT NOT NULL,
            created_at REAL NOT NULL,
            revoked_at REAL
        ) WITHOUT ROWID
        """,
    ),
    (
        """
        CREATE TABLE milestones (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            n_pulls INTEGER NOT NULL,
            at REAL NOT NULL,
            n_rewards INTEGER NOT NULL,
            n_pending INTEGER NOT NULL,
            reward_sum REAL NOT NULL,
            reward_squares REAL NOT NULL,
            n_active INTEGER NOT NULL,
            arm_pulls TEXT NOT NULL,
            PRIMARY KEY (study, n_pulls)
        )
        """,
        # Changes by hand are few; the expiries between them may be many.
        "CREATE INDEX events_changes ON events (study, seq) WHERE kind != 'expire'",
    ),
    (
        """
        CREATE TABLE memories (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            document TEXT NOT NULL
        )
        """,
    ),
    (
        # One entry for each arm that a request brought in.
        """
        CREATE INDEX pulls_admitting ON pulls (study, arm)
        WHERE reason IN ('warmup', 'expand', 'prepared')
        """,
    ),
    (
        # One list of what happened to all studies and to the store itself. It names studies by
        # name and token: that one was deleted is an event about something that is gone.
        """
        CREATE TABLE all_events (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            study TEXT,
            token TEXT,
            kind TEXT NOT NULL,
            at REAL NOT NULL,
            data TEXT NOT NULL,
            reward_low REAL,
            reward_high REAL
        )
        """,
        "CREATE INDEX all_events_token ON all_events (token, id) WHERE token IS NOT NULL",
        """
        INSERT INTO all_events (study, token, kind, at, data, reward_low, reward_high)
        SELECT name, token, kind, at, data, reward_low, reward_high FROM (
            SELECT name, token, 'created' AS kind, created_at AS at, '{}' AS data, 0 AS seq,
                reward_low, reward_high FROM studies
            UNION ALL SELECT name, token, e.kind, e.at, e.data, e.seq, reward_low, reward_high
            FROM events AS e JOIN studies AS s ON s.id = e.study WHERE e.kind != 'expire'
        ) ORDER BY at, token, seq
        """,
        """
        CREATE TABLE webhooks (
            id TEXT PRIMARY KEY,
            url TEXT NOT NULL,
            secret TEXT NOT NULL,
            kinds TEXT,
            studies TEXT,
            created_at REAL NOT NULL
        ) WITHOUT ROWID
        """,
        # With a copy of the event, which goes when its study is deleted.
        """
        CREATE TABLE deliveries (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            webhook TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
            event INTEGER NOT NULL,
            study TEXT,
            kind TEXT NOT NULL,
            at REAL NOT NULL,
            data TEXT NOT NULL,
            reward_low REAL,
            reward_high REAL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'given up')),
            tries INTEGER NOT NULL DEFAULT 0,
            next_at REAL NOT NULL DEFAULT 0,
            tried_at REAL,
            status INTEGER,
            problem TEXT
        )
        """,
        "CREATE INDEX deliveries_webhook ON deliveries (webhook, id)",
        "CREATE INDEX deliveries_due ON deliveries (next_at, id) WHERE state = 'pending'",
    ),
    (
        "ALTER TABLE studies ADD COLUMN revision INTEGER",
        """
        CREATE TABLE declarations (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            document TEXT NOT NULL
        )
        """,
    ),
    (
        # The version of the rollout is in the row that every write reads anyway.
        "ALTER TABLE studies ADD COLUMN rollout_seq INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE studies ADD COLUMN n_tuned INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE studies ADD COLUMN n_control INTEGER NOT NULL DEFAULT 0",
        """
        CREATE TABLE rollouts (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            document TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE lifts (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            since INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            number INTEGER NOT NULL,
            document TEXT NOT NULL
        )
        """,
        """ALTER TABLE pulls ADD COLUMN "group" TEXT""",
        "ALTER TABLE pulls ADD COLUMN propensity REAL",
        # One entry for each reward of a request that a coin gave to one of the groups.
        """
        CREATE INDEX pulls_outcomes ON pulls (study, rewarded_seq, number)
        WHERE state = 'rewarded' AND propensity < 1.0
        """,
    ),
    (
        # Documents in rows that a report of signals reads and writes anyway; see signalling.py.
        "ALTER TABLE studies ADD COLUMN signals TEXT",
        "ALTER TABLE studies ADD COLUMN objective TEXT",
        "ALTER TABLE studies ADD COLUMN banks TEXT",
        "ALTER TABLE arms ADD COLUMN signals TEXT",
        "ALTER TABLE pulls ADD COLUMN signals TEXT",
    ),
    (
        # What the values of a signal add up to is kept apart; rewards have the name ''.
        """
        CREATE TABLE signal_lifts (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            signal TEXT NOT NULL,
            since INTEGER NOT NULL,
            seq INTEGER NOT NULL,
            number INTEGER NOT NULL,
            document TEXT NOT NULL,
            PRIMARY KEY (study, signal)
        ) WITHOUT ROWID
        """,
        "INSERT INTO signal_lifts SELECT study, '', since, seq, number, document FROM lifts",
        "DROP TABLE lifts",
        "ALTER TABLE signal_lifts RENAME TO lifts",
        "ALTER TABLE pulls ADD COLUMN signalled_seq INTEGER",
        """
        UPDATE pulls SET signalled_seq = (
            SELECT max(json_extract(value, '$[2]')) FROM json_each(pulls.signals)
        ) WHERE signals IS NOT NULL
        """,
        # One entry for each request with signals that a coin gave to one of the groups.
        """
        CREATE INDEX pulls_signalled ON pulls (study, signalled_seq, number)
        WHERE signalled_seq IS NOT NULL AND propensity < 1.0
        """,
    ),
    # What requests had used by then, for the spend over time.
    ("ALTER TABLE milestones ADD COLUMN signals TEXT",),
)


def upgrade(db: sqlite3.Connection, path: str, steps: Steps = STEPS) -> None:
    """Bring a file to the current version; several processes may do this at once.

    ``db`` is in autocommit mode. Nothing is written when the file is current, so that opening it
    does not wait for a writer.
    """
    if version_of(db, path, steps) == len(steps):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have been faster.
        for step in steps[version_of(db, path, steps) :]:
            for statement in step:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {len(steps)}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def version_of(db: sqlite3.Connection, path: str, steps: Steps = STEPS) -> int:
    """The schema version of a file, 0 for an empty one; writes nothing.

    Refuses a file of another application, and one that a newer version of imabo wrote.
    """
    # One statement sees one moment: another process may be making the schema right now.
    version, owner, tables = db.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), "
        "(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
    ).fetchone()
    if owner != APPLICATION_ID and (owner or tables or version):
        raise StoreError(
            f"{path} is a SQLite database of another application",
            f"its application id is {owner} and it holds {tables} tables, indexes or views",
            "choose another file for the store",
        )
    if version > len(steps):
        raise SchemaTooNew(
            f"{path} has schema version {version}",
            f"this version of imabo reads up to version {len(steps)}",
            "upgrade imabo, or choose another file",
        )
    return int(version)
