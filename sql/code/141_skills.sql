-- Skills: named steps for a situation, with how often they worked (U §6).

-- learn_skill stores a skill and returns its id. If the user has a current skill of that name, the new one is its next
-- version and keeps the counts of what worked; the old one stays, with the reason. The same skill again changes
-- nothing.
create or replace function oxbow.learn_skill(user_id text, name text, steps text[], situation text default null,
  preconditions text[] default null, reason text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _new oxbow.skills;
begin
  perform oxbow.check_access(learn_skill.user_id);
  _new.user_id := learn_skill.user_id;
  _new.name := btrim(learn_skill.name);
  _new.situation := coalesce(learn_skill.situation, '');
  _new.steps := coalesce(learn_skill.steps, '{}');
  _new.preconditions := coalesce(learn_skill.preconditions, '{}');
  _new.source := 'app';
  return oxbow.add_skill(_new, learn_skill.reason);
end $$;
call oxbow.grant_app('learn_skill');

-- lock_versions makes transactions that change the versions of a user's skills run one at a time.
create or replace function oxbow.lock_versions(_user_id text) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select pg_advisory_xact_lock(hashtextextended('oxbow.skills ' || _user_id, 0));
$$;
call oxbow.grant_worker('lock_versions');

-- add_skill stores a skill, as described at learn_skill.
create or replace function oxbow.add_skill(_new oxbow.skills, _reason text) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.skills;
begin
  perform oxbow.lock_versions(_new.user_id);
  if exists (select from oxbow.skills s where s.user_id = _new.user_id and s.message_id = _new.message_id
                and s.name = _new.name) then
    return (select s.id from oxbow.skills s where s.user_id = _new.user_id and s.message_id = _new.message_id
               and s.name = _new.name);
  end if;
  select * into old from oxbow.skills s
   where s.user_id = _new.user_id and lower(s.name) = lower(_new.name) and s.ended_at is null for update;
  if (old.steps, old.situation, old.preconditions) = (_new.steps, _new.situation, _new.preconditions) then
    return old.id;
  end if;
  _new.id := gen_random_uuid();
  _new.created_at := now();
  _new.stored_at := now();
  _new.version := coalesce(old.version, 0) + 1;
  _new.successes := coalesce(old.successes, 0);
  _new.failures := coalesce(old.failures, 0);
  _new.used_at := old.used_at;
  _new.terms := coalesce((oxbow.terms(concat_ws(' ', _new.name, _new.situation))).tsv, '');
  update oxbow.skills s set ended_at = now(), replaced_by = _new.id, reason = coalesce(_reason, 'a newer version')
   where s.user_id = old.user_id and s.id = old.id;
  insert into oxbow.skills select (_new).*;
  return _new.id;
end $$;
call oxbow.grant_worker('add_skill');

-- lock_skill returns a current skill and locks it.
create or replace function oxbow.lock_skill(_user_id text, _id uuid) returns oxbow.skills
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  skill oxbow.skills;
begin
  select * into skill from oxbow.skills s where s.user_id = _user_id and s.id = _id for update;
  if not found then
    raise exception using errcode = 'OX133',
      message = format('user %L has no skill %s', left(_user_id, 255), _id);
  end if;
  return skill;
end $$;

-- count_outcomes adds to the counts of a locked skill and, if it was replaced, of the current version.
create or replace function oxbow.count_outcomes(_skill oxbow.skills, _successes integer, _failures integer) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.skills s
     set successes = greatest(s.successes + _successes, 0), failures = greatest(s.failures + _failures, 0)
   where s.user_id = _skill.user_id and (s.id = _skill.id
      or s.ended_at is null and lower(s.name) = lower(_skill.name) and _skill.replaced_by is not null);
$$;
call oxbow.grant_worker('count_outcomes');

-- skill_outcome counts that a skill worked or did not. An outcome of an old version counts for the current one.
create or replace function oxbow.skill_outcome(user_id text, id uuid, success boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  skill oxbow.skills;
begin
  perform oxbow.check_access(skill_outcome.user_id);
  skill := oxbow.lock_skill(skill_outcome.user_id, skill_outcome.id);
  if skill_outcome.success is null then
    perform oxbow.reject('success', null, 'must be true or false');
  end if;
  perform oxbow.count_outcomes(skill, skill_outcome.success::integer, (not skill_outcome.success)::integer);
  update oxbow.skills s set used_at = now() where s.user_id = skill.user_id and s.id = skill.id;
end $$;
call oxbow.grant_app('skill_outcome');

-- drop_skill ends a skill, and reports whether it was current.
create or replace function oxbow.drop_skill(user_id text, id uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  skill oxbow.skills;
begin
  perform oxbow.check_access(drop_skill.user_id);
  skill := oxbow.lock_skill(drop_skill.user_id, drop_skill.id);
  update oxbow.skills s set ended_at = now(), reason = drop_skill.reason
   where s.user_id = skill.user_id and s.id = skill.id and s.ended_at is null;
  return found;
end $$;
call oxbow.grant_app('drop_skill');

-- reliability returns the probability that a skill works: the mean of the Beta distribution with a uniform prior
-- (Laplace's rule of succession).
create or replace function oxbow.reliability(_successes bigint, _failures bigint) returns double precision
language sql immutable parallel safe
return (_successes + 1)::double precision / (_successes + _failures + 2);
call oxbow.grant_worker('reliability');

-- skills_for returns the current skills of a user for a situation, the best first, or all if the situation is null.
-- relevance is the share of the situation's words that appear in the name or situation of the skill. Skills are ordered
-- by the product of relevance and reliability.
create or replace function oxbow.skills_for(user_id text, situation text default null, max_results integer default 5)
returns table (id uuid, name text, "when" text, steps text[], preconditions text[], version integer,
  successes integer, failures integer, relevance double precision, reliability double precision,
  created_at timestamptz, used_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _terms constant text[] := oxbow.question_terms(skills_for.situation);
begin
  perform oxbow.check_access(skills_for.user_id);
  if skills_for.max_results is null or skills_for.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', skills_for.max_results::text, 'must be between 1 and 1000');
  end if;
  return query
  select s.id, s.name, s.situation, s.steps, s.preconditions, s.version, s.successes, s.failures, r.relevance,
         oxbow.reliability(s.successes, s.failures), s.created_at, s.used_at
    from oxbow.skills s, lateral (
      select case when skills_for.situation is null then 1
                  else (select count(*) from unnest(_terms) t where s.terms @@ quote_literal(t)::tsquery)
                       / greatest(cardinality(_terms), 1)::double precision end as relevance) r
   where s.user_id = skills_for.user_id and s.ended_at is null and r.relevance > 0
   order by r.relevance * oxbow.reliability(s.successes, s.failures) desc, s.created_at desc, s.id
   limit skills_for.max_results;
end $$;
call oxbow.grant_app('skills_for');
