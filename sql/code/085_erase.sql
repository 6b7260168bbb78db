-- Erasure: removes all traces from the database, including jobs and their errors.

-- erase_memory erases a memory with everything that refers to it: vector, terms, history, links, sources,
-- evidence, reported uses, and its entries in the inbox and in jobs. Memories that it superseded and its
-- child traits lose the reference; traits that it supported or contradicted are reweighed. Conclusions that rest on it and
-- summaries of the conversations in which it was said are erased too, and so are facts that were folded into it. It returns
-- the number of deleted rows, 0 for an unknown memory; changes to traits do not count. It leaves a receipt
-- (see erasure), and stays open until older transactions have ended (see finish_erasures).
drop function if exists oxbow.erase_memory(text, uuid); -- an earlier version had no proof
create or replace function oxbow.erase_memory(user_id text, id uuid, proof text default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _attempt integer := 0;
  _rows jsonb;
  _id uuid;
  _digest bytea;
begin
  perform oxbow.check_access(erase_memory.user_id);
  perform oxbow.check_proof(erase_memory.proof);
  loop
    begin
      _rows := oxbow.erase_and_count(erase_memory.user_id, erase_memory.id);
      exit;
    exception when deadlock_detected then
      -- the rows that refer to the memory are known only after it is locked, so they are not all locked in one order
      _attempt := _attempt + 1;
      if _attempt = 5 then
        raise;
      end if;
    end;
  end loop;
  -- a transaction that has not ended may be storing it
  insert into oxbow.open_erasures (user_id, kind, memory_id, digest)
  values (erase_memory.user_id, 'memory', erase_memory.id,
          oxbow.erasure_digest(erase_memory.proof, erase_memory.user_id, erase_memory.id))
  returning open_erasures.id, open_erasures.digest into _id, _digest;
  if _rows <> '{}' then
    insert into oxbow.erasures (id, kind, actor, rows, digest) values (_id, 'memory', oxbow.caller(), _rows, _digest);
  end if;
  return oxbow.sum_counts(_rows);
end $$;
call oxbow.grant_app('erase_memory');

-- erase_and_count is erase_memory without a receipt. It returns the number of deleted rows per table.
create or replace function oxbow.erase_and_count(_user_id text, _id uuid) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _seen uuid[] := oxbow.repeats_of(_user_id, _id);
  _ids uuid[];
  _sessions text[];
  _summaries uuid[] := '{}';
  _rows jsonb := '{}';
  _each uuid;
  _merges uuid[];
begin
  perform oxbow.lock_traits(_user_id, _seen); -- those among them, and those that depend on them
  _ids := oxbow.lock_repeats(_user_id, _id);
  if _ids is distinct from _seen then -- a fact was folded in the meantime
    perform oxbow.lock_traits(_user_id, _ids);
  end if;
  -- a memory merged from it quotes it, and is erased; the other originals become current again
  _merges := oxbow.merged_into(_user_id, _ids);
  perform oxbow.split_merge(_user_id, i.id, 'system', false) from unnest(_merges) i(id);
  _ids := _ids || _merges;
  _ids := _ids || array(select c.id from unnest(oxbow.withdraw_conclusions(_user_id, _ids)) c(id) where c.id <> all(_ids));
  select coalesce(array_agg(distinct s), '{}') into _sessions
    from unnest(_ids) i(id), unnest(oxbow.sessions_of(_user_id, i.id)) s;
  if _sessions <> '{}' then
    -- first, because the writer of a summary waits for the memories that it covers
    perform from oxbow.memories m where m.user_id = _user_id
        and m.id = any(oxbow.summaries_of(_user_id, _sessions) || _ids) order by m.id for update;
    _summaries := oxbow.withdraw_summaries(_user_id, _sessions);
  end if;
  perform oxbow.lock_erased(_user_id, _ids || _summaries);
  for _each in
    select s.id from unnest(_summaries) s(id) where s.id <> all(_ids) union all select i.id from unnest(_ids) i(id)
  loop
    _rows := oxbow.add_counts(_rows, oxbow.erase_one(_user_id, _each));
  end loop;
  return _rows;
end $$;


-- lock_referring locks memories, and those that lose a reference with them, in the order of their ids as everywhere.
-- The lock mode does not block jobs that only refer to them. One condition with OR would read all of the user's
-- memories.
create or replace function oxbow.lock_referring(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from oxbow.memories m
    where m.user_id = _user_id and m.id = any(array(
      select unnest(_ids)
      union select s.id from oxbow.memories s where s.user_id = _user_id and s.superseded_by = any(_ids)
      union select t.id from oxbow.memories_trait t where t.user_id = _user_id and t.trait_parent_id = any(_ids)))
    order by m.id for no key update;
end $$;

-- lock_erased locks several memories as erase_one does, before the first is erased. Erasing a memory
-- subtracts its terms from the statistics; after that the transaction must not wait for one that adds to
-- them (index_memories).
create or replace function oxbow.lock_erased(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if cardinality(_ids) < 2 then
    return; -- erase_one locks it
  end if;
  perform oxbow.lock_referring(_user_id, _ids);
  perform from oxbow.memories m where m.user_id = _user_id and m.id = any(_ids) order by m.id for update;
end $$;

-- erasure returns the receipts that match a proof. A receipt says when, by whom and how much was erased,
-- but not whose data. The caller of an erasure may pass a proof, a secret of at least 16 characters; the
-- receipt holds a digest of it and of what was erased. Only the secret together with the user's id finds
-- the receipt. A random secret given to the user proves the erasure to its holder and to nobody else.
-- While completed_at is null, transactions that began before the erasure committed are open, and rows may grow.
drop function if exists oxbow.erasure(text, text, uuid); -- an earlier version did not return completed_at
create or replace function oxbow.erasure(user_id text, proof text, memory_id uuid default null)
returns table (id uuid, at timestamptz, kind text, actor text, rows jsonb, completed_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(erasure.user_id);
  return query
  select e.id, e.at, e.kind, e.actor, e.rows, e.completed_at from oxbow.erasures e
   where e.digest = oxbow.erasure_digest(erasure.proof, erasure.user_id, erasure.memory_id)
   order by e.at;
end $$;
call oxbow.grant_app('erasure');

create or replace function oxbow.check_proof(_proof text) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if length(_proof) < 16 then -- a short proof could be guessed for every user
    perform oxbow.reject('proof', 'of ' || length(_proof) || ' characters', 'must have at least 16 characters');
  end if;
end $$;

create or replace function oxbow.erasure_digest(_proof text, _user_id text, _memory_id uuid default null) returns bytea
language sql immutable set search_path = pg_catalog, pg_temp
return sha256(convert_to(_proof, 'UTF8') || '\x00' || convert_to(_user_id, 'UTF8')
  || coalesce('\x00'::bytea || convert_to(_memory_id::text, 'UTF8'), ''));

-- add_counts adds numbers of deleted rows, table by table.
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

-- erase_one erases a memory and what refers to it, and returns the deleted rows per table. The caller has
-- locked its traits.
do $$
begin
  if exists (select from pg_proc p
              where p.oid = to_regprocedure('oxbow.erase_one(text, uuid)') and p.prorettype = 'bigint'::regtype) then
    drop function oxbow.erase_one(text, uuid); -- an earlier version returned one number
  end if;
end $$;
create or replace function oxbow.erase_one(_user_id text, _id uuid) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _type text;
  _rows jsonb := '{}';
  _n bigint;
  _child record;
  _topics constant text[] := array(select f.topic from oxbow.topic_fragments f
                                     where f.user_id = _user_id and f.memory_type in ('fact', 'episodic')
                                       and f.memory_id = _id);
begin
  perform oxbow.lock_referring(_user_id, array[_id]);
  perform oxbow.expand_memory(_user_id, _id); -- others may quote all of its content
  for _type in
    -- a job that is processing the memory holds a lock on its row; this waits for it
    select m.memory_type from oxbow.memories m
     where m.user_id = _user_id and m.id = _id order by 1 for update
  loop
    perform oxbow.erase_from_reflection(_user_id, _id);
    perform oxbow.erase_from_feedback(_user_id, _id);
    perform oxbow.erase_from_communities(_user_id, _id);
    -- The history of a memory that it replaced or coexists with quotes its content, and gives the reason in a model's
    -- words.
    update oxbow.memory_history h set new_content = null, new_metadata = null, reason = null
      from oxbow.memories m
      join oxbow.memory_links l on l.user_id = m.user_id and l.from_type = m.memory_type and l.from_id = m.id
       and l.relation in ('supersedes', 'contradicts')
     where m.user_id = _user_id and m.memory_type = _type and m.id = _id
       and h.user_id = l.user_id and h.memory_type = l.to_type and h.memory_id = l.to_id and h.event = 'UPDATE'
       and h.new_content = m.content;
    update oxbow.memory_history h set new_content = null, reason = null
      from oxbow.memory_links l
     where l.user_id = _user_id and l.from_type = _type and l.from_id = _id and l.relation = 'merged_from'
       and h.user_id = _user_id and h.memory_type = l.to_type and h.memory_id = l.to_id and h.event = 'SUPERSEDE';
    -- The foreign keys would delete these rows, but would not count them.
    for _child in
      select c.conrelid::regclass as name,
             coalesce((select p.relname from pg_inherits i join pg_class p on p.oid = i.inhparent
                        where i.inhrelid = c.conrelid),
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

  -- the name of a topic may quote the memory
  delete from oxbow.topics t
   where t.user_id = _user_id and t.topic = any(_topics)
     and not exists (select from oxbow.topic_fragments f where f.user_id = t.user_id and f.topic = t.topic);
  -- the history of the previous version quotes the erased content and the reason for it
  update oxbow.memory_history h set new_content = null, new_metadata = null, reason = null
    from oxbow.memories m
   where m.user_id = _user_id and m.superseded_by = _id and h.event = 'SUPERSEDE'
     and h.user_id = m.user_id and h.memory_type = m.memory_type and h.memory_id = m.id;
  update oxbow.memories m set superseded_by = null where m.user_id = _user_id and m.superseded_by = _id;
  update oxbow.memories_trait m set trait_parent_id = null
   where m.user_id = _user_id and m.trait_parent_id = _id;
  return oxbow.add_counts(_rows, oxbow.erase_mentions(_user_id, _id));
end $$;

-- erase_mentions removes a memory from the reports of its use, from jobs, and from their positions, which name it without
-- a foreign key. It returns the number of rows per table.
create or replace function oxbow.erase_mentions(_user_id text, _id uuid) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _n bigint;
begin
  -- flush_activity is deleting locked rows; it waits for this transaction to add to the memory. Another erasure must not
  -- lock rows, which have other memories too.
  perform pg_advisory_xact_lock(hashtextextended('oxbow.activity', hashtext(_user_id) & 1023)); -- as in empty_inbox
  update oxbow.activity a set memory_ids = array_remove(a.memory_ids, _id)
   where a.user_id = _user_id
     and a.id in (select l.id from oxbow.activity l
                   where l.user_id = _user_id and _id = any(l.memory_ids) for update skip locked);
  get diagnostics _n = row_count;
  perform oxbow.erase_places(_user_id, _id);
  return jsonb_build_object('activity', _n, 'river_job', oxbow.erase_from_jobs(_user_id, _id));
end $$;

-- erase_from_reflection removes an existing memory from the notes of reflections: from rejected proposals
-- and, for a trait, from the events of other traits.
create or replace function oxbow.erase_from_reflection(_user_id text, _id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.reflection_cycles c
     set dropped = (select coalesce(jsonb_agg(d.entry order by d.nth), '[]')
                      from jsonb_array_elements(c.dropped) with ordinality d(entry, nth)
                     where strpos(d.entry::text, _id::text) = 0)
   where c.user_id = _user_id and c.dropped <> '[]' and strpos(c.dropped::text, _id::text) > 0;
  -- A language model may paraphrase the memory without naming it, so its notes are removed. Notes of the
  -- rules use a fixed vocabulary, or text that each of the memories contains.
  update oxbow.reflection_cycles c set dropped = '[]'
    from oxbow.memories m
   where m.user_id = _user_id and m.id = _id and c.user_id = _user_id and c.dropped <> '[]'
     and c.reasoner not like 'rules-%'
     and (m.memory_type = 'trait' or coalesce(c.completed_at, c.started_at) >= m.created_at);
  delete from oxbow.trait_clues c
   where c.user_id = _user_id and c.key like 'says %'
     and c.key in (select e.key from oxbow.trait_clues e where e.user_id = _user_id and e.memory_id = _id);
  if not exists (select from oxbow.memories_trait m where m.user_id = _user_id and m.id = _id) then
    return; -- no event names any other memory
  end if;
  update oxbow.trait_events e
     set reason = null,
         details = (select coalesce(jsonb_object_agg(d.key, d.value), '{}') from jsonb_each(e.details) d
                     where strpos(d.value::text, _id::text) = 0)
   where e.user_id = _user_id and e.details <> '{}' and strpos(e.details::text, _id::text) > 0;
  -- a rejected proposal may use the same words
  update oxbow.reflection_cycles c
     set dropped = (select coalesce(jsonb_agg(d.entry order by d.nth), '[]')
                      from jsonb_array_elements(c.dropped) with ordinality d(entry, nth)
                     where strpos(d.entry ->> 'what', m.content) = 0)
    from oxbow.memories_trait m
   where m.user_id = _user_id and m.id = _id and c.user_id = _user_id and c.dropped <> '[]'
     and strpos(c.dropped::text, m.content) > 0;
  update oxbow.trait_events e set reason = null
    from oxbow.memories_trait m
   where m.user_id = _user_id and m.id = _id and e.user_id = _user_id and e.trait_id <> _id
     and strpos(e.reason, m.content) > 0;
end $$;

-- erase_from_jobs removes a memory from the arguments and errors of the user's jobs. It deletes a job that has no other
-- memory, even while it runs: the job's writes refer to the memory's row and fail.
create or replace function oxbow.erase_from_jobs(_user_id text, _id uuid) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _deleted bigint;
begin
  delete from oxbow.river_job j
   where j.args ->> 'user_id' = _user_id
     and strpos(j.args::text, _id::text) > 0
     and (j.args ->> 'ids' is null or j.args ->> 'ids' = _id::text);
  get diagnostics _deleted = row_count;
  update oxbow.river_job j
     set args = jsonb_set(
           j.args, '{ids}',
           to_jsonb(array_to_string(array_remove(string_to_array(j.args ->> 'ids', ','), _id::text), ',')))
   where j.args ->> 'user_id' = _user_id and strpos(j.args ->> 'ids', _id::text) > 0;
  update oxbow.river_job j set errors = null
   where j.args ->> 'user_id' = _user_id and strpos(j.errors::text, _id::text) > 0;
  return _deleted;
end $$;

-- erase_places removes a user, or one memory, from the positions that jobs save to continue from; they
-- start again.
create or replace function oxbow.erase_places(_user_id text, _id uuid default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.settings s
     set value = case when s.value ? 'cursor' then s.value - 'cursor'
                      when s.value ? 'after' then s.value || '{"after": ""}'
                      when s.value ? 'valid_from' then
                        s.value || '{"user_id": "", "id": "00000000-0000-0000-0000-000000000000"}'
                      when jsonb_typeof(s.value) = 'object' then '{}'
                      else '""' end
   where (s.key like 'sweep.%' or s.key in ('reembed', 'consistency', 'policies.followed'))
     and case when _id is not null then _id::text in (s.value ->> 'id', s.value #>> '{cursor,id}')
              else s.value = to_jsonb(_user_id)
                or _user_id in (s.value ->> 'user_id', s.value ->> 'after', s.value #>> '{cursor,user_id}') end;
end $$;

-- erase_user erases a user in the caller's transaction: the user's rows in every table that has a user_id,
-- and every job that names the user, including finished jobs and their errors. It returns the number of
-- deleted rows per table and leaves a receipt (see erasure). Tables come from the catalog, so new ones are
-- included. The erasure stays open until older transactions have ended (see finish_erasures).
drop function if exists oxbow.erase_user(text); -- an earlier version had no proof
create or replace function oxbow.erase_user(user_id text, proof text default null)
returns table (table_name text, rows bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _attempt integer := 0;
  _rows jsonb;
  _id uuid;
begin
  perform oxbow.check_access(erase_user.user_id);
  perform oxbow.check_proof(erase_user.proof);
  loop
    begin
      select jsonb_object_agg(e.table_name, e.rows) into _rows from oxbow.erase_rows(erase_user.user_id) e;
      exit;
    exception when deadlock_detected or undefined_table then
      -- a job that folds facts has locked the statistics and waits for a memory, or reembed has just
      -- replaced the table of vectors
      _attempt := _attempt + 1;
      if _attempt = 5 then
        raise;
      end if;
    end;
  end loop;
  insert into oxbow.erasures (kind, actor, rows, digest)
  values ('user', oxbow.caller(), oxbow.add_counts(_rows, '{}'),
          oxbow.erasure_digest(erase_user.proof, erase_user.user_id))
  returning erasures.id into _id;
  insert into oxbow.open_erasures (user_id, id, kind) values (erase_user.user_id, _id, 'user');
  return query select c.key, c.value::bigint from jsonb_each_text(_rows) c order by c.key;
end $$;
call oxbow.grant_app('erase_user');

-- erase_rows deletes a user's rows from all tables: all of them or, with _before, those that transactions stored which
-- began before, except at _began. A job that is about to finish may add rows or a follow-up job unseen by a statement
-- that waits for it. So it repeats until it finds no job: work on a deleted job can no longer commit.
drop function if exists oxbow.erase_rows(text); -- an earlier version always deleted all
create or replace function oxbow.erase_rows(_user_id text, _before timestamptz default null,
  _began timestamptz default null) returns table (table_name text, rows bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- Referencing tables come before referenced ones, so that each row is counted with its own table. The
  -- statistics, which deleting terms changes, come after those, and the jobs last.
  _tables constant regclass[] := array(
    select c.oid
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
     where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.oid <> 'oxbow.open_erasures'::regclass
     order by c.relname = 'memory_term_stats', c.relname = 'memories',
              exists (select from pg_constraint f
                       where f.contype = 'f' and f.confrelid = c.oid and f.conrelid <> c.oid),
              c.relname)
    || 'oxbow.river_job'::regclass;
  _counts bigint[] := array_fill(0::bigint, array[cardinality(_tables)]);
  -- flush_activity is deleting locked reports and waits for their memories
  _which constant text[] := array(
    select case when _before is null then 'true' else oxbow.stored_before(t.name) end
        || case when t.name = 'oxbow.activity'::regclass
             then ' and t.id in (select l.id from oxbow.activity l where l.user_id = $1 for update skip locked)' else '' end
      from unnest(_tables) with ordinality t(name, nth) order by t.nth);
  _n bigint;
begin
  perform oxbow.mark_erasing(true); -- do not reweigh traits that are erased too
  loop
    -- Memories first, as in embed: this waits for a job that is writing, and a later job finds nothing.
    perform from oxbow.memories m
      where m.user_id = _user_id and (_before is null
        or (m.stored_at < _before or m.stored_at > clock_timestamp()) and m.stored_at <> _began)
      order by m.id for update;
    for i in 1 .. cardinality(_tables) loop
      execute format('delete from %s t where %s = $1 and %s', _tables[i],
                     case when _tables[i] = 'oxbow.river_job'::regclass then 't.args ->> ''user_id''' else 't.user_id' end,
                     _which[i]) using _user_id, _before, _began;
      get diagnostics _n = row_count;
      _counts[i] := _counts[i] + _n;
    end loop;
    exit when _n = 0;
  end loop;
  perform oxbow.mark_erasing(false);
  perform oxbow.erase_places(_user_id);
  -- the import of version 1 quotes records that it refused
  update oxbow.settings s
     set value = s.value || jsonb_build_object('refusals', (
           select jsonb_agg(r.refusal - 'detail') from jsonb_array_elements(s.value -> 'refusals') r(refusal)))
   where s.key = 'import_v1' and jsonb_path_exists(s.value, '$.refusals[*].detail');
  -- a job without a user in its arguments may have failed because of this one, and quote the id with or
  -- without escapes
  update oxbow.river_job j set errors = null
   where not j.args ? 'user_id' and j.errors is not null
     and exists (select from unnest(j.errors) e
                  where strpos(e ->> 'error', _user_id) > 0
                     or strpos(e::text, replace(replace(_user_id, '\', '\\'), '"', '\"')) > 0
                     or strpos(e ->> 'error', replace(replace(_user_id, '\', '\\'), '"', '\"')) > 0);
  return query select split_part(t.name::text, '.', 2), t.n from unnest(_tables, _counts) t(name, n);
end $$;

-- stored_before returns a condition on the rows t of a table: that a transaction stored them which began before $2, but
-- not at $3. Rows without a time are deleted with those that they refer to.
create or replace function oxbow.stored_before(_table regclass) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
    when _table = 'oxbow.river_job'::regclass then 't.created_at < $2 and t.created_at <> $3'
    when _table = 'oxbow.memory_term_stats'::regclass then 't.documents <= 0'
    when exists (select from pg_attribute a where a.attrelid = _table and a.attname = 'stored_at' and not a.attisdropped)
      then '(t.stored_at < $2 or t.stored_at > clock_timestamp()) and t.stored_at <> $3'
    else coalesce((
      select string_agg(format('(%s) in (select %s from %s p where p.user_id = $1 and (p.stored_at < $2 or p.stored_at > clock_timestamp()) and p.stored_at <> $3)',
                               k.own, k.other, f.confrelid::regclass), ' or ' order by f.conname)
        from pg_constraint f
       cross join lateral (
         select string_agg('t.' || quote_ident(a.attname), ', ' order by c.nth) as own,
                string_agg('p.' || quote_ident(b.attname), ', ' order by c.nth) as other
           from unnest(f.conkey, f.confkey) with ordinality c(own, other, nth)
           join pg_attribute a on a.attrelid = f.conrelid and a.attnum = c.own
           join pg_attribute b on b.attrelid = f.confrelid and b.attnum = c.other) k
       where f.contype = 'f' and f.confdeltype = 'c'
         and f.conrelid in (select _table union all select i.inhrelid from pg_inherits i where i.inhparent = _table)
         and not exists (select from pg_constraint o where o.oid = f.conparentid and o.conrelid = f.conrelid)
         and exists (select from pg_attribute a where a.attrelid = f.confrelid and a.attname = 'stored_at')
      having count(*) > 0), 'false') end;
$$;
