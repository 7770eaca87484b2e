"""What the store says to SQLite; with ``?`` where each request comes by, which takes less."""

from __future__ import annotations

from typing import Final

from imabo.stores.history import Milestone, PullRecord
from imabo.stores.keys import KeyRecord
from imabo.stores.rows import ArmRow, SpaceRow, StudyHead, StudyRow, columns

# --- studies

NAMES: Final = "SELECT name FROM studies ORDER BY name"
SEQS: Final = "SELECT name, seq FROM studies ORDER BY name"
FIND: Final = "SELECT name FROM studies WHERE token = :token"
HEAD: Final = f"SELECT {columns(StudyHead)} FROM studies WHERE name = ?"
STUDY: Final = f"SELECT {columns(StudyRow)} FROM studies WHERE id = :study"
CREATE: Final = """
    INSERT INTO studies (name, token, seed, policy, oracle, reward_low, reward_high, window_s,
        created_at, last_at, revision, signals, objective)
    VALUES (:name, :token, :seed, :policy, :oracle, :reward_low, :reward_high, :window_s,
        :created_at, :last_at, :revision, :signals, :objective)
"""
DELETE: Final = "DELETE FROM studies WHERE id = :study"
LATEST_SPACE: Final = f"""
    SELECT {columns(SpaceRow)} FROM spaces WHERE study = :study ORDER BY version DESC LIMIT 1
"""
BESIDE: Final = """
    SELECT (SELECT space FROM spaces WHERE study = :study AND version = 1),
        (SELECT document FROM beliefs WHERE study = :study AND seq > :large_since),
        (SELECT document FROM memories WHERE study = :study AND seq > :large_since),
        (SELECT document FROM rollouts WHERE study = :study AND seq > :since),
        (SELECT served_at FROM pulls WHERE study = :study AND state = 'pending'
            ORDER BY served_at LIMIT 1)
"""
ARMS: Final = f"""
    SELECT {columns(ArmRow)} FROM arms WHERE study = :study AND seq > :since ORDER BY id
"""
N_ARMS: Final = "SELECT count(*) FROM arms WHERE study = :study"
SOME_ARMS: Final = f"""
    SELECT {columns(ArmRow)} FROM arms
    WHERE study = :study AND id IN (SELECT value FROM json_each(:ids)) ORDER BY id
"""

# --- decisions

ADVANCE: Final = "UPDATE studies SET seq = seq + 1, last_at = ? WHERE id = ? AND seq = ?"
COUNT_PULLS: Final = """
    UPDATE studies SET n_pulls = n_pulls + ?1, n_pending = n_pending + ?1,
        n_tuned = n_tuned + ?2, n_control = n_control + ?3 WHERE id = ?4
"""
MARK_STUDY: Final = "UPDATE studies SET marked_at = :mark_at WHERE id = :study"
MARK_ARMS: Final = """
    UPDATE arms SET marked_rewards = n_rewards, marked_sum = reward_sum, seq = :seq
    WHERE study = :study
"""
N_ACTIVE: Final = """
    SELECT count(*) FROM arms WHERE study = :study AND state = 'active'
    AND id IN (SELECT value FROM json_each(:ids))
"""
PUT_ROLLOUT: Final = "INSERT OR REPLACE INTO rollouts VALUES (:study, :seq, :document)"
ROLLOUT_SEQ: Final = "UPDATE studies SET rollout_seq = :seq WHERE id = :study"
KEEP_LIFT: Final = """
    INSERT INTO lifts VALUES (:study, :signal, :since, :seq, :number, :document)
    ON CONFLICT (study, signal) DO UPDATE SET since = excluded.since, seq = excluded.seq,
        number = excluded.number, document = excluded.document
    WHERE (excluded.since, excluded.seq, excluded.number) > (since, seq, number)
"""
KEPT_LIFT: Final = """
    SELECT since, seq, number, document, signal FROM lifts
    WHERE study = :study AND signal = :signal AND (since, seq, number) > (:since, :seq, :number)
"""
INSERT_ARM: Final = """
    INSERT INTO arms (study, seq, id, config, identity, origin, parent, mutated, admitted_at, state)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'active')
"""
INSERT_PULLS: Final = """
    INSERT INTO pulls (study, number, arm, reason, state, served_at, served_seq, key, part, context,
        "group", propensity)
    VALUES (?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?)
"""
COUNT_ARMS: Final = """
    UPDATE arms SET n_pulls = n_pulls + ?1, n_pending = n_pending + ?1, seq = ?2
    WHERE study = ?3 AND id = ?4
"""
CHANGE_ARMS: Final = """
    UPDATE arms SET state = ?, retired_from = ?, seq = ? WHERE study = ? AND id = ?
"""
INSERT_SPACE: Final = """
    INSERT INTO spaces (study, version, space, n_pulls, n_rewards, n_pending, n_arms)
    SELECT :study, coalesce(max(version), 0) + 1, :space, :n_pulls, :n_rewards, :n_pending, :n_arms
    FROM spaces WHERE study = :study
"""
INSERT_EVENT: Final = """
    INSERT INTO events (study, seq, kind, at, data) VALUES (:study, :seq, :kind, :at, :data)
"""
PUT_BELIEFS: Final = "INSERT OR REPLACE INTO beliefs VALUES (:study, :seq, :document)"
PUT_SETTINGS: Final = """
    UPDATE studies SET reward_low = :reward_low, reward_high = :reward_high, window_s = :window_s,
        revision = :revision, signals = :signals, objective = :objective
    WHERE id = :study
"""
PUT_DECLARATION: Final = "INSERT OR REPLACE INTO declarations VALUES (:study, :document)"
PUT_MEMORY: Final = "INSERT OR REPLACE INTO memories VALUES (:study, :seq, :document)"
# The key of the arms has their order, and the subquery keeps it for the list.
KEEP_MILESTONE: Final = """
    INSERT INTO milestones (study, n_pulls, at, n_rewards, n_pending, reward_sum, reward_squares,
        n_active, arm_pulls, signals)
    SELECT id, n_pulls, :at, n_rewards, n_pending, reward_sum, squares, active, listed,
        CASE WHEN signals IS NULL THEN NULL ELSE (
            SELECT json_group_object(name, json_array(n, total)) FROM (
                SELECT told.key AS name, sum(json_extract(told.value, '$[0]')) AS n,
                    sum(json_extract(told.value, '$[1]')) AS total
                FROM arms, json_each(arms.signals) AS told
                WHERE arms.study = :study AND arms.signals IS NOT NULL GROUP BY told.key
            )
        ) END
    FROM studies, (
        SELECT sum(reward_squares) AS squares, sum(state != 'retired') AS active,
            json_group_array(n_pulls) AS listed
        FROM (SELECT * FROM arms WHERE study = :study ORDER BY id)
    ) WHERE id = :study
"""
KEPT_MILESTONES: Final = "SELECT n_pulls FROM milestones WHERE study = :study ORDER BY n_pulls"
DROP_MILESTONES: Final = "DELETE FROM milestones WHERE study = ? AND n_pulls = ?"

