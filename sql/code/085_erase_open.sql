-- Open erasures: what older transactions store after an erasure.

-- An erasure deletes what its statements see. A transaction that began earlier may commit later, with rows of the
-- user: a batch in flight, or one that read first. An erasure cannot wait for these, because one of them may also be
-- an erasure that waits for this one. So it stays open after its commit: a row in open_erasures says when the commit
-- began, and finish_erasures deletes the rows of transactions that began before, again and again until none of these
-- is left. Every row that is not deleted with another has the time at which its transaction began (stored_at, the
-- default now()); time, unlike xmin, survives updates, and needs no id of a transaction that has not written yet. So
-- the rows of a transaction that began later, those of a new user, stay, and INSERT pays nothing.

-- date_erasure dates an erasure when its commit begins, which may be long after the function was called.
create or replace function oxbow.date_erasure() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.open_erasures e set at = clock_timestamp() where e.user_id = new.user_id and e.id = new.id;
  return null;
end $$;
do $$
begin
  if not exists (select from pg_trigger t where t.tgrelid = 'oxbow.open_erasures'::regclass and t.tgname = 'date_erasure')
  then
    create constraint trigger date_erasure after insert on oxbow.open_erasures
      deferrable initially deferred for each row execute function oxbow.date_erasure();
  end if;
end $$;

-- open_transactions returns the transactions of this database that have not ended, except this one: of those in _among
-- or, if it is null, of all. A prepared transaction always counts, because preparing changes its name. Writing
-- transactions are those that have written to a table of the schema.
create or replace function oxbow.open_transactions(_among text[], out open text[], out writing integer)
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with locks as materialized (
    select l.virtualtransaction as name, l.pid, l.locktype, l.transactionid, l.mode, l.database, l.relation
      from pg_locks l where l.granted
  ), open as (
    select l.name from locks l join pg_stat_activity a on a.pid = l.pid
     where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and l.pid <> pg_backend_pid()
       and a.datname = current_database() and a.usesysid is not null -- not autovacuum
       and (_among is null or l.name = any(_among))
    union
    select l.name from locks l join pg_prepared_xacts p on p.transaction = l.transactionid
     where l.locktype = 'transactionid' and l.pid is null and p.database = current_database()
  )
  select coalesce(array_agg(o.name), '{}'),
         count(*) filter (where exists (
           select from locks l join pg_class c on c.oid = l.relation
            where l.name = o.name and l.locktype = 'relation' and l.mode = 'RowExclusiveLock'
              and l.database = (select d.oid from pg_database d where d.datname = current_database())
              and c.relnamespace = 'oxbow'::regnamespace))::integer
    from open o;
$$;

