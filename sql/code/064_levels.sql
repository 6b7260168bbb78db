-- Levels: memories are compressed as their weight falls (W; design §11). The levels are full, summary, tag, trace and
-- archive; docs/weight.md lists what each keeps. A memory has a level if its weight is below the policy
-- level_<level>_weight, it was not active for level_<level>_days, and both are true of the levels before it. They are
-- tested at whole days since it was last active. memories.weight_next_at is never later than the next moment at which
-- time alone changes the level. Current facts go no lower than summary, so that they can be found at any age. Traits,
-- documents, ended and sensitive memories, and those of the tiers core and system keep their level, except the
-- originals of a merged memory: the policy merge_archive_days archives them. The time before a memory was stored does
-- not count: one that is stored with an earlier created_at stays full for as long as a new one.

-- has_levels reports whether time may change the level of a memory.
create or replace function oxbow.has_levels(_memory oxbow.memories, _now timestamptz) returns boolean
language sql immutable parallel safe
return _memory.memory_type in ('fact', 'episodic') and _memory.tier = 'normal' and _memory.sensitivity < 2
  and _memory.forgotten_at is null and _memory.expired_at is null
  and (_memory.invalid_at is null or _memory.invalid_at > _now);

-- day_reaching returns the first day, from _from to 36,526, on which a weight would be below a level if only the time
-- factor changed. _weight and _time are those of _day.
create or replace function oxbow.day_reaching(_weight double precision, _time double precision, _day double precision,
  _level double precision, _from integer) returns double precision
language sql immutable parallel safe
return case when _time < 1 and _level > 0 then
  least(greatest(floor((_weight / _time / _level - 1) * _day / (1 / _time - 1)) + 1, _from), 36526) end;

-- weight_below returns a bracket, first to last, of the first of the days _from to 36,525, counted from _start, on
-- which the weight of a memory that was not negated is below a level. If first is later than that, no such day exists.
-- The weight only falls. So if only the time factor changed, the other factors of an earlier day would give a day that
-- is not too early, and those of a later day one that is not too late. A line between the first two such days gives a
-- third, and two more come so close that most brackets have one day. first and last are null if the weight does not
-- depend on time. The planner inlines the function, so a statement computes a thousand memories at once.
create or replace function oxbow.weight_below(_category text, _created_at timestamptz, _activated_at timestamptz,
  _used_at timestamptz, _mentions oxbow.mention[], _strength double precision, _tier text, _source text,
  _start timestamptz, _level double precision, _from integer, _rules oxbow.recall_rules)
returns table (first integer, last integer)
language sql stable parallel safe as $$
  select case when w1.weight < _level then _from else least(d4.day, d5.day)::integer end,
         case when w1.weight < _level then _from else greatest(d4.day, d5.day)::integer end
    from oxbow.weight_factors(_category, _created_at, _activated_at, _used_at, _mentions, null, _strength, _tier,
           _source, _start + _from * interval '24 hours', _rules) w1
   cross join lateral (select oxbow.day_reaching(w1.weight, w1."time", _from, _level, _from) as day offset 0) d1
   cross join lateral oxbow.weight_factors(_category, _created_at, _activated_at, _used_at, _mentions, null, _strength,
           _tier, _source, _start + d1.day * interval '24 hours', _rules) w2
   cross join lateral (select least(round(_from + (d1.day - _from) ^ 2 / greatest(d1.day - _from + d1.day
     - oxbow.day_reaching(w2.weight, w2."time", d1.day, _level, _from), 1)), 36526) as day offset 0) d2
   cross join lateral oxbow.weight_factors(_category, _created_at, _activated_at, _used_at, _mentions, null, _strength,
           _tier, _source, _start + d2.day * interval '24 hours', _rules) w3
   cross join lateral (select oxbow.day_reaching(w3.weight, w3."time", d2.day, _level, _from) as day offset 0) d3
   cross join lateral oxbow.weight_factors(_category, _created_at, _activated_at, _used_at, _mentions, null, _strength,
           _tier, _source, _start + d3.day * interval '24 hours', _rules) w4
   cross join lateral (select oxbow.day_reaching(w4.weight, w4."time", d3.day, _level, _from) as day offset 0) d4
   cross join lateral oxbow.weight_factors(_category, _created_at, _activated_at, _used_at, _mentions, null, _strength,
           _tier, _source, _start + d4.day * interval '24 hours', _rules) w5
   cross join lateral (select oxbow.day_reaching(w5.weight, w5."time", d4.day, _level, _from) as day offset 0) d5
