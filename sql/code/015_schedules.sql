-- schedule_seconds returns the length of a schedule that is an interval in seconds, or null for any other
-- text. Without the check PostgreSQL would also read '*/5 * * * *' as an interval.
create or replace function oxbow.schedule_seconds(schedule text) returns double precision
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if schedule_seconds.schedule !~ '^ *-?[0-9][0-9.:a-zA-Z ]*$' or schedule_seconds.schedule !~ '[a-zA-Z:]' then
    return null;
  end if;
  return extract(epoch from schedule_seconds.schedule::interval);
exception when others then
  return null;
end $$;

-- is_schedule reports whether a text is a valid schedule: an interval of at least 1 second, a name such as
-- @daily, or a cron expression of minute, hour, day of the month, month and day of the week (0 and 7 are Sunday),
-- each a list of *, numbers, names and ranges, with steps. Null is valid and means the program's own
-- schedule.
create or replace function oxbow.is_schedule(schedule text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _fields constant text[] := regexp_split_to_array(btrim(is_schedule.schedule), '\s+');
  _least constant integer[] := '{0,0,1,1,0}';
  _most constant integer[] := '{59,23,31,12,6}';
  _names constant text[] :=
    '{"","","","jan feb mar apr may jun jul aug sep oct nov dec","sun mon tue wed thu fri sat"}';
  _part text;
  _match text[];
  _ends integer[];
begin
  if is_schedule.schedule is null then
    return true;
  end if;
  if oxbow.schedule_seconds(is_schedule.schedule) is not null then
    return oxbow.schedule_seconds(is_schedule.schedule) >= 1;
  end if;
  if is_schedule.schedule = any('{@yearly,@annually,@monthly,@weekly,@daily,@midnight,@hourly}') then
    return true;
  end if;
  if cardinality(_fields) <> 5 then
    return false;
  end if;
  for i in 1 .. 5 loop
    foreach _part in array regexp_split_to_array(lower(_fields[i]), ',') loop
      continue when i = 5 and _part = '7'; -- only alone: the worker reads it as 0
      _match := regexp_match(_part, '^(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([1-9][0-9]?))?$');
      if _match is null then
        return false;
      end if;
      _ends := array(
        select case when e.text ~ '^[0-9]' then e.text::integer
                    else array_position(string_to_array(_names[i], ' '), e.text) - 1 + _least[i] end
          from unnest(_match[1:2]) with ordinality e(text, nth) where e.text is not null order by e.nth);
      if exists (select from unnest(_ends) e(n) where e.n is null or e.n < _least[i] or e.n > _most[i])
        or _ends[1] > _ends[2] then
        return false;
      end if;
    end loop;
  end loop;
  return true;
end $$;
call oxbow.grant_worker('schedule_seconds', 'is_schedule');
call oxbow.grant_operator('schedule_seconds');
