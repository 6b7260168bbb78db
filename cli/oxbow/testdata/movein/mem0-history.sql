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
INSERT INTO "history" VALUES('a1bffc8e-0273-4f63-afc4-fc8f928bebdc','f11ca9f5-e7dc-4d7a-8e0c-ac9152eef1ce',NULL,'Ada lives in Lisbon.','ADD','2026-11-26T08:12:08.759100+00:00','2026-11-26T08:12:08.759100+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('48b35c3e-82f2-4c8a-b8ff-5a25a84e5c53','2f2f4519-5960-4a8b-9a36-6bcce2829511',NULL,'Ada''s boat is called Heron.','ADD','2026-11-26T08:12:08.818106+00:00','2026-11-26T08:12:08.818106+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('f9024de8-26b9-4a79-8fc6-fdb7aa29062a','00c23a3c-48f0-4c15-9be5-15aeda9e1066',NULL,'I am allergic to walnuts.','ADD','2026-11-26T08:12:08.843108+00:00','2026-11-26T08:12:08.843108+00:00',0,'Ada','user');
INSERT INTO "history" VALUES('574161cb-8554-4713-a041-9258c742e03e','0242df34-8d42-4253-8538-4a65ff609da1',NULL,'林的船叫白鹭。','ADD','2026-11-26T08:12:08.869172+00:00','2026-11-26T08:12:08.869172+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('419c07cb-f044-4e4b-bcbc-728e6bcc5776','d299132c-6fc9-4296-989b-8eccab083ea3',NULL,'Ada owes Ben 20 euros.','ADD','2026-11-26T08:12:08.902049+00:00','2026-11-26T08:12:08.902049+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('a87c05f0-beda-4eec-9c91-e308f8468876','f11ca9f5-e7dc-4d7a-8e0c-ac9152eef1ce','Ada lives in Lisbon.','Ada lives in Porto.','UPDATE','2026-11-26T08:12:08.759100+00:00','2026-11-26T08:12:08.972674+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('98b239a7-9740-41b0-8678-cc2abf74aece','f11ca9f5-e7dc-4d7a-8e0c-ac9152eef1ce','Ada lives in Porto.','Ada lives in Oslo.','UPDATE','2026-11-26T08:12:08.759100+00:00','2026-11-26T08:12:08.994308+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('c5342d1a-46b4-45b8-9825-a35ca874ceb5','d299132c-6fc9-4296-989b-8eccab083ea3','Ada owes Ben 20 euros.',NULL,'DELETE','2026-11-26T08:12:08.902049+00:00','2026-11-26T08:12:09.023623+00:00',1,NULL,'user');
INSERT INTO "history" VALUES('5816d7f5-8a66-4de7-9679-e3c378de7ad2','3c3582f2-c488-4b81-b559-8d5b2184aa51',NULL,'The coach answers in short sentences.','ADD','2026-11-26T08:12:09.053965+00:00','2026-11-26T08:12:09.053965+00:00',0,NULL,'user');
INSERT INTO "history" VALUES('1e3c9436-9273-4d76-bd63-a3fe63ce2153','6c26c48a-9158-49e9-952e-ff234ef74b25',NULL,'Ada plays the cello.','ADD','2026-11-26T08:12:09.167637+00:00',NULL,0,NULL,NULL);
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
INSERT INTO "messages" VALUES('fe909991-b7f7-4831-9147-19db64c8f2d1','run_id=chat-2&user_id=ada','user','I practise the cello every day.',NULL,'2026-11-26T08:12:09.192140+00:00');
COMMIT;
