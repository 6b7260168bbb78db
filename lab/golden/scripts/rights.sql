-- What each role may do. A block that sets a role is rolled back at its end.

-- name: two lives
select golden.people();

-- name: after the worker
-- $ oxbow work --until-idle --now 2024-08-01
select count(*) from oxbow.memory_vectors;

-- name: app, no user set: reads nothing
begin; set local role oxbow_app;
select count(*) from oxbow.memories;
select count(*) from oxbow.memories_fact;
select count(*) from oxbow.traits;
select count(*) from oxbow.users;
select key from oxbow.settings order by key;

-- name: app, no user set: recall
begin; set local role oxbow_app;
select id from oxbow.recall('nora', 'where does she live', now => '2024-08-01');

-- name: app, an empty user set: recall
begin; set local role oxbow_app; set local oxbow.user_id = '';
select id from oxbow.recall('nora', 'where does she live', now => '2024-08-01');

-- name: app, another user set: recall
begin; set local role oxbow_app; set local oxbow.user_id = '小林';
select id from oxbow.recall('nora', 'where does she live', now => '2024-08-01');

-- name: app, its user set: reads
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
select user_id, memory_type, count(*) from oxbow.memories group by 1, 2 order by 1, 2;
select id, score from oxbow.recall('nora', 'where does she live', now => '2024-08-01');
select oxbow.context('nora', 'where does she live', max_tokens => 60, now => '2024-08-01');
select id from oxbow.timeline('nora', 'where does Nora live');
select count(*) from oxbow.facts_as_of('nora', '2024-01-01');
select event from oxbow.history('nora', golden.id(101));
select count(*) from oxbow.versions('nora', golden.id(101));
select count(*) from oxbow.traits_as_of('nora', '2024-08-01');
select name from oxbow.entities_of('nora') order by 1;
select count(*) from oxbow.entity_edges_of('nora');
select count(*) from oxbow.memory_vectors;
select count(*) from oxbow.memory_terms;

-- name: app, its user set: writes
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
insert into oxbow.memories (user_id, content) values ('nora', 'Nora whistles.') returning user_id, content;
update oxbow.memories set importance = 0.1 where id in (golden.id(103), golden.id(203));
delete from oxbow.memories where id in (golden.id(104), golden.id(203));
select oxbow.supersede('nora', golden.id(102), 'Nora lives on a boat.') is not null as new;
select oxbow.forget('nora', golden.id(103));
select oxbow.restore('nora', golden.id(103));
select oxbow.touch('nora', array[golden.id(103)]);
select oxbow.promote('nora', golden.id(103));
select oxbow.erase_memory('nora', golden.id(103)) > 0 as erased;
select added from oxbow.ingest_file('nora', 'a.md', '{one,two}');
select oxbow.delete_file('nora', 'a.md');
insert into oxbow.messages (user_id, session_id, content) values ('nora', 's', 'I like plums.');
select oxbow.end_session('nora', 's');
insert into oxbow.sensory (user_id, content) values ('nora', 'x');
update oxbow.users set timezone = 'Europe/Paris';
select count(*) > 0 as erased from oxbow.erase_user('nora');

-- name: app inserts for anyone
begin; set local role oxbow_app;
insert into oxbow.memories (user_id, content) values ('anyone', 'Somebody whistles.');
insert into oxbow.messages (user_id, session_id, content) values ('anyone', 's', 'I like plums.');
insert into oxbow.sensory (user_id, content) values ('anyone', 'x');
select count(*) from oxbow.memories;

-- name: app inserts a user's settings
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
insert into oxbow.users (user_id, timezone) values ('anyone', 'UTC');

-- name: app inserts a vector of its own
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
insert into oxbow.memories (user_id, memory_type, id, content) values ('nora', 'fact', golden.id(108), 'Nora sings.');
insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  values ('nora', 'fact', golden.id(108), array_fill(0.1, array[1024])::halfvec);
insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  values ('小林', 'fact', golden.id(202), array_fill(0.1, array[1024])::halfvec);

-- name: app moves a row to another user
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
update oxbow.users set user_id = 'x';

-- name: app copies its rows
begin; set local role oxbow_app; set local oxbow.user_id = '小林';
select count(*) from oxbow.memories_episodic;
select count(*) from oxbow.memory_history;
select count(*) from oxbow.trait_events;

