-- What "oxbow serve" keeps (migrations/015_server.sql).

-- check_api_key raises an error unless the key exists and is neither revoked nor expired. "oxbow serve" remembers keys
-- for some seconds and calls this in each transaction of a request, so that a revoked key ends at once.
create or replace function oxbow.check_api_key(_id uuid) returns void
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from oxbow.api_keys k where k.id = _id and k.revoked_at is null and coalesce(k.expires_at > now(), true);
  if not found then
    raise exception using errcode = 'OX120', message = 'the API key is not valid';
  end if;
end $$;
call oxbow.grant_app('check_api_key');

-- trim_api deletes at most _limit answers to repeated requests that are older than a day, as many sessions of the pages
-- that have expired, and as many rows of the audit log that are older than the policy api_log_days. It returns the
-- largest of the three numbers.
create or replace function oxbow.trim_api(_now timestamptz, _limit integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _before constant timestamptz := _now - make_interval(secs => 86400 * oxbow.policy('api_log_days'));
  _answers bigint;
  _sessions bigint;
  _parts bigint;
  _entries bigint;
begin
  delete from oxbow.api_answers a
   using (select d.user_id, d.key from oxbow.api_answers d where d.created_at < _now - interval '1 day'
           order by d.created_at limit _limit for update skip locked) d
   where a.user_id = d.user_id and a.key = d.key;
  get diagnostics _answers = row_count;
  delete from oxbow.page_sessions s
   using (select d.user_id, d.hash from oxbow.page_sessions d where d.expires_at < _now order by d.expires_at limit _limit
            for update skip locked) d
   where s.user_id = d.user_id and s.hash = d.hash;
  get diagnostics _sessions = row_count;
  delete from oxbow.import_parts p
   using (select d.user_id, d.import_id, d.part from oxbow.import_parts d where d.stored_at < _now - interval '1 hour'
           order by d.stored_at limit _limit for update skip locked) d
   where p.user_id = d.user_id and p.import_id = d.import_id and p.part = d.part;
  get diagnostics _parts = row_count;
  delete from oxbow.api_log l
   using (select d.user_id, d.id from oxbow.api_log d where d.at < _before order by d.at limit _limit
            for update skip locked) d
   where l.user_id = d.user_id and l.id = d.id;
  get diagnostics _entries = row_count;
  return greatest(_answers, _sessions, _parts, _entries);
end $$;
call oxbow.grant_worker('trim_api');

-- user_after returns the first user after the given one who has memories, messages or settings, or null.
create or replace function oxbow.user_after(_user_id text) returns text
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
  select least(
    (select m.user_id from oxbow.memories m where m.user_id > _user_id order by m.user_id limit 1),
    (select m.user_id from oxbow.messages m where m.user_id > _user_id order by m.user_id limit 1),
    (select u.user_id from oxbow.users u where u.user_id > _user_id order by u.user_id limit 1));
$$;
call oxbow.grant_operator('user_after');
