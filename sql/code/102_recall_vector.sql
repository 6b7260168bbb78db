-- The vector channel of recall: the user's nearest vectors by cosine distance.

-- recall_indexes returns the types whose vectors recall finds by an index of the user (071_vector_index.sql), with its
-- slot: the index is ready, at most 1,000 vectors wait for it (each is looked up, so after an import the scan is
-- quicker), and a fifth of the memories or more pass the filter.
create or replace function oxbow.recall_indexes(_user_id text, _types text[], _filter oxbow.recall_filter)
returns table (memory_type text, slot smallint)
language sql stable as $$
  select s.memory_type::text, s.slot from oxbow.vector_slots s
   where s.user_id = _user_id and s.memory_type = any(_types) and s.ready_at is not null
     and ((_filter).ids is null or cardinality((_filter).ids) >= 0.2 * (
           select t.documents from oxbow.memory_term_stats t
            where t.user_id = _user_id and t.memory_type = s.memory_type))
     and (select count(*) from (select from oxbow.indexed_vectors x
                                 where x.user_id = _user_id and x.memory_type = s.memory_type and x.slot is null
                                 limit 1001) w) <= 1000
$$;

-- recall_vector returns the nearest memories: by an exact scan of the user's vectors, and for the types of which the
-- user has an index by that, unless it finds too few. Where the filter lists a few memories, only their vectors are
-- read. Where more exist than are kept, the score of the last one kept is zero.
create or replace function oxbow.recall_vector(_user_id text, _types text[], _embedding halfvec, _limit integer,
  inout _filter oxbow.recall_filter, out ids uuid[], out types text[], out scores double precision[])
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  _scanned text[] := _types;
  _index record;
  _near record;
  _near_ids uuid[];
  _near_types text[];
  _near_distances double precision[];
  _checking boolean;
  _few boolean;
begin
  -- asked alone, because a custom plan is made for every statement that runs
  if exists (select from oxbow.vector_slots s where s.user_id = _user_id) then
    for _index in select i.memory_type, i.slot from oxbow.recall_indexes(_user_id, _types, _filter) i loop
      select * into _near
        from oxbow.recall_near(_user_id, _index.memory_type, _index.slot, _embedding, _filter, _limit);
      continue when _near.indexed < _limit;
      _scanned := array_remove(_scanned, _index.memory_type);
      _near_ids := _near_ids || _near.ids;
      _near_types := _near_types || array_fill(_index.memory_type, array[cardinality(_near.ids)]);
      _near_distances := _near_distances || _near.distances;
    end loop;
  end if;
  loop
    _checking := not (_filter is null) and _filter.ids is null;
    if cardinality(_filter.ids) < 2000 then
      select array_agg(n.id), array_agg(n.type), array_agg(n.distance) into ids, types, scores
        from (select a.id, a.type, v.distance
                from unnest(_filter.ids, _filter.types) a(id, type), lateral (
                  select v.embedding <=> _embedding as distance from oxbow.memory_vectors v
                   where v.user_id = _user_id and v.memory_type = a.type and v.memory_id = a.id offset 0) v
               where a.type = any(_scanned)
              union all
              select n.id, n.type, n.distance from unnest(_near_ids, _near_types, _near_distances) n(id, type, distance)
               order by distance
               limit _limit) n;
      exit;
    end if;
    with best as materialized (
      select v.memory_id as id, v.memory_type::text as type, v.embedding <=> _embedding as distance
        from oxbow.memory_vectors v
       where v.user_id = _user_id and v.memory_type = any(_scanned)
         and (_filter.ids is null or v.memory_id in (select unnest(_filter.ids)))
      union all
      select n.id, n.type, n.distance from unnest(_near_ids, _near_types, _near_distances) n(id, type, distance)
       order by distance
       limit case when _checking then oxbow.recall_checked(_limit) else _limit end
    ), passing as (
      select b.id, b.type, b.distance from best b
       where not _checking or (
         select oxbow.recall_passes(m, _filter) from oxbow.memories m
          where m.user_id = _user_id and m.memory_type = b.type and m.id = b.id)
       limit _limit
    )
    select array_agg(p.id), array_agg(p.type), array_agg(p.distance),
           _checking and oxbow.recall_few(count(*), (select count(*) from best), _limit)
      into ids, types, scores, _few
      from passing p;
    exit when not _few;
    _filter := oxbow.recall_listed(_user_id, _types, _filter);
  end loop;
  -- distances become scores above that of the last one; a zero vector has no direction, and NaN for a distance
  select array_agg(s.id), array_agg(s.type), array_agg(greatest(s.score - s.floor, 0)) into ids, types, scores
    from (select n.id, n.type, 1 - n.distance as score,
                 case when count(*) over () < _limit then 0 else min(1 - n.distance) over () end as floor
            from unnest(ids, types, scores) n(id, type, distance) where n.distance <> 'NaN') s;
end $$;

-- pgvector's operators are found where its extension is installed.
do $$
begin
  execute format('alter function oxbow.recall_vector set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
