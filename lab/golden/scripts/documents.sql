-- Documents and the sensory stream.

-- name: a file
select unchanged, added, kept, removed from oxbow.ingest_file('ada', 'wiki/heron',
  '{"Heron was built in 1968.","Her home port is Lund.","She carries two sails."}',
  array['{"heading": "History"}', '{"heading": "Today"}', '{}']::jsonb[], metadata => '{"context": "work"}');
select path, media_type, bytes, content_hash, settings, chunks, metadata, created_at, updated_at
  from oxbow.document_files;
select m.content, m.memory_type, m.seq, m.session_id, m.source, m.metadata - 'file_id' as metadata
  from oxbow.memories m order by m.metadata ->> 'chunk', m.seq, m.content;

-- name: again, unchanged
select unchanged, added, kept, removed from oxbow.ingest_file('ada', 'wiki/heron',
  '{"Heron was built in 1968.","Her home port is Lund.","She carries two sails."}',
  array['{"heading": "History"}', '{"heading": "Today"}', '{}']::jsonb[], metadata => '{"context": "work"}');

-- name: again, changed
select unchanged, added, kept, removed from oxbow.ingest_file('ada', 'wiki/heron',
  '{"Heron was built in 1968.","Her home port is Malmö.","她有两面帆。"}', media_type => 'text/markdown');
select path, media_type, chunks, metadata from oxbow.document_files;
select content, expired_at is null as current from oxbow.memories order by content;

-- name: found
-- $ oxbow work --until-idle
select content, memory_type, score from oxbow.recall('ada', 'where is the home port?', types => '{document}',
  now => '2024-01-01');
select content from oxbow.recall('ada', '帆', now => '2024-01-01');
select oxbow.context('ada', 'home port', types => '{document}', now => '2024-01-01');

-- name: deleted
select oxbow.delete_file('ada', 'wiki/heron');
select count(*) from oxbow.memories;
select count(*) from oxbow.document_chunks;
select * from oxbow.document_files;

-- name: deleted again
select oxbow.delete_file('ada', 'wiki/heron');

-- name: files of the command line
-- $ oxbow ingest files/sails.md files/notes.txt files/page.html --user ada --chunk-size 200 --overlap 0
select path, media_type, bytes, content_hash, settings, chunks, metadata from oxbow.document_files order by path;
select m.content, m.metadata - 'file_id' as metadata from oxbow.memories m
  order by m.metadata ->> 'path', (m.metadata ->> 'chunk')::integer, m.content;

-- name: the sensory stream
insert into oxbow.sensory (user_id, kind, content, metadata) select 'ada', 'page', 'opened the page on sails',
  '{"n": 1}' from generate_series(1, 4);
insert into oxbow.sensory (user_id, content) values ('ada', 'once'), ('小林', '打开了帆船的网页');
select user_id, kind, content, metadata, count(*) from oxbow.sensory group by 1, 2, 3, 4 order by 1, 3;

-- name: wait until no transaction older than these rows is writing anywhere on the server
do $$ begin
  for i in 1..600 loop
    perform oxbow.count_sensory(1000);
    commit;
    exit when exists (select from oxbow.sensory_candidates);
    perform pg_sleep(0.1);
  end loop;
end $$;

-- name: frequent texts
select user_id, content, times from oxbow.sensory_candidates order by 1, 2;
select count(*) from oxbow.sensory;
select * from oxbow.sensory_setting();

-- name: a setting is applied
update oxbow.settings set value = '{"days": 2, "times": 5}' where key = 'sensory';
select * from oxbow.sensory_setting();
