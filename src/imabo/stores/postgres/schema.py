"""The PostgreSQL schema and how a database gets it: numbered steps under an advisory lock."""

from __future__ import annotations

from typing import Any, Final, LiteralString

import psycopg

from imabo.errors import SchemaTooNew

Steps = tuple[tuple[str, ...], ...]

_LOCK: Final = 0x696D6162  # "imab": the advisory lock of those who change the schema

# Step i takes a database from version i to version i + 1. A step that has shipped never changes.
# Rows of studies and arms are written anew again and again: the room left in their pages lets
# PostgreSQL do so in place, and the indexes stay as they are.
STEPS: Final[Steps] = (
    (
        """
        CREATE TABLE imabo_studies (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name TEXT COLLATE "C" NOT NULL UNIQUE,
            token TEXT COLLATE "C" NOT NULL UNIQUE,
            seed TEXT NOT NULL,
            policy TEXT NOT NULL,
            oracle TEXT NOT NULL,
            reward_low DOUBLE PRECISION,
            reward_high DOUBLE PRECISION,
            window_s DOUBLE PRECISION,
            created_at DOUBLE PRECISION NOT NULL,
            seq BIGINT NOT NULL DEFAULT 0,
            n_pulls BIGINT NOT NULL DEFAULT 0,
            n_rewards BIGINT NOT NULL DEFAULT 0,
            n_pending BIGINT NOT NULL DEFAULT 0,
            reward_sum DOUBLE PRECISION NOT NULL DEFAULT 0,
            marked_at BIGINT NOT NULL DEFAULT 0,
            last_at DOUBLE PRECISION NOT NULL
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE imabo_spaces (
            study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
            version INTEGER NOT NULL,
            space TEXT NOT NULL,
            n_pulls BIGINT NOT NULL,
            n_rewards BIGINT NOT NULL,
            n_pending BIGINT NOT NULL,
            n_arms BIGINT NOT NULL,
            PRIMARY KEY (study, version)
        )
        """,
        # identity is a digest: an index row is at most 2,704 bytes long, a configuration is not.
        """
        CREATE TABLE imabo_arms (
            study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
            id BIGINT NOT NULL,
            config TEXT NOT NULL,
            identity TEXT COLLATE "C" NOT NULL,
            origin TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('active', 'paused', 'retired')),
            retired_from TEXT,
            parent BIGINT,
            mutated TEXT,
            admitted_at DOUBLE PRECISION NOT NULL,
            seq BIGINT NOT NULL,
            n_pulls BIGINT NOT NULL DEFAULT 0,
            n_rewards BIGINT NOT NULL DEFAULT 0,
            n_pending BIGINT NOT NULL DEFAULT 0,
            reward_sum DOUBLE PRECISION NOT NULL DEFAULT 0,
            reward_squares DOUBLE PRECISION NOT NULL DEFAULT 0,
            marked_rewards BIGINT NOT NULL DEFAULT 0,
            marked_sum DOUBLE PRECISION NOT NULL DEFAULT 0,
            PRIMARY KEY (study, id),
            UNIQUE (study, identity)
        ) WITH (fillfactor = 50)
        """,
        """
        CREATE TABLE imabo_pulls (
            study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
            number BIGINT NOT NULL,
            arm BIGINT NOT NULL,
            reason TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('pending', 'rewarded', 'expired')),
            served_at DOUBLE PRECISION NOT NULL,
            served_seq BIGINT NOT NULL,
            reward DOUBLE PRECISION,
            rewarded_at DOUBLE PRECISION,
            rewarded_seq BIGINT,
            key TEXT COLLATE "C",
            part INTEGER NOT NULL DEFAULT 0,
            context TEXT,
            PRIMARY KEY (study, number)
        )
        """,
        """
        CREATE INDEX imabo_pulls_pending ON imabo_pulls (study, served_at)
        WHERE state = 'pending'
        """,
        """
        CREATE INDEX imabo_pulls_finished ON imabo_pulls (study, served_at, number)
        WHERE state <> 'pending'
        """,
        """
        CREATE UNIQUE INDEX imabo_pulls_key ON imabo_pulls (study, key, part)
        WHERE key IS NOT NULL
        """,
        """
        CREATE TABLE imabo_events (
            study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
            seq BIGINT NOT NULL,
            kind TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL,
            PRIMARY KEY (study, seq)
        )
        """,
        """
        CREATE TABLE imabo_beliefs (
            study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
            seq BIGINT NOT NULL,
            document TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE imabo_keys (
            id TEXT COLLATE "C" PRIMARY KEY,
            name TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
            studies TEXT,
            secret_hash TEXT NOT NULL,
            created_at DOUBLE PRECISION NOT NULL,
            revoked_at DOUBLE PRECISION
        )
        """,
    ),
    (
        """
        CREATE TABLE imabo_milestones (
            study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
            n_pulls BIGINT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            n_rewards BIGINT NOT NULL,
            n_pending BIGINT NOT NULL,
            reward_sum DOUBLE PRECISION NOT NULL,
            reward_squares DOUBLE PRECISION NOT NULL,
            n_active BIGINT NOT NULL,
            arm_pulls TEXT NOT NULL,
            PRIMARY KEY (study, n_pulls)
        )
        """,
        # Changes by hand are few; the expiries between them may be many.
        """
        CREATE INDEX imabo_events_changes ON imabo_events (study, seq)
        WHERE kind <> 'expire'
        """,
    ),
    (
        """
        CREATE TABLE imabo_memories (
            study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
            seq BIGINT NOT NULL,
            document TEXT NOT NULL
        )
        """,
    ),
    (
        # One entry for each arm that a request brought in.
        """
        CREATE INDEX imabo_pulls_admitting ON imabo_pulls (study, arm, number)
        WHERE reason IN ('warmup', 'expand', 'prepared')
        """,
    ),
    (
        # One list of what happened to all studies and to the store itself. It names studies by
        # name and token: that one was deleted is an event about something that is gone.
        """
        CREATE TABLE imabo_all_events (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            study TEXT,
            token TEXT COLLATE "C",
            kind TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL,
            reward_low DOUBLE PRECISION,
            reward_high DOUBLE PRECISION
        )
        """,
        """
        CREATE INDEX imabo_all_events_token ON imabo_all_events (token, id)
        WHERE token IS NOT NULL
        """,
        """
        INSERT INTO imabo_all_events (study, token, kind, at, data, reward_low, reward_high)
        SELECT name, token, kind, at, data, reward_low, reward_high FROM (
            SELECT name, token, 'created' AS kind, created_at AS at, '{}' AS data, 0 AS seq,
                reward_low, reward_high FROM imabo_studies
            UNION ALL SELECT name, token, e.kind, e.at, e.data, e.seq, reward_low, reward_high
            FROM imabo_events AS e JOIN imabo_studies AS s ON s.id = e.study
            WHERE e.kind <> 'expire'
        ) AS found ORDER BY at, token, seq
        """,
        """
        CREATE TABLE imabo_webhooks (
            id TEXT COLLATE "C" PRIMARY KEY,
            url TEXT NOT NULL,
            secret TEXT NOT NULL,
            kinds TEXT,
            studies TEXT,
            created_at DOUBLE PRECISION NOT NULL
        )
        """,
        # With a copy of the event, which goes when its study is deleted.
        """
        CREATE TABLE imabo_deliveries (
            id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            webhook TEXT COLLATE "C" NOT NULL REFERENCES imabo_webhooks (id) ON DELETE CASCADE,
            event BIGINT NOT NULL,
            study TEXT,
            kind TEXT NOT NULL,
            at DOUBLE PRECISION NOT NULL,
            data TEXT NOT NULL,
            reward_low DOUBLE PRECISION,
            reward_high DOUBLE PRECISION,
            state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'given up')),
            tries INTEGER NOT NULL DEFAULT 0,
            next_at DOUBLE PRECISION NOT NULL DEFAULT 0,
            tried_at DOUBLE PRECISION,
            status INTEGER,
            problem TEXT
        )
        """,
        "CREATE INDEX imabo_deliveries_webhook ON imabo_deliveries (webhook, id)",
        """
        CREATE INDEX imabo_deliveries_due ON imabo_deliveries (next_at, id)
        WHERE state = 'pending'
        """,
    ),
    (
        "ALTER TABLE imabo_studies ADD COLUMN revision BIGINT",
        """
        CREATE TABLE imabo_declarations (
            study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
            document TEXT NOT NULL
        )
        """,
    ),
    (
        # The version of the rollout is in the row that every write reads anyway.
        """
        ALTER TABLE imabo_studies
            ADD COLUMN rollout_seq BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN n_tuned BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN n_control BIGINT NOT NULL DEFAULT 0
        """,
        """
        CREATE TABLE imabo_rollouts (
            study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
            seq BIGINT NOT NULL,
            document TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE imabo_lifts (
            study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
            since BIGINT NOT NULL,
            seq BIGINT NOT NULL,
            number BIGINT NOT NULL,
            document TEXT NOT NULL
        )
        """,
        """
        ALTER TABLE imabo_pulls ADD COLUMN "group" TEXT, ADD COLUMN propensity DOUBLE PRECISION
        """,
        # One entry for each reward of a request that a coin gave to one of the groups.
        """
        CREATE INDEX imabo_pulls_outcomes ON imabo_pulls (study, rewarded_seq, number)
        WHERE state = 'rewarded' AND propensity < 1.0
        """,
    ),
    (
        # Documents in rows that a report of signals reads and writes anyway; see signalling.py.
        "ALTER TABLE imabo_studies ADD COLUMN signals TEXT",
        "ALTER TABLE imabo_studies ADD COLUMN objective TEXT",
        "ALTER TABLE imabo_studies ADD COLUMN banks TEXT",
        "ALTER TABLE imabo_arms ADD COLUMN signals TEXT",
        "ALTER TABLE imabo_pulls ADD COLUMN signals TEXT",
    ),
    (
        # What the values of a signal add up to is kept apart; rewards have the name ''.
        """
        ALTER TABLE imabo_lifts ADD COLUMN signal TEXT NOT NULL DEFAULT '',
            DROP CONSTRAINT imabo_lifts_pkey, ADD PRIMARY KEY (study, signal)
        """,
        "ALTER TABLE imabo_pulls ADD COLUMN signalled_seq BIGINT",
        """
        UPDATE imabo_pulls SET signalled_seq = (
            SELECT max((one.value ->> 2)::bigint) FROM json_each(signals::json) AS one
        ) WHERE signals IS NOT NULL
        """,
        # One entry for each request with signals that a coin gave to one of the groups.
        """
        CREATE INDEX imabo_pulls_signalled ON imabo_pulls (study, signalled_seq, number)
        WHERE signalled_seq IS NOT NULL AND propensity < 1.0
        """,
    ),
    # What requests had used by then, for the spend over time.
    ("ALTER TABLE imabo_milestones ADD COLUMN signals TEXT",),
)

