-- Signals from conversations: what the job judge reads and writes.

-- turns_to_judge returns the messages of a conversation that were extracted and not judged yet, at most _limit, with the
-- six before them, in order.
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

-- record_signals stores what the judge found in a conversation up to the message with the given seq, and returns false
-- if another job was there first. A message has one signal. It is about the memories of the last answer before the
-- message that the application reported for the conversation, if any. A turn that failed is noted in the sensory stream.
create or replace function oxbow.record_signals(_user_id text, _session_id text, _judged bigint, _until bigint,
  _judge text, _signals jsonb) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _found record;
  _answer oxbow.answers;
  _id uuid;
  _about uuid[];
begin
  perform from oxbow.sessions s
    where s.user_id = _user_id and s.id = _session_id and s.judged_seq is not distinct from _judged for no key update;
  if not found then
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
    insert into oxbow.feedback_signals (user_id, source, kind, type, confidence, targets, action_hint, parts, answer_id,
      session_id, message_id, query, actor, at)
    values (_user_id, 'judge', _found.kind, _found.type, _found.confidence, coalesce(_found.targets, '{}'),
      coalesce(_found.action_hint, '{}'), _found.parts, _answer.id, _session_id, _found.message,
      coalesce(nullif(_answer.query, ''), _found.query), _judge, least(_found.said_at, now()))
    on conflict on constraint feedback_signals_user_id_message_id_key do nothing
    returning id into _id;
    continue when not found;
    insert into oxbow.feedback_subjects (user_id, signal_id, memory_type, memory_id, share)
    select m.user_id, _id, m.memory_type, m.id, 1.0 / greatest(cardinality(_about), 1)
      from oxbow.memories m where m.user_id = _user_id and m.id in (select unnest(_about));
    if 'final_answer' = any(_found.targets) then
      perform oxbow.suppress_wrong(_user_id, _id);
    end if;
    if _found.type = 'negative' then
      insert into oxbow.sensory (user_id, kind, content, metadata)
      values (_user_id, 'failed_turn', 'The answer before this message failed: ' || _found.kind,
              jsonb_build_object('message', _found.message, 'signal', _id));
    end if;
  end loop;
  update oxbow.sessions s set judged_seq = _until where s.user_id = _user_id and s.id = _session_id;
  return true;
end $$;
call oxbow.grant_worker('record_signals');
