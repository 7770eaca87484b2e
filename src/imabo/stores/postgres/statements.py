"""What the store says to PostgreSQL.

A write of any size is a fixed number of statements: its rows travel as arrays. Where several tables
change, they change in one statement, which saves the way there and back.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from imabo.stores.history import Milestone, PullRecord
from imabo.stores.keys import KeyRecord
from imabo.stores.rows import ArmRow, SpaceRow, StudyHead, StudyRow, columns
from imabo.stores.rules import CLOCK_SLACK_S

CHANNEL: Final = "imabo_changes"


def _sql(text: str) -> bytes:
    """A statement on one line, as logs of the server like it."""
    return " ".join(text.split()).encode()


# --- what several statements have in common

_OF_NAME: Final = "(SELECT id FROM imabo_studies WHERE name = %(name)s)"
# For statements that write and notify in one; the payload is NULL when it is too early for another
# notification.
_NOTIFIED: Final = f"""
    CASE WHEN %(payload)s::text IS NOT NULL
    THEN pg_notify('{CHANNEL}', %(payload)s::text)::text END AS notified
"""
# The same as ``steady`` of the contract, in the row of a study.
_STEADY_AT: Final = f"""
    CASE WHEN last_at - %(at)s > {CLOCK_SLACK_S} THEN %(at)s ELSE greatest(last_at, %(at)s) END
"""

# --- studies

CREATE: Final = _sql("""
    INSERT INTO imabo_studies (name, token, seed, policy, oracle, reward_low, reward_high, window_s,
        created_at, last_at, revision, signals, objective)
    VALUES (%(name)s, %(token)s, %(seed)s, %(policy)s, %(oracle)s, %(reward_low)s, %(reward_high)s,
        %(window_s)s, %(created_at)s, %(last_at)s, %(revision)s, %(signals)s, %(objective)s)
    ON CONFLICT (name) DO NOTHING RETURNING id
""")
NAMES: Final = _sql("SELECT name FROM imabo_studies ORDER BY name")
SEQS: Final = _sql("SELECT name, seq FROM imabo_studies ORDER BY name")
FIND: Final = _sql("SELECT name FROM imabo_studies WHERE token = %(token)s")
STUDY_ID: Final = _sql("SELECT id FROM imabo_studies WHERE name = %(name)s")
DELETE: Final = _sql("DELETE FROM imabo_studies WHERE id = %(study)s")
# However many pulls there are.
NO_TIMEOUT: Final = _sql("SET LOCAL statement_timeout = 0")
# Every transaction that writes to a study begins with this one.
LOCK: Final = _sql(f"""
    SELECT {columns(StudyHead)} FROM imabo_studies WHERE name = %(name)s FOR NO KEY UPDATE
""")
NOTIFY: Final = _sql(f"SELECT pg_notify('{CHANNEL}', %(payload)s::text)::text")
LISTEN: Final = _sql(f"LISTEN {CHANNEL}")
# Index entries of pulls that are no longer pending stay until the next vacuum. A bound that is
# known already keeps the search from going through them all. It does not count once a clock was set
# back to before it.
LOAD: Final = _sql(f"""
    SELECT {columns(StudyRow, "s")}, {columns(SpaceRow, "latest")},
        (SELECT space FROM imabo_spaces WHERE study = s.id AND version = 1),
        (SELECT document FROM imabo_beliefs AS b WHERE study = s.id AND b.seq > %(large_since)s),
        (SELECT document FROM imabo_memories AS m WHERE study = s.id AND m.seq > %(large_since)s),
        (SELECT document FROM imabo_rollouts AS r WHERE study = s.id AND r.seq > %(since)s),
        (SELECT served_at FROM imabo_pulls AS p WHERE p.state = 'pending' AND p.study = s.id
            AND p.served_at >= CASE WHEN s.id = %(bound_study)s AND s.last_at >= %(bound)s
                THEN %(bound)s ELSE '-infinity'::float8 END
            ORDER BY p.served_at LIMIT 1)
    FROM imabo_studies AS s JOIN LATERAL (
        SELECT * FROM imabo_spaces WHERE study = s.id ORDER BY version DESC LIMIT 1
    ) AS latest ON true WHERE s.name = %(name)s
