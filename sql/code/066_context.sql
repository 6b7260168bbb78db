-- The prompt block: the memories of a user that help with the next turn of a conversation, as text for a
-- model, within a number of tokens. Standing instructions come first, then what is due, core traits and preferences, then behaviors
-- by relevance, then what recall finds (C §6.2).

-- context_traits returns the candidate traits for the block in order of preference: core traits and
-- preferences by confidence, then behaviors, first those that the query recalls.
create or replace function oxbow.context_traits(_user_id text, _query text, _embedding halfvec, _max_tokens integer,
  _contexts text[], _now timestamptz)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, speaker text, content text,
  tendencies jsonb, modality text, reference text)
language plpgsql stable as $$
#variable_conflict error
declare
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
begin
  if not exists (select from oxbow.memories_trait m where m.user_id = _user_id and m.expired_at is null) then
    return;
  end if;
  return query
  with trait as materialized (
    select m.id, m.trait_subtype as subtype, s.stage, m.content, m.trait_contexts as tendencies,
           oxbow.trait_confidence_at(m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
             m.trait_confidence_at, _now, _rules) as confidence
      from oxbow.memories_trait m, lateral (
        select oxbow.trait_stage_now(m.trait_stage, m.trait_next_transition_at, m.trait_confidence, m.trait_subtype,
                 m.trait_reinforcement_count, m.trait_confidence_at, m.trait_window_end, _now, _rules) as stage) s
     where m.user_id = _user_id and m.sensitivity < 2 and oxbow.recallable(m.forgotten_at, 'trait', s.stage)
       and oxbow.holds(m.created_at, m.expired_at, m.valid_at, m.invalid_at, null, null, _now)
       and (_contexts is null or coalesce(m.trait_context, 'general') = 'general'
         or m.trait_context = any(_contexts) or m.trait_contexts ?| _contexts)
  ), relevant as (
    select r.id, row_number() over () as place
      from oxbow.recall(_user_id, _query, _embedding, types => '{trait}', max_results => 20, now => _now) r
     where (_query ~ '\S' or _embedding is not null) and exists (select from trait t where t.subtype = 'behavior')
  ), ordered as (
    select t.*, row_number() over (partition by t.subtype
             order by case t.subtype when 'behavior' then r.place end, t.confidence desc, t.id) as place
      from trait t left join relevant r on r.id = t.id
  )
  select p.section, o.id, 'trait', o.stage, null::timestamptz, null::text, o.content, o.tendencies, 'text', null::text
    from ordered o, lateral (
      select case when oxbow.is_style(o.content) then 'instruction' else o.subtype end as section) p
   where o.place <= _max_tokens -- more do not fit
   order by array_position('{instruction,core,preference,behavior}', p.section), o.place;
end $$;

-- context_instructions returns the standing instructions that hold in a conversation, the most important first, and those
-- for this conversation before others.
drop function if exists oxbow.context_instructions(text, text[], text, timestamptz);
create or replace function oxbow.context_instructions(_user_id text, _contexts text[], _agent text, _session_id text)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, speaker text, content text,
  tendencies jsonb, modality text, reference text)
language plpgsql stable as $$
#variable_conflict error
begin
  return query
  select 'instruction', i.id, 'instruction', null::text, i.created_at, null::text, i.content, null::jsonb, 'text',
         null::text
    from oxbow.instructions i
   where i.user_id = _user_id and i.ended_at is null
     and (i.session_id is null or i.session_id = _session_id)
     and (i.agent_id is null or i.agent_id = _agent)
     and (i.context is null or _contexts is null or i.context = any(_contexts))
   order by i.priority desc, i.session_id is null, i.created_at desc, i.id;
end $$;

-- context_due returns the intentions of the user that are due or come up soon, the earliest first, and then those whose
-- condition shares at least half of its words with the query, among the 100 latest with a condition.
drop function if exists oxbow.context_due(text, timestamptz);
create or replace function oxbow.context_due(_user_id text, _query text, _now timestamptz)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, speaker text, content text,
  tendencies jsonb, modality text, reference text)