-- finish_erasures deletes what transactions that began before an erasure of the user, of a memory or of a file
-- committed have stored, adds it to the receipt, and ends the erasures for which no such transaction is left. It
-- returns how many erasures stay open, the largest number of transactions that one waits for, and of those that have
-- written to the schema. The client calls it after an erasure, and sweep for all users.
create or replace function oxbow.finish_erasures(user_id text, out open integer, out awaited integer,
  out writing integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _e oxbow.open_erasures;
  _left record;
  _rows jsonb;
begin
  perform oxbow.check_access(finish_erasures.user_id);
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using
      errcode = 'invalid_transaction_state',
      message = format('finish_erasures runs only in a transaction that is read committed, this one is %s',
                       current_setting('transaction_isolation')),
      hint    = 'It must see what other transactions commit while it runs.';
  end if;
  open := 0; awaited := 0; writing := 0;
  for _e in
    select * from oxbow.open_erasures e
     where e.user_id = finish_erasures.user_id and e.began <> now() -- not of this transaction
     order by random() limit 100 for update skip locked -- many stay open as long as a backup runs
  loop
    -- In this order: what has ended when it is looked up has stored everything that the deletion below sees.
    _left := oxbow.open_transactions(_e.awaited);
    if _e.kind = 'user' then
      select jsonb_object_agg(r.table_name, r.rows) into _rows
        from oxbow.erase_rows(_e.user_id, _e.at, _e.began) r;
    elsif _e.kind = 'memory' then
      _rows := oxbow.erase_late(_e);
    elsif _e.kind = 'file' then
      perform oxbow.delete_late(_e);
    else
      delete from oxbow.messages m
       where m.user_id = _e.user_id and m.session_id = _e.session_id and (_e.ids is null or m.id = any(_e.ids))
         and m.stored_at < _e.at and m.stored_at <> _e.began;
    end if;
    _rows := oxbow.add_counts(_rows, '{}');
    if _e.kind = 'memory' and _rows <> '{}' then
      insert into oxbow.erasures (id, kind, actor, rows, digest) values (_e.id, 'memory', oxbow.caller(), '{}', _e.digest)
        on conflict (id) do nothing; -- it was not stored when it was erased
    end if;
    update oxbow.erasures r
       set rows = oxbow.add_counts(r.rows, _rows),
           completed_at = case when _left.open = '{}' then clock_timestamp() end
     where r.id = _e.id and (_rows <> '{}' or _left.open = '{}');
    if _left.open = '{}' then
      delete from oxbow.open_erasures e where e.user_id = _e.user_id and e.id = _e.id;
      if _e.kind = 'user' then
        insert into oxbow.erased_users (hash, at) values (sha256(convert_to(_e.user_id, 'UTF8')), _e.at)
          on conflict do nothing;
      end if;
    else
      update oxbow.open_erasures e set awaited = _left.open
       where e.user_id = _e.user_id and e.id = _e.id and e.awaited is distinct from _left.open;
      awaited := greatest(awaited, cardinality(_left.open));
      writing := greatest(writing, _left.writing);
    end if;
  end loop;
  open := (select count(*) from oxbow.open_erasures e
            where e.user_id = finish_erasures.user_id and e.began <> now());
end $$;
call oxbow.grant_app('finish_erasures');

-- erasing_users returns users with an open erasure, at most _limit, and forgets those who were erased more than an hour ago.
create or replace function oxbow.erasing_users(_limit integer) returns setof text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  delete from oxbow.erased_users e where e.at < now() - interval '1 hour';
  select e.user_id from oxbow.open_erasures e group by e.user_id order by random() limit _limit;
$$;
call oxbow.grant_worker('erasing_users');

-- erase_late erases a memory that an older transaction stored, or mentions of an erased one. A memory with its id that a
-- later transaction stored stays.
create or replace function oxbow.erase_late(_e oxbow.open_erasures) returns jsonb
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _late boolean := (select m.stored_at < _e.at and m.stored_at <> _e.began from oxbow.memories m
                     where m.user_id = _e.user_id and m.id = _e.memory_id order by m.stored_at limit 1);
begin
  if _late then
    return oxbow.erase_and_count(_e.user_id, _e.memory_id);
  elsif not _late then
    return '{}';
  end if;
  perform oxbow.erase_from_reflection(_e.user_id, _e.memory_id);
  perform oxbow.erase_from_feedback(_e.user_id, _e.memory_id);
  perform oxbow.erase_from_communities(_e.user_id, _e.memory_id);
  return oxbow.erase_mentions(_e.user_id, _e.memory_id);
end $$;

-- delete_late deletes a file that an older transaction stored under the path of a deleted one.
create or replace function oxbow.delete_late(_e oxbow.open_erasures) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _file_id uuid;
begin
  perform oxbow.lock_file(_e.user_id, _e.path);
  select f.id into _file_id from oxbow.document_files f
   where f.user_id = _e.user_id and f.path = _e.path and f.stored_at < _e.at and f.stored_at <> _e.began;
  if found then
    perform oxbow.erase_documents(_e.user_id, oxbow.lock_chunks(_e.user_id, _file_id));
    delete from oxbow.document_files f where f.user_id = _e.user_id and f.id = _file_id;
  end if;
end $$;

-- erased_after reports whether the user was erased after a time, within the last hour; if so, what a program noted
-- about the user before must not be stored. Only callers who may see the user learn this.
create or replace function oxbow.erased_after(user_id text, at timestamptz) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  if not oxbow.may_debug(oxbow.caller()) then
    perform oxbow.check_access(erased_after.user_id);
  end if;
  return exists (select from oxbow.open_erasures e
                  where e.user_id = erased_after.user_id and e.kind = 'user' and e.at > erased_after.at)
      or exists (select from oxbow.erased_users e
                  where e.hash = sha256(convert_to(erased_after.user_id, 'UTF8')) and e.at > erased_after.at);
end $$;
call oxbow.grant_app('erased_after');
call oxbow.grant_operator('erased_after');
