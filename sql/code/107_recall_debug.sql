-- Why recall returns some memories and leaves out others.

-- recall_debug returns what recall returns for the same arguments, each memory with its place, and after that what
-- recall leaves out, with the reason in left_out:
--   below the limit            it would be among the next results, as many as further says
--   below min_score            likewise
--   repeats a better result    likewise; explain has the id of that one ("repeats")
--   another type, forgotten …  a recall in the mode debug finds it; the reasons are those of recall_left_out
--   not indexed yet            it waits for the job embed; the latest 20
-- and the memories in ids that are not among these, with one of the last two reasons, or "no channel finds it".
-- The scores of memories without a place come from a recall with a larger limit or, for the mode debug, of more
-- memories, so they are only roughly comparable with the others. A memory of sensitivity 2 or 3 has no content.
create or replace function oxbow.recall_debug(user_id text, query text, embedding halfvec default null,
  types text[] default null, max_results integer default 10, contexts text[] default null, agent text default null,
  metadata_contains jsonb default null, valid_as_of timestamptz default null,
  believed_as_of timestamptz default null, now timestamptz default null, min_score double precision default null,
  mode text default null, further integer default 50, ids uuid[] default null)
returns table (place bigint, left_out text, id uuid, memory_type text, content text, score double precision,
  valid_at timestamptz, invalid_at timestamptz, created_at timestamptz, expired_at timestamptz, session_id text,
  seq bigint, speaker text, agent_id text, external_id text, category text, importance double precision,
  metadata jsonb, explain jsonb, modality text, reference text, attachments jsonb)
language plpgsql stable security definer set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  _now constant timestamptz := coalesce(recall_debug.now, pg_catalog.now());
  _more constant integer := least(recall_debug.max_results + recall_debug.further, 1000);
  _filter oxbow.recall_filter;
begin
  perform oxbow.check_access(recall_debug.user_id);
  _filter.now := _now;
  _filter.rules := oxbow.trait_rules();
  _filter.rule := oxbow.recall_rules(recall_debug.user_id,
    coalesce(recall_debug.believed_as_of, recall_debug.now, 'infinity'));
  _filter.agent := recall_debug.agent;
  _filter.contexts := recall_debug.contexts;
  _filter.metadata := recall_debug.metadata_contains;
  _filter.valid := recall_debug.valid_as_of;
  _filter.believed := recall_debug.believed_as_of;
  _filter.stages := case when recall_debug.believed_as_of is not null then
    coalesce(oxbow.traits_then(recall_debug.user_id, recall_debug.believed_as_of), '{}') end;
  _filter.mode := nullif(recall_debug.mode, 'debug');
  return query
  with found as materialized (
    select 1 as part, r.*
      from oxbow.recall(recall_debug.user_id, recall_debug.query, recall_debug.embedding, recall_debug.types,
             recall_debug.max_results, recall_debug.contexts, recall_debug.agent, recall_debug.metadata_contains,
             recall_debug.valid_as_of, recall_debug.believed_as_of, _now, recall_debug.min_score,
             recall_debug.mode) with ordinality r
    union all
    select 2, r.*
      from oxbow.recall(recall_debug.user_id, recall_debug.query, recall_debug.embedding, recall_debug.types, _more,
             recall_debug.contexts, recall_debug.agent, recall_debug.metadata_contains, recall_debug.valid_as_of,
             recall_debug.believed_as_of, _now, null, recall_debug.mode) with ordinality r
    union all
    select 3, r.*
      from oxbow.recall(recall_debug.user_id, recall_debug.query, recall_debug.embedding, null, _more, null, null, null,
             recall_debug.valid_as_of, recall_debug.believed_as_of, _now, null, 'debug') with ordinality r
  ), own as materialized (
    select distinct on (f.id) f.* from found f order by f.id, f.part
  ), waiting as materialized (
    select i.id::uuid as id
      from oxbow.river_job j, string_to_table(j.args ->> 'ids', ',') i(id)
     where j.args ->> 'user_id' = recall_debug.user_id and j.kind = 'embed'
       and j.state not in ('completed', 'cancelled')
     order by j.id desc limit 20
  ), other as (
    select m as memory,
           m.level <> 'archive' and not exists (
             select from oxbow.memory_terms t
              where t.user_id = m.user_id and t.memory_type = m.memory_type and t.memory_id = m.id) as unindexed,
           m.id = any(recall_debug.ids) as asked
      from oxbow.memories m
     where m.user_id = recall_debug.user_id
       and m.id in (select w.id from waiting w union select a.id from unnest(recall_debug.ids) a(id))
       and m.id not in (select o.id from own o)
  )
  select case o.part when 1 then o.ordinality end,
         case o.part when 2 then case when o.explain ? 'repeats' then 'repeats a better result'
                                      when (o.explain ->> 'relevance')::double precision < recall_debug.min_score
                                        then 'below min_score'
                                      else 'below the limit' end
                     when 3 then coalesce(case when o.memory_type <> all(recall_debug.types) then 'another type' end,
                                   oxbow.recall_left_out(recall_debug.user_id, o.memory_type, o.id, _filter),
                                   'below the limit') end,
         o.id, o.memory_type, o.content, o.score, o.valid_at, o.invalid_at, o.created_at, o.expired_at, o.session_id,
         o.seq, o.speaker, o.agent_id, o.external_id, o.category, o.importance, o.metadata, o.explain, o.modality,
         o.reference, o.attachments
    from (select o.* from own o order by o.part, o.ordinality) o
  union all
  select null, coalesce(r.reason, case when o.unindexed then 'not indexed yet' else 'no channel finds it' end),
         (o.memory).id, (o.memory).memory_type::text, case when r.shown then (o.memory).content end, null,
         (o.memory).valid_at, (o.memory).invalid_at, (o.memory).created_at, (o.memory).expired_at,
         (o.memory).session_id, (o.memory).seq, (o.memory).speaker, (o.memory).agent_id, (o.memory).external_id,
         (o.memory).category, (o.memory).importance, case when r.shown then (o.memory).metadata else '{}' end,
         '{}'::jsonb, (o.memory).modality, case when r.shown then (o.memory).reference end, null
    from (select o.* from other o order by (o.memory).created_at desc, (o.memory).id) o
   cross join lateral (
     select coalesce(case when (o.memory).memory_type <> all(recall_debug.types) then 'another type' end,
              oxbow.recall_left_out(recall_debug.user_id, (o.memory).memory_type, (o.memory).id, _filter)) as reason,
            (o.memory).sensitivity < 2 as shown offset 0) r
   where o.asked or o.unindexed and r.reason is null;
end $$;
call oxbow.grant_worker('recall_debug');
call oxbow.grant_operator('recall_debug');

-- pgvector's types are in the schema in which its extension is installed.
do $$
begin
  execute format('alter function oxbow.recall_debug set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