VERSION_TABLE: Final = """
    CREATE TABLE imabo_schema_version (
        version INTEGER NOT NULL,
        only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row)
    )
"""
# A query, not to_regclass: that one may remember, within a transaction, what is no longer so.
_HAS_VERSION: Final = """
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class WHERE relname = 'imabo_schema_version' AND relkind = 'r'
        AND pg_catalog.pg_table_is_visible(oid)
    )
"""


def upgrade(db: psycopg.Connection[Any], where: str, steps: Steps = STEPS) -> None:
    """Bring a database to the current version; several processes may do this at once.

    Nothing is locked or written when it is current. ``where`` names the database in errors.
    """
    # One transaction that does nothing when the database is current.
    with db.transaction():
        if version_of(db, where, steps) == len(steps):
            return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # Read again under the lock: another process may have been faster.
        version = version_of(db, where, steps)
        if version == 0:
            db.execute(VERSION_TABLE)
            db.execute("INSERT INTO imabo_schema_version (version) VALUES (0)")
        for step in steps[version:]:
            for statement in step:
                db.execute(statement.encode())
        db.execute("UPDATE imabo_schema_version SET version = %s", [len(steps)])


def version_of(db: psycopg.Connection[Any], where: str, steps: Steps = STEPS) -> int:
    """The schema version of a database, 0 for one without; refuses what a newer imabo wrote."""
    if not _scalar(db, _HAS_VERSION):
        return 0
    version = int(_scalar(db, "SELECT version FROM imabo_schema_version") or 0)
    if version > len(steps):
        raise SchemaTooNew(
            f"{where} has schema version {version}",
            f"this version of imabo reads up to version {len(steps)}",
            "upgrade imabo, or choose another database",
        )
    return version


def _scalar(db: psycopg.Connection[Any], statement: LiteralString) -> Any:
    row = db.execute(statement).fetchone()
    return None if row is None else row[0]
