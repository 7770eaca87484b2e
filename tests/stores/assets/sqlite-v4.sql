-- A study as the fourth schema of imabo's SQLite store, the last without memories, kept it.
PRAGMA application_id = 1768776034;
PRAGMA user_version = 4;
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
INSERT INTO "arms" VALUES(1,6,'{"model":"large","temperature":0.27344525484714,"top_k":9}','{"model":"large","temperature":0.27344525484714,"top_k":9}','warmup','active',NULL,NULL,NULL,1000.0,20,3,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,7,'{"model":"tiny","temperature":0.41492447373353,"top_k":4}','{"model":"tiny","temperature":0.41492447373353,"top_k":4}','warmup','retired','active',NULL,NULL,1000.0,9,1,0,0,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,8,'{"model":"tiny","temperature":0.69178901117216,"top_k":6}','{"model":"tiny","temperature":0.69178901117216,"top_k":6}','warmup','retired','active',NULL,NULL,1000.0,9,1,0,0,0.0,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,9,'{"model":"large","temperature":0.3,"top_k":3}','{"model":"large","temperature":0.3,"top_k":3}','manual','active',NULL,NULL,NULL,1100.0,40,3,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,10,'{"model":"large","temperature":0.25469103999483,"top_k":8}','{"model":"large","temperature":0.25469103999483,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,12,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,11,'{"model":"small","temperature":0.80579533751958,"top_k":8}','{"model":"small","temperature":0.80579533751958,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,13,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,12,'{"model":"small","temperature":0.43373857264825,"top_k":1}','{"model":"small","temperature":0.43373857264825,"top_k":1}','warmup','active',NULL,NULL,NULL,1100.0,14,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,13,'{"model":"small","temperature":0.86637826697112,"top_k":8}','{"model":"small","temperature":0.86637826697112,"top_k":8}','warmup','active',NULL,NULL,NULL,1100.0,15,1,1,0,1.0e-300,0.0,0,0.0);
INSERT INTO "arms" VALUES(1,14,'{"model":"small","temperature":0.2749424784529,"top_k":10}','{"model":"small","temperature":0.2749424784529,"top_k":10}','warmup','active',NULL,NULL,NULL,1100.0,44,2,1,0,-0.5,0.25,0,0.0);
INSERT INTO "arms" VALUES(1,15,'{"model":"large","temperature":0.57110515150016,"top_k":2}','{"model":"large","temperature":0.57110515150016,"top_k":2}','warmup','active',NULL,NULL,NULL,1100.0,54,3,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,16,'{"model":"small","temperature":0.08994277792746,"top_k":9}','{"model":"small","temperature":0.08994277792746,"top_k":9}','baseline','active',NULL,NULL,NULL,1100.0,58,2,1,0,-0.5,0.25,0,0.0);
INSERT INTO "arms" VALUES(1,17,'{"model":"large","temperature":0.07528579713815,"top_k":10}','{"model":"large","temperature":0.07528579713815,"top_k":10}','baseline','active',NULL,NULL,NULL,1207.0,26,2,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,18,'{"model":"large","temperature":0.32175054049432,"top_k":5}','{"model":"large","temperature":0.32175054049432,"top_k":5}','baseline','active',NULL,NULL,NULL,1209.0,30,2,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,19,'{"model":"large","temperature":1.0,"top_k":10}','{"model":"large","temperature":1,"top_k":10}','oracle','active',NULL,17,NULL,1211.0,80,3,3,0,2.25,1.6875,0,0.0);
INSERT INTO "arms" VALUES(1,20,'{"model":"large","temperature":1.0,"top_k":4}','{"model":"large","temperature":1,"top_k":4}','oracle','active',NULL,NULL,NULL,1213.0,78,7,7,0,5.25,3.9375,0,0.0);
INSERT INTO "arms" VALUES(1,21,'{"model":"large","temperature":0.0,"top_k":1}','{"model":"large","temperature":0,"top_k":1}','oracle','active',NULL,NULL,NULL,1216.0,50,2,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,22,'{"model":"small","temperature":0.09889698976921,"top_k":6}','{"model":"small","temperature":0.09889698976921,"top_k":6}','baseline','active',NULL,NULL,NULL,1218.0,46,1,1,0,-0.5,0.25,0,0.0);
INSERT INTO "arms" VALUES(1,23,'{"model":"large","temperature":1.0,"top_k":1}','{"model":"large","temperature":1,"top_k":1}','oracle','active',NULL,20,NULL,1221.0,88,3,3,0,2.25,1.6875,0,0.0);
INSERT INTO "arms" VALUES(1,24,'{"model":"large","temperature":0.0,"top_k":4}','{"model":"large","temperature":0,"top_k":4}','oracle','active',NULL,20,NULL,1225.0,62,2,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,25,'{"model":"large","temperature":1.0,"top_k":3}','{"model":"large","temperature":1,"top_k":3}','oracle','active',NULL,19,NULL,1228.0,96,3,3,0,2.25,1.6875,0,0.0);
INSERT INTO "arms" VALUES(1,26,'{"model":"large","temperature":0.1398864543912,"top_k":8}','{"model":"large","temperature":0.1398864543912,"top_k":8}','baseline','active',NULL,NULL,NULL,1232.0,86,2,2,0,1.5,1.125,0,0.0);
INSERT INTO "arms" VALUES(1,27,'{"model":"large","temperature":0.9979148157022,"top_k":1}','{"model":"large","temperature":0.9979148157022,"top_k":1}','oracle','active',NULL,23,NULL,1236.0,94,3,3,0,2.25,1.6875,0,0.0);
INSERT INTO "arms" VALUES(1,28,'{"model":"large","temperature":0.00135178662174,"top_k":1}','{"model":"large","temperature":0.00135178662174,"top_k":1}','oracle','active',NULL,23,NULL,1240.0,92,2,2,0,1.5,1.125,0,0.0);
CREATE TABLE beliefs (
            study INTEGER PRIMARY KEY REFERENCES studies (id) ON DELETE CASCADE,
            seq INTEGER NOT NULL,
            document TEXT NOT NULL
        );
INSERT INTO "beliefs" VALUES(1,89,'{"arms":[2,3,6,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28],"means":[0.39606925262715753,0.4235064202356075,0.8064721550015909,0.8492576003506408,0.8662628265485899,0.41641828595575653,0.3637844720047641,0.4389801577668253,0.31692793622081855,0.8585813614680835,0.29459562485995494,0.7884144923079425,0.8374041483639197,0.8150256112815305,0.8627036655442,0.8514360391981508,0.3247591655530456,0.8709816679587155,0.8400403121598755,0.8663994876008723,0.815232154953435,0.8709293113009995,0.8589147290508066],"counts":[0.24716307572932522,0.23351226802255404,0.3553119837508731,0.43781065912077105,0.4965413220278088,0.20752620111325104,0.14876126139043425,0.18660538733190513,0.2141111863888241,0.4279738161580704,0.21134501626363641,0.2790498176907452,0.4321701321119494,0.20421277429580564,0.45550711843207403,0.3025312305880411,0.20844933604508714,0.4465901410707537,0.37391229310965685,0.479215982621083,0.38250066679283706,0.45129699957727065,0.39264825281871774],"state":{"scales":{"model":-0.8709529817905285,"temperature":0.19616416292570493,"top_k":0.44793163333278446},"signal":-0.08574192764979219,"own":-2.434744052415338,"share":-0.005061894727352998,"arms":22,"evidence":0.0}}');
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
INSERT INTO "events" VALUES(1,16,'expire',1204.0,'{"before":1154.0}');
CREATE TABLE keys (
            id TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            role TEXT NOT NULL CHECK (role IN ('reader', 'writer', 'admin')),
            studies TEXT,
            secret_hash TEXT NOT NULL,
            created_at REAL NOT NULL,
            revoked_at REAL
        ) WITHOUT ROWID
        ;
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
        );
