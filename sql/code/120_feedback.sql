-- Feedback: an application reports which memories a reply used, and what the person said about it. A signal by itself
-- changes a memory only if the person named that memory alone; otherwise the job dispatch adds signals up
-- (121_dispatch.sql).

-- answered records a reply: the question, the memories that were recalled for it, best first, and those that it used.
-- Those count as used (touch), the others as accessed. Unknown ids are left out. It returns the id of the answer, to
-- which feedback refers. Answers are kept for answer_days.
--   recalled  at most 1,000 ids
--   used      memories, and skills of skills_for; null: unknown, so feedback on the answer is about all recalled
create or replace function oxbow.answered(user_id text, query text, recalled uuid[], used uuid[] default null,
  session_id text default null, at timestamptz default now()) returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _id constant uuid := gen_random_uuid();
  _known uuid[];
  _used uuid[];
  _skills uuid[];
begin
  perform oxbow.check_access(answered.user_id);
  if answered.at is null or not oxbow.valid_time('at', answered.at) then
    perform oxbow.reject('at', answered.at::text, 'must be finite');
  elsif cardinality(answered.recalled) > 1000 or cardinality(answered.used) > 1000 then
    perform oxbow.reject('recalled', cardinality(answered.recalled) || ' ids', 'must have at most 1,000 ids');
  end if;
  select array_agg(i.id order by i.nth) into _known
    from (select r.id, min(r.nth) as nth
            from unnest(answered.recalled || answered.used) with ordinality r(id, nth) group by r.id) i
   where exists (select from oxbow.memories m where m.user_id = answered.user_id and m.id = i.id);
  select array_agg(k.id order by k.nth) into _used
    from unnest(_known) with ordinality k(id, nth) where k.id = any(answered.used);
  select array_agg(k.id) into _skills
    from (select s.id from oxbow.skills s where s.user_id = answered.user_id and s.id = any(answered.used)
           order by s.id for no key update) k;
  update oxbow.skills s set used_at = greatest(s.used_at, least(answered.at, now()))
   where s.user_id = answered.user_id and s.id = any(_skills);
  insert into oxbow.answers (user_id, id, at, session_id, query, recalled, used, skills)
  values (answered.user_id, _id, least(answered.at, now()), answered.session_id, coalesce(answered.query, ''),
          coalesce(_known, '{}'), coalesce(_used, '{}'), coalesce(_skills, '{}'));
  perform oxbow.touch(answered.user_id, _used, true, answered.at);
  perform oxbow.touch(answered.user_id, array(select k.id from unnest(_known) k(id)
                                                where k.id <> all(coalesce(_used, '{}'))), false, answered.at);
  return _id;
end $$;
call oxbow.grant_app('answered');

-- feedback records what a person said of memories or of an answer, and returns the id of the signal.
--   kind         helpful; wrong: it is not true, or does not answer the question; outdated: it is no longer true;
--                not_about_me; too_much: it is mentioned too often
--   ids          memories and traits that it is about; null: those that the answer used or, if unknown, recalled
--   answer_id    the answer, from answered
--   query        the question, if there is no answer
--   external_id  repeating a call with the same one has no effect, and returns the earlier id
-- Takes effect at once: for feedback_suppress_days, recall leaves out what is wrong or too_much for similar questions,
-- and what is wrong for all questions if the question is unknown. helpful ends that. If there is only one id, outdated
-- ends a fact, and not_about_me forgets the memory (restore undoes both) or dissolves the trait (edit_trait undoes
-- that). If an answer rests on more than three memories, none is suppressed, because nobody knows which one is wrong.
-- All other effects need several signals that agree: see the job dispatch.
create or replace function oxbow.feedback(user_id text, kind text, ids uuid[] default null,
  answer_id uuid default null, query text default null, reason text default null, external_id text default null,
  actor text default 'app') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _id uuid;
  _answer oxbow.answers;
  _about uuid[] := feedback.ids;
  _known integer;
  _actor constant text := oxbow.person_actor(coalesce(feedback.actor, 'app'));
