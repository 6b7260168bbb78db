-- The weight of a memory: how much it matters now (W; design §11). It is never stored, but computed when it is
-- asked for, from what happened to the memory: when it was last activated, mentioned, used and negated. The
-- numbers are policies.

-- category_of returns the category, one of the six of W, that a free-text category stands for, or null.
create or replace function oxbow.category_of(_name text) returns text
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return (select c.category from oxbow.category_names c where c.name = lower(btrim(_name)));
end $$;
call oxbow.grant_app('category_of');
call oxbow.grant_operator('category_of');

-- recall_rules returns the policies in force at a moment, with weight_decay for this user.
create or replace function oxbow.recall_rules(_user_id text, _at timestamptz) returns oxbow.recall_rules
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _rules oxbow.recall_rules;
begin
  select * into _rules from oxbow.recall_rules r where r.valid_from <= _at order by r.valid_from desc limit 1;
  _rules.weight_decay := _rules.weight_decay
    * coalesce((select u.forgetting_factor from oxbow.users u where u.user_id = _user_id), 1);
  return _rules;
end $$;
call oxbow.grant_worker('recall_rules');
call oxbow.grant_operator('recall_rules');

-- days_since returns the days between two moments, 0 if the first is not yet past. date_part takes half the time of
-- extract, which computes a numeric.
create or replace function oxbow.days_since(_at timestamptz, _now timestamptz) returns double precision
language sql immutable parallel safe
return greatest(date_part('epoch', _now - _at), 0) / 86400;
call oxbow.grant_app('days_since');
call oxbow.grant_operator('days_since');

-- weight_importance returns the factor I: how much the category of a memory matters.
create or replace function oxbow.weight_importance(_category text, _rules oxbow.recall_rules) returns double precision
language sql stable parallel safe
return case case when _category is null then 'fact'
                 when _category in ('identity', 'stable_preference', 'short_preference', 'fact', 'skill', 'temporary')
                   then _category
                 else oxbow.category_of(_category) end
         when 'identity' then (_rules).weight_identity
         when 'stable_preference' then (_rules).weight_stable_preference
         when 'short_preference' then (_rules).weight_short_preference
         when 'skill' then (_rules).weight_skill
         when 'temporary' then (_rules).weight_temporary
         else (_rules).weight_fact end;

-- weight_reinforcement returns the factor S. Each mention adds to it, less with time; the one that adds most
-- counts, so a mention never lowers a weight.
create or replace function oxbow.weight_reinforcement(_mentions oxbow.mention[], _now timestamptz,
  _rules oxbow.recall_rules) returns double precision
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return 1 + coalesce((
    select max(case when n.frequent then _rules.weight_mention_frequent else _rules.weight_mention end
               * exp(-least(_rules.weight_mention_decay * oxbow.days_since(n.at, _now), 700)))
      from unnest(_mentions) n where n.at <= _now), 0);
end $$;

-- weight_momentum returns the factor M: how often the memory was mentioned recently.
create or replace function oxbow.weight_momentum(_mentions oxbow.mention[], _now timestamptz,
  _rules oxbow.recall_rules) returns double precision
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select 1 + _rules.weight_momentum * (1 - exp(-least(_rules.weight_momentum_rate * count(*), 700)))
           + case when bool_or(n.frequent) then _rules.weight_momentum_frequent else 0 end
      from unnest(_mentions) n
     where n.at <= _now and oxbow.days_since(n.at, _now) < _rules.weight_recent_days);
end $$;

-- weight_conflict returns the factor C of a memory that was negated, which recovers with time. With
-- weight_conflict_fade it falls instead, as the curve that W prints.
create or replace function oxbow.weight_conflict(_negated_at timestamptz, _now timestamptz, _rules oxbow.recall_rules)
returns double precision
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _left constant double precision :=
    exp(-least(_rules.weight_conflict_recovery * oxbow.days_since(_negated_at, _now), 700));
begin
  return case when _negated_at > _now then 1 else
    (1 - _rules.weight_conflict_fade) * (1 - (1 - _rules.weight_conflict_min) * _left)
    + _rules.weight_conflict_fade * (_rules.weight_conflict_min + (1 - _rules.weight_conflict_min) * _left) end;
end $$;

