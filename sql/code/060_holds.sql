-- Which versions of memories are valid, now and at earlier moments.

-- holds reports whether a version of a memory is valid: at _valid in the world (null: now), as the system believed at
-- _believed (null: now). A version superseded after _believed had no end yet; one superseded before was valid until
-- its end.
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

-- recallable reports whether recall may ever return a memory.
create or replace function oxbow.recallable(forgotten_at timestamptz, memory_type text, trait_stage text)
returns boolean
language sql immutable parallel safe
return forgotten_at is null
  and (memory_type <> 'trait' or coalesce(trait_stage in ('emerging', 'established', 'core'), false));