language plpgsql stable as $$
#variable_conflict error
declare
  _terms constant text[] := oxbow.question_terms(_query);
  _soon constant timestamptz := _now + make_interval(secs => 3600 * oxbow.policy('context_due_hours'));
begin
  return query
  select 'due', i.id, 'intention', case when i.state = 'due' or i.remind_at <= _now then 'due' else 'open' end, i.due_at,
         i.precision, i.content || case when strpos(lower(i.content), lower(i.condition)) > 0 then ''
           else coalesce(': ' || i.condition, '') end, null::jsonb, 'text', null::text
    from (select i.* from oxbow.intentions i
           where i.user_id = _user_id and i.state in ('open', 'due') and i.due_at <= _soon
          union
          select i.* from oxbow.intentions i
           where i.user_id = _user_id and i.state = 'due' and (i.remind_at is null or i.remind_at <= _now)
          union
          select i.*
            from (select * from oxbow.intentions i
                   where i.user_id = _user_id and i.state in ('open', 'due') and i.condition is not null
                   order by i.created_at desc limit 100) i
           where oxbow.terms_shared(_terms, oxbow.question_terms(regexp_replace(i.condition,
                   '^(等|当|如果|只要|下次|一)|的?时候|[之以]?后|时$', ' ', 'g'))) >= 0.5) i
   order by i.due_at, i.created_at, i.id limit 50;
end $$;

-- context_memories returns the candidates among other memories, in the order of recall or, without a query,
-- by importance and recency. It leaves out those that repeat a better one.
create or replace function oxbow.context_memories(_user_id text, _query text, _embedding halfvec, _max_tokens integer,
  _types text[], _contexts text[], _agent text, _now timestamptz)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, speaker text, content text,
  tendencies jsonb, modality text, reference text)
language plpgsql stable as $$
#variable_conflict error
declare
  _max_results constant integer := least(greatest(_max_tokens / 20, 10), 1000);
  _varied integer := oxbow.policy('recall_variety'); -- memories still to be compared with better ones
  _terms tsvector;
  _better_terms tsvector[] := '{}';
  _better text[] := '{}';
  _speakers text[] := '{}';
  _said record := (select r from (select null::tsvector[] as words, null::tsvector[] as names, null::text[] as marks,
    null::integer as nth) r);
begin
  if cardinality(_types) = 0 then
    return;
  elsif _query ~ '\S' or _embedding is not null then
    return query
    select 'memory', r.id, r.memory_type, null, coalesce(r.valid_at, r.created_at), r.speaker,
           r.content || case when r.invalid_at <= _now then -- the question is about the past
             format(' (until %s)', to_char(r.invalid_at at time zone coalesce(
               (select u.timezone from oxbow.users u where u.user_id = _user_id), 'UTC'), 'YYYY-MM-DD')) else '' end,
           null::jsonb, r.modality, r.reference
      from oxbow.recall(_user_id, _query, _embedding, types => _types, max_results => _max_results,
             contexts => _contexts, agent => _agent, now => _now) r
     where not r.explain ? 'repeats';
    return;
  end if;
  for section, id, memory_type, stage, at, speaker, content, tendencies, modality, reference in
  with best as (
    select m.memory_type, m.id, m.seq,
           m.importance + exp(-least(greatest(extract(epoch from _now - coalesce(m.valid_at, m.created_at)), 0), 1e9)
             ::double precision / 2592000) as score
      from oxbow.memories m
     where m.user_id = _user_id and m.memory_type = any(_types) and m.forgotten_at is null and m.sensitivity < 2
       and oxbow.holds(m.created_at, m.expired_at, m.valid_at, m.invalid_at, null, null, _now,
             expires_at => m.expires_at)
       and (_agent is null or m.agent_id = _agent)
       and (_contexts is null or m.metadata ->> 'context' = any(_contexts))
     order by score desc, m.seq desc, m.id
     limit _max_results
  )
  select 'memory', m.id, m.memory_type::text, null, coalesce(m.valid_at, m.created_at), m.speaker, m.content,
         null::jsonb, m.modality, m.reference
    from best b
   cross join lateral (
    select m.* from oxbow.memories m
     where m.user_id = _user_id and m.memory_type = b.memory_type and m.id = b.id offset 0) m
   order by b.score desc, b.seq desc, b.id
  loop
    if reference is null and cardinality(_better) < _varied then
      _terms := (oxbow.terms(content)).tsv;
      _said := oxbow.repeated(_terms, content, speaker, _better_terms, _better, _speakers, _said.words, _said.names,
        _said.marks);
      continue when _said.nth is not null;
      _better_terms := array_append(_better_terms, _terms);
      _better := array_append(_better, content);
      _speakers := array_append(_speakers, speaker);
    end if;
    return next;
  end loop;
