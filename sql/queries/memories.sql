-- name: MemoriesByExternalID :many
-- The memories of one user that go by the names.
select memory_type::text as memory_type, external_id::text as external_id, id
from oxbow.memories
where user_id = @user_id::text and external_id = any(@external_ids::text[]);

-- name: MemoriesInsert :execrows
-- The memories come as one JSON array, in which what is missing is null. A memory whose id or external_id is there
-- already is left out. There is no RETURNING and no conflict target, so that it needs the right to insert only. seq
-- must not be left to its default, whose microseconds may repeat within a statement: n keeps the order.
insert into oxbow.memories (user_id, memory_type, id, content, valid_at, invalid_at, session_id, seq, speaker, agent_id,
  external_id, source, category, importance, metadata, sensitivity, sealed, sealed_key)
select m.user_id, m.memory_type, m.id, m.content, m.valid_at, m.invalid_at, m.session_id,
  coalesce(m.seq, (extract(epoch from statement_timestamp()) * 1000000)::bigint + m.n), m.speaker, m.agent_id,
  m.external_id, m.source, m.category, coalesce(m.importance, 0.5), coalesce(m.metadata, '{}'),
  coalesce(m.sensitivity, 0), m.sealed, m.sealed_key
from json_to_recordset(cast(@memories::text as json)) as m (user_id text, memory_type text, id uuid, content text,
  valid_at timestamptz, invalid_at timestamptz, session_id text, seq bigint, speaker text, agent_id text,
  external_id text, source text, category text, importance double precision, metadata jsonb, n integer,
  sensitivity smallint, sealed bytea, sealed_key text)
order by m.n
on conflict do nothing;

-- name: MemoryGet :one
select * from oxbow.memories
where user_id = @user_id::text and id = @id::uuid
order by memory_type
limit 1;

-- name: MemoryVersions :many
-- The first that became true comes first; what was never true comes before what it gave way to.
select * from oxbow.memories
where user_id = @user_id::text and id = any((@ids::text[])::uuid[])
order by coalesce(valid_at, created_at), created_at, version, seq, id;
