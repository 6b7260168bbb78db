-- Prediction: what a user will probably do, ask or need, from their own recurrences. See docs/prediction.md.

-- predict_seen returns what a user did and asked before a moment: activities and other topics of their memories, and
-- topics of the memories that answers to their questions used. It reads the latest fragments and answers, at most
-- _limit.
create or replace function oxbow.predict_seen(_user_id text, _from timestamptz, _to timestamptz, _limit integer)
returns table (kind text, topic text, at timestamptz, id uuid)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  select case when f.topic ~ '^(entity|topic):' then 'topic' else 'activity' end, f.topic, f.at, f.memory_id
    from (select f.* from oxbow.topic_fragments f
           where f.user_id = _user_id and f.at >= _from and f.at < _to
           order by f.at desc limit _limit) f
   cross join lateral (select from oxbow.memories m
                        where m.user_id = _user_id and m.id = f.memory_id and m.memory_type = f.memory_type
                          and m.forgotten_at is null and m.sensitivity < 2 limit 1) m
   where not f.denies
  union all
  select distinct 'question', t.topic, a.at, a.id
    from (select a.at, a.id, a.used from oxbow.answers a
           where a.user_id = _user_id and a.at >= _from and a.at < _to
           order by a.at desc limit _limit / 10) a
   cross join lateral unnest(a.used[:20]) u(id)
   cross join lateral (select m.id, m.memory_type from oxbow.memories m
                        where m.user_id = _user_id and m.id = u.id and m.memory_type in ('fact', 'episodic')
                          and m.forgotten_at is null and m.sensitivity < 2 limit 1) m
   cross join lateral (select f.topic from oxbow.topic_fragments f
                        where f.user_id = _user_id and f.memory_type = m.memory_type and f.memory_id = m.id offset 0) t;
$$;

-- logit returns the log odds of a probability, which it first limits to values off 0 and 1.
create or replace function oxbow.logit(_p double precision) returns double precision
language sql immutable parallel safe
return ln(least(greatest(_p, 1e-6), 1 - 1e-6) / (1 - least(greatest(_p, 1e-6), 1 - 1e-6)));

-- predict_recurring predicts what recurs, per kind and topic, for the days of a period in the user's time zone.
--
-- For each day, the rate of a topic is the mean of a Beta distribution (a Beta-binomial model): the share of past days
-- on which it happened, shrunk towards the mean of all topics. Two more rates are shrunk towards that rate: the one on
-- this day of the week, and the one at which the topic returned after as many days as have passed since the last time
-- (a discrete hazard). Both move the log odds of the rate by the share predict_lift. A day's weight halves every
-- predict_half_life.
create or replace function oxbow.predict_recurring(_user_id text, _from timestamptz, _until timestamptz)
returns table (kind text, topic text, probability double precision, base_rate double precision, likely date,
  first_hour double precision, last_hour double precision, days integer, evidence uuid[])
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off as $$
#variable_conflict use_column
declare
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
  _half constant double precision := oxbow.policy('predict_half_life');
  _least constant double precision := oxbow.policy('predict_least');
  _prior constant double precision := oxbow.policy('predict_prior');
  _lift constant double precision := oxbow.policy('predict_lift');
  _lift_prior constant double precision := oxbow.policy('predict_lift_prior');
  _today constant date := (_from at time zone _zone)::date;
  _last constant date := ((_until - interval '1 microsecond') at time zone _zone)::date;
begin
  return query
  with seen as materialized (
    select s.kind, s.topic, s.id, s.at, l.at::date as day, extract(epoch from l.at::time) / 3600 as hour
      from oxbow.predict_seen(_user_id, _from - make_interval(secs => 86400 * oxbow.policy('predict_days')), _from, 5000) s
     cross join lateral (select s.at at time zone _zone) l(at)
  ), age as materialized ( -- of the past days, beginning with the first of which something is known
    select a, pow(0.5, a / _half) as weight, extract(dow from _today - a)::integer as dow
      from generate_series(1, coalesce(_today - (select min(day) from seen), 0)) a
  ), daily as materialized (
    select kind, topic, day, day - lag(day) over (partition by kind, topic order by day) as gap
      from seen group by kind, topic, day
  ), held as materialized (
    select d.kind, d.topic, count(*)::integer as days, max(d.day) as latest,
           coalesce(sum(a.weight), 0) as k, (select sum(a.weight) from age a) as n
      from daily d left join age a on a.a = _today - d.day
     group by d.kind, d.topic
  ), rated as materialized (
    select h.*, (h.k + _prior * m.mean) / (h.n + _prior) as rate
      from held h
     cross join (select sum(h.k) / nullif(sum(h.n), 0) as mean from held h) m
     where h.days >= _least and h.n > 0
  ), target as (
    select t::date as day, extract(dow from t)::integer as dow,
           greatest(_from at time zone _zone, t) as starts, least(_until at time zone _zone, t + interval '1 day') as ends
      from generate_series(_today::timestamp, _last::timestamp, '1 day') t
  ), weekday as materialized (
    select r.kind, r.topic, w.dow,
           (coalesce(sum(a.weight) filter (where d.day is not null), 0) + _lift_prior * r.rate)
             / (sum(a.weight) + _lift_prior) as rate
      from rated r
     cross join (select distinct t.dow from target t) w
      join age a on a.dow = w.dow
      left join daily d on d.kind = r.kind and d.topic = r.topic and d.day = _today - a.a
     group by r.kind, r.topic, w.dow, r.rate
  ), each as (
    select r.kind, r.topic, r.rate, r.days, t.day,
           s.share / (1 + exp(-(oxbow.logit(r.rate)
             + _lift * (coalesce(oxbow.logit(w.rate) - oxbow.logit(r.rate), 0)
                        + oxbow.logit(g.rate) - oxbow.logit(r.rate))))) as p,
           s.share * r.rate as base
      from rated r
     cross join target t
      left join weekday w on w.kind = r.kind and w.topic = r.topic and w.dow = t.dow
     cross join lateral (
           select (count(*) filter (where d.gap = t.day - r.latest) + _lift_prior * r.rate)
                    / (count(*) filter (where d.gap >= t.day - r.latest) + _lift_prior) as rate
             from daily d where d.kind = r.kind and d.topic = r.topic and d.gap is not null) g
     cross join lateral ( -- of its times of day, those in the period
           select case when t.ends - t.starts >= interval '23 hours' then 1
             else (count(*) filter (where t.day + make_interval(secs => 3600 * e.hour) >= t.starts
                                      and t.day + make_interval(secs => 3600 * e.hour) < t.ends)
                   + _prior * extract(epoch from t.ends - t.starts) / 86400) / (count(*) + _prior) end as share
             from seen e where e.kind = r.kind and e.topic = r.topic) s
     where t.day > r.latest -- not what happened today already
  )
  select e.kind, e.topic, 1 - exp(sum(ln(greatest(1 - e.p, 1e-9)))), 1 - exp(sum(ln(greatest(1 - e.base, 1e-9)))),
         (array_agg(e.day order by e.p desc, e.day))[1], h.first, h.last, e.days, h.ids
    from each e
   cross join lateral (
         select percentile_cont(0.25) within group (order by s.hour) as first,
                percentile_cont(0.75) within group (order by s.hour) as last,
                (array_agg(s.id order by s.at desc, s.id))[:10] as ids
           from seen s where s.kind = e.kind and s.topic = e.topic) h
   group by e.kind, e.topic, e.days, h.first, h.last, h.ids;