-- name: app, another user: context
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.context('小林', 'x');
-- name: app, another user: context parts
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.context_parts('小林', 'x');
-- name: app, another user: timeline
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.timeline('小林', 'x');
-- name: app, another user: facts as of
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.facts_as_of('小林');
-- name: app, another user: history
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.history('小林', golden.id(201));
-- name: app, another user: versions
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.versions('小林', golden.id(201));
-- name: app, another user: supersede
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.supersede('小林', golden.id(202), 'x');
-- name: app, another user: forget
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.forget('小林', golden.id(202));
-- name: app, another user: restore
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.restore('小林', golden.id(202));
-- name: app, another user: touch
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.touch('小林', '{}');
-- name: app, another user: promote
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.promote('小林', golden.id(202));
-- name: app, another user: erase memory
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.erase_memory('小林', golden.id(202));
-- name: app, another user: erase user
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.erase_user('小林');
-- name: app, another user: erasure
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select *
  from oxbow.erasure('小林', 'a-proof-that-is-long');
-- name: app, another user: end session
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.end_session('小林', '聊天一');
-- name: app, another user: traits as of
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.traits_as_of('小林', '2024-08-01');
-- name: app, another user: edit trait
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.edit_trait('小林', golden.id(202), 'x');
-- name: app, another user: dissolve trait
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.dissolve_trait('小林', golden.id(202));
-- name: app, another user: delete trait
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.delete_trait('小林', golden.id(202));
-- name: app, another user: ingest file
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.ingest_file('小林', 'a', '{x}');
-- name: app, another user: delete file
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select oxbow.delete_file('小林', 'a');
-- name: app, another user: entities
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.entities_of('小林');
-- name: app, another user: edges
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.entity_edges_of('小林');

-- name: app, forbidden: jobs
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.river_job;
-- name: app, forbidden: settings
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; update oxbow.settings set value = '{}';
-- name: app, forbidden: receipts
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select * from oxbow.erasures;
-- name: app, forbidden: history
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event)
  values ('nora', 'fact', golden.id(101), 'ADD');
-- name: app, forbidden: evidence
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; delete from oxbow.trait_evidence;
-- name: app, forbidden: truncate
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; truncate oxbow.memories;
-- name: app, forbidden: a table in the schema
begin; set local role oxbow_app; create table oxbow.mine ();
-- name: app, forbidden: settling
begin; set local role oxbow_app; select * from oxbow.settle_traits('2024-08-01', 10);
-- name: app, forbidden: expiring
begin; set local role oxbow_app; select * from oxbow.expire_memories('2024-08-01', 10);
-- name: app, forbidden: indexing
begin; set local role oxbow_app; select * from oxbow.index_memories('{nora}', '{}');
-- name: app, forbidden: schedules
begin; set local role oxbow_app; select * from oxbow.job_schedules;
-- name: app, forbidden: policies
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; select count(*) from oxbow.policies;
  insert into oxbow.policy_changes (name, value, valid_from) values ('x', 1, now());
-- name: app, forbidden: a trait
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; set local oxbow.origin = 'reflection';
insert into oxbow.memories (user_id, memory_type, content) values ('nora', 'trait', 'Nora is brave.');
-- name: app, forbidden: a trait's stage
begin; set local role oxbow_app; set local oxbow.user_id = 'nora'; update oxbow.memories set trait_stage = 'core';

-- name: a role without rights
create role golden_nobody;
begin; set local role golden_nobody; select * from oxbow.recall('nora', 'x');
-- name: the worker's role
begin; set local role oxbow_worker;
select count(*) from oxbow.memories;
select id from oxbow.recall('nora', 'where does she live', max_results => 1, now => '2024-08-01');
select count(*) > 0 as jobs from oxbow.river_job;
select * from oxbow.settle_traits('2024-08-01', 10);

-- name: functions that the app may call
select p.proname as fact from pg_proc p where p.pronamespace = 'oxbow'::regnamespace
  and has_function_privilege('oxbow_app', p.oid, 'execute');

-- name: rows that the app reads through views
begin; set local role oxbow_app; set local oxbow.user_id = 'nora';
select user_id, count(*) from oxbow.history group by 1;
set local oxbow.user_id = '';
select count(*) from oxbow.history;

-- name: functions that PUBLIC may call
begin; create role golden_public; grant usage on schema oxbow to golden_public;
select p.proname as fact from pg_proc p where p.pronamespace = 'oxbow'::regnamespace
  and has_function_privilege('golden_public', p.oid, 'execute');
