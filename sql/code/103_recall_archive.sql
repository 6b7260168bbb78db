-- The archive channel of recall, for the modes review and debug: it searches compressed memories by all words of their
-- originals (064_levels.sql).

-- recall_archived returns the best originals by their words and dates, scored as in recall_text, but without counting
-- repeated words. It leaves out no words, because originals are few and these modes are rare.
create or replace function oxbow.recall_archived(_user_id text, _types text[], _words text[], _dates text[],
  _limit integer, _filter oxbow.recall_filter, out ids uuid[], out types text[], out scores double precision[])
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _documents double precision;
  _average double precision;
begin
  select count(*) + coalesce(max(s.documents), 0), greatest(avg(a.len), 1) into _documents, _average
    from oxbow.memory_archive a
    left join (select sum(t.documents) as documents from oxbow.memory_term_stats t
                where t.user_id = _user_id and t.memory_type = any(_types)) s on true
   where a.user_id = _user_id and a.memory_type = any(_types);
  select array_agg(b.id), array_agg(b.type), array_agg(b.score) into ids, types, scores
    from (
      select s.id, s.type, s.score
        from (
          select p.id, p.type, sum(p.score) * (1 + sum(p.date)) + sum(p.date) as score
            from (select t.term, t.dated, count(*) over (partition by t.term) as n, f.id, f.type,
                         case when t.dated then 0 else oxbow.idf(_documents, count(*) over (partition by t.term)) ^ 1.5
                           * oxbow.bm25_tf(1, f.len / _average) end as score,
                         case when t.dated then oxbow.idf(_documents, count(*) over (partition by t.term)) else 0 end
                           as date
                    from (select w.term, false as dated from unnest(_words) w(term)
                          union all
                          select d.term, true from unnest(_dates) d(term)) t
                   cross join lateral (
                     select a.memory_id as id, a.memory_type::text as type, a.len from oxbow.memory_archive a
                      where a.user_id = _user_id and a.memory_type = any(_types) and a.tsv @@ oxbow.term_query(t.term)
                      offset 0) f) p
           group by p.id, p.type) s
       where _filter is null or (
         select oxbow.recall_passes(m, _filter) from oxbow.memories m
          where m.user_id = _user_id and m.memory_type = s.type and m.id = s.id)
       order by s.score desc, s.id limit _limit) b;
end $$;

-- recall_left_out returns the reason why recall with a filter leaves a memory out, or null if it does not. Its mode
-- "debug" counts as none.
create or replace function oxbow.recall_left_out(_user_id text, _type text, _id uuid, _filter oxbow.recall_filter)
returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case when m.forgotten_at is not null then 'forgotten'
              when m.sensitivity >= 2 then 'secret'
              when m.created_at > (_filter).believed then 'stored later'
              when coalesce(m.valid_at, m.created_at) > (_filter).valid then 'true later'
              when not oxbow.holds(m.created_at, m.expired_at, m.valid_at, m.invalid_at, (_filter).valid,
                         (_filter).believed, (_filter).now, m.former_ends, m.expires_at) then case
                when m.superseded_by is not null then 'superseded'
                when m.expires_at <= coalesce((_filter).valid, (_filter).believed, (_filter).now) then 'expired'
                else 'ended' end
              when m.level = 'archive' and (_filter).mode is distinct from 'review' then 'archived'
              when m.memory_type = 'trait' and not oxbow.recallable(null, m.memory_type, s.stage)
                then 'a trait in the stage ' || coalesce(s.stage, 'dissolved')
              when m.agent_id is distinct from coalesce((_filter).agent, m.agent_id) then 'another agent'
              when not m.metadata @> (_filter).metadata then 'other metadata'
              when coalesce(m.trait_context, m.metadata ->> 'context', '') <> all((_filter).contexts)
                then 'another context'
              when (_filter).mode = 'normal' and not oxbow.recall_passes(m, _filter) then 'weighs too little' end
    from oxbow.memories m cross join lateral (select oxbow.recall_stage(m, _filter) as stage offset 0) s
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id;
$$;
