-- Signals from conversations: what the job judge reads and writes.

-- turns_to_judge returns at most _limit messages of a conversation that were extracted but not judged yet, and the six
-- messages before them, in order.
create or replace function oxbow.turns_to_judge(_user_id text, _session_id text, _limit integer)
returns table (id uuid, seq bigint, role text, content text, fresh boolean, judged bigint)
language plpgsql stable set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan set enable_seqscan = off as $$
#variable_conflict error
declare
  _judged constant bigint := (select s.judged_seq from oxbow.sessions s
                               where s.user_id = _user_id and s.id = _session_id);
begin
  return query
  (select m.id, m.seq, m.role, left(m.content, 6000), false, _judged from (
     select e.* from oxbow.messages e
      where e.user_id = _user_id and e.session_id = _session_id and e.seq <= _judged and e.sensitivity < 2
      order by e.seq desc limit 6) m
   order by m.seq, m.id)
  union all
  (select m.id, m.seq, m.role, left(m.content, 6000), true, _judged from oxbow.messages m
    where m.user_id = _user_id and m.session_id = _session_id and m.seq > coalesce(_judged, -9223372036854775808)
      and m.extracted_at is not null and m.sensitivity < 2
    order by m.seq, m.id limit _limit);
end $$;
call oxbow.grant_worker('turns_to_judge');

-- add_signal stores a signal about some memories, each with the given share, and returns its id, or null if there already
-- is one for the same message or with the same external_id. A failed turn is noted in the sensory stream.
create or replace function oxbow.add_signal(_new oxbow.feedback_signals, _about uuid[], _share double precision)
returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  _new.id := gen_random_uuid();
  _new.source := 'judge';
  _new.stored_at := now();
  insert into oxbow.feedback_signals select (_new).* on conflict do nothing;
  if not found then
    return null;
  end if;
  insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id, share)
  select m.user_id, _new.id, m.memory_type, m.id, _share
    from oxbow.memories m where m.user_id = _new.user_id and m.id in (select unnest(_about));
  if 'final_answer' = any(_new.targets) then
    perform oxbow.suppress_wrong(_new.user_id, _new.id);
  end if;
  if _new.type = 'negative' then
    insert into oxbow.sensory (user_id, kind, content, metadata)
    values (_new.user_id, 'failed_turn', 'The answer before this message failed: ' || _new.kind,
            jsonb_strip_nulls(jsonb_build_object('message', _new.message_id, 'signal', _new.id)));
  end if;
  return _new.id;
end $$;
call oxbow.grant_worker('add_signal');

-- record_signals stores what the judge found in a conversation up to the message with the given seq. It returns false if
-- another job was first, or if the messages to judge up to there are no longer _messages. A message has at most one
-- signal. It is about the memories of the last answer before the message that the application reported for the
-- conversation, if any.
create or replace function oxbow.record_signals(_user_id text, _session_id text, _judged bigint, _until bigint,
  _messages bigint, _judge text, _signals jsonb) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _found record;
  _answer oxbow.answers;
  _new oxbow.feedback_signals;
  _about uuid[];
begin
  perform from oxbow.sessions s
    where s.user_id = _user_id and s.id = _session_id and s.judged_seq is not distinct from _judged for no key update;
  if not found or _messages <> (
       select count(*) from oxbow.messages m
        where m.user_id = _user_id and m.session_id = _session_id and m.seq > coalesce(_judged, -9223372036854775808)
          and m.seq <= _until and m.extracted_at is not null and m.sensitivity < 2) then
    return false;
  end if;
  for _found in
    select g.*, m.created_at as said_at
      from jsonb_to_recordset(_signals) g(message uuid, kind text, type text, confidence double precision,
             targets text[], action_hint text[], parts jsonb, query text)
      join oxbow.messages m on m.user_id = _user_id and m.id = g.message
  loop
    select * into _answer from oxbow.answers a
     where a.user_id = _user_id and a.session_id = _session_id and a.at <= _found.said_at
     order by a.at desc limit 1;
    _about := coalesce(nullif(_answer.used, '{}'), _answer.recalled);
    _new.user_id := _user_id;
    _new.kind := _found.kind;
    _new.type := _found.type;
    _new.confidence := _found.confidence;
    _new.targets := coalesce(_found.targets, '{}');
    _new.action_hint := coalesce(_found.action_hint, '{}');
    _new.parts := _found.parts;
    _new.answer_id := _answer.id;
    _new.session_id := _session_id;
    _new.message_id := _found.message;
    _new.query := coalesce(nullif(_answer.query, ''), _found.query);
    _new.actor := _judge;
    _new.at := least(_found.said_at, now());
    perform oxbow.add_signal(_new, _about, 1.0 / greatest(cardinality(_about), 1));
  end loop;
  update oxbow.sessions s set judged_seq = _until where s.user_id = _user_id and s.id = _session_id;
  return true;
