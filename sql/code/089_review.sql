-- Review: the columns tier and verified of a memory, and the reviewer (L).

-- verify records that a person confirmed a memory, or withdraws that. Oxbow never forgets a verified memory by itself.
drop function if exists oxbow.verify(text, uuid, boolean, text); -- an earlier version had no actor
create or replace function oxbow.verify(user_id text, id uuid, verified boolean default true, reason text default null,
  actor text default 'app') returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(verify.user_id);
  if verify.verified is null then
    perform oxbow.reject('verified', null, 'must be true or false');
  end if;
  old := oxbow.lock_kept(verify.user_id, verify.id);
  if old.verified = verify.verified then
    return;
  end if;
  update oxbow.memories m set verified = verify.verified, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_metadata, new_metadata, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'VERIFY', jsonb_build_object('verified', old.verified),
          jsonb_build_object('verified', verify.verified), oxbow.person_actor(coalesce(verify.actor, 'app')),
          verify.reason);
end $$;
call oxbow.grant_app('verify');

-- write_tier changes the tier of a memory that is locked. In the tiers core and system strength does not fall. A
-- demotion counts as a review, so that the memory is not due for promotion.
create or replace function oxbow.write_tier(_old oxbow.memories, _tier text, _actor text, _reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_old.user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _after double precision;
begin
  update oxbow.memories m
     set tier = _tier, reviews = greatest(m.reviews, case _tier when 'normal' then 1 end), updated_at = now()
   where m.user_id = _old.user_id and m.memory_type = _old.memory_type and m.id = _old.id
  returning oxbow.weight_of(m, _now, _rules) into _after;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_metadata, new_metadata, actor, reason)
  values (_old.user_id, _old.memory_type, _old.id, case when _tier = 'normal' then 'DEMOTE' else 'PROMOTE' end,
          jsonb_build_object('tier', _old.tier), jsonb_build_object('tier', _tier), _actor, _reason);
  perform oxbow.log_weight(_old.user_id, _old.memory_type, _old.id, _now, 'reviewed',
                           oxbow.weight_of(_old, _now, _rules), _after, 1, _actor);
end $$;
call oxbow.grant_worker('write_tier');