""")
ARMS: Final = _sql(f"""
    SELECT {columns(ArmRow)} FROM imabo_arms WHERE study = %(study)s AND seq > %(since)s ORDER BY id
""")
N_ARMS: Final = _sql("SELECT count(*) FROM imabo_arms WHERE study = %(study)s")
SOME_ARMS: Final = _sql(f"""
    SELECT {columns(ArmRow)} FROM imabo_arms
    WHERE study = {_OF_NAME} AND id = ANY (%(ids)s::bigint[]) ORDER BY id
""")

# --- decisions


class Served(NamedTuple):
    """What the statements that serve return; ``before`` is the number of pulls before them."""

    n_counted: int
    notified: str | None
    seq: int
    before: int
    last_at: float


def _serve(
    study: str,
    *,
    first: str = "",
    is_there: str = "true",
    number: str = "number",
    seq: str = "%(seq)s",
    at: str = "%(at)s",
) -> bytes:
    return _sql(f"""
        WITH {first} inserted AS (
            INSERT INTO imabo_pulls (study, number, arm, reason, key, part, context, "group",
                propensity, state, served_at, served_seq)
            SELECT {study}, {number}, arm, reason, key, part, context, "group", propensity,
                'pending', {at}, {seq}
            FROM unnest(%(number)s::bigint[], %(arm)s::bigint[], %(reason)s::text[],
                %(key)s::text[], %(part)s::integer[], %(context)s::text[], %(group)s::text[],
                %(propensity)s::float8[])
                AS pull (number, arm, reason, key, part, context, "group", propensity)
            WHERE {is_there}
        ), counted AS (
            UPDATE imabo_arms SET n_pulls = n_pulls + served.n, n_pending = n_pending + served.n,
                seq = {seq}
            FROM unnest(%(served)s::bigint[], %(served_n)s::bigint[]) AS served (arm, n)
            WHERE study = {study} AND id = ANY (%(served)s::bigint[]) AND id = served.arm
            RETURNING id
        )
        UPDATE imabo_studies SET seq = {seq}, last_at = {at}, n_pulls = n_pulls + %(n)s,
            n_pending = n_pending + %(n)s, marked_at = coalesce(%(mark_at)s, marked_at),
            n_tuned = n_tuned + %(n_tuned)s, n_control = n_control + %(n_control)s
        WHERE id = {study}
        RETURNING (SELECT count(*) FROM counted) AS n_counted, {_NOTIFIED}, seq,
            n_pulls - %(n)s AS before, last_at
    """)


_N_SERVED: Final = """
    SELECT count(*) FROM imabo_arms AS a WHERE a.study = s.id AND a.id = ANY (%(served)s::bigint[])
"""
SERVE: Final = _serve("%(study)s")
# The same for pulls of known arms only, with LOCK and the checks in it: a whole transaction that
# goes there and back once. It does nothing, and returns no row, when there is anything to refuse.
SERVE_AT_ONCE: Final = _serve(
    "(SELECT id FROM current)",
    first=f"""current AS (
        SELECT id FROM imabo_studies AS s WHERE name = %(name)s AND seq = %(seq)s - 1
        AND token = coalesce(%(token)s, token)
        AND ({_N_SERVED}) = cardinality(%(served)s::bigint[]) FOR NO KEY UPDATE
    ),""",
    is_there="(SELECT id FROM current) IS NOT NULL",
)
# And for a view of any age: the numbers, the seq and the time come from the study's row. An arm
# that is paused while this waits for the row is served once more. The rollout is not: after the
# wait, PostgreSQL looks at the row again. An arm that only the control serves may have any state.
SERVE_KNOWN: Final = _serve(
    "(SELECT id FROM newest)",
    first=f"""newest AS (
        SELECT id, n_pulls, seq + 1 AS seq, {_STEADY_AT} AS at FROM imabo_studies AS s
        WHERE name = %(name)s AND token = %(token)s AND rollout_seq = %(rollout)s
        AND ({_N_SERVED} AND (a.state = 'active' OR a.id = ANY (%(controls)s::bigint[])))
            = cardinality(%(served)s::bigint[])
        FOR NO KEY UPDATE
    ),""",
    is_there="(SELECT id FROM newest) IS NOT NULL",
    number="(SELECT n_pulls FROM newest) + number",
    seq="(SELECT seq FROM newest)",
    at="(SELECT at FROM newest)",
)
MARK_ARMS: Final = _sql("""
    UPDATE imabo_arms SET marked_rewards = n_rewards, marked_sum = reward_sum, seq = %(seq)s
    WHERE study = %(study)s