end $$;

-- context_profile returns the profile, the emotional profile, the communities and the skills of a user as lines, as far
-- as they are asked for. With a query, the communities are those that it names, and the skills those for it.
drop function if exists oxbow.context_profile(text, text[], timestamptz, boolean);
create or replace function oxbow.context_profile(_user_id text, _query text, _include text[], _now timestamptz,
  _chinese boolean)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, speaker text, content text,
  tendencies jsonb, modality text, reference text)
language plpgsql stable as $$
#variable_conflict error
begin
  if 'profile' = any(_include) then
    return query
    select 'profile', '00000000-0000-0000-0000-000000000000'::uuid, 'profile', null::text, p.updated_at, null::text,
           p.name || ': ' || case jsonb_typeof(p.value) when 'string' then p.value #>> '{}' else p.value::text end,
           null::jsonb, 'text', null::text
      from oxbow.profile(_user_id) p;
  end if;
  if 'emotion' = any(_include) then
    return query
    select 'emotion', '00000000-0000-0000-0000-000000000000'::uuid, 'profile', null::text, null::timestamptz, null::text,
           oxbow.emotion_line(e.aspect, e.name, e.valence, e.shift, _chinese), null::jsonb, 'text', null::text
      from oxbow.emotion_profile(_user_id, _now) e where e.aspect in ('baseline', 'mood', 'trigger', 'calms');
  end if;
  if 'communities' = any(_include) then
    return query
    select 'community', c.id, 'community', null::text, c.updated_at, null::text,
           array_to_string(c.names, case when _chinese then '、' else ', ' end) || case when _chinese then '：' else ': ' end
             || replace(c.summary, E'\n', case when _chinese then '；' else '; ' end), null::jsonb, 'text', null::text
      from oxbow.communities(_user_id, _query, 5) c;
  end if;
  if 'skills' = any(_include) then
    return query
    select 'skill', s.id, 'skill', null::text, s.created_at, null::text,
           oxbow.skill_line(s.name, s."when", s.preconditions, s.steps, _chinese), null::jsonb, 'text', null::text
      from oxbow.skills_for(_user_id, nullif(btrim(_query), '')) s;
  end if;
end $$;

