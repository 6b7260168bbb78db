-- What bad calls are answered. A call is bad in one way at a time.

-- name: two lives
select golden.people();
-- name: recall, no user
select * from oxbow.recall(null, 'x');
-- name: recall, an empty user
select * from oxbow.recall('', 'x');
-- name: recall, no query
select * from oxbow.recall('nora', ' ');
-- name: recall, an unknown type
select * from oxbow.recall('nora', 'x', types => '{fact,dream}');
-- name: recall, a type that is null
select * from oxbow.recall('nora', 'x', types => array[null]);
-- name: recall, no types
select * from oxbow.recall('nora', 'x', types => '{}');
-- name: recall, too few results
select * from oxbow.recall('nora', 'x', max_results => 0);
-- name: recall, too many results
select * from oxbow.recall('nora', 'x', max_results => 1001);
-- name: recall, results that are null
select * from oxbow.recall('nora', 'x', max_results => null);
-- name: recall, metadata that is not an object
select * from oxbow.recall('nora', 'x', metadata_contains => '[1]');
-- name: recall, an infinite now
select * from oxbow.recall('nora', 'x', now => 'infinity');
-- name: recall, a vector of other dimensions
select * from oxbow.recall('nora', 'x', '[1,2,3]');
-- name: recall, an unknown argument
select * from oxbow.recall('nora', 'x', colour => 'red');
-- name: context, no tokens
select oxbow.context('nora', 'x', max_tokens => 0);
-- name: context, too many tokens
select oxbow.context('nora', 'x', max_tokens => 1000001);
-- name: context, an unknown type
select oxbow.context('nora', 'x', types => '{dream}');
-- name: context, an infinite now
select oxbow.context('nora', 'x', now => '-infinity');
-- name: timeline, no topic
select * from oxbow.timeline('nora', '');
-- name: timeline, a type that has no times
select * from oxbow.timeline('nora', 'x', types => '{document}');
-- name: timeline, too many results
select * from oxbow.timeline('nora', 'x', max_results => 1001);
-- name: supersede, no such memory
select oxbow.supersede('nora', golden.id(9), 'x');
-- name: supersede, no id
select oxbow.supersede('nora', null, 'x');
-- name: supersede, another user's memory
select oxbow.supersede('nora', golden.id(201), 'x');
-- name: supersede, no content
select oxbow.supersede('nora', golden.id(102), null);
-- name: supersede, blank content
select oxbow.supersede('nora', golden.id(102), E' \n');
-- name: supersede, a superseded memory
select oxbow.supersede('nora', golden.id(101), 'x');
-- name: supersede, a forgotten memory
select oxbow.supersede('nora', golden.id(131), 'x');
-- name: supersede, a secret memory
select oxbow.supersede('nora', golden.id(132), 'x');
-- name: supersede, metadata that is not an object
select oxbow.supersede('nora', golden.id(102), 'x', metadata => '3');
-- name: forget, no such memory
select oxbow.forget('nora', golden.id(9));
-- name: restore, a memory that is not forgotten
select oxbow.restore('nora', golden.id(102));
-- name: history, no such memory
select * from oxbow.history('nora', golden.id(9));
-- name: erase, a proof that is too short
select oxbow.erase_memory('nora', golden.id(102), proof => 'short');
-- name: erase, no such memory
select oxbow.erase_memory('nora', golden.id(9));
-- name: erase user, a proof that is too short
select * from oxbow.erase_user('nora', proof => 'short');
-- name: erase user, no user
select * from oxbow.erase_user(null);
-- name: erasure, no proof
select * from oxbow.erasure('nora', null);
-- name: promote, no such memory
select oxbow.promote('nora', golden.id(9));
-- name: touch, no user
select oxbow.touch(null, '{}');
-- name: touch, no ids
select oxbow.touch('nora', null);
-- name: edit a trait that is a fact
select oxbow.edit_trait('nora', golden.id(102), 'x');
-- name: edit an unknown trait
select oxbow.edit_trait('nora', golden.id(9), 'x');
-- name: dissolve a trait that is a fact
select oxbow.dissolve_trait('nora', golden.id(102));
-- name: delete an unknown trait
select oxbow.delete_trait('nora', golden.id(9));
-- name: traits, as of infinity
select * from oxbow.traits_as_of('nora', 'infinity');
-- name: end an unknown session
select oxbow.end_session('nora', 'no-such-chat');
-- name: end a session without a name
select oxbow.end_session('nora', null);
-- name: ingest, no contents
select * from oxbow.ingest_file('nora', 'a.md', '{}');
-- name: ingest, a blank chunk
select * from oxbow.ingest_file('nora', 'a.md', '{x," "}');
-- name: ingest, no path
select * from oxbow.ingest_file('nora', '', '{x}');
-- name: ingest, metadata of other chunks
select * from oxbow.ingest_file('nora', 'a.md', '{x}', array['{}', '{}']::jsonb[]);
-- name: delete an unknown file
select oxbow.delete_file('nora', 'none.md');
-- name: insert, no user
insert into oxbow.memories (content) values ('x');
-- name: insert, a user too long
insert into oxbow.memories (user_id, content) values (repeat('u', 256), 'x');
-- name: insert, no content
insert into oxbow.memories (user_id) values ('nora');
-- name: insert, blank content
insert into oxbow.memories (user_id, content) values ('nora', ' ');
-- name: insert, content too long
insert into oxbow.memories (user_id, content) values ('nora', repeat('x', 1048577));
-- name: insert, an unknown type
insert into oxbow.memories (user_id, memory_type, content) values ('nora', 'dream', 'x');
-- name: insert, a trait
insert into oxbow.memories (user_id, memory_type, content) values ('nora', 'trait', 'x');
-- name: insert, importance beyond 1
insert into oxbow.memories (user_id, content, importance) values ('nora', 'x', 1.1);
-- name: insert, an end before the beginning
insert into oxbow.memories (user_id, content, valid_at, invalid_at) values ('nora', 'x', '2024-02-01', '2024-01-01');
-- name: insert, an impossible time
insert into oxbow.memories (user_id, content, valid_at) values ('nora', 'x', '20000-01-01');
-- name: insert, metadata that is not an object
insert into oxbow.memories (user_id, content, metadata) values ('nora', 'x', '"x"');
-- name: insert, an external id twice
insert into oxbow.memories (user_id, memory_type, external_id, content) values ('nora', 'fact', 'allergy', 'x');
-- name: insert, an external id twice, on conflict
insert into oxbow.memories (user_id, memory_type, external_id, content)
  values ('nora', 'fact', 'allergy', 'x') on conflict do nothing;