INSERT INTO "milestones" VALUES(1,8,1000.0,0,8,0.0,0.0,8,'[1,1,1,1,1,1,1,1]');
INSERT INTO "milestones" VALUES(1,16,1100.0,5,8,-1.0333333333333332149e+00,5.34444444444444499708e-01,11,'[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]');
INSERT INTO "milestones" VALUES(1,24,1211.0,16,1,4.21666666666666678509e+00,4.4719444444444444997e+00,14,'[1,1,1,1,1,3,1,1,1,1,1,1,1,1,2,1,2,2,1]');
INSERT INTO "milestones" VALUES(1,32,1219.0,24,1,7.71666666666666678509e+00,8.3469444444444444997e+00,17,'[1,1,1,1,1,3,1,1,3,1,1,1,1,2,2,1,2,2,2,2,1,1]');
INSERT INTO "milestones" VALUES(1,40,1227.0,32,1,1.24666666666666667848e+01,1.25344444444444444994e+01,19,'[1,1,1,1,1,3,1,1,3,1,1,1,1,2,3,2,2,2,2,3,2,1,2,2]');
INSERT INTO "milestones" VALUES(1,48,1235.0,40,1,1.84666666666666685614e+01,1.7034444444444446276e+01,21,'[1,1,1,1,1,3,1,1,3,1,1,1,1,2,3,2,2,2,3,7,2,1,2,2,2,1]');
INSERT INTO "milestones" VALUES(1,56,1243.0,48,1,2.44666666666666685623e+01,2.15344444444444462751e+01,23,'[1,1,1,1,1,3,1,1,3,1,1,1,1,2,3,2,2,2,3,7,2,1,3,2,3,2,3,2]');
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
            rewarded_seq INTEGER, key TEXT, part INTEGER NOT NULL DEFAULT 0, context TEXT,
            PRIMARY KEY (study, number)
        ) WITHOUT ROWID
        ;