# --- rewards, and pulls that expire or go

TOLD: Final = "SELECT arm, state, reward FROM pulls WHERE study = ? AND number = ?"
REWARD_PULL: Final = """
    UPDATE pulls SET state = 'rewarded', reward = ?, rewarded_at = ?, rewarded_seq = ?
    WHERE study = ? AND number = ?
"""
REWARD_ARM: Final = """
    UPDATE arms SET n_rewards = n_rewards + 1, n_pending = n_pending - ?,
        reward_sum = reward_sum + ?, reward_squares = reward_squares + ?, seq = ?
    WHERE study = ? AND id = ?
"""
REWARD_STUDY: Final = """
    UPDATE studies SET seq = ?, n_rewards = n_rewards + ?, n_pending = n_pending - ?,
        reward_sum = ?, last_at = ?
    WHERE id = ?
"""
GOAL: Final = "SELECT signals, objective, banks FROM studies WHERE id = ?"
PUT_BANKS: Final = "UPDATE studies SET banks = ? WHERE id = ?"
REPORTED: Final = """
    SELECT p.number, p.arm, p.state, p.reward, a.reward_sum, a.reward_squares, p.signals, a.signals
    FROM pulls AS p JOIN arms AS a ON a.study = p.study AND a.id = p.arm
    WHERE p.study = ? AND p.number = ?
"""
SIGNAL_PULL: Final = """
    UPDATE pulls SET signals = ?, signalled_seq = ? WHERE study = ? AND number = ?
"""
SIGNAL_ARM: Final = "UPDATE arms SET signals = ?, seq = ? WHERE study = ? AND id = ?"
REPORT_ARM: Final = """
    UPDATE arms SET n_rewards = n_rewards + ?, n_pending = n_pending - ?, reward_sum = ?,
        reward_squares = ?, seq = ? WHERE study = ? AND id = ?
"""
DUE: Final = """
    SELECT arm, count(*) FROM pulls
    WHERE study = :study AND state = 'pending' AND served_at < :before GROUP BY arm
"""
EXPIRE_PULLS: Final = """
    UPDATE pulls SET state = 'expired'
    WHERE study = :study AND state = 'pending' AND served_at < :before
"""
EXPIRE_ARMS: Final = """
    UPDATE arms SET n_pending = n_pending - ?, seq = ? WHERE study = ? AND id = ?
"""
EXPIRE_STUDY: Final = """
    UPDATE studies SET seq = :seq, n_pending = n_pending - :n, last_at = :at WHERE id = :study
"""
OLDEST_PENDING: Final = """
    SELECT served_at FROM pulls WHERE study = :study AND state = 'pending'
    ORDER BY served_at LIMIT 1
"""
PRUNE: Final = """
    DELETE FROM pulls WHERE study = :study AND number IN (
        SELECT number FROM pulls WHERE study = :study AND state != 'pending'
        AND served_at < :before AND (
            propensity IS NULL OR propensity >= 1.0 OR (
                (state = 'expired' OR (rewarded_seq, number) <= (:seq, :number))
                AND (signalled_seq IS NULL OR signalled_seq <= :signalled)
            )
        ) ORDER BY number LIMIT :limit
    )
"""

