-- Entities: the people and things that memories name. They come from a memory's metadata, which extraction
-- or the application writes: {"entities": [{"name", "kind"}], "relations": [{"from", "relation", "to"}]}.
-- An empty end is the speaker, and an entity may be just its name. Everything here is derived from that
-- metadata and can be rebuilt.

-- entity_key returns a name without variations in case, punctuation and full-width forms.
create or replace function oxbow.entity_key(name text) returns text
language sql immutable parallel safe
return btrim(regexp_replace(lower(normalize(name, NFKC)),
  '[\s\u0001-\u002F\u003A-\u0040\u005B-\u0060\u007B-\u007F\u00B7\u2010-\u206F\u3000-\u3004\u3008-\u303F\u30FB]+',
  ' ', 'g'));
call oxbow.grant_app('entity_key');

-- entity_head returns the part of a key that is looked up: its first word, or its first two Chinese,
-- Japanese or Korean characters.
create or replace function oxbow.entity_head(key text) returns text
language sql immutable parallel safe
return coalesce(
  substring(key from '^[^ \u2E80-\u2FDF\u3005-\u3007\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF'
                     '\uAC00-\uD7AF\uF900-\uFAFF\U00020000-\U0003FFFF]+'),
  left(key, 2));
call oxbow.grant_worker('entity_head');

-- query_heads returns the heads that a query may name, and the query in the form of keys: whole, and
-- without Chinese, Japanese and Korean. Words that occur in every sentence are ignored.
create or replace function oxbow.query_heads(query text, out heads text[], out asked text, out words text)
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  cjk constant text := '\u2E80-\u2FDF\u3005-\u3007\u3040-\u30FF\u3400-\u4DBF\u4E00-\u9FFF'
    '\uAC00-\uD7AF\uF900-\uFAFF\U00020000-\U0003FFFF';
  chars text[];
begin
  asked := oxbow.entity_key(left(query, 2000));
  words := asked;
  if asked ~ ('[' || cjk || ']') then
    chars := string_to_array(regexp_replace(asked, '[^' || cjk || ']+', ' ', 'g'), null);
    words := regexp_replace(asked, '[' || cjk || ' ]+', ' ', 'g');
  end if;
  heads := array(
    select distinct h from (
      select w from unnest(string_to_array(words, ' ')) w
       where w <> '' and ts_lexize('pg_catalog.english_stem', w) <> '{}'
      union all
      select a || b from unnest(chars, chars[2:]) c(a, b) where a <> ' ' and b <> ' ') t(h)
    limit 256);
end $$;