INSERT INTO "pulls" VALUES(1,1,1,'warmup','rewarded',1000.0,1,3.00000000000000044408e-01,1000.0,2,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,2,2,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1000.0,3,NULL,1,NULL);
INSERT INTO "pulls" VALUES(1,3,3,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1001.0,4,NULL,2,NULL);
INSERT INTO "pulls" VALUES(1,4,4,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1002.0,5,NULL,3,NULL);
INSERT INTO "pulls" VALUES(1,5,5,'warmup','rewarded',1000.0,1,-3.33333333333333314829e-01,1003.0,6,NULL,4,NULL);
INSERT INTO "pulls" VALUES(1,6,6,'warmup','expired',1000.0,1,NULL,NULL,NULL,NULL,5,NULL);
INSERT INTO "pulls" VALUES(1,7,7,'warmup','expired',1000.0,1,NULL,NULL,NULL,NULL,6,NULL);
INSERT INTO "pulls" VALUES(1,8,8,'warmup','expired',1000.0,1,NULL,NULL,NULL,NULL,7,NULL);
INSERT INTO "pulls" VALUES(1,9,10,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,12,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,10,11,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,13,NULL,1,NULL);
INSERT INTO "pulls" VALUES(1,11,12,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,14,NULL,2,NULL);
INSERT INTO "pulls" VALUES(1,12,13,'warmup','rewarded',1100.0,11,1.0e-300,1100.0,15,NULL,3,NULL);
INSERT INTO "pulls" VALUES(1,13,14,'warmup','expired',1100.0,11,NULL,NULL,NULL,NULL,4,NULL);
INSERT INTO "pulls" VALUES(1,14,15,'warmup','expired',1100.0,11,NULL,NULL,NULL,NULL,5,NULL);
INSERT INTO "pulls" VALUES(1,15,9,'index','expired',1100.0,11,NULL,NULL,NULL,NULL,6,NULL);
INSERT INTO "pulls" VALUES(1,16,16,'expand','expired',1100.0,11,NULL,NULL,NULL,NULL,7,NULL);
INSERT INTO "pulls" VALUES(1,17,6,'index','rewarded',1204.0,17,0.75,1204.0,18,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,18,6,'index','rewarded',1205.0,19,0.75,1205.0,20,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,19,15,'index','rewarded',1206.0,21,0.75,1206.0,22,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,20,17,'expand','rewarded',1207.0,23,0.75,1207.0,24,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,21,17,'index','rewarded',1208.0,25,0.75,1208.0,26,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,22,18,'expand','rewarded',1209.0,27,0.75,1209.0,28,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,23,18,'index','rewarded',1210.0,29,0.75,1210.0,30,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,24,19,'expand','rewarded',1211.0,31,0.75,1211.0,32,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,25,9,'index','rewarded',1212.0,33,0.75,1212.0,34,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,26,20,'expand','rewarded',1213.0,35,0.75,1213.0,36,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,27,19,'index','rewarded',1214.0,37,0.75,1214.0,38,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,28,9,'index','rewarded',1215.0,39,0.75,1215.0,40,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,29,21,'expand','rewarded',1216.0,41,0.75,1216.0,42,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,30,14,'index','rewarded',1217.0,43,-0.5,1217.0,44,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,31,22,'expand','rewarded',1218.0,45,-0.5,1218.0,46,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,32,20,'index','rewarded',1219.0,47,0.75,1219.0,48,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,33,21,'index','rewarded',1220.0,49,0.75,1220.0,50,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,34,23,'expand','rewarded',1221.0,51,0.75,1221.0,52,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,35,15,'index','rewarded',1222.0,53,0.75,1222.0,54,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,36,23,'index','rewarded',1223.0,55,0.75,1223.0,56,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,37,16,'index','rewarded',1224.0,57,-0.5,1224.0,58,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,38,24,'expand','rewarded',1225.0,59,0.75,1225.0,60,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,39,24,'index','rewarded',1226.0,61,0.75,1226.0,62,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,40,20,'index','rewarded',1227.0,63,0.75,1227.0,64,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,41,25,'expand','rewarded',1228.0,65,0.75,1228.0,66,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,42,25,'index','rewarded',1229.0,67,0.75,1229.0,68,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,43,20,'index','rewarded',1230.0,69,0.75,1230.0,70,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,44,20,'index','rewarded',1231.0,71,0.75,1231.0,72,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,45,26,'expand','rewarded',1232.0,73,0.75,1232.0,74,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,46,20,'index','rewarded',1233.0,75,0.75,1233.0,76,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,47,20,'index','rewarded',1234.0,77,0.75,1234.0,78,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,48,19,'index','rewarded',1235.0,79,0.75,1235.0,80,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,49,27,'expand','rewarded',1236.0,81,0.75,1236.0,82,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,50,27,'index','rewarded',1237.0,83,0.75,1237.0,84,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,51,26,'index','rewarded',1238.0,85,0.75,1238.0,86,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,52,23,'index','rewarded',1239.0,87,0.75,1239.0,88,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,53,28,'expand','rewarded',1240.0,89,0.75,1240.0,90,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,54,28,'index','rewarded',1241.0,91,0.75,1241.0,92,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,55,27,'index','rewarded',1242.0,93,0.75,1242.0,94,NULL,0,NULL);
INSERT INTO "pulls" VALUES(1,56,25,'index','rewarded',1243.0,95,0.75,1243.0,96,NULL,0,NULL);
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
INSERT INTO "studies" VALUES(1,'v4 🎉','d7f2f8f5','1180591620717411303425','{"type":"Informed","beta":0.5,"scale":3.0,"warmup":10,"bonus":0.1,"trust":1.0,"limit":50.0}','{"type":"GP","kappa":2.0,"epsilon":0.05,"mutations":300,"draws":100,"startup":10}',-1.0,1.0,50.0,1000.0,96,56,49,0,2.52166666666666685605e+01,0,1243.0);
CREATE INDEX pulls_pending ON pulls (study, served_at) WHERE state = 'pending';
CREATE UNIQUE INDEX pulls_key ON pulls (study, key, part) WHERE key IS NOT NULL;
CREATE INDEX events_changes ON events (study, seq) WHERE kind != 'expire';
COMMIT;
