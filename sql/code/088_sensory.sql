-- The sensory stream: raw input of the last days, in one unlogged partition per day (UTC). It is neither embedded nor
-- recalled. Old partitions are dropped. Frequent texts are recorded in sensory_candidates.

-- sensory_setting returns how many days the stream is kept (1 to 30, default 3), and how often a text must occur within
-- them to become a candidate (2 to 1000, default 3).
create or replace function oxbow.sensory_setting(out days integer, out times integer)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(max((s.value ->> 'days')::numeric::integer), 3), coalesce(max((s.value ->> 'times')::numeric::integer), 3)
    from oxbow.settings s where s.key = 'sensory';
$$;

-- sensory_since returns the earliest time that is kept: midnight UTC, the configured number of days before
-- today.
create or replace function oxbow.sensory_since() returns timestamptz
language sql stable set search_path = pg_catalog, pg_temp as $$
  select (date_trunc('day', now() at time zone 'UTC') - make_interval(days => (oxbow.sensory_setting()).days))
         at time zone 'UTC';
$$;

-- check_sensory_time rejects rows that are too old to keep, and rows so far ahead that a clock must be
-- wrong. The trigger calls it only for rows more than a day off, so most rows cost nothing.
create or replace function oxbow.check_sensory_time() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _since constant timestamptz := oxbow.sensory_since();
begin
  if new.at < _since then
    perform oxbow.reject('at', new.at::text,
      format('must not be before %s: the sensory stream is kept for %s days', _since, (oxbow.sensory_setting()).days));
  elsif new.at > now() + interval '1 day' then
    perform oxbow.reject('at', new.at::text, 'must not be more than a day ahead');
  end if;
  return new;
end $$;

-- Partitions inherit the trigger, including those created later.
create or replace trigger check_sensory_time before insert or update on oxbow.sensory for each row
  when (new.at < now() - interval '1 day' or new.at > now() + interval '1 day')
  execute function oxbow.check_sensory_time();

-- sensory_day returns the name of a day's partition.
create or replace function oxbow.sensory_day(_day date) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$ select 'sensory_' || to_char(_day, 'YYYYMMDD') $$;

-- sensory_partitions creates the partitions of the days that are kept and of the next 2, moves rows into
-- them from the default partition, and drops partitions that are too old. While the stream is empty it creates none,
-- so a database that does not use the stream does not pay for their files and catalog rows. If another call is running,
-- or a lock is not available within 200 ms, the work is left to the next call; put_off counts such cases. It locks no
-- other table.
--
-- An INSERT locks the stream, and then the partition that it chooses. This function locks in the same order
-- to avoid a deadlock, and only briefly, because the tables are created before.
create or replace function oxbow.sensory_partitions(out made integer, out moved bigint, out dropped integer,
  out deleted bigint, out put_off integer)
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
declare
  _today constant date := (now() at time zone 'UTC')::date;
  _since constant timestamptz := oxbow.sensory_since();
  _first constant date := (_since at time zone 'UTC')::date;
  _new date[] := '{}';
  _old name[];
  _locked boolean := false;
  _failed boolean := false;
  _late boolean := false;
  _day date;
  _name name;
  _n bigint;
