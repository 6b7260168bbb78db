-- reembed changes the embedding model while the system is running. It fills a second table,
-- memory_vectors_next, with vectors of the new model in many short transactions; a final transaction puts
-- the table in place of memory_vectors. These functions are for the owner of the tables.

-- reembed_begin creates the second table, or reuses the one that an interrupted reembed to the same model
-- left, and returns whether it did.
drop function if exists oxbow.reembed_begin(text, integer); -- of an earlier version
create or replace function oxbow.reembed_begin(_model jsonb) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _vector name := (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                    where e.extname = 'vector');
  _dimension constant integer := _model ->> 'dimension';
  _owner constant regrole := (select relowner from pg_class where oid = 'oxbow.memory_vectors'::regclass);
  p record;
begin
  if _dimension is null then
    perform oxbow.reject('model', _model::text, 'must have a dimension');
  end if;
  if to_regclass('oxbow.memory_vectors_next') is not null then
    if (select value - 'cursor' from oxbow.settings where key = 'reembed') = _model then
      return true;
    end if;
    drop table oxbow.memory_vectors_next;
  end if;
  -- As in migrations/003_vectors.sql. The foreign keys have their final names from the start.
  execute format('create table oxbow.memory_vectors_next (
      user_id     text not null,
      memory_type oxbow.memory_type not null,
      memory_id   uuid not null,
      embedding   %I.halfvec(%s) not null,
      primary key (user_id, memory_type, memory_id)
    ) partition by list (memory_type)', _vector, _dimension);
  alter table oxbow.memory_vectors_next
    alter user_id set storage plain, alter memory_type set storage plain, alter embedding set storage plain;
  for p in select replace(c.relname, 'memory_vectors_', 'memory_vectors_next_') as name,
                  pg_get_expr(c.relpartbound, c.oid) as bound,
                  f.conname, pg_get_constraintdef(f.oid) as reference
             from pg_inherits i join pg_class c on c.oid = i.inhrelid
             join pg_constraint f on f.conrelid = c.oid and f.contype = 'f'
            where i.inhparent = 'oxbow.memory_vectors'::regclass order by 1
  loop
    execute format('create table oxbow.%I partition of oxbow.memory_vectors_next %s', p.name, p.bound);
    execute format('alter table oxbow.%I add constraint %I %s', p.name, p.conname, p.reference);
    execute format('alter table oxbow.%I owner to %s', p.name, _owner);
  end loop;
  execute format('alter table oxbow.memory_vectors_next owner to %s', _owner); -- recall runs with its rights
  call oxbow.secure_tables();
  insert into oxbow.settings (key, value) values ('reembed', _model)
    on conflict (key) do update set value = excluded.value, updated_at = now();
  return false;
end $$;

-- reembed_page looks at the next memories after a key, at most _limit. It returns a row for each that has
-- neither a vector of the new model nor a refusal, with the number of memories looked at and the key of the
-- last one. If all have one, it returns a single row without a memory. At the end it returns no row.
create or replace function oxbow.reembed_page(_model text, _user_id text, _memory_type text, _id uuid, _limit integer)
returns table (looked bigint, last_user_id text, last_memory_type text, last_id uuid,
  user_id text, memory_type text, id uuid, content text, speaker text)
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
#variable_conflict error
begin
  return query
  with page as materialized (
    select m.user_id, m.memory_type, m.id, m.forgotten_at, m.sensitivity, m.level
      from oxbow.memories m
     where (m.user_id, m.memory_type, m.id) > (_user_id, _memory_type, _id)
     order by m.user_id, m.memory_type, m.id
     limit _limit
  ), todo as (
    select p.user_id, p.memory_type, p.id
      from page p
     where p.forgotten_at is null and p.sensitivity < 2 and p.level in ('full', 'summary')
       and not exists (select from oxbow.memory_vectors_next v
                        where v.user_id = p.user_id and v.memory_type = p.memory_type and v.memory_id = p.id)
       and not exists (select from oxbow.embedding_refusals r
                        where r.user_id = p.user_id and r.memory_type = p.memory_type and r.memory_id = p.id
                          and r.model = _model)
  )
  select e.looked, e.user_id, e.memory_type::text, e.id, m.user_id, m.memory_type::text, m.id,
         case when m.level = 'summary'
           then coalesce((select a.content from oxbow.memory_archive a
                           where a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id), m.content)
           else m.content end,
         coalesce(m.speaker, '')
    from (select p.user_id, p.memory_type, p.id, count(*) over () as looked
            from page p order by p.user_id desc, p.memory_type desc, p.id desc limit 1) e
    left join (todo t join oxbow.memories m on m.user_id = t.user_id and m.memory_type = t.memory_type
               and m.id = t.id) on true
   order by m.user_id, m.memory_type, m.id;
