-- Recall: the memories of one user that answer a query, best first. Three channels, text (BM25), vector (cosine) and entity
-- (what the query names), each over the user's own rows; in the first two, a memory passes part of its score to its neighbours
-- in the conversation; then the channels are added up, and recency, importance and a trait's stage raise what is found.

-- Whether a version of a memory holds: at _valid in the world (by default: now), as the system believed at _believed (by
-- default: now). A version that was superseded after _believed had no end yet; one that was superseded before still tells
-- what was true until its end.
create or replace function oxbow.holds(created_at timestamptz, expired_at timestamptz, valid_at timestamptz, invalid_at timestamptz,
  _valid timestamptz, _believed timestamptz, _now timestamptz) returns boolean
language sql immutable parallel safe
return case
  when _valid is null and _believed is null then expired_at is null and (invalid_at is null or invalid_at > _now)
  when _believed is not null and created_at > _believed then false
  when _valid is null then (expired_at is null or expired_at > _believed)
    and (invalid_at is null or invalid_at > _believed or expired_at > _believed)
  else coalesce(valid_at, created_at) <= _valid
    and case when expired_at is null or expired_at > coalesce(_believed, 'infinity')
             then invalid_at is null or invalid_at > _valid or expired_at is not null
             else invalid_at > _valid end
end;

-- Whether a memory may be recalled at all.
create or replace function oxbow.recallable(forgotten_at timestamptz, memory_type text, trait_stage text) returns boolean
language sql immutable parallel safe
return forgotten_at is null and (memory_type <> 'trait' or coalesce(trait_stage in ('emerging', 'established', 'core'), false));

-- The user's memories of the types that a query of terms finds, as a part of the statement that asks. Each partition is named, so that
-- no others are looked at.
create or replace function oxbow.terms_found(_user_id text, _types text[], _query tsquery)
returns table (memory_id uuid, memory_type text, len integer)
language sql stable as $$
  select t.memory_id, 'fact', t.len from oxbow.memory_terms_fact t where 'fact' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'episodic', t.len from oxbow.memory_terms_episodic t where 'episodic' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'trait', t.len from oxbow.memory_terms_trait t where 'trait' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
  union all
  select t.memory_id, 'document', t.len from oxbow.memory_terms_document t where 'document' = any(_types) and t.user_id = _user_id and t.tsv @@ _query
$$;

-- The text channel: BM25 over the user's memories of the types. One index scan a term; its length is the document frequency.
-- Where nothing is known of the tables yet, or most users have few memories, reading all of a user's seems cheaper to the planner
-- than the index of the terms; where pages and operators cost nothing, the fewest rows decide. The rarest two terms always count, more common ones while they occur in at most 30 % of the memories (or 50)
-- and 8,000 places in all. Frequency counts once or twice (a second scan, for the terms marked '+').
-- k1 1.2, b 0.75; a term weighs idf^1.5, idf = ln(1 + (N - n + 0.5) / (n + 0.5)) (Robertson, Zaragoza 2009, eq. 3.6 ff).
-- With T for that and D for the sum of the idf of the date terms that match, the score is T (1 + D) + D.
-- The dates found come back with their idf, for the other channel.
create or replace function oxbow.recall_text(_user_id text, _types text[], _words text[], _dates text[], _allowed uuid[], _hidden uuid[],
  _limit integer,
  out ids uuid[], out types text[], out scores double precision[], out dates tsquery[], out date_idfs double precision[])
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_sort = off
  set random_page_cost = 0 set cpu_operator_cost = 0 set jit = off as $$
#variable_conflict use_column
declare
  _documents double precision;
  _average double precision;
  _dated_ids uuid[];
  _dated_types text[];
  _dated_idfs double precision[];
