-- name: SweepErase :exec
select oxbow.erase_memory(@user_id::text, @id::uuid);

-- name: SweepForgotten :many
-- Memories that were forgotten too long ago to be restored.
select user_id, id from oxbow.memories
where forgotten_at < @before::timestamptz
order by forgotten_at
limit @max::integer;

-- name: SweepGivenUp :many
-- Embed jobs that were given up and not looked at since.
select id, coalesce(args ->> 'user_id', '')::text as user_id, coalesce(args ->> 'ids', '')::text as ids from oxbow.river_job
where kind = 'embed' and state in ('cancelled', 'discarded') and finalized_at < @before::timestamptz and not metadata ? 'swept'
order by id
limit @max::integer
for update skip locked;

-- name: SweepGivenUpDone :exec
update oxbow.river_job set metadata = metadata || '{"swept": true}' where id = any(@ids::bigint[]);

-- name: SweepPageEnd :one
-- The key of the last of the next memories in the order of their keys.
select p.user_id, p.memory_type, p.id
from (select m.user_id, m.memory_type, m.id from oxbow.memories m
  where (m.user_id, m.memory_type, m.id) > (@user_id::text, @memory_type::text, @id::uuid)
  order by m.user_id, m.memory_type, m.id
  limit @max::integer) p
order by p.user_id desc, p.memory_type desc, p.id desc
limit 1;

-- name: SweepPage :many
-- Of the memories between two keys, those that lack something and that no job is going to see to.
select m.user_id, m.id from oxbow.memories m
where (m.user_id, m.memory_type, m.id) > (@user_id::text, @memory_type::text, @id::uuid)
  and (m.user_id, m.memory_type, m.id) <= (@last_user_id::text, @last_memory_type::text, @last_id::uuid)
  and m.forgotten_at is null and m.created_at <= @before::timestamptz
  and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, @model::text)
  and not exists (select from oxbow.memories_in_queue() q where q.user_id = m.user_id and q.id = m.id::text)
order by m.user_id, m.id;

-- name: SweepQueueIsLong :one
select count(*) = @max::integer as long
from (select id from oxbow.river_job where queue = 'embed' and state in ('available', 'retryable', 'scheduled') limit @max::integer) j;

-- name: SweepRecent :many
-- Of the memories made between two moments, those that lack something and that no job is going to see to.
select m.user_id, m.id from oxbow.memories m
where m.created_at > @after::timestamptz and m.created_at <= @before::timestamptz and m.forgotten_at is null
  and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, @model::text)
  and not exists (select from oxbow.memories_in_queue() q where q.user_id = m.user_id and q.id = m.id::text)
order by m.user_id, m.id
limit @max::integer;

-- name: SweepUnembedded :many
select m.user_id, m.id from oxbow.memories m
where m.user_id = @user_id::text and m.id = any(@ids::uuid[]) and m.forgotten_at is null
  and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, @model::text)
order by m.id;

-- name: StatsRecount :one
select oxbow.recount_terms(@user_id::text)::bigint as changed;

-- name: StatsUsers :many
select distinct user_id from oxbow.memory_term_stats where user_id > @after::text order by user_id limit @max::integer;
