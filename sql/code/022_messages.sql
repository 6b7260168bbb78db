-- An INSERT into messages begins the sessions that are new and enqueues their extraction, in the same transaction: one job
-- per session and statement, due when the session has been quiet for a while, or at once when enough messages wait. No row
-- of a session that is there is touched, so that open transactions do not wait for each other; a session that is just
-- beginning, or that had ended, is. How the worker folds the jobs of one session is told in jobs/extract.go.
create or replace function oxbow.take_messages() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant jsonb := coalesce((select s.value from oxbow.settings s where s.key = 'conversations'), '{}');
  _quiet constant interval := make_interval(secs => coalesce((_rules ->> 'quiet_seconds')::double precision, 10));
  _enough constant integer := coalesce((_rules ->> 'messages')::integer, 20);
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
      perform oxbow.reject('session_id', _ended.id, format('must not be that of a session that ended, which this one did at %s', _ended.ended_at));
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
                   where m.user_id = i.user_id and m.session_id = i.session_id and m.extracted_at is null limit _enough) m) as waiting
            from (select distinct user_id, session_id from inserted where extracted_at is null) i) w
   order by random(); -- extractions of one user write one after the other: those of a bulk load are spread
  return null;
end $$;

create or replace trigger take_messages after insert on oxbow.messages
  referencing new table as inserted for each statement execute function oxbow.take_messages();

-- What is secret is never extracted from: nothing waits for it.
create or replace function oxbow.pass_over_secret() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.extracted_at := now();
  return new;
end $$;

create or replace trigger pass_over_secret before insert or update of sensitivity, extracted_at on oxbow.messages
  for each row when (new.sensitivity = 3 and new.extracted_at is null) execute function oxbow.pass_over_secret();

-- end_session ends a conversation: what was said in it and is not extracted yet is extracted at once, and then reflected on.
-- One that ended already stays as it was. It returns whether the session was open; there has to be one.
create or replace function oxbow.end_session(user_id text, session_id text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _ended timestamptz;
begin
  perform oxbow.check_access(end_session.user_id);
  select s.ended_at into _ended from oxbow.sessions s where s.user_id = end_session.user_id and s.id = end_session.session_id for update;
  if not found then
    perform oxbow.reject('session_id', end_session.session_id, format('must be a session of user %L', left(end_session.user_id, 255)));
  elsif _ended is not null then
    return false;
  end if;
  update oxbow.sessions s set ended_at = now(), last_activity_at = greatest(s.last_activity_at, now())
   where s.user_id = end_session.user_id and s.id = end_session.session_id;
  insert into oxbow.river_job (kind, queue, max_attempts, args, metadata)
  values ('extract', 'extract', 25, jsonb_build_object('user_id', end_session.user_id, 'session_id', end_session.session_id), oxbow.trace_metadata());
  return true;
end $$;
call oxbow.grant_app('end_session');

-- waiting_extractions returns the jobs that wait to extract from a session, but for one, and how many of them are due later.
-- Jobs that try again what failed are not among them. In these functions the jobs are found by their index, whatever is known
-- of the table: a plan that was made while few waited would read all when many do.
create or replace function oxbow.waiting_extractions(_user_id text, _session_id text, _except bigint, out jobs bigint[], out later integer)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  select coalesce(array_agg(j.id), '{}'), count(*) filter (where j.scheduled_at > now()) into jobs, later
    from oxbow.river_job j
   where j.kind = 'extract' and j.state in ('available', 'scheduled') and j.args ->> 'user_id' = _user_id and j.args ->> 'session_id' = _session_id
     and j.id <> _except and not j.args ? 'retry';
end $$;
call oxbow.grant_worker('waiting_extractions');

-- session_is_worked tells whether a job older than _job is extracting from a session. It holds that job's row until the
-- transaction ends, and waits for one that is just completing.
create or replace function oxbow.session_is_worked(_user_id text, _session_id text, _job bigint) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  perform from oxbow.river_job j
    where j.kind = 'extract' and j.state = 'running' and j.args ->> 'user_id' = _user_id and j.args ->> 'session_id' = _session_id
      and j.id < _job and not j.args ? 'retry'
    order by j.id for no key update;
  return found;
end $$;
call oxbow.grant_worker('session_is_worked');

-- messages_left tells whether messages wait in a session, those that failed or those that did not, and no job but _job for
-- them.
create or replace function oxbow.messages_left(_user_id text, _session_id text, _failed boolean, _job bigint) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
begin
  return exists (select from oxbow.messages m
                  where m.user_id = _user_id and m.session_id = _session_id and m.extracted_at is null and (m.extract_failures > 0) = _failed)
    and not exists (select from oxbow.river_job j
                     where j.kind = 'extract' and j.state in ('available', 'scheduled', 'retryable')
                       and j.args ->> 'user_id' = _user_id and j.args ->> 'session_id' = _session_id
                       and j.id <> _job and (j.args ? 'retry') = _failed);
end $$;
call oxbow.grant_worker('messages_left');

-- similar_facts returns, for each vector in order, the current facts of a user that are at least as similar as _least, the
-- most similar first, at most _limit. All of the user's facts are compared, exactly.
create or replace function oxbow.similar_facts(_user_id text, _embeddings halfvec[], _limit integer, _least double precision)
returns table (nth integer, id uuid, content text, speaker text, category text, at timestamptz, similarity double precision)
language plpgsql stable set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off as $$
#variable_conflict error
begin
  return query
  select e.nth::integer, f.id, f.content, f.speaker, f.category, f.at, f.similarity
    from unnest(_embeddings) with ordinality e(embedding, nth)
   cross join lateral (
    select m.id, m.content, coalesce(m.speaker, ''), coalesce(m.category, ''), coalesce(m.valid_at, m.created_at), 1 - n.distance
      from (select v.memory_id, v.embedding <=> e.embedding as distance
              from oxbow.memory_vectors v
             where v.user_id = _user_id and v.memory_type = 'fact'
             order by distance limit 4 * _limit) n
     cross join lateral (select m.* from oxbow.memories m where m.user_id = _user_id and m.memory_type = 'fact' and m.id = n.memory_id offset 0) m
     where 1 - n.distance >= _least and m.expired_at is null and m.forgotten_at is null and m.sensitivity < 3
       and (m.invalid_at is null or m.invalid_at > now())
     order by n.distance, m.id
     limit _limit) f(id, content, speaker, category, at, similarity)
   order by e.nth, f.similarity desc, f.id;
end $$;
call oxbow.grant_worker('similar_facts');
-- pgvector's operators are found where its extension was installed.
do $$
begin
  execute 'alter function oxbow.similar_facts set search_path = '
    || (select format('pg_catalog, %I, pg_temp', n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector');
end $$;

-- facts_about returns the current facts of a user that tell of any of some things of which people have one at a time, the
-- newest first, at most _limit: metadata says what a fact is about.
create or replace function oxbow.facts_about(_user_id text, _about text[], _limit integer)
returns table (id uuid, content text, speaker text, category text, at timestamptz, about text[])
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
#variable_conflict error
begin
  return query
  select m.id, m.content, coalesce(m.speaker, ''), coalesce(m.category, ''), coalesce(m.valid_at, m.created_at),
         array(select jsonb_array_elements_text(m.metadata -> 'about'))
    from oxbow.memories_fact m
   where m.user_id = _user_id and m.expired_at is null and m.metadata ? 'about' and m.metadata -> 'about' ?| _about
     and m.forgotten_at is null and (m.invalid_at is null or m.invalid_at > now())
   order by m.created_at desc, m.id
   limit _limit;
end $$;
call oxbow.grant_worker('facts_about');
