-- How a memory changes: a new version supersedes it, or it is forgotten and perhaps restored. Each leaves a row in
-- memory_history. Errors have codes of their own: OX101 no such memory, OX102 superseded already, OX103 forgotten, OX104
-- not forgotten.

-- lock_memory returns the memory and keeps others from changing it until the transaction ends.
create or replace function oxbow.lock_memory(_user_id text, _id uuid) returns oxbow.memories
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  memory oxbow.memories;
begin
  if _id is null then
    perform oxbow.reject('id', null, 'must not be null');
  end if;
  select m.* into memory from oxbow.memories m
   where m.user_id = _user_id and m.id = _id
   order by m.memory_type limit 1 for update;
  if not found then
    raise exception using
      errcode = 'OX101',
      message = format('user %L has no memory %s', _user_id, _id),
      detail  = 'It may have been erased: what is forgotten is kept for 30 days.';
  end if;
  return memory;
end $$;
revoke all on function oxbow.lock_memory from public;

-- supersede stores a new version of a memory and returns its id. The old version is true until valid_at (by default: now)
-- and is believed until now; a version that was wrong from the start is superseded by one with the same valid_at. The new
-- one takes over what is not given: type, session and place in it, speaker, agent, source, category, importance, metadata (of
-- the entities there, those that it names itself).
-- external_id stays with the old one, so that a repeated import still finds it.
create or replace function oxbow.supersede(user_id text, id uuid, content text, valid_at timestamptz default null,
  metadata jsonb default null, reason text default null, actor text default 'app') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  new_id constant uuid := gen_random_uuid();
  kept jsonb; -- the metadata of the new version
begin
  perform oxbow.check_access(supersede.user_id);
  old := oxbow.lock_memory(supersede.user_id, supersede.id);
  if old.forgotten_at is not null then
    raise exception using
      errcode = 'OX103',
      message = format('memory %s is forgotten since %s', old.id, old.forgotten_at),
      hint    = format('Restore it first: select oxbow.restore(user_id => %L, id => %L).', old.user_id, old.id);
  elsif old.expired_at is not null then
    raise exception using
      errcode = 'OX102',
      message = format('memory %s is superseded already%s', old.id, ' by ' || old.superseded_by),
      detail  = format('Since %s.', old.expired_at),
      hint    = coalesce('Supersede the newer version, ' || old.superseded_by || '.', 'The newer version was erased: insert a new memory.');
  elsif old.memory_type = 'trait'
    and not (coalesce(current_setting('oxbow.origin', true), '') = 'reflection' and oxbow.is_trusted(oxbow.caller())) then
    perform oxbow.reject('memory_type', 'trait', 'must be fact, episodic or document: only reflection changes traits');
  elsif supersede.content is null then
    perform oxbow.reject('content', null, 'must not be blank, nor longer than 1 MiB');
  end if;

  kept := coalesce(supersede.metadata, oxbow.inherited_metadata(old.metadata, supersede.content));
  insert into oxbow.memories (user_id, memory_type, id, content, valid_at, version, session_id, seq, speaker, agent_id,
    source, category, importance, metadata)
  values (old.user_id, old.memory_type, new_id, supersede.content, supersede.valid_at, old.version + 1, old.session_id, old.seq,
    old.speaker, old.agent_id, old.source, old.category, old.importance, kept);

  update oxbow.memories m
     set invalid_at = least(old.invalid_at, greatest(coalesce(supersede.valid_at, now()), old.valid_at)),
         expired_at = now(), superseded_by = new_id, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  values (old.user_id, old.memory_type, new_id, old.memory_type, old.id, 'supersedes');
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, old_metadata,
    new_metadata, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'SUPERSEDE', old.content, supersede.content, old.metadata,
    kept, coalesce(supersede.actor, 'app'), supersede.reason);
  return new_id;
end $$;

-- forget hides a memory from recall at once, as of any time. It can be restored for 30 days; then sweep erases it. Older
-- versions of it stay as they are. What is forgotten already stays so.
create or replace function oxbow.forget(user_id text, id uuid, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(forget.user_id);
  old := oxbow.lock_memory(forget.user_id, forget.id);
  if old.forgotten_at is not null then
    return;
  end if;
  update oxbow.memories m set forgotten_at = now(), updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'DELETE', old.content, old.metadata, 'app', forget.reason);
end $$;

-- restore takes a forget back. If the memory was forgotten before it was embedded, it is embedded now.
create or replace function oxbow.restore(user_id text, id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(restore.user_id);
  old := oxbow.lock_memory(restore.user_id, restore.id);
  if old.forgotten_at is null then
    raise exception using
      errcode = 'OX104',
      message = format('memory %s of user %L is not forgotten', old.id, old.user_id);
  end if;
  update oxbow.memories m set forgotten_at = null, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_content, new_metadata, actor)
  values (old.user_id, old.memory_type, old.id, 'RESTORE', old.content, old.metadata, 'app');
  if not exists (select from oxbow.memory_vectors v
                  where v.user_id = old.user_id and v.memory_type = old.memory_type and v.memory_id = old.id) then
    insert into oxbow.river_job (kind, queue, max_attempts, args)
    values ('embed', 'embed', 25, jsonb_build_object('user_id', old.user_id, 'ids', old.id));
    perform oxbow.ring_doorbell();
  end if;
end $$;

-- history returns what happened to a memory and to all its versions, older and newer, in order: ADD for the making of
-- each, which is told by its row, the events of memory_history, and STAGE_CHANGE for the events that took a trait from one
-- stage to another.
create or replace function oxbow.history(user_id text, id uuid)
returns table (at timestamptz, event text, memory_id uuid, memory_type text, version integer, old_content text, new_content text,
  old_metadata jsonb, new_metadata jsonb, actor text, reason text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(history.user_id);
  return query
  with recursive chain as (
    select m.id, m.superseded_by from oxbow.memories m where m.user_id = history.user_id and m.id = history.id
    union
    select m.id, m.superseded_by
      from chain c join oxbow.memories m
        on m.user_id = history.user_id and (m.id = c.superseded_by or m.superseded_by = c.id)
  ), version as (
    select m.* from chain c join oxbow.memories m on m.user_id = history.user_id and m.id = c.id
  ), happened as (
    select v.created_at as at, 'ADD' as event, v.id, v.memory_type::text, v.version, null as old_content, v.content as new_content,
           null::jsonb as old_metadata, v.metadata as new_metadata, v.source as actor, null as reason, 0 as nth
      from version v
    union all
    select h.created_at, h.event, v.id, v.memory_type::text, v.version, h.old_content, h.new_content, h.old_metadata, h.new_metadata,
           h.actor, h.reason, 1
      from version v join oxbow.memory_history h
        on h.user_id = v.user_id and h.memory_type = v.memory_type and h.memory_id = v.id
    union all
    select e.created_at, 'STAGE_CHANGE', v.id, v.memory_type::text, v.version, null, null, jsonb_build_object('stage', e.before),
           jsonb_strip_nulls(jsonb_build_object('stage', e.stage, 'confidence', e.confidence)), e.actor, coalesce(e.reason, e.event), 2
      from version v, lateral (
        select t.*, lag(t.stage) over (order by t.seq) as before
          from oxbow.trait_events t where t.user_id = v.user_id and t.trait_id = v.id) e
     where v.memory_type = 'trait' and e.before <> e.stage
  )
  select h.at, h.event, h.id, h.memory_type, h.version, h.old_content, h.new_content, h.old_metadata, h.new_metadata, h.actor, h.reason
    from happened h order by h.at, h.version, h.nth, h.id;
end $$;
