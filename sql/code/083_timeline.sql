-- Timeline: what was known about a topic over time.

-- timeline_found returns the memories of all times about a topic, found by recall's text and vector
-- channels, most relevant first. The best scores 1; a memory that scores less than a third of that is
-- considered off topic.
create or replace function oxbow.timeline_found(_user_id text, _topic text, _embedding halfvec, _types text[],
  _max_results integer, _filter oxbow.recall_filter, out ids uuid[], out scores double precision[])
language plpgsql stable
  set plan_cache_mode = force_generic_plan set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _text record;
  _vector record;
  _weight record;
begin
  select t.* into _text
    from oxbow.query_terms(_topic) q,
         oxbow.recall_text(_user_id, _types, q.words, q.dates, 60 + _max_results, _filter) t;
  select * into _weight from oxbow.channel_weights();
  select null::uuid[] as ids, null::double precision[] as scores into _vector;
  if _embedding is not null then
    select * into _vector
      from oxbow.recall_vector(_user_id, _types, _embedding, 60 + _max_results, _weight.unrelated,
        _text._filter);
  end if;
  select array_agg(r.id), array_agg(r.score / r.best) into ids, scores
    from (select f.id, f.score, f.best
            from (select c.id, c.score, max(c.score) over () as best
                    from (select h.id,
                                 coalesce(sum(h.text) / nullif(max(sum(h.text)) over (), 0), 0) * _weight.text
                                 + coalesce(sum(h.vector) / nullif(max(sum(h.vector)) over (), 0), 0) * _weight.vector
                                   as score
                            from (select t.id, t.score as text, null::double precision as vector
                                    from unnest(_text.ids, _text.scores) t(id, score)
                                  union all
                                  select v.id, null, v.score from unnest(_vector.ids, _vector.scores) v(id, score)) h
                           group by h.id) c) f
           where f.score > 0 and f.score >= f.best / 3
           order by f.score desc, f.id
           limit _max_results) r;
end $$;

-- timeline_link returns the first memory from which a link of a relation leads to the given memory. The
-- planner inlines this function.
create or replace function oxbow.timeline_link(_user_id text, _relation text, _type text, _id uuid, _from timestamptz)
returns table (id uuid)
language sql stable as $$
  select n.id
    from oxbow.memory_links l
    join oxbow.memories n on n.user_id = _user_id and n.memory_type = l.from_type and n.id = l.from_id
   where l.user_id = _user_id and l.to_type = _type and l.to_id = _id and l.relation = _relation
     and coalesce(n.valid_at, n.created_at) >= _from and n.forgotten_at is null
   order by coalesce(n.valid_at, n.created_at), n.id limit 1
$$;

-- timeline returns the facts and episodes of a user about a topic, in the order in which they became true:
-- those that recall's text and vector channels find at any time, and, whatever their words, the versions
-- that supersede or contradict them or that they supersede or contradict.
--   topic, embedding  either may be null; the embedding must be of the model in the settings
--   types             fact, episodic; null: both
--   max_results       1 to 1,000; the most relevant are kept
-- valid_at is when it became true, or happened. current marks a fact that is true now, as far as is known.
-- superseded_by is the version that followed it, contradicted_by the first that contradicts it without
-- replacing it. score is 1 for the most relevant; a version reached from another memory has the score of
-- that one. The function writes nothing. It leaves out forgotten memories and facts that only repeated
-- another.
create or replace function oxbow.timeline(user_id text, topic text, embedding halfvec default null,
  types text[] default null, max_results integer default 50)
returns table (id uuid, memory_type text, content text, category text, speaker text, session_id text,
  valid_at timestamptz, invalid_at timestamptz, created_at timestamptz, expired_at timestamptz, current boolean,
  superseded_by uuid, contradicted_by uuid, score double precision, modality text, reference text)
language plpgsql stable security definer
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
declare
  _types constant text[] := coalesce(timeline.types, array['fact', 'episodic']);
  _filter oxbow.recall_filter;
  _ids uuid[];
  _scores double precision[];
  _last uuid[];
  _last_scores double precision[];
begin
  perform oxbow.check_access(timeline.user_id);
  perform oxbow.check_question('topic', timeline.topic, vector_dims(timeline.embedding), _types,
    array['fact', 'episodic'], timeline.max_results);
  _filter.history := true;
  _filter.rules := oxbow.trait_rules(); -- a plan may read them
  select f.ids, f.scores into _ids, _scores
    from oxbow.timeline_found(timeline.user_id, timeline.topic, timeline.embedding, _types, timeline.max_results,
           _filter) f;

  -- the versions of those memories, then the versions of these, and so on
  _last := _ids;
  _last_scores := _scores;
  while cardinality(_last) > 0 and cardinality(_ids) < 2 * timeline.max_results loop
    select array_agg(v.id), array_agg(v.score) into _last, _last_scores
      from (select m.id, max(l.score) as score
              from oxbow.beside_versions(timeline.user_id, _last) v
              join unnest(_last, _last_scores) l(id, score) on l.id = v.id
             cross join lateral (
               select m.id from oxbow.memories m
                where m.user_id = timeline.user_id and m.memory_type = any(_types) and m.id = v.other
                  and oxbow.recall_passes(m, _filter) offset 0) m
             where m.id <> all(_ids)
             group by m.id
             order by 2 desc, m.id
             limit timeline.max_results) v;
    _ids := _ids || _last;
    _scores := _scores || _last_scores;
  end loop;

  return query
  with best as (
    select f.id, f.score from unnest(_ids, _scores) with ordinality f(id, score, nth)
     order by f.score desc, f.nth limit timeline.max_results
  )
  select m.id, m.memory_type::text, m.content, m.category, m.speaker, m.session_id, s.since, m.invalid_at,
         m.created_at, m.expired_at,
         m.memory_type = 'fact' and m.expired_at is null and s.since <= now()
           and (m.invalid_at is null or m.invalid_at > now()) and (m.expires_at is null or m.expires_at > now()),
         coalesce(followed.by, kept.id), against.id, b.score, m.modality, m.reference
    from best b
   cross join lateral (
     select m.* from oxbow.memories m
      where m.user_id = timeline.user_id and m.memory_type = any(_types) and m.id = b.id offset 0) m
   cross join lateral (select coalesce(m.valid_at, m.created_at) as since) s
   cross join lateral (
     select case when not exists (
              select from oxbow.memories n
               where n.user_id = timeline.user_id and n.memory_type = any(_types) and n.id = m.superseded_by
                 and not oxbow.recall_passes(n, _filter)) then m.superseded_by end as by) followed
    -- a version kept for its own time has no superseded_by
    left join lateral (
      select k.id from oxbow.timeline_link(timeline.user_id, 'supersedes', m.memory_type, m.id, s.since) k
       where m.invalid_at is not null) kept on true
    left join lateral (
      select a.id from oxbow.timeline_link(timeline.user_id, 'contradicts', m.memory_type, m.id, '-infinity') a
      ) against on true
   order by s.since, m.created_at, m.seq, m.id;
end $$;
call oxbow.grant_app('timeline');

-- pgvector's operators are in the schema in which its extension is installed.
do $$
declare path text := (select format('pg_catalog, %I, pg_temp', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
begin
  execute 'alter function oxbow.timeline_found set search_path = ' || path;
  execute 'alter function oxbow.timeline set search_path = ' || path;
end $$;