""")
INSERT_ARMS: Final = _sql("""
    INSERT INTO imabo_arms (study, seq, state, id, config, identity, origin, parent, mutated,
        admitted_at)
    SELECT %(study)s, %(seq)s, 'active', * FROM unnest(%(id)s::bigint[], %(config)s::text[],
        %(identity)s::text[], %(origin)s::text[], %(parent)s::bigint[], %(mutated)s::text[],
        %(admitted_at)s::float8[])
""")
CHANGE_ARMS: Final = _sql("""
    UPDATE imabo_arms SET state = change.state, retired_from = change.retired_from, seq = %(seq)s
    FROM unnest(%(arm)s::bigint[], %(state)s::text[], %(retired_from)s::text[])
        AS change (arm, state, retired_from)
    WHERE study = %(study)s AND id = ANY (%(arm)s::bigint[]) AND id = change.arm
""")
INSERT_SPACE: Final = _sql("""
    INSERT INTO imabo_spaces (study, version, space, n_pulls, n_rewards, n_pending, n_arms)
    SELECT %(study)s, coalesce(max(version), 0) + 1, %(space)s, %(n_pulls)s, %(n_rewards)s,
        %(n_pending)s, %(n_arms)s
    FROM imabo_spaces WHERE study = %(study)s
""")
INSERT_EVENT: Final = _sql("""
    INSERT INTO imabo_events (study, seq, kind, at, data)
    VALUES (%(study)s, %(seq)s, %(kind)s, %(at)s, %(data)s)
""")
PUT_BELIEFS, PUT_MEMORY, PUT_ROLLOUT = (
    _sql(f"""
        INSERT INTO {table} (study, seq, document) VALUES (%(study)s, %(seq)s, %(document)s)
        ON CONFLICT (study) DO UPDATE SET seq = excluded.seq, document = excluded.document
    """)
    for table in ("imabo_beliefs", "imabo_memories", "imabo_rollouts")
)
PUT_SETTINGS: Final = _sql("""
    UPDATE imabo_studies SET reward_low = %(reward_low)s, reward_high = %(reward_high)s,
        window_s = %(window_s)s, revision = %(revision)s, signals = %(signals)s,
        objective = %(objective)s
    WHERE id = %(study)s
""")
PUT_DECLARATION: Final = _sql("""
    INSERT INTO imabo_declarations (study, document) VALUES (%(study)s, %(document)s)
    ON CONFLICT (study) DO UPDATE SET document = excluded.document
""")
ROLLOUT_SEQ: Final = _sql("UPDATE imabo_studies SET rollout_seq = %(seq)s WHERE id = %(study)s")
KEEP_LIFT: Final = _sql("""
    INSERT INTO imabo_lifts AS kept (study, since, seq, number, document, signal)
    VALUES (%(study)s, %(since)s, %(seq)s, %(number)s, %(document)s, %(signal)s)
    ON CONFLICT (study, signal) DO UPDATE SET since = excluded.since, seq = excluded.seq,
        number = excluded.number, document = excluded.document
    WHERE (excluded.since, excluded.seq, excluded.number) > (kept.since, kept.seq, kept.number)
""")
KEPT_LIFT: Final = _sql(f"""
    SELECT since, seq, number, document, signal FROM imabo_lifts WHERE study = {_OF_NAME}
    AND signal = %(signal)s AND (since, seq, number) > (%(since)s, %(seq)s, %(number)s)
""")
ADVANCE: Final = _sql(f"""
    UPDATE imabo_studies SET seq = %(seq)s, last_at = %(at)s WHERE id = %(study)s
    RETURNING {_NOTIFIED}
