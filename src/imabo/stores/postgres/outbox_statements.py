"""What the store says to PostgreSQL about events, webhooks and deliveries."""

from __future__ import annotations

from typing import Final

from imabo.stores.outbox_rows import DELIVERY, EVENT, WEBHOOK
from imabo.stores.postgres.statements import _sql as sql

_LOCK: Final = 0x696D6165  # "imae": the advisory lock of those who add events
# Events become visible in the order of their ids: each is numbered and committed under this lock.
# Whoever changes a study has locked that before, and nobody locks a webhook before, so that nobody
# waits in a circle.
LOCK: Final = sql(f"SELECT pg_advisory_xact_lock({_LOCK})::text")
_QUEUED: Final = f"""
    INSERT INTO imabo_deliveries (webhook, state, event, {EVENT})
    SELECT w.id, 'pending', e.id, e.study, e.kind, e.at, e.data, e.reward_low, e.reward_high
    FROM imabo_webhooks AS w, added AS e
    WHERE %(is_told)s::boolean
    AND (w.kinds IS NULL OR jsonb_exists(w.kinds::jsonb, e.kind))
    AND (w.studies IS NULL OR jsonb_exists(w.studies::jsonb, e.study))
"""
# Of a study that is there; its row has the rest.
ADD_STUDY_EVENT: Final = sql(f"""
    WITH added AS (
        INSERT INTO imabo_all_events (token, {EVENT})
        SELECT token, name, %(kind)s, %(at)s, %(data)s, reward_low, reward_high
        FROM imabo_studies WHERE id = %(study)s RETURNING *
    ), queued AS ({_QUEUED}) SELECT id FROM added
""")
ADD_EVENT: Final = sql(f"""
    WITH added AS (
        INSERT INTO imabo_all_events (study, kind, at, data)
        VALUES (%(study)s, %(kind)s, %(at)s, %(data)s) RETURNING *
    ), queued AS ({_QUEUED}) SELECT id FROM added
""")
TEST_WEBHOOK: Final = sql(f"""
    WITH added AS (
        INSERT INTO imabo_all_events (study, kind, at, data)
        VALUES (NULL, %(kind)s, %(at)s, %(data)s) RETURNING *
    ) INSERT INTO imabo_deliveries (webhook, state, event, {EVENT})
    SELECT %(webhook)s, 'pending', id, {EVENT} FROM added RETURNING id
""")
QUEUE_AGAIN: Final = sql(f"""
    INSERT INTO imabo_deliveries (webhook, state, event, {EVENT})
    SELECT webhook, 'pending', event, {EVENT} FROM imabo_deliveries
    WHERE id = %(id)s AND webhook = %(webhook)s RETURNING id
""")
FORGET_STUDY: Final = sql("DELETE FROM imabo_all_events WHERE token = %(token)s")
_KINDS: Final = "(%(kinds)s::text[] IS NULL OR kind = ANY (%(kinds)s::text[]))"
_OF_STUDY: Final = "token = (SELECT token FROM imabo_studies WHERE name = %(name)s)"
EVENTS_AFTER, EVENTS_OF_STUDY_AFTER = (
    sql(f"""
        SELECT id, {EVENT} FROM imabo_all_events WHERE {of} AND id > %(after)s AND {_KINDS}
        ORDER BY id LIMIT %(limit)s
    """)
    for of in ("TRUE", _OF_STUDY)
)
EVENTS_BEFORE, EVENTS_OF_STUDY_BEFORE = (
    sql(f"""
        SELECT id, {EVENT} FROM imabo_all_events WHERE {of} AND id < %(before)s AND {_KINDS}
        ORDER BY id DESC LIMIT %(limit)s
    """)
    for of in ("TRUE", _OF_STUDY)
)
PUT_WEBHOOK: Final = sql(f"""
    INSERT INTO imabo_webhooks ({WEBHOOK})
    VALUES (%(id)s, %(url)s, %(secret)s, %(kinds)s, %(studies)s, %(created_at)s)
    ON CONFLICT (id) DO UPDATE SET url = excluded.url, secret = excluded.secret,
        kinds = excluded.kinds, studies = excluded.studies
    RETURNING xmax = 0
""")
WEBHOOKS: Final = sql(f"SELECT {WEBHOOK} FROM imabo_webhooks ORDER BY created_at, id")
ONE_WEBHOOK: Final = sql(f"SELECT {WEBHOOK} FROM imabo_webhooks WHERE id = %(id)s")
REMOVE_WEBHOOK: Final = sql(f"DELETE FROM imabo_webhooks WHERE id = %(id)s RETURNING {WEBHOOK}")
DELIVERIES: Final = sql(f"""
    SELECT {DELIVERY} FROM imabo_deliveries WHERE webhook = %(webhook)s AND id < %(before)s
    ORDER BY id DESC LIMIT %(limit)s
""")
N_DELIVERIES: Final = sql("SELECT state, count(*) FROM imabo_deliveries GROUP BY state")
N_DUE: Final = sql("""
    SELECT state, count(*) FROM imabo_deliveries
    WHERE state = 'pending' AND next_at <= %(due_at)s GROUP BY state
""")
# What another server claims at this moment is left to it, and looked at again under the lock.
CLAIM: Final = sql(f"""
    UPDATE imabo_deliveries
    SET tries = tries + 1, next_at = %(until)s, tried_at = %(at)s WHERE id = ANY (array(
        SELECT id FROM imabo_deliveries WHERE state = 'pending' AND next_at <= %(at)s
        AND id = ANY (array(
            SELECT id FROM (
                SELECT id, next_at,
                    row_number() OVER (PARTITION BY webhook ORDER BY next_at, id) AS place
                FROM imabo_deliveries WHERE state = 'pending' AND next_at <= %(at)s
                AND webhook <> ALL (%(busy)s::text[])
            ) AS ranked WHERE place <= %(each)s ORDER BY next_at, id LIMIT %(limit)s
        )) FOR UPDATE SKIP LOCKED
    )) RETURNING {DELIVERY}
""")
# As many tries as when it was claimed: nobody else has claimed it since.
SETTLE: Final = sql("""
    UPDATE imabo_deliveries SET state = %(state)s, next_at = %(next_at)s, status = %(status)s,
        problem = %(problem)s
    WHERE id = %(id)s AND state = 'pending' AND tries = %(tries)s RETURNING id
""")
PRUNE: Final = sql("""
    DELETE FROM imabo_deliveries WHERE state <> 'pending' AND tried_at < %(before)s RETURNING id
""")
