-- The HNSW index of vectors, for the few users with too many vectors of a type to scan. The job
-- vector_index maintains it: it assigns slots, copies the ids of the user's vectors into indexed_vectors,
-- where they wait, and moves them from there into the slot's index. Each step is bounded and its own
-- transaction. Recall reads waiting vectors where they are stored (recall_near), so a new vector is found
-- at once, and its writer does not wait for the index.

create or replace function oxbow.vector_index_setting(out policy text, out "from" bigint, out most integer)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(max(s.value ->> 'policy'), 'auto'), coalesce(max((s.value ->> 'from')::numeric::bigint), 50000),
         coalesce(max((s.value ->> 'most')::numeric::integer), 8)
    from oxbow.settings s where s.key = 'vector_index';
$$;
call oxbow.grant_worker('vector_index_setting');

-- await_index queues new vectors of users who have a slot. The generic plan keeps the foreign key check,
-- which covers all types of memories, from being planned again for each row.
create or replace function oxbow.await_index() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  if exists (select from oxbow.vector_slots) then
    insert into oxbow.indexed_vectors (user_id, memory_type, memory_id)
    select n.user_id, n.memory_type, n.memory_id
      from inserted n
     where exists (select from oxbow.vector_slots s
                    where s.user_id = n.user_id and s.memory_type = n.memory_type and not s.ending)
    on conflict do nothing;
  end if;
  return null;
end $$;