""")
KEEP_MILESTONE: Final = _sql("""
    INSERT INTO imabo_milestones (study, at, n_pulls, n_rewards, n_pending, reward_sum,
        reward_squares, n_active, arm_pulls, signals)
    SELECT id, %(at)s, n_pulls, n_rewards, n_pending, reward_sum, over_arms.*,
        CASE WHEN signals IS NULL THEN NULL ELSE (
            SELECT coalesce(json_object_agg(name, json_build_array(n, total))::text, '{}') FROM (
                SELECT told.key AS name, sum((told.value ->> 0)::double precision) AS n,
                    sum((told.value ->> 1)::double precision) AS total
                FROM imabo_arms AS arms, json_each(arms.signals::json) AS told
                WHERE arms.study = %(study)s AND arms.signals IS NOT NULL GROUP BY told.key
            ) AS used
        ) END
    FROM imabo_studies JOIN (
        SELECT sum(reward_squares), count(*) FILTER (WHERE state <> 'retired'),
            array_to_json(array_agg(n_pulls ORDER BY id))::text
        FROM imabo_arms WHERE study = %(study)s
    ) AS over_arms ON true WHERE id = %(study)s ON CONFLICT DO NOTHING
""")
KEPT_MILESTONES: Final = _sql("""
    SELECT n_pulls FROM imabo_milestones WHERE study = %(study)s ORDER BY n_pulls
""")
DROP_MILESTONES: Final = _sql("""
    DELETE FROM imabo_milestones WHERE study = %(study)s AND n_pulls = ANY (%(gone)s::bigint[])
""")

# --- rewards, and pulls that expire or go

# Subqueries, so that it takes one look for each pull, whatever the planner thinks.
TOLD: Final = _sql("""
    SELECT number, arm, state, reward,
        (SELECT reward_sum FROM imabo_arms AS a WHERE a.study = p.study AND a.id = p.arm),
        (SELECT reward_squares FROM imabo_arms AS a WHERE a.study = p.study AND a.id = p.arm)
    FROM imabo_pulls AS p WHERE study = %(study)s AND number = ANY (%(numbers)s::bigint[])
""")
REWARD: Final = _sql(f"""
    WITH recorded AS (
        UPDATE imabo_pulls AS p SET state = 'rewarded', reward = fresh.reward, rewarded_at = %(at)s,
            rewarded_seq = %(seq)s
        FROM unnest(%(number)s::bigint[], %(reward)s::float8[]) AS fresh (number, reward)
        WHERE study = %(study)s AND p.number = ANY (%(number)s::bigint[])
            AND p.number = fresh.number
    ), summed AS (
        UPDATE imabo_arms SET n_rewards = n_rewards + told.n, n_pending = n_pending - told.pending,
            reward_sum = told.total, reward_squares = told.squares, seq = %(seq)s
        FROM unnest(%(arm)s::bigint[], %(n)s::bigint[], %(pending)s::bigint[], %(sum)s::float8[],
            %(squares)s::float8[]) AS told (arm, n, pending, total, squares)
        WHERE study = %(study)s AND id = ANY (%(arm)s::bigint[]) AND id = told.arm
    )
    UPDATE imabo_studies SET seq = %(seq)s, n_rewards = n_rewards + %(n_fresh)s,
        n_pending = n_pending - %(n_pending)s, reward_sum = %(total)s, last_at = {_STEADY_AT}
    WHERE id = %(study)s RETURNING {_NOTIFIED}
""")
# With the goal of the study in every row: one look there and back less.
REPORTED: Final = _sql("""
    SELECT p.number, p.arm, p.state, p.reward, a.reward_sum, a.reward_squares, p.signals, a.signals,
        s.signals, s.objective, s.banks
    FROM imabo_pulls AS p JOIN imabo_arms AS a ON a.study = p.study AND a.id = p.arm
    JOIN imabo_studies AS s ON s.id = p.study
    WHERE p.study = %(study)s AND p.number = ANY (%(numbers)s::bigint[])
