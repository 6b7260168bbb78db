-- The log of the events that changed the weights of memories (design §11). A weight is computed and not stored, so
-- functions that change its inputs call log_weight in the same transaction. The passing of time and changes of policies
-- are not logged.

-- log_weight records the effect of an event on the weight of a memory. before and after are its weights at the moment
-- _at, without the event and with it. An event that does not change the weight is not recorded.
create or replace function oxbow.log_weight(_user_id text, _type text, _id uuid, _at timestamptz, _cause text,
  _before double precision, _after double precision, _times bigint, _actor text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if _before <> _after then
    insert into oxbow.weight_log (user_id, memory_type, memory_id, at, cause, before, after, times, actor)
    values (_user_id, _type, _id, _at, _cause, _before, _after, _times, _actor);
  end if;
end $$;
call oxbow.grant_worker('log_weight');

-- trim_weight_log deletes at most _limit rows that are older than the policy weight_log_days, and returns their number.
create or replace function oxbow.trim_weight_log(_now timestamptz, _limit integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _before constant timestamptz := _now - make_interval(secs => 86400 * oxbow.policy('weight_log_days'));
  _deleted bigint;
begin
  delete from oxbow.weight_log l
   using (select d.user_id, d.memory_type, d.memory_id, d.id from oxbow.weight_log d where d.at < _before
           order by d.at limit _limit for update skip locked) d
   where l.user_id = d.user_id and l.memory_type = d.memory_type and l.memory_id = d.memory_id and l.id = d.id;
  get diagnostics _deleted = row_count;
  return _deleted;
end $$;
call oxbow.grant_worker('trim_weight_log');

-- refuse_log_change rejects changes to rows of the log.
create or replace function oxbow.refuse_log_change() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'integrity_constraint_violation', message = 'the log of weights is append-only';
end $$;
create or replace trigger refuse_log_change before update on oxbow.weight_log
  for each statement execute function oxbow.refuse_log_change();
