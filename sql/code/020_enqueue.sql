-- enqueue_embed enqueues embed jobs for inserted memories in the same transaction, one job per user and 128
-- memories. The ids are one string, because a JSON array takes longer to build and to read. It touches no
-- unique key and no shared row, so open transactions never wait for each other; the worker handles
-- duplicates. The doorbell is the body of ring_doorbell, inlined because the call would add a tenth to the
-- cost of the trigger. A caller that embeds in the same transaction sets oxbow.embed to 'off'; a traced
-- caller sets oxbow.traceparent.
create or replace function oxbow.enqueue_embed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _metadata jsonb := '{}';
  _origin jsonb := '{}';
begin
  if current_setting('oxbow.embed', true) = 'off' then
    return null;
  end if;
  if current_setting('oxbow.traceparent', true) <> '' then
    _metadata := oxbow.trace_metadata();
  end if;
  if current_setting('oxbow.origin', true) = 'import' then
    _origin := '{"imported": true}'; -- what it replaces is in the import
  end if;
  insert into oxbow.river_job (kind, queue, max_attempts, args, metadata)
  select 'embed', 'embed', 25,
         jsonb_build_object('user_id', u.user_id, 'ids', array_to_string(u.ids[u.i:u.i + 127], ',')) || _origin,
         _metadata
    from (select user_id, array_agg(id) as ids, generate_series(1, count(*), 128) as i
            from inserted group by user_id) u;
  if found and pg_try_advisory_xact_lock(hashtextextended('oxbow.doorbell', 0)) then
    perform pg_notify('oxbow.river_insert', '{"queue":"embed"}');
  end if;
  return null;
end $$;

-- trace_metadata returns the metadata of a job whose cause is traced: the setting oxbow.traceparent in the
-- W3C format. Any other value is ignored.
create or replace function oxbow.trace_metadata() returns jsonb
language sql stable set search_path = pg_catalog, pg_temp
return case when current_setting('oxbow.traceparent', true) ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
            then jsonb_build_object('traceparent', current_setting('oxbow.traceparent', true)) else '{}' end;

-- ring_doorbell notifies workers of new jobs. NOTIFY serializes commits, so only one open transaction at a
-- time rings; the worker's short poll covers the others. The lock key is derived from a name, because an
-- application may use any small number itself.
create or replace function oxbow.ring_doorbell() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if pg_try_advisory_xact_lock(hashtextextended('oxbow.doorbell', 0)) then
    perform pg_notify('oxbow.river_insert', '{"queue":"embed"}');
  end if;
end $$;

-- A statement on the parent fires the parent's trigger; a statement on a partition fires the partition's
-- own.
do $$
declare t regclass;
begin
  for t in select 'oxbow.memories'::regclass union all
           select inhrelid::regclass from pg_inherits where inhparent = 'oxbow.memories'::regclass
  loop
    execute format('create or replace trigger enqueue_embed after insert on %s
                    referencing new table as inserted for each statement
                    execute function oxbow.enqueue_embed()', t);
  end loop;
end $$;

-- waiting_jobs returns the number of due jobs that embed or extract, for a user or for all, at most _limit. It counts
-- from the latest, because the index entries of jobs that were taken come first.
drop function if exists oxbow.waiting_jobs(integer);
create or replace function oxbow.waiting_jobs(_limit integer, _user_id text default null) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off as $$
begin
  if _user_id is not null then
    return (
      select count(*) from (
        select from oxbow.river_job j
         where j.state = 'available' and j.queue in ('embed', 'extract')
           and hashtext(coalesce(j.args ->> 'user_id', '')) = hashtext(_user_id) and j.args ->> 'user_id' = _user_id
           and j.priority = 1 and j.scheduled_at <= now() and j.kind in ('embed', 'extract')
         limit _limit) w);
  end if;
  return (
    select count(*) from (
      (select from oxbow.river_job j
        where j.state = 'available' and j.queue = 'embed' and j.priority = 1 and j.scheduled_at <= now()
        order by j.scheduled_at desc limit _limit)
      union all
      (select from oxbow.river_job j
        where j.state = 'available' and j.queue = 'extract' and j.priority = 1 and j.scheduled_at <= now()
        order by j.scheduled_at desc limit _limit)
      limit _limit) w);
end $$;
call oxbow.grant_worker('waiting_jobs');