begin
  select sum(s.documents), greatest(sum(s.terms), 1) / greatest(sum(s.documents), 1) into _documents, _average
    from oxbow.memory_term_stats s where s.user_id = _user_id and s.memory_type = any(_types);
  if cardinality(_dates) > 0 then -- few questions have any
    with day as materialized (
      select d.term, h.ids, h.types, ln(1 + greatest(_documents - h.n + 0.5, 0) / (h.n + 0.5)) as idf
        from unnest(_dates) d(term), lateral (
          select count(*)::double precision as n, array_agg(t.memory_id) as ids, array_agg(t.memory_type) as types
            from oxbow.terms_found(_user_id, _types, oxbow.term_query(d.term)) t) h
       where h.n > 0
    )
    select array_agg(p.id), array_agg(p.type), array_agg(d.idf), (select array_agg(oxbow.term_query(term)) from day), (select array_agg(idf) from day)
      into _dated_ids, _dated_types, _dated_idfs, dates, date_idfs
      from day d, unnest(d.ids, d.types) p(id, type);
  end if;
  with word as materialized (
    select w.term, h.n, h.ids, h.types, h.lens,
           ln(1 + greatest(_documents - h.n + 0.5, 0) / (h.n + 0.5)) as idf,
           row_number() over (order by h.n, w.term) as nth,
           sum(h.n) over (order by h.n, w.term rows unbounded preceding) as total
      from unnest(_words) w(term), lateral (
        select count(*)::double precision as n, array_agg(t.memory_id) as ids, array_agg(t.memory_type) as types, array_agg(t.len) as lens
          from oxbow.terms_found(_user_id, _types, oxbow.term_query(w.term)) t) h
     where h.n > 0
  ), kept as materialized (
    select term, ids, types, lens, idf ^ 1.5 as weight from word
     where nth <= 2 or (n <= greatest(0.3 * _documents, 50) and total <= 8000)
  ), part as (
    select p.id, p.type, weight * 2.2 / (1 + 1.2 * (0.25 + 0.75 * p.len / _average)) as score, 0.0::double precision as date
      from kept, unnest(ids, types, lens) p(id, type, len)
    union all
    select t.memory_id, t.memory_type,
           weight * (4.4 / (2 + 1.2 * (0.25 + 0.75 * t.len / _average)) - 2.2 / (1 + 1.2 * (0.25 + 0.75 * t.len / _average))), 0
      from kept, lateral (
        select t.memory_id, t.memory_type, t.len from oxbow.terms_found(_user_id, _types, oxbow.term_query('+' || kept.term)) t offset 0) t
    union all
    select p.id, p.type, 0, p.idf from unnest(_dated_ids, _dated_types, _dated_idfs) p(id, type, idf)
  ), best as (
    select id, max(type) as type, sum(score) * (1 + sum(date)) + sum(date) as score
      from part
     where (_allowed is null or id = any(_allowed)) and (_hidden is null or id <> all(_hidden))
     group by id
     order by 3 desc, id
     limit _limit
  )
  select array_agg(id order by score desc), array_agg(type order by score desc), array_agg(score order by score desc) into ids, types, scores from best;
end $$;

-- The vector channel: the nearest of the user's vectors, by an exact scan; by an index for the types that the user has one of
-- (see vector_index), unless few memories pass the filters, or the index finds too few. Where more exist than are kept, the
-- distance of the last one kept is nought.
create or replace function oxbow.recall_vector(_user_id text, _types text[], _embedding halfvec, _allowed uuid[], _hidden uuid[], _limit integer,
  out ids uuid[], out types text[], out scores double precision[])
language plpgsql stable set plan_cache_mode = force_custom_plan set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
  _slot record;
  _near record;
  _near_ids uuid[];
  _near_types text[];
  _near_distances double precision[];
