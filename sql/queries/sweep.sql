-- name: SweepErase :exec
-- A trait that the person wanted forgotten is not made again.
with refused as (
  insert into oxbow.trait_refusals (user_id, hash)
  select m.user_id, oxbow.trait_hash(said) from oxbow.memories_trait m, unnest(array[m.content, m.trait_key]) said
   where m.user_id = @user_id::text and m.id = @id::uuid and said is not null
  on conflict do nothing
)
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

-- name: SweepPage :many
-- The key of the last of the next memories in the order of their keys, with each of those memories that lacks something
-- and that no job is going to see to, or with null if there is none.
with page as materialized (
  select p.user_id, p.memory_type, p.id, p.created_at, p.forgotten_at from oxbow.memories p
  where (p.user_id, p.memory_type, p.id) > (@user_id::text, @memory_type::text, @id::uuid)
  order by p.user_id, p.memory_type, p.id
  limit @max::integer
), lost as (
  select m.user_id, m.id from page m
  where m.forgotten_at is null and m.created_at <= @before::timestamptz
    and oxbow.is_unembedded(m.user_id, m.memory_type, m.id, @model::text)
    and not exists (select from oxbow.memories_in_queue() q where q.user_id = m.user_id and q.id = m.id::text)
)
select e.user_id as last_user_id, e.memory_type::text as last_memory_type, e.id as last_id, lost.user_id, lost.id
from (select user_id, memory_type, id from page order by user_id desc, memory_type desc, id desc limit 1) e
left join lost on true
order by lost.user_id, lost.id;

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

-- name: SweepReviews :many
-- The next users of whom a trait is to be reviewed.
select distinct m.user_id from oxbow.memories_trait m
where m.trait_review_due_at is not null and m.user_id > @after::text and m.expired_at is null and m.forgotten_at is null
  and not exists (select from oxbow.users u where u.user_id = m.user_id and u.opted_out)
order by m.user_id
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
