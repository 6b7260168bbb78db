-- name: TraitAccess :exec
select oxbow.check_access(@user_id::text);

-- name: TraitDelete :one
select oxbow.delete_trait(user_id => @user_id::text, id => @id::uuid)::bigint as deleted;

-- name: TraitDissolve :exec
select oxbow.dissolve_trait(user_id => @user_id::text, id => @id::uuid, reason => sqlc.narg('reason')::text, actor => @actor::text);

-- name: TraitEdit :one
select oxbow.edit_trait(user_id => @user_id::text, id => @id::uuid, content => sqlc.narg('content')::text,
  confidence => sqlc.narg('confidence')::double precision, context => sqlc.narg('context')::text, reason => sqlc.narg('reason')::text,
  actor => @actor::text)::uuid as id;

-- name: TraitEvents :many
select seq, event, at, factor, sets, memories, subtype, window_end, confidence, stage, cycle_id, actor, reason, details
from oxbow.trait_events
where user_id = @user_id::text and trait_id = @trait_id::uuid
order by seq;

-- name: TraitEvidence :many
-- What a memory says is not told while it is forgotten.
select e.direction, e.memory_type::text as memory_type, e.memory_id, e.quality, e.session_key, e.context, e.stated, e.observed_at,
  e.event_seq, e.cycle_id, (case when m.forgotten_at is null then m.content else '' end)::text as content, m.forgotten_at
from oxbow.trait_evidence e
join oxbow.memories m on m.user_id = e.user_id and m.memory_type = e.memory_type and m.id = e.memory_id
where e.user_id = @user_id::text and e.trait_id = @trait_id::uuid
order by e.event_seq, e.direction desc, e.observed_at, e.memory_id;

-- name: TraitIDs :many
-- Ids between two: those that begin alike, of earlier wordings too.
select id from oxbow.memories_trait
where user_id = @user_id::text and id between @first::uuid and @last::uuid
order by id
limit 10;

-- name: TraitState :one
-- What stands in the way of a memory being looked at as a trait.
select memory_type::text as memory_type, expired_at, forgotten_at,
  coalesce(case when expired_at is not null then oxbow.newest_wording(user_id, superseded_by) end, '00000000-0000-0000-0000-000000000000')::uuid as newest
from oxbow.memories
where user_id = @user_id::text and id = @id::uuid
order by memory_type = 'trait' desc
limit 1;

-- name: TraitWordings :many
-- What a trait said before, the latest first.
with recursive wording as (
  select m.id from oxbow.memories_trait m where m.user_id = @user_id::text and m.superseded_by = @id::uuid
  union
  select m.id from wording w join oxbow.memories_trait m on m.user_id = @user_id::text and m.superseded_by = w.id
)
select m.id, m.content, m.created_at, coalesce(m.expired_at, m.created_at)::timestamptz as expired_at
from wording w join oxbow.memories_trait m on m.user_id = @user_id::text and m.id = w.id
order by m.created_at desc, m.id;

-- name: TraitsAsOf :many
-- What was held at a moment. The parent is that of today.
select a.trait_id::uuid as trait_id, a.content::text as content, coalesce(a.subtype, '')::text as subtype, coalesce(a.stage, '')::text as stage, coalesce(a.confidence, 0)::double precision as confidence,
  coalesce(a.context, '')::text as context, a.reinforcement_count::integer as reinforcement_count, a.contradiction_count::integer as contradiction_count,
  m.trait_parent_id, m.trait_derived_from, m.trait_first_observed, m.created_at, c.supporting, c.contradicting,
  coalesce(case when a.stage::text = 'trend' then (select e.window_end from oxbow.trait_events e
    where e.user_id = @user_id::text and e.trait_id = a.trait_id and e.event = 'created' order by e.seq desc limit 1) end,
   '0001-01-01 00:00Z')::timestamptz as window_end,
  coalesce((select max(v.observed_at) from oxbow.trait_evidence v join oxbow.trait_events e on e.user_id = v.user_id and e.trait_id = v.trait_id and e.seq = v.event_seq
    where v.user_id = @user_id::text and v.trait_id = a.trait_id and v.direction = 'supporting' and e.at <= @at::timestamptz),
   '0001-01-01 00:00Z')::timestamptz as last_reinforced
from oxbow.traits_as_of(@user_id::text, @at::timestamptz) as a(id, trait_id, content, subtype, stage, confidence, context, reinforcement_count,
  contradiction_count)
join oxbow.memories_trait m on m.user_id = @user_id::text and m.id = a.trait_id
cross join lateral (
  select count(*) filter (where v.direction = 'supporting') as supporting, count(*) filter (where v.direction = 'contradicting') as contradicting
    from oxbow.trait_evidence v join oxbow.trait_events e on e.user_id = v.user_id and e.trait_id = v.trait_id and e.seq = v.event_seq
   where v.user_id = @user_id::text and v.trait_id = a.trait_id and e.at <= @at::timestamptz) c;

-- name: TraitsHeld :many
-- What is held now; with an id, that trait, its parent and its children.
select t.id, t.content, t.subtype, t.stored_stage, t.stored_confidence, t.confidence_at, t.context, t.contexts, t.parent_id,
  t.reinforcement_count, t.contradiction_count, t.supporting, t.contradicting, t.first_observed, t.last_reinforced, t.window_end,
  t.edited_at, t.derived_from, t.version, t.created_at, coalesce(sqlc.narg('now')::timestamptz, now())::timestamptz as now
from oxbow.traits t
where t.user_id = @user_id::text
  and (sqlc.narg('id')::uuid is null or t.id = sqlc.narg('id')::uuid or t.parent_id = sqlc.narg('id')::uuid
       or t.id = (select p.parent_id from oxbow.traits p where p.user_id = @user_id::text and p.id = sqlc.narg('id')::uuid));

-- name: TraitsPresence :one
-- Why a user may have no traits; what is counted is counted to 10,000.
select exists (select from oxbow.memories m where m.user_id = @user_id::text) as any_memory,
  exists (select from oxbow.users u where u.user_id = @user_id::text and u.opted_out) as opted_out,
  (select count(*) from (select from oxbow.reflection_inbox i where i.user_id = @user_id::text limit 10000) n) as in_inbox,
  coalesce((select max(c.completed_at) from oxbow.reflection_cycles c where c.user_id = @user_id::text and c.status = 'completed'),
   '0001-01-01 00:00Z')::timestamptz as reflected_at;
