-- Communities of entities: people and things that a user's memories connect more with each other than with others. They
-- are found by label propagation (Raghavan, Albert and Kumara 2007), one entity at a time, and only where something
-- changed. No text is stored: names and sentences are read from entities and memories.

-- ties returns the communities around an entity with the number of edges to each, counting at most 200 edges each way.
-- An edge counts if its memory is current and may be shown. An entity without a community forms one of its own. The
-- user does not count, because everything is about them.
create or replace function oxbow.ties(_user_id text, _id uuid) returns table (community uuid, ties bigint)
language sql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
  select coalesce(e.community_id, e.id), count(*)
    from oxbow.entity_neighbours(_user_id, _id) g
   cross join lateral (select from oxbow.memories m
                        where m.user_id = _user_id and m.memory_type = g.memory_type and m.id = g.memory_id
                          and m.forgotten_at is null and m.expired_at is null and m.sensitivity < 2
                          and coalesce(least(m.invalid_at, m.expires_at) > now(), true) offset 0) m
   cross join lateral (select e.id, e.community_id from oxbow.entities e
                        where e.user_id = _user_id and e.id = g.entity and e.kind <> 'self' offset 0) e
   group by 1;
$$;
call oxbow.grant_worker('ties');

-- propagate looks at no more than _limit entities whose edges changed, moves each to the community with most ties, and
-- returns how many it looked at. An entity moves only if the other community has more ties than its own, so each move
-- adds edges within communities, and propagation ends. The neighbours of an entity that moved are due next.
create or replace function oxbow.propagate(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  e oxbow.entities;
  _best uuid;
  _n integer := 0;
begin
  for e in
    select n.* from oxbow.entities n where n.community_due order by n.user_id, n.id limit _limit for update skip locked
  loop
    _n := _n + 1;
    select t.community into _best from oxbow.ties(e.user_id, e.id) t
     where e.kind <> 'self'
     order by t.ties desc, t.community = coalesce(e.community_id, e.id) desc, t.community limit 1;
    update oxbow.entities x set community_due = false, community_id = _best where x.user_id = e.user_id and x.id = e.id;
    if _best is distinct from e.community_id then
      update oxbow.entities x set community_due = true
        from (select distinct g.entity from oxbow.entity_neighbours(e.user_id, e.id) g) g
       where x.user_id = e.user_id and x.id = g.entity and not x.community_due and x.kind <> 'self'
         and x.community_id is distinct from _best;
    end if;
    insert into oxbow.communities as c (user_id, id)
    select distinct e.user_id, t.id from unnest(array[_best, e.community_id]) t(id) where t.id is not null
    on conflict (user_id, id) do update set due = true where not c.due;
  end loop;
  return _n;
end $$;
call oxbow.grant_worker('propagate');

-- summarize_communities counts the members of at most _limit communities that are due, and chooses their central
-- members and the memories that represent them: those with most edges between the first 50 members. It returns the
-- number of communities. A community with fewer than 3 members does not count as one.
create or replace function oxbow.summarize_communities(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
  c oxbow.communities;
  _members uuid[];
  _central uuid[];
  _sources uuid[];
  _n integer := 0;
begin
  for c in select n.* from oxbow.communities n where n.due order by n.user_id, n.id limit _limit for update skip locked loop
    _n := _n + 1;
    _members := array(select e.id from oxbow.entities e
                       where e.user_id = c.user_id and e.community_id = c.id order by e.id limit 50);
    with edge as materialized (
      select g.from_id, g.to_id, m.id, m.importance, m.created_at
        from unnest(_members) u(id)
       cross join lateral (select * from oxbow.entity_edges g
                            where g.user_id = c.user_id and g.from_id = u.id limit 50) g
       cross join lateral (select m.id, m.importance, m.created_at from oxbow.memories m
                            where m.user_id = c.user_id and m.memory_type = g.memory_type and m.id = g.memory_id
                              and m.forgotten_at is null and m.expired_at is null and m.sensitivity < 2 offset 0) m
       where g.to_id = any(_members)
    )
    select array(select n.id from edge e, unnest(array[e.from_id, e.to_id]) x(id)
                   join oxbow.entities n on n.user_id = c.user_id and n.id = x.id
                  group by n.id, n.name order by count(*) desc, n.name, n.id limit 8),
           array(select e.id from edge e group by e.id, e.importance, e.created_at
                  order by count(*) desc, e.importance desc nulls last, e.created_at desc, e.id limit 5)
      into _central, _sources;
    if cardinality(_central) < 3 then
      delete from oxbow.communities x where x.user_id = c.user_id and x.id = c.id;
      continue;
    end if;
    update oxbow.communities x
       set due = false, central = _central, sources = _sources, updated_at = now(),
           version = c.version + (_sources <> c.sources)::integer,
           members = (select count(*) from (select from oxbow.entities e
                       where e.user_id = c.user_id and e.community_id = c.id limit 1000) n)
     where x.user_id = c.user_id and x.id = c.id;
  end loop;
  return _n;
end $$;
call oxbow.grant_worker('summarize_communities');

-- erase_from_communities prepares the erasure of a memory.
create or replace function oxbow.erase_from_communities(_user_id text, _id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.edges_changed(_user_id, array[_id]);
  update oxbow.communities c set sources = array_remove(c.sources, _id), due = true
   where c.user_id = _user_id and _id = any(c.sources);
end $$;

-- communities returns groups of entities that belong together, the largest first or, with a query, those with entities
-- that it names. names are at most 8 members, the most connected first; members counts up to 1,000; summary are the
-- memories that connect most of them, one a line.
create or replace function oxbow.communities(user_id text, query text default null, max_results integer default 10)
returns table (id uuid, names text[], members integer, summary text, sources uuid[], version integer,
  updated_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
  set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off as $$
#variable_conflict error
declare
  _found oxbow.communities[]; -- more than asked for, because some may not be shown
begin
  perform oxbow.check_access(communities.user_id);
  if communities.max_results is null or communities.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', communities.max_results::text, 'must be between 1 and 1000');
  end if;
  if communities.query ~ '\S' then
    _found := array(
      select c from oxbow.communities c
       where c.user_id = communities.user_id and c.id in (
         select e.community_id from oxbow.entities e
          where e.user_id = communities.user_id
            and e.id = any(oxbow.recall_named(communities.user_id, communities.query))));
  else
    _found := array(
      select c from oxbow.communities c
       where c.user_id = communities.user_id
       order by c.members desc, c.id limit 2 * communities.max_results);
  end if;
  return query
  select c.id, n.names, c.members, s.summary, s.sources, c.version, c.updated_at
    from unnest(_found) c
   cross join lateral (
    select array_agg(e.name order by u.nth) as names
      from unnest(c.central) with ordinality u(id, nth)
      join oxbow.entities e on e.user_id = c.user_id and e.id = u.id
     where exists (select from oxbow.entity_mentions x join oxbow.memories m on m.user_id = x.user_id
                      and m.memory_type = x.memory_type and m.id = x.memory_id
                    where x.user_id = e.user_id and x.entity_id = e.id and m.forgotten_at is null
                      and m.sensitivity < 2)) n
   cross join lateral (
    select string_agg(m.content, E'\n' order by u.nth) as summary, array_agg(m.id order by u.nth) as sources
      from unnest(c.sources) with ordinality u(id, nth)
      join oxbow.memories m on m.user_id = c.user_id and m.id = u.id
     where m.forgotten_at is null and m.expired_at is null and m.sensitivity < 2) s
   where s.summary is not null and cardinality(n.names) >= 3
   order by c.members desc, c.id limit communities.max_results;
end $$;
call oxbow.grant_app('communities');