end $$;
call oxbow.grant_worker('record_signals');

-- signal stores what an application's own judge found out about an answer (U §4), as the job judge does, and returns the
-- id of the signal. The job dispatch adds it up with the others.
--   type          negative, positive, neutral or mixed
--   confidence    0 to 1
--   targets       of reasoning, final_answer, style and tool_choice; null: those of parts, or final_answer
--   action_hint   of penalty, invalidate and prefer
--   parts         mixed: the type for each target, such as {"final_answer": "positive", "style": "negative"}
--   attributions  the memories that caused it; null: those that the answer used or, if unknown, recalled
--   kind          correction, complaint, repeated_question, rephrasing or thanks; null: complaint, or thanks if positive
--   answer_id     the answer, from answered
--   message_id    the message in oxbow.messages that was judged. It has one signal, the first
--   query         the question, if there is no answer
--   external_id   repeating a call with the same one has no effect, and returns the earlier id
create or replace function oxbow.signal(user_id text, type text, confidence double precision,
  targets text[] default null, action_hint text[] default null, parts jsonb default null,
  attributions uuid[] default null, kind text default null, answer_id uuid default null,
  message_id uuid default null, query text default null, reason text default null, external_id text default null)
returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _new oxbow.feedback_signals;
  _answer oxbow.answers;
  _said oxbow.messages;
  _about uuid[] := signal.attributions;
  _id uuid;
begin
  perform oxbow.check_access(signal.user_id);
  if signal.type is null or signal.type not in ('negative', 'positive', 'neutral', 'mixed') then
    perform oxbow.reject('type', signal.type, 'must be negative, positive, neutral or mixed');
  elsif signal.confidence is null then
    perform oxbow.reject('confidence', null, 'must be between 0 and 1');
  elsif signal.parts is not null and signal.type <> 'mixed' or signal.type = 'mixed' and not coalesce((
    select bool_and(p.value in ('"negative"', '"positive"', '"neutral"') and coalesce(p.key = any(signal.targets), true))
      from jsonb_each(case jsonb_typeof(signal.parts) when 'object' then signal.parts else '{}' end) p), false) then
    perform oxbow.reject('parts', signal.parts::text, 'must have the type of each target, if it is mixed');
  elsif signal.answer_id is null and coalesce(cardinality(signal.attributions), 0) = 0 then
    perform oxbow.reject('attributions', signal.attributions::text, 'or answer_id must say what it is about');
  elsif cardinality(signal.attributions) > 1000 then
    perform oxbow.reject('attributions', cardinality(signal.attributions) || ' ids', 'must have at most 1,000 ids');
  end if;
  if signal.answer_id is not null then
    _answer := oxbow.answer_of(signal.user_id, signal.answer_id);
    _about := coalesce(_about, nullif(_answer.used, '{}'), _answer.recalled);
  end if;
  select * into _said from oxbow.messages m where m.user_id = signal.user_id and m.id = signal.message_id;
  if signal.message_id is not null and not found then
    perform oxbow.reject('message_id', signal.message_id::text, 'must be a message of the user');
  end if;
  _new.user_id := signal.user_id;
  _new.kind := coalesce(signal.kind, case signal.type when 'positive' then 'thanks' else 'complaint' end);
  _new.type := signal.type;
  _new.confidence := signal.confidence;
  _new.targets := coalesce(signal.targets, case when signal.type = 'mixed'
    then array(select jsonb_object_keys(signal.parts)) else '{final_answer}' end);
  _new.action_hint := coalesce(signal.action_hint, '{}');
  _new.parts := signal.parts;
  _new.answer_id := signal.answer_id;
  _new.session_id := coalesce(_said.session_id, _answer.session_id);
  _new.message_id := signal.message_id;
  _new.query := coalesce(nullif(_answer.query, ''), signal.query);
  _new.reason := signal.reason;
  _new.external_id := signal.external_id;
  _new.actor := 'app';
  _new.at := now();
  _id := oxbow.add_signal(_new, _about,
    case when signal.attributions is null then 1.0 / greatest(cardinality(_about), 1) else 1 end);
  return coalesce(_id, (select s.id from oxbow.feedback_signals s
                         where s.user_id = signal.user_id
                           and (s.external_id = signal.external_id or s.message_id = signal.message_id)
                         order by s.external_id = signal.external_id desc nulls last limit 1));
end $$;
call oxbow.grant_app('signal');