-- context_parts returns the parts of the prompt block (oxbow.context), for programs that build their own.
--   query, embedding  the subject of the next turn, as in recall. If both are null or blank: traits, then important or
--                     recent memories
--   max_tokens        1 to 1,000,000, by oxbow.estimate_tokens
--   types             of fact, episodic, trait, document; null: all but documents
--   contexts          work, personal, …: traits of these contexts and general ones; other memories as in recall
--   agent             only facts, episodes and documents of that agent; traits belong to the person
--   now               the reference time for decay and recency
--   include           what else to include, of profile, emotion, communities and skills
--   session_id        the conversation, for instructions that hold in it alone
-- A part is a line of the block: its section (instruction, due, core, preference, behavior, profile, emotion,
-- community, skill, memory), the memory, its text, and the line as printed. The first line of a section includes the
-- heading. tokens is the cost of the line. Sections come in the order above. A part that does not fit is skipped, except that
-- core traits end with the first one that does not fit. Instructions have at most the share context_instructions of
-- max_tokens, what is due the share context_due, a trait at most 60 tokens, all behaviors together a quarter of
-- max_tokens, and any other memory a quarter too (but at least 40).
drop function if exists oxbow.context_parts(text, text, halfvec, integer, text[], text[], text, timestamptz, text[]);
create or replace function oxbow.context_parts(user_id text, query text default null, embedding halfvec default null,
  max_tokens integer default 1000, types text[] default null, contexts text[] default null, agent text default null,
  now timestamptz default null, include text[] default null, session_id text default null)
returns table (section text, id uuid, memory_type text, stage text, at timestamptz, text text, line text,
  tokens integer, modality text, reference text)
language plpgsql stable security definer as $$
#variable_conflict error
declare
  _now constant timestamptz := coalesce(context_parts.now, pg_catalog.now());
  _types constant text[] := coalesce(context_parts.types, array['fact', 'episodic', 'trait']);
  _zone text;
  _chinese boolean;
  _unknown text;
  _left integer := max_tokens;
  _behaviors integer := max_tokens / 4; -- tokens left for behaviors
  _due integer := max_tokens * oxbow.policy('context_due'); -- for what is due
  _instructions integer := max_tokens * oxbow.policy('context_instructions'); -- and for instructions
  _open text;                           -- the section whose heading has been written
  _full boolean := false;               -- whether a core trait did not fit
  _shortest constant integer := 2;      -- the minimum cost of a line
  _trait constant integer := 60;
  _memory constant integer := greatest(max_tokens / 4, 40);
  _day text;
  _part record;