begin
  if exists (select from oxbow.vector_slots s where s.user_id = _user_id) then -- asked alone: this function's plans are made at each call
    for _slot in
      select s.memory_type::text as type, s.slot from oxbow.vector_slots s
       where s.user_id = _user_id and s.memory_type = any(_types) and s.ready_at is not null
         and (_allowed is null or cardinality(_allowed) >= 0.2 * (
               select t.documents from oxbow.memory_term_stats t where t.user_id = _user_id and t.memory_type = s.memory_type))
         -- each that waits is looked up: after an import the scan is quicker
         and (select count(*) from (select from oxbow.indexed_vectors x
                                     where x.user_id = _user_id and x.memory_type = s.memory_type and x.slot is null limit 1001) w) <= 1000
    loop
      select * into _near from oxbow.recall_near(_user_id, _slot.type, _slot.slot, _embedding, _allowed, _hidden, _limit);
      continue when _near.indexed < _limit;
      _types := array_remove(_types, _slot.type);
      _near_ids := _near_ids || _near.ids;
      _near_types := _near_types || array_fill(_slot.type, array[cardinality(_near.ids)]);
      _near_distances := _near_distances || _near.distances;
    end loop;
  end if;
  with nearest as (
    -- the distance is computed once a row, and turned into a score for the few that are kept
    select id, type, 1 - distance as score
      from (select v.memory_id as id, v.memory_type as type, v.embedding <=> _embedding as distance
              from oxbow.memory_vectors v
             where v.user_id = _user_id and v.memory_type = any(_types)
               and (_allowed is null or v.memory_id = any(_allowed)) and (_hidden is null or v.memory_id <> all(_hidden))
            union all
            select n.id, n.type, n.distance from unnest(_near_ids, _near_types, _near_distances) n(id, type, distance)
             order by distance
             limit _limit) v
  ), floor as (
    select case when count(*) < _limit then 0 else min(score) end as score from nearest where score <> 'NaN'
  )
  select array_agg(n.id order by n.score desc), array_agg(n.type order by n.score desc),
         array_agg(greatest(n.score - f.score, 0) order by n.score desc) into ids, types, scores
    from nearest n, floor f where n.score <> 'NaN';
end $$;

-- The entity channel: the memories that name what the query names, and with a quarter of the weight those that name what
-- belongs together with it, by an edge that rests on a memory that may be found. A name weighs its idf; one in more than 500
-- memories tells nothing apart. Of an English name of a person the first word is enough. Where more memories are found than are
-- kept, the score of the best that is left out is nought.
create or replace function oxbow.recall_entities(_user_id text, _query text, _types text[], _allowed uuid[], _hidden uuid[], _limit integer,
  out ids uuid[], out types text[], out scores double precision[], out ranks bigint[])
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  _asked record;
  _documents double precision;
  _named uuid[];
begin
  select * into _asked from oxbow.query_heads(_query);
  select array_agg(e.id) into _named
    from unnest(_asked.heads) h(head), lateral (
      select e.id, e.head, e.key, e.kind from oxbow.entities e where e.user_id = _user_id and e.head = h.head offset 0) e
   where e.kind <> 'self'
     and case when ascii(e.head) < 11904 -- U+2E80
              then e.kind = 'person' or position(' ' || e.key || ' ' in ' ' || _asked.words || ' ') > 0
              else position(e.key in _asked.asked) > 0 end;
  if _named is null then
    return;
  end if;
  select sum(s.documents) into _documents from oxbow.memory_term_stats s where s.user_id = _user_id and s.memory_type = any(_types);
  with near as materialized (
    select g.entity, 0.25::double precision as share
      from (select g.entity, count(*) as times
              from unnest(_named) n(id), lateral (
                (select g.to_id as entity, g.memory_type, g.memory_id from oxbow.entity_edges g where g.user_id = _user_id and g.from_id = n.id limit 200)
                union all
                (select g.from_id, g.memory_type, g.memory_id from oxbow.entity_edges g where g.user_id = _user_id and g.to_id = n.id limit 200)) g
             where g.entity <> all(_named) and g.memory_type = any(_types)
               and (_allowed is null or g.memory_id = any(_allowed)) and (_hidden is null or g.memory_id <> all(_hidden))
             group by g.entity
             order by 2 desc, 1
             limit 20) g
     where exists (select from oxbow.entities e where e.user_id = _user_id and e.id = g.entity and e.kind <> 'self' offset 0)
  ), naming as materialized (
    select e.share, m.n, m.ids, m.types, e.share * ln(1 + greatest(_documents - m.n + 0.5, 0.5) / (m.n + 0.5)) as weight
      from (select unnest(_named) as entity, 1::double precision as share union all select entity, share from near) e, lateral (
        select count(*)::double precision as n, array_agg(m.memory_id) as ids, array_agg(m.memory_type::text) as types
          from (select m.memory_id, m.memory_type from oxbow.entity_mentions m where m.user_id = _user_id and m.entity_id = e.entity limit 501) m) m
     where m.n between 1 and 500
  ), found as (
    select m.id, max(m.type) as type, coalesce(sum(weight) filter (where share = 1), 0) + coalesce(max(weight) filter (where share < 1), 0) as score
      from naming, unnest(ids, types) m(id, type)
     where m.type = any(_types) and (_allowed is null or m.id = any(_allowed)) and (_hidden is null or m.id <> all(_hidden))
     group by m.id
     order by 3 desc, m.id
     limit _limit + 1
  ), least as (
    select case when count(*) > _limit then min(score) else 0 end as score from found
  )
  select array_agg(f.id order by f.score desc), array_agg(f.type order by f.score desc), array_agg(f.score - l.score order by f.score desc),
         array_agg(f.rank order by f.score desc)
    into ids, types, scores, ranks
    from (select id, type, score, rank() over (order by score desc) as rank from found) f, least l where f.score > l.score;
