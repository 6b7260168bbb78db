-- Prospective memory: intentions, goals and reminders, and when they are due.

-- remind_time returns when an intention becomes due: at its time or, for a day and anything longer, at the hour
-- remind_hour of its first day in the user's time zone.
create or replace function oxbow.remind_time(_user_id text, _due timestamptz, _precision text) returns timestamptz
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
begin
  return case when _due is null then null when _precision = 'minute' then _due
    else (date_trunc('day', _due at time zone _zone)
          + make_interval(secs => 3600 * oxbow.policy('remind_hour'))) at time zone _zone end;
end $$;
call oxbow.grant_worker('remind_time');

-- intend stores an intention and returns its id. With the external_id of an earlier call, it returns the earlier id.
--   kind        intention, goal, reminder
--   due_at      when it is due; null: no time is known
--   due_precision  minute, day, week, month, year: then due_at is its beginning; null: minute
--   recurrence  an RRULE of iCalendar (RFC 5545) without its name, such as FREQ=WEEKLY;BYDAY=MO, which begins at due_at
--   condition   in words, when it is due instead: "when I get home"
create or replace function oxbow.intend(user_id text, content text, due_at timestamptz default null,
  due_precision text default null, kind text default 'intention', recurrence text default null,
  condition text default null, external_id text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _new oxbow.intentions;
begin
  perform oxbow.check_access(intend.user_id);
  _new.user_id := intend.user_id;
  _new.kind := coalesce(intend.kind, 'intention');
  _new.content := btrim(intend.content);
  _new.due_at := intend.due_at;
  _new.precision := coalesce(intend.due_precision, case when intend.due_at is null then 'none' else 'minute' end);
  _new.recurrence := nullif(intend.recurrence, '');
  _new.condition := nullif(intend.condition, '');
  _new.external_id := intend.external_id;
  _new.source := 'app';
  return oxbow.add_intention(_new);
end $$;
call oxbow.grant_app('intend');

-- add_intention stores an intention. One with the same words that is still open gets the new time.
create or replace function oxbow.add_intention(_new oxbow.intentions) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _id uuid;
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.intentions ' || _new.user_id, 0));
  select i.id into _id
    from (select i.id from oxbow.intentions i where i.user_id = _new.user_id and i.external_id = _new.external_id
          union all
          select i.id from oxbow.intentions i
           where i.user_id = _new.user_id and i.message_id = _new.message_id and i.content = _new.content
             and i.parent_id is null) i;
  if found then
    return _id;
  end if;
  _new.remind_at := oxbow.remind_time(_new.user_id, _new.due_at, _new.precision);
  _new.starts_at := case when _new.recurrence is not null then _new.due_at end;
  update oxbow.intentions i
     set due_at = coalesce(_new.due_at, i.due_at), remind_at = coalesce(_new.remind_at, i.remind_at),
         precision = case when _new.due_at is null then i.precision else _new.precision end,
         recurrence = coalesce(_new.recurrence, i.recurrence), condition = coalesce(_new.condition, i.condition),
         kind = _new.kind,
         starts_at = case when coalesce(_new.recurrence, i.recurrence) is not null
                          then coalesce(_new.due_at, i.starts_at, i.due_at) end
   where i.user_id = _new.user_id and _new.external_id is null
     and i.id = (select n.id from oxbow.intentions n
                  where n.user_id = _new.user_id and n.state = 'open'
                    and md5(lower(n.content)) = md5(lower(_new.content))
                    and n.parent_id is null
                  order by n.created_at desc limit 1)
  returning i.id into _id;
  if found then
    return _id;
  end if;
  _new.id := gen_random_uuid();
  _new.state := 'open';
  _new.created_at := now();
  _new.stored_at := now();
  insert into oxbow.intentions select (_new).*;
  return _new.id;
end $$;
call oxbow.grant_worker('add_intention');

-- lock_intention returns an intention and locks it.
create or replace function oxbow.lock_intention(_user_id text, _id uuid) returns oxbow.intentions
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  i oxbow.intentions;
begin
  select * into i from oxbow.intentions n where n.user_id = _user_id and n.id = _id for update;
  if not found then
    raise exception using errcode = 'OX134',
      message = format('user %L has no intention %s', left(_user_id, 255), _id);
  end if;
  return i;
end $$;
call oxbow.grant_worker('lock_intention');

-- close_intention marks an intention as done or dropped, and reports whether it was open or due. Closing a recurring
-- intention also closes its occurrences that are still due.
create or replace function oxbow.close_intention(_user_id text, _id uuid, _state text, _reason text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  i constant oxbow.intentions := oxbow.lock_intention(_user_id, _id);
begin
  if i.state not in ('open', 'due') then
    return false;
  end if;
  update oxbow.intentions n set state = _state, closed_at = now(), reason = _reason
   where n.user_id = _user_id and n.state in ('open', 'due') and (n.id = _id or n.parent_id = _id);
  return true;
end $$;
call oxbow.grant_worker('close_intention');

-- complete_intention marks an intention as done, and reports whether it was open or due.
create or replace function oxbow.complete_intention(user_id text, id uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(complete_intention.user_id);
  return oxbow.close_intention(complete_intention.user_id, complete_intention.id, 'done', complete_intention.reason);
end $$;
call oxbow.grant_app('complete_intention');

-- drop_intention marks an intention as dropped, and reports whether it was open or due.
create or replace function oxbow.drop_intention(user_id text, id uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(drop_intention.user_id);
  return oxbow.close_intention(drop_intention.user_id, drop_intention.id, 'dropped', drop_intention.reason);
end $$;
call oxbow.grant_app('drop_intention');

-- snooze_intention makes an intention due again at a later time, and reports whether it was open or due.
create or replace function oxbow.snooze_intention(user_id text, id uuid, until timestamptz) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  i oxbow.intentions;
begin
  perform oxbow.check_access(snooze_intention.user_id);
  if snooze_intention.until is null then
    perform oxbow.reject('until', null, 'must be a time');
  end if;
  i := oxbow.lock_intention(snooze_intention.user_id, snooze_intention.id);
  if i.recurrence is not null then
    perform oxbow.reject('id', i.id::text, 'must not be of a recurring intention: snooze its occurrence');
  elsif i.state not in ('open', 'due') then
    return false;
  end if;
  update oxbow.intentions n set state = 'open', remind_at = snooze_intention.until, became_due_at = null
   where n.user_id = i.user_id and n.id = i.id;
  return true;
end $$;
call oxbow.grant_app('snooze_intention');

-- upcoming returns the intentions of a user that are due or will be by until, the earliest first, then those without a
-- time. Without until, it returns all that are open or due.
create or replace function oxbow.upcoming(user_id text, until timestamptz default null, max_results integer default 100)
returns table (id uuid, kind text, content text, due_at timestamptz, "precision" text, remind_at timestamptz,
  recurrence text, condition text, state text, created_at timestamptz, became_due_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict error
begin
  perform oxbow.check_access(upcoming.user_id);
  if upcoming.max_results is null or upcoming.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', upcoming.max_results::text, 'must be between 1 and 1000');
  end if;
  return query
  select i.id, i.kind, i.content, i.due_at, i.precision, i.remind_at, i.recurrence, i.condition, i.state, i.created_at,
         i.became_due_at
    from ((select i.* from oxbow.intentions i
            where i.user_id = upcoming.user_id and i.state in ('open', 'due')
              and (upcoming.until is null or i.due_at <= upcoming.until)
            order by i.due_at, i.created_at, i.id limit upcoming.max_results)
          union all -- and the few that do not wait for their time
          select i.* from oxbow.intentions i
           where i.user_id = upcoming.user_id and upcoming.until is not null and (i.state = 'due'
                 or i.state = 'open' and i.remind_at is not null and (i.due_at is null or i.remind_at < i.due_at))
             and (i.state = 'due' or i.remind_at <= upcoming.until) and (i.due_at <= upcoming.until) is not true) i
   order by i.due_at, i.created_at, i.id limit upcoming.max_results;
end $$;
call oxbow.grant_app('upcoming');

-- due_intentions makes at most _limit intentions of all users due whose time has come, announces each on the channel
-- oxbow.due with the user and the id, and returns them. A recurring one stays open: an occurrence of it becomes due,
-- and the caller sets its next time (advance_intention); due_id is null if that occurrence was announced before.
-- Intentions that are locked elsewhere are left for the next run.
create or replace function oxbow.due_intentions(_now timestamptz, _limit integer)
returns table (user_id text, id uuid, due_id uuid, due_at timestamptz, recurrence text, starts_at timestamptz,
  user_zone text)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict error
declare
  i oxbow.intentions;
begin
  for i in
    select n.* from oxbow.intentions n where n.state = 'open' and n.remind_at <= _now
     order by n.remind_at limit _limit for update skip locked
  loop
    user_id := i.user_id;
    id := i.id;
    due_id := i.id;
    due_at := i.due_at;
    recurrence := i.recurrence;
    starts_at := i.starts_at;
    user_zone := coalesce((select u.timezone from oxbow.users u where u.user_id = i.user_id), 'UTC');
    if i.recurrence is null then
      update oxbow.intentions n set state = 'due', became_due_at = _now where n.user_id = i.user_id and n.id = i.id;
    else
      insert into oxbow.intentions (user_id, kind, content, due_at, precision, remind_at, state, source, parent_id,
        became_due_at)
      values (i.user_id, i.kind, i.content, i.due_at, i.precision, i.remind_at, 'due', i.source, i.id, _now)
      on conflict do nothing returning intentions.id into due_id;
    end if;
    if due_id is not null then
      perform pg_notify('oxbow.due', jsonb_build_object('user_id', i.user_id, 'id', due_id)::text);
    end if;
    return next;
  end loop;
end $$;
call oxbow.grant_worker('due_intentions');

-- advance_intention sets the next time of a recurring intention, or closes it if it does not recur any more.
create or replace function oxbow.advance_intention(_user_id text, _id uuid, _next timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.intentions i
     set due_at = coalesce(_next, i.due_at),
         remind_at = case when _next is not null then oxbow.remind_time(_user_id, _next, i.precision) end,
         state = case when _next is null then 'done' else 'open' end,
         closed_at = case when _next is null then now() end
   where i.user_id = _user_id and i.id = _id;
$$;
call oxbow.grant_worker('advance_intention');

-- hear_intentions stores the intentions that an extraction heard in a conversation, in order. A message that closes one
-- closes the open or due intention that shares most words with it, at least half, among the 500 that are due first.
create or replace function oxbow.hear_intentions(_user_id text, _session_id text, _heard jsonb) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _found record;
  _new oxbow.intentions;
  _id uuid;
begin
  for _found in
    select h.* from jsonb_array_elements(_heard) with ordinality e(value, nth),
           jsonb_to_record(e.value) h(content text, kind text, due_at timestamptz, precision text, recurrence text,
             condition text, closes text, message uuid)
     order by e.nth
  loop
    if _found.closes <> '' then
      select i.id into _id
        from (select * from oxbow.intentions i
               where i.user_id = _user_id and i.state in ('open', 'due') order by i.due_at limit 500) i,
             lateral (
          select oxbow.terms_shared(oxbow.question_terms(_found.content), oxbow.question_terms(i.content)) as share) s
       where i.recurrence is null and s.share >= 0.5
       order by s.share desc, i.created_at desc, i.id limit 1;
      if found then
        perform oxbow.close_intention(_user_id, _id, _found.closes, left(_found.content, 2000));
      end if;
      continue;
    end if;
    _new := null;
    _new.user_id := _user_id;
    _new.kind := _found.kind;
    _new.content := _found.content;
    _new.due_at := _found.due_at;
    _new.precision := coalesce(nullif(_found.precision, ''), 'none');
    _new.recurrence := nullif(_found.recurrence, '');
    _new.condition := nullif(_found.condition, '');
    _new.source := 'conversation';
    _new.message_id := _found.message;
    _new.said_in := _session_id;
    perform oxbow.add_intention(_new);
  end loop;
end $$;
call oxbow.grant_worker('hear_intentions');

-- terms_shared returns the share of the smaller of two sets of terms that the other set contains.
create or replace function oxbow.terms_shared(_a text[], _b text[]) returns double precision
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select count(*)::double precision / greatest(least(cardinality(_a), cardinality(_b)), 1)
    from unnest(_a) a where a = any(_b);
$$;
call oxbow.grant_worker('terms_shared');
