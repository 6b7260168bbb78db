-- Which versions of memories are valid, now and at earlier moments.

-- holds reports whether a version of a memory is valid at _valid in the world, as believed at _believed;
-- null means now. If the version was superseded after _believed, it had no end then. If before, it was
-- valid until its end.
create or replace function oxbow.holds(created_at timestamptz, expired_at timestamptz, valid_at timestamptz,
  invalid_at timestamptz, _valid timestamptz, _believed timestamptz, _now timestamptz) returns boolean
language sql immutable parallel safe
return case
  when _valid is null and _believed is null then expired_at is null and (invalid_at is null or invalid_at > _now)
  when _believed is not null and created_at > _believed then false
  when _valid is null then (expired_at is null or expired_at > _believed)
    and (invalid_at is null or invalid_at > _believed or expired_at > _believed)
  else coalesce(valid_at, created_at) <= _valid
    and case when expired_at is null or expired_at > coalesce(_believed, 'infinity')
             then invalid_at is null or invalid_at > _valid or expired_at is not null
             else invalid_at > _valid end
end;

-- recallable reports whether recall may return a memory at all.
create or replace function oxbow.recallable(forgotten_at timestamptz, memory_type text, trait_stage text)
returns boolean
language sql immutable parallel safe
return forgotten_at is null
  and (memory_type <> 'trait' or coalesce(trait_stage in ('emerging', 'established', 'core'), false));
