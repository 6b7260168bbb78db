-- Operations: what becomes of a memory after it is stored.

-- operation returns the state of the work on a memory: pending (it waits for a worker), running, done, or failed (a job
-- was given up; see retry_operation). jobs are the jobs that name the memory, the oldest first; finished ones are kept
-- for a while. links are its relations to memories that it replaced, contradicts or merged, or that did so to it.
create or replace function oxbow.operation(user_id text, id uuid)
returns table (state text, searchable boolean, embedded boolean, refused text, jobs jsonb, links jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off as $$
#variable_conflict error
declare
  _memory oxbow.memories;
  _states text[];
  _model constant text := (select s.value ->> 'model' from oxbow.settings s where s.key = 'embedding');
begin
  perform oxbow.check_access(operation.user_id);
  select m.* into _memory from oxbow.memories m where m.user_id = operation.user_id and m.id = operation.id
   order by m.memory_type limit 1;
  if not found then
    raise exception using
      errcode = 'OX101',
      message = format('user %L has no memory %s', left(operation.user_id, 255), operation.id),
      detail  = 'It may have been erased: forgotten memories are kept for 30 days.';
  end if;
  searchable := exists (select from oxbow.memory_terms t where t.user_id = _memory.user_id
                          and t.memory_type = _memory.memory_type and t.memory_id = _memory.id);
  embedded := exists (select from oxbow.memory_vectors v where v.user_id = _memory.user_id
                        and v.memory_type = _memory.memory_type and v.memory_id = _memory.id);
  refused := (select r.reason from oxbow.embedding_refusals r where r.user_id = _memory.user_id
                 and r.memory_type = _memory.memory_type and r.memory_id = _memory.id and r.model = _model limit 1);
  select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('id', j.id, 'kind', j.kind, 'state', j.state,
           'attempt', j.attempt, 'max_attempts', j.max_attempts, 'created_at', j.created_at,
           'scheduled_at', j.scheduled_at, 'finalized_at', j.finalized_at,
           'last_error', j.errors[cardinality(j.errors)] ->> 'error')) order by j.id), '[]'),
         array_agg(j.state::text)
    into jobs, _states
    from oxbow.river_job j
   where j.args ->> 'user_id' = operation.user_id and strpos(j.args::text, operation.id::text) > 0;
  state := case
    when 'running' = any(_states) then 'running'
    when _states && '{available,pending,retryable,scheduled}' then 'pending'
    when 'discarded' = any(_states) then 'failed'
    when oxbow.is_unembedded(_memory.user_id, _memory.memory_type, _memory.id, _model) then 'pending'
    else 'done' end;
  links := (select coalesce(jsonb_agg(jsonb_build_object('relation', l.relation, 'from_id', l.from_id, 'to_id', l.to_id,
                     'at', l.created_at) order by l.created_at, l.from_id, l.to_id), '[]')
              from (select l.* from oxbow.memory_links l where l.user_id = operation.user_id
                       and l.from_type = _memory.memory_type and l.from_id = operation.id
                    union
                    select l.* from oxbow.memory_links l where l.user_id = operation.user_id
                       and l.to_type = _memory.memory_type and l.to_id = operation.id) l
             where l.relation in ('supersedes', 'contradicts', 'merged_from'));
  return next;
end $$;
call oxbow.grant_app('operation');

-- retry_operation makes the jobs of a memory due now that were given up, or that wait for another attempt. It returns
-- their number.
create or replace function oxbow.retry_operation(user_id text, id uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _job bigint;
  _retried bigint := 0;
begin
  perform oxbow.check_access(retry_operation.user_id);
  for _job in
    select j.id from oxbow.river_job j
     where j.args ->> 'user_id' = retry_operation.user_id and strpos(j.args::text, retry_operation.id::text) > 0
       and j.state in ('cancelled', 'discarded', 'retryable', 'scheduled')
     order by j.id for update skip locked
  loop
    _retried := _retried + oxbow.retry_job(_job)::integer;
  end loop;
  return _retried;
end $$;
call oxbow.grant_app('retry_operation');

-- retry_job makes a job due now unless it is running, completed or due. It reports whether it did. A job that another
-- one replaced meanwhile stays as it is.
create or replace function oxbow.retry_job(_id bigint) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.river_job j
     set state = 'available', scheduled_at = now(), finalized_at = null,
         max_attempts = greatest(j.max_attempts, j.attempt + 1)
   where j.id = _id and j.state in ('cancelled', 'discarded', 'retryable', 'scheduled');
  if found then
    perform oxbow.ring_doorbell();
    return true;
  end if;
  return false;
exception when unique_violation then
  return false;
end $$;
call oxbow.grant_operator('retry_job', 'ring_doorbell');
