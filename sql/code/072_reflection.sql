-- session_is_extracted reports whether no message of a session waits for its first extraction.
create or replace function oxbow.session_is_extracted(_user_id text, _session_id text) returns boolean
language sql stable as $$
  select not exists (select from oxbow.messages m
                      where m.user_id = _user_id and m.session_id = _session_id and m.extracted_at is null
                        and m.extract_failures = 0);
$$;
call oxbow.grant_worker('session_is_extracted');

-- reflection_due returns why a user's inbox is due for reflection; a null type means not yet.
--   importance_accumulated  the importance of its memories sums to 30 (policy reflection_importance) on a scale of 1 to
--                           10; the value is the sum
--   session_end             a conversation ended, or was quiet for 30 minutes, and its messages are extracted;
--                           the value is the number of such conversations
--   scheduled               24 hours have passed since the last reflection, or since the first memory arrived;
--                           the value is in hours
create or replace function oxbow.reflection_due(_user_id text, _now timestamptz default now(),
  out trigger_type text, out trigger_value double precision)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _idle constant interval := make_interval(secs => 60 * oxbow.policy('reflection_idle_minutes'));
  _oldest timestamptz;
  _importance double precision;
  _last timestamptz;
begin
  select min(added_at), sum(importance) * 10 into _oldest, _importance from oxbow.reflection_inbox
   where user_id = _user_id;
  if _oldest is null or exists (select from oxbow.users u where u.user_id = _user_id and u.opted_out) then
    return;
  end if;
  if _importance > oxbow.policy('reflection_importance') - 1e-9 then -- sums of tenths are not exact
    trigger_type := 'importance_accumulated';
    trigger_value := round(_importance::numeric, 6);
    return;
  end if;

  select nullif(count(*), 0) into trigger_value
    from (select s.id from oxbow.sessions s
           where s.user_id = _user_id
             and coalesce(s.ended_at, s.last_activity_at + _idle) <= _now
             and coalesce(s.ended_at, s.last_activity_at) > coalesce(s.last_reflected_at, '-infinity')
             -- implied by the line above, but has an index
             and greatest(s.last_activity_at, s.ended_at) > coalesce(s.last_reflected_at, '-infinity')
             and oxbow.session_is_extracted(s.user_id, s.id)
          union
          select i.session_id from oxbow.reflection_inbox i
           where i.user_id = _user_id and i.session_id is not null
             and not exists (select from oxbow.sessions s where s.user_id = _user_id and s.id = i.session_id
                              and s.ended_at is null and s.last_activity_at > _now - _idle)
           group by i.session_id having max(i.added_at) <= _now - _idle) over;
  if trigger_value is not null then
    trigger_type := 'session_end';
    return;
  end if;

  select c.completed_at into _last from oxbow.reflection_cycles c
   where c.user_id = _user_id and c.status = 'completed' order by c.started_at desc limit 1;
  if coalesce(_last, _oldest) <= _now - make_interval(secs => 3600 * oxbow.policy('reflection_hours')) then
    trigger_type := 'scheduled';
    trigger_value := round(extract(epoch from _now - coalesce(_last, _oldest)) / 3600, 3);
  end if;
end $$;
call oxbow.grant_worker('reflection_due');

-- inbox_users lists users with memories in their inbox, in order, after _after. Each costs one index
-- lookup, however many memories wait.
create or replace function oxbow.inbox_users(_after text, _limit integer) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive u as (
    (select user_id, 1 as n from oxbow.reflection_inbox where user_id > _after order by user_id limit 1)
    union all
    select (select i.user_id from oxbow.reflection_inbox i where i.user_id > u.user_id order by i.user_id limit 1),
           n + 1
      from u where u.user_id is not null and n < _limit
  )
  select user_id from u where user_id is not null;
$$;
call oxbow.grant_worker('inbox_users');

-- empty_inbox empties the inbox of a user who opts out; its memories are not reflected on even if the user
-- opts in again. index_memories holds the lock shared while it writes into the inbox, until it commits. There are 1,024
-- locks, because a statement about very many users must not fill PostgreSQL's table of locks.
create or replace function oxbow.empty_inbox() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.inbox', hashtext(new.user_id) & 1023));
  delete from oxbow.reflection_inbox i where i.user_id = new.user_id;
  return null;
end $$;
create or replace trigger empty_inbox after insert or update of opted_out on oxbow.users
  for each row when (new.opted_out) execute function oxbow.empty_inbox();
