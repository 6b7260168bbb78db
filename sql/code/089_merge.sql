-- Merging: memories that say the same, and repetitions of an event, become one memory (W). It is a new memory of source
-- 'merge' that supersedes the originals and has links merged_from to them. Oxbow changes its text and counters in place
-- when a later repetition joins it; the history keeps the earlier texts.

-- merges reports whether the memories of a user are merged. They are not if the user opted out, or if the setting merge
-- is off.
create or replace function oxbow.merges(_user_id text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select not coalesce(u.opted_out, false)
         and coalesce((select (s.value ->> 'enabled')::boolean from oxbow.settings s where s.key = 'merge'), true)
    from (values (1)) one left join oxbow.users u on u.user_id = _user_id;
$$;
call oxbow.grant_worker('merges');

-- mergeable reports whether a memory may become a part of another.
create or replace function oxbow.mergeable(_memory oxbow.memories) returns boolean
language sql immutable parallel safe
return (_memory).memory_type in ('fact', 'episodic') and (_memory).expired_at is null and (_memory).forgotten_at is null
  and (_memory).invalid_at is null and (_memory).expires_at is null and (_memory).sensitivity < 2 and (_memory).modality = 'text'
  and coalesce((_memory).source, '') not in ('summary', 'abstract') and (_memory).level = 'full';
call oxbow.grant_worker('mergeable');

-- merge_kin returns a key that is equal for memories that may be merged: of the same type, speaker, agent and context.
create or replace function oxbow.merge_kin(_memory oxbow.memories) returns text
language sql immutable parallel safe
return jsonb_build_array((_memory).memory_type::text, (_memory).speaker, (_memory).agent_id,
                         (_memory).metadata ->> 'context')::text;
call oxbow.grant_worker('merge_kin');

-- new_to_merge returns the memories in the inboxes of users that were not returned before, for the job merge. Those of
-- users with too few memories of a type for a merge wait until there are more.
create or replace function oxbow.new_to_merge(_user_ids text[]) returns table (user_id text, ids uuid[])
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
begin
  return query
  with fresh as materialized (
    select i.user_id, i.memory_type, i.memory_id
      from unnest(_user_ids) u(id)
     cross join lateral (select s.memory_type from oxbow.memory_term_stats s
                          where s.user_id = u.id and s.memory_type in ('fact', 'episodic')
                            and s.documents >=
                                case s.memory_type when 'fact' then 2 else oxbow.policy('merge_repeats') end
                         offset 0) s
     cross join lateral (select i.* from oxbow.reflection_inbox i
                          where i.user_id = u.id and i.memory_type = s.memory_type and not i.nominated
                          order by i.memory_type, i.memory_id for no key update skip locked) i
  ), marked as (
    update oxbow.reflection_inbox i set nominated = true from fresh f
     where i.user_id = f.user_id and i.memory_type = f.memory_type and i.memory_id = f.memory_id
    returning i.user_id, i.memory_type, i.memory_id
  )
  select m.user_id, array_agg(m.memory_id order by m.memory_id) from marked m group by m.user_id order by m.user_id;
end $$;
call oxbow.grant_worker('new_to_merge');

-- memories_to_merge returns those of the given memories that may be merged, or none if merging is off for the user. A
-- merged memory is among them only after an import; its content is returned without the number and dates.
create or replace function oxbow.memories_to_merge(_user_id text, _ids uuid[])
returns table (id uuid, content text, at timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
begin
  if not oxbow.merges(_user_id) then
    return;
  end if;
  return query
  select m.id, left(coalesce(m.metadata #>> '{merged,text}', m.content), 6000), coalesce(m.valid_at, m.created_at)
    from (select distinct i.id from unnest(_ids) i(id)) i
   cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
   where oxbow.mergeable(m)
   order by m.id;
end $$;
call oxbow.grant_worker('memories_to_merge');

-- note_gists writes the gists of memories. The caller commits before it looks for others with the same gist, so that at
-- least one of two concurrent jobs finds the memories of the other.
create or replace function oxbow.note_gists(_user_id text, _ids uuid[], _gists text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
begin
  insert into oxbow.memory_gists (user_id, memory_type, gist, memory_id, merged)
  select _user_id, m.memory_type, md5(i.gist)::uuid, m.id, m.source is not distinct from 'merge'
    from unnest(_ids, _gists) i(id, gist)
   cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
   where oxbow.mergeable(m)
   order by m.id
  on conflict do nothing;
end $$;
call oxbow.grant_worker('note_gists');

-- near_memories returns, for each of the given memories, itself and those that it may be merged with, at most _limit:
-- of its kin, not unmerged by a person, and with similar vectors. _same restricts them to memories of the same gist, a
-- merged one first, which an index finds however many the user has; otherwise it scans all vectors. merged is the
-- number of originals of a merged memory, whose text here lacks their dates; needed is the minimum number for a merge.
drop function if exists oxbow.near_memories(text, uuid[], integer); -- an earlier version had no gists
create or replace function oxbow.near_memories(_user_id text, _ids uuid[], _limit integer, _same boolean)
returns table (of uuid, id uuid, type text, content text, speaker text, category text, at timestamptz,
  similarity double precision, kin text, merged integer, needed integer)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _least constant jsonb := (select jsonb_object_agg(substr(p.name, 7), oxbow.policy(p.name))
                              from oxbow.policy_definitions p where p.name like 'merge\_%');
begin
  return query
  select m.id, n.id, n.memory_type::text, left(coalesce(n.metadata #>> '{merged,text}', n.content), 6000),
         coalesce(n.speaker, ''), coalesce(oxbow.category_of(n.category), ''), coalesce(n.valid_at, n.created_at),
         1 - near.distance, oxbow.merge_kin(n),
         case when n.source = 'merge' then least(greatest(oxbow.json_number(n.metadata #> '{merged,count}'), 0), 1e6)::integer else 0 end,
         case n.memory_type when 'fact' then 2 else (_least ->> 'repeats')::numeric::integer end
    from unnest(_ids) i(id)
   cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
   cross join lateral (select v.embedding from oxbow.memory_vectors v
                        where v.user_id = _user_id and v.memory_type = m.memory_type and v.memory_id = m.id offset 0) e
   cross join lateral (
    (select v.memory_id, v.embedding <=> e.embedding as distance
       from (select o.memory_id
               from oxbow.memory_gists g
               join oxbow.memory_gists o on o.user_id = _user_id and o.memory_type = g.memory_type and o.gist = g.gist
              where _same and g.user_id = _user_id and g.memory_type = m.memory_type and g.memory_id = m.id
              order by o.memory_id = m.id desc, o.merged desc, o.memory_id limit _limit) o
      cross join lateral (select v.* from oxbow.memory_vectors v
                           where v.user_id = _user_id and v.memory_type = m.memory_type and v.memory_id = o.memory_id
                          offset 0) v)
    union all
    (select v.memory_id, v.embedding <=> e.embedding as distance
       from oxbow.memory_vectors v
      where not _same and v.user_id = _user_id and v.memory_type = m.memory_type
        and v.memory_id not in (select o.id from oxbow.memories o -- the originals of earlier merges are many
                                 where o.user_id = _user_id and o.level <> 'archive'
                                   and case when o.expired_at is null and o.forgotten_at is null
                                            then least(o.invalid_at, o.expires_at) else '-infinity' end is not null)
      order by distance limit _limit)) near
   cross join lateral (select n.* from oxbow.memories n
                        where n.user_id = _user_id and n.memory_type = m.memory_type and n.id = near.memory_id
                       offset 0) n
   where oxbow.mergeable(m) and oxbow.mergeable(n)
     and near.distance <= 1 - greatest(
           (_least ->> coalesce(oxbow.category_of(m.category), 'fact'))::double precision,
           (_least ->> coalesce(oxbow.category_of(n.category), 'fact'))::double precision)
     and oxbow.merge_kin(n) = oxbow.merge_kin(m)
     and not exists (select from oxbow.memory_history h
                      where h.user_id = _user_id and h.memory_type = n.memory_type and h.memory_id in (n.id, m.id)
                        and h.event = 'UNMERGE')
   order by m.id, near.distance, n.id;
end $$;
call oxbow.grant_worker('near_memories');
do $$
begin
  execute 'alter function oxbow.near_memories set search_path = '
    || (select format('pg_catalog, %I, pg_temp', n.nspname) from pg_extension e
          join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
end $$;

-- merged_content returns the text of a merged memory: an event with how often and when it happened, or a fact as it is.
create or replace function oxbow.merged_content(_type text, _text text, _count integer, _first text, _last text)
returns text language sql immutable parallel safe
return case
  when _type = 'fact' then _text
  when _text ~ '[㐀-鿿]' then rtrim(_text, ' .。') || format('（%s次，%s）', _count,
    case when _first = _last then _first else _first || '至' || _last end)
  else rtrim(_text, ' .。') || format(' (%s times, %s)', _count,
    case when _first = _last then _first else _first || ' to ' || _last end)
end;
call oxbow.grant_worker('merged_content');

-- merge_memories makes one memory of several of a user, or lets them join the merged memory among them, and returns its
-- id. All must be current, of one type, and at most one a merged memory; otherwise the error is OX105. It has
--   content         _text, for episodes with their number and dates
--   valid_at        the beginning of the first
--   mention_count   their sum; each repetition is a mention, at the time at which it was stored or said
--   strength        1 and what each has above it, at most the policy weight_strength_max
--   importance, sensitivity, tier, activated_at, used_at: the highest; category: that which matters most
--   negated_at      null if any of them is not negated
--   metadata        of the last, and merged: {"count", "first", "last", "dates": at most 100, "text"}
--   vector          of the last, so that it is found at once
create or replace function oxbow.merge_memories(_user_id text, _actor text, _ids uuid[], _text text) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _origin constant text := coalesce(current_setting('oxbow.origin', true), '');
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
  _all oxbow.memories[]; -- in the order of their times
  _new uuid[];
  _into oxbow.memories; -- the merged memory that the others join
  m oxbow.memories;     -- the result
  _heaviest double precision;
  _time timestamptz;
  _count integer;
  _dates text[];
begin
  perform from oxbow.memories o where o.user_id = _user_id and o.id = any(_ids) order by o.id for no key update;
  select array_agg(o order by coalesce(o.valid_at, o.created_at), o.seq, o.id),
         array_agg(o.id) filter (where o.source is distinct from 'merge') into _all, _new
    from oxbow.memories o where o.user_id = _user_id and o.id = any(_ids) and oxbow.mergeable(o);
  if coalesce(cardinality(_all), 0) < cardinality(_ids) or cardinality(_new) < cardinality(_ids) - 1 then
    raise exception using errcode = 'OX105',
      message = format('a memory of user %L that was to be merged is no longer current', _user_id);
  end if;
  m := _all[cardinality(_all)];
  select * into _into from unnest(_all) o where o.source = 'merge';
  m.id := coalesce(_into.id, gen_random_uuid());

  select sum(case when o.source = 'merge' then least(greatest(oxbow.json_number(o.metadata #> '{merged,count}'), 0), 1e6)::integer else 1 end),
         min(coalesce(o.valid_at, o.created_at)), least(sum(o.mention_count), 2147483647),
         max(o.importance), max(o.sensitivity), max(o.used_at), max(coalesce(o.activated_at, o.created_at)),
         case when bool_and(o.negated_at is not null) then max(o.negated_at) end,
         (array_agg(o.tier order by array_position(array['system', 'core', 'normal'], o.tier)))[1],
         (array_agg(o.category order by oxbow.weight_importance(o.category, _rules) desc, o.seq desc))[1],
         max(oxbow.weight_of(o, _now, _rules)), bool_or(o.verified)
    into _count, m.valid_at, m.mention_count, m.importance, m.sensitivity, m.used_at, m.activated_at, m.negated_at,
         m.tier, m.category, _heaviest, m.verified
    from unnest(_all) o;
  select greatest(max(s.strength), least(1 + sum(greatest(s.strength - 1, 0)), _rules.weight_strength_max))
    into m.strength
    from unnest(_all) o, oxbow.strength_now(o.strength, coalesce(o.used_at, o.created_at), o.tier, o.source,
                                            coalesce(m.used_at, _now), _rules) s(strength);
  if _count >= oxbow.policy('merge_lasting') and oxbow.category_of(m.category) = 'short_preference' then
    m.category := 'stable_preference';
  end if;
  m.mentions := null;
  for _time in
    select n.at from unnest(_all) o, unnest(o.mentions) n
    union all
    select case when o.source = 'extraction' then coalesce(o.activated_at, o.created_at) else o.created_at end
      from unnest(_all) with ordinality o
     where o.source is distinct from 'merge' and (_into.id is not null or o.ordinality > 1)
     order by 1
  loop
    m.mentions := oxbow.with_mention(m.mentions, least(_time, _now), _rules);
  end loop;
  _dates := array(
    select to_char(coalesce(o.valid_at, o.created_at) at time zone _zone, 'YYYY-MM-DD') from unnest(_all) o
     where o.source is distinct from 'merge'
    union
    select d from jsonb_array_elements_text(_into.metadata #> '{merged,dates}') d
    order by 1);
  m.metadata := (m.metadata - 'merged') || jsonb_build_object('merged', jsonb_build_object('text', _text, 'count', _count,
    'first', least(_dates[1], _into.metadata #>> '{merged,first}'),
    'last', greatest(_dates[cardinality(_dates)], _into.metadata #>> '{merged,last}'),
    'dates', to_jsonb(_dates[greatest(cardinality(_dates) - 99, 1):])));
  m.content := oxbow.merged_content(m.memory_type, _text, _count, m.metadata #>> '{merged,first}',
                                    m.metadata #>> '{merged,last}');

  if _into.id is null then
    perform set_config('oxbow.embed', 'off', true);
    insert into oxbow.memories (user_id, memory_type, id, content, valid_at, seq, speaker, agent_id, source, category,
      importance, strength, mention_count, activated_at, used_at, negated_at, mentions, tier, topic, verified,
      metadata, sensitivity)
    values (_user_id, m.memory_type, m.id, m.content, m.valid_at, m.seq, m.speaker, m.agent_id, 'merge', m.category,
      m.importance, m.strength, m.mention_count, m.activated_at, m.used_at, m.negated_at, m.mentions, m.tier, m.topic,
      m.verified, m.metadata, m.sensitivity);
    perform set_config('oxbow.embed', '', true);
    insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
    select v.user_id, v.memory_type, m.id, v.embedding from oxbow.memory_vectors v
     where v.user_id = _user_id and v.memory_type = m.memory_type and v.memory_id = (_all[cardinality(_all)]).id;
  else
    perform set_config('oxbow.origin', 'merge', true);
    update oxbow.memories o
       set content = m.content, valid_at = m.valid_at, category = m.category, importance = m.importance,
           strength = m.strength, mention_count = m.mention_count, activated_at = m.activated_at, used_at = m.used_at,
           negated_at = m.negated_at, mentions = m.mentions, tier = m.tier, verified = m.verified,
           metadata = m.metadata, sensitivity = m.sensitivity, updated_at = now()
     where o.user_id = _user_id and o.memory_type = m.memory_type and o.id = m.id;
    perform set_config('oxbow.origin', _origin, true);
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
    values (_user_id, m.memory_type, m.id, 'UPDATE', _into.content, m.content, _actor, 'it happened again');
  end if;

  with ended as (
    update oxbow.memories o
       set expired_at = now(), invalid_at = coalesce(o.valid_at, o.created_at), superseded_by = m.id, updated_at = now(),
           weight_next_at = now() + make_interval(secs => 86400 * oxbow.policy('merge_archive_days'))
     where o.user_id = _user_id and o.memory_type = m.memory_type and o.id = any(_new)
    returning o.id, o.content
  ), linked as (
    insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
    select _user_id, m.memory_type, m.id, m.memory_type, e.id, 'merged_from' from ended e
  ), noted as (
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
    select _user_id, m.memory_type, e.id, 'SUPERSEDE', e.content, m.content, _actor, format('one of %s that are alike', _count)
      from ended e
  )
  insert into oxbow.fact_subjects (user_id, about, memory_id)
  select distinct _user_id, s.about, m.id from oxbow.fact_subjects s
   where s.user_id = _user_id and s.memory_id = any(_new)
  on conflict do nothing;
  with said as (
    delete from oxbow.memory_gists g
     where g.user_id = _user_id and g.memory_type = m.memory_type and g.memory_id = any(_new)
    returning g.gist
  )
  insert into oxbow.memory_gists (user_id, memory_type, gist, memory_id, merged)
  select distinct _user_id, m.memory_type, s.gist, m.id, true from said s
  on conflict do nothing;
  if _into.id is null then
    perform oxbow.index_memories(array[_user_id], array[m.id]);
  else
    with before as (
      select t.len from oxbow.memory_terms t
       where t.user_id = _user_id and t.memory_type = m.memory_type and t.memory_id = m.id
    ), after as (
      update oxbow.memory_terms t
         set len = n.len, tsv = n.tsv || array_to_tsvector(array(
               select w from unnest(tsvector_to_array(t.tsv)) w where w like '@%'))
        from oxbow.terms(coalesce(m.speaker || ': ', '') || m.content) n
       where t.user_id = _user_id and t.memory_type = m.memory_type and t.memory_id = m.id
      returning t.len
    )
    update oxbow.memory_term_stats s set terms = s.terms + a.len - b.len
      from before b, after a where s.user_id = _user_id and s.memory_type = m.memory_type;
  end if;
  update oxbow.memory_terms t
     set tsv = t.tsv || array_to_tsvector(array(
           select unnest(oxbow.date_terms(coalesce(o.valid_at, o.created_at) at time zone _zone))
             from unnest(_all) o where o.source is distinct from 'merge'))
   where t.user_id = _user_id and t.memory_type = m.memory_type and t.memory_id = m.id;
  perform oxbow.log_weight(_user_id, m.memory_type, m.id, _now, 'merged', _heaviest, oxbow.weight_of(o, _now, _rules),
                           cardinality(_new), _actor)
     from oxbow.memories o where o.user_id = _user_id and o.memory_type = m.memory_type and o.id = m.id;
  return m.id;
end $$;
call oxbow.grant_worker('merge_memories');

-- split_merge makes the originals of a merged memory current again, and returns their ids. Memories that repeat
-- the merged one or are attached to it become current too. With _forget the merged memory is forgotten; otherwise the
-- caller erases it.
create or replace function oxbow.split_merge(_user_id text, _id uuid, _actor text, _forget boolean) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now constant timestamptz := clock_timestamp();
  _originals uuid[];
  _folded uuid[];
  m oxbow.memories;
begin
  loop -- another may join it until it is locked
    _originals := array(
      select l.to_id from oxbow.memories o
        join oxbow.memory_links l on l.user_id = o.user_id and l.from_type = o.memory_type and l.from_id = o.id
         and l.relation = 'merged_from'
       where o.user_id = _user_id and o.id = _id order by 1);
    _folded := array(
      select o.id from oxbow.memories o
       where o.user_id = _user_id and o.superseded_by = _id and o.id <> all(_originals)
         and not exists (select from oxbow.memory_links l -- an earlier version
                          where l.user_id = _user_id and l.to_type = o.memory_type and l.to_id = o.id
                            and l.from_id = _id and l.relation = 'supersedes'));
    exit when m.id is not null;
    perform from oxbow.memories o where o.user_id = _user_id and o.id = any(_originals || _folded || _id)
      order by o.id for no key update;
    select * into m from oxbow.memories o where o.user_id = _user_id and o.id = _id;
    if not found then
      return '{}';
    end if;
  end loop;
  with restored as (
    update oxbow.memories o
       set expired_at = null, invalid_at = null, superseded_by = null, level = 'full', updated_at = now()
     where o.user_id = _user_id and o.id = any(_originals || _folded) and o.superseded_by = _id
    returning o.memory_type, o.id
  )
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, actor)
  select _user_id, r.memory_type, r.id, 'UNMERGE', _actor from restored r;
  perform oxbow.log_weight(_user_id, o.memory_type, o.id, _now, 'unmerged', oxbow.weight_of(m, _now, _rules),
                           oxbow.weight_of(o, _now, _rules), 1, _actor)
     from oxbow.memories o
    where o.user_id = _user_id and o.id = any(_originals || _folded) and o.expired_at is null;
  if _forget then
    update oxbow.memories o set forgotten_at = now(), forgotten_by = 'merge', updated_at = now()
     where o.user_id = _user_id and o.memory_type = m.memory_type and o.id = _id;
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
    values (_user_id, m.memory_type, _id, 'DELETE', m.content, m.metadata, _actor, 'unmerged');
  end if;
  return _originals;
end $$;
call oxbow.grant_worker('split_merge');

-- merged_into returns the merged memories of which the given memories are originals, including forgotten ones.
create or replace function oxbow.merged_into(_user_id text, _ids uuid[]) returns uuid[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct l.from_id), '{}')
    from oxbow.memory_links l
   where l.user_id = _user_id and l.to_type in ('fact', 'episodic') and l.to_id = any(_ids)
     and l.relation = 'merged_from' and l.from_id <> all(_ids);
$$;

-- leave_merge unmerges the merged memory of which a memory is an original, and reports whether one existed.
create or replace function oxbow.leave_merge(_user_id text, _id uuid) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _merged uuid;
begin
  select l.from_id into _merged
    from oxbow.memories o
    join oxbow.memory_links l on l.user_id = o.user_id and l.to_type = o.memory_type and l.to_id = o.id
     and l.relation = 'merged_from' and l.from_id = o.superseded_by
    join oxbow.memories m on m.user_id = l.user_id and m.memory_type = l.from_type and m.id = l.from_id
   where o.user_id = _user_id and o.id = _id and m.expired_at is null and m.forgotten_at is null;
  if _merged is not null then
    perform oxbow.split_merge(_user_id, _merged, 'app', true);
  end if;
  return _merged is not null;
end $$;
call oxbow.grant_worker('leave_merge');

-- merge merges memories of a user that say the same, as the job merge does, and returns the id of the merged memory.
-- content is its text; default: the text of the last. Number and dates are added for episodes. One of the memories may
-- be a merged memory, which the others join.
create or replace function oxbow.merge(user_id text, ids uuid[], content text default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _ids constant uuid[] := array(select distinct i from unnest(merge.ids) i order by 1);
  _id uuid;
  m oxbow.memories;
  _type text;
  _merged uuid;
  _text text := merge.content;
  _last timestamptz;
begin
  perform oxbow.check_access(merge.user_id);
  if cardinality(_ids) not between 2 and 1000 then
    perform oxbow.reject('ids', case cardinality(_ids) when 1 then _ids[1]::text
                                  else cardinality(_ids) || ' memories' end,
                         'must be 2 to 1000 different memories');
  elsif btrim(_text) = '' then
    perform oxbow.reject('content', _text, 'must not be blank');
  end if;
  foreach _id in array _ids loop
    m := oxbow.lock_memory(merge.user_id, _id);
    if m.memory_type not in ('fact', 'episodic') or m.memory_type <> _type then
      perform oxbow.reject('ids', _id::text, format('must all be facts or all be episodes: this one is of type %s',
                                                    m.memory_type));
    elsif m.source = 'merge' and _merged is not null then
      perform oxbow.reject('ids', _id::text, 'must not be a second merged memory: unmerge one of them first');
    elsif not oxbow.mergeable(m) then
      perform oxbow.reject('ids', _id::text,
        'must be a current memory: not ended, expiring, forgotten, a summary, or of sensitivity 2 or 3');
    end if;
    _type := m.memory_type;
    if m.source = 'merge' then
      _merged := m.id;
    end if;
    if merge.content is null and coalesce(m.valid_at, m.created_at) >= coalesce(_last, '-infinity') then
      _last := coalesce(m.valid_at, m.created_at);
      _text := coalesce(m.metadata #>> '{merged,text}', m.content);
    end if;
  end loop;
  return oxbow.merge_memories(merge.user_id, 'app', _ids, _text);
end $$;
call oxbow.grant_app('merge');

-- unmerge makes the originals of a merged memory current again, and forgets the merged memory. It returns the ids of
-- the originals. The job merge leaves them alone from then on.
create or replace function oxbow.unmerge(user_id text, id uuid) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  m oxbow.memories;
begin
  perform oxbow.check_access(unmerge.user_id);
  m := oxbow.lock_kept(unmerge.user_id, unmerge.id);
  if m.source is distinct from 'merge' or oxbow.repeats_of(m.user_id, m.id) = array[m.id] then
    perform oxbow.reject('id', m.id::text, 'must be a merged memory');
  elsif m.expired_at is not null then
    raise exception using errcode = 'OX102',
      message = format('memory %s is already superseded%s', m.id, ' by ' || m.superseded_by);
  end if;
  return oxbow.split_merge(m.user_id, m.id, 'app', true);
end $$;
call oxbow.grant_app('unmerge');