end $$;

-- reembed_write stores vectors of the new model for memories that still exist.
create or replace function oxbow.reembed_write(_user_ids text[], _memory_types text[], _ids uuid[],
  _embeddings halfvec[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare _written bigint;
begin
  insert into oxbow.memory_vectors_next (user_id, memory_type, memory_id, embedding)
  select m.user_id, m.memory_type, m.id, v.embedding
    from unnest(_user_ids, _memory_types, _ids, _embeddings) v(user_id, memory_type, id, embedding)
    join oxbow.memories m on m.user_id = v.user_id and m.memory_type = v.memory_type and m.id = v.id
   order by m.user_id, m.id
     for key share of m
  on conflict do nothing;
  get diagnostics _written = row_count;
  return _written;
end $$;

-- reembed_finish exchanges the tables and the setting. It enqueues memories created since _since that have
-- no vector of the new model yet, and returns how many. The caller sets lock_timeout and retries.
drop function if exists oxbow.reembed_finish(text, integer, timestamptz); -- of an earlier version
create or replace function oxbow.reembed_finish(_model jsonb, _since timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _missing bigint;
  item record;
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.embedding', 0)); -- see write_vectors
  lock table oxbow.memories, oxbow.memory_vectors, oxbow.memory_vectors_next, oxbow.vector_slots,
    oxbow.indexed_vectors in access exclusive mode;
  if (select value - 'cursor' from oxbow.settings where key = 'reembed') is distinct from _model then
    raise exception 'memory_vectors_next is not for %', _model;
  end if;

  with missing as (
    select m.user_id, array_agg(m.id) as ids
      from oxbow.memories m
     where m.created_at >= _since and m.forgotten_at is null and m.sensitivity < 2 and m.level in ('full', 'summary')
       and not exists (select from oxbow.memory_vectors_next v
                        where v.user_id = m.user_id and v.memory_type = m.memory_type and v.memory_id = m.id)
       and not exists (select from oxbow.embedding_refusals r
                        where r.user_id = m.user_id and r.memory_type = m.memory_type and r.memory_id = m.id
                          and r.model = _model ->> 'model')
     group by m.user_id
  ), enqueued as (
    insert into oxbow.river_job (kind, queue, max_attempts, args)
    select 'embed', 'embed', 25, jsonb_build_object('user_id', user_id, 'ids', array_to_string(ids[i:i + 127], ','))
      from missing, generate_series(1, cardinality(ids), 128) i
  )
  select coalesce(sum(cardinality(ids)), 0) into _missing from missing;

  drop table oxbow.memory_vectors;
  for item in select conname, conrelid::regclass as name from pg_constraint
            where connamespace = 'oxbow'::regnamespace and conname like 'memory\_vectors\_next%'
              and (contype <> 'n' or coninhcount = 0)
  loop
    execute format('alter table %s rename constraint %I to %I', item.name, item.conname,
                   replace(item.conname, '_next', ''));
  end loop;
  for item in select relname from pg_class
            where relnamespace = 'oxbow'::regnamespace and relkind in ('r', 'p')
              and relname like 'memory\_vectors\_next%'
  loop
    execute format('alter table oxbow.%I rename to %I', item.relname, replace(item.relname, '_next', ''));
  end loop;

  -- assign_slots starts again with the new vectors
  delete from oxbow.vector_slots;
  truncate oxbow.indexed_vectors;
  execute format(
    'alter table oxbow.indexed_vectors alter embedding type %I.halfvec(%s), alter embedding set storage external',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'),
    _model ->> 'dimension');
  call oxbow.watch_vectors();
  delete from oxbow.settings where key = 'vector_index.looked';

  delete from oxbow.embedding_refusals where model <> _model ->> 'model';
  update oxbow.settings set value = _model, updated_at = now()
   where key = 'embedding';
  delete from oxbow.settings where key = 'reembed';
  call oxbow.secure_tables();
  return _missing;
end $$;