-- note_entities records what memories of a user name: new entities, mentions, and edges with the times of
-- the memory. What a folded memory names is also recorded for the memory that it was folded into. Repeating
-- a call has no effect. It locks the memories in the order of their ids and then the user's entities, so
-- that no entity is deleted while a mention of it is inserted.
create or replace function oxbow.note_entities(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_mergejoin = off as $$
declare
  _types text[];
  _memories uuid[];
  _nths integer[];
  _names text[];
  _keys text[];
  _kinds text[];
  _entities uuid[];
begin
  if exists (select from oxbow.users u where u.user_id = _user_id and u.opted_out) then
    return;
  end if;
  perform from (select distinct unnest(_ids) as id order by id) i
    cross join lateral (select from oxbow.memories m where m.user_id = _user_id and m.id = i.id for key share) m;
  perform pg_advisory_xact_lock(hashtextextended('oxbow.entities ' || _user_id, 0));
  -- each name once per memory, at most 50 of up to 200 bytes; nth 0 is the speaker, if a relation has that
  -- end
  select array_agg(n.memory_type), array_agg(n.memory_id), array_agg(n.nth), array_agg(n.name), array_agg(n.key),
         array_agg(n.kind)
    into _types, _memories, _nths, _names, _keys, _kinds
    from (
      select distinct on (m.id, n.key) m.memory_type, m.id, n.nth, n.name, n.key,
             case when n.nth = 0 and m.speaker is null then 'self'
                  when n.kind ~ '^[a-z][a-z0-9_-]{0,31}$' and n.kind <> 'self' then n.kind
                  else 'other' end
        from unnest(_ids) i(id)
       cross join lateral (select * from oxbow.memories m where m.user_id = _user_id and m.id = i.id offset 0) m
       cross join lateral (
        select e.nth::integer, btrim(w.name), oxbow.entity_key(w.name), e.entity ->> 'kind'
          from jsonb_array_elements(case jsonb_typeof(m.metadata -> 'entities')
                                    when 'array' then m.metadata -> 'entities' else '[]' end)
               with ordinality e(entity, nth)
         cross join lateral (
          select case when jsonb_typeof(e.entity) = 'string' then e.entity #>> '{}'
                      when jsonb_typeof(e.entity -> 'name') = 'string' then e.entity ->> 'name' end as name) w
         where e.nth <= 50
        union all
        select 0, coalesce(m.speaker, 'user'), oxbow.entity_key(coalesce(m.speaker, 'user')), 'person'
          from jsonb_array_elements(case jsonb_typeof(m.metadata -> 'relations')
                                    when 'array' then m.metadata -> 'relations' else '[]' end) r
         where '' in (coalesce(r ->> 'from', ''), coalesce(r ->> 'to', ''))) n(nth, name, key, kind)
       where n.key <> '' and octet_length(n.name) <= 200
       order by m.id, n.key, n.nth
    ) n(memory_type, memory_id, nth, name, key, kind);
  if _keys is null then
    return;
  end if;

  -- an entity of unknown kind gets the first known kind
  update oxbow.entities e set kind = n.kind
    from (select key, min(kind) as kind from unnest(_keys, _kinds) n(key, kind)
           where kind not in ('other', 'self') group by key) n
   cross join lateral (select o.id from oxbow.entities o
                        where o.user_id = _user_id and o.key = n.key and o.kind = 'other' offset 0) o
   where e.user_id = _user_id and e.id = o.id
     and (select true from oxbow.entities x where x.user_id = _user_id and x.key = n.key and x.kind = n.kind) is null;
  insert into oxbow.entities (user_id, kind, name, key, head)
  select distinct on (n.key, n.kind) _user_id, n.kind, n.name, n.key, oxbow.entity_head(n.key)
    from unnest(_names, _keys, _kinds) n(name, key, kind)
   where (select true from oxbow.entities e where e.user_id = _user_id and e.key = n.key
             and (e.kind = n.kind or n.kind = 'other' and e.kind <> 'self') limit 1) is null
     and (n.kind <> 'other' or n.key not in (select o.key from unnest(_keys, _kinds) o(key, kind)
                                              where o.kind not in ('other', 'self')))
   order by n.key, n.kind, n.name
  on conflict do nothing;
  select array_agg(e.id order by n.nth) into _entities
    from unnest(_keys, _kinds) with ordinality n(key, kind, nth)
   cross join lateral (
    select e.id from oxbow.entities e
     where e.user_id = _user_id and e.key = n.key and (e.kind = n.kind or n.kind = 'other' and e.kind <> 'self')
     order by e.kind <> n.kind, e.created_at, e.id limit 1) e;

  insert into oxbow.entity_mentions (user_id, entity_id, memory_type, memory_id)
  select distinct _user_id, n.entity, n.type, t.id
    from unnest(_entities, _types, _memories) n(entity, type, memory),
         oxbow.itself_and_fold(_user_id, n.type, n.memory) t
  on conflict do nothing;
  -- stated relations, and 'related' between the first four names of a memory that have none
  with named as materialized (
    select * from unnest(_entities, _types, _memories, _keys, _nths) n(entity, type, memory, key, nth)
  ), said as materialized (
    select a.type, a.memory, a.entity as from_id, oxbow.relation_name(r.relation ->> 'relation') as relation,
           b.entity as to_id
      from (select distinct type, memory from named) m
     cross join lateral (select m2.metadata -> 'relations' as relations from oxbow.memories m2
                          where m2.user_id = _user_id and m2.memory_type = m.type and m2.id = m.memory) x
     cross join lateral jsonb_array_elements(
       case jsonb_typeof(x.relations) when 'array' then x.relations else '[]' end) with ordinality r(relation, nth)
      join named a on a.memory = m.memory
       and case coalesce(r.relation ->> 'from', '')
           when '' then a.nth = 0 else a.key = oxbow.entity_key(r.relation ->> 'from') end
      join named b on b.memory = m.memory
       and case coalesce(r.relation ->> 'to', '')
           when '' then b.nth = 0 else b.key = oxbow.entity_key(r.relation ->> 'to') end
     where r.nth <= 50 and a.entity <> b.entity
  ), edge as (
    select type, memory, from_id, relation, to_id from said where relation <> ''
    union all
    select a.type, a.memory, a.entity, 'related', b.entity
      from named a join named b on b.memory = a.memory and b.nth > a.nth and b.entity <> a.entity
     where a.nth between 1 and 3 and b.nth <= 4
       and not exists (
         select from said s
          where s.memory = a.memory and (s.from_id, s.to_id) in ((a.entity, b.entity), (b.entity, a.entity)))
  )
  insert into oxbow.entity_edges (user_id, from_id, relation, to_id, memory_type, memory_id, valid_at, invalid_at,
                                  created_at, expired_at)
  select distinct _user_id, g.from_id, g.relation, g.to_id, g.type, m.id, coalesce(m.valid_at, m.created_at),
         m.invalid_at, m.created_at, m.expired_at
    from edge g, oxbow.itself_and_fold(_user_id, g.type, g.memory) m
  on conflict do nothing;
  perform oxbow.edges_changed(_user_id, _ids);
end $$;
call oxbow.grant_worker('note_entities');

-- edges_changed notes that the edges of some memories changed, so that the communities of their entities are looked at.
create or replace function oxbow.edges_changed(_user_id text, _memories uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  update oxbow.entities e set community_due = true
    from (select distinct n.entity_id
            from unnest(_memories) m(id)
           cross join lateral (select o.memory_type from oxbow.memories o
                                where o.user_id = _user_id and o.id = m.id offset 0) o
           cross join lateral (select n.entity_id from oxbow.entity_mentions n
                                where n.user_id = _user_id and n.memory_type = o.memory_type and n.memory_id = m.id) n) n
   where e.user_id = _user_id and e.id = n.entity_id and not e.community_due and e.kind <> 'self';
end $$;
call oxbow.grant_worker('edges_changed');

-- itself_and_fold returns a memory, and the one that it was folded into because both say the same.
create or replace function oxbow.itself_and_fold(_user_id text, _type text, _id uuid)
returns table (id uuid, valid_at timestamptz, invalid_at timestamptz, created_at timestamptz, expired_at timestamptz)
language sql stable
begin atomic
  select m.id, m.valid_at, least(m.invalid_at, m.expires_at), m.created_at, m.expired_at from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id
  union all
  select k.id, k.valid_at, least(k.invalid_at, k.expires_at), k.created_at, k.expired_at from oxbow.memories_fact m
    join oxbow.memories_fact k on k.user_id = _user_id and k.id = m.superseded_by and k.content_hash = m.content_hash
   where _type = 'fact' and m.user_id = _user_id and m.id = _id and m.superseded_by is not null;
end;
call oxbow.grant_worker('itself_and_fold');

-- relation_name normalizes a relation: "Works at" becomes works_at.
create or replace function oxbow.relation_name(relation text) returns text
language sql immutable parallel safe
return case when octet_length(relation) <= 64 then replace(oxbow.entity_key(relation), ' ', '_') else '' end;
call oxbow.grant_worker('relation_name');

-- inherited_metadata returns the metadata that a new version inherits: only the entities that the new
-- content names too.
create or replace function oxbow.inherited_metadata(metadata jsonb, content text) returns jsonb
language sql immutable
return case when not metadata ?| array['entities', 'relations'] then metadata
  else metadata - 'entities' - 'relations' || coalesce((
    select jsonb_build_object('entities', jsonb_agg(e))
      from jsonb_array_elements(case jsonb_typeof(metadata -> 'entities')
                                when 'array' then metadata -> 'entities' else '[]' end) e
     where e ->> 'name' <> '' and position(oxbow.entity_key(e ->> 'name') in oxbow.entity_key(content)) > 0
    having count(*) > 0), '{}') end;

-- end_edges copies the times of a memory to its edges. What is forgotten or sensitive connects nothing.
create or replace function oxbow.end_edges() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  update oxbow.entity_edges g
     set valid_at = coalesce(new.valid_at, new.created_at), invalid_at = least(new.invalid_at, new.expires_at),
         created_at = new.created_at, expired_at = new.expired_at
   where g.user_id = new.user_id and g.memory_type = new.memory_type and g.memory_id = new.id;
  if found then
    perform oxbow.edges_changed(new.user_id, array[new.id]);
  end if;
  return null;
end $$;
create or replace trigger end_edges
  after update of valid_at, invalid_at, created_at, expired_at, expires_at, forgotten_at, sensitivity on oxbow.memories
  for each row
  when ((old.valid_at, old.invalid_at, old.created_at, old.expired_at, old.expires_at, old.forgotten_at, old.sensitivity)
        is distinct from (new.valid_at, new.invalid_at, new.created_at, new.expired_at, new.expires_at,
                          new.forgotten_at, new.sensitivity))
  execute function oxbow.end_edges();

-- note_again records the entities of a memory, and the memories related by them, again when its metadata changes. If
-- the memory still waits for embed, embed does it.
create or replace function oxbow.note_again() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  delete from oxbow.entity_edges g
   where g.user_id = new.user_id and g.memory_type = new.memory_type and g.memory_id = new.id;
  delete from oxbow.entity_mentions n
   where n.user_id = new.user_id and n.memory_type = new.memory_type and n.memory_id = new.id;
  if exists (select from oxbow.memory_terms t
              where t.user_id = new.user_id and t.memory_type = new.memory_type and t.memory_id = new.id) then
    perform oxbow.note_entities(new.user_id, array[new.id]);
    delete from oxbow.memory_links l
     where l.user_id = new.user_id and l.from_type = new.memory_type and l.from_id = new.id and l.relation = 'related_to';
    delete from oxbow.memory_links l
     where l.user_id = new.user_id and l.to_type = new.memory_type and l.to_id = new.id and l.relation = 'related_to';
    perform oxbow.relate_memories(new.user_id, array[new.id]);
  end if;
  return null;
end $$;
create or replace trigger note_again after update of metadata on oxbow.memories
  for each row
  when ((old.metadata -> 'entities', old.metadata -> 'relations')
        is distinct from (new.metadata -> 'entities', new.metadata -> 'relations'))
  execute function oxbow.note_again();

-- remove_unnamed deletes an entity that no memory names any more, because its name is personal data.
create or replace function oxbow.remove_unnamed() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _user text;
begin
  if oxbow.is_erasing() then
    return null; -- the user's entities are deleted too
  end if;
  for _user in select distinct user_id from deleted order by user_id loop
    perform pg_advisory_xact_lock(hashtextextended('oxbow.entities ' || _user, 0));
  end loop;
  delete from oxbow.entities e using (select distinct user_id, entity_id from deleted) d
   where e.user_id = d.user_id and e.id = d.entity_id
     and not exists (select from oxbow.entity_mentions n where n.user_id = e.user_id and n.entity_id = e.id);
  return null;
end $$;
create or replace trigger remove_unnamed after delete on oxbow.entity_mentions
  referencing old table as deleted for each statement execute function oxbow.remove_unnamed();

-- note_old_entities records the entities of memories that are older than this feature, for at most _limit
-- users after _after. It returns the number of memories, and in next the last user, or null at the end.
create or replace function oxbow.note_old_entities(_after text, _limit integer, out noted bigint, out next text)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _user text;
  _ids uuid[];
begin
  noted := 0;
  for _user in
    with recursive walk as (
      (select m.user_id from oxbow.memories m where m.user_id > _after order by m.user_id limit 1)
      union all
      select (select m.user_id from oxbow.memories m where m.user_id > w.user_id order by m.user_id limit 1)
        from walk w where w.user_id is not null
    ) select user_id from walk where user_id is not null limit _limit
  loop
    next := _user;
    _ids := array(select m.id from oxbow.memories m where m.user_id = _user and m.metadata ? 'entities'
                     and not exists (select from oxbow.entity_mentions n
                                      where n.user_id = _user and n.memory_type = m.memory_type
                                        and n.memory_id = m.id));
    for i in 0 .. cardinality(_ids) - 1 by 500 loop
      perform oxbow.note_entities(_user, _ids[i + 1 : i + 500]);
      perform oxbow.relate_memories(_user, _ids[i + 1 : i + 500]);
    end loop;
    noted := noted + cardinality(_ids);
  end loop;
end $$;
call oxbow.grant_worker('note_old_entities');

-- entities_of returns the people and things that a user's memories name, most mentions first, without
-- forgotten memories. mentions counts repetitions too. valid_at and created_at are those of the earliest
-- memory; invalid_at and expired_at are set once no valid memory names the entity.
create or replace function oxbow.entities_of(user_id text)
returns table (id uuid, name text, kind text, mentions bigint, memories bigint, valid_at timestamptz,
  invalid_at timestamptz, created_at timestamptz, expired_at timestamptz, last_seen timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(entities_of.user_id);
  return query
  select e.id, e.name, e.kind, sum(m.mention_count), count(*), min(coalesce(m.valid_at, m.created_at)),
         case when not bool_or(h.holds) then max(coalesce(h.ends, m.expired_at)) end,
         min(m.created_at), case when not bool_or(h.holds) then max(coalesce(m.expired_at, h.ends)) end,
         max(coalesce(m.valid_at, m.created_at))
    from oxbow.entities e
    join oxbow.entity_mentions n on n.user_id = entities_of.user_id and n.entity_id = e.id
    join oxbow.memories m on m.user_id = entities_of.user_id and m.memory_type = n.memory_type and m.id = n.memory_id
   cross join lateral (
    select e.ends, oxbow.holds(m.created_at, m.expired_at, m.valid_at, e.ends, null, null, now()) as holds
      from (select least(m.invalid_at, m.expires_at) as ends) e) h
   where e.user_id = entities_of.user_id and e.kind <> 'self' and m.forgotten_at is null and m.sensitivity < 2
   group by e.id, e.name, e.kind
   order by 4 desc, 10 desc, e.name, e.kind;
end $$;
call oxbow.grant_app('entities_of');

-- entity_edges_of returns the relations between a user's entities as each memory states them, latest first;
-- with an entity, only its own. Edges from forgotten memories are left out.
create or replace function oxbow.entity_edges_of(user_id text, entity uuid default null)
returns table (from_id uuid, from_name text, from_kind text, relation text, to_id uuid, to_name text, to_kind text,
  valid_at timestamptz, invalid_at timestamptz, created_at timestamptz, expired_at timestamptz, memory_type text,
  memory_id uuid, holds boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(entity_edges_of.user_id);
  return query
  select a.id, a.name, a.kind, g.relation, b.id, b.name, b.kind, g.valid_at, g.invalid_at, g.created_at, g.expired_at,
         g.memory_type::text, g.memory_id,
         oxbow.holds(g.created_at, g.expired_at, g.valid_at, g.invalid_at, null, null, now())
    from oxbow.entity_edges g
    join oxbow.entities a on a.user_id = entity_edges_of.user_id and a.id = g.from_id
    join oxbow.entities b on b.user_id = entity_edges_of.user_id and b.id = g.to_id
    join oxbow.memories m on m.user_id = entity_edges_of.user_id and m.memory_type = g.memory_type
     and m.id = g.memory_id
   where g.user_id = entity_edges_of.user_id and m.forgotten_at is null and m.sensitivity < 2
     and (entity_edges_of.entity is null or entity_edges_of.entity in (g.from_id, g.to_id))
   order by g.valid_at desc, g.created_at desc, g.relation, a.name, b.name, g.memory_id;
end $$;
call oxbow.grant_app('entity_edges_of');
