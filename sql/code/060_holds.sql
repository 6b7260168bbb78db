-- Which versions of memories are valid, now and at earlier moments.

-- former_end returns the end that was known at _believed, from former_ends and the current end.
create or replace function oxbow.former_end(former_ends timestamptz[], invalid_at timestamptz, _believed timestamptz)
returns timestamptz
language plpgsql immutable parallel safe cost 1 as $$
begin
  for i in 1 .. cardinality(former_ends) by 2 loop
    if former_ends[i] > _believed then
      return former_ends[i + 1];
    end if;
  end loop;
  return invalid_at;
end $$;

-- end_believed returns the end of a version as known at _believed; null means now. Without former ends, a version
-- superseded later had no end then. The planner inlines this function and holds, so their cost must stay low.
create or replace function oxbow.end_believed(expired_at timestamptz, invalid_at timestamptz, former_ends timestamptz[],
  _believed timestamptz) returns timestamptz
language sql immutable parallel safe
return case when _believed is null then invalid_at
            when former_ends is not null then oxbow.former_end(former_ends, invalid_at, _believed)
            when expired_at > _believed then null
            else invalid_at end;

-- holds reports whether a version of a memory is valid at _valid in the world, as believed at _believed; null means
-- now. A version superseded by then was valid until its end. No version is valid after expires_at, even if settle has
-- not ended it yet.
create or replace function oxbow.holds(created_at timestamptz, expired_at timestamptz, valid_at timestamptz,
  invalid_at timestamptz, _valid timestamptz, _believed timestamptz, _now timestamptz,
  former_ends timestamptz[] default null, expires_at timestamptz default null) returns boolean
language sql immutable parallel safe
return case
  when _valid is null and _believed is null then expired_at is null and (invalid_at is null or invalid_at > _now)
    and (expires_at is null or expires_at > _now)
  when _believed is not null and created_at > _believed then false
  when _valid is null then (expired_at is null or expired_at > _believed)
    and coalesce(oxbow.end_believed(expired_at, invalid_at, former_ends, _believed) > _believed, true)
    and coalesce(expires_at > _believed, true)
  else coalesce(valid_at, created_at) <= _valid
    and coalesce(oxbow.end_believed(expired_at, invalid_at, former_ends, _believed) > _valid,
          expired_at is null or expired_at > coalesce(_believed, 'infinity'))
    and coalesce(expires_at > _valid, true)
end;

-- note_end keeps the end that was known until now, so that later changes do not move what was believed. It does not
-- fire when a version without an end is superseded: expired_at says since when that has an end.
create or replace function oxbow.note_end() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.former_ends := coalesce(old.former_ends,
      case when old.expired_at is not null then array[old.expired_at, null] end) || array[now(), old.invalid_at];
  return new;
end $$;

create or replace trigger note_end before update of invalid_at, expired_at on oxbow.memories
  for each row
  when (old.created_at < now()
    and (old.invalid_at, old.expired_at) is distinct from (new.invalid_at, new.expired_at)
    and (old.invalid_at is not null or old.expired_at is not null or old.former_ends is not null
      or new.expired_at is null))
  execute function oxbow.note_end();

-- recallable reports whether recall may return a memory at all.
create or replace function oxbow.recallable(forgotten_at timestamptz, memory_type text, trait_stage text)
returns boolean
language sql immutable parallel safe
return forgotten_at is null
  and (memory_type <> 'trait' or coalesce(trait_stage in ('emerging', 'established', 'core'), false));
