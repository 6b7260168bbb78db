-- The entity channel of recall: memories that name entities of the query.

-- recall_named returns the entities that a query names. For a person with an English name, the first word
-- suffices.
create or replace function oxbow.recall_named(_user_id text, _query text) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _asked record;
begin
  select * into _asked from oxbow.query_heads(_query);
  return (
    select array_agg(e.id)
      from unnest(_asked.heads) h(head), lateral (
        select e.id, e.head, e.key, e.kind from oxbow.entities e
         where e.user_id = _user_id and e.head = h.head offset 0) e
     where e.kind <> 'self'
       and case when ascii(e.head) < 11904 -- U+2E80
                then e.kind = 'person' or position(' ' || e.key || ' ' in ' ' || _asked.words || ' ') > 0
                else position(e.key in _asked.asked) > 0 end);
end $$;

-- entity_neighbours returns at most 200 edges from an entity and 200 to it, each with the entity at the
-- other end and the memory behind the edge. The planner inlines it.
create or replace function oxbow.entity_neighbours(_user_id text, _id uuid)
returns table (entity uuid, memory_type text, memory_id uuid)
language sql stable as $$
  (select g.to_id, g.memory_type, g.memory_id from oxbow.entity_edges g
    where g.user_id = _user_id and g.from_id = _id limit 200)
  union all
  (select g.from_id, g.memory_type, g.memory_id from oxbow.entity_edges g
    where g.user_id = _user_id and g.to_id = _id limit 200)
$$;
call oxbow.grant_worker('entity_neighbours');

-- recall_entities returns the memories that name entities of the query and, with a quarter of the weight,
-- those that name a neighbour, if the memory behind the edge passes the filter. The weight of a name is its
-- idf; a name in more than 500 memories is ignored. If there are more memories than _limit, the score of
-- the best one left out is subtracted.
create or replace function oxbow.recall_entities(_user_id text, _types text[], _query text, _limit integer,
  _filter oxbow.recall_filter,
  out ids uuid[], out types text[], out scores double precision[], out ranks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _named uuid[];
  _documents double precision;
begin
  if not exists (select from oxbow.entities e where e.user_id = _user_id) then
    return;
  end if;
  _named := oxbow.recall_named(_user_id, _query);
  if _named is null then
    return;
  end if;
  select sum(s.documents) into _documents
    from oxbow.memory_term_stats s where s.user_id = _user_id and s.memory_type = any(_types);
  with near as materialized (
    select g.entity, 0.25::double precision as share
      from (select g.entity, count(*) as times
              from unnest(_named) n(id), oxbow.entity_neighbours(_user_id, n.id) g
             where g.entity <> all(_named) and g.memory_type = any(_types)
               and (_filter is null or (
                 select oxbow.recall_passes(m, _filter) from oxbow.memories m
                  where m.user_id = _user_id and m.memory_type = g.memory_type and m.id = g.memory_id))
             group by g.entity
             order by 2 desc, 1
             limit 20) g
     where exists (select from oxbow.entities e
                    where e.user_id = _user_id and e.id = g.entity and e.kind <> 'self' offset 0)
  ), naming as materialized (
    select e.share, m.ids, m.types, e.share * ln(1 + greatest(_documents - m.n + 0.5, 0.5) / (m.n + 0.5)) as weight
      from (select unnest(_named) as entity, 1::double precision as share
            union all
            select n.entity, n.share from near n) e, lateral (
        select count(*)::double precision as n, array_agg(m.memory_id) as ids,
               array_agg(m.memory_type::text) as types
          from (select m.memory_id, m.memory_type from oxbow.entity_mentions m
                 where m.user_id = _user_id and m.entity_id = e.entity limit 501) m) m
     where m.n between 1 and 500
  ), best as (
    select m.id, max(m.type) as type,
           coalesce(sum(n.weight) filter (where n.share = 1), 0)
           + coalesce(max(n.weight) filter (where n.share < 1), 0) as score
      from naming n, unnest(n.ids, n.types) m(id, type)
     where m.type = any(_types)
     group by m.id
     order by 3 desc, m.id
  ), found as (
    select b.id, b.type, b.score from best b
     where _filter is null or (
       select oxbow.recall_passes(m, _filter) from oxbow.memories m
        where m.user_id = _user_id and m.memory_type = b.type and m.id = b.id)
     limit _limit + 1
  ), ranked as (
    select f.id, f.type, f.score, rank() over (order by f.score desc) as rank,
           case when count(*) over () > _limit then min(f.score) over () else 0 end as least
      from found f
  )
  select array_agg(r.id), array_agg(r.type), array_agg(r.score - r.least), array_agg(r.rank)
    into ids, types, scores, ranks
    from ranked r where r.score > r.least;
end $$;
