-- Erasure: what is erased leaves no trace in the database, in jobs and their errors neither.

-- erase_memory erases one memory with everything that refers to it: vector, terms, history, links, sources, evidence,
-- reported uses, its place in the inbox and in jobs. Memories that it superseded, or that are children of it, lose that
-- reference; traits that it spoke for or against are weighed anew. The summaries of the conversations in which it was said
-- are erased with it, and so are facts that were folded into it because they say the same. It returns how many rows were
-- deleted, 0 if there is no such memory; what becomes of traits is not counted. It leaves a receipt: see erasure.
drop function if exists oxbow.erase_memory(text, uuid); -- it had no proof once
create or replace function oxbow.erase_memory(user_id text, id uuid, proof text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _rows jsonb;
begin
  perform oxbow.check_access(erase_memory.user_id);
  perform oxbow.check_proof(erase_memory.proof);
  _rows := oxbow.erase_and_count(erase_memory.user_id, erase_memory.id);
  if _rows <> '{}' then
    insert into oxbow.erasures (kind, actor, rows, digest)
    values ('memory', oxbow.caller(), _rows, oxbow.erasure_digest(erase_memory.proof, erase_memory.user_id, erase_memory.id));
  end if;
  return oxbow.sum_counts(_rows);
end $$;
call oxbow.grant_app('erase_memory');

-- erase_and_count is erase_memory without a receipt. It returns how many rows each table lost.
create or replace function oxbow.erase_and_count(_user_id text, _id uuid) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _seen uuid[] := oxbow.repeats_of(_user_id, _id);
  _ids uuid[];
  _sessions text[];
  _summaries uuid[] := '{}';
  _rows jsonb := '{}';
  _each uuid;
begin
  perform oxbow.lock_traits(_user_id, _seen); -- those among them, and those that rest on them
  _ids := oxbow.lock_repeats(_user_id, _id);
  if _ids is distinct from _seen then -- another one was just folded
    perform oxbow.lock_traits(_user_id, _ids);
  end if;
  select coalesce(array_agg(distinct s), '{}') into _sessions from unnest(_ids) i(id), unnest(oxbow.sessions_of(_user_id, i.id)) s;
  if _sessions <> '{}' then
    -- first, because whoever writes a summary waits for what it covers
    perform from oxbow.memories m where m.user_id = _user_id
        and m.id = any(oxbow.summaries_of(_user_id, _sessions) || _ids) order by m.id for update;
    _summaries := oxbow.withdraw_summaries(_user_id, _sessions);
  end if;
  perform oxbow.lock_erased(_user_id, _ids || _summaries);
  for _each in select s.id from unnest(_summaries) s(id) where s.id <> all(_ids) union all select i.id from unnest(_ids) i(id) loop
    _rows := oxbow.add_counts(_rows, oxbow.erase_one(_user_id, _each));
  end loop;
  return _rows;
end $$;


-- lock_erased locks memories that will be erased one after another, as erase_one locks each, before the first is gone: with that one's
-- terms uncounted, nobody may be waited for who is to count others (index_memories).
create or replace function oxbow.lock_erased(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cardinality(_ids) < 2 then
    return; -- erase_one does it
  end if;
  perform from oxbow.memories m
    where m.user_id = _user_id and (m.id = any(_ids) or m.superseded_by = any(_ids) or m.trait_parent_id = any(_ids))
    order by m.id for no key update;
  perform from oxbow.memories m where m.user_id = _user_id and m.id = any(_ids) order by m.id for update;
end $$;

-- A receipt says when, by whom and how much was erased, and not of whom. Who asks for it may give a proof, a secret of at least
-- 16 characters, of which a digest is kept together with what was erased. Only with the secret and the user's id can the receipt be
-- found again, or guessed: random secrets that are given to the user prove the erasure to who has them, and to nobody else.
create or replace function oxbow.erasure(user_id text, proof text, memory_id uuid default null)
returns table (id uuid, at timestamptz, kind text, actor text, rows jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(erasure.user_id);
  return query
  select e.id, e.at, e.kind, e.actor, e.rows from oxbow.erasures e
   where e.digest = oxbow.erasure_digest(erasure.proof, erasure.user_id, erasure.memory_id)
   order by e.at;
end $$;
call oxbow.grant_app('erasure');

create or replace function oxbow.check_proof(_proof text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if length(_proof) < 16 then -- who guesses it could try every user
    perform oxbow.reject('proof', 'of ' || length(_proof) || ' characters', 'must have at least 16 characters');
  end if;
end $$;

create or replace function oxbow.erasure_digest(_proof text, _user_id text, _memory_id uuid default null) returns bytea
language sql immutable set search_path = pg_catalog, pg_temp
return sha256(convert_to(_proof, 'UTF8') || '\x00' || convert_to(_user_id, 'UTF8')
  || coalesce('\x00'::bytea || convert_to(_memory_id::text, 'UTF8'), ''));

-- How many rows tables lost is added up table by table.
create or replace function oxbow.add_counts(_a jsonb, _b jsonb) returns jsonb
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(t.name, t.n), '{}')
    from (select c.key as name, sum(c.value::bigint) as n
            from (select * from jsonb_each_text(_a) union all select * from jsonb_each_text(_b)) c
           group by c.key having sum(c.value::bigint) > 0) t;
$$;

create or replace function oxbow.sum_counts(_rows jsonb) returns bigint
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select coalesce(sum(c.value::bigint), 0)::bigint from jsonb_each_text(_rows) c;
$$;

-- erase_one erases a memory and what refers to it, and returns how many rows each table lost. The caller holds its traits.
do $$
begin
  if exists (select from pg_proc p where p.oid = to_regprocedure('oxbow.erase_one(text, uuid)') and p.prorettype = 'bigint'::regtype) then
    drop function oxbow.erase_one(text, uuid); -- it returned one number once
  end if;
end $$;
create or replace function oxbow.erase_one(_user_id text, _id uuid) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _type text;
  _rows jsonb := '{}';
  _n bigint;
  _child record;
begin
  -- Those that will lose their reference are locked with the memory, in the order of their ids, as all do who lock several,
  -- and in a way that jobs which only refer to them do not mind.
  perform from oxbow.memories m
    where m.user_id = _user_id
      and (m.id = _id or m.superseded_by = _id or m.trait_parent_id = _id)
    order by m.id for no key update;
  for _type in
    -- a job that is just working on the memory holds its row, and is waited for
    select m.memory_type from oxbow.memories m
     where m.user_id = _user_id and m.id = _id order by 1 for update
  loop
    perform oxbow.erase_from_reflection(_user_id, _id);
    -- The history of what an extraction put it in the place of, or beside, tells what it said, and why in the words of a model.
    update oxbow.memory_history h set new_content = null, new_metadata = null, reason = null
      from oxbow.memories m
      join oxbow.memory_links l on l.user_id = m.user_id and l.from_type = m.memory_type and l.from_id = m.id and l.relation in ('supersedes', 'contradicts')
     where m.user_id = _user_id and m.memory_type = _type and m.id = _id
       and h.user_id = l.user_id and h.memory_type = l.to_type and h.memory_id = l.to_id and h.event = 'UPDATE' and h.new_content = m.content;
    -- The foreign keys would do it; this counts.
    for _child in
      select c.conrelid::regclass as name,
             coalesce((select p.relname from pg_inherits i join pg_class p on p.oid = i.inhparent where i.inhrelid = c.conrelid),
                      (select t.relname from pg_class t where t.oid = c.conrelid)) as family,
             format('(%s) = ($1, $2, $3)', (select string_agg(quote_ident(a.attname), ', ' order by k.nth)
                from unnest(c.conkey) with ordinality k(attnum, nth)
                join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum)) as match
        from pg_constraint c
       where c.contype = 'f' and c.conparentid = 0 and cardinality(c.conkey) = 3
         and c.confrelid in ('oxbow.memories'::regclass, ('oxbow.memories_' || _type)::regclass)
       order by c.conrelid::regclass::text, c.conname
    loop
      execute format('delete from %s where %s', _child.name, _child.match) using _user_id, _type, _id;
      get diagnostics _n = row_count;
      _rows := oxbow.add_counts(_rows, jsonb_build_object(_child.family, _n));
    end loop;
    delete from oxbow.memories m
     where m.user_id = _user_id and m.memory_type = _type and m.id = _id;
    get diagnostics _n = row_count;
    _rows := oxbow.add_counts(_rows, jsonb_build_object('memories', _n));
  end loop;

  -- what is locked, flush_activity is just deleting; it waits for us, as it is to add to the memory
  delete from oxbow.activity a
   where a.user_id = _user_id
     and a.id in (select l.id from oxbow.activity l
                   where l.user_id = _user_id and l.memory_id = _id for update skip locked);
  get diagnostics _n = row_count;
  _rows := oxbow.add_counts(_rows, jsonb_build_object('activity', _n));
  -- the history of the version before tells what the erased one said, and why it came
  update oxbow.memory_history h set new_content = null, new_metadata = null, reason = null
    from oxbow.memories m
   where m.user_id = _user_id and m.superseded_by = _id and h.event = 'SUPERSEDE'
     and h.user_id = m.user_id and h.memory_type = m.memory_type and h.memory_id = m.id;
  update oxbow.memories m set superseded_by = null where m.user_id = _user_id and m.superseded_by = _id;
  update oxbow.memories_trait m set trait_parent_id = null
   where m.user_id = _user_id and m.trait_parent_id = _id;
  perform oxbow.erase_places(_user_id, _id);
  return oxbow.add_counts(_rows, jsonb_build_object('river_job', oxbow.erase_from_jobs(_user_id, _id)));
end $$;

-- erase_from_reflection takes a memory that is there still out of what reflections noted: proposals that were not followed,
-- and, of a trait, what the events of others say about it.
create or replace function oxbow.erase_from_reflection(_user_id text, _id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.reflection_cycles c
     set dropped = (select coalesce(jsonb_agg(d.entry order by d.nth), '[]')
                      from jsonb_array_elements(c.dropped) with ordinality d(entry, nth) where strpos(d.entry::text, _id::text) = 0)
   where c.user_id = _user_id and c.dropped <> '[]' and strpos(c.dropped::text, _id::text) > 0;
  -- A language model may say the same in words of its own, and name no memory that there is. What the rules note is of their
  -- own vocabulary, or stands in each memory that it is noted of.
  update oxbow.reflection_cycles c set dropped = '[]'
    from oxbow.memories m
   where m.user_id = _user_id and m.id = _id and c.user_id = _user_id and c.dropped <> '[]' and c.reasoner not like 'rules-%'
     and (m.memory_type = 'trait' or coalesce(c.completed_at, c.started_at) >= m.created_at);
  delete from oxbow.trait_clues c
   where c.user_id = _user_id and c.key like 'says %'
     and c.key in (select e.key from oxbow.trait_clues e where e.user_id = _user_id and e.memory_id = _id);
  if not exists (select from oxbow.memories_trait m where m.user_id = _user_id and m.id = _id) then
    return; -- no event names anything else
  end if;
  update oxbow.trait_events e
     set reason = null,
         details = (select coalesce(jsonb_object_agg(d.key, d.value), '{}') from jsonb_each(e.details) d where strpos(d.value::text, _id::text) = 0)
   where e.user_id = _user_id and e.details <> '{}' and strpos(e.details::text, _id::text) > 0;
  -- a proposal that was not followed may say the same in the same words
  update oxbow.reflection_cycles c
     set dropped = (select coalesce(jsonb_agg(d.entry order by d.nth), '[]')
                      from jsonb_array_elements(c.dropped) with ordinality d(entry, nth) where strpos(d.entry ->> 'what', m.content) = 0)
    from oxbow.memories_trait m
   where m.user_id = _user_id and m.id = _id and c.user_id = _user_id and c.dropped <> '[]' and strpos(c.dropped::text, m.content) > 0;
  update oxbow.trait_events e set reason = null
    from oxbow.memories_trait m
   where m.user_id = _user_id and m.id = _id and e.user_id = _user_id and e.trait_id <> _id and strpos(e.reason, m.content) > 0;
end $$;

-- erase_from_jobs takes a memory out of the arguments and errors of the user's jobs. A job that has no other memory is
-- deleted, also while it runs: what it was about to write refers to the memory's row, and is lost with it.
create or replace function oxbow.erase_from_jobs(_user_id text, _id uuid) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _deleted bigint;
begin
  delete from oxbow.river_job j
   where j.args @> jsonb_build_object('user_id', _user_id)
     and strpos(j.args::text, _id::text) > 0
     and (j.args ->> 'ids' is null or j.args ->> 'ids' = _id::text);
  get diagnostics _deleted = row_count;
  update oxbow.river_job j
     set args = jsonb_set(j.args, '{ids}', to_jsonb(array_to_string(array_remove(string_to_array(j.args ->> 'ids', ','), _id::text), ',')))
   where j.args @> jsonb_build_object('user_id', _user_id) and strpos(j.args ->> 'ids', _id::text) > 0;
  update oxbow.river_job j set errors = null
   where j.args @> jsonb_build_object('user_id', _user_id) and strpos(j.errors::text, _id::text) > 0;
  return _deleted;
end $$;

-- erase_places takes a user, or one memory, out of the places that jobs noted to go on from there: they begin anew.
create or replace function oxbow.erase_places(_user_id text, _id uuid default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.settings s
     set value = case when s.value ? 'cursor' then s.value - 'cursor'
                      when s.value ? 'after' then s.value || '{"after": ""}'
                      when jsonb_typeof(s.value) = 'object' then '{}'
                      else '""' end
   where (s.key like 'sweep.%' or s.key in ('reembed', 'consistency'))
     and case when _id is not null then _id::text in (s.value ->> 'id', s.value #>> '{cursor,id}')
              else s.value = to_jsonb(_user_id) or _user_id in (s.value ->> 'user_id', s.value ->> 'after', s.value #>> '{cursor,user_id}') end;
end $$;

-- erase_user erases a user: every row of every table that has a user_id, and every job that names the user, finished ones
-- and their errors included, in the caller's transaction. It returns how many rows each table lost, and leaves a receipt: see
-- erasure. A table that is added later is erased too, since the catalog says which there are.
drop function if exists oxbow.erase_user(text); -- it had no proof once
create or replace function oxbow.erase_user(user_id text, proof text default null) returns table (table_name text, rows bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _attempt integer := 0;
  _rows jsonb;
begin
  perform oxbow.check_access(erase_user.user_id);
  perform oxbow.check_proof(erase_user.proof);
  loop
    begin
      select jsonb_object_agg(e.table_name, e.rows) into _rows from oxbow.erase_rows(erase_user.user_id) e;
      exit;
    exception when deadlock_detected or undefined_table then
      -- a job that folds repeated facts has the statistics' row and waits for a memory; or reembed has just put another
      -- table in the place of the vectors
      _attempt := _attempt + 1;
      if _attempt = 5 then
        raise;
      end if;
    end;
  end loop;
  insert into oxbow.erasures (kind, actor, rows, digest)
  values ('user', oxbow.caller(), oxbow.add_counts(_rows, '{}'), oxbow.erasure_digest(erase_user.proof, erase_user.user_id));
  return query select c.key, c.value::bigint from jsonb_each_text(_rows) c order by c.key;
end $$;
call oxbow.grant_app('erase_user');

-- A job that is just finishing may add rows behind the back of the statement that waits for it, and a job that follows it.
-- So everything is gone through until no job is found: what works on a job that was deleted can no longer commit.
create or replace function oxbow.erase_rows(_user_id text) returns table (table_name text, rows bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- Those that refer to others before those referred to, so that each row is counted with its own table; the statistics,
  -- which deleting terms changes, after them; the jobs last.
  _tables constant regclass[] := array(
    select c.oid
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
     where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     order by c.relname = 'memory_term_stats', c.relname = 'memories',
              exists (select from pg_constraint f where f.contype = 'f' and f.confrelid = c.oid and f.conrelid <> c.oid), c.relname)
    || 'oxbow.river_job'::regclass;
  _counts bigint[] := array_fill(0::bigint, array[cardinality(_tables)]);
  _n bigint;
begin
  perform set_config('oxbow.erasing', 'on', true); -- nobody weighs traits anew that go as well
  loop
    -- Memories first, as embed does: a job that is just writing is waited for, and one that comes later finds nothing.
    perform from oxbow.memories m where m.user_id = _user_id order by m.id for update;
    for i in 1 .. cardinality(_tables) loop
      if _tables[i] = 'oxbow.river_job'::regclass then
        delete from oxbow.river_job j where j.args @> jsonb_build_object('user_id', _user_id);
      else
        execute format('delete from %s t where t.user_id = $1', _tables[i]) using _user_id;
      end if;
      get diagnostics _n = row_count;
      _counts[i] := _counts[i] + _n;
    end loop;
    exit when _n = 0;
  end loop;
  perform set_config('oxbow.erasing', '', true);
  perform oxbow.erase_places(_user_id);
  -- what an import of version 1 could not take over is quoted there
  update oxbow.settings s
     set value = s.value || jsonb_build_object('refusals', (select jsonb_agg(r.refusal - 'detail') from jsonb_array_elements(s.value -> 'refusals') r(refusal)))
   where s.key = 'import_v1' and jsonb_path_exists(s.value, '$.refusals[*].detail');
  -- a job whose arguments name no user is about everybody: it may have failed with this one, and say so, in quotes or without
  update oxbow.river_job j set errors = null
   where not j.args ? 'user_id' and j.errors is not null
     and exists (select from unnest(j.errors) e
                  where strpos(e ->> 'error', _user_id) > 0
                     or strpos(e::text, replace(replace(_user_id, '\', '\\'), '"', '\"')) > 0
                     or strpos(e ->> 'error', replace(replace(_user_id, '\', '\\'), '"', '\"')) > 0);
  return query select split_part(t.name::text, '.', 2), t.n from unnest(_tables, _counts) t(name, n);
end $$;