-- A statement on the parent fires the parent's trigger; a statement on a partition fires the partition's
-- own.
create or replace procedure oxbow.watch_vectors()
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare t regclass;
begin
  for t in select 'oxbow.memory_vectors'::regclass union all
           select inhrelid::regclass from pg_inherits where inhparent = 'oxbow.memory_vectors'::regclass
  loop
    execute format('create or replace trigger await_index after insert on %s
                    referencing new table as inserted for each statement
                    execute function oxbow.await_index()', t);
  end loop;
end $$;
call oxbow.watch_vectors();

-- assign_slots decides which users have a slot. With auto, these are the users with the most vectors of a
-- type, above a minimum; with always, the largest users from 1,000 on. There are 16 slots, and 4 for traits, whose
-- indexes are more exact. A user keeps a slot until the count falls a fifth below the limit. The function
-- reads the statistics of all users, so it runs every 10 minutes, or when the setting changes.
create or replace function oxbow.assign_slots(out begun integer, out ended integer)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  _setting record;
  _wanted record;
  _from double precision;
  _value jsonb;
  _slot smallint;
begin
  begun := 0; ended := 0;
  if not pg_try_advisory_xact_lock(hashtextextended('oxbow.vector_index', 0)) then
    return;
  end if;
  _value := coalesce((select s.value from oxbow.settings s where s.key = 'vector_index'), '{}');
  if exists (select from oxbow.settings s
              where s.key = 'vector_index.looked' and s.value = _value and s.updated_at > now() - interval '10 minutes')
  then
    return;
  end if;
  insert into oxbow.settings (key, value) values ('vector_index.looked', _value)
    on conflict (key) do update set value = excluded.value, updated_at = now();
  select * into _setting from oxbow.vector_index_setting();
  _from := case _setting.policy when 'always' then 1000 when 'auto' then _setting."from"
                                else 'infinity'::double precision end;
  select coalesce(array_agg(w.user_id), '{}') as users, coalesce(array_agg(w.memory_type::text), '{}') as types,
         coalesce(array_agg(w.has), '{}') as has
    into _wanted
    from (select t.user_id, t.memory_type, t.has
            from (select t.*, row_number() over (partition by t.memory_type = 'trait'
                                                 order by t.size desc, t.user_id, t.memory_type) as nth
                    from (select t.user_id, t.memory_type, s.user_id is not null as has,
                                 t.documents * case when s.user_id is not null then 1.25 else 1 end as size
                            from oxbow.memory_term_stats t
                            left join oxbow.vector_slots s on s.user_id = t.user_id and s.memory_type = t.memory_type) t
                   where t.size >= _from) t
           where t.nth <= case when t.memory_type = 'trait' then 4 else 16 end
           order by t.size desc, t.user_id, t.memory_type
           limit case _setting.policy when 'always' then 20 else _setting.most end) w;
  update oxbow.vector_slots s set ending = true, ready_at = null
   where not s.ending and (s.user_id, s.memory_type::text) not in (select * from unnest(_wanted.users, _wanted.types));
  get diagnostics ended = row_count;
  for i in 1 .. cardinality(_wanted.users) loop
    continue when _wanted.has[i];
    select n into _slot from generate_series(1, 20) n
     where (n > 16) = (_wanted.types[i] = 'trait') and not exists (select from oxbow.vector_slots s where s.slot = n)
     order by n limit 1;
    continue when not found; -- one that is ending will become free
    insert into oxbow.vector_slots (user_id, memory_type, slot) values (_wanted.users[i], _wanted.types[i], _slot);
    begun := begun + 1;
  end loop;
end $$;
call oxbow.grant_worker('assign_slots');

-- older_transactions reports whether a transaction of this database with an id below _than is in progress
-- or prepared. Each holds a lock on its id from before it writes until it ends. Transactions of other
-- databases are ignored.
create or replace function oxbow.older_transactions(_than xid8) returns boolean
language sql volatile set search_path = pg_catalog, pg_temp as $$
  select _than >= pg_snapshot_xmin(pg_current_snapshot())
     and exists (select from pg_locks l
                   left join pg_stat_activity a on a.pid = l.pid
                  where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
                    and age(l.transactionid) > age(_than::xid)
                    and (a.datid = (select d.oid from pg_database d where d.datname = current_database())
                         or exists (select from pg_prepared_xacts p
                                     where p.transaction = l.transactionid and p.database = current_database())));
$$;
call oxbow.grant_worker('older_transactions');

-- walk_vectors copies the ids of the next vectors of a user who has a slot, at most _limit, and returns how
-- many it looked at, or 0 if no walk is due. The first walk waits for transactions of this database that
-- may not see the slot: those older than a transaction that found it. Later walks, once an hour, find
-- vectors that bypassed the trigger. An id in born that is still in the future belongs to another cluster,
-- from which the database was restored. The slot is locked after the memories, as in erase_user, and not before: the
-- advisory lock already keeps other walks away.
create or replace function oxbow.walk_vectors(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set enable_material = off set jit = off as $$
declare
  _slot oxbow.vector_slots;
  _ids uuid[];
  _id uuid;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('oxbow.vector_index', 0)) then
    return 0;
  end if;
  update oxbow.vector_slots s set born = pg_current_xact_id()
   where not s.ending and (s.born is null or s.born >= pg_snapshot_xmax(pg_current_snapshot()));
  if found then
    return 1;
  end if;
  select * into _slot from oxbow.vector_slots s
   where not s.ending and not oxbow.older_transactions(s.born)
     and (s.place is not null or s.walked_at is null or s.walked_at < now() - interval '1 hour')
   order by s.since, s.user_id, s.memory_type limit 1;
  if not found then
    return 0;
  end if;
  _ids := array(select v.memory_id from oxbow.memory_vectors v
                 where v.user_id = _slot.user_id and v.memory_type = _slot.memory_type
                   and v.memory_id > coalesce(_slot.place, '00000000-0000-0000-0000-000000000000')
                 order by v.memory_id limit _limit);
  foreach _id in array _ids loop -- one by one, so that every plan uses the key
    perform from oxbow.indexed_vectors x
      where x.user_id = _slot.user_id and x.memory_type = _slot.memory_type and x.memory_id = _id
        and (x.slot is null or x.slot = _slot.slot);
    continue when found;
    insert into oxbow.indexed_vectors (user_id, memory_type, memory_id)
    select m.user_id, m.memory_type, m.id from oxbow.memories m
     where m.user_id = _slot.user_id and m.memory_type = _slot.memory_type and m.id = _id for key share
    on conflict (user_id, memory_type, memory_id) do update
       set slot = null, embedding = null -- belongs to an earlier slot of the user
     where indexed_vectors.slot <> _slot.slot;
  end loop;
  update oxbow.vector_slots s
     set place = case when cardinality(_ids) = _limit then _ids[_limit] end,
         walked_at = case when cardinality(_ids) = _limit then s.walked_at else now() end
   where s.user_id = _slot.user_id and s.memory_type = _slot.memory_type;
  return greatest(cardinality(_ids), 1);
end $$;
call oxbow.grant_worker('walk_vectors');

-- index_vectors moves waiting vectors into their index, at most _limit of one user, and returns how many,
-- or 0 if none wait. A user with no waiting vectors after a walk is ready.
create or replace function oxbow.index_vectors(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
  set jit = off as $$
declare
  _slot oxbow.vector_slots;
  _ids uuid[];
  _id uuid;
begin
  for _slot in select * from oxbow.vector_slots s where not s.ending order by s.since, s.user_id, s.memory_type loop
    -- does not wait for an erasure in progress
    _ids := array(select x.memory_id from oxbow.indexed_vectors x
                   where x.user_id = _slot.user_id and x.memory_type = _slot.memory_type and x.slot is null
                   limit _limit for update skip locked);
    foreach _id in array _ids loop -- one by one, so that every plan uses the key
      update oxbow.indexed_vectors x set slot = _slot.slot, embedding = v.embedding
        from (select v.embedding from oxbow.memory_vectors v
               where v.user_id = _slot.user_id and v.memory_type = _slot.memory_type and v.memory_id = _id limit 1) v
       where x.user_id = _slot.user_id and x.memory_type = _slot.memory_type and x.memory_id = _id;
      if not found then -- the memory no longer has a vector
        delete from oxbow.indexed_vectors x
         where x.user_id = _slot.user_id and x.memory_type = _slot.memory_type and x.memory_id = _id;
      end if;
    end loop;
    if cardinality(_ids) > 0 then
      return cardinality(_ids);
    end if;
    if _slot.ready_at is null and _slot.walked_at is not null then
      update oxbow.vector_slots s set ready_at = now()
       where (s.user_id, s.memory_type) = (
         select l.user_id, l.memory_type from oxbow.vector_slots l -- nor for an erasure here
          where l.user_id = _slot.user_id and l.memory_type = _slot.memory_type and not l.ending for update skip locked);
    end if;
  end loop;
  return 0;
end $$;
call oxbow.grant_worker('index_vectors');

-- end_slots deletes copies of vectors whose users have lost their slot, at most _limit of one user, and
-- returns how many. A slot is free once it is empty. The users are found by skipping through the primary
-- key.
create or replace function oxbow.end_slots(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  _owner record;
  _deleted integer;
begin
  for _owner in
    with recursive owner as (
      (select x.user_id, x.memory_type from oxbow.indexed_vectors x order by x.user_id, x.memory_type limit 1)
      union all
      select n.user_id, n.memory_type
        from owner o
       cross join lateral (select x.user_id, x.memory_type from oxbow.indexed_vectors x
                            where (x.user_id, x.memory_type) > (o.user_id, o.memory_type)
                            order by x.user_id, x.memory_type limit 1) n
    )
    select o.user_id, o.memory_type from owner o
     where not exists (select from oxbow.vector_slots s
                        where s.user_id = o.user_id and s.memory_type = o.memory_type and not s.ending)
  loop
    delete from oxbow.indexed_vectors x
     where x.user_id = _owner.user_id and x.memory_type = _owner.memory_type
       and x.memory_id = any (array(select y.memory_id from oxbow.indexed_vectors y
                                     where y.user_id = _owner.user_id and y.memory_type = _owner.memory_type
                                     limit _limit for update skip locked));
    get diagnostics _deleted = row_count;
    if _deleted > 0 then
      return _deleted;
    end if;
  end loop;
  delete from oxbow.vector_slots s
   where s.ending and (select count(*) from (select from oxbow.indexed_vectors x
                                              where x.user_id = s.user_id and x.memory_type = s.memory_type
                                              limit 1) l) = 0;
  return 0;
end $$;
call oxbow.grant_worker('end_slots');

-- recall_near returns the ids and distances, unordered, of a user's nearest vectors of a type that pass the filter:
-- from the index of the slot, and by a scan of the vectors that wait for it. indexed is how many came from the index.
-- The function changes the HNSW settings and restores them. HNSW must read more vectors to find the same share of the
-- nearest as their number grows (docs/decisions.md), so ef_search is a fiftieth of the number, between 400 and 1,000,
-- pgvector's maximum. The number is estimated from the size of the index: a vector takes two bytes per dimension, plus
-- about 700 for its neighbours and free space.
create or replace function oxbow.recall_near(_user_id text, _type text, _slot smallint, _embedding halfvec,
  _filter oxbow.recall_filter, _limit integer,
  out ids uuid[], out distances double precision[], out indexed integer)
language plpgsql stable set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set enable_material = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
#variable_conflict error
declare
  _ef constant text := coalesce(nullif(current_setting('hnsw.ef_search', true), ''), '40');
  _scan constant text := coalesce(nullif(current_setting('hnsw.iterative_scan', true), ''), 'off');
  _passes constant text := case
    when _filter is null then 'true'
    when (_filter).ids is not null then 'n.memory_id in (select unnest(($4).ids))'
    else format('(select oxbow.recall_passes(m, $4) from oxbow.memories m
                   where m.user_id = $2 and m.memory_type = %L and m.id = n.memory_id)', _type) end;
  _vectors constant bigint := case when _slot is null then 0
    else pg_relation_size(format('oxbow.indexed_vectors_%s_idx', _slot)::regclass) / (2 * vector_dims(_embedding) + 700)
    end;
begin
  perform set_config('hnsw.ef_search', least(greatest(_vectors / 50, 400), 1000)::text, true),
          set_config('hnsw.iterative_scan', 'relaxed_order', true);
  -- the slot is a literal, so that the planner can choose its index
  execute format('
    select array_agg(n.memory_id), array_agg(n.distance), count(*) filter (where n.indexed)
      from ((select n.memory_id, n.distance, true as indexed
               from (select x.memory_id, x.embedding <=> $1 as distance
                       from oxbow.indexed_vectors x
                      where x.slot = %1$s and x.user_id = $2 and x.memory_type = $3
                      order by x.embedding <=> $1
                      limit $5) n
              where %2$s
              limit $6)
            union all
            (select n.memory_id, v.embedding <=> $1, false
               from oxbow.indexed_vectors n
              cross join lateral (select v.memory_id, v.embedding from oxbow.memory_vectors v
                                   where v.user_id = $2 and v.memory_type = %3$L and v.memory_id = n.memory_id
                                   limit 1) v
              where n.slot is null and n.user_id = $2 and n.memory_type = $3 and %2$s)) n',
      coalesce(_slot, 0), _passes, _type)
    into ids, distances, indexed
    using _embedding, _user_id, _type, _filter,
          case when _filter is null then _limit else 50 * _limit end, _limit;
  perform set_config('hnsw.ef_search', _ef, true), set_config('hnsw.iterative_scan', _scan, true);
end $$;
do $$
begin
  execute format('alter function oxbow.recall_near set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