begin
  perform oxbow.check_access(feedback.user_id);
  if feedback.kind is null or feedback.kind not in ('helpful', 'wrong', 'outdated', 'not_about_me', 'too_much') then
    perform oxbow.reject('kind', feedback.kind, 'must be helpful, wrong, outdated, not_about_me or too_much');
  elsif feedback.answer_id is null and coalesce(cardinality(feedback.ids), 0) = 0 then
    perform oxbow.reject('ids', feedback.ids::text, 'or answer_id must say what it is about');
  elsif cardinality(feedback.ids) > 1000 then
    perform oxbow.reject('ids', cardinality(feedback.ids) || ' ids', 'must have at most 1,000 ids');
  end if;
  if feedback.answer_id is not null then
    _answer := oxbow.answer_of(feedback.user_id, feedback.answer_id);
    _about := coalesce(_about, nullif(_answer.used, '{}'), _answer.recalled);
  end if;
  insert into oxbow.feedback_signals as s (user_id, source, kind, type, confidence, targets, action_hint, answer_id,
    session_id, query, reason, external_id, actor)
  values (feedback.user_id, 'explicit', feedback.kind, case feedback.kind when 'helpful' then 'positive'
      else 'negative' end,
    -- what is wrong for a question may be right, and only not answer it
    case when feedback.kind in ('wrong', 'too_much') and coalesce(nullif(_answer.query, ''), feedback.query) is not null
         then 0.9 else 1 end, '{final_answer}', case feedback.kind when 'helpful' then '{prefer}'::text[]
      when 'too_much' then '{penalty}' when 'wrong' then '{penalty}' else '{penalty,invalidate}' end,
    feedback.answer_id, _answer.session_id, coalesce(nullif(_answer.query, ''), feedback.query), feedback.reason,
    feedback.external_id, _actor)
  on conflict on constraint feedback_signals_user_id_external_id_key do nothing
  returning s.id into _id;
  if not found then
    return (select s.id from oxbow.feedback_signals s
             where s.user_id = feedback.user_id and s.external_id = feedback.external_id);
  end if;
  insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id, share)
  select m.user_id, _id, m.memory_type, m.id, case when feedback.ids is null then 1.0 / greatest(cardinality(_about), 1)
         else 1 end
    from oxbow.memories m
   where m.user_id = feedback.user_id and m.id in (select unnest(_about));
  get diagnostics _known = row_count;
  if _known = 0 and feedback.ids is not null then
    raise exception using errcode = 'OX101',
      message = format('user %L has no memory %s', left(feedback.user_id, 255), feedback.ids[1]),
      detail  = 'It may have been erased: forgotten memories are kept for 30 days.';
  end if;
  perform oxbow.suppress_wrong(feedback.user_id, _id);
  if cardinality(feedback.ids) = 1 then
    perform oxbow.end_named(feedback.user_id, feedback.ids[1], feedback.kind, _actor, feedback.reason);
  end if;
  return _id;
end $$;
call oxbow.grant_app('feedback');

-- answer_of returns an answer.
create or replace function oxbow.answer_of(_user_id text, _id uuid) returns oxbow.answers
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _answer oxbow.answers;
begin
  select * into _answer from oxbow.answers a where a.user_id = _user_id and a.id = _id;
  if not found then
    raise exception using errcode = 'OX130',
      message = format('user %L has no answer %s', left(_user_id, 255), _id),
      detail  = 'Answers are kept for the number of days in the policy answer_days.';
  end if;
  return _answer;
end $$;

