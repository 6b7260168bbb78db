-- Patterns across users: how many of the users who opted in have a trait of a fixed vocabulary (docs/privacy.md). Only
-- the job pattern calls these functions, and it publishes nothing without noise.

-- sharing_patterns reports whether the installation counts patterns.
create or replace function oxbow.sharing_patterns() returns boolean
language sql stable set search_path = pg_catalog, pg_temp
return coalesce((select (s.value ->> 'enabled')::boolean from oxbow.settings s where s.key = 'patterns'), false);

-- pattern_account returns the account of the privacy budget, with the latest release and when the next is due.
create or replace function oxbow.pattern_account(_now timestamptz)
returns table (enabled boolean, epsilon double precision, spent double precision, budget double precision,
  users_min double precision, per_user integer, released_at timestamptz, due_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select oxbow.sharing_patterns(), oxbow.policy('pattern_epsilon'), a.spent, oxbow.policy('pattern_budget'),
         oxbow.policy('pattern_users_min'), floor(oxbow.policy('pattern_per_user'))::integer, a.released_at, a.due_at
    from (select max(r.released_at) as released_at,
                 max(r.released_at) + make_interval(secs => 86400 * oxbow.policy('pattern_days')) as due_at,
                 coalesce(sum(r.epsilon) filter (
                   where r.released_at > _now - make_interval(secs => 86400 * oxbow.policy('pattern_budget_days'))), 0) as spent
            from oxbow.pattern_releases r) a;
$$;
call oxbow.grant_worker('pattern_account');
call oxbow.grant_operator('pattern_account');

-- pattern_budget locks the account until the end of the transaction, and returns what the next release may spend.
create or replace function oxbow.pattern_budget(_now timestamptz)
returns table (enabled boolean, due boolean, epsilon double precision, spent double precision, budget double precision,
  users_min double precision, per_user integer)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('oxbow.patterns', 0));
  return query
  select a.enabled, coalesce(a.due_at <= _now, true), a.epsilon, a.spent, a.budget, a.users_min, a.per_user
    from oxbow.pattern_account(_now) a;
end $$;
call oxbow.grant_worker('pattern_budget');

-- count_patterns counts the users who share their patterns, for each word of the vocabulary and each context, including
-- zeros and without noise. Of each user, at most the _per_user surest visible traits count.
create or replace function oxbow.count_patterns(_vocabulary text[], _contexts text[], _per_user integer)
returns table (pattern text, context text, users bigint)
language sql stable set search_path = pg_catalog, pg_temp set jit = off as $$
  with had as (
    select t.trait_key as pattern, t.trait_context as context, count(*) as users
      from oxbow.users u
     cross join lateral (
           select d.trait_key, d.trait_context
             from (select distinct on (m.trait_key, m.trait_context) m.trait_key, m.trait_context, m.trait_confidence
                     from oxbow.memories_trait m
                    where m.user_id = u.user_id and m.trait_key = any(_vocabulary) and m.trait_context = any(_contexts)
                      and m.trait_stage in ('emerging', 'established', 'core')
                      and m.expired_at is null and m.forgotten_at is null
                    order by m.trait_key, m.trait_context, m.trait_confidence desc) d
            order by d.trait_confidence desc, d.trait_key, d.trait_context limit _per_user) t
     where u.share_patterns and not u.opted_out
     group by t.trait_key, t.trait_context
  )
  select v.pattern, c.context, coalesce(h.users, 0)
    from unnest(_vocabulary) v(pattern) cross join unnest(_contexts) c(context)
    left join had h on h.pattern = v.pattern and h.context = c.context
   order by 1, 2;
$$;
call oxbow.grant_worker('count_patterns');

-- publish_patterns replaces the latest release, and enters what it spends into the account.
create or replace function oxbow.publish_patterns(_now timestamptz, _epsilon double precision,
  _users_min double precision, _per_user integer, _vocabulary integer, _patterns text[], _contexts text[], _users bigint[])
returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _release bigint;
begin
  insert into oxbow.pattern_releases (released_at, epsilon, users_min, per_user, vocabulary, published)
  values (_now, _epsilon, _users_min, _per_user, _vocabulary, cardinality(_patterns)) returning id into _release;
  delete from oxbow.pattern_counts;
  insert into oxbow.pattern_counts (pattern, context, users, release_id)
  select p.pattern, p.context, p.users, _release from unnest(_patterns, _contexts, _users) p(pattern, context, users);
end $$;
call oxbow.grant_worker('publish_patterns');