$$;

-- plan_levels computes the levels that memories should have at a moment, and when time alone changes these next. Each
-- memory is identified by its user and id. Those that has_levels excludes keep their level. An archived memory is due
-- again when settle_levels forgets it (policy archive_delete_days).
create or replace function oxbow.plan_levels(_user_ids text[], _ids uuid[], _now timestamptz)
returns table (user_id text, memory_type text, id uuid, before text, level text, next timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _levels constant text[] := '{full,summary,tag,trace,archive}';
  p record;
  _memory oxbow.memories;
  _day integer;
  _up integer;
  _deleted constant interval := make_interval(secs => 86400 * nullif(oxbow.policy('archive_delete_days'), 0));
  _merged constant interval := make_interval(secs => 86400 * oxbow.policy('merge_archive_days'));
begin
  for p in
    with who as materialized (
      select f.factor, f.rules, -- of all users with this factor
             array[l.w1, least(l.w1, l.w2), least(l.w1, l.w2, l.w3), least(l.w1, l.w2, l.w3, l.w4)] as weights,
             array[l.d1, greatest(l.d1, l.d2), greatest(l.d1, l.d2, l.d3), greatest(l.d1, l.d2, l.d3, l.d4)] as days
        from (select f.factor, oxbow.recall_rules(f.user_id, 'infinity') as rules
                from (select coalesce(u.forgetting_factor, 1) as factor, min(i.user_id) as user_id
                        from (select distinct i.user_id from unnest(_user_ids) i(user_id)) i
                        left join oxbow.users u on u.user_id = i.user_id
                       group by 1) f offset 0) f
       cross join lateral (
         select (f.rules).level_summary_weight as w1, (f.rules).level_tag_weight as w2,
                (f.rules).level_trace_weight as w3, (f.rules).level_archive_weight as w4,
                ceil((f.rules).level_summary_days)::integer as d1, ceil((f.rules).level_tag_days)::integer as d2,
                ceil((f.rules).level_trace_days)::integer as d3, ceil((f.rules).level_archive_days)::integer as d4) l
    )
    select m.user_id, m.memory_type, m.id, m.before, n.nth, m.negated_at, m.start, m.today, m.rules, m.weights, m.most,
           n.from_day, f.first, f.last, m.levelled, m.merged_at,
           m.stored_at + m.days[1] * interval '24 hours' as full_until
      from (select m.*, coalesce(m.activated_at, m.created_at) as start, r.rules, r.weights,
                   case when m.sensitivity = 1 then array(select 2 * d from unnest(r.days) d) else r.days end as days,
                   case when m.memory_type = 'fact' then 1 else 4 end as most,
                   floor(oxbow.days_since(coalesce(m.activated_at, m.created_at), _now))::integer as today
              from unnest(_user_ids, _ids) i(user_id, id)
             cross join lateral (
               select m.user_id, m.memory_type::text as memory_type, m.id, m.level as before, m.category, m.created_at,
                      m.activated_at, m.used_at, m.mentions, m.negated_at, m.strength, m.tier, m.source, m.sensitivity,
                      m.stored_at,
                      oxbow.has_levels(m, _now) as levelled,
                      case when m.expired_at is not null and m.forgotten_at is null and m.sensitivity < 2 and exists (
                             select from oxbow.memory_links l
                              where l.user_id = m.user_id and l.to_type = m.memory_type and l.to_id = m.id
                                and l.relation = 'merged_from' and l.from_id = m.superseded_by)
                           then m.expired_at end as merged_at
                 from oxbow.memories m
                where m.user_id = i.user_id and m.id = i.id offset 0) m
             cross join lateral (
               select w.rules, w.weights, w.days from who w
                where w.factor = coalesce((select u.forgetting_factor from oxbow.users u where u.user_id = m.user_id), 1)
             ) r) m
     cross join lateral oxbow.weight_factors(m.category, m.created_at, m.activated_at, m.used_at, m.mentions,
             m.negated_at, m.strength, m.tier, m.source, m.start + m.today * interval '24 hours', m.rules) w
     cross join lateral (
       select h.nth, greatest(m.today + 1, m.days[h.nth + 1]) as from_day
         from (select count(*)::integer as nth from unnest(m.weights[:m.most], m.days[:m.most]) l(weight, days)
                where w.weight < l.weight and m.today >= l.days) h offset 0) n
      left join lateral oxbow.weight_below(m.category, m.created_at, m.activated_at, m.used_at, m.mentions, m.strength,
             m.tier, m.source, m.start, m.weights[n.nth + 1], n.from_day, m.rules) f
        on m.levelled and m.negated_at is null and n.nth < m.most
  loop
    _day := nullif(p.first, 36526);
    if p.levelled and (p.negated_at is not null or p.nth < p.most and (p.first is null or p.first < p.last)) then
      select * into _memory from oxbow.memories m
       where m.user_id = p.user_id and m.memory_type = p.memory_type and m.id = p.id;
      _day := case when p.nth < p.most then
        oxbow.weight_first(_memory, p.rules, p.start, p.weights[p.nth + 1], true, coalesce(p.first, p.from_day),
                           least(p.last, 36525)) end;
      _up := case when p.negated_at is not null and p.nth > 0 then
        oxbow.weight_first(_memory, p.rules, p.start, p.weights[p.nth], false, p.today + 1, coalesce(_day, 36525)) end;
      _day := least(_day, _up);
    end if;
    user_id := p.user_id;
    memory_type := p.memory_type;
    id := p.id;
    before := p.before;
    level := case when p.levelled then _levels[p.nth + 1]
                  when p.merged_at is not null then case when p.merged_at + _merged <= _now then 'archive' else 'full' end
                  else p.before end;
    next := coalesce(p.start + _day * interval '24 hours', case when level <> 'archive' then p.merged_at + _merged end);
    if p.levelled and p.before = 'full' and level <> 'full' and _now < p.full_until then
      level := 'full';
      next := p.full_until;
    end if;
    if level = 'archive' and _deleted is not null and p.levelled then
      next := least(next, _deleted + case when before <> 'archive' then _now else (
        select a.since from oxbow.memory_archive a
         where a.user_id = p.user_id and a.memory_type = p.memory_type and a.memory_id = p.id) end);
    end if;
    return next;
  end loop;
end $$;
call oxbow.grant_worker('has_levels', 'day_reaching', 'weight_below', 'plan_levels');

-- schedule_levels writes when the levels of memories change next, and returns the number of memories. If a memory
-- should have another level now, it is due at once, and settle_levels writes the level.
create or replace function oxbow.schedule_levels(_user_ids text[], _ids uuid[], _now timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  _scheduled bigint;
begin
  perform from (select m.user_id, m.id from unnest(_user_ids, _ids) m(user_id, id) order by 1, 2) i
    cross join lateral (select from oxbow.memories m where m.user_id = i.user_id and m.id = i.id
                           for no key update) m;
  with plan as materialized (
    select p.user_id, p.memory_type, p.id, case when p.before <> p.level then _now else p.next end as next
      from oxbow.plan_levels(_user_ids, _ids, _now) p
  )
  update oxbow.memories m set weight_next_at = p.next
    from plan p
   where m.user_id = p.user_id and m.memory_type = p.memory_type and m.id = p.id
     and m.weight_next_at is distinct from p.next;
  get diagnostics _scheduled = row_count;
  return _scheduled;
end $$;

-- level_rules identifies the rules of weights and levels: the policies, and the categories that names stand for.
create or replace function oxbow.level_rules() returns text
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  return (
    select md5(string_agg(r.key || r.value, ' ' order by r.key) || oxbow.policy('archive_delete_days')
             || coalesce((select jsonb_object_agg(c.name, c.category)::text from oxbow.category_names c), ''))
      from jsonb_each_text((select to_jsonb(l) from oxbow.recall_rules l order by l.valid_from desc limit 1)) r
     where r.key ~ '^(level|weight|memory_strength)_');
end $$;

-- walk_levels schedules at most _limit memories that became old enough for another level, and returns how many it
-- looked at. It walks in the order of creation, so an INSERT need not schedule. A change of the policies that govern
-- weights and levels begins the walk again.
create or replace function oxbow.walk_levels(_now timestamptz, _limit integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  _days constant double precision := oxbow.policy('level_summary_days');
  _rules constant text := oxbow.level_rules();
  _place jsonb;
  _user_ids text[];
  _ids uuid[];
  _times timestamptz[];
  _n bigint;
begin
  insert into oxbow.settings (key, value) values ('sweep.levels', '{}') on conflict do nothing;
  select s.value into _place from oxbow.settings s where s.key = 'sweep.levels' for update;
  if _place ->> 'rules' is distinct from _rules then
    _place := '{}';
  end if;
  select array_agg(m.user_id), array_agg(m.id), array_agg(m.created_at) into _user_ids, _ids, _times
    from (select m.user_id, m.id, m.created_at from oxbow.memories m
           where m.created_at >= coalesce((_place #>> '{cursor,at}')::timestamptz, '-infinity')
             and m.created_at <= _now - make_interval(secs => 86400 * _days)
             and (m.created_at, m.user_id, m.id) >
                 (coalesce((_place #>> '{cursor,at}')::timestamptz, '-infinity'),
                  coalesce(_place #>> '{cursor,user_id}', ''),
                  coalesce(_place #>> '{cursor,id}', '00000000-0000-0000-0000-000000000000')::uuid)
           order by m.created_at, m.user_id, m.id limit _limit) m;
  _n := coalesce(cardinality(_ids), 0);
  if _n > 0 then
    perform oxbow.schedule_levels(_user_ids, _ids, _now);
    _place := jsonb_build_object('cursor', jsonb_build_object(
      'at', _times[_n], 'user_id', _user_ids[_n], 'id', _ids[_n]));
  end if;
  update oxbow.settings s set value = _place || jsonb_build_object('rules', _rules), updated_at = now()
   where s.key = 'sweep.levels' and s.value is distinct from _place || jsonb_build_object('rules', _rules);
  return _n;
end $$;

-- summary_of returns the sentences at the beginning of a text that fit into about _tokens, at least one.
create or replace function oxbow.summary_of(_text text, _tokens integer) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _short text;
begin
  if oxbow.estimate_tokens(_text) <= _tokens then
    return _text;
  elsif octet_length(_text) = length(_text) then -- only ASCII: a token has four characters
    _short := substring(left(_text, 4 * _tokens + 1) from '^.*[.!?](?=\s)');
  else
    _short := nullif(oxbow.shorten(_text, _tokens), '');
    _short := case when _short not like '%…' then _short end;
  end if;
  return coalesce(_short, substring(_text from '^.*?(?:[.!?](?=\s+\S)|[。！？](?=\s*\S))'), _text);
end $$;

-- names_of returns the names of the entities in metadata, at most _limit.
create or replace function oxbow.names_of(_metadata jsonb, _limit integer) returns text[]
language sql immutable parallel safe
return array(select n.name
               from (select e ->> 'name' as name, min(nth) as nth
                       from jsonb_array_elements(case jsonb_typeof(_metadata -> 'entities')
                              when 'array' then _metadata -> 'entities' else '[]' end) with ordinality n(e, nth)
                      where e ->> 'kind' is distinct from 'self' and e ->> 'name' <> '' group by 1) n
              order by n.nth limit _limit);

-- tag_of returns the keywords of an episode: names, and the longest of its other words, five in all. The words are in
-- the order of the text. It does not choose rare words, because eight searches in the term index would cost more than
-- all the rest. The planner inlines the function. Without terms it returns nothing.
drop function if exists oxbow.tag_of(text, text, jsonb, tsvector); -- an earlier version searched the term index
create or replace function oxbow.tag_of(_text text, _metadata jsonb, _tsv tsvector) returns table (tag text)
language sql stable parallel safe as $$
  select array_to_string(t.names || array(
           select coalesce(substring(substr(_text, w.place, 50) from '^\w+'), w.lexeme)
             from (select l.lexeme, coalesce(nullif(position(' ' || l.stem in t.words), 0),
                            case when length(l.lexeme) > 2 then nullif(position(l.stem in t.words), 0) - 1 end) as place
                     from (select l.lexeme, left(l.lexeme, 2) || rtrim(substr(l.lexeme, 3), 'iey') as stem
                             from (select l.lexeme from unnest(_tsv) l
                                    where l.lexeme not like '+%' and l.lexeme not like '@%' and length(l.lexeme) > 1
                                      and (t.known = '' or position(l.lexeme in t.known) = 0)
                                    order by length(l.lexeme) desc, l.lexeme collate "C"
                                    limit 5 - cardinality(t.names)) l) l
                   offset 0) w
            order by w.place), ', ')
    from (select n.names, lower(array_to_string(n.names, ' ')) as known, ' ' || lower(_text) as words
            from (select case when _metadata ? 'entities' then oxbow.names_of(_metadata, 5) else '{}' end as names
                  offset 0) n
           where _tsv is not null offset 0) t
$$;

-- compress_memories lowers memories to the given levels, and writes when each changes next. It copies the original to
-- memory_archive before it first shortens the text. A tag and a trace have the search terms of the shortened text and
-- no vector; an archived memory has neither, and no entities. The caller has locked the memories.
create or replace function oxbow.compress_memories(_user_ids text[], _types text[], _ids uuid[], _levels text[],
  _next timestamptz[], _now timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  _tokens constant integer := oxbow.policy('level_summary_tokens');
  _origin constant text := coalesce(current_setting('oxbow.origin', true), '');
begin
  insert into oxbow.memory_archive as a (user_id, memory_type, memory_id, content, metadata, content_hash, len, tsv)
  select m.user_id, m.memory_type, m.id, m.content, m.metadata, m.content_hash, t.len, t.tsv
    from unnest(_user_ids, _types, _ids, _levels) i(user_id, type, id, level)
   cross join lateral (select m.* from oxbow.memories m
                        where m.user_id = i.user_id and m.memory_type = i.type and m.id = i.id offset 0) m
    left join lateral (select t.len, t.tsv from oxbow.memory_terms t
                        where t.user_id = i.user_id and t.memory_type = i.type and t.memory_id = i.id) k on true
   cross join lateral (select k.len, k.tsv where k.len is not null
                       union all
                       select t.len, t.tsv from oxbow.terms(coalesce(m.speaker || ': ', '') || m.content) t
                        where k.len is null) t
   where m.level = 'full' and (i.level <> 'summary' or oxbow.estimate_tokens(m.content) > _tokens)
      or m.level = 'summary' and i.level <> 'summary'
  on conflict do nothing;

  perform set_config('oxbow.origin', 'levels', true); -- refuse_change lets the text pass
  with kept as materialized (
    select m.user_id, m.memory_type, m.id, i.level, i.next, m.content as before, t.len, t.tsv,
           case i.level when 'summary' then oxbow.summary_of(m.content, _tokens)
                        when 'tag' then coalesce(nullif(g.tag, ''), to_char(d.at, 'YYYY-MM-DD'))
                        when 'trace' then concat_ws(' · ', to_char(d.at, 'YYYY-MM-DD'),
                          nullif(array_to_string(oxbow.names_of(a.metadata, 20), ', '), ''), m.category)
                        else '[archived]' end as content,
           case when i.level = 'archive' then '{}'
                when i.level = 'trace' then (
                  select coalesce(jsonb_object_agg(e.key, e.value), '{}') from jsonb_each(m.metadata) e
                   where e.key in ('entities', 'relations', 'context'))
                else m.metadata end as metadata,
           case when s.short then oxbow.date_terms(d.at) end as dates
      from unnest(_user_ids, _types, _ids, _levels, _next) i(user_id, type, id, level, next)
     cross join lateral (select i.level in ('tag', 'trace') as short) s
     cross join lateral (select m.* from oxbow.memories m
                          where m.user_id = i.user_id and m.memory_type = i.type and m.id = i.id offset 0) m
     cross join lateral (
       select coalesce(m.valid_at, m.created_at) at time zone coalesce(
                (select u.timezone from oxbow.users u where u.user_id = i.user_id), 'UTC') as at) d
      left join lateral (select a.content, a.metadata, a.tsv from oxbow.memory_archive a
                          where s.short and a.user_id = i.user_id and a.memory_type = i.type and a.memory_id = i.id) a
             on true
      left join lateral (select t.len, t.tsv from oxbow.memory_terms t
                          where s.short and t.user_id = i.user_id and t.memory_type = i.type and t.memory_id = i.id) t
             on true
      left join lateral oxbow.tag_of(a.content, a.metadata, case i.level when 'tag' then a.tsv end) g on true
  ), changed as (
    update oxbow.memories m set level = k.level, weight_next_at = k.next, content = k.content, metadata = k.metadata
      from kept k where m.user_id = k.user_id and m.memory_type = k.memory_type and m.id = k.id
  ), dated as (
    update oxbow.memory_archive a set since = _now
      from kept k
     where k.level = 'archive' and a.user_id = k.user_id and a.memory_type = k.memory_type and a.memory_id = k.id
  ), noted as (
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_metadata, actor, reason)
    select k.user_id, k.memory_type, k.id, 'COMPRESS', jsonb_build_object('level', k.level), 'settle',
           'its weight fell, and it was not used or mentioned'
      from kept k where k.content <> k.before
  ), seen as (
    delete from oxbow.memory_vectors v using kept k
     where k.level <> 'summary' and v.user_id = k.user_id and v.memory_type = k.memory_type and v.memory_id = k.id
  ), indexed as (
    delete from oxbow.indexed_vectors v using kept k
     where k.level <> 'summary' and v.user_id = k.user_id and v.memory_type = k.memory_type and v.memory_id = k.id
  ), gone as (
    delete from oxbow.memory_terms t using kept k
     where k.level = 'archive' and t.user_id = k.user_id and t.memory_type = k.memory_type and t.memory_id = k.id
  ), short as materialized (
    select k.user_id, k.memory_type, k.id, k.len as before, t.len, t.tsv || array_to_tsvector(k.dates) as tsv
      from kept k, oxbow.terms(k.content) t where k.level in ('tag', 'trace') and k.len is not null
  ), found as (
    update oxbow.memory_terms t set len = s.len, tsv = s.tsv
      from short s where t.user_id = s.user_id and t.memory_type = s.memory_type and t.memory_id = s.id
  )
  update oxbow.memory_term_stats t set terms = t.terms + s.terms
    from (select s.user_id, s.memory_type, sum(s.len - s.before) as terms from short s group by 1, 2 order by 1, 2) s
   where t.user_id = s.user_id and t.memory_type = s.memory_type;
  perform set_config('oxbow.origin', _origin, true);
end $$;

-- settle_levels writes the levels of at most _limit memories that are due, and returns how many it looked at, and how
-- many it compressed, raised and forgot. A memory whose weight has risen is raised to full first, and then compressed.
create or replace function oxbow.settle_levels(_now timestamptz, _limit integer, out settled bigint,
  out compressed bigint, out raised bigint, out forgotten bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  _levels constant text[] := '{full,summary,tag,trace,archive}';
  _user_ids text[];
  _ids uuid[];
  _raised record;
  _changed record;
begin
  select array_agg(d.user_id order by d.user_id, d.id), array_agg(d.id order by d.user_id, d.id)
    into _user_ids, _ids
    from (select m.user_id, m.id from oxbow.memories m where m.weight_next_at <= _now
           order by m.weight_next_at limit _limit for no key update skip locked) d;
  settled := coalesce(cardinality(_ids), 0);
  compressed := 0;
  raised := 0;
  forgotten := 0;
  if settled = 0 then
    return;
  end if;
  perform from oxbow.memory_term_stats s -- in the order in which embed locks them
    where s.user_id = any(_user_ids) order by s.user_id, s.memory_type for no key update;
  with plan as materialized (
    select p.* from oxbow.plan_levels(_user_ids, _ids, _now) p
  ), kept as (
    update oxbow.memories m set weight_next_at = p.next
      from plan p
     where m.user_id = p.user_id and m.memory_type = p.memory_type and m.id = p.id
       and p.level = p.before
  )
  select array_agg(p.user_id) as users, array_agg(p.memory_type::text) as types, array_agg(p.id) as ids,
         array_agg(p.level) as levels, array_agg(p.next) as next,
         array_agg(array_position(_levels, p.level) < array_position(_levels, p.before)) as up,
         (select array_agg(a.user_id) from plan a where a.level = 'archive' and a.next <= _now) as over_users,
         (select array_agg(a.id) from plan a where a.level = 'archive' and a.next <= _now) as over
    into _changed
    from plan p where p.level <> p.before;
  if _changed.over is not null then
    select count(*) filter (where oxbow.forget_memory(o.user_id, o.id, 'auto', 'settle',
             format('archived for %s days', oxbow.policy('archive_delete_days')))) into forgotten
      from unnest(_changed.over_users, _changed.over) o(user_id, id);
  end if;
  if _changed.ids is null then
    return;
  end if;
  for _raised in
    select u.user_id, u.type, u.id, u.next, u.level
      from unnest(_changed.users, _changed.types, _changed.ids, _changed.next, _changed.levels, _changed.up)
             u(user_id, type, id, next, level, up)
     where u.up
  loop
    update oxbow.memories m set level = 'full'
     where m.user_id = _raised.user_id and m.memory_type = _raised.type and m.id = _raised.id;
    if _raised.level = 'full' then
      update oxbow.memories m set weight_next_at = _raised.next
       where m.user_id = _raised.user_id and m.memory_type = _raised.type and m.id = _raised.id;
    end if;
    raised := raised + 1;
  end loop;
  compressed := cardinality(_changed.ids) - raised;
  perform oxbow.compress_memories(array_agg(u.user_id), array_agg(u.type), array_agg(u.id), array_agg(u.level),
                                  array_agg(u.next), _now)
     from unnest(_changed.users, _changed.types, _changed.ids, _changed.levels, _changed.next)
            u(user_id, type, id, level, next)
    where u.level <> 'full';
end $$;
call oxbow.grant_worker('level_rules', 'schedule_levels', 'walk_levels', 'summary_of', 'names_of', 'tag_of',
                        'compress_memories', 'settle_levels');