begin
  made := 0; moved := 0; dropped := 0; deleted := 0; put_off := 0;
  if not pg_try_advisory_xact_lock(hashtextextended('oxbow.sensory', 0)) then
    put_off := 1;
    return;
  end if;
  for _day in
    select _today + n from generate_series(2, _first - _today, -1) n where exists (select from oxbow.sensory)
  loop
    continue when to_regclass(format('oxbow.%I', oxbow.sensory_day(_day))) is not null;
    continue when not oxbow.make_sensory_table(_day);
    _new := _new || _day;
  end loop;
  select coalesce(array_agg(c.relname order by c.relname), '{}') into _old
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'oxbow.sensory'::regclass and c.relname ~ '^sensory_\d{8}$'
     and c.relname < oxbow.sensory_day(_first);

  if _old <> '{}' then
    begin
      lock table only oxbow.sensory in access exclusive mode;
      _locked := true;
    exception when lock_not_available then
      put_off := 1;
      _old := '{}';
    end;
  end if;
  -- An INSERT that has already chosen the default partition would fail if the partition of its day
  -- appeared.
  if not _locked and exists (select from unnest(_new) d where oxbow.sensory_day_fills(d)) then
    begin
      lock table only oxbow.sensory in share row exclusive mode;
      _locked := true;
    exception when lock_not_available then
      _late := true;
    end;
  end if;
  foreach _day in array _new loop
    if _failed or not _locked and oxbow.sensory_day_fills(_day) then
      execute format('drop table oxbow.%I', oxbow.sensory_day(_day));
      continue;
    end if;
    begin
      _n := oxbow.attach_sensory_day(_day);
      made := made + 1;
      moved := moved + _n;
    exception when lock_not_available or check_violation then
      execute format('drop table oxbow.%I', oxbow.sensory_day(_day));
      _failed := true; -- the next one would wait for the same lock
    end;
  end loop;
  put_off := put_off + (_failed or _late)::integer;

  -- Expired rows that were too many to move. An erasure of such rows locks the stream too.
  delete from oxbow.sensory_default d
   where d.ctid = any (array(
     select o.ctid from oxbow.sensory_default o where o.at < _since order by o.at limit 10000 for update skip locked));
  get diagnostics deleted = row_count;

  foreach _name in array _old loop
    begin
      execute format('drop table oxbow.%I', _name);
      dropped := dropped + 1;
    exception when lock_not_available then
      put_off := put_off + 1;
      exit;
    end;
  end loop;
end $$;
call oxbow.grant_worker('sensory_partitions');

-- sensory_day_fills reports whether rows of a day may be arriving. Rows further ahead are rejected; the
-- hour allows for a clock that is slow.
create or replace function oxbow.sensory_day_fills(_day date) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select _day::timestamp at time zone 'UTC' <= now() + interval '25 hours';
$$;

drop function if exists oxbow.make_sensory_day(date); -- it locked in another order

-- make_sensory_table creates the table of a day, with its policies, before it becomes part of the stream.
-- It returns false if the default partition has too many rows of that day to move without blocking others;
-- the day then stays there.
create or replace function oxbow.make_sensory_table(_day date) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _from constant timestamptz := _day::timestamp at time zone 'UTC';
  _to constant timestamptz := (_day + 1)::timestamp at time zone 'UTC';
begin
  if oxbow.sensory_day_fills(_day)
     and (select count(*) from (
            select from oxbow.sensory_default d where d.at >= _from and d.at < _to limit 10001) n) > 10000 then
    return false;
  end if;
  execute format('create unlogged table oxbow.%I (like oxbow.sensory including all)', oxbow.sensory_day(_day));
  call oxbow.secure_table(format('oxbow.%I', oxbow.sensory_day(_day))::regclass, 'sensory');
  return true;
end $$;

-- attach_sensory_day attaches the table of a day to the stream, moves the day's rows from the default
-- partition into it, and returns how many it moved. If the day may have rows, it locks the default
-- partition.
create or replace function oxbow.attach_sensory_day(_day date) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' as $$
declare
  _name constant name := oxbow.sensory_day(_day);
  _from constant timestamptz := _day::timestamp at time zone 'UTC';
  _to constant timestamptz := (_day + 1)::timestamp at time zone 'UTC';
  _moved bigint := 0;
