-- The vector channel of recall: the user's nearest vectors by cosine distance.

-- recall_indexes returns the types that recall searches by the user's HNSW index (071_vector_index.sql),
-- with the slot. The index must be ready, at most 1,000 vectors may wait for it (each is looked up, so
-- after an import the scan is faster), and at least a fifth of the memories must pass the filter.
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

-- recall_scan returns the nearest of the user's vectors by an exact scan. If the filter lists memories, it
-- searches only these, and if they are few, it reads only their vectors. The scores are distances. Each
-- partition is named, so that only the requested ones are read and the plan can be kept.
create or replace function oxbow.recall_scan(_user_id text, _types text[], _embedding halfvec, _limit integer,
  _filter oxbow.recall_filter, out ids uuid[], out types text[], out scores double precision[])
language plpgsql stable as $$
#variable_conflict error
begin
  if _filter.ids is null then
    select array_agg(n.id), array_agg(n.type), array_agg(n.distance) into ids, types, scores
      from (select v.memory_id as id, 'fact' as type, v.embedding <=> _embedding as distance
              from oxbow.memory_vectors_fact v where 'fact' = any(_types) and v.user_id = _user_id
            union all
            select v.memory_id, 'episodic', v.embedding <=> _embedding
              from oxbow.memory_vectors_episodic v where 'episodic' = any(_types) and v.user_id = _user_id
            union all
            select v.memory_id, 'trait', v.embedding <=> _embedding
              from oxbow.memory_vectors_trait v where 'trait' = any(_types) and v.user_id = _user_id
            union all
            select v.memory_id, 'document', v.embedding <=> _embedding
              from oxbow.memory_vectors_document v where 'document' = any(_types) and v.user_id = _user_id
             order by distance
             limit _limit) n;
  elsif cardinality(_filter.ids) < 2000 then
    select array_agg(n.id), array_agg(n.type), array_agg(n.distance) into ids, types, scores
      from (select a.id, a.type, v.distance
              from unnest(_filter.ids, _filter.types) a(id, type), lateral (
                select v.embedding <=> _embedding as distance from oxbow.memory_vectors v
                 where v.user_id = _user_id and v.memory_type = a.type and v.memory_id = a.id offset 0) v
             where a.type = any(_types)
             order by v.distance
             limit _limit) n;
  else
    select array_agg(n.id), array_agg(n.type), array_agg(n.distance) into ids, types, scores
      from (select v.memory_id as id, v.memory_type::text as type, v.embedding <=> _embedding as distance
              from oxbow.memory_vectors v
             where v.user_id = _user_id and v.memory_type = any(_types)
               and (v.memory_id in (select unnest(_filter.ids))) is true -- hashed, not joined
             order by distance
             limit _limit) n;
  end if;
end $$;

-- recall_vector returns the nearest memories: by the user's index for types that have one, unless it finds
-- too few, and by an exact scan otherwise. The score is the cosine similarity minus floor, at least 0. floor is the
-- similarity of unrelated texts (_unrelated) or, if there are _limit memories, that of the last one, whichever is higher.
create or replace function oxbow.recall_vector(_user_id text, _types text[], _embedding halfvec, _limit integer,
  _unrelated double precision, inout _filter oxbow.recall_filter, out ids uuid[], out types text[],
  out scores double precision[], out floor double precision)
language plpgsql stable as $$
#variable_conflict error
declare
  _scanned text[] := _types;
  _index record;
  _found record;
  _near_ids uuid[];
  _near_types text[];
  _near_distances double precision[];
  _checking boolean;
begin
  if _embedding is null then
    return;
  end if;
  if exists (select from oxbow.vector_slots s where s.user_id = _user_id) then
    for _index in select i.memory_type, i.slot from oxbow.recall_indexes(_user_id, _types, _filter) i loop
      select * into _found
        from oxbow.recall_near(_user_id, _index.memory_type, _index.slot, _embedding, _filter, _limit);
      continue when _found.indexed < _limit;
      _scanned := array_remove(_scanned, _index.memory_type);
      _near_ids := _near_ids || _found.ids;
      _near_types := _near_types || array_fill(_index.memory_type, array[cardinality(_found.ids)]);
      _near_distances := _near_distances || _found.distances;
    end loop;
  end if;
  loop
    _checking := not (_filter is null) and _filter.ids is null;
    _found := oxbow.recall_scan(_user_id, _scanned, _embedding,
      case when _checking then oxbow.recall_checked(_limit) else _limit end, _filter);
    exit when not _checking;
    _found := oxbow.recall_passing(_user_id, _limit, _filter, _found.ids, _found.types, _found.scores);
    exit when not _found.few;
    _filter := oxbow.recall_listed(_user_id, _types, _filter);
  end loop;
  if _near_ids is not null then
    select array_agg(n.id), array_agg(n.type), array_agg(n.distance) into _found.ids, _found.types, _found.scores
      from (select n.id, n.type, n.distance
              from unnest(_found.ids || _near_ids, _found.types || _near_types, _found.scores || _near_distances)
                     n(id, type, distance)
             order by n.distance
             limit _limit) n;
  end if;
  -- distances become scores relative to the last one; a zero vector has the distance NaN, and sorts last
  floor := greatest(_unrelated, 1 - nullif(_found.scores[_limit], 'NaN'));
  select array_agg(n.id), array_agg(n.type), array_agg(greatest(1 - n.distance - floor, 0)) into ids, types, scores
    from unnest(_found.ids, _found.types, _found.scores) n(id, type, distance) where n.distance <> 'NaN';
end $$;

-- pgvector's operators are in the schema in which its extension is installed.
do $$
declare path text := (select format('pg_catalog, %I, pg_temp', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
begin
  execute 'alter function oxbow.recall_scan set search_path = ' || path;
  execute 'alter function oxbow.recall_vector set search_path = ' || path;
end $$;