""")
REPORT: Final = _sql(f"""
    WITH recorded AS (
        UPDATE imabo_pulls AS p SET signals = fresh.told, signalled_seq = %(seq)s
        FROM unnest(%(number)s::bigint[], %(told)s::text[]) AS fresh (number, told)
        WHERE study = %(study)s AND p.number = ANY (%(number)s::bigint[])
            AND p.number = fresh.number
    ), summed AS (
        UPDATE imabo_arms SET signals = sums.signals, seq = %(seq)s
        FROM unnest(%(arm)s::bigint[], %(sums)s::text[]) AS sums (arm, signals)
        WHERE study = %(study)s AND id = ANY (%(arm)s::bigint[]) AND id = sums.arm
    )
    UPDATE imabo_studies SET seq = %(seq)s, banks = %(banks)s, last_at = {_STEADY_AT}
    WHERE id = %(study)s RETURNING {_NOTIFIED}
""")
GOAL: Final = _sql("""
    SELECT signals, objective, banks FROM imabo_studies WHERE id = %(study)s
""")
PUT_BANKS: Final = _sql("UPDATE imabo_studies SET banks = %(banks)s WHERE id = %(study)s")
EXPIRE: Final = _sql("""
    WITH expired AS (
        UPDATE imabo_pulls SET state = 'expired' WHERE study = %(study)s AND state = 'pending'
            AND served_at >= %(bound)s AND served_at < %(before)s
        RETURNING arm
    ) SELECT arm, count(*) FROM expired GROUP BY arm
""")
EXPIRED: Final = _sql(f"""
    WITH released AS (
        UPDATE imabo_arms SET n_pending = n_pending - due.n, seq = %(seq)s
        FROM unnest(%(arm)s::bigint[], %(n)s::bigint[]) AS due (arm, n)
        WHERE study = %(study)s AND id = ANY (%(arm)s::bigint[]) AND id = due.arm
    )
    UPDATE imabo_studies SET seq = %(seq)s, n_pending = n_pending - %(n_expired)s,
        last_at = {_STEADY_AT}
    WHERE id = %(study)s RETURNING {_NOTIFIED}
""")
OLDEST_PENDING: Final = _sql("""
    SELECT served_at FROM imabo_pulls WHERE study = %(study)s AND state = 'pending'
        AND served_at >= %(bound)s
    ORDER BY served_at LIMIT 1
""")
PRUNE: Final = _sql("""
    DELETE FROM imabo_pulls WHERE study = %(study)s AND number = ANY (array(
        SELECT number FROM imabo_pulls WHERE study = %(study)s AND state <> 'pending'
        AND served_at < %(before)s AND (
            propensity IS NULL OR propensity >= 1.0 OR (
                (state = 'expired' OR (rewarded_seq, number) <= (%(seq)s, %(number)s))
                AND (signalled_seq IS NULL OR signalled_seq <= %(signalled)s)
            )
        ) ORDER BY served_at, number LIMIT %(limit)s
    ))
""")

# --- history

SPACES: Final = _sql(f"SELECT space FROM imabo_spaces WHERE study = {_OF_NAME} ORDER BY version")
PULLS: Final = _sql(f"""
    SELECT {columns(PullRecord)} FROM imabo_pulls WHERE study = {_OF_NAME} AND number > %(after)s
    ORDER BY number LIMIT %(limit)s
""")
PULL: Final = _sql(f"""
    SELECT {columns(PullRecord)} FROM imabo_pulls WHERE study = {_OF_NAME} AND number = %(number)s
""")
KEYED: Final = _sql(f"""
    SELECT {columns(PullRecord)} FROM imabo_pulls
    WHERE study = {_OF_NAME} AND key = ANY (%(keys)s::text[]) ORDER BY part
""")
DECLARATION: Final = _sql(f"SELECT document FROM imabo_declarations WHERE study = {_OF_NAME}")
# One look for each arm: by itself, PostgreSQL would go through all pulls of the study.
FIRST_REWARDS: Final = _sql(f"""
    SELECT wanted.arm, first.reward FROM unnest(%(arms)s::bigint[]) AS wanted (arm),
    LATERAL (
        SELECT reward FROM imabo_pulls WHERE study = {_OF_NAME} AND arm = wanted.arm
        AND reason IN ('warmup', 'expand', 'prepared') ORDER BY number LIMIT 1
    ) AS first