# --- history

SPACES: Final = "SELECT space FROM spaces WHERE study = :study ORDER BY version"
PULLS: Final = f"""
    SELECT {columns(PullRecord)} FROM pulls WHERE study = :study AND number > :after
    ORDER BY number LIMIT :limit
"""
PULL: Final = f"SELECT {columns(PullRecord)} FROM pulls WHERE study = :study AND number = :number"
# Told which index, here and below: by itself, SQLite would go through all pulls of the study.
KEYED: Final = f"""
    SELECT {columns(PullRecord)} FROM pulls INDEXED BY pulls_key WHERE study = :study
    AND key IS NOT NULL AND key IN (SELECT value FROM json_each(:keys)) ORDER BY part
"""
DECLARATION: Final = "SELECT document FROM declarations WHERE study = :study"
# The first of an arm comes last, and stays where an arm has several.
FIRST_REWARDS: Final = """
    SELECT arm, reward FROM pulls INDEXED BY pulls_admitting WHERE study = :study
    AND reason IN ('warmup', 'expand', 'prepared')
    AND arm IN (SELECT value FROM json_each(:arms)) ORDER BY number DESC
"""
OUTCOMES: Final = """
    SELECT rewarded_seq, number, rewarded_at, reward, "group", propensity
    FROM pulls INDEXED BY pulls_outcomes
    WHERE study = :study AND state = 'rewarded' AND propensity < 1.0
    AND (rewarded_seq, number) > (:seq, :number) ORDER BY rewarded_seq, number LIMIT :limit
"""
SIGNALLED: Final = """
    SELECT signalled_seq, number, "group", propensity, signals
    FROM pulls INDEXED BY pulls_signalled
    WHERE study = :study AND signalled_seq IS NOT NULL AND propensity < 1.0
    AND (signalled_seq, number) > (:seq, :number) ORDER BY signalled_seq, number LIMIT :limit
"""
# An entry that is about no pull has number 0 here, so that (seq, number) orders them all.
LOG: Final = """
    SELECT * FROM (
        SELECT served_seq AS seq, 'ask', served_at, number, arm, reason, NULL, context, key, part,
            "group", propensity
        FROM pulls WHERE study = :study
        UNION ALL SELECT rewarded_seq, 'tell', rewarded_at, number, NULL, NULL, reward, signals,
            NULL, NULL, NULL, NULL
        FROM pulls WHERE study = :study AND state = 'rewarded'
        UNION ALL SELECT DISTINCT json_extract(one.value, '$[2]'), 'signal',
            json_extract(one.value, '$[1]'), number, NULL, NULL, NULL, signals, NULL, NULL,
            NULL, NULL
        FROM pulls, json_each(pulls.signals) AS one WHERE study = :study AND signals IS NOT NULL
            AND json_extract(one.value, '$[2]') IS NOT rewarded_seq
        UNION ALL SELECT seq, kind, at, 0, NULL, NULL, NULL, data, NULL, NULL, NULL, NULL
        FROM events WHERE study = :study
    ) WHERE (seq, number) > (:seq, :number) ORDER BY seq, number
"""
CHANGES: Final = """
    SELECT seq, kind, at, data FROM events INDEXED BY events_changes
    WHERE study = :study AND kind != 'expire' ORDER BY seq DESC LIMIT :limit
"""
MILESTONES: Final = f"""
    SELECT {columns(Milestone)} FROM milestones WHERE study = :study ORDER BY n_pulls
"""

# --- access keys

PUT_KEY: Final = f"""
    INSERT INTO keys ({columns(KeyRecord)})
    VALUES (:id, :name, :role, :studies, :secret_hash, :created_at, :revoked_at)
"""
KEYS: Final = f"SELECT {columns(KeyRecord)} FROM keys ORDER BY created_at, id"
REVOKE_KEY: Final = """
    UPDATE keys SET revoked_at = coalesce(revoked_at, :at) WHERE id = :id
"""