-- set_tier changes the tier of a memory: normal, core or system (L). It can also undo a promotion by the reviewer.
create or replace function oxbow.set_tier(user_id text, id uuid, tier text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(set_tier.user_id);
  if set_tier.tier is null or set_tier.tier not in ('normal', 'core', 'system') then
    perform oxbow.reject('tier', set_tier.tier, 'must be normal, core or system');
  end if;
  old := oxbow.lock_kept(set_tier.user_id, set_tier.id);
  if old.memory_type = 'trait' then
    perform oxbow.reject('memory_type', 'trait', 'must be fact, episodic or document: a trait has stages instead');
  elsif old.tier <> set_tier.tier then
    perform oxbow.write_tier(old, set_tier.tier, 'app', set_tier.reason);
  end if;
end $$;
call oxbow.grant_app('set_tier');

-- The reviewer (L): a fact is reviewed for promotion when use makes it strong, and for decay when its strength falls.
-- memories.review_at is when a review becomes due. An INSERT does not set it: the job settle walks over all facts, and
-- a use sets it at once.

-- is_reviewable reports whether a fact may be reviewed.
create or replace function oxbow.is_reviewable(_tier text, _sensitivity smallint, _expired_at timestamptz,
  _forgotten_at timestamptz, _invalid_at timestamptz) returns boolean
language sql stable parallel safe
return _tier = 'normal' and _sensitivity < 2 and _expired_at is null and _forgotten_at is null
  and (_invalid_at is null or _invalid_at > now());

-- review_falls_at returns when the strength of a memory that is not used falls to review_keep_strength, or null. It
-- falls once in each full period without use.
create or replace function oxbow.review_falls_at(_strength double precision, _since timestamptz, _tier text,
  _source text, _rules oxbow.recall_rules) returns timestamptz
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _decay constant double precision := case when _source = 'summary' then _rules.memory_strength_decay_summary
                                           else _rules.memory_strength_decay end;
  _periods double precision := 0;
begin
  if _tier <> 'normal' or _strength >= _rules.memory_strength_exempt then
    return null;
  elsif _strength > _rules.review_keep_strength then
    _periods := case when _decay < 1 then ceil(ln(_rules.review_keep_strength / _strength) / ln(_decay)) end;
  end if;
  return case when _periods <= 100 then -- as in strength_now
    _since + make_interval(secs => 86400 * _periods * _rules.memory_strength_days) end;
end $$;

-- review_after returns when a memory is due for review after its strength grew to _strength: now, if it has just
-- reached review_promote_strength.
create or replace function oxbow.review_after(_memory oxbow.memories, _strength double precision, _at timestamptz,
  _rules oxbow.recall_rules) returns timestamptz
language sql stable parallel safe
return case when (_memory).memory_type = 'fact' and (_memory).tier = 'normal' and (_memory).source is distinct from 'abstract'
             and _strength >= (_rules).review_promote_strength
             and oxbow.strength_now((_memory).strength, coalesce((_memory).used_at, (_memory).created_at),
                                    (_memory).tier, (_memory).source, _at, _rules) < (_rules).review_promote_strength
            then now() else (_memory).review_at end;
call oxbow.grant_worker('is_reviewable', 'review_falls_at', 'review_after');

-- next_review returns the time until the next review of a memory that was reviewed _reviews times.
create or replace function oxbow.next_review(_reviews integer) returns interval
language sql stable set search_path = pg_catalog, pg_temp as $$
  select make_interval(secs => 86400 * oxbow.policy('review_keep_days') * power(2, least(_reviews, 10)));
$$;

-- walk_reviews looks at the next _limit facts of all users after the given one, and sets review_at of those that have
-- none and fall due within 10 days. A fact that is overdue was stored with an old created_at: it waits as long as one
-- that a review kept, and up to a third more, depending on its id, so that a backfill does not fall due all at once.
-- Facts that are not indexed yet, or whose user opted out, are left for a later walk. The function returns how many
-- facts it looked at, and the last of them.
create or replace function oxbow.walk_reviews(_user_id text, _id uuid, _limit integer, _now timestamptz,
  out looked bigint, out last_user_id text, out last_id uuid)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set jit = off as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules('', 'infinity'); -- for strengths, the same for all users
  _wait constant interval := oxbow.next_review(0);
begin
  with page as materialized (
    select m.user_id, m.id, m.review_at, m.reviews, m.strength, coalesce(m.used_at, m.created_at) as since, m.tier,
           m.source, oxbow.is_reviewable(m.tier, m.sensitivity, m.expired_at, m.forgotten_at, m.invalid_at)
             and m.source is distinct from 'abstract' as kept
      from oxbow.memories_fact m
     where (m.user_id, m.id) > (_user_id, _id) order by m.user_id, m.id limit _limit
  ), due as (
    select p.user_id, p.id, d.at
      from page p
     cross join lateral (
       select case when p.reviews = 0 and oxbow.strength_now(p.strength, p.since, p.tier, p.source, _now, _rules)
                     >= _rules.review_promote_strength then _now
                   else oxbow.review_falls_at(p.strength, p.since, p.tier, p.source, _rules) end as at offset 0) d
     where p.kept and p.review_at is null and d.at <= _now + interval '10 days'
  ), locked as (
    select m.user_id, m.id,
           case when d.at < _now then _now + _wait * (1 + (uuid_hash(d.id) & 1023) / 3072.0) else d.at end as at
      from (select d.* from due d order by d.user_id, d.id) d
     cross join lateral (
       select m.user_id, m.id from oxbow.memories_fact m
        where m.user_id = d.user_id and m.id = d.id and m.review_at is null
          and (m.level = 'archive' -- it was indexed once
               or (select true from oxbow.memory_terms t
                    where t.user_id = d.user_id and t.memory_type = 'fact' and t.memory_id = d.id))
          and (select u.opted_out from oxbow.users u where u.user_id = d.user_id) is not true
          for no key update skip locked) m
  ), scheduled as (
    update oxbow.memories_fact m set review_at = l.at from locked l where m.user_id = l.user_id and m.id = l.id
  )
  select count(*) over (), p.user_id, p.id into looked, last_user_id, last_id
    from page p order by p.user_id desc, p.id desc limit 1;
  looked := coalesce(looked, 0);
end $$;
call oxbow.grant_worker('walk_reviews');

-- users_to_review returns the users of the _limit facts that have been due for review for longest. If it reads _limit
-- facts of fewer than 100 users, it also walks over the next users in the order of their ids, and returns those with
-- due facts, so that a user with many due facts does not delay the others. It then returns at most 100 users. The
-- setting sweep.review_users stores the position of the walk. The function clears review_at of facts of users who opted
-- out, so that they are not read again. Its queries of facts are index-only scans, even without statistics.
create or replace function oxbow.users_to_review(_now timestamptz, _limit integer) returns setof text
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off as $$
#variable_conflict error
declare
  _users text[];
  _out text[];
  _read bigint;
  _others integer;
  _after text;
  _walked record;
begin
  select array_agg(distinct d.user_id), count(*) into _users, _read
    from (select m.user_id from oxbow.memories_fact m
           where m.review_at <= _now and m.review_at is not null and m.expired_at is null and m.forgotten_at is null
           order by m.review_at limit _limit) d;
  _others := 100 - cardinality(_users);
  if _read = _limit and _others > 0 then
    select s.value #>> '{}' into _after from oxbow.settings s where s.key = 'sweep.review_users';
    with recursive facts as ( -- the fact of each user that is due first
      (select m.user_id, m.review_at from oxbow.memories_fact m
        where m.user_id > coalesce(_after, '')
          and m.review_at is not null and m.expired_at is null and m.forgotten_at is null
        order by m.user_id, m.review_at limit 1)
      union all
      select n.user_id, n.review_at
        from facts f
       cross join lateral (
         select m.user_id, m.review_at from oxbow.memories_fact m
          where m.user_id > f.user_id
            and m.review_at is not null and m.expired_at is null and m.forgotten_at is null
          order by m.user_id, m.review_at limit 1) n
    )
    select array_agg(f.user_id) filter (where f.review_at <= _now and f.user_id <> all(_users)) as users,
           case when count(*) = _others then max(f.user_id) else '' end as last
      into _walked from (select f.* from facts f limit _others) f;
    _users := _users || _walked.users;
    insert into oxbow.settings as s (key, value) values ('sweep.review_users', to_jsonb(_walked.last))
    on conflict (key) do update set value = excluded.value, updated_at = now();
  end if;
  select array_agg(u.user_id) into _out from oxbow.users u where u.user_id = any(_users) and u.opted_out;
  update oxbow.memories_fact m set review_at = null
    from (select d.user_id, d.id
            from unnest(_out) o(user_id)
           cross join lateral (
             select m.user_id, m.id from oxbow.memories_fact m
              where m.user_id = o.user_id and m.review_at <= _now and m.review_at is not null and m.expired_at is null
                and m.forgotten_at is null
              order by m.review_at limit _limit for no key update skip locked) d
           limit _limit) d
   where m.user_id = d.user_id and m.id = d.id;
  return query select u.user_id from unnest(_users) u(user_id) where u.user_id <> all(coalesce(_out, '{}')) order by 1;
end $$;
call oxbow.grant_worker('users_to_review');

-- review_of returns the review that a fact is due for: promotion, decay, or null if neither. A fact that a person
-- demoted is not reviewed for promotion again.
create or replace function oxbow.review_of(_fact oxbow.memories, _now timestamptz, _rules oxbow.recall_rules)
returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _strength constant double precision := oxbow.strength_now(_fact.strength, coalesce(_fact.used_at, _fact.created_at),
    _fact.tier, _fact.source, _now, _rules);
begin
  return case
    when not oxbow.is_reviewable(_fact.tier, _fact.sensitivity, _fact.expired_at, _fact.forgotten_at,
                                 _fact.invalid_at) then null
    when _strength <= _rules.review_keep_strength then 'decay'
    when _strength >= _rules.review_promote_strength and not exists (
      select from oxbow.memory_history h
       where h.user_id = _fact.user_id and h.memory_type = 'fact' and h.memory_id = _fact.id and h.event = 'DEMOTE')
    then 'promotion' end;
end $$;
call oxbow.grant_worker('next_review', 'review_of');

-- facts_to_review returns at most _limit facts of a user that are due for review, the longest due first.
create or replace function oxbow.facts_to_review(_user_id text, _now timestamptz, _limit integer)
returns table (id uuid, review text, content text, speaker text, category text, topic text, verified boolean,
  source text, at timestamptz, ends timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules('', 'infinity');
begin
  if exists (select from oxbow.users u where u.user_id = _user_id and u.opted_out) then
    return;
  end if;
  return query
  select m.id, oxbow.review_of(m, _now, _rules), m.content, coalesce(m.speaker, ''),
         coalesce(oxbow.category_of(m.category), ''), coalesce(m.topic, ''), m.verified, coalesce(m.source, ''),
         coalesce(m.valid_at, m.created_at), m.invalid_at
    from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = 'fact' and m.review_at <= _now and m.review_at is not null
     and m.expired_at is null and m.forgotten_at is null
   order by m.review_at, m.id limit _limit;
end $$;
call oxbow.grant_worker('facts_to_review');

-- write_reviews writes verdicts about facts, and clears review_at of those that are no longer due for a review. If a
-- fact changed since it was read and is not due for the same review, it is left for the next job.
--   _reviews  [{"id", "review": promotion | decay | null, "verdict": PROMOTE | KEEP | DELETE, "reason"}]
create or replace function oxbow.write_reviews(_user_id text, _actor text, _reviews json, out promoted integer,
  out kept integer, out deleted integer)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  r record;
  old oxbow.memories;
  _after double precision;
begin
  promoted := 0; kept := 0; deleted := 0;
  for r in
    select v.* from json_to_recordset(_reviews) v (id uuid, review text, verdict text, reason text) order by v.id
  loop
    perform oxbow.lock_repeats(_user_id, r.id); -- in the order of forget
    select * into old from oxbow.memories m
     where m.user_id = _user_id and m.memory_type = 'fact' and m.id = r.id for no key update;
    continue when old.review_at is null or old.review_at > _now
               or oxbow.review_of(old, _now, _rules) is distinct from r.review;
    if r.review is null then -- the walk finds it again
      update oxbow.memories m set review_at = null
       where m.user_id = _user_id and m.memory_type = 'fact' and m.id = r.id;
      continue;
    end if;
    -- A fact that is forgotten or promoted now, and restored or demoted later, is not reviewed again at once.
    update oxbow.memories m
       set review_at = case when r.verdict <> 'PROMOTE' then _now + oxbow.next_review(m.reviews) end,
           reviews = m.reviews + 1,
           strength = case when r.verdict = 'KEEP' and r.review = 'decay' then _rules.review_keep_strength
                           else m.strength end,
           used_at = case when r.verdict = 'KEEP' and r.review = 'decay' then _now else m.used_at end
     where m.user_id = _user_id and m.memory_type = 'fact' and m.id = r.id
    returning oxbow.weight_of(m, _now, _rules) into _after;
    case r.verdict
      when 'PROMOTE' then
        promoted := promoted + 1;
        perform oxbow.write_tier(old, 'core', _actor, r.reason);
      when 'DELETE' then
        deleted := deleted + 1;
        perform oxbow.forget_memory(_user_id, r.id, 'auto', _actor, r.reason);
      else
        kept := kept + 1;
        insert into oxbow.memory_history (user_id, memory_type, memory_id, event, actor, reason)
        values (_user_id, 'fact', r.id, 'KEEP', _actor, r.reason);
        perform oxbow.log_weight(_user_id, 'fact', r.id, _now, 'reviewed', oxbow.weight_of(old, _now, _rules), _after,
                                 1, _actor);
    end case;
  end loop;
end $$;
call oxbow.grant_worker('write_reviews');
