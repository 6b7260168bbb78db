-- Related memories: links between memories that name the same people and things, or are facts about the same subject.

-- relate_memories links each of the given memories to at most related_links other current ones (relation related_to).
-- Those that share the most of its names and subjects come first; the weight is the mean of that share and of the
-- similarity of the vectors, 0 to 1. It ignores names and subjects that more than related_shared memories share, and
-- the name of the speaker. A pair is linked once, from the memory that was indexed later. Memories that are being
-- erased are skipped, so the function does not wait for locks.
create or replace function oxbow.relate_memories(_user_id text, _ids uuid[]) returns void
language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _links constant integer := oxbow.policy('related_links');
  _shared constant integer := oxbow.policy('related_shared');
begin
  if _links = 0 then
    return;
  end if;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation, weight)
  select _user_id, m.memory_type, m.id, l.memory_type, l.id, 'related_to', l.weight
    from (select distinct unnest(_ids) as id order by id) i
   cross join lateral (
    select m.memory_type, m.id, m.seq, m.speaker from oxbow.memories m
     where m.user_id = _user_id and m.id = i.id and m.memory_type <> 'trait' and m.sensitivity < 2
       and m.forgotten_at is null and m.expired_at is null and (m.invalid_at is null or m.invalid_at > now()) offset 0) m
   cross join lateral (
    select o.memory_type, o.id, (s.share + greatest(coalesce(1 - (v.embedding <=> w.embedding), 0), 0)) / 2 as weight
      from (
        select u.type, u.id, count(*)::double precision / max(n.names) as share
          from (
            select n.ids, n.types, count(*) over () as names
              from (
                select array_agg(x.memory_id) as ids, array_agg(x.memory_type::text) as types
                  from oxbow.entity_mentions n
                 cross join lateral (
                  select e.id from oxbow.entities e
                   where e.user_id = _user_id and e.id = n.entity_id and e.kind <> 'self'
                     and e.key not in (oxbow.entity_key(coalesce(m.speaker, '')), oxbow.entity_key(_user_id)) offset 0) e
                 cross join lateral (
                  select x.memory_id, x.memory_type from oxbow.entity_mentions x
                   where x.user_id = _user_id and x.entity_id = e.id limit _shared + 1) x
                 where n.user_id = _user_id and n.memory_type = m.memory_type and n.memory_id = m.id
                 group by e.id
                union all
                select array_agg(x.memory_id), array_agg('fact'::text)
                  from oxbow.fact_subjects s
                 cross join lateral (
                  select x.memory_id from oxbow.fact_subjects x
                   where x.user_id = _user_id and x.about = s.about limit _shared + 1) x
                 where m.memory_type = 'fact' and s.user_id = _user_id and s.memory_id = m.id
                 group by s.about) n) n
         cross join lateral unnest(n.ids, n.types) u(id, type)
         where cardinality(n.ids) <= _shared and u.id <> m.id
         group by u.type, u.id
         order by 3 desc, u.id desc
         limit 4 * _shared) s
     cross join lateral (
      select o.memory_type, o.id from oxbow.memories o
       where o.user_id = _user_id and o.memory_type = s.type and o.id = s.id and o.memory_type <> 'trait'
         and o.sensitivity < 2 and o.forgotten_at is null and o.expired_at is null
         and (o.invalid_at is null or o.invalid_at > now())
         and (o.id <> all(_ids) or (o.seq, o.id) < (m.seq, m.id))
         and not exists (
           select from oxbow.memory_links l where l.user_id = _user_id and l.from_type = o.memory_type
              and l.from_id = o.id and l.to_type = m.memory_type and l.to_id = m.id)
         and not exists (
           select from oxbow.memory_links l where l.user_id = _user_id and l.from_type = m.memory_type
              and l.from_id = m.id and l.to_type = o.memory_type and l.to_id = o.id)
         for key share skip locked) o
      left join lateral (select v.embedding from oxbow.memory_vectors v
                          where v.user_id = _user_id and v.memory_type = m.memory_type and v.memory_id = m.id offset 0) v
        on true
      left join lateral (select w.embedding from oxbow.memory_vectors w
                          where w.user_id = _user_id and w.memory_type = o.memory_type and w.memory_id = o.id offset 0) w
        on true
     order by 3 desc, o.id
     limit _links) l
  on conflict do nothing;
end $$;
call oxbow.grant_worker('relate_memories');

-- link_weight returns the weight of a link at a time: each joint use closes related_gain of its distance to 1, and counts
-- half after related_days. Nothing is stored when it fades.
create or replace function oxbow.link_weight(_weight double precision, _joint double precision, _joint_at timestamptz,
  _at timestamptz) returns double precision
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if _joint = 0 or _weight >= 1 then
    return _weight;
  end if;
  return 1 - (1 - _weight)
    * power(1 - oxbow.policy('related_gain', _at), oxbow.joint_uses(_joint, _joint_at, _at));
