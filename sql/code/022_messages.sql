-- take_messages creates the sessions of inserted messages and enqueues their extraction in the same
-- transaction: one job per session and statement, due when the session has been quiet for a while, or at
-- once when enough messages wait. It updates an existing session only if that has ended, so open
-- transactions wait for each other only when a session begins or reopens. jobs/extract.go describes how the
-- worker merges the jobs of a session.
create or replace function oxbow.take_messages() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant jsonb := coalesce((select s.value from oxbow.settings s where s.key = 'conversations'), '{}');
  _quiet constant interval := make_interval(secs => coalesce((_rules ->> 'quiet_seconds')::double precision, 10));
  _enough constant integer := coalesce((_rules ->> 'messages')::numeric::integer, 20);
  _ended record;
  _metadata jsonb := '{}';
begin
  insert into oxbow.sessions (user_id, id, started_at, last_activity_at)
  select i.user_id, i.session_id, min(i.created_at), max(i.created_at)
    from inserted i
   where not exists (select from oxbow.sessions s where s.user_id = i.user_id and s.id = i.session_id)
   group by i.user_id, i.session_id
   order by i.user_id, i.session_id
  on conflict do nothing;

  select s.user_id, s.id, s.ended_at into _ended
    from oxbow.sessions s
   where s.ended_at is not null and (s.user_id, s.id) in (select i.user_id, i.session_id from inserted i)
   limit 1;
  if found then
    if _rules ->> 'ended_session' = 'reject' then
      perform oxbow.reject('session_id', _ended.id,
                           format('must not be of a session that has ended: this one ended at %s', _ended.ended_at));
    end if;
    update oxbow.sessions s set ended_at = null
     where s.ended_at is not null and (s.user_id, s.id) in (select i.user_id, i.session_id from inserted i);
  end if;

  if current_setting('oxbow.traceparent', true) <> '' then
    _metadata := oxbow.trace_metadata();
  end if;
  insert into oxbow.river_job (kind, queue, max_attempts, args, metadata, state, scheduled_at)
  select 'extract', 'extract', 25, jsonb_build_object('user_id', w.user_id, 'session_id', w.session_id), _metadata,
         case when w.waiting >= _enough then 'available' else 'scheduled' end::oxbow.river_job_state,
         case when w.waiting >= _enough then now() else now() + _quiet end
    from (select i.user_id, i.session_id,
                 (select count(*) from (select from oxbow.messages m
                   where m.user_id = i.user_id and m.session_id = i.session_id and m.extracted_at is null
                   limit _enough) m) as waiting
            from (select distinct user_id, session_id from inserted where extracted_at is null) i) w
   order by random(); -- spreads a bulk load, because extractions of one user write one after the other
  return null;
end $$;

create or replace trigger take_messages after insert on oxbow.messages
  referencing new table as inserted for each statement execute function oxbow.take_messages();

-- pass_over_secret marks a message of level 2 or 3 as extracted, because nothing is ever extracted from its text.
create or replace function oxbow.pass_over_secret() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.extracted_at := now();
  return new;
end $$;

create or replace trigger pass_over_secret before insert or update of sensitivity, extracted_at on oxbow.messages
  for each row when (new.sensitivity > 1 and new.extracted_at is null) execute function oxbow.pass_over_secret();

