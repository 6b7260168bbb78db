-- name: CheckDropClues :execrows
delete from oxbow.trait_clues c where c.user_id = @user_id::text
   and not exists (select from oxbow.memories m where m.user_id = c.user_id and m.memory_type = c.memory_type and m.id = c.memory_id);

-- name: CheckDropEvents :execrows
delete from oxbow.trait_events e where e.user_id = @user_id::text
   and not exists (select from oxbow.memories_trait t where t.user_id = e.user_id and t.id = e.trait_id);

-- name: CheckDropEvidence :execrows
delete from oxbow.trait_evidence v where v.user_id = @user_id::text
   and (not exists (select from oxbow.memories_trait t where t.user_id = v.user_id and t.id = v.trait_id)
     or not exists (select from oxbow.memories m where m.user_id = v.user_id and m.memory_type = v.memory_type and m.id = v.memory_id));

-- name: CheckDropInbox :execrows
delete from oxbow.reflection_inbox i where i.user_id = @user_id::text
   and not exists (select from oxbow.memories m where m.user_id = i.user_id and m.memory_type = i.memory_type and m.id = i.memory_id);

-- name: CheckDropLinks :execrows
delete from oxbow.memory_links l where l.user_id = @user_id::text
   and (not exists (select from oxbow.memories m where m.user_id = l.user_id and m.memory_type = l.from_type and m.id = l.from_id)
     or not exists (select from oxbow.memories m where m.user_id = l.user_id and m.memory_type = l.to_type and m.id = l.to_id));

-- name: CheckDropTwice :execrows
-- Evidence that stands there more than once.
delete from oxbow.trait_evidence v where v.user_id = @user_id::text and v.trait_id = @trait_id::uuid
   and v.ctid > (select min(w.ctid) from oxbow.trait_evidence w where w.user_id = v.user_id and w.trait_id = v.trait_id
                    and w.direction = v.direction and w.memory_type = v.memory_type and w.memory_id = v.memory_id);

-- name: CheckEvents :many
select user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end, confidence, stage, actor
  from oxbow.trait_events
 where (user_id, trait_id) >= (@from_user::text, @from_id::uuid) and (user_id, trait_id) <= (@upto_user::text, @upto_id::uuid)
 order by user_id, trait_id, seq;

-- name: CheckEvidence :many
-- What counted in each event: how many memories, and how many sessions had which quality at best.
with session as (
  select user_id, trait_id, event_seq, direction, session_key, min(quality) as best, count(*) as memories
    from oxbow.trait_evidence
   where (user_id, trait_id) >= (@from_user::text, @from_id::uuid) and (user_id, trait_id) <= (@upto_user::text, @upto_id::uuid)
   group by user_id, trait_id, event_seq, direction, session_key
)
select user_id, trait_id, event_seq, direction, sum(memories)::bigint as memories, count(*) filter (where best = 'A') as a,
       count(*) filter (where best = 'B') as b, count(*) filter (where best = 'C') as c, count(*) filter (where best = 'D') as d
  from session group by user_id, trait_id, event_seq, direction
 order by user_id, trait_id, event_seq, direction;

-- name: CheckOrphans :many
-- Rows that name a trait or a memory that is not there, of users between two.
select 'trait_evidence' as found_in, v.user_id, v.trait_id as id, 'no such trait' as lacks from oxbow.trait_evidence v
 where v.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories_trait t where t.user_id = v.user_id and t.id = v.trait_id)
union all
select 'trait_evidence', v.user_id, v.trait_id, format('no %s %s', v.memory_type, v.memory_id) from oxbow.trait_evidence v
 where v.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories m where m.user_id = v.user_id and m.memory_type = v.memory_type and m.id = v.memory_id)
union all
select 'trait_events', e.user_id, e.trait_id, 'no such trait' from oxbow.trait_events e
 where e.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories_trait t where t.user_id = e.user_id and t.id = e.trait_id)
union all
select 'trait_clues', c.user_id, '00000000-0000-0000-0000-000000000000', format('no %s %s', c.memory_type, c.memory_id) from oxbow.trait_clues c
 where c.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories m where m.user_id = c.user_id and m.memory_type = c.memory_type and m.id = c.memory_id)