end $$;

-- recall returns what the user's memories hold for a query, best first.
--   query, embedding  either may be null; the embedding must be of the model in the settings
--   types             fact, episodic, trait, document; null: all
--   max_results       1 to 1,000
--   contexts          work, personal, …: a trait's context, or the key "context" in the metadata
--   agent             only memories of that agent
--   metadata_contains only memories whose metadata contains this object
--   valid_as_of       what was true then;  believed_as_of: as was believed then; null: now
--   now               the moment to which recency refers
-- It writes nothing. Forgotten memories, and traits in the stages trend, candidate and dissolved, are never returned. A
-- trait's stage and confidence are those of now; with believed_as_of those of then, which its events tell.
-- The score is the sum of the channels, each between 0 and 1 and weighted (settings, key recall), times 1 + recency
-- (0 to 0.15, a month's scale, slower for aroused memories) + 0.15 importance + a trait's stage (0.05, 0.15, 0.25).
create or replace function oxbow.recall(user_id text, query text, embedding halfvec default null, types text[] default null,
  max_results integer default 10, contexts text[] default null, agent text default null, metadata_contains jsonb default null,
  valid_as_of timestamptz default null, believed_as_of timestamptz default null, now timestamptz default null)
returns table (id uuid, memory_type text, content text, score double precision, valid_at timestamptz, invalid_at timestamptz,
  created_at timestamptz, expired_at timestamptz, session_id text, seq bigint, speaker text, agent_id text, external_id text,
  category text, importance double precision, metadata jsonb, explain jsonb)
language plpgsql stable security definer
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  _now timestamptz := coalesce(recall.now, pg_catalog.now());
  _types text[];
  _unknown text;
  _allowed uuid[]; -- of a filtered recall, the memories that pass
  _hidden uuid[];  -- of any other, those that are not current, and what is sealed, whatever somebody put beside it
  _then jsonb;     -- with believed_as_of, the traits as oxbow.traits_then tells of them
  _asked record;
  _text record;
  _vector record;
  _entity record;
  _text_weight double precision;
  _vector_weight double precision;
  _entity_weight double precision;
  _vector_passes double precision;
begin
  perform oxbow.check_access(recall.user_id);
  select t into _unknown from unnest(recall.types) t where t is null or t <> all(array['fact', 'episodic', 'trait', 'document']);
  if found then
    perform oxbow.reject('types', _unknown, 'must be fact, episodic, trait or document');
  elsif max_results is null or max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', max_results::text, 'must be between 1 and 1000');
  elsif jsonb_typeof(metadata_contains) <> 'object' then
    perform oxbow.reject('metadata_contains', metadata_contains::text, 'must be a JSON object');
  elsif not isfinite(recall.now) then
    perform oxbow.reject('now', recall.now::text, 'must be finite');
  elsif coalesce(query, '') !~ '\S' and embedding is null then
    perform oxbow.reject('query', query, 'must not be empty when there is no embedding');
  elsif embedding is not null then
    perform oxbow.reject('embedding', format('%s dimensions', vector_dims(embedding)), format('must have %s dimensions', s.value ->> 'dimension'))
       from oxbow.settings s where s.key = 'embedding' and (s.value ->> 'dimension')::integer <> vector_dims(embedding);
  end if;

  -- only types of which the user has something: the other partitions are not looked at
  select array_agg(distinct t) into _types
    from unnest(coalesce(recall.types, array['fact', 'episodic', 'trait', 'document'])) t
   where exists (select from oxbow.memory_term_stats s where s.user_id = recall.user_id and s.memory_type = t and s.documents > 0)
      or exists (select from oxbow.memory_vectors v where v.user_id = recall.user_id and v.memory_type = t);
  if _types is null then
    return;
  end if;
  -- what may be found is settled before the channels cut their lists, or a memory's own history could crowd it out
  if 'trait' = any(_types) and believed_as_of is not null then
    _then := coalesce(oxbow.traits_then(recall.user_id, believed_as_of), '{}');
  end if;
  if contexts is not null or agent is not null or metadata_contains is not null or valid_as_of is not null or believed_as_of is not null then
    select coalesce(array_agg(m.id), '{}') into _allowed
      from oxbow.memories m
     where m.user_id = recall.user_id and m.memory_type = any(_types) and m.sensitivity < 3
       and oxbow.recallable(m.forgotten_at, m.memory_type, case when m.memory_type <> 'trait' then null
             when _then is not null then _then #>> array[m.id::text, 'stage']
             else oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
                 m.trait_confidence_at, m.trait_window_end, _now) end)
       and oxbow.holds(m.created_at, m.expired_at, m.valid_at, m.invalid_at, valid_as_of, believed_as_of, _now)
       and (agent is null or m.agent_id = agent)
       and (metadata_contains is null or m.metadata @> metadata_contains)
       and (contexts is null or coalesce(m.trait_context, m.metadata ->> 'context') = any(contexts));
  else
    select array_agg(h.id) into _hidden
      -- the type is no condition of an index, or a table of which nothing is known yet is read by another than the one for these
      from (select m.id from oxbow.memories m
             where m.user_id = recall.user_id and m.memory_type || '' = any(_types)
               and (m.expired_at is not null or m.forgotten_at is not null or m.invalid_at is not null)
               and not (m.forgotten_at is null and m.expired_at is null and m.invalid_at > _now)
            union all
            select m.id from oxbow.memories m where m.user_id = recall.user_id and m.sensitivity = 3 and m.memory_type || '' = any(_types)
            union all
            select m.id from oxbow.memories_trait m
             where m.user_id = recall.user_id and 'trait' = any(_types) and m.expired_at is null and not oxbow.recallable(null, 'trait',
                 oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
                 m.trait_confidence_at, m.trait_window_end, _now))) h;
  end if;

  select * into _asked from oxbow.query_terms(query);
  select * into _text from oxbow.recall_text(recall.user_id, _types, _asked.words, _asked.dates, _allowed, _hidden, 60 + max_results);
  select null::uuid[] as ids, null::text[] as types, null::double precision[] as scores into _vector;
  if embedding is not null then
    select * into _vector from oxbow.recall_vector(recall.user_id, _types, embedding, _allowed, _hidden, 60 + max_results);
  end if;
  select null::uuid[] as ids, null::text[] as types, null::double precision[] as scores, null::bigint[] as ranks into _entity;
  if query ~ '\S' and exists (select from oxbow.entities e where e.user_id = recall.user_id) then
    select * into _entity from oxbow.recall_entities(recall.user_id, query, _types, _allowed, _hidden, 60 + max_results);
  end if;
  -- the offline model adds little to the words that it is made of; a trained one counts in full
  select coalesce((r.value ->> 'text')::double precision, 1),
         coalesce((r.value ->> 'vector')::double precision, case when e.value ->> 'model' like 'local-%' then 0.2 else 1 end),
         coalesce((r.value ->> 'entity')::double precision, 0.1)
    into _text_weight, _vector_weight, _entity_weight
    from (values ('embedding')) k(key) left join oxbow.settings e using (key) left join oxbow.settings r on r.key = 'recall';

  if _text.dates is not null and _vector.ids is not null then
    _vector.scores := (
      select array_agg(v.score * (1 + coalesce((
               select sum(d.idf) from unnest(_text.dates, _text.date_idfs) d(term, idf), oxbow.memory_terms t
                where t.user_id = recall.user_id and t.memory_type = v.type and t.memory_id = v.id and t.tsv @@ d.term), 0)) order by v.nth)
        from unnest(_vector.ids, _vector.types, _vector.scores) with ordinality v(id, type, score, nth));
  end if;

  select 0.2 * max(score) into _vector_passes from unnest(_vector.scores) v(score);

  return query
  with candidate as (
    -- what the channels found, with those next to it in its conversation. Each is looked up by its key, which "offset 0" keeps:
    -- where the plan for all users expects few memories of each, a join would read all of a large user's
    select c.type as memory_type, c.id, c.text, c.vector, c.entity, c.entity_rank,
           case when m.session_id is not null then array(
             select n.id from oxbow.memories n
              where n.user_id = recall.user_id and n.memory_type = c.type and n.session_id = m.session_id and n.seq > m.seq
                and coalesce(n.valid_at, n.created_at) <= m.at + interval '1 hour'
                and (_allowed is null or n.id = any(_allowed)) and (_hidden is null or n.id <> all(_hidden))
              order by n.seq limit 2) end as later,
           case when m.session_id is not null then array(
             select n.id from oxbow.memories n
              where n.user_id = recall.user_id and n.memory_type = c.type and n.session_id = m.session_id and n.seq < m.seq
                and coalesce(n.valid_at, n.created_at) >= m.at - interval '1 hour'
                and (_allowed is null or n.id = any(_allowed)) and (_hidden is null or n.id <> all(_hidden))
              order by n.seq desc limit 2) end as earlier
      from (select c.type, c.id, max(c.text) as text, max(c.vector) as vector, max(c.entity) as entity, max(c.entity_rank) as entity_rank,
                   coalesce(max(c.text) >= 0.2 * _text.scores[1], false) or coalesce(max(c.vector) >= _vector_passes, false) as passes
              from (select t.id, t.type, t.score as text, null::double precision as vector, null::double precision as entity, null::bigint as entity_rank
                      from unnest(_text.ids, _text.types, _text.scores) t(id, type, score)
                    union all
                    select v.id, v.type, null, v.score, null, null from unnest(_vector.ids, _vector.types, _vector.scores) v(id, type, score)
                    union all
                    select x.id, x.type, null, null, x.score, x.rank from unnest(_entity.ids, _entity.types, _entity.scores, _entity.ranks) x(id, type, score, rank)) c
             group by c.type, c.id) c
      left join lateral (
      select m.session_id, m.seq, coalesce(m.valid_at, m.created_at) as at from oxbow.memories m
       where c.passes and m.user_id = recall.user_id and m.memory_type = c.type and m.id = c.id
      offset 0) m on true
  ), spread as (
    select memory_type, id, text, vector, entity, entity_rank from candidate
    union all
    select memory_type, later[nth], text * share, vector * share, null, null
      from candidate, (values (1, 0.5::double precision), (2, 0.25)) n(nth, share) where later[nth] is not null
    union all
    select memory_type, earlier[nth], text * share, vector * share, null, null
      from candidate, (values (1, 0.5::double precision), (2, 0.25)) n(nth, share) where earlier[nth] is not null
  ), summed as (
    select memory_type, id, sum(text) as text, sum(vector) as vector, sum(entity) as entity, max(entity_rank) as entity_rank
      from spread group by memory_type, id
  ), every as materialized (
    -- the scores of each channel in their order, in which one finds its rank
    select array_agg(text order by text) filter (where text is not null) as texts,
           array_agg(vector order by vector) filter (where vector is not null) as vectors,
           nullif(max(text), 0) as best_text, nullif(max(vector), 0) as best_vector
      from summed
  ), fused as (
    select s.*, coalesce(s.text / e.best_text, 0) * _text_weight
           + coalesce(s.vector / e.best_vector, 0) * _vector_weight
           + coalesce(s.entity / _entity.scores[1], 0) * _entity_weight as score
      from summed s, every e
  ), reachable as (
    -- the bonuses raise a score by 55 % at the most: below that share of the last place nothing can win
    select * from fused
     where score > 0 and score * 1.55 >= coalesce((select score from fused order by score desc offset max_results - 1 limit 1), 0)
  ), best as (
    -- recency's age is bounded by 30 years, because exp raises an error where its result is too small
    select f.text, f.vector, f.entity, f.entity_rank, m.*, b.*, t.stage, f.score * (1 + b.recency + b.importance_boost + b.stage_boost) as total
      from reachable f
     cross join lateral (
      select m.* from oxbow.memories m
       where m.user_id = recall.user_id and m.memory_type = f.memory_type and m.id = f.id
      offset 0) m
     cross join lateral (
      select case when m.memory_type <> 'trait' then null
                  when _then is not null then _then #>> array[m.id::text, 'stage']
                  else oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at, m.trait_confidence, m.trait_subtype,
                         m.trait_reinforcement_count, m.trait_confidence_at, m.trait_window_end, _now) end as stage) t
     cross join lateral (
      select 0.15 * exp(-least(greatest(extract(epoch from _now - coalesce(m.valid_at, m.created_at)), 0), 1e9)::double precision
               / (2592000 * (1 + 0.5 * case jsonb_typeof(m.metadata #> '{emotion,arousal}')
                   when 'number' then least(greatest((m.metadata #>> '{emotion,arousal}')::numeric, 0), 1)::double precision else 0 end))) as recency,
             0.15 * m.importance as importance_boost,
             case t.stage when 'emerging' then 0.05 when 'established' then 0.15 when 'core' then 0.25 else 0 end::double precision as stage_boost) b
     order by total desc, m.seq, m.id
     limit max_results
  )
  select b.id, b.memory_type::text, b.content, b.total, b.valid_at, b.invalid_at, b.created_at, b.expired_at, b.session_id, b.seq,
         b.speaker, b.agent_id, b.external_id, b.category, b.importance, b.metadata,
         jsonb_strip_nulls(jsonb_build_object(
           'text', case when b.text is not null then jsonb_build_object('score', b.text, 'rank', cardinality(e.texts) + 1 - width_bucket(b.text, e.texts)) end,
           'vector', case when b.vector is not null then jsonb_build_object('score', b.vector, 'rank', cardinality(e.vectors) + 1 - width_bucket(b.vector, e.vectors)) end,
           'entity', case when b.entity is not null then jsonb_build_object('score', b.entity, 'rank', b.entity_rank) end,
           'recency', round(b.recency::numeric, 9)::double precision, 'importance', b.importance_boost,
           'session', b.session_id)
           || case when b.memory_type = 'trait' then jsonb_build_object('stage_boost', b.stage_boost, 'stage', b.stage, 'subtype', b.trait_subtype,
                'confidence', coalesce((_then #>> array[b.id::text, 'confidence'])::double precision, oxbow.trait_confidence_at(b.trait_confidence,
                    b.trait_subtype, b.trait_reinforcement_count, b.trait_confidence_at, _now)),
                'supporting', v.supporting, 'contradicting', v.contradicting) else '{}' end)
    from best b
   cross join every e
   cross join lateral (
    select count(*) filter (where v.direction = 'supporting') as supporting, count(*) filter (where v.direction = 'contradicting') as contradicting
      from oxbow.trait_evidence v
     where b.memory_type = 'trait' and v.user_id = recall.user_id
       and v.trait_id = coalesce((_then #>> array[b.id::text, 'head'])::uuid, b.id)
       and v.event_seq <= coalesce((_then #>> array[b.id::text, 'seq'])::integer, v.event_seq)) v
   order by b.total desc, b.seq, b.id;
end $$;
call oxbow.grant_app('recall');

-- pgvector's operators are found where its extension was installed.
do $$
declare path text := (select format('pg_catalog, %I, pg_temp', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
begin
  execute 'alter function oxbow.recall_vector set search_path = ' || path;
  execute 'alter function oxbow.recall set search_path = ' || path;
end $$;
