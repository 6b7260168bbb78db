-- Secrets: the worker searches texts for secrets before it indexes them or shows them to a model (internal/secrets),
-- and raises memories and messages that contain one to level 2, which is read by id only. With the policy refuse it
-- also forgets the memories and removes the texts of the messages; clients do not store them at all.

-- secrets_policy returns what the setting secrets says about texts with a secret: mark, refuse or store.
create or replace function oxbow.secrets_policy() returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce((select s.value ->> 'policy' from oxbow.settings s where s.key = 'secrets'), 'mark');
$$;
call oxbow.grant_app('secrets_policy');
call oxbow.grant_operator('secrets_policy');

-- mark_secrets raises memories to level 2, with the kinds of secrets in their history, and returns those that have that
-- level now. It marks a memory once, so a person can lower the level afterwards, or restore the memory. Rows are locked
-- in the order of users and ids.
create or replace function oxbow.mark_secrets(_user_ids text[], _ids uuid[], _kinds text[])
returns table (user_id text, id uuid)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
#variable_conflict error
declare
  _policy constant text := oxbow.secrets_policy();
  _found record;
  _memory record;
begin
  if _policy = 'store' then
    return;
  end if;
  for _found in
    select u.user_id, u.id, u.kinds from unnest(_user_ids, _ids, _kinds) u(user_id, id, kinds) order by 1, 2
  loop
    select m.memory_type, m.sensitivity into _memory from oxbow.memories m
     where m.user_id = _found.user_id and m.id = _found.id for no key update;
    continue when not found;
    if _memory.sensitivity < 2 and not exists (
      select from oxbow.memory_history h
       where h.user_id = _found.user_id and h.memory_type = _memory.memory_type and h.memory_id = _found.id
         and h.event = 'MARK') then
      update oxbow.memories m set sensitivity = 2, updated_at = now()
       where m.user_id = _found.user_id and m.memory_type = _memory.memory_type and m.id = _found.id;
      insert into oxbow.memory_history (user_id, memory_type, memory_id, event, reason)
      values (_found.user_id, _memory.memory_type, _found.id, 'MARK', 'contains a secret: ' || _found.kinds);
      if _policy = 'refuse' then
        perform oxbow.forget_memory(_found.user_id, _found.id, 'auto', 'system',
                                    'refused, because it contains a secret: ' || _found.kinds);
      end if;
    elsif _memory.sensitivity < 2 then
      continue;
    end if;
    user_id := _found.user_id;
    id := _found.id;
    return next;
  end loop;
end $$;
call oxbow.grant_worker('mark_secrets');

-- mark_secret_messages raises messages to level 2, from which nothing is extracted, and returns how many. Messages
-- cannot be forgotten, so refuse replaces their text, and removes speaker and metadata.
create or replace function oxbow.mark_secret_messages(_user_id text, _ids uuid[]) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  _policy constant text := oxbow.secrets_policy();
  _marked bigint;
begin
  if _policy = 'store' then
    return 0;
  end if;
  perform from oxbow.messages m where m.user_id = _user_id and m.id = any(_ids) order by m.id for no key update;
  update oxbow.messages m
     set sensitivity = 2, content = case when _policy = 'refuse' then '[refused]' else m.content end,
         speaker = case when _policy <> 'refuse' then m.speaker end,
         metadata = case when _policy = 'refuse' then '{}' else m.metadata end
   where m.user_id = _user_id and m.id = any(_ids) and m.sensitivity < 2;
  get diagnostics _marked = row_count;
  return _marked;
end $$;
call oxbow.grant_worker('mark_secret_messages');

-- follow_sensitivity removes a memory that was raised to level 2 from the indexes and the inbox, and enqueues embed for
-- one that was lowered below level 2.
create or replace function oxbow.follow_sensitivity() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  if new.sensitivity < 2 then
    if new.forgotten_at is null then
      insert into oxbow.river_job (kind, queue, max_attempts, args)
      values ('embed', 'embed', 25, jsonb_build_object('user_id', new.user_id, 'ids', new.id));
      perform oxbow.ring_doorbell();
    end if;
    return null;
  end if;
  delete from oxbow.memory_vectors v
   where v.user_id = new.user_id and v.memory_type = new.memory_type and v.memory_id = new.id;
  delete from oxbow.indexed_vectors v
   where v.user_id = new.user_id and v.memory_type = new.memory_type and v.memory_id = new.id;
  delete from oxbow.memory_terms t
   where t.user_id = new.user_id and t.memory_type = new.memory_type and t.memory_id = new.id;
  delete from oxbow.reflection_inbox i
   where i.user_id = new.user_id and i.memory_type = new.memory_type and i.memory_id = new.id;
  return null;
end $$;
create or replace trigger follow_sensitivity after update of sensitivity on oxbow.memories
  for each row when ((old.sensitivity < 2) <> (new.sensitivity < 2)) execute function oxbow.follow_sensitivity();
