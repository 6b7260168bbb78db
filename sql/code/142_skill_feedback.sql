-- Skills and feedback: how signals that agree change a skill that answers used, and how that is undone (U §6).

-- adjust_skill counts the outcomes of a skill that signals agree about, and records the adjustment. A version that has
-- then failed too often is retired. It returns the id of the adjustment, or null if the skill is gone.
create or replace function oxbow.adjust_skill(_user_id text, _id uuid, _successes integer, _failures integer, _cause text,
  _signals uuid[], _score double precision, _now timestamptz) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.skills;
  _adjustment uuid;
begin
  perform oxbow.lock_versions(_user_id);
  select * into old from oxbow.skills s where s.user_id = _user_id and s.id = _id for no key update;
  if not found then
    return null;
  end if;
  perform oxbow.count_outcomes(old, _successes, _failures);
  insert into oxbow.adjustments (user_id, kind, memory_id, target, before, after, cause, signals, score, expires_at)
  values (_user_id, 'skill', _id, jsonb_build_object('successes', _successes, 'failures', _failures),
          oxbow.reliability(old.successes, old.failures),
          oxbow.reliability(old.successes + _successes, old.failures + _failures), _cause, _signals, _score,
          _now + make_interval(secs => 86400 * oxbow.policy('feedback_adjustment_days')))
  returning id into _adjustment;
  if _failures > 0 and old.ended_at is null then
    perform oxbow.retire_version(_user_id, _id, _cause, _signals, _score, _now);
  end if;
  return _adjustment;
end $$;
call oxbow.grant_worker('adjust_skill');

-- version_reliability returns the reliability of a version by its own outcomes, without those of earlier versions.
create or replace function oxbow.version_reliability(_user_id text, _id uuid) returns double precision
language sql stable set search_path = pg_catalog, pg_temp as $$
  select oxbow.reliability(greatest(s.successes - coalesce(p.successes, 0), 0), greatest(s.failures - coalesce(p.failures, 0), 0))
    from oxbow.skills s left join oxbow.skills p on p.user_id = s.user_id and p.replaced_by = s.id
   where s.user_id = _user_id and s.id = _id;
$$;
call oxbow.grant_worker('version_reliability');

-- retire_version retires the current version of a skill if its own reliability is below feedback_skill. If the previous
-- version did better, and its return was not already tried and undone, its steps come back as the next version. The
-- adjustment is then about the next version, so that signals against that version undo it, and it does not expire.
-- Otherwise the skill ends until the adjustment expires.
create or replace function oxbow.retire_version(_user_id text, _id uuid, _cause text, _signals uuid[],
  _score double precision, _now timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _own constant double precision := oxbow.version_reliability(_user_id, _id);
  _next oxbow.skills;
  _earlier uuid;
  _better double precision;
begin
  if _own >= oxbow.policy('feedback_skill') then
    return;
  end if;
  select * into _next from oxbow.skills s where s.user_id = _user_id and s.replaced_by = _id;
  _earlier := _next.id;
  _better := oxbow.version_reliability(_user_id, _earlier);
  if _better > _own and not exists (
    select from oxbow.adjustments a where a.user_id = _user_id and a.kind = 'skill' and a.undone_by is not null
       and a.target ->> 'steps_of' = _earlier::text)
  then
    _next.message_id := null;
    _next.said_in := null;
    _next.ended_at := null;
    _next.replaced_by := null;
    _next.reason := null;
    _next.id := oxbow.add_skill(_next, _cause);
  else
    _next.id := _id;
    _earlier := null;
    update oxbow.skills s set ended_at = clock_timestamp(), reason = _cause where s.user_id = _user_id and s.id = _id;
  end if;
  insert into oxbow.adjustments (user_id, kind, memory_id, target, before, after, cause, signals, score, expires_at)
  values (_user_id, 'skill', _next.id, jsonb_build_object('retired', _id, 'steps_of', _earlier), _own,
          case when _earlier is null then 0 else _better end, _cause, _signals, _score,
          case when _earlier is null then _now + make_interval(secs => 86400 * oxbow.policy('feedback_adjustment_days')) end);
end $$;
call oxbow.grant_worker('retire_version');

-- undo_skill undoes what an adjustment changed of a skill. The retired version comes back unless the person has changed
-- the skill since.
create or replace function oxbow.undo_skill(_a oxbow.adjustments) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _retired constant uuid := _a.target ->> 'retired';
  old oxbow.skills;
begin
  select * into old from oxbow.skills s
   where s.user_id = _a.user_id and s.id = coalesce(_retired, _a.memory_id) for no key update;
  if _retired is null then
    perform oxbow.count_outcomes(old, -(_a.target ->> 'successes')::integer, -(_a.target ->> 'failures')::integer);
    return;
  end if;
  update oxbow.skills s set ended_at = clock_timestamp(), reason = 'undone: ' || _a.cause
   where s.user_id = _a.user_id and s.id = _a.memory_id and s.id <> _retired and s.ended_at is null;
  if found or _a.memory_id = _retired then
    update oxbow.skills s set ended_at = null, replaced_by = null, reason = null
     where s.user_id = _a.user_id and s.id = _retired
       and not exists (select from oxbow.skills c
                        where c.user_id = _a.user_id and lower(c.name) = lower(old.name) and c.ended_at is null);
  end if;
end $$;
call oxbow.grant_worker('undo_skill');