-- suppress_wrong suppresses the memories of a signal for similar questions if they were wrong or too much, and ends
-- their suppression if they were helpful.
create or replace function oxbow.suppress_wrong(_user_id text, _signal uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _said constant oxbow.feedback_signals := (
    select s from oxbow.feedback_signals s where s.user_id = _user_id and s.id = _signal);
  _terms constant text[] := oxbow.question_terms(_said.query);
  _type constant text := coalesce(_said.parts ->> 'final_answer', _said.type);
begin
  if _type = 'positive' then
    delete from oxbow.suppressions s
     using oxbow.feedback_subjects f
     where f.user_id = _user_id and f.signal_id = _signal and s.user_id = f.user_id
       and s.memory_type = f.memory_type and s.memory_id = f.memory_id
       and (_terms is null or s.memory_id = any(oxbow.suppressed(_user_id, _said.query, now())));
  elsif _type <> 'neutral' and _said.kind in ('wrong', 'too_much', 'correction', 'complaint')
    and _said.confidence >= oxbow.policy('feedback_confidence') then
    insert into oxbow.suppressions (user_id, memory_type, memory_id, signal_id, query, terms, weights, expires_at)
    select f.user_id, f.memory_type, f.memory_id, f.signal_id, _said.query, _terms,
           oxbow.term_weights(_user_id, _terms), now() + make_interval(secs => 86400 * oxbow.policy('feedback_suppress_days'))
      from oxbow.feedback_subjects f
     where f.user_id = _user_id and f.signal_id = _signal and f.share > 0.3
       and (_terms is not null or _said.kind = 'wrong')
    on conflict do nothing;
  end if;
end $$;
call oxbow.grant_worker('suppress_wrong');

-- end_named applies a statement about one memory at once: outdated ends a fact, not_about_me forgets the memory or
-- dissolves the trait.
create or replace function oxbow.end_named(_user_id text, _id uuid, _kind text, _actor text, _reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  m oxbow.memories;
begin
  if _kind not in ('outdated', 'not_about_me') then
    return;
  end if;
  m := oxbow.lock_memory(_user_id, _id);
  if m.memory_type = 'trait' then
    perform oxbow.dissolve_trait(_user_id, _id, coalesce(_reason, _kind), _actor);
  elsif _kind = 'not_about_me' then
    perform oxbow.forget_memory(_user_id, _id, 'user', _actor, coalesce(_reason, _kind));
  elsif m.memory_type = 'fact' and m.expired_at is null and m.forgotten_at is null
    and (m.invalid_at is null or m.invalid_at > now()) then
    update oxbow.memories o
       set invalid_at = greatest(now(), coalesce(o.valid_at, o.created_at)), expired_at = now(), negated_at = now(),
           updated_at = now()
     where o.user_id = _user_id and o.memory_type = 'fact' and o.id = _id;
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
    values (_user_id, 'fact', _id, 'EXPIRE', m.content, m.metadata, _actor, coalesce(_reason, _kind));
  end if;
end $$;

-- question_terms returns the distinct search terms of a question, or null if it has none. Courtesies do not count.
create or replace function oxbow.question_terms(_query text) returns text[]
language sql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
  select array_agg(t) from unnest(tsvector_to_array((oxbow.terms(regexp_replace(_query,
    '\m(please|pls|kindly|(can|could|would|will) you|(tell|remind|show) me( again)?|do you (know|remember)|i (want|would like) to know)\M'
    || '|请问(一下)?|告诉我|(你)?(还)?(记得|知道)(吗)?|麻烦(你)?|能不能|一下', ' ', 'gi'))).tsv)) t where t not like '+%';
$$;
call oxbow.grant_worker('question_terms');

-- term_weights returns how well each term distinguishes a question of the user: its inverse document frequency (idf)
-- among the user's memories. It counts at most 1,000 memories of a term; one of more tells as little as one of all.
create or replace function oxbow.term_weights(_user_id text, _terms text[]) returns double precision[]
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_indexscan = off
  set random_page_cost = 0 set cpu_operator_cost = 0 set jit = off as $$
declare
  _n constant bigint := (select coalesce(sum(s.documents), 0) from oxbow.memory_term_stats s where s.user_id = _user_id);
begin
  return (
    select array_agg(oxbow.idf(_n, case when d.n < 1000 then d.n else _n end) order by a.nth)
      from unnest(_terms) with ordinality a(term, nth)
     cross join lateral (
       select count(*) as n
         from (select from oxbow.memory_terms t
                where t.user_id = _user_id and t.tsv @@ oxbow.term_query(a.term) limit 1000) t) d);
end $$;
call oxbow.grant_worker('term_weights');

-- suppressed returns the memories that recall leaves out for a question, or null if there are none. It reads the user's
-- 500 latest suppressions. Two questions are similar by the Jaccard index of their terms, weighted by term_weights. A
-- question of which only the embedding is known is similar to none.
create or replace function oxbow.suppressed(_user_id text, _query text, _now timestamptz) returns uuid[]
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _terms text[];
  _weights double precision[];
  _alike constant double precision := oxbow.policy('feedback_similar');
begin
  if not exists (select from oxbow.suppressions o where o.user_id = _user_id and o.expires_at > _now) then
    return null;
  end if;
  _terms := oxbow.question_terms(_query);
  _weights := oxbow.term_weights(_user_id, _terms);
  return (
    select array_agg(o.memory_id)
      from (select * from oxbow.suppressions o where o.user_id = _user_id and o.expires_at > _now
             order by o.expires_at desc limit 500) o
     where o.terms is null or o.terms && _terms and (
       select sum(w.weight) filter (where w.term = any(_terms)) >= _alike * (sum(w.weight) + (
                select coalesce(sum(q.weight), 0) from unnest(_terms, _weights) q(term, weight)
                 where q.term <> all(o.terms)))
         from unnest(o.terms, o.weights) w(term, weight)));
end $$;
call oxbow.grant_worker('suppressed');

-- erase_from_feedback removes a memory from the answers that name it, and the reasons and questions of the signals
-- about it, because these may quote it.
create or replace function oxbow.erase_from_feedback(_user_id text, _id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.answers a set recalled = array_remove(a.recalled, _id), used = array_remove(a.used, _id)
   where a.user_id = _user_id and _id = any(a.recalled);
  update oxbow.feedback_signals s set query = null, reason = null
    from oxbow.feedback_subjects f
   where f.user_id = _user_id and f.memory_id = _id and s.user_id = f.user_id and s.id = f.signal_id
     and num_nonnulls(s.query, s.reason) > 0;
  delete from oxbow.adjustments a where a.user_id = _user_id and a.target ->> 'memory_id' = _id::text;
end $$;
