-- The days on which the weight of a memory crosses a level if nothing happens to the memory.

-- weight_first returns the first of the days _from to _to, counted from _start, on which the weight of a memory is
-- below a level or, without _below, not below it. It returns null if no day is. Without events, the conflict factor
-- changes in one direction only, and no other factor rises. So the factors at the ends of a period bound the weight
-- within it: weight_first skips a period that cannot contain such a day, and halves others.
create or replace function oxbow.weight_first(_memory oxbow.memories, _rules oxbow.recall_rules, _start timestamptz,
  _level double precision, _below boolean, _from integer, _to integer) returns integer
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _begins integer[] := array[_from]; -- of the periods to search, the first one last
  _ends integer[] := array[_to];
  _n integer;
  _a integer;
  _b integer;
  _w double precision[]; -- the weight without the conflict factor at both ends
  _c double precision[];
begin
  loop
    _n := cardinality(_begins);
    if _n = 0 then
      return null;
    end if;
    _a := _begins[_n];
    _b := _ends[_n];
    _begins := trim_array(_begins, 1);
    _ends := trim_array(_ends, 1);
    continue when _a > _b;
    select array_agg(w."time" * w.reinforcement * w.importance * w.momentum * w.strength order by d.day),
           array_agg(w.conflict order by d.day)
      into _w, _c
      from (values (_a), (_b)) d(day)
     cross join oxbow.weight_factors(_memory.category, _memory.created_at, _memory.activated_at, _memory.used_at,
             _memory.mentions, _memory.negated_at, _memory.strength, _memory.tier, _memory.source,
             _start + d.day * interval '24 hours', _rules) w;
    if _below then
      continue when _w[2] * least(_c[1], _c[2]) >= _level;
    else
      continue when _w[1] * greatest(_c[1], _c[2]) < _level;
    end if;
    if _a = _b then
      return _a;
    end if;
    _n := (_a + _b) / 2;
    _begins := _begins || array[_n + 1, _a];
    _ends := _ends || array[_b, _n];
  end loop;
end $$;
call oxbow.grant_worker('weight_first');

-- weight_crossings reports whether the unclamped weight of a memory is below a level if nothing happens to the memory:
-- in a row for the moment at, and in one for each later day on which that changes, within the given number of days.
-- Days have 24 hours and count from at, or from the last event if that is later.
create or replace function oxbow.weight_crossings(user_id text, id uuid, level double precision,
  at timestamptz default now(), days integer default 36525)
returns table (day integer, "when" timestamptz, below boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  m oxbow.memories;
  _rules oxbow.recall_rules;
  _start timestamptz;
begin
  perform oxbow.check_access(weight_crossings.user_id);
  if weight_crossings.at is null or not oxbow.valid_time('at', weight_crossings.at) then
    perform oxbow.reject('at', weight_crossings.at::text, 'must be finite');
  elsif weight_crossings.level is null or not weight_crossings.level between 1e-6 and 1e6 then
    perform oxbow.reject('level', weight_crossings.level::text, 'must be between 0.000001 and 1000000');
  elsif weight_crossings.days is null or not weight_crossings.days between 0 and 365250 then
    perform oxbow.reject('days', weight_crossings.days::text, 'must be between 0 and 365250');
  end if;
  select * into m from oxbow.memories x
   where x.user_id = weight_crossings.user_id and x.id = weight_crossings.id and x.memory_type <> 'trait'
     and x.forgotten_at is null;
  if not found then
    return;
  end if;
  _rules := oxbow.recall_rules(weight_crossings.user_id, weight_crossings.at);
  _start := greatest(weight_crossings.at, m.negated_at, (select max(n.at) from unnest(m.mentions) n));
  day := 0;
  below := oxbow.weight_of(m, _start, _rules) < weight_crossings.level;
  while day is not null loop
    "when" := _start + day * interval '24 hours';
    return next;
    below := not below;
    day := oxbow.weight_first(m, _rules, _start, weight_crossings.level, below, day + 1, weight_crossings.days);
  end loop;
end $$;
call oxbow.grant_app('weight_crossings');
