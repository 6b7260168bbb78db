-- Recall: the memories of a user that answer a query, best first. Three channels, text, vector and entity,
-- each search the user's own memories. In the text and vector channels, a memory passes part of its score
-- to its neighbours in the conversation. Fusion adds up the channels; recency, importance, the stage of a trait
-- and the weight of a memory raise or lower the sum.

-- known_types returns the types for which the user has memories that a channel can find, so that other
-- partitions are not read.
create or replace function oxbow.known_types(_user_id text, _types text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  return (
    select array_agg(distinct t) from unnest(_types) t
     where exists (select from oxbow.memory_term_stats s
                    where s.user_id = _user_id and s.memory_type = t and s.documents > 0)
        or exists (select from oxbow.memory_vectors v where v.user_id = _user_id and v.memory_type = t));
end $$;

-- recall_dated raises the scores of the vector channel for memories with a date that the query names (recall_dates).
drop function if exists oxbow.recall_dated(text, uuid[], text[], double precision[], tsquery[], double precision[]);
create or replace function oxbow.recall_dated(_ids uuid[], _scores double precision[], _date_ids uuid[],
  _date_idfs double precision[]) returns double precision[]
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  return (
    select array_agg(v.score * (1 + coalesce(v.date, 0)) order by v.nth)
      from (select max(u.nth) as nth, max(u.score) as score, sum(u.date) as date
              from (select v.id, v.nth, v.score, null::double precision as date
                      from unnest(_ids, _scores) with ordinality v(id, score, nth)
                    union all
                    select d.id, null, null, d.idf from unnest(_date_ids, _date_idfs) d(id, idf)) u
             group by u.id) v
     where v.nth is not null);
end $$;

-- recall returns the memories of a user that match a query, best first.
--   query, embedding  either may be null; the embedding must be of the model in the settings
--   types             fact, episodic, trait, document; null: all
--   max_results       1 to 1,000
--   contexts          work, personal, …: a trait's context, or the key "context" in the metadata
--   agent             only memories of that agent
--   metadata_contains only memories whose metadata contains this object
--   valid_as_of       what was true then; null: the newest versions that have not ended, even if they begin later
--   believed_as_of    what was believed then; null: now
--   now               the reference time for recency, and for "yesterday" in the query
--   min_score         only results with at least this relevance, 0 to 1
--   mode              normal: only memories that are full or summaries, with at least the weight recall_normal_weight;
--                     review: also archived memories, and compressed ones with their original text; debug: also those
--                     that are forgotten or have ended, with the reason in explain, for owner, worker and operator; null: none
-- A time in the query (query_dates, query_times, recall_event) raises memories of that time. If it is the past, memories
-- that have ended are found too.
-- It writes nothing. Except in the mode debug, it returns no forgotten memories and no traits in the stages trend,
-- candidate and dissolved. A trait has its current stage and confidence, or with believed_as_of those that its events
-- gave then. The score is the weighted sum of the channels, each between 0 and 1, times 1 + the boosts of
-- recency, importance, a speaker whom the query names and a trait's stage, times 1 + the share of the memory's
-- weight, times the weight of its modality (the policies recall_*). A result below recall_threshold of the best score
-- is left out.
-- A memory that repeats a better one comes after all others; explain has the id of the better one ("repeats").
--
-- Plans are generic and made once per session. The settings disable plan choices that are wrong for users
-- larger than the average. For the same reason every memory is looked up by its key in a subquery, which
-- "offset 0" keeps from becoming a join.
create or replace function oxbow.recall(user_id text, query text, embedding halfvec default null,
  types text[] default null, max_results integer default 10, contexts text[] default null, agent text default null,
  metadata_contains jsonb default null, valid_as_of timestamptz default null,
  believed_as_of timestamptz default null, now timestamptz default null, min_score double precision default null,
  mode text default null)
returns table (id uuid, memory_type text, content text, score double precision, valid_at timestamptz,
  invalid_at timestamptz, created_at timestamptz, expired_at timestamptz, session_id text, seq bigint, speaker text,
  agent_id text, external_id text, category text, importance double precision, metadata jsonb, explain jsonb,
  modality text, reference text, attachments jsonb)
language plpgsql stable security definer
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _known constant text[] := array['fact', 'episodic', 'trait', 'document'];
  _results constant integer := least(recall.max_results, 1000);
  _limit constant integer := 60 + _results; -- of each channel but the vectors
  _types text[];
  _filter oxbow.recall_filter; -- null: everything passes
  _now constant timestamptz := coalesce(recall.now, pg_catalog.now());
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
  _then jsonb;                 -- with believed_as_of, the result of oxbow.traits_then
  _asked record;
  _time record := (select r from (select null::text as side, null::timestamptz as began, null::timestamptz as ended,
    null::boolean as former) r); -- see recall_event
  _weight record;
  _rule oxbow.recall_rules;    -- of the moment, and of this user
  _text record;
  _vector record;
  _entity record;
  _lowest double precision;    -- the lowest of all factors
  _most double precision;      -- the largest factor by modality, divided by the lowest of all
  _best double precision;              -- the highest score
  _sure double precision;              -- the highest score possible for a memory that is not reachable
  _left integer := recall.max_results; -- results still to be returned
  _done uuid[] := '{}';                -- memories looked at
  _mentions bigint;
  _terms tsvector;
  _all tsvector := '';                 -- the terms of the results so far
  _better_terms tsvector[] := '{}';    -- and of each of them
  _better text[] := '{}';
  _speakers text[] := '{}';
  _better_ids uuid[] := '{}';
  _said record := (select r from (select null::tsvector[] as words, null::tsvector[] as names, null::text[] as marks,
    null::integer as nth) r);          -- their statements, as far as they were needed
  _lexemes text[];
  _nth integer;
  _repeating uuid[] := '{}';           -- memories that repeat a result
  _repeated uuid[] := '{}';            -- and which one
  _whole constant boolean := coalesce(recall.mode in ('review', 'debug'), false);
  _archived record;
  _suppressed uuid[];                  -- memories that were wrong for a question like this
  _said_by constant text := oxbow.plain_words(left(recall.query, 2000)); -- to find speakers in it
begin
  perform oxbow.check_access(recall.user_id);
  perform oxbow.check_question('query', recall.query, vector_dims(recall.embedding), recall.types, _known,
    recall.max_results);
  if jsonb_typeof(recall.metadata_contains) <> 'object' then
    perform oxbow.reject('metadata_contains', recall.metadata_contains::text, 'must be a JSON object');
  elsif not isfinite(recall.now) then
    perform oxbow.reject('now', recall.now::text, 'must be finite');
  elsif recall.min_score not between 0 and 1 then
    perform oxbow.reject('min_score', recall.min_score::text, 'must be between 0 and 1');
  elsif recall.mode not in ('normal', 'review', 'debug') then
    perform oxbow.reject('mode', recall.mode, 'must be normal, review or debug');
  elsif recall.mode is not distinct from 'debug' and not oxbow.may_debug(oxbow.caller()) then
    raise exception using errcode = 'insufficient_privilege',
      message = format('%s may not recall in the mode debug', oxbow.caller()),
      hint    = 'It shows forgotten memories, and is for the owner of the tables, the worker and operators.';
  end if;
  _types := case when _whole then coalesce(recall.types, _known)
                 else oxbow.known_types(recall.user_id, coalesce(recall.types, _known)) end;
  if _types is null then
    return;
  end if;

  if 'trait' = any(_types) and recall.believed_as_of is not null then
    _then := coalesce(oxbow.traits_then(recall.user_id, recall.believed_as_of), '{}');
  end if;
  _filter.now := _now;
  _filter.rules := _rules;
  _filter.agent := recall.agent;
  _filter.contexts := recall.contexts;
  _filter.metadata := recall.metadata_contains;
  _filter.valid := recall.valid_as_of;
  _filter.believed := recall.believed_as_of;
  _filter.stages := _then;
  _filter.mode := recall.mode;
  _asked := oxbow.query_terms(recall.query,
    case when oxbow.names_time(recall.query) then oxbow.day_of(recall.user_id, _now) end);
  if oxbow.names_event(recall.query) and recall.mode is distinct from 'debug' then
    _time := oxbow.recall_event(recall.user_id, recall.query, _asked.dates <> '{}', _now);
    _filter.history := _time.former and recall.believed_as_of is null;
  end if;
  if num_nonnulls(recall.mode, recall.agent, recall.contexts, recall.metadata_contains, recall.valid_as_of,
       recall.believed_as_of) = 0
     and not oxbow.recall_is_filtered(recall.user_id, _filter) then
    _filter := null;
  end if;

  _rule := oxbow.recall_rules(recall.user_id, coalesce(recall.believed_as_of, recall.now, 'infinity'));
  if recall.mode = 'normal' then
    _filter.rule := _rule;
  end if;
  _lowest := least(1, _rule.recall_image, _rule.recall_audio, _rule.recall_video, _rule.recall_code, _rule.recall_file)
    * (1 - _rule.recall_weight);
  _most := greatest(1, _rule.recall_image, _rule.recall_audio, _rule.recall_video, _rule.recall_code, _rule.recall_file)
    / _lowest;
  _text := oxbow.recall_text(recall.user_id, _types, _asked.words, _asked.dates, _limit, _filter);
  _weight := oxbow.channel_weights();
  _vector := oxbow.recall_vector(recall.user_id, _types, recall.embedding, _weight.nearest + _results, _weight.unrelated,
    _text._filter);
  if _text.date_ids is not null and _vector.ids is not null then
    _vector.scores := oxbow.recall_dated(_vector.ids, _vector.scores, _text.date_ids, _text.date_idfs);
  end if;
  if _time.side is not null then
    _text.scores := oxbow.recall_timed(recall.user_id, _text.ids, _text.types, _text.scores, _time.side, _time.began,
      _time.ended, coalesce(recall.valid_as_of, _now));
    _vector.scores := oxbow.recall_timed(recall.user_id, _vector.ids, _vector.types, _vector.scores, _time.side,
      _time.began, _time.ended, coalesce(recall.valid_as_of, _now));
  end if;
  _entity := oxbow.recall_entities(recall.user_id, _types, recall.query, _limit, _vector._filter);
  if _whole then
    _archived := oxbow.recall_archived(recall.user_id, _types, _asked.words, _asked.dates, _limit, _filter);
  else
    select null::uuid[] as ids, null::text[] as types, null::double precision[] as scores into _archived;
  end if;
  if recall.mode is distinct from 'debug' then
    _suppressed := oxbow.suppressed(recall.user_id, recall.query, _now);
  end if;

  -- 1: the best, and more in case some of them only repeat others; if these are not enough, 2: those that were not among
  -- them, and 3: the repetitions
  for _pass in 1 .. 3 loop
  for id, memory_type, content, score, valid_at, invalid_at, created_at, expired_at, session_id, seq, speaker, agent_id,
      external_id, category, importance, metadata, explain, modality, reference, _mentions, _terms, _sure in
  with hit as (
    select h.type, h.id, max(h.text) as text, max(h.vector) as vector, max(h.entity) as entity, max(h.rank) as rank
      from (select t.id, t.type, t.score as text, null::double precision as vector, null::double precision as entity,
                   null::bigint as rank
              from unnest(_text.ids || _archived.ids, _text.types || _archived.types, _text.scores || _archived.scores)
                     t(id, type, score)
            union all
            select v.id, v.type, null, v.score, null, null
              from unnest(_vector.ids, _vector.types, _vector.scores) v(id, type, score)
            union all
            select e.id, e.type, null, null, e.score, e.rank
              from unnest(_entity.ids, _entity.types, _entity.scores, _entity.ranks) e(id, type, score, rank)) h
     group by h.type, h.id
  ), top as materialized (
    select nullif(max(h.text), 0) as text, nullif(max(h.vector), 0) as vector from hit h
  ), neighbour as (
    -- neighbours of memories with at least a fifth of the highest score
    select h.type, n.id, h.text * n.share as text, h.vector * n.share as vector
      from top, hit h, lateral (
        select m.session_id, m.seq, coalesce(m.valid_at, m.created_at) as at from oxbow.memories m
         where m.user_id = recall.user_id and m.memory_type = h.type and m.id = h.id offset 0) m,
        oxbow.recall_neighbours(recall.user_id, h.type, m.session_id, m.seq, m.at, _vector._filter) n
     where coalesce(h.text / top.text, 0) * _weight.text + coalesce(h.vector / top.vector, 0) * _weight.vector
           >= 0.2 * (_weight.text + _weight.vector)
  ), summed as (
    select s.type, s.id, sum(s.text) as text, sum(s.vector) as vector, sum(s.entity) as entity, max(s.rank) as rank
      from (select h.type, h.id, h.text, h.vector, h.entity, h.rank from hit h
            union all
            select n.type, n.id, n.text, n.vector, null, null from neighbour n) s
     group by s.type, s.id
  ), every as materialized (
    -- the sorted scores of each channel, to look up ranks
    select array_agg(s.text order by s.text) filter (where s.text is not null) as texts,
           array_agg(s.vector order by s.vector) filter (where s.vector is not null) as vectors,
           nullif(max(s.text), 0) as text, nullif(max(s.vector), 0) as vector, max(s.entity) as entity
      from summed s
  ), fused as (
    select s.type, s.id, s.text, s.vector, s.entity, s.rank,
           coalesce(s.text / e.text, 0) * _weight.text + coalesce(s.vector / e.vector, 0) * _weight.vector
           + coalesce(s.entity / e.entity, 0) * _weight.entity as score
      from summed s, every e
     where _suppressed is null or s.id <> all(_suppressed)
  ), last_place as materialized (
    select coalesce((select f.score from fused f where recall.min_score is null
                      order by f.score desc offset recall.max_results - 1 limit 1), 0) as score
  ), reachable as (
    -- Leave out a score that, with the highest boosts, weight and modality, stays below that of the last place with the
    -- lowest.
    select f.* from fused f, last_place l
     where f.score > 0 and case _pass when 2 then f.id <> all(_done) when 3 then f.id = any(_repeating)
       else f.score * _most * case when f.type = 'trait'
              then 1 + _rule.recall_recency + _rule.recall_importance + _rule.recall_speaker
                 + greatest(_rule.recall_emerging, _rule.recall_established, _rule.recall_core)
              else (1 + _rule.recall_recency + _rule.recall_importance + _rule.recall_speaker)
                   * (1 + _rule.recall_weight) end
         >= l.score end
  ), found as (
    select r.type, r.text, r.vector, r.entity, r.rank, r.score, m.*,
           oxbow.names_speaker(_said_by, m.speaker) as named,
           case when r.type <> 'trait' then null
                when _then is not null then _then #>> array[m.id::text, 'stage']
                else oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at, m.trait_confidence,
                       m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at, m.trait_window_end,
                       _now, _rules) end as stage
      from reachable r
     cross join lateral (
       select m.id, m.content, m.valid_at,
              oxbow.end_believed(m.expired_at, m.invalid_at, m.former_ends, recall.believed_as_of) as invalid_at,
              m.created_at, m.expired_at, m.session_id, m.seq, m.speaker, m.agent_id, m.external_id, m.category,
              m.importance, m.metadata, m.modality, m.reference, m.mention_count, m.activated_at, m.used_at, m.mentions,
              m.negated_at, m.strength, m.tier, m.source, m.level, m.trait_stage, m.trait_subtype,
              m.trait_confidence,
              m.trait_confidence_at,
              m.trait_reinforcement_count, m.trait_next_transition_at, m.trait_window_end
         from oxbow.memories m
        where m.user_id = recall.user_id and m.memory_type = r.type and m.id = r.id offset 0) m
    offset 0
  ), raised as (
    select f.*, case when f.importance > 1e-100 then _rule.recall_importance * f.importance else 0 end as importance_boost,
           case f.stage when 'emerging' then _rule.recall_emerging when 'established' then _rule.recall_established
                        when 'core' then _rule.recall_core else 0 end as stage_boost,
           _rule.recall_recency * oxbow.recency(coalesce(f.valid_at, f.created_at), f.metadata #> '{emotion,arousal}',
             _now, _rule.recall_recency_days, _rule.recall_arousal) as recency,
           case when f.named or bool_or(f.named) over () and coalesce(f.speaker, '') = '' -- what nobody said keeps level
                then _rule.recall_speaker else 0 end as speaker_boost,
           oxbow.relevance(f.text / nullif(_text.most, 0),
             f.vector / (1 + coalesce(_text.date, 0)) + _vector.floor, recall.embedding is null, _weight.unrelated,
             _weight.related) as relevance,
           oxbow.modality_weight(f.modality, _rule) as modality_weight,
           case when f.type = 'trait' then 0 else w.share end as share, -- a trait has no weight
           w."time" as w_time, w.reinforcement as w_reinforcement, w.conflict as w_conflict,
           w.importance as w_importance, w.momentum as w_momentum, w.strength as w_strength
      from found f
     cross join oxbow.weight_factors(f.category, f.created_at, f.activated_at, f.used_at, f.mentions, f.negated_at,
             f.strength, f.tier, f.source, _now, _rule) w
    offset 0
  ), best as (
    select t.*
      from (select r.*, r.score * (1 + r.recency + r.importance_boost + r.speaker_boost + r.stage_boost)
                   * (1 + r.share)
                   * r.modality_weight as total
              from raised r) t
     where recall.min_score is null or t.relevance >= recall.min_score
     order by t.total desc, t.seq, t.id
     limit case _pass when 1 then 3 * _left when 3 then _left end
  )
  select b.id, b.type,
         case when _whole and b.level <> 'full' then coalesce(a.content, b.content) else b.content end, b.total, b.valid_at, b.invalid_at, b.created_at, b.expired_at, b.session_id, b.seq,
         b.speaker, b.agent_id, b.external_id, b.category, b.importance,
         case when _whole and b.level <> 'full' then coalesce(a.metadata, b.metadata) else b.metadata end,
         jsonb_strip_nulls(jsonb_build_object(
           'text', case when b.text is not null then jsonb_build_object(
             'score', b.text, 'rank', cardinality(e.texts) + 1 - width_bucket(b.text, e.texts)) end,
           'vector', case when b.vector is not null then jsonb_build_object(
             'score', b.vector, 'rank', cardinality(e.vectors) + 1 - width_bucket(b.vector, e.vectors)) end,
           'entity', case when b.entity is not null then jsonb_build_object('score', b.entity, 'rank', b.rank) end,
           'recency', round(b.recency::numeric, 9)::double precision, 'importance', b.importance_boost,
           'speaker', nullif(b.speaker_boost, 0), 'relevance', round(b.relevance::numeric, 4)::double precision,
           'modality', nullif(b.modality_weight, 1), 'session', b.session_id, 'level', nullif(b.level, 'full'),
           'left_out', case when recall.mode = 'debug' then
             oxbow.recall_left_out(recall.user_id, b.type, b.id, _filter) end,
           'suppressed', case when recall.mode = 'debug' then nullif(b.id = any(
             oxbow.suppressed(recall.user_id, recall.query, _now)), false) end))
         || case when b.type = 'trait' then jsonb_strip_nulls(jsonb_build_object(
           'stage_boost', b.stage_boost, 'stage', b.stage, 'subtype', b.trait_subtype,
           'confidence', coalesce((_then #>> array[b.id::text, 'confidence'])::double precision,
             oxbow.trait_confidence_at(b.trait_confidence, b.trait_subtype, b.trait_reinforcement_count,
               b.trait_confidence_at, _now, _rules)),
           'supporting', v.supporting, 'contradicting', v.contradicting))
         else jsonb_build_object('weight', jsonb_build_object(
           'share', b.share, 'time', b.w_time, 'reinforcement', b.w_reinforcement, 'conflict', b.w_conflict,
           'importance', b.w_importance, 'momentum', b.w_momentum, 'strength', b.w_strength)) end,
         b.modality, b.reference, b.mention_count,
         case when b.type <> 'trait' and b.reference is null and _rule.recall_variety > 0 and _pass < 3 then (
           select t.tsv from oxbow.memory_terms t
            where t.user_id = recall.user_id and t.memory_type = b.type and t.memory_id = b.id) end,
         l.score * _lowest
    from best b
   cross join every e
   cross join last_place l
    left join lateral (
      select a.content, a.metadata from oxbow.memory_archive a
       where _whole and a.user_id = recall.user_id and a.memory_type = b.type and a.memory_id = b.id offset 0) a on true
   cross join lateral (
     select count(*) filter (where v.direction = 'supporting') as supporting,
            count(*) filter (where v.direction = 'contradicting') as contradicting
       from oxbow.trait_evidence v
      where b.type = 'trait' and v.user_id = recall.user_id
        and v.trait_id = coalesce((_then #>> array[b.id::text, 'head'])::uuid, b.id)
        and v.event_seq <= coalesce((_then #>> array[b.id::text, 'seq'])::integer, v.event_seq)) v
   order by b.total desc, b.seq, b.id
  loop
    exit when _pass = 1 and score < _sure and cardinality(_done) >= recall.max_results;
    _done := _done || id;
    _best := coalesce(_best, score);
    continue when score < _rule.recall_threshold * _best and recall.mode is distinct from 'debug';
    if _pass = 3 then
      explain := explain || jsonb_build_object('repeats', _repeated[array_position(_repeating, id)]);
    elsif _terms is not null and cardinality(_better) < _rule.recall_variety then
      _lexemes := tsvector_to_array(_terms);
      _nth := width_bucket('@' collate "C", _lexemes); -- five terms of its date follow
      _terms := ts_delete(_terms, _lexemes[_nth + 1:_nth + 5]);
      if 5 * (length(_all || _terms) - length(_all)) <= 3 * length(_terms) then
        _said := oxbow.repeated(_terms, content, speaker, _better_terms, _better, _speakers, _said.words, _said.names,
          _said.marks);
        if _said.nth is not null then
          _repeating := _repeating || id;
          _repeated := _repeated || _better_ids[_said.nth];
          continue;
        end if;
      end if;
      _all := _all || _terms;
      _better_terms := array_append(_better_terms, _terms);
      _better := array_append(_better, content);
      _speakers := array_append(_speakers, speaker);
      _better_ids := _better_ids || id;
    end if;
    attachments := null;
    if _mentions > 1 and exists ( -- what was folded into a memory counts as a mention of it
      select from oxbow.memories d
       where d.user_id = recall.user_id and d.memory_type in ('fact', 'episodic') and d.superseded_by = recall.id
         and (d.reference is not null or d.mention_count > 1))
    then
      attachments := oxbow.attachments(recall.user_id, recall.id, recall.believed_as_of);
    end if;
    return next;
    _left := _left - 1;
    exit when _left = 0;
  end loop;
    exit when _left = 0 or cardinality(_repeating) = 0;
  end loop;
end $$;
call oxbow.grant_app('recall');
call oxbow.grant_operator('recall');

-- pgvector's operators are in the schema in which its extension is installed.
do $$
begin
  execute format('alter function oxbow.recall set search_path = pg_catalog, %I, pg_temp',
    (select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'));
end $$;