union all
select 'reflection_inbox', i.user_id, '00000000-0000-0000-0000-000000000000', format('no %s %s', i.memory_type, i.memory_id) from oxbow.reflection_inbox i
 where i.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories m where m.user_id = i.user_id and m.memory_type = i.memory_type and m.id = i.memory_id)
union all
select 'memory_links', l.user_id, '00000000-0000-0000-0000-000000000000', format('no %s %s', e.memory_type, e.id)
  from oxbow.memory_links l, lateral (values (l.from_type::text, l.from_id), (l.to_type::text, l.to_id)) e(memory_type, id)
 where l.user_id between @first::text and @last::text
   and not exists (select from oxbow.memories m where m.user_id = l.user_id and m.memory_type = e.memory_type and m.id = e.id)
 order by 2, 1, 3, 4;

-- name: CheckReattach :execrows
-- Evidence that names an event that is not there, or is not one that it could count in, belongs to the one of its cycle.
update oxbow.trait_evidence v set event_seq = e.seq
  from oxbow.trait_events e
 where v.user_id = @user_id::text and v.trait_id = @trait_id::uuid and e.user_id = v.user_id and e.trait_id = v.trait_id
   and e.cycle_id = v.cycle_id and e.event = any(case v.direction when 'supporting' then '{created,reinforced,revived}'::text[] else '{contradicted}' end)
   and not exists (select from oxbow.trait_events o where o.user_id = v.user_id and o.trait_id = v.trait_id and o.seq = v.event_seq
                     and o.event = any(case v.direction when 'supporting' then '{created,reinforced,revived}'::text[] else '{contradicted}' end));

-- name: CheckTraits :many
-- The next traits of users between two, in the order of their keys, with what their parents are.
select t.user_id, t.id, t.trait_subtype, t.trait_stage, t.trait_confidence, t.trait_confidence_at, t.trait_reinforcement_count,
       t.trait_contradiction_count, t.trait_window_start, t.trait_window_end, t.trait_next_transition_at, t.trait_review_due_at, t.trait_parent_id,
       t.trait_edited_at,
       t.expired_at, t.superseded_by, p.id as parent_id, p.expired_at as parent_expired_at, coalesce(c.subtype, p.trait_subtype) as parent_subtype
  from oxbow.memories_trait t
  left join oxbow.memories_trait p on p.user_id = t.user_id and p.id = t.trait_parent_id
  left join oxbow.trait_events c on c.user_id = p.user_id and c.trait_id = p.id and c.seq = 1 and c.event = 'created'
 where t.user_id between @first::text and @last::text and (t.user_id, t.id) > (@after_user::text, @after_id::uuid)
   and (sqlc.narg('id')::uuid is null or t.id = sqlc.narg('id'))
 order by t.user_id, t.id
 limit @max::integer;

-- name: CheckTwice :many
select user_id, trait_id, memory_id, count(*) as times
  from oxbow.trait_evidence
 where (user_id, trait_id) >= (@from_user::text, @from_id::uuid) and (user_id, trait_id) <= (@upto_user::text, @upto_id::uuid)
 group by user_id, trait_id, direction, memory_type, memory_id
having count(*) > 1;

-- name: CheckUsers :many
-- The next users who have something that is checked; each step looks into the indexes at one place.
with recursive walk (user_id, n) as (
  select @after::text, 0
  union all
  select least(
           (select min(t.user_id) from oxbow.memories_trait t where t.user_id > w.user_id),
           (select min(e.user_id) from oxbow.trait_events e where e.user_id > w.user_id),
           (select min(v.user_id) from oxbow.trait_evidence v where v.user_id > w.user_id),
           (select min(c.user_id) from oxbow.trait_clues c where c.user_id > w.user_id),
           (select min(i.user_id) from oxbow.reflection_inbox i where i.user_id > w.user_id),
           (select min(l.user_id) from oxbow.memory_links l where l.user_id > w.user_id),
           (select min(m.user_id) from oxbow.memories m where m.user_id > w.user_id and m.sensitivity = 3),
           (select min(g.user_id) from oxbow.messages g where g.user_id > w.user_id and g.sensitivity = 3)), w.n + 1
    from walk w where w.user_id is not null and w.n < @max::integer
)
select user_id::text as user_id from walk where n > 0 and user_id is not null order by n;