-- strength_now returns the strength that is left at a moment. The stored strength is that of the last use, and
-- decays once in each full period without use. After a hundred periods nothing worth counting is left. Applications may
-- store any strength. Here and in weight_factors it is limited, so that no product of it leaves the range of its type,
-- which PostgreSQL reports as an error.
create or replace function oxbow.strength_now(_strength double precision, _since timestamptz, _tier text,
  _source text, _now timestamptz, _rules oxbow.recall_rules) returns double precision
language sql immutable parallel safe
return case when _strength < 1e-100 then 0
            when _tier <> 'normal' or _strength >= (_rules).memory_strength_exempt then least(_strength, 1e100)
            else _strength * power(
              case when _source = 'summary' then (_rules).memory_strength_decay_summary
                   else (_rules).memory_strength_decay end,
              least(floor(oxbow.days_since(_since, _now) / (_rules).memory_strength_days), 100)) end;

-- used_strength returns the strength of a memory after replies used it.
create or replace function oxbow.used_strength(_memory oxbow.memories, _at timestamptz, _times bigint,
  _rules oxbow.recall_rules) returns double precision
language sql immutable parallel safe
return oxbow.strength_now((_memory).strength, coalesce((_memory).used_at, (_memory).created_at), (_memory).tier,
    (_memory).source, _at, _rules) + _times * (_rules).memory_strength_used;
call oxbow.grant_worker('strength_now', 'used_strength');
call oxbow.grant_operator('strength_now');

-- weight_factors returns the weight of a memory: the product of six factors, W's w_time, S, C, I and M, and what
-- L's strength makes of it. The person's forgetting factor U is in weight_decay. share is what the weight adds to a
-- score: nothing for 1, and at most recall_weight. It is tanh(slope · ln(weight)), which tells strong memories apart
-- however strong they are. What use left of the stored strength may slow the decay, and conclusions may decay at
-- another rate (U §9). The planner inlines the function.
create or replace function oxbow.weight_factors(_category text, _created_at timestamptz, _activated_at timestamptz,
  _used_at timestamptz, _mentions oxbow.mention[], _negated_at timestamptz, _strength double precision, _tier text,
  _source text, _now timestamptz, _rules oxbow.recall_rules)
returns table (weight double precision, share double precision, "time" double precision,
  reinforcement double precision, conflict double precision, importance double precision,
  momentum double precision, strength double precision)
language sql stable parallel safe as $$
  select p.weight, (_rules).recall_weight * tanh((_rules).recall_weight_slope * ln(greatest(p.weight, 1e-300))),
         p."time", p.reinforcement, p.conflict, p.importance, p.momentum, p.strength
    from (
      select f."time" * f.reinforcement * f.conflict * f.importance * f.momentum * f.strength as weight, f.*
        from (
          select 1 / (1 + (_rules).weight_decay / i.importance
                        / (1 + (_rules).weight_decay_used * greatest(least(_strength, 1e100) - 1, 0))
                        * case when _source = 'abstract' then (_rules).weight_decay_conclusion else 1 end
                        * oxbow.days_since(coalesce(_activated_at, _created_at), _now)) as "time",
                 case when _mentions is null then 1
                      else oxbow.weight_reinforcement(_mentions, _now, _rules) end as reinforcement,
                 case when _negated_at is null then 1
                      else oxbow.weight_conflict(_negated_at, _now, _rules) end as conflict,
                 i.importance,
                 case when _mentions is null then 1
                      else oxbow.weight_momentum(_mentions, _now, _rules) end as momentum,
                 1 - (_rules).weight_strength + (_rules).weight_strength * least(
                   oxbow.strength_now(_strength, coalesce(_used_at, _created_at), _tier, _source, _now, _rules),
                   (_rules).weight_strength_max) as strength
            from (select oxbow.weight_importance(_category, _rules) as importance offset 0) i
          offset 0) f
      offset 0) p
$$;

-- weight_of returns the weight of a memory at a moment.
create or replace function oxbow.weight_of(_memory oxbow.memories, _at timestamptz, _rules oxbow.recall_rules)
returns double precision
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return (select w.weight
            from oxbow.weight_factors(_memory.category, _memory.created_at, _memory.activated_at, _memory.used_at,
                   _memory.mentions, _memory.negated_at, _memory.strength, _memory.tier, _memory.source, _at, _rules) w);
