-- A study as the first schema of imabo's PostgreSQL store kept it. Never changes.
CREATE TABLE imabo_schema_version (
    version INTEGER NOT NULL,
    only_row BOOLEAN PRIMARY KEY DEFAULT TRUE CHECK (only_row)
);
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
) WITH (fillfactor = 50);
CREATE TABLE imabo_spaces (
    study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    space TEXT NOT NULL,
    n_pulls BIGINT NOT NULL,
    n_rewards BIGINT NOT NULL,
    n_pending BIGINT NOT NULL,
    n_arms BIGINT NOT NULL,
    PRIMARY KEY (study, version)
);
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
) WITH (fillfactor = 50);
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
);
CREATE INDEX imabo_pulls_pending ON imabo_pulls (study, served_at)
WHERE state = 'pending';
CREATE INDEX imabo_pulls_finished ON imabo_pulls (study, served_at, number)
WHERE state <> 'pending';
CREATE UNIQUE INDEX imabo_pulls_key ON imabo_pulls (study, key, part)
WHERE key IS NOT NULL;
CREATE TABLE imabo_events (
    study BIGINT NOT NULL REFERENCES imabo_studies (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    at DOUBLE PRECISION NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (study, seq)
);
CREATE TABLE imabo_beliefs (
    study BIGINT PRIMARY KEY REFERENCES imabo_studies (id) ON DELETE CASCADE,
    seq BIGINT NOT NULL,
    document TEXT NOT NULL
);
CREATE TABLE imabo_keys (
    id TEXT COLLATE "C" PRIMARY KEY,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
    studies TEXT,
    secret_hash TEXT NOT NULL,
    created_at DOUBLE PRECISION NOT NULL,
    revoked_at DOUBLE PRECISION
);
INSERT INTO imabo_schema_version (version) VALUES (1);
INSERT INTO "imabo_studies" ("id", "name", "token", "seed", "policy", "oracle", "reward_low", "reward_high", "window_s", "created_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "marked_at", "last_at") OVERRIDING SYSTEM VALUE VALUES (1, 'v1 🎉', '0b4a72e0', '1180591620717411303425', '{"type":"Informed","beta":0.5,"scale":3.0,"warmup":10,"bonus":0.1,"trust":1.0,"limit":50.0}', '{"type":"GP","kappa":2.0,"epsilon":0.05,"mutations":300,"draws":100,"startup":10}',  -1.0, 1.0, 50.0, 1000.0, 17, 18, 9, 2,  -1.0333333333333332, 0, 1200.0);
INSERT INTO "imabo_spaces" ("study", "version", "space", "n_pulls", "n_rewards", "n_pending", "n_arms") OVERRIDING SYSTEM VALUE VALUES (1, 1, '{"parameters":[{"name":"model","type":"choice","values":["tiny","small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}', 0, 0, 0, 0);
INSERT INTO "imabo_spaces" ("study", "version", "space", "n_pulls", "n_rewards", "n_pending", "n_arms") OVERRIDING SYSTEM VALUE VALUES (1, 2, '{"parameters":[{"name":"model","type":"choice","values":["small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}', 8, 5, 0, 3);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 1, '{"model":"tiny","temperature":0.02989528360842,"top_k":6}', 'c55d11daf74edb341c917f2a7ce8c7e4400182cd543b08c1577dc304a4701295', 'warmup', 'retired', 'active', NULL, NULL, 1000.0, 9, 1, 1, 0, 0.30000000000000004, 0.09000000000000002, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 2, '{"model":"small","temperature":0.58233923075233,"top_k":6}', '3a1940434d4537896c76cf9af91e6e63a49ed98f2e68c5f0e8db959a83c237ba', 'warmup', 'paused', NULL, NULL, NULL, 1000.0, 8, 1, 1, 0,  -0.3333333333333333, 0.1111111111111111, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 3, '{"model":"small","temperature":0.61143146627126,"top_k":5}', '92dac436ca89c07f604a9c7a87a90256073920da436056b5149c4334c3cf703d', 'warmup', 'active', NULL, NULL, NULL, 1000.0, 4, 1, 1, 0,  -0.3333333333333333, 0.1111111111111111, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 4, '{"model":"tiny","temperature":0.55899003144078,"top_k":9}', '0acfa988d51d1b7bb507402df4391611209a3e82d073781235d1afa354d0860c', 'warmup', 'retired', 'active', NULL, NULL, 1000.0, 9, 1, 1, 0,  -0.3333333333333333, 0.1111111111111111, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 5, '{"model":"tiny","temperature":0.58977891398294,"top_k":9}', 'b4ad5c12d47cf649aaf7599a1de806f8e33da06138945e9932b35a3a256c8daf', 'warmup', 'retired', 'active', NULL, NULL, 1000.0, 9, 1, 1, 0,  -0.3333333333333333, 0.1111111111111111, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 6, '{"model":"large","temperature":0.27344525484714,"top_k":9}', '21670f616a029474b65b3c074ce67ba32a4c9f4089f827c588c2bd72cb985f3a', 'warmup', 'active', NULL, NULL, NULL, 1000.0, 17, 2, 0, 1, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 7, '{"model":"tiny","temperature":0.41492447373353,"top_k":4}', 'dfb6e7b1c1124cfc35fcea3294ccb9a83b9c4a59e4527702934353b007dd213b', 'warmup', 'retired', 'active', NULL, NULL, 1000.0, 9, 1, 0, 0, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 8, '{"model":"tiny","temperature":0.69178901117216,"top_k":6}', '8533ac41c5bc7574da32a6dcb6686fe5b26d180ff2e19073afa1c51477a2ed70', 'warmup', 'retired', 'active', NULL, NULL, 1000.0, 9, 1, 0, 0, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 9, '{"model":"large","temperature":0.3,"top_k":3}', 'cbccb634dda10994230eb5d596bfb969aa5ff4e020b5e72b922221bd35c3a622', 'manual', 'active', NULL, NULL, NULL, 1100.0, 16, 1, 0, 0, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 10, '{"model":"large","temperature":0.25469103999483,"top_k":8}', 'fffdb1ceb44e34f9d0df40198ac3a2785816023c35f26cc5be5a02d1412a80c7', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 12, 1, 1, 0, 1e-300, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 11, '{"model":"small","temperature":0.80579533751958,"top_k":8}', 'c50696ce612f4f828851af41b258a4a443646bc3ff1245d6ec945dd12d3a800f', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 13, 1, 1, 0, 1e-300, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 12, '{"model":"small","temperature":0.43373857264825,"top_k":1}', '8a778d43fa212b63a4bd5c7d783fa6da0a2eb3aa27576c923a1064706b8f7d8f', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 14, 1, 1, 0, 1e-300, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 13, '{"model":"small","temperature":0.86637826697112,"top_k":8}', '473dd4ea7129b38532adc71e060062c01677042693d543a961b07c734b5958aa', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 15, 1, 1, 0, 1e-300, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 14, '{"model":"small","temperature":0.2749424784529,"top_k":10}', '8de8a1cedab03e06ab171e82c029a44c0fa43f7390646b1fe641721aa505aef4', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 16, 1, 0, 0, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 15, '{"model":"large","temperature":0.57110515150016,"top_k":2}', 'faf41443fd09fe079891276ad7729630016366a2b0e3ffa91abe18d699f9dc7b', 'warmup', 'active', NULL, NULL, NULL, 1100.0, 17, 2, 0, 1, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_arms" ("study", "id", "config", "identity", "origin", "state", "retired_from", "parent", "mutated", "admitted_at", "seq", "n_pulls", "n_rewards", "n_pending", "reward_sum", "reward_squares", "marked_rewards", "marked_sum") OVERRIDING SYSTEM VALUE VALUES (1, 16, '{"model":"small","temperature":0.08994277792746,"top_k":9}', '578ee65655a279b00c50a26963e6a99c72bb0d0f3cb3a47385da9445859a7738', 'baseline', 'active', NULL, NULL, NULL, 1100.0, 16, 1, 0, 0, 0.0, 0.0, 0, 0.0);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 1, 1, 'warmup', 'rewarded', 1000.0, 1, 0.30000000000000004, 1000.0, 2, NULL, 0, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 2, 2, 'warmup', 'rewarded', 1000.0, 1,  -0.3333333333333333, 1000.0, 3, NULL, 1, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 3, 3, 'warmup', 'rewarded', 1000.0, 1,  -0.3333333333333333, 1001.0, 4, NULL, 2, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 4, 4, 'warmup', 'rewarded', 1000.0, 1,  -0.3333333333333333, 1002.0, 5, NULL, 3, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 5, 5, 'warmup', 'rewarded', 1000.0, 1,  -0.3333333333333333, 1003.0, 6, NULL, 4, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 6, 6, 'warmup', 'expired', 1000.0, 1, NULL, NULL, NULL, NULL, 5, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 7, 7, 'warmup', 'expired', 1000.0, 1, NULL, NULL, NULL, NULL, 6, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 8, 8, 'warmup', 'expired', 1000.0, 1, NULL, NULL, NULL, NULL, 7, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 9, 10, 'warmup', 'rewarded', 1100.0, 11, 1e-300, 1100.0, 12, NULL, 0, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 10, 11, 'warmup', 'rewarded', 1100.0, 11, 1e-300, 1100.0, 13, NULL, 1, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 11, 12, 'warmup', 'rewarded', 1100.0, 11, 1e-300, 1100.0, 14, NULL, 2, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 12, 13, 'warmup', 'rewarded', 1100.0, 11, 1e-300, 1100.0, 15, NULL, 3, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 13, 14, 'warmup', 'expired', 1100.0, 11, NULL, NULL, NULL, NULL, 4, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 14, 15, 'warmup', 'expired', 1100.0, 11, NULL, NULL, NULL, NULL, 5, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 15, 9, 'index', 'expired', 1100.0, 11, NULL, NULL, NULL, NULL, 6, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 16, 16, 'expand', 'expired', 1100.0, 11, NULL, NULL, NULL, NULL, 7, NULL);
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 17, 6, 'index', 'pending', 1200.0, 17, NULL, NULL, NULL, 'a key', 0, '{"user":7}');
INSERT INTO "imabo_pulls" ("study", "number", "arm", "reason", "state", "served_at", "served_seq", "reward", "rewarded_at", "rewarded_seq", "key", "part", "context") OVERRIDING SYSTEM VALUE VALUES (1, 18, 15, 'index', 'pending', 1200.0, 17, NULL, NULL, NULL, 'a key', 1, '{"user":7}');
INSERT INTO "imabo_events" ("study", "seq", "kind", "at", "data") OVERRIDING SYSTEM VALUE VALUES (1, 7, 'expire', 1100.0, '{"before":1050.0}');
INSERT INTO "imabo_events" ("study", "seq", "kind", "at", "data") OVERRIDING SYSTEM VALUE VALUES (1, 8, 'state', 1100.0, '{"arm":2,"state":"paused"}');
INSERT INTO "imabo_events" ("study", "seq", "kind", "at", "data") OVERRIDING SYSTEM VALUE VALUES (1, 9, 'space', 1100.0, '{"space":{"parameters":[{"name":"model","type":"choice","values":["small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}}');
INSERT INTO "imabo_events" ("study", "seq", "kind", "at", "data") OVERRIDING SYSTEM VALUE VALUES (1, 10, 'arm', 1100.0, '{"arm":9,"config":{"model":"large","temperature":0.3,"top_k":3}}');
INSERT INTO "imabo_events" ("study", "seq", "kind", "at", "data") OVERRIDING SYSTEM VALUE VALUES (1, 16, 'expire', 1200.0, '{"before":1150.0}');
INSERT INTO "imabo_keys" ("id", "name", "role", "studies", "secret_hash", "created_at", "revoked_at") OVERRIDING SYSTEM VALUE VALUES ('k1', 'one key', 'writer',  E'["v1 \\ud83c\\udf89"]', 'hash', 1000.0, NULL);
SELECT setval(pg_get_serial_sequence('imabo_studies', 'id'), 1);