begin
  if oxbow.sensory_day_fills(_day) then
    lock table oxbow.sensory_default in access exclusive mode;
    execute format('with old as (delete from oxbow.sensory_default d where d.at >= $1 and d.at < $2 returning *)
      insert into oxbow.%I (user_id, at, id, kind, content, metadata, tx)
      select user_id, at, id, kind, content, metadata, tx from old', _name)
      using _from, _to;
    get diagnostics _moved = row_count;
  end if;
  execute format('alter table oxbow.sensory attach partition oxbow.%I for values from (%L) to (%L)', _name, _from, _to);
  return _moved;
end $$;

-- count_sensory reads about _limit next rows of the stream in the order of their transactions, and records frequent
-- texts. It returns how many rows it read; fewer than _limit means that none are left. It stops at the oldest
-- transaction still open, so that it does not miss rows that commit late.
create or replace function oxbow.count_sensory(_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _until constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  _since constant timestamptz := oxbow.sensory_since();
  _times constant integer := (oxbow.sensory_setting()).times;
  _tx xid8 := '0';
  _id uuid := '00000000-0000-0000-0000-000000000000';
  _n bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('oxbow.sensory.count', 0)) then
    return 0;
  end if;
  select (s.value ->> 'tx')::xid8, (s.value ->> 'id')::uuid into _tx, _id from oxbow.settings s
   where s.key = 'sensory.counted';
  if _tx is null or _tx > _until then -- first run, or the position is from another server, before a restore
    _tx := '0';
    _id := '00000000-0000-0000-0000-000000000000';
  end if;

  with fresh as materialized (
    select s.tx, s.id, s.user_id, s.hash from oxbow.sensory s
     where (s.tx, s.id) > (_tx, _id) and s.tx < _until
     order by s.tx, s.id
     fetch first _limit rows with ties
  ), frequent as (
    select t.user_id, t.hash, n.times, n.first_at, n.last_at
      from (select distinct f.user_id, f.hash from fresh f) t,
           lateral oxbow.sensory_count(t.user_id, t.hash, _since) n
     where n.times >= _times
  ), noted as (
    -- Locks the row of the text. An erasure of the user either waits and finds the candidate, or already
    -- has the row, and then no candidate is written.
    insert into oxbow.sensory_candidates as c (user_id, hash, content, times, first_at, last_at)
    select f.user_id, f.hash, s.content, f.times, f.first_at, f.last_at
      from frequent f,
           lateral (select s.content from oxbow.sensory s
                     where s.user_id = f.user_id and s.hash = f.hash and s.at >= _since
                     limit 1 for key share skip locked) s
     order by f.user_id, f.hash
    on conflict (user_id, hash) do update
      set times = excluded.times, first_at = excluded.first_at, last_at = excluded.last_at
  )
  select count(*), max(f.tx), (array_agg(f.id order by f.tx desc, f.id desc))[1] into _n, _tx, _id from fresh f;

  if _n > 0 then
    insert into oxbow.settings (key, value) values ('sensory.counted', jsonb_build_object('tx', _tx::text, 'id', _id))
    on conflict (key) do update set value = excluded.value, updated_at = now();
  end if;
  return _n;
end $$;
call oxbow.grant_worker('count_sensory');

-- sensory_count counts the occurrences of a text since a moment, at most the latest 1000.
create or replace function oxbow.sensory_count(_user_id text, _hash uuid, _since timestamptz, out times integer,
  out first_at timestamptz, out last_at timestamptz)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select count(*)::integer, min(l.at), max(l.at)
    from (select s.at from oxbow.sensory s where s.user_id = _user_id and s.hash = _hash and s.at >= _since
           order by s.at desc limit 1000) l;
$$;

-- age_candidates recounts at most _limit candidates that have lost occurrences to age, deletes those that
-- are no longer frequent, and returns how many it looked at.
create or replace function oxbow.age_candidates(_limit integer) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _since constant timestamptz := oxbow.sensory_since();
  _times constant integer := (oxbow.sensory_setting()).times;
  _n bigint;
begin
  with aged as materialized (
    select c.user_id, c.hash from oxbow.sensory_candidates c
     where c.first_at < _since order by c.first_at limit _limit for update skip locked
  ), counted as materialized (
    select a.user_id, a.hash, n.* from aged a, lateral oxbow.sensory_count(a.user_id, a.hash, _since) n
  ), gone as (
    delete from oxbow.sensory_candidates c using counted n
     where c.user_id = n.user_id and c.hash = n.hash and n.times < _times
  ), kept as (
    update oxbow.sensory_candidates c set times = n.times, first_at = n.first_at, last_at = n.last_at
      from counted n where c.user_id = n.user_id and c.hash = n.hash and n.times >= _times
  )
  select count(*) into _n from counted;
  return _n;
end $$;
call oxbow.grant_worker('age_candidates');
