BEGIN TRANSACTION;
CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO "history" VALUES('e9647c20-43f5-4235-9af0-81c73a6a3477','5ad9a832-1ef9-4dd9-a04e-d7d286d1c4e6',NULL,'Ada lives in Lisbon.','ADD','2026-11-26T07:50:41.685796+00:00','2026-11-26T07:50:41.685796+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('ed68c4d9-163a-43a5-b783-dc37ea7868e5','8b1d725a-34ea-478c-8d23-0a32b2cfe721',NULL,'Ada''s boat is called Heron.','ADD','2026-11-26T07:50:41.709464+00:00','2026-11-26T07:50:41.709464+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('fe4f03e9-a459-4146-a106-7c6515747164','7bd23059-549b-4800-800d-78ecf7fb61ab',NULL,'I am allergic to walnuts.','ADD','2026-11-26T07:50:41.715314+00:00','2026-11-26T07:50:41.715314+00:00',0,'Ada','user');
INSERT INTO "history" VALUES('ebb44447-2539-47cb-a995-dea54bab3d1a','56dcc8d6-ddfb-450c-b413-3a6b4254736e',NULL,'林的船叫白鹭。','ADD','2026-11-26T07:50:41.725195+00:00','2026-11-26T07:50:41.725195+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('b46eb82a-08e3-4dce-9e4b-4de74b63c91f','5f7c518d-8bfb-44f2-a9f2-fbb283a22dc4',NULL,'Ada owes Ben 20 euros.','ADD','2026-11-26T07:50:41.733243+00:00','2026-11-26T07:50:41.733243+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('dd76610a-dbc1-42b0-926d-68a11f56668e','5ad9a832-1ef9-4dd9-a04e-d7d286d1c4e6','Ada lives in Lisbon.','Ada lives in Porto.','UPDATE','2026-11-26T07:50:41.685796+00:00','2026-11-26T07:50:41.738781+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('9ea04c46-22e4-4cc9-ae71-ea25b839f2b7','5ad9a832-1ef9-4dd9-a04e-d7d286d1c4e6','Ada lives in Porto.','Ada lives in Oslo.','UPDATE','2026-11-26T07:50:41.685796+00:00','2026-11-26T07:50:41.745744+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('686412b7-a77c-4dfa-a7bb-ca9c83a584df','5f7c518d-8bfb-44f2-a9f2-fbb283a22dc4','Ada owes Ben 20 euros.',NULL,'DELETE','2026-11-26T07:50:41.733243+00:00','2026-11-26T07:50:41.748415+00:00',1,NULL,'user');
INSERT INTO "history" VALUES('cdbd14ad-ad59-4bd3-8ff0-530a4da507fe','ffbbe034-eb3a-4e36-b313-9232ea1a546f',NULL,'The coach answers in short sentences.','ADD','2026-11-26T07:50:41.753470+00:00','2026-11-26T07:50:41.753470+00:00',0,NULL,'user');
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
COMMIT;