begin
  perform oxbow.check_access(context_parts.user_id);
  select t into _unknown from unnest(context_parts.types) t
   where t is null or t <> all(array['fact', 'episodic', 'trait', 'document']);
  if found then
    perform oxbow.reject('types', _unknown, 'must be fact, episodic, trait or document');
  elsif max_tokens is null or max_tokens not between 1 and 1000000 then
    perform oxbow.reject('max_tokens', max_tokens::text, 'must be between 1 and 1000000');
  elsif not include <@ array['profile', 'emotion', 'communities', 'skills'] then
    perform oxbow.reject('include', include::text, 'must be of profile, emotion, communities and skills');
  elsif not oxbow.valid_time('now', _now) then
    perform oxbow.reject('now', _now::text, 'must be finite');
  end if;
  select u.timezone, lower(u.language) like 'zh%' into _zone, _chinese
    from oxbow.users u where u.user_id = context_parts.user_id;
  _zone := coalesce(_zone, 'UTC');
  _chinese := coalesce(_chinese, false);

  for _part in
    -- a query does not run if those before it fill the block
    select * from oxbow.context_instructions(context_parts.user_id, context_parts.contexts, context_parts.agent,
                    context_parts.session_id)
    union all
    select * from oxbow.context_due(context_parts.user_id, context_parts.query, _now)
    union all
    select * from oxbow.context_traits(context_parts.user_id, context_parts.query, context_parts.embedding,
                    context_parts.max_tokens, context_parts.contexts, _now)
     where 'trait' = any(_types)
    union all
    select * from oxbow.context_profile(context_parts.user_id, context_parts.query, context_parts.include, _now,
                    _chinese)
    union all
    select * from oxbow.context_memories(context_parts.user_id, context_parts.query, context_parts.embedding,
                    context_parts.max_tokens, array_remove(_types, 'trait'), context_parts.contexts,
                    context_parts.agent, _now)
  loop
    exit when _left < _shortest;
    continue when _part.section = 'core' and _full;
    section := _part.section;
    id := _part.id;
    memory_type := _part.memory_type;
    stage := _part.stage;
    at := _part.at;
    modality := _part.modality;
    reference := _part.reference;
    if section = 'instruction' then -- a trait about how to be answered was not said, but inferred
      text := oxbow.shorten(_part.content, _memory);
      line := '- ' || text || case when _part.memory_type <> 'trait' then '' when _chinese then '（推断）'
                                   else ' (inferred)' end;
    elsif section = 'due' then
      text := oxbow.shorten(_part.content, _memory);
      line := '- ' || text || oxbow.due_remark(_part.at at time zone _zone, _part.speaker, stage = 'due', _chinese);
    elsif _part.memory_type = 'trait' then
      text := oxbow.shorten(_part.content, _trait);
      line := '- ' || text || oxbow.trait_remark(_part.stage, _part.tendencies, contexts, _chinese);
    else
      text := oxbow.shorten(_part.content, _memory);
      line := '- ' || oxbow.context_mark(modality, _chinese) || text;
      if _part.memory_type = 'episodic' then
        _day := to_char(_part.at at time zone _zone, 'YYYY-MM-DD');
        line := '- ' || concat_ws(', ', _day, nullif(oxbow.shorten(_part.speaker, 20), '')) || ': '
                || oxbow.context_mark(modality, _chinese)
                || case when starts_with(text, _day || ' · ') -- a trace
                     then substr(text, length(_day || ' · ') + 1) else text end;
      end if;
    end if;
    if _open is distinct from section then
      line := oxbow.context_heading(section, _chinese) || E'\n' || line;
    end if;
    tokens := oxbow.estimate_tokens(line || E'\n');
    if tokens > _left or section = 'behavior' and tokens > _behaviors
      or section = 'instruction' and tokens > _instructions or section = 'due' and tokens > _due then
      _full := _full or section not in ('instruction', 'due');
      continue;
    end if;
    _open := section;
    _left := _left - tokens;
    if section = 'behavior' then
      _behaviors := _behaviors - tokens;
    elsif section = 'instruction' then
      _instructions := _instructions - tokens;
    elsif section = 'due' then
      _due := _due - tokens;
    end if;
    return next;
  end loop;
end $$;
call oxbow.grant_app('context_parts');

-- context returns the prompt block as one text, the lines of oxbow.context_parts, which documents the
-- arguments. The result is empty for an unknown user and never null. It has at most max_tokens by
-- oxbow.estimate_tokens.
drop function if exists oxbow.context(text, text, halfvec, integer, text[], text[], text, timestamptz, text[]);
create or replace function oxbow.context(user_id text, query text default null, embedding halfvec default null,
  max_tokens integer default 1000, types text[] default null, contexts text[] default null, agent text default null,
  now timestamptz default null, include text[] default null, session_id text default null) returns text
language plpgsql stable as $$
begin
  return (select coalesce(string_agg(p.line, E'\n'), '')
            from oxbow.context_parts(context.user_id, query, embedding, max_tokens, types, contexts, agent, now, include,
                   context.session_id) p);
end $$;
call oxbow.grant_app('context');

-- pgvector's types are in the schema in which its extension is installed.
do $$
declare path text := (select format('pg_catalog, %I, pg_temp', n.nspname)
                        from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
begin
  execute 'alter function oxbow.context_instructions set search_path = ' || path;
  execute 'alter function oxbow.context_profile set search_path = ' || path;
  execute 'alter function oxbow.context_due set search_path = ' || path;
  execute 'alter function oxbow.context_traits set search_path = ' || path;
  execute 'alter function oxbow.context_memories set search_path = ' || path;
  execute 'alter function oxbow.context_parts set search_path = ' || path;
  execute 'alter function oxbow.context set search_path = ' || path;
end $$;