end $$;
call oxbow.grant_worker('weight_importance', 'weight_reinforcement', 'weight_momentum', 'weight_conflict',
                        'weight_factors', 'weight_of');
call oxbow.grant_operator('weight_importance', 'weight_reinforcement', 'weight_momentum', 'weight_conflict',
                          'weight_factors', 'weight_of');

-- weight returns the weight of a memory at a moment, and its factors. weight is kept between the policies
-- weight_min and weight_max; unclamped is their product. A trait has none: its confidence takes that place.
create or replace function oxbow.weight(user_id text, id uuid, at timestamptz default now())
returns table (weight double precision, unclamped double precision, "time" double precision,
  reinforcement double precision, conflict double precision, importance double precision, momentum double precision,
  strength double precision, activated_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _rules oxbow.recall_rules;
begin
  perform oxbow.check_access(weight.user_id);
  if weight.at is null or not oxbow.valid_time('at', weight.at) then
    perform oxbow.reject('at', weight.at::text, 'must be finite');
  end if;
  _rules := oxbow.recall_rules(weight.user_id, weight.at);
  return query
  select greatest(least(w.weight, _rules.weight_max), _rules.weight_min), w.weight, w."time", w.reinforcement,
         w.conflict, w.importance, w.momentum, w.strength, coalesce(m.activated_at, m.created_at)
    from oxbow.memories m
   cross join oxbow.weight_factors(m.category, m.created_at, m.activated_at, m.used_at, m.mentions, m.negated_at,
           m.strength, m.tier, m.source, weight.at, _rules) w
   where m.user_id = weight.user_id and m.id = weight.id and m.memory_type <> 'trait' and m.forgotten_at is null;
end $$;
call oxbow.grant_app('weight');

-- with_mention adds a mention to those of a memory. It is frequent if enough others came in the hours before.
-- What is kept decides every later weight: the mentions of the last days, and the last that was not frequent.
create or replace function oxbow.with_mention(_mentions oxbow.mention[], _at timestamptz, _rules oxbow.recall_rules)
returns oxbow.mention[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _hours constant double precision := greatest(24 * _rules.weight_recent_days, _rules.weight_frequent_hours);
  _new oxbow.mention := row(_at, false);
begin
  _new.frequent := _rules.weight_frequent_mentions <= 1 + (
    select count(*) from unnest(_mentions) n
     where n.at <= _at and n.at > _at - make_interval(secs => 3600 * _rules.weight_frequent_hours));
  return (
    with every as (
      select n.at, n.frequent, row_number() over (order by n.at desc) as nth, max(n.at) over () as last,
             max(n.at) filter (where not n.frequent) over () as ordinary
        from unnest(_mentions || _new) n
    )
    select array_agg(row(e.at, e.frequent)::oxbow.mention order by e.at) from every e
     where e.nth <= 32 and e.at > e.last - make_interval(secs => 3600 * _hours)
        or e.at = e.ordinary and not e.frequent);
end $$;

-- mention_memory notes that a memory was mentioned again at some moments, which activates it. It becomes at least as
-- sensitive as the mentions.
create or replace function oxbow.mention_memory(_user_id text, _type text, _id uuid, _at timestamptz[], _count bigint,
  _sensitivity smallint, _actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _mentions oxbow.mention[];
  _time timestamptz;
  old oxbow.memories;
  _after double precision;
begin
  select * into old from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id for no key update;
  _mentions := old.mentions;
  for _time in select least(t, now()) from unnest(_at) t order by t loop
    _mentions := oxbow.with_mention(_mentions, _time, _rules);
  end loop;
  update oxbow.memories m
     set mention_count = least(m.mention_count + _count, 2147483647), mentions = _mentions,
         activated_at = greatest(coalesce(m.activated_at, m.created_at), _time), updated_at = now(),
         sensitivity = greatest(m.sensitivity, _sensitivity)
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id
  returning oxbow.weight_of(m, _now, _rules) into _after;
  perform oxbow.log_weight(_user_id, _type, _id, _now, 'mentioned', oxbow.weight_of(old, _now, _rules), _after,
                           _count, _actor);
end $$;
call oxbow.grant_worker('with_mention', 'mention_memory');