end $$;

-- predict returns what a user will probably do, ask or need between two moments, the most probable first.
--   kind         activity, topic (will come up), question (will be asked about), intention (will be done)
--   topic        of the memories; of an intention null
--   content      the latest memory or question, or the intention
--   probability  that it happens at least once in the period
--   base_rate    the same from the frequency alone
--   starts_at, ends_at  the likeliest day, and the hours in which the middle half of the earlier times fell; of an
--                intention, its time
--   days         on how many days it happened before
--   evidence     the memories, answers or the intention behind it, the latest first, at most 10
-- It returns no rows for a user who opted out, or for a period without a likely event.
create or replace function oxbow.predict(user_id text, from_at timestamptz default now(), until timestamptz default null,
  max_results integer default 20)
returns table (kind text, topic text, content text, probability double precision, base_rate double precision,
  starts_at timestamptz, ends_at timestamptz, days integer, evidence uuid[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _from constant timestamptz := coalesce(predict.from_at, now());
  _until constant timestamptz := coalesce(predict.until, least(_from, '9999-12-31') + interval '1 day');
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = predict.user_id), 'UTC');
  _prior constant double precision := oxbow.policy('predict_prior');
begin
  perform oxbow.check_access(predict.user_id);
  if not isfinite(_from) or extract(year from _from) not between 1900 and 9999 then
    perform oxbow.reject('from_at', _from::text, 'must be between the years 1900 and 9999');
  elsif not isfinite(_until) or _until <= _from or _until > _from + interval '31 days' then
    perform oxbow.reject('until', _until::text, 'must be at most 31 days after from_at');
  elsif predict.max_results is null or predict.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', predict.max_results::text, 'must be between 1 and 1000');
  end if;
  if exists (select from oxbow.users u where u.user_id = predict.user_id and u.opted_out) then
    return;
  end if;
  return query
  with closed as ( -- how reliably this user does what they intended; before anything is known, one half
    select (count(*) filter (where c.state = 'done') + _prior / 2) / (count(*) + _prior) as kept
      from (select i.state from oxbow.intentions i
             where i.user_id = predict.user_id and i.state in ('done', 'dropped') and i.closed_at < _from
             order by i.closed_at desc limit 200) c
  ), predicted as (
    select r.kind, r.topic, null::text as content, r.probability, r.base_rate,
           (r.likely + make_interval(secs => 3600 * r.first_hour)) at time zone _zone as starts_at,
           (r.likely + make_interval(secs => 3600 * r.last_hour)) at time zone _zone as ends_at, r.days, r.evidence
      from oxbow.predict_recurring(predict.user_id, _from, _until) r
    union all
    select 'intention', null, i.content, c.kept, 0.5, i.due_at, i.due_at, 0, array[i.id]
      from oxbow.intentions i cross join closed c
     where i.user_id = predict.user_id and i.state in ('open', 'due') and i.due_at >= _from and i.due_at < _until
  ), best as (
    select p.* from predicted p order by p.probability desc, p.kind, p.topic, p.content limit predict.max_results
  )
  select b.kind, b.topic,
         coalesce(b.content,
           (select left(m.content, 500) from oxbow.memories m
             where m.user_id = predict.user_id and m.id = b.evidence[1] and b.kind <> 'question' limit 1),
           (select left(a.query, 500) from oxbow.answers a
             where a.user_id = predict.user_id and a.id = b.evidence[1] and b.kind = 'question')),
         b.probability, b.base_rate, b.starts_at, b.ends_at, b.days, b.evidence
    from best b order by b.probability desc, b.kind, b.topic, b.content;
end $$;
call oxbow.grant_app('predict');
