-- Timeline: what was known about a topic, as it changed.

-- timeline returns the facts and episodes of a user that are about a topic, in the order in which they became true: those
-- found by words and by vector, as recall finds them, but of all times, and with each the versions that it superseded or
-- contradicts, and those that superseded or contradict it, whatever their words.
--   topic, embedding  either may be null; the embedding must be of the model in the settings
--   types             fact, episodic; null: both
--   max_results       1 to 1,000: the most relevant ones, where there are more
-- valid_at is when it began to be true, or happened. current tells a fact that is true now, as far as is known. superseded_by is
-- the version that followed it, contradicted_by the first that speaks against it and stands beside it. score is 1 for
-- what is most about the topic; a version that its words did not find has the score of the one that led to it. What scores less
-- than a third of the best is about something else. It writes nothing. What is forgotten is not told, nor what only repeated a fact.
create or replace function oxbow.timeline(user_id text, topic text, embedding halfvec default null, types text[] default null,
  max_results integer default 50)
returns table (id uuid, memory_type text, content text, category text, speaker text, session_id text, valid_at timestamptz, invalid_at timestamptz,
  created_at timestamptz, expired_at timestamptz, current boolean, superseded_by uuid, contradicted_by uuid, score double precision)
language plpgsql stable security definer
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
  _types constant text[] := coalesce(timeline.types, array['fact', 'episodic']);
  _unknown text;
  _hidden uuid[];
  _ids uuid[];
  _scores double precision[];
  _last uuid[];
  _last_scores double precision[];
  _text record;
  _vector record;
  _text_weight double precision;
  _vector_weight double precision;
begin
  perform oxbow.check_access(timeline.user_id);
  select t into _unknown from unnest(_types) t where t is null or t <> all(array['fact', 'episodic']);
  if found then
    perform oxbow.reject('types', _unknown, 'must be fact or episodic');
  elsif max_results is null or max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', max_results::text, 'must be between 1 and 1000');
  elsif coalesce(topic, '') !~ '\S' and embedding is null then
    perform oxbow.reject('topic', topic, 'must not be empty when there is no embedding');
  elsif embedding is not null then
    perform oxbow.reject('embedding', format('%s dimensions', vector_dims(embedding)), format('must have %s dimensions', s.value ->> 'dimension'))
       from oxbow.settings s where s.key = 'embedding' and (s.value ->> 'dimension')::integer <> vector_dims(embedding);
  end if;

  -- forgotten ones, and repetitions, which the fact that they repeat tells of; neither may crowd others out
  select array_agg(m.id) into _hidden
    from oxbow.memories m
   where m.user_id = timeline.user_id and m.memory_type = any(_types)
     and (m.forgotten_at is not null
       or m.expired_at is not null and m.superseded_by is not null and m.invalid_at <= coalesce(m.valid_at, m.created_at) and exists (
            select from oxbow.memories s
             where s.user_id = timeline.user_id and s.memory_type = m.memory_type and s.id = m.superseded_by and s.content_hash = m.content_hash));
  select * into _text
    from oxbow.query_terms(topic) q, oxbow.recall_text(timeline.user_id, _types, q.words, q.dates, null, _hidden, 60 + max_results);
  select null::uuid[] as ids, null::text[] as types, null::double precision[] as scores into _vector;
  if embedding is not null then
    select * into _vector from oxbow.recall_vector(timeline.user_id, _types, embedding, null, _hidden, 60 + max_results);
  end if;
  select coalesce((r.value ->> 'text')::double precision, 1),
         coalesce((r.value ->> 'vector')::double precision, case when e.value ->> 'model' like 'local-%' then 0.2 else 1 end)
    into _text_weight, _vector_weight
    from (values ('embedding')) k(key) left join oxbow.settings e using (key) left join oxbow.settings r on r.key = 'recall';

  with fused as (
    select c.id, coalesce(sum(c.text) / nullif(max(sum(c.text)) over (), 0), 0) * _text_weight
                 + coalesce(sum(c.vector) / nullif(max(sum(c.vector)) over (), 0), 0) * _vector_weight as score
      from (select t.id, t.score as text, null::double precision as vector from unnest(_text.ids, _text.scores) t(id, score)
            union all
            select v.id, null, v.score from unnest(_vector.ids, _vector.scores) v(id, score)) c
     group by c.id
  ), relevant as (
    select f.id, f.score / m.best as score
      from fused f, (select max(score) as best from fused) m
     where f.score > 0 and f.score >= m.best / 3
     order by f.score desc, f.id
     limit max_results
  )
  select array_agg(id order by score desc, id), array_agg(score order by score desc, id) into _ids, _scores from relevant;

  -- the versions of those, then the versions of these, and so on
  _last := _ids;
  _last_scores := _scores;
  while cardinality(_last) > 0 and cardinality(_ids) < 2 * max_results loop
    with version as (
      select m.id, max(l.score) as score
        from oxbow.beside_versions(timeline.user_id, _last) v
        join unnest(_last, _last_scores) l(id, score) on l.id = v.id
       cross join lateral (
        select m.id from oxbow.memories m where m.user_id = timeline.user_id and m.memory_type = any(_types) and m.id = v.other offset 0) m
       where m.id <> all(_ids) and (_hidden is null or m.id <> all(_hidden))
       group by m.id
       order by score desc, m.id
       limit max_results
    )
    select array_agg(id), array_agg(score) into _last, _last_scores from version;
    _ids := _ids || _last;
    _scores := _scores || _last_scores;
  end loop;

  return query
  with best as (
    select f.id, f.score from unnest(_ids, _scores) with ordinality f(id, score, nth) order by f.score desc, f.nth limit max_results
  )
  select m.id, m.memory_type::text, m.content, m.category, m.speaker, m.session_id, coalesce(m.valid_at, m.created_at) as since, m.invalid_at,
         m.created_at, m.expired_at,
         m.memory_type = 'fact' and m.expired_at is null and coalesce(m.valid_at, m.created_at) <= now() and (m.invalid_at is null or m.invalid_at > now()),
         coalesce(case when m.superseded_by <> all(coalesce(_hidden, '{}')) then m.superseded_by end, kept.id), against.id, b.score
    from best b
   cross join lateral (
    select m.* from oxbow.memories m where m.user_id = timeline.user_id and m.memory_type = any(_types) and m.id = b.id offset 0) m
    left join lateral (
      -- what was kept as the version of its time has no superseded_by
      select n.id
        from oxbow.memory_links l join oxbow.memories n on n.user_id = timeline.user_id and n.memory_type = l.from_type and n.id = l.from_id
       where l.user_id = timeline.user_id and l.to_type = m.memory_type and l.to_id = m.id and l.relation = 'supersedes'
         and m.invalid_at is not null and coalesce(n.valid_at, n.created_at) >= coalesce(m.valid_at, m.created_at) and n.forgotten_at is null
       order by coalesce(n.valid_at, n.created_at), n.id limit 1) kept on true
    left join lateral (
      select n.id
        from oxbow.memory_links l join oxbow.memories n on n.user_id = timeline.user_id and n.memory_type = l.from_type and n.id = l.from_id
       where l.user_id = timeline.user_id and l.to_type = m.memory_type and l.to_id = m.id and l.relation = 'contradicts' and n.forgotten_at is null
       order by coalesce(n.valid_at, n.created_at), n.id limit 1) against on true
   order by since, m.created_at, m.seq, m.id;
end $$;
call oxbow.grant_app('timeline');

do $$
declare path text := (select format('pg_catalog, %I, pg_temp', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
begin
  execute 'alter function oxbow.timeline set search_path = ' || path;
end $$;