-- name: insert, a secret in clear text
insert into oxbow.memories (user_id, content, sensitivity) values ('nora', 'x', 3);
-- name: insert, an unknown sensitivity
insert into oxbow.memories (user_id, content, sensitivity) values ('nora', 'x', 4);
-- name: insert, a strength that is not a number
insert into oxbow.memories (user_id, content, strength) values ('nora', 'x', 'NaN');
-- name: insert, a session id too long
insert into oxbow.memories (user_id, content, session_id) values ('nora', 'x', repeat('s', 1025));
-- name: update the content
update oxbow.memories set content = 'x' where user_id = 'nora' and id = golden.id(102);
-- name: update the user
update oxbow.memories set user_id = 'x' where user_id = 'nora' and id = golden.id(102);
-- name: update the type
update oxbow.memories set memory_type = 'episodic' where user_id = 'nora' and id = golden.id(102);
-- name: update the id
update oxbow.memories set id = golden.id(9) where user_id = 'nora' and id = golden.id(102);
-- name: a user in an unknown zone
insert into oxbow.users (user_id, timezone) values ('x', 'Mars/Olympus');
-- name: a user with an infinite forgetting factor
insert into oxbow.users (user_id, forgetting_factor) values ('x', 'infinity');
-- name: a message in an unknown role
insert into oxbow.messages (user_id, session_id, role, content) values ('nora', 's', 'king', 'x');
-- name: a blank message
insert into oxbow.messages (user_id, session_id, content) values ('nora', 's', '');
-- name: a message without a session
insert into oxbow.messages (user_id, content) values ('nora', 'x');
-- name: a secret message in clear text
insert into oxbow.messages (user_id, session_id, content, sensitivity) values ('nora', 's', 'x', 3);
-- name: a message to a session that ended, if the setting rejects it
update oxbow.settings set value = value || '{"ended_session": "reject"}' where key = 'conversations';
insert into oxbow.sessions (user_id, id, started_at, last_activity_at, ended_at)
  values ('nora', 'over', '2024-01-01', '2024-01-01', '2024-01-01');
insert into oxbow.messages (user_id, session_id, content) values ('nora', 'over', 'x');
-- name: a sensory row of last year
insert into oxbow.sensory (user_id, content, at) values ('nora', 'x', '2024-01-01');
-- name: a sensory row without content
insert into oxbow.sensory (user_id, content) values ('nora', ' ');
-- name: a vector of other dimensions
insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  values ('nora', 'fact', golden.id(102), '[1,2]');
-- name: a vector without a memory
insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
  values ('nora', 'fact', golden.id(9), array_fill(0.1, array[1024])::halfvec);
-- name: an invalid setting of conversations
update oxbow.settings set value = '{"quiet_seconds": -1}' where key = 'conversations';
-- name: an invalid setting of the stream
update oxbow.settings set value = '{"days": 99}' where key = 'sensory';
-- name: an unknown policy
select oxbow.set_policy('no.such', 1);
-- name: a policy below its minimum
select oxbow.set_policy((select min(name) from oxbow.policies), -1e9);
-- name: a policy of the past
update oxbow.policy_changes set value = 0;
delete from oxbow.policy_changes;
-- name: a schedule that is neither an interval nor a cron expression
insert into oxbow.job_schedules (kind, schedule) values ('sweep', 'now and then');
-- name: a schedule of less than a second
insert into oxbow.job_schedules (kind, schedule) values ('sweep', '1 millisecond');
-- name: accepted schedules
insert into oxbow.job_schedules (kind, schedule) values ('sweep', '30 3 * * *'), ('settle', '10 minutes');
