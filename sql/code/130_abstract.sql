-- Abstraction: facts and episodes of one topic become conclusions (U §3). See docs/abstraction.md. A fragment is a
-- memory of a topic. It counts while it stands: it is not forgotten, and is either current or continued by a merged
-- memory or an equal fact. Each function reads the memories of a topic only, up to a limit.

-- note_fragments records the topics of facts and episodes: the given topics, the entities and subjects that the
-- memories name, and the topic that the application set. It marks topics with enough fragments as due, and reports
-- whether any is.
--   _fragments  [{"id", "topic", "denies"}]
--   _ids        the memories whose entities and subjects count
create or replace function oxbow.note_fragments(_user_id text, _fragments json, _ids uuid[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict error
declare
  _least constant double precision := oxbow.policy('abstract_fragments');
  _more constant double precision := oxbow.policy('abstract_more');
begin
  with shown as materialized (
    select m.memory_type, m.id, coalesce(m.valid_at, m.created_at) as at, m.topic
      from (select distinct i.id from unnest(_ids) i(id)) i
     cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
     where m.memory_type in ('fact', 'episodic') and m.sensitivity < 2
       and coalesce(m.source, '') not in ('summary', 'merge', 'abstract')
  ), topic as (
    select f.id, f.topic, f.denies from json_to_recordset(_fragments) f (id uuid, topic text, denies boolean)
    union all
    select s.id, 'entity:' || e.kind || ':' || e.key, false
      from shown s
     cross join lateral (select n.entity_id from oxbow.entity_mentions n
                          where n.user_id = _user_id and n.memory_type = s.memory_type and n.memory_id = s.id offset 0) n
     cross join lateral (select e.kind, e.key from oxbow.entities e
                          where e.user_id = _user_id and e.id = n.entity_id and e.kind <> 'self' offset 0) e
    union all
    select s.id, 'topic:' || lower(btrim(s.topic)), false from shown s
     where lower(btrim(s.topic)) not in ('', 'preference', 'personal', 'memory', 'promise')
  ), noted as (
    insert into oxbow.topic_fragments as f (user_id, topic, memory_type, memory_id, at, denies)
    select _user_id, left(t.topic, 300), s.memory_type, s.id, s.at, bool_or(t.denies)
      from topic t join shown s on s.id = t.id
     group by left(t.topic, 300), s.memory_type, s.id, s.at order by 2, 3, 4
    on conflict do nothing
    returning f.topic, f.denies
  )
  insert into oxbow.topics as t (user_id, topic, pending, due)
  select _user_id, n.topic, count(*), count(*) >= _least from noted n group by n.topic order by n.topic
  on conflict (user_id, topic) do update
    set pending = t.pending + excluded.pending,
        due = t.due or not t.refused and t.pending + excluded.pending >=
          case when t.concluded then _more else _least end;
  update oxbow.topics t set due = true -- a denial takes effect at once
    from json_to_recordset(_fragments) f (topic text, denies boolean)
   where t.user_id = _user_id and t.topic = left(f.topic, 300) and f.denies and t.concluded and not t.refused
     and not t.due;
  return oxbow.topics_due(_user_id);
end $$;
call oxbow.grant_worker('note_fragments');

-- topics_due reports whether a user has topics to look at.
create or replace function oxbow.topics_due(_user_id text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from oxbow.topics t where t.user_id = _user_id and t.due);
$$;
call oxbow.grant_worker('topics_due');

-- users_with_topics_due returns at most _limit users with topics that are due, in order. Each costs one index lookup.
create or replace function oxbow.users_with_topics_due(_limit integer) returns setof text
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive u as (
    (select t.user_id, 1 as n from oxbow.topics t where t.due order by t.user_id limit 1)
    union all
    select (select t.user_id from oxbow.topics t where t.due and t.user_id > u.user_id order by t.user_id limit 1), n + 1
      from u where u.user_id is not null and n < _limit
  )
  select u.user_id from u where u.user_id is not null;
$$;
call oxbow.grant_worker('users_with_topics_due');

-- fragment_stands reports whether a memory still counts for conclusions.
create or replace function oxbow.fragment_stands(_memory oxbow.memories) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select (_memory).forgotten_at is null and (_memory).sensitivity < 2
     and ((_memory).expired_at is null
          and ((_memory).memory_type = 'episodic' or (_memory).invalid_at is null or (_memory).invalid_at > now())
          or exists (select from oxbow.memories n
                      where n.user_id = (_memory).user_id and n.id = (_memory).superseded_by
                        and n.memory_type = (_memory).memory_type and n.expired_at is null and n.forgotten_at is null
                        and (n.source = 'merge' or n.content_hash = (_memory).content_hash)));
$$;
call oxbow.grant_worker('fragment_stands');

-- due_topics returns the topics that a user's next run looks at, at most _limit.
create or replace function oxbow.due_topics(_user_id text, _limit integer) returns setof oxbow.topics
language sql stable set search_path = pg_catalog, pg_temp as $$
  select t.* from oxbow.topics t where t.user_id = _user_id and t.due order by t.topic limit _limit;
$$;
call oxbow.grant_worker('due_topics');

-- fragments_of returns the latest _limit fragments of a topic that stand, the earliest first. If the topic is not a
-- pattern, it leaves out fragments of a pattern with a conclusion, and near lists the fragments with similar vectors.
create or replace function oxbow.fragments_of(_user_id text, _topic text, _limit integer)
returns table (id uuid, type text, content text, at timestamptz, speaker text, agent text, session text, context text,
  location text, people text[], places text[], denies boolean, near uuid[])
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _similar constant double precision := oxbow.policy('abstract_similarity');
  _zone constant text := coalesce((select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC');
  _nearness constant boolean := _topic ~ '^(entity|topic):';
begin
  return query
  with fragment as materialized (
    select f.denies, f.at, m.memory_type, m.id, left(coalesce(a.content, m.content), 6000) as content, m.speaker,
           m.agent_id, coalesce(m.session_id, (f.at at time zone _zone)::date::text) as session,
           coalesce(a.metadata, m.metadata) as metadata, m.superseded_by, v.embedding
      from (select f.* from oxbow.topic_fragments f
             where f.user_id = _user_id and f.topic = _topic
             order by f.at desc, f.memory_id limit _limit) f
     cross join lateral (select m.* from oxbow.memories m
                          where m.user_id = _user_id and m.memory_type = f.memory_type and m.id = f.memory_id
                            offset 0) m
      left join lateral (select a.content, a.metadata from oxbow.memory_archive a
                          where a.user_id = _user_id and a.memory_type = m.memory_type and a.memory_id = m.id
                          offset 0) a on m.level <> 'full'
      left join lateral (select v.embedding from oxbow.memory_vectors v
                          where v.user_id = _user_id and v.memory_type = m.memory_type and v.memory_id = m.id
                          offset 0) v on _nearness
     where oxbow.fragment_stands(m)
       and not (_nearness and exists ( -- the conclusion of a pattern already says it
         select from oxbow.topic_fragments o
          join oxbow.topics t on t.user_id = o.user_id and t.topic = o.topic and (t.concluded or t.due)
          where o.user_id = _user_id and o.memory_type = m.memory_type and o.memory_id = m.id
            and o.topic !~ '^(entity|topic):'))
  )
  select f.id, f.memory_type::text, f.content, f.at, coalesce(f.speaker, ''), coalesce(f.agent_id, ''), f.session,
         coalesce(f.metadata ->> 'context', ''), coalesce(f.metadata ->> 'location', ''),
         oxbow.named_entities(f.metadata, 'person'), oxbow.named_entities(f.metadata, 'place'), f.denies,
         array(select n.id from fragment n
                where n.id <> f.id and _nearness and n.embedding <=> f.embedding <= 1 - _similar order by n.id)
    from fragment f order by f.at, f.id;
end $$;
call oxbow.grant_worker('fragments_of');
do $$
begin
  execute 'alter function oxbow.fragments_of set search_path = '
    || (select format('pg_catalog, %I, pg_temp', n.nspname) from pg_extension e
          join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
end $$;

-- named_entities returns the names of a kind in the metadata of a memory.
create or replace function oxbow.named_entities(_metadata jsonb, _kind text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct e ->> 'name'), '{}')
    from jsonb_array_elements(case jsonb_typeof(_metadata -> 'entities') when 'array' then _metadata -> 'entities'
                                                                         else '[]' end) e
   where jsonb_typeof(e) = 'object' and e ->> 'kind' = _kind and e ->> 'name' <> '';
$$;
call oxbow.grant_worker('named_entities');

-- current_conclusions returns the current conclusions of a topic with their sources.
create or replace function oxbow.current_conclusions(_user_id text, _topic text)
returns table (id uuid, content text, version integer, denies boolean, voices text[], conditions jsonb,
  confidence double precision, sources uuid[])
language sql stable set search_path = pg_catalog, pg_temp as $$
  select m.id, m.content, m.version, c.denies, c.voices, c.conditions, c.confidence,
         array(select l.to_id from oxbow.memory_links l
                where l.user_id = _user_id and l.from_type = 'fact' and l.from_id = m.id and l.relation = 'source'
                order by 1)
    from oxbow.conclusions c
   cross join lateral (select m.* from oxbow.memories_fact m
                        where m.user_id = _user_id and m.id = c.memory_id and m.expired_at is null
                          and m.forgotten_at is null offset 0) m
   where c.user_id = _user_id and c.topic = _topic
   order by m.created_at, m.id;
$$;
call oxbow.grant_worker('current_conclusions');

-- write_conclusions writes what the job abstract concluded about a topic. Error OX105 if a source or a conclusion has
-- ended since it was read.
--   _dense    whether enough fragments were near each other for a conclusion
--   _sources  all memories that the conclusions rest on
--   _changes  [{"old": id of the version that it replaces or changes, "id": of a new version, "content", "denies",
--             "voices", "conditions", "confidence", "sources", "sessions", "reason", "speaker", "agent", "first", "ends"}]
create or replace function oxbow.write_conclusions(_user_id text, _topic text, _actor text, _dense boolean,
  _sources uuid[], _changes json) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  c record;
  old oxbow.memories;
  _standing bigint;
  _made uuid[] := '{}';
  _origin constant text := coalesce(current_setting('oxbow.origin', true), '');
begin
  select count(*) into _standing
    from (select m.* from oxbow.memories m
           where m.user_id = _user_id and m.id = any(_sources || array(
             select (x ->> 'old')::uuid from json_array_elements(_changes) x where x ->> 'old' is not null))
           order by m.id for no key update) m
   where m.source is distinct from 'abstract' and oxbow.fragment_stands(m)
      or m.source = 'abstract' and m.expired_at is null and m.forgotten_at is null;
  if _standing < cardinality(_sources) + (select count(distinct x ->> 'old') from json_array_elements(_changes) x) then
    raise exception using errcode = 'OX105',
      message = format('a memory of user %L that a conclusion rests on is no longer current', _user_id);
  end if;
  perform set_config('oxbow.origin', 'abstract', true);
  for c in
    select * from json_to_recordset(_changes) c (old uuid, id uuid, content text, denies boolean, voices text[],
      conditions jsonb, confidence double precision, sources uuid[], sessions integer, reason text, speaker text,
      agent text, first timestamptz, sensitivity smallint, ends boolean)
  loop
    old := null;
    if c.old is not null then
      select * into old from oxbow.memories m
       where m.user_id = _user_id and m.memory_type = 'fact' and m.id = c.old;
    end if;
    if c.id is not null then
      insert into oxbow.memories (user_id, memory_type, id, content, valid_at, version, speaker, agent_id, source,
        metadata, importance, strength, used_at, tier, mention_count, mentions, access_count, last_accessed_at,
        sensitivity)
      values (_user_id, 'fact', c.id, c.content, case when old.id is null then c.first else now() end,
        coalesce(old.version, 0) + 1, c.speaker, c.agent, 'abstract',
        jsonb_build_object('conclusion', jsonb_build_object('topic', _topic, 'conditions', c.conditions)),
        0.5, coalesce(old.strength, 1), old.used_at, coalesce(old.tier, 'normal'), coalesce(old.mention_count, 1),
        old.mentions, coalesce(old.access_count, 0), old.last_accessed_at,
        coalesce((select max(m.sensitivity) from oxbow.memories m
                   where m.user_id = _user_id and m.id = any(c.sources)), 0));
      _made := _made || c.id;
    end if;
    if old.id is not null and (c.id is not null or c.ends) then
      update oxbow.memories m
         set invalid_at = greatest(now(), coalesce(m.valid_at, m.created_at)), expired_at = now(), superseded_by = c.id,
             updated_at = now()
       where m.user_id = _user_id and m.memory_type = 'fact' and m.id = old.id;
      insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
      values (_user_id, 'fact', old.id, case when c.id is null then 'EXPIRE' else 'SUPERSEDE' end, old.content, c.content,
        _actor, c.reason);
      if c.id is null then
        update oxbow.conclusions n set reason = c.reason, updated_at = clock_timestamp()
         where n.user_id = _user_id and n.memory_type = 'fact' and n.memory_id = old.id;
        continue;
      end if;
      insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
      values (_user_id, 'fact', c.id, 'fact', old.id, 'supersedes');
    end if;
    insert into oxbow.conclusions as n (user_id, memory_id, topic, denies, voices, conditions, confidence, fragments,
      sessions, reason, made_by)
    values (_user_id, coalesce(c.id, c.old), _topic, c.denies, c.voices, c.conditions, c.confidence,
      cardinality(c.sources), c.sessions, c.reason, _actor)
    on conflict (user_id, memory_type, memory_id) do update
      set voices = excluded.voices, confidence = excluded.confidence, fragments = excluded.fragments,
          sessions = excluded.sessions, updated_at = clock_timestamp();
    delete from oxbow.memory_links l
     where l.user_id = _user_id and l.from_type = 'fact' and l.from_id = coalesce(c.id, c.old) and l.relation = 'source'
       and l.to_id <> all(c.sources);
    insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
    select _user_id, 'fact', coalesce(c.id, c.old), m.memory_type, m.id, 'source'
      from oxbow.memories m where m.user_id = _user_id and m.id = any(c.sources)
    on conflict do nothing;
  end loop;
  -- conclusions of different sources stay side by side
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  select _user_id, 'fact', a.id, 'fact', b.id, 'contradicts'
    from oxbow.current_conclusions(_user_id, _topic) a, oxbow.current_conclusions(_user_id, _topic) b
   where a.denies and not b.denies
  on conflict do nothing;
  update oxbow.topics t
     set due = false, concluded = n.concluded,
         -- of a topic that is not dense yet, the next fragment may be the one that was missing
         pending = case when _dense or n.concluded then 0 else greatest(oxbow.policy('abstract_fragments') - 1, 0) end
    from (select exists (select from oxbow.current_conclusions(_user_id, _topic)) as concluded) n
   where t.user_id = _user_id and t.topic = _topic;
  perform set_config('oxbow.origin', _origin, true);
end $$;
call oxbow.grant_worker('write_conclusions');

-- leave_topics marks topics as due when a fragment ends or becomes current again, and forgets the conclusions that rest
-- on a fragment that was forgotten or became sensitive. A conclusion that a person forgot or replaced is not drawn again
-- until it is restored.
create or replace function oxbow.leave_topics() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _quoting uuid[];
  _hidden constant boolean := old.sensitivity < 2 and new.sensitivity >= 2;
  _refused constant boolean :=
    new.expired_at is not null or new.forgotten_at is not null and new.forgotten_by is distinct from 'auto';
begin
  if new.source = 'abstract' then
    if current_setting('oxbow.origin', true) is distinct from 'abstract'
      and (old.expired_at, old.forgotten_at) is distinct from (new.expired_at, new.forgotten_at) then
      update oxbow.topics t
         set refused = _refused, due = t.due and not _refused
        from oxbow.conclusions c
       where (_refused or new.forgotten_by is distinct from 'auto')
         and c.user_id = new.user_id and c.memory_type = 'fact' and c.memory_id = new.id
         and t.user_id = c.user_id and t.topic = c.topic;
    end if;
    return null;
  end if;
  update oxbow.topics t set due = true
    from oxbow.topic_fragments f
   where f.user_id = new.user_id and f.memory_type = new.memory_type and f.memory_id = new.id
     and t.user_id = f.user_id and t.topic = f.topic and not t.due and not t.refused
     and (t.concluded or new.forgotten_at is null and new.expired_at is null);
  if old.forgotten_at is null and new.forgotten_at is not null or _hidden then
    _quoting := oxbow.conclusions_from(new.user_id, array[new.id]);
    if _quoting <> '{}' then
      with forgotten as (
        update oxbow.memories m
           set forgotten_at = coalesce(m.forgotten_at, new.forgotten_at, now()),
               forgotten_by = coalesce(m.forgotten_by, 'auto'), updated_at = now(),
               sensitivity = case when _hidden then least(greatest(m.sensitivity, new.sensitivity), 2) else m.sensitivity end
         where m.user_id = new.user_id and m.memory_type = 'fact' and m.id = any(_quoting)
           and (m.forgotten_at is null or _hidden and m.sensitivity < 2)
        returning m.id, m.content, m.metadata
      )
      insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
      select new.user_id, 'fact', f.id, 'DELETE', f.content, f.metadata, 'system',
             case when _hidden then 'one of its sources became sensitive' else 'one of its sources was forgotten' end
        from forgotten f;
    end if;
  end if;
  return null;
end $$;

do $$
declare
  t text;
begin
  foreach t in array array['memories_fact', 'memories_episodic'] loop
    execute format('create or replace trigger leave_topics after update of expired_at, forgotten_at, sensitivity
      on oxbow.%I for each row
      when (old.expired_at is distinct from new.expired_at or old.forgotten_at is distinct from new.forgotten_at
        or (old.sensitivity < 2) <> (new.sensitivity < 2))
      execute function oxbow.leave_topics()', t);
  end loop;
end $$;

-- conclusions_from returns the conclusions that rest on any of the given memories, all versions.
create or replace function oxbow.conclusions_from(_user_id text, _ids uuid[]) returns uuid[]
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  select coalesce(array_agg(distinct l.from_id), '{}')
    from unnest(_ids) i(id)
   cross join lateral (select l.from_id from oxbow.memory_links l
                        where l.user_id = _user_id and l.to_type in ('fact', 'episodic') and l.to_id = i.id
                          and l.relation = 'source' and l.from_type = 'fact' offset 0) l
   cross join lateral (select m.id from oxbow.memories_fact m
                        where m.user_id = _user_id and m.id = l.from_id and m.source = 'abstract' offset 0) m;
$$;

-- withdraw_conclusions prepares the erasure of memories: their topics become due, and a topic whose conclusion is among
-- the memories gets no other. It returns the conclusions that rest on the memories, which the caller erases.
create or replace function oxbow.withdraw_conclusions(_user_id text, _ids uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  update oxbow.topics t set refused = true, due = false
   where t.user_id = _user_id
     and t.topic in (select c.topic from oxbow.conclusions c
                      where c.user_id = _user_id and c.memory_type = 'fact' and c.memory_id = any(_ids));
  update oxbow.topics t set due = true
   where t.user_id = _user_id and t.concluded and not t.refused
     and t.topic in (select f.topic from oxbow.topic_fragments f
                      where f.user_id = _user_id and f.memory_type in ('fact', 'episodic') and f.memory_id = any(_ids));
  return oxbow.conclusions_from(_user_id, _ids);
end $$;

-- conclusions_of returns the conclusions about a user, the surest first: what they say, under which conditions, who
-- says so, and which memories they rest on. With versions, it also returns earlier versions. conflicts lists the
-- conclusions of other sources that say the opposite.
create or replace function oxbow.conclusions_of(user_id text, topic text default null, versions boolean default false,
  max_results integer default 100)
returns table (id uuid, content text, topic_key text, denies boolean, voices text[], conditions jsonb,
  confidence double precision, sources uuid[], sessions integer, version integer, reason text, made_by text,
  created_at timestamptz, updated_at timestamptz, ended_at timestamptz, superseded_by uuid, conflicts uuid[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan as $$
#variable_conflict error
begin
  perform oxbow.check_access(conclusions_of.user_id);
  if conclusions_of.max_results is null or conclusions_of.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', conclusions_of.max_results::text, 'must be between 1 and 1000');
  end if;
  return query
  select m.id, m.content, c.topic, c.denies, c.voices, c.conditions, c.confidence,
         array(select l.to_id from oxbow.memory_links l
                where l.user_id = c.user_id and l.from_type = 'fact' and l.from_id = m.id and l.relation = 'source'
                order by 1),
         c.sessions, m.version, c.reason, c.made_by, m.created_at, c.updated_at, m.expired_at, m.superseded_by,
         array(select l.to_id from oxbow.memory_links l
                where l.user_id = c.user_id and l.from_type = 'fact' and l.from_id = m.id and l.relation = 'contradicts'
               union
               select l.from_id from oxbow.memory_links l
                where l.user_id = c.user_id and l.to_type = 'fact' and l.to_id = m.id and l.relation = 'contradicts'
               order by 1)
    from oxbow.conclusions c
   cross join lateral (
    select m.* from oxbow.memories_fact m
     where m.user_id = c.user_id and m.id = c.memory_id and m.forgotten_at is null and m.sensitivity < 2
       and (conclusions_of.versions or m.expired_at is null) offset 0) m
   where c.user_id = conclusions_of.user_id and (conclusions_of.topic is null or c.topic = conclusions_of.topic)
   order by case when conclusions_of.versions then m.expired_at is not null end, c.confidence desc, c.topic,
            m.created_at desc, m.id
   limit conclusions_of.max_results;
end $$;
call oxbow.grant_app('conclusions_of');