end $$;

-- joint_uses returns the number of joint uses that still count at a time.
create or replace function oxbow.joint_uses(_joint double precision, _joint_at timestamptz, _at timestamptz)
returns double precision
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if _joint = 0 then
    return 0;
  end if;
  -- 1,000 half-lives leave nothing; more would underflow, which is an error
  return _joint * power(0.5::double precision, least(1000, greatest(0, extract(epoch from _at - _joint_at))
    / (86400 * oxbow.policy('related_days', _at))));
end $$;

-- use_links counts joint uses: memories that are linked as related and that one report of a user (equal times) used.
-- It reads the links from each memory only, which are at most related_links.
create or replace function oxbow.use_links(_users text[], _ids uuid[], _at timestamptz[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
begin
  with used as materialized (
    select distinct u.user_id, u.id, u.at from unnest(_users, _ids, _at) u(user_id, id, at)
  ), pair as materialized (
    select l.user_id, l.from_type, l.from_id, l.to_type, l.to_id, count(*) as times, max(l.at) as at
      from (
        select l.user_id, u.at, l.from_type, l.from_id, l.to_type, l.to_id
          from used u
         cross join lateral (
          select m.memory_type from oxbow.memories m where m.user_id = u.user_id and m.id = u.id offset 0) m
         cross join lateral (
          select l.* from oxbow.memory_links l
           where l.user_id = u.user_id and l.from_type = m.memory_type and l.from_id = u.id
             and l.relation = 'related_to' offset 0) l) l
     where ((l.user_id, l.at, l.to_id) in (select o.user_id, o.at, o.id from used o)) is true -- a hashed subplan
     group by l.user_id, l.from_type, l.from_id, l.to_type, l.to_id
  )
  update oxbow.memory_links l
     set joint = least(oxbow.joint_uses(l.joint, l.joint_at, p.at) + p.times, 1000000),
         joint_at = greatest(l.joint_at, p.at)
    from pair p
   where l.user_id = p.user_id and l.from_type = p.from_type and l.from_id = p.from_id and l.relation = 'related_to'
     -- not by equality: the planner could choose the index on the other end, with all links to a memory
     and not (l.to_type, l.to_id) is distinct from (p.to_type, p.to_id);
end $$;
call oxbow.grant_worker('use_links');
call oxbow.grant_worker('joint_uses');

-- related returns the current memories that are linked to a memory in either direction (relation related_to), the most
-- related first. weight is 0 to 1; replies that use both memories raise it (link_weight).
create or replace function oxbow.related(user_id text, id uuid, max_results integer default 5)
returns table (memory_id uuid, memory_type text, content text, weight double precision, valid_at timestamptz,
  invalid_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
begin
  perform oxbow.check_access(related.user_id);
  if related.max_results is null or related.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', related.max_results::text, 'must be between 1 and 1000');
  end if;
  return query
  select o.id, o.memory_type::text, o.content, max(oxbow.link_weight(l.weight, l.joint, l.joint_at, now())),
         coalesce(o.valid_at, o.created_at), o.invalid_at
    from oxbow.memories m
   cross join lateral (
    select l.to_type as type, l.to_id as id, l.weight, l.joint, l.joint_at
      from oxbow.memory_links l
     where l.user_id = related.user_id and l.from_type = m.memory_type and l.from_id = m.id
       and l.relation = 'related_to'
    union all
    select l.from_type, l.from_id, l.weight, l.joint, l.joint_at
      from oxbow.memory_links l
     where l.user_id = related.user_id and l.to_type = m.memory_type and l.to_id = m.id and l.relation = 'related_to') l
   cross join lateral (
    select o.* from oxbow.memories o
     where o.user_id = related.user_id and o.memory_type = l.type and o.id = l.id and o.sensitivity < 2
       and o.forgotten_at is null
       and oxbow.holds(o.created_at, o.expired_at, o.valid_at, o.invalid_at, null, null, now(), o.former_ends,
             o.expires_at) offset 0) o
   where m.user_id = related.user_id and m.id = related.id and m.forgotten_at is null and o.id <> m.id
   group by o.id, o.memory_type, o.content, o.valid_at, o.created_at, o.invalid_at
   order by 4 desc, 5 desc, 1
   limit related.max_results;
end $$;
call oxbow.grant_app('related');

-- origins returns the memories from which each of the given memories was made: those that it summarizes (source),
-- merges (merged_from), shortens (compressed_from), replaced (supersedes) or counted as a repetition (repeats), and the
-- evidence for a trait (evidence).
create or replace function oxbow.origins(_user_id text, _ids uuid[])
returns table (origin_of uuid, relation text, type text, id uuid)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off as $$
#variable_conflict error
begin
  return query
  select m.id, o.relation, o.type, o.id
    from unnest(_ids) i(id)
   cross join lateral (select m.memory_type, m.id from oxbow.memories m
                        where m.user_id = _user_id and m.id = i.id offset 0) m
   cross join lateral (
    select l.relation, l.to_type::text as type, l.to_id as id from oxbow.memory_links l
     where l.user_id = _user_id and l.from_type = m.memory_type and l.from_id = m.id
       and l.relation in ('source', 'merged_from', 'compressed_from', 'supersedes')
    union all
    select 'repeats', r.memory_type::text, r.id from oxbow.memories r
     where r.user_id = _user_id and r.superseded_by = m.id
       and not exists (select from oxbow.memory_links l
                        where l.user_id = _user_id and l.from_type = m.memory_type and l.from_id = m.id
                          and l.to_type = r.memory_type and l.to_id = r.id)
    union all
    select 'evidence', e.memory_type::text, e.memory_id from oxbow.trait_evidence e
     where m.memory_type = 'trait' and e.user_id = _user_id and e.trait_id = m.id and e.direction = 'supporting') o;
end $$;

-- provenance returns the memories from which a memory was made, step by step, and the messages in which they were said.
-- It returns the nearest max_results (1 to 1,000), each once, nearest first, and goes at most 100 steps.
-- origin_of is the memory that was made from it. relation is as in oxbow.origins, and said for a message. Forgotten
-- memories and their own origins are left out; the content of sensitive ones (2 and 3) is null.
create or replace function oxbow.provenance(user_id text, id uuid, max_results integer default 100)
returns table (step integer, origin_of uuid, relation text, memory_type text, memory_id uuid, message_id uuid,
  session_id text, speaker text, content text, at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _last uuid[];
  _next uuid[];
  _seen uuid[];
  _left integer := provenance.max_results;
  _n integer;
begin
  perform oxbow.check_access(provenance.user_id);
  if _left is null or _left not between 1 and 1000 then
    perform oxbow.reject('max_results', _left::text, 'must be between 1 and 1000');
  end if;
  _last := array(select m.id from oxbow.memories m
                  where m.user_id = provenance.user_id and m.id = provenance.id and m.forgotten_at is null);
  _seen := _last;
  for _step in 1 .. 100 loop
    exit when _last = '{}' or _left = 0;
    _next := array(
      select o.id
        from oxbow.origins(provenance.user_id, _last) o
       cross join lateral (select from oxbow.memories m
                            where m.user_id = provenance.user_id and m.memory_type = o.type and m.id = o.id
                              and m.forgotten_at is null offset 0) m
       where o.id <> all(_seen) group by o.id limit _left);
    return query
    select _step, g.origin_of, 'said', null::text, null::uuid, g.id, g.session_id, coalesce(g.speaker, g.role),
           g.content, g.created_at
      from (select distinct on (g.id) s.memory_id as origin_of, g.*
              from unnest(_last) i(id)
             cross join lateral (select s.memory_id, s.message_id from oxbow.memory_sources s
                                  where s.user_id = provenance.user_id
                                    and s.memory_type in ('fact', 'episodic', 'trait', 'document')
                                    and s.memory_id = i.id and s.message_id is not null offset 0) s
             cross join lateral (
               select g.id, g.session_id, g.speaker, g.role, g.created_at, g.seq,
                      case when g.sensitivity < 2 then g.content end as content
                 from oxbow.messages g where g.user_id = provenance.user_id and g.id = s.message_id offset 0) g
             order by g.id) g
     order by g.created_at, g.seq, g.id
     limit _left;
    get diagnostics _n = row_count;
    _left := _left - _n;
    return query
    select _step, o.origin_of, o.relation, o.type, m.id, null::uuid, m.session_id, m.speaker, m.content, m.at
      from (select distinct on (o.id) o.* from oxbow.origins(provenance.user_id, _last) o
             where o.id = any(_next) order by o.id, o.relation) o
     cross join lateral (
      select m.id, m.session_id, m.speaker, case when m.sensitivity < 2 then m.content end as content,
             coalesce(m.valid_at, m.created_at) as at, m.seq
        from oxbow.memories m
       where m.user_id = provenance.user_id and m.memory_type = o.type and m.id = o.id offset 0) m
     order by m.at, m.seq, m.id
     limit _left;
    get diagnostics _n = row_count;
    _left := _left - _n;
    _last := _next;
    _seen := _seen || _next;
  end loop;
end $$;
call oxbow.grant_app('provenance');

-- pgvector's operators are in the schema in which its extension is installed.
do $$
begin
  execute format('alter function oxbow.relate_memories set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