-- end_session ends a conversation: its remaining messages are extracted at once and then reflected on. A
-- session that has already ended is unchanged. It returns whether the session was open. The session must
-- exist.
create or replace function oxbow.end_session(user_id text, session_id text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _ended timestamptz;
begin
  perform oxbow.check_access(end_session.user_id);
  select s.ended_at into _ended from oxbow.sessions s
   where s.user_id = end_session.user_id and s.id = end_session.session_id for update;
  if not found then
    perform oxbow.reject('session_id', end_session.session_id,
                         format('must be a session of user %L', left(end_session.user_id, 255)));
  elsif _ended is not null then
    return false;
  end if;
  update oxbow.sessions s set ended_at = now(), last_activity_at = greatest(s.last_activity_at, now())
   where s.user_id = end_session.user_id and s.id = end_session.session_id;
  insert into oxbow.river_job (kind, queue, max_attempts, args, metadata)
  values ('extract', 'extract', 25,
          jsonb_build_object('user_id', end_session.user_id, 'session_id', end_session.session_id),
          oxbow.trace_metadata());
  return true;
end $$;
call oxbow.grant_app('end_session');

-- delete_messages permanently deletes messages of a conversation (all of them without ids) and returns their number.
-- Summaries of the conversation are erased too; memories that were extracted from the messages stay. Messages that an
-- older transaction stores later are deleted as well (see finish_erasures).
create or replace function oxbow.delete_messages(user_id text, session_id text, ids uuid[] default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _deleted bigint;
begin
  perform oxbow.check_access(delete_messages.user_id);
  delete from oxbow.messages m
   where m.user_id = delete_messages.user_id and m.session_id = delete_messages.session_id
     and (delete_messages.ids is null or m.id = any(delete_messages.ids));
  get diagnostics _deleted = row_count;
  insert into oxbow.open_erasures (user_id, kind, session_id, ids)
  values (delete_messages.user_id, 'messages', delete_messages.session_id, delete_messages.ids);
  return _deleted;
end $$;
call oxbow.grant_app('delete_messages');

-- waiting_extractions returns the jobs, other than _except, that wait to extract from a session, and how
-- many of them are due later. It leaves out retries of failed messages. This function and the next ones
-- always find jobs by their index: a plan made while few jobs waited would read the whole table once many
-- do.
create or replace function oxbow.waiting_extractions(_user_id text, _session_id text, _except bigint, out jobs bigint[],
  out later integer)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  select coalesce(array_agg(j.id), '{}'), count(*) filter (where j.scheduled_at > now()) into jobs, later
    from oxbow.river_job j
   where j.kind = 'extract' and j.state in ('available', 'scheduled') and j.args ->> 'user_id' = _user_id
     and j.args ->> 'session_id' = _session_id and j.id <> _except and not j.args ? 'retry';
end $$;
call oxbow.grant_worker('waiting_extractions');

-- session_is_worked reports whether a job older than _job is extracting from a session. It locks that job's
-- row until the transaction ends, and waits for a job that is about to complete.
create or replace function oxbow.session_is_worked(_user_id text, _session_id text, _job bigint) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  perform from oxbow.river_job j
    where j.kind = 'extract' and j.state = 'running' and j.args ->> 'user_id' = _user_id
      and j.args ->> 'session_id' = _session_id and j.id < _job and not j.args ? 'retry'
    order by j.id for no key update;
  return found;
end $$;
call oxbow.grant_worker('session_is_worked');

-- messages_left reports whether messages wait in a session, either failed or not failed, without a job
-- other than _job for them.
create or replace function oxbow.messages_left(_user_id text, _session_id text, _failed boolean, _job bigint)
returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  return exists (select from oxbow.messages m
                  where m.user_id = _user_id and m.session_id = _session_id and m.extracted_at is null
                    and (m.extract_failures > 0) = _failed)
    and not exists (select from oxbow.river_job j
                     where j.kind = 'extract' and j.state in ('available', 'scheduled', 'retryable')
                       and j.args ->> 'user_id' = _user_id and j.args ->> 'session_id' = _session_id
                       and j.id <> _job and (j.args ? 'retry') = _failed);
end $$;
call oxbow.grant_worker('messages_left');

-- similar_facts returns, for each vector in order, the current facts of a user with a similarity of at
-- least _least, most similar first, at most _limit. It compares all of the user's facts exactly.
create or replace function oxbow.similar_facts(_user_id text, _embeddings halfvec[], _limit integer,
  _least double precision)
returns table (nth integer, id uuid, content text, speaker text, category text, at timestamptz,
  similarity double precision)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
#variable_conflict error
begin
  return query
  select e.nth::integer, f.id, f.content, f.speaker, f.category, f.at, f.similarity
    from unnest(_embeddings) with ordinality e(embedding, nth)
   cross join lateral (
    select m.id, m.content, coalesce(m.speaker, ''), coalesce(m.category, ''), coalesce(m.valid_at, m.created_at),
           1 - n.distance
      from (select v.memory_id, v.embedding <=> e.embedding as distance
              from oxbow.memory_vectors v
             where v.user_id = _user_id and v.memory_type = 'fact'
               and v.memory_id not in (select f.id from oxbow.memories_fact f -- a fact may have many old versions
                                        where f.user_id = _user_id
                                          and case when f.expired_at is null and f.forgotten_at is null
                                                   then least(f.invalid_at, f.expires_at)
                                                   else '-infinity' end <= now())
             order by distance limit 4 * _limit) n
     cross join lateral (select m.* from oxbow.memories m
                          where m.user_id = _user_id and m.memory_type = 'fact' and m.id = n.memory_id offset 0) m
     where n.distance <= 1 - _least and m.expired_at is null and m.forgotten_at is null and m.sensitivity < 2
       and (m.invalid_at is null or m.invalid_at > now()) and m.expires_at is null
     order by n.distance, m.id
     limit _limit) f(id, content, speaker, category, at, similarity)
   order by e.nth, f.similarity desc, f.id;
end $$;
call oxbow.grant_worker('similar_facts');
-- pgvector's operators are in the schema in which its extension was installed.
do $$
begin
  execute 'alter function oxbow.similar_facts set search_path = '
    || (select format('pg_catalog, %I, pg_temp', n.nspname) from pg_extension e
          join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
end $$;
