"""What the store says to SQLite about events, webhooks and deliveries."""

from __future__ import annotations

from typing import Final

from imabo.stores.outbox_rows import DELIVERY, EVENT, WEBHOOK

# Of a study that is there; its row has the rest.
ADD_STUDY_EVENT: Final = f"""
    INSERT INTO all_events (token, {EVENT})
    SELECT token, name, :kind, :at, :data, reward_low, reward_high FROM studies WHERE id = :study
"""
ADD_EVENT: Final = """
    INSERT INTO all_events (study, kind, at, data) VALUES (:study, :kind, :at, :data)
"""
QUEUE: Final = f"""
    INSERT INTO deliveries (webhook, state, event, {EVENT})
    SELECT w.id, 'pending', e.id, e.study, e.kind, e.at, e.data, e.reward_low, e.reward_high
    FROM webhooks AS w, all_events AS e WHERE e.id = :event
    AND (w.kinds IS NULL OR e.kind IN (SELECT value FROM json_each(w.kinds)))
    AND (w.studies IS NULL OR e.study IN (SELECT value FROM json_each(w.studies)))
"""
QUEUE_ONE: Final = f"""
    INSERT INTO deliveries (webhook, state, event, {EVENT})
    SELECT :webhook, 'pending', id, {EVENT} FROM all_events WHERE id = :event
"""
QUEUE_AGAIN: Final = f"""
    INSERT INTO deliveries (webhook, state, event, {EVENT})
    SELECT webhook, 'pending', event, {EVENT} FROM deliveries
    WHERE id = :id AND webhook = :webhook
"""
FORGET_STUDY: Final = "DELETE FROM all_events WHERE token IS NOT NULL AND token = :token"
# The last two lines of both are the same; the token is an index's first column.
_KINDS: Final = "(:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))"
_OF_STUDY: Final = "token IS NOT NULL AND token = :token"
EVENTS_AFTER, EVENTS_OF_STUDY_AFTER = (
    f"SELECT id, {EVENT} FROM all_events WHERE {of} AND id > :after AND {_KINDS} "
    "ORDER BY id LIMIT :limit"
    for of in ("TRUE", _OF_STUDY)
)
EVENTS_BEFORE, EVENTS_OF_STUDY_BEFORE = (
    f"SELECT id, {EVENT} FROM all_events WHERE {of} AND id < :before AND {_KINDS} "
    "ORDER BY id DESC LIMIT :limit"
    for of in ("TRUE", _OF_STUDY)
)
PUT_WEBHOOK: Final = f"""
    INSERT INTO webhooks ({WEBHOOK}) VALUES (:id, :url, :secret, :kinds, :studies, :created_at)
    ON CONFLICT (id) DO UPDATE SET url = excluded.url, secret = excluded.secret,
        kinds = excluded.kinds, studies = excluded.studies
"""
WEBHOOKS: Final = f"SELECT {WEBHOOK} FROM webhooks ORDER BY created_at, id"
ONE_WEBHOOK: Final = f"SELECT {WEBHOOK} FROM webhooks WHERE id = :id"
REMOVE_WEBHOOK: Final = "DELETE FROM webhooks WHERE id = :id"
ONE_KEY: Final = (
    "SELECT id, name, role, studies, '', created_at, revoked_at FROM keys WHERE id = :id"
)
DELIVERIES: Final = f"""
    SELECT {DELIVERY} FROM deliveries WHERE webhook = :webhook AND id < :before
    ORDER BY id DESC LIMIT :limit
"""
N_DELIVERIES: Final = "SELECT state, count(*) FROM deliveries GROUP BY state"
N_DUE: Final = """
    SELECT state, count(*) FROM deliveries WHERE state = 'pending' AND next_at <= :due_at
    GROUP BY state
"""
DUE: Final = """
    SELECT id FROM (
        SELECT id, next_at, row_number() OVER (PARTITION BY webhook ORDER BY next_at, id) AS place
        FROM deliveries WHERE state = 'pending' AND next_at <= :at
        AND webhook NOT IN (SELECT value FROM json_each(:busy))
    ) WHERE place <= :each ORDER BY next_at, id LIMIT :limit
"""
CLAIM: Final = """
    UPDATE deliveries SET tries = tries + 1, next_at = :until, tried_at = :at WHERE id = :id
"""
CLAIMED: Final = f"SELECT {DELIVERY} FROM deliveries WHERE id = :id"
# As many tries as when it was claimed: nobody else has claimed it since.
SETTLE: Final = """
    UPDATE deliveries SET state = :state, next_at = :next_at, status = :status, problem = :problem
    WHERE id = :id AND state = 'pending' AND tries = :tries
"""
PRUNE: Final = "DELETE FROM deliveries WHERE state != 'pending' AND tried_at < :before"
