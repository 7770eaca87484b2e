-- A study as the first schema of imabo's SQLite store kept it. Never changes.
PRAGMA application_id = 1768776034;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
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
        ;
INSERT INTO "arms" VALUES(1,1,'{"model":"tiny","temperature":0.02989528360842,"top_k":6}','{"model":"tiny","temperature":0.02989528360842,"top_k":6}','warmup','retired','active',NULL,NULL,1000.0,9,1,1,0,3.00000000000000044408e-01,9.00000000000000244249e-02,0,0.0);
INSERT INTO "arms" VALUES(1,2,'{"model":"small","temperature":0.58233923075233,"top_k":6}','{"model":"small","temperature":0.58233923075233,"top_k":6}','warmup','paused',NULL,NULL,NULL,1000.0,8,1,1,0,-3.33333333333333314829e-01,1.11111111111111104943e-01,0,0.0);
INSERT INTO "arms" VALUES(1,3,'{"model":"small","temperature":0.61143146627126,"top_k":5}','{"model":"small","temperature":0.61143146627126,"top_k":5}','warmup','active',NULL,NULL,NULL,1000.0,4,1,1,0,-3.33333333333333314829e-01,1.11111111111111104943e-01,0,0.0);
INSERT INTO "arms" VALUES(1,4,'{"model":"tiny","temperature":0.55899003144078,"top_k":9}','{"model":"tiny","temperature":0.55899003144078,"top_k":9}','warmup','retired','active',NULL,NULL,1000.0,9,1,1,0,-3.33333333333333314829e-01,1.11111111111111104943e-01,0,0.0);
INSERT INTO "arms" VALUES(1,5,'{"model":"tiny","temperature":0.58977891398294,"top_k":9}','{"model":"tiny","temperature":0.58977891398294,"top_k":9}','warmup','retired','active',NULL,NULL,1000.0,9,1,1,0,-3.33333333333333314829e-01,1.11111111111111104943e-01,0,0.0);
INSERT INTO "arms" VALUES(1,6,'{"model":"large","temperature":0.27344525484714,"top_k":9}','{"model":"large","temperature":0.27344525484714,"top_k":9}','warmup','active',NULL,NULL,NULL,1000.0,11,2,0,1,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,7,'{"model":"tiny","temperature":0.41492447373353,"top_k":4}','{"model":"tiny","temperature":0.41492447373353,"top_k":4}','warmup','retired','active',NULL,NULL,1000.0,9,1,0,0,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,8,'{"model":"tiny","temperature":0.69178901117216,"top_k":6}','{"model":"tiny","temperature":0.69178901117216,"top_k":6}','warmup','retired','active',NULL,NULL,1000.0,9,1,0,0,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,9,'{"model":"large","temperature":0.3,"top_k":3}','{"model":"large","temperature":0.3,"top_k":3}','manual','active',NULL,NULL,NULL,1100.0,11,1,0,1,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,10,'{"model":"large","temperature":0.25469103999483,"top_k":8}','{"model":"large","temperature":0.25469103999483,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,12,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,11,'{"model":"small","temperature":0.80579533751958,"top_k":8}','{"model":"small","temperature":0.80579533751958,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,13,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,12,'{"model":"small","temperature":0.43373857264825,"top_k":1}','{"model":"small","temperature":0.43373857264825,"top_k":1}','warmup','active',NULL,NULL,NULL,1100.0,14,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,13,'{"model":"small","temperature":0.86637826697112,"top_k":8}','{"model":"small","temperature":0.86637826697112,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,15,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,14,'{"model":"small","temperature":0.2749424784529,"top_k":10}','{"model":"small","temperature":0.2749424784529,"top_k":10}','warmup','active',NULL,NULL,NULL,1100.0,11,1,0,1,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,15,'{"model":"large","temperature":0.57110515150016,"top_k":2}','{"model":"large","temperature":0.57110515150016,"top_k":2}','warmup','active',NULL,NULL,NULL,1100.0,11,1,0,1,0.0,0.0,0,0.0);
CREATE TABLE events (
            study INTEGER NOT NULL REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at REAL NOT NULL,
            data TEXT NOT NULL,
            PRIMARY KEY (study, seq)
        ) WITHOUT ROWID
        ;
INSERT INTO "events" VALUES(1,7,'expire',1100.0,'{"before":1050.0}');
INSERT INTO "events" VALUES(1,8,'state',1100.0,'{"arm":2,"state":"paused"}');
INSERT INTO "events" VALUES(1,9,'space',1100.0,'{"space":{"parameters":[{"name":"model","type":"choice","values":["small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}}');
INSERT INTO "events" VALUES(1,10,'arm',1100.0,'{"arm":9,"config":{"model":"large","temperature":0.3,"top_k":3}}');
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
        ;
INSERT INTO "pulls" VALUES(1,1,1,'warmup','rewarded',1000.0,1,3.00000000000000044408e-01,1000.0,2);
INSERT INTO "pulls" VALUES(1,2,2,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1000.0,3);
INSERT INTO "pulls" VALUES(1,3,3,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1001.0,4);
INSERT INTO "pulls" VALUES(1,4,4,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1002.0,5);
INSERT INTO "pulls" VALUES(1,5,5,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1003.0,6);
INSERT INTO "pulls" VALUES(1,6,6,'warmup','expired',1000.0,1,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,7,7,'warmup','expired',1000.0,1,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,8,8,'warmup','expired',1000.0,1,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,9,10,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,12);
INSERT INTO "pulls" VALUES(1,10,11,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,13);
INSERT INTO "pulls" VALUES(1,11,12,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,14);
INSERT INTO "pulls" VALUES(1,12,13,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,15);
INSERT INTO "pulls" VALUES(1,13,14,'warmup','pending',1100.0,11,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,14,15,'warmup','pending',1100.0,11,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,15,9,'index','pending',1100.0,11,NULL,NULL,NULL);
INSERT INTO "pulls" VALUES(1,16,6,'index','pending',1100.0,11,NULL,NULL,NULL);
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
        ;
INSERT INTO "spaces" VALUES(1,1,'{"parameters":[{"name":"model","type":"choice","values":["tiny","small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}',0,0,0,0);
INSERT INTO "spaces" VALUES(1,2,'{"parameters":[{"name":"model","type":"choice","values":["small","large"],"ordered":false,"when":{}},{"name":"temperature","type":"float","low":0.0,"high":1.0,"log":false,"step":null,"when":{}},{"name":"top_k","type":"int","low":1,"high":10,"log":false,"step":1,"when":{}}],"forbid":[]}',8,5,0,3);
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
        );
INSERT INTO "studies" VALUES(1,'v1 🎉','a9cfb01c','1180591620717411303425','{"type":"IMOSS","beta":0.5,"alpha":0.1,"warmup":10,"index":"moss","delay":"aware"}','{"type":"Mutate","gamma":0.3,"candidates":24,"startup":10}',-1.0,1.0,50.0,1000.0,15,16,9,4,-1.0333333333333332149e+00,0,1100.0);
CREATE INDEX pulls_pending ON pulls (study, served_at) WHERE state = 'pending';
COMMIT;
