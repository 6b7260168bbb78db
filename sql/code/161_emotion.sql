-- The emotional profile of a user (S §7.2). Each call computes it from the emotions of memories, so an erased or
-- forgotten memory leaves no trace in it.

-- emotional returns the latest _limit memories of a user with an emotion, within 10 · emotion_days, with the weight
-- exp(-days / emotion_days) of each. Sensitive ones do not count.
create or replace function oxbow.emotional(_user_id text, _now timestamptz, _limit integer)
returns table (id uuid, at timestamptz, valence double precision, arousal double precision, weight double precision,
  about text[])
language plpgsql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict error
declare
  _days constant double precision := oxbow.policy('emotion_days');
begin
  return query
  select m.id, coalesce(m.valid_at, m.created_at), e.valence, e.arousal,
         exp(-oxbow.days_since(coalesce(m.valid_at, m.created_at), _now) / _days),
         array(select distinct lower(n.name) from (
                 select x.value ->> 'name' as name
                   from jsonb_array_elements(case jsonb_typeof(m.metadata -> 'entities') when 'array'
                          then m.metadata -> 'entities' else '[]' end) x
                  where jsonb_typeof(x.value) = 'object'
                 union all select nullif(m.metadata ->> 'context', 'general')
                 union all select m.topic) n
                where n.name ~ '\S' and length(n.name) <= 100)
    from oxbow.memories m, lateral (
      select least(greatest(n.valence, -1), 1) as valence, coalesce(least(greatest(n.arousal, 0), 1), 0) as arousal
        from (select oxbow.json_number(m.metadata #> '{emotion,valence}') as valence,
                     oxbow.json_number(m.metadata #> '{emotion,arousal}') as arousal) n
       where n.valence is not null) e
   where m.user_id = _user_id and m.metadata ? 'emotion' and m.forgotten_at is null
     and coalesce(m.valid_at, m.created_at) between _now - make_interval(secs => 864000 * _days) and _now
     and m.sensitivity < 2
   order by coalesce(m.valid_at, m.created_at) desc limit _limit;
end $$;

-- emotion_profile returns the emotional profile of a user, from the latest 500 memories with an emotion.
--   baseline  the mean valence (-1 to 1) and arousal (0 to 1), by recency
--   mood      the same of the last days
--   trigger   people, things, topics and contexts whose memories differ from the baseline, the most first: shift
--   calms     the subjects of pleasant memories within a day after unpleasant ones (valence below -0.3)
--   week      the mean of each of the last 12 weeks, the latest first; name is its Monday
-- memories is their number, and evidence the ids of at most 20, the latest first.
create or replace function oxbow.emotion_profile(user_id text, now timestamptz default null)
returns table (aspect text, name text, valence double precision, arousal double precision, shift double precision,
  memories integer, evidence uuid[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _now constant timestamptz := coalesce(emotion_profile.now, pg_catalog.now());
  _zone text;
begin
  perform oxbow.check_access(emotion_profile.user_id);
  if not oxbow.valid_time('now', _now) then
    perform oxbow.reject('now', emotion_profile.now::text, 'must be finite');
  end if;
  _zone := coalesce((select u.timezone from oxbow.users u where u.user_id = emotion_profile.user_id), 'UTC');
  return query
  with felt as materialized (
    select * from oxbow.emotional(emotion_profile.user_id, _now, 500)
  ), baseline as (
    select sum(f.valence * f.weight) / sum(f.weight) as valence, sum(f.arousal * f.weight) / sum(f.weight) as arousal,
           count(*)::integer as n, array_agg(f.id order by f.at desc) as ids
      from felt f having count(*) > 0
  ), mood as (
    select sum(f.valence * m.w) / sum(m.w) as valence, sum(f.arousal * m.w) / sum(m.w) as arousal,
           count(*)::integer as n, array_agg(f.id order by f.at desc) as ids
      from felt f, lateral (
        select exp(-oxbow.days_since(f.at, _now) / oxbow.policy('emotion_mood_days')) as w) m
     where m.w > 0.05 having count(*) > 0
  ), trigger as (
    select a.name, sum(f.valence * f.weight) / sum(f.weight) as valence,
           sum(f.arousal * f.weight) / sum(f.weight) as arousal, count(*)::integer as n,
           array_agg(f.id order by f.at desc) as ids
      from felt f, unnest(f.about) a(name) group by a.name
    having count(*) >= oxbow.policy('emotion_times')
  ), calm as (
    select a.name, avg(f.valence) as valence, avg(f.arousal) as arousal, count(*)::integer as n,
           array_agg(f.id order by f.at desc) as ids
      from felt f, unnest(f.about) a(name)
     where f.valence > 0.2
       and exists (select from felt b where b.valence < -0.3 and b.at < f.at and b.at > f.at - interval '24 hours'
                     and not a.name = any(b.about))
     group by a.name having count(*) >= ceil(oxbow.policy('emotion_times') * 2 / 3)
  ), week as (
    select date_trunc('week', f.at at time zone _zone) as monday, avg(f.valence) as valence, avg(f.arousal) as arousal,
           count(*)::integer as n, array_agg(f.id order by f.at desc) as ids
      from felt f where f.at > _now - interval '84 days' group by 1
  )
  (select 'baseline', null::text, b.valence, b.arousal, null::double precision, b.n, b.ids[:20] from baseline b)
  union all
  (select 'mood', null, m.valence, m.arousal, m.valence - b.valence, m.n, m.ids[:20] from mood m, baseline b)
  union all
  (select 'trigger', t.name, t.valence, t.arousal, t.valence - b.valence, t.n, t.ids[:20] from trigger t, baseline b
    where abs(t.valence - b.valence) >= oxbow.policy('emotion_shift')
    order by abs(t.valence - b.valence) desc, t.name limit 20)
  union all
  (select 'calms', c.name, c.valence, c.arousal, c.valence - b.valence, c.n, c.ids[:20] from calm c, baseline b
    order by c.n desc, c.name limit 20)
  union all
  (select 'week', to_char(w.monday, 'YYYY-MM-DD'), w.valence, w.arousal, w.valence - b.valence, w.n, w.ids[:20]
     from week w, baseline b order by w.monday desc);
end $$;
call oxbow.grant_app('emotion_profile');