""")
OUTCOMES: Final = _sql(f"""
    SELECT rewarded_seq, number, rewarded_at, reward, "group", propensity FROM imabo_pulls
    WHERE study = {_OF_NAME} AND state = 'rewarded' AND propensity < 1.0
    AND (rewarded_seq, number) > (%(seq)s, %(number)s) ORDER BY rewarded_seq, number LIMIT %(limit)s
""")
SIGNALLED: Final = _sql(f"""
    SELECT signalled_seq, number, "group", propensity, signals FROM imabo_pulls
    WHERE study = {_OF_NAME} AND signalled_seq IS NOT NULL AND propensity < 1.0
    AND (signalled_seq, number) > (%(seq)s, %(number)s)
    ORDER BY signalled_seq, number LIMIT %(limit)s
""")
# An entry that is about no pull has number 0 here, so that (seq, number) orders them all. With
# HOLD the server keeps the rows and lets go of its snapshot, so that a slow reader is no burden.
LOG: Final = _sql("""
    DECLARE imabo_log NO SCROLL CURSOR WITH HOLD FOR SELECT * FROM (
        SELECT served_seq AS seq, 'ask' AS kind, served_at AS at, number, arm, reason,
            NULL::float8 AS reward, context AS data, key, part, "group", propensity
        FROM imabo_pulls WHERE study = %(study)s
        UNION ALL SELECT rewarded_seq, 'tell', rewarded_at, number, NULL, NULL, reward, signals,
            NULL, NULL, NULL, NULL
        FROM imabo_pulls WHERE study = %(study)s AND state = 'rewarded'
        UNION ALL SELECT DISTINCT (one.value ->> 2)::bigint, 'signal', (one.value ->> 1)::float8,
            number, NULL::bigint, NULL, NULL::float8, signals, NULL, NULL::integer, NULL,
            NULL::float8
        FROM imabo_pulls, json_each(signals::json) AS one WHERE study = %(study)s
            AND signals IS NOT NULL AND (one.value ->> 2)::bigint IS DISTINCT FROM rewarded_seq
        UNION ALL SELECT seq, kind, at, 0, NULL, NULL, NULL, data, NULL, NULL, NULL, NULL
        FROM imabo_events WHERE study = %(study)s
    ) AS entries WHERE (seq, number) > (%(seq)s, %(number)s) ORDER BY seq, number
""")
MORE_OF_LOG: Final = _sql("FETCH 1000 FROM imabo_log")
CHANGES: Final = _sql(f"""
    SELECT seq, kind, at, data FROM imabo_events
    WHERE study = {_OF_NAME} AND kind <> 'expire' ORDER BY seq DESC LIMIT %(limit)s
""")
MILESTONES: Final = _sql(f"""
    SELECT {columns(Milestone)} FROM imabo_milestones WHERE study = {_OF_NAME} ORDER BY n_pulls
""")

# --- access keys

PUT_KEY: Final = _sql(f"""
    INSERT INTO imabo_keys ({columns(KeyRecord)})
    VALUES (%(id)s, %(name)s, %(role)s, %(studies)s, %(secret_hash)s, %(created_at)s,
        %(revoked_at)s)
    RETURNING id
""")
KEYS: Final = _sql(f"SELECT {columns(KeyRecord)} FROM imabo_keys ORDER BY created_at, id")
LOCK_KEY: Final = _sql(f"SELECT {columns(KeyRecord)} FROM imabo_keys WHERE id = %(id)s FOR UPDATE")
REVOKE_KEY: Final = _sql("""
    UPDATE imabo_keys SET revoked_at = coalesce(revoked_at, %(at)s) WHERE id = %(id)s RETURNING id
""")

# --- finding out whether the database takes writes

# A sort that does not fit in this much memory needs room on the disk, as new rows would.
SMALL: Final = _sql("SELECT set_config('work_mem', '64kB', true)")
SPILL: Final = _sql("""
    SELECT count(*) FROM (SELECT md5(n::text) AS x FROM generate_series(1, 4000) AS n
        ORDER BY x OFFSET 1) AS sorted
""")
# A row that is about no study; the commit is flushed.
TOUCH: Final = _sql("UPDATE imabo_schema_version SET version = version")
