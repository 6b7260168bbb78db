package importv1

// relatedSteps are the statements of stage evidence. They read the table oxbow_v1_related, which
// has the columns of read. Each returns a number and can be repeated.
var relatedSteps = []struct {
	name string
	made func(*Report) *int64
	sql  string
}{
	{"evidence", func(r *Report) *int64 { return &r.Evidence }, `
with seen as materialized (
  select t.user_id, t.id as trait_id, e.direction, e.id as evidence_id, e.quality, m.memory_type, m.id as memory_id,
         coalesce(m.valid_at, m.created_at) as at, m.session_id, coalesce(u.timezone, 'UTC') as timezone,
         coalesce(m.trait_context, case when m.metadata ->> 'context' in ('work', 'personal', 'social', 'learning',
           'general') then m.metadata ->> 'context' end) as context,
         (select min(v.seq) from oxbow.trait_events v
           where v.user_id = t.user_id and v.trait_id = t.id and v.actor = 'import'
             and v.event = case e.direction when 'supporting' then 'created' else 'contradicted' end) as seq
    from oxbow_v1_related r
    join oxbow.memories_trait t on t.user_id = r.user_id and t.id = r.id
   cross join lateral pg_temp.oxbow_v1_evidence(r.md) e
    left join oxbow.users u on u.user_id = r.user_id
    left join lateral (select * from oxbow.memories m where m.user_id = r.user_id and m.id = e.id
      order by m.memory_type limit 1) m on m.id <> t.id
   where r.kind = 'trait' and r.rejection is null
), made as (
  insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality, session_key,
    context, stated, observed_at, timezone, event_seq)
  select user_id, trait_id, direction, memory_type, memory_id, quality,
         coalesce(nullif(session_id, ''), 'day ' || to_char(at at time zone timezone, 'YYYY-MM-DD')), context,
           quality = 'B', at, timezone, seq
    from seen where memory_id is not null and seq is not null
   order by user_id, memory_type, memory_id, quality
  on conflict do nothing
  returning 1
)
select (select count(*) from made), (select count(*) from seen where memory_id is null or seq is null)`},
	{"parents", func(r *Report) *int64 { return &r.Parents }, `
with pair as materialized (
  select distinct on (p.user_id, p.child) p.user_id, p.child, p.parent
    from (select r.user_id, r.id as child, coalesce(r.trait_parent_id,
      pg_temp.oxbow_v1_id(r.md #>> '{evidence,parent_trait}'), pg_temp.oxbow_v1_id(r.md ->> 'parent_trait')) as parent
            from oxbow_v1_related r where r.kind = 'trait' and r.rejection is null
          union all
          select r.user_id, pg_temp.oxbow_v1_id(c), r.id
            from oxbow_v1_related r, pg_temp.oxbow_v1_texts(coalesce(r.md #> '{evidence,child_traits}',
              r.md -> 'child_traits')) c
           where r.kind = 'trait' and r.rejection is null) p
   where p.child is not null and p.parent is not null order by 1, 2, 3
), made as (
  update oxbow.memories_trait t set trait_parent_id = p.id
    from pair, oxbow.memories_trait p
   where t.user_id = pair.user_id and t.id = pair.child and t.expired_at is null and t.trait_parent_id is null
     and p.user_id = pair.user_id and p.id = pair.parent and p.expired_at is null
     and case p.trait_subtype when 'core' then t.trait_subtype <> 'core' when 'preference'
       then t.trait_subtype = 'behavior' else false end
  returning t.id
)
select (select count(*) from made),
       (select count(*) from pair where not exists (select from oxbow.memories_trait t
         where t.user_id = pair.user_id and t.id = pair.child and t.trait_parent_id is not null)
           and not exists (select from made where made.id = pair.child))`},
	{"history", func(r *Report) *int64 { return &r.History }, `
with pair as materialized (
  select m.user_id, m.memory_type, m.id, m.content, m.metadata, m.expired_at, n.memory_type as next_type,
    n.id as next_id, n.content as next_content, n.metadata as next_metadata
    from oxbow_v1_related r
    join oxbow.memories m on m.user_id = r.user_id and m.memory_type = r.kind and m.id = r.id
   cross join lateral (select * from oxbow.memories n where n.user_id = r.user_id and n.id = m.superseded_by
     order by n.memory_type limit 1) n
   where r.old and r.rejection is null
), linked as (
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  select user_id, next_type, next_id, memory_type, id, 'supersedes' from pair order by 1, 2, 3
  on conflict do nothing
), noted as (
  insert into oxbow.memory_history (user_id, id, memory_type, memory_id, event, old_content, new_content,
    old_metadata, new_metadata, actor, reason, created_at)
  select user_id, md5('oxbow import-v1 ' || id)::uuid, memory_type, id, 'SUPERSEDE', content, next_content, metadata,
    next_metadata, 'import', 'superseded in version 1', coalesce(expired_at, now())
    from pair order by 1, 2
  on conflict do nothing
  returning 1
)
select (select count(*) from noted), 0::bigint`},
	{"sources", func(r *Report) *int64 { return &r.Sources }, `
with made as (
  insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id)
  select distinct m.user_id, m.memory_type, m.id, s.session_id
    from oxbow_v1_related r
    join oxbow.memories m on m.user_id = r.user_id and m.memory_type = r.kind and m.id = r.id
   cross join lateral (
     select s as session_id from unnest(r.sessions) s where octet_length(s) between 1 and 1024
     union select * from pg_temp.oxbow_v1_texts(r.md -> 'source_episode_ids')
     union select * from pg_temp.oxbow_v1_texts(r.md -> 'session_ids')) s
   where r.rejection is null
  on conflict do nothing
  returning 1
)
select (select count(*) from made), 0::bigint`},
}

// verifySQL counts rows, and those whose memory exists, by type. %[1]s are the rows, %[2]s is
// kindSQL.
const verifySQL = `
select coalesce(sum(t.rows), 0)::bigint, max(t.last)::uuid,
       coalesce(json_agg(json_build_object('from', t.label, 'rows', t.rows, 'found', t.found)), '[]')
  from (select case when c.kind is null then 'unknown' else c.label end as label, count(*) as rows,
    count(m.id) as found, max(c.id::text collate "C") as last
          from (select c.id, c.user_id, lower(btrim(c.memory_type)) as label, %[2]s as kind from (%[1]s) c offset 0) c
          left join oxbow.memories m on m.user_id = c.user_id and m.memory_type = c.kind and m.id = c.id
         group by 1) t`
