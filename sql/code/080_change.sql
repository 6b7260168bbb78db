-- How a memory changes: a new version supersedes it, or it is forgotten and perhaps restored. Each change
-- adds a row to memory_history. Error codes: OX101 no such memory, OX102 already superseded, OX103
-- forgotten, OX104 not forgotten.

-- expand_memory restores the original of a compressed memory (064_levels.sql).
create or replace function oxbow.expand_memory(_user_id text, _id uuid) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.memories m set level = 'full' where m.user_id = _user_id and m.id = _id and m.level <> 'full';
$$;
call oxbow.grant_worker('expand_memory');

-- lock_memory returns a memory and locks it until the transaction ends, with a lock mode compatible with the lock of
-- embed on the memories that it indexes. It has all of the memory kept again.
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
   order by m.memory_type limit 1 for no key update;
  if not found then
    raise exception using
      errcode = 'OX101',
      message = format('user %L has no memory %s', left(_user_id, 255), _id),
      detail  = 'It may have been erased: forgotten memories are kept for 30 days.';
  end if;
  if memory.level <> 'full' then
    update oxbow.memories m set level = 'full'
     where m.user_id = _user_id and m.memory_type = memory.memory_type and m.id = _id returning * into memory;
  end if;
  return memory;
end $$;
call oxbow.grant_worker('lock_memory');

-- lock_kept is lock_memory for a memory that must not be forgotten.
create or replace function oxbow.lock_kept(_user_id text, _id uuid) returns oxbow.memories
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  memory constant oxbow.memories := oxbow.lock_memory(_user_id, _id);
begin
  if memory.forgotten_at is not null then
    raise exception using
      errcode = 'OX103',
      message = format('memory %s was forgotten at %s', memory.id, memory.forgotten_at),
      hint    = format('Restore it first: select oxbow.restore(user_id => %L, id => %L).', _user_id, memory.id);
  end if;
  return memory;
end $$;

-- supersede stores a new version of a memory and returns its id. The old version is true until valid_at (default: now)
-- and believed until now. To supersede a version that was wrong from the start, pass its own valid_at. A new version
-- with that beginning, or one within a time that is over, ends when the old one did. It inherits type, session and
-- position in it, speaker, agent, source, category, topic, importance, strength, tier, expiry, modality and reference,
-- but not verified, because nobody has confirmed the new text. Unless metadata is given, it also inherits the metadata,
-- with only the entities that the new content names. external_id stays with the old version, so that a repeated import
-- still finds it.
create or replace function oxbow.supersede(user_id text, id uuid, content text, valid_at timestamptz default null,
  metadata jsonb default null, reason text default null, actor text default 'app') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  new_id constant uuid := gen_random_uuid();
  kept jsonb; -- the metadata of the new version
begin
  perform oxbow.check_access(supersede.user_id);
  old := oxbow.lock_kept(supersede.user_id, supersede.id);
  if old.superseded_by is null and old.expires_at <= now() then
    raise exception using
      errcode = 'OX102',
      message = format('memory %s expired at %s', old.id, old.expires_at),
      hint    = format('Insert a new memory, or make this one permanent: select oxbow.promote(user_id => %L, id => %L).',
                       old.user_id, old.id);
  elsif old.expired_at is not null then
    raise exception using
      errcode = 'OX102',
      message = format('memory %s is already superseded%s', old.id, ' by ' || old.superseded_by),
      detail  = format('Since %s.', old.expired_at),
      hint    = coalesce('Supersede the newer version, ' || old.superseded_by || '.',
                         'The newer version was erased: insert a new memory.');
  elsif old.memory_type = 'trait'
    and not (coalesce(current_setting('oxbow.origin', true), '') = 'reflection'
             and oxbow.is_trusted(oxbow.caller())) then
    perform oxbow.reject('memory_type', 'trait', 'must be fact, episodic or document: only reflection changes traits');
  elsif old.sensitivity = 3 then
    perform oxbow.reject('sensitivity', '3',
      'must be below 3 to be superseded: store the new text as a separate sealed memory, and forget this one');
  elsif supersede.content is null then
    perform oxbow.reject('content', null, 'must not be blank or longer than 1 MiB');
  end if;

  kept := coalesce(supersede.metadata, oxbow.inherited_metadata(old.metadata, supersede.content));
  insert into oxbow.memories (user_id, memory_type, id, content, valid_at, invalid_at, version, session_id, seq,
    speaker, agent_id, source, category, topic, importance, strength, used_at, tier, metadata, expires_at, sensitivity,
    modality, reference)
  values (old.user_id, old.memory_type, new_id, supersede.content, supersede.valid_at,
    case when supersede.valid_at <= least(coalesce(old.valid_at, old.created_at), old.invalid_at)
           or supersede.valid_at < old.invalid_at and old.invalid_at <= now() then old.invalid_at end,
    old.version + 1, old.session_id, old.seq, old.speaker, old.agent_id, old.source, old.category, old.topic,
    old.importance, old.strength, old.used_at, old.tier, kept, old.expires_at, old.sensitivity, old.modality,
    old.reference);
  if old.source = 'summary' then -- the conversation continues with the new version
    insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id)
    select s.user_id, s.memory_type, new_id, s.session_id from oxbow.memory_sources s
     where s.user_id = old.user_id and s.memory_type = old.memory_type and s.memory_id = old.id
       and s.message_id is null;
    update oxbow.sessions s set summary_id = new_id
     where s.user_id = old.user_id and s.id = any(oxbow.sessions_of(old.user_id, old.id)) and s.summary_id = old.id;
  end if;

  update oxbow.memories m
     set invalid_at = least(old.invalid_at, greatest(coalesce(supersede.valid_at, now()), old.valid_at)),
         expired_at = now(), superseded_by = new_id, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  values (old.user_id, old.memory_type, new_id, old.memory_type, old.id, 'supersedes');
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, old_metadata,
    new_metadata, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'SUPERSEDE', old.content, supersede.content, old.metadata,
    kept, oxbow.person_actor(coalesce(supersede.actor, 'app')), supersede.reason);
  return new_id;
end $$;
call oxbow.grant_app('supersede');

-- repeats_of returns a memory with the originals that were merged into it, and the memories that were folded into
-- these: facts of equal oxbow.content_hash, images, recordings and files. For a forgotten memory it leaves out those
-- that were restored separately.
create or replace function oxbow.repeats_of(_user_id text, _id uuid) returns uuid[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive itself as (
    select m.memory_type, m.id, m.content_hash, m.forgotten_at is not null as forgotten from oxbow.memories m
     where m.user_id = _user_id and m.id = _id
  ), repeated as (
    select i.id, i.content_hash, i.forgotten from itself i
    union
    select o.id, o.content_hash, o.forgotten_at is not null
      from itself i
      join oxbow.memory_links l on l.user_id = _user_id and l.from_type = i.memory_type and l.from_id = i.id
       and l.relation = 'merged_from'
     cross join lateral (select o.* from oxbow.memories o
                          where o.user_id = _user_id and o.memory_type = l.to_type and o.id = l.to_id offset 0) o
     where o.superseded_by = i.id and (o.forgotten_at is not null or not i.forgotten)
    union
    select d.id, d.content_hash, d.forgotten_at is not null
      from repeated r
      join oxbow.memories d on d.user_id = _user_id and d.superseded_by = r.id
       and (d.memory_type = 'fact' and d.content_hash = r.content_hash or oxbow.is_attached(d))
     where d.forgotten_at is not null or not r.forgotten
  )
  select coalesce(array_agg(r.id order by r.id), array[_id]) from repeated r;
$$;
call oxbow.grant_worker('repeats_of');

-- lock_repeats is repeats_of, but also locks the memories, in the order of their ids. A concurrent job may
-- fold another fact, so it checks again once it has the locks.
create or replace function oxbow.lock_repeats(_user_id text, _id uuid) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _ids uuid[];
  _locked uuid[];
begin
  perform oxbow.expand_memory(_user_id, _id); -- repeats have the hash of the whole text
  _ids := oxbow.repeats_of(_user_id, _id);
  loop
    perform from oxbow.memories m
      where m.user_id = _user_id and m.memory_type in ('fact', 'episodic') and m.id = any(_ids)
      order by m.id for no key update;
    _locked := _ids;
    _ids := oxbow.repeats_of(_user_id, _id);
    exit when _ids is not distinct from _locked;
  end loop;
  return _ids;
end $$;
call oxbow.grant_worker('lock_repeats');

-- forget_memory forgets a memory, with the facts that only repeated it, and notes who did (W's deletion policies):
--   user   a person or an application, by oxbow.forget
--   auto   Oxbow, such as the reviewer, and a summary because of what it covers
--   merge  merging
-- It can be restored for 30 days, after which sweep erases it. A merged memory is forgotten with its originals;
-- forgetting one of the originals unmerges it. The function returns false if the memory was forgotten already.
create or replace function oxbow.forget_memory(_user_id text, _id uuid, _by text, _actor text, _reason text)
returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  _ids uuid[]; -- the fact and those folded into it, which as-of queries would return
  _sessions text[];
  _summaries uuid[];
begin
  perform oxbow.leave_merge(_user_id, _id);
  _ids := oxbow.lock_repeats(_user_id, _id);
  old := oxbow.lock_memory(_user_id, _id);
  if old.forgotten_at is not null then
    return false;
  end if;
  update oxbow.memories m set forgotten_at = now(), forgotten_by = _by, updated_at = now()
   where m.user_id = _user_id and m.id = any(_ids) and m.forgotten_at is null;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
  values (_user_id, old.memory_type, _id, 'DELETE', old.content, old.metadata, _actor, _reason);
  select coalesce(array_agg(distinct s), '{}') into _sessions
    from unnest(_ids) i(id), unnest(oxbow.sessions_of(_user_id, i.id)) s;
  if _sessions = '{}' then
    return true;
  end if;
  _summaries := oxbow.withdraw_summaries(_user_id, _sessions);
  with withdrawn as (
    update oxbow.memories m set forgotten_at = now(), forgotten_by = 'auto', updated_at = now()
     where m.user_id = _user_id and m.memory_type = 'episodic' and m.forgotten_at is null and m.id = any(_summaries)
    returning m.id, m.content, m.metadata
  )
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, old_metadata, actor, reason)
  select _user_id, 'episodic', w.id, 'DELETE', w.content, w.metadata, _actor, 'it covered a forgotten memory'
    from withdrawn w;
  return true;
end $$;
call oxbow.grant_worker('forget_memory');

-- forget hides a memory from recall at once, including as-of queries. It can be restored for 30 days, after which sweep
-- erases it. Older versions stay visible unless they only repeated the memory. Forgetting a forgotten memory has no
-- effect. Summaries of the conversations in which it was said are forgotten with it, but not restored with it.
drop function if exists oxbow.forget(text, uuid, text); -- an earlier version had no actor
create or replace function oxbow.forget(user_id text, id uuid, reason text default null, actor text default 'app')
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access(forget.user_id);
  perform oxbow.forget_memory(forget.user_id, forget.id, 'user', oxbow.person_actor(coalesce(forget.actor, 'app')),
                              forget.reason);
end $$;
call oxbow.grant_app('forget');

-- restore reverts a forget, or makes a fact current again that another replaced or negated; the other stays. It
-- restores the original of a compressed memory, and makes it active again if time would soon compress it. It enqueues
-- embed for a memory that was forgotten before it was embedded. It restores an original of a merged memory by unmerging
-- that one. It refuses an unmerged memory if one of its originals is no longer current, which would count twice.
drop function if exists oxbow.restore(text, uuid); -- an earlier version had no actor
create or replace function oxbow.restore(user_id text, id uuid, actor text default 'app') returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  _ids uuid[];
  _originals uuid[];
  _ended uuid;
  _now constant timestamptz := clock_timestamp();
  _rules oxbow.recall_rules;
  _actor constant text := oxbow.person_actor(coalesce(restore.actor, 'app'));
  _kept constant text := (select m.level from oxbow.memories m where m.user_id = restore.user_id and m.id = restore.id);
begin
  perform oxbow.check_access(restore.user_id);
  if oxbow.leave_merge(restore.user_id, restore.id) then
    return;
  end if;
  _ids := oxbow.lock_repeats(restore.user_id, restore.id);
  old := oxbow.lock_memory(restore.user_id, restore.id);
  if old.memory_type <> 'trait' and (_kept <> 'full' or oxbow.policy('level_summary_days')
       <= oxbow.days_since(coalesce(old.activated_at, old.created_at), now())) then
    update oxbow.memories m set activated_at = now()
     where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
    _rules := oxbow.recall_rules(old.user_id, 'infinity');
    perform oxbow.log_weight(old.user_id, m.memory_type, m.id, _now, 'restored', oxbow.weight_of(old, _now, _rules),
                             oxbow.weight_of(m, _now, _rules), 1, _actor)
       from oxbow.memories m
      where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
    old.activated_at := now();
  end if;
  if old.forgotten_at is null and (old.memory_type = 'fact' or oxbow.is_attached(old))
    and (old.expired_at is not null or old.negated_at is not null)
    and (old.expires_at is null or old.expires_at > now()) then -- promote is for one that expired
    update oxbow.memories m
       set expired_at = null, superseded_by = null, negated_at = null, updated_at = now(),
           invalid_at = case when old.expired_at is null and not exists ( -- its own, if it was only contradicted
             select from oxbow.memory_links l
              where l.user_id = old.user_id and l.to_type = old.memory_type and l.to_id = old.id
                and l.relation = 'supersedes') then m.invalid_at end
     where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
    if old.negated_at is not null then
      _rules := oxbow.recall_rules(old.user_id, 'infinity');
      perform oxbow.log_weight(old.user_id, m.memory_type, m.id, _now, 'restored', oxbow.weight_of(old, _now, _rules),
                               oxbow.weight_of(m, _now, _rules), 1, _actor)
         from oxbow.memories m
        where m.user_id = old.user_id and m.memory_type = 'fact' and m.id = old.id;
    end if;
    delete from oxbow.memory_links l
     where l.user_id = old.user_id and l.to_type = old.memory_type and l.to_id = old.id
       and l.relation in ('supersedes', 'contradicts');
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_content, new_metadata, actor)
    values (old.user_id, old.memory_type, old.id, 'RESTORE', old.content, old.metadata, _actor);
    return;
  elsif old.forgotten_at is null and _kept <> 'full' then
    return;
  elsif old.forgotten_at is null and old.expires_at <= now() then
    raise exception using
      errcode = 'OX104',
      message = format('memory %s of user %L is not forgotten: it expired at %s', old.id, old.user_id, old.expires_at),
      hint    = format('oxbow.promote(user_id => %L, id => %L) makes it current again.', old.user_id, old.id);
  elsif old.forgotten_at is null then
    raise exception using
      errcode = 'OX104',
      message = format('memory %s of user %L is not forgotten', old.id, old.user_id);
  end if;
  _originals := array(select l.to_id from oxbow.memory_links l
                       where l.user_id = old.user_id and l.from_type = old.memory_type and l.from_id = old.id
                         and l.relation = 'merged_from');
  perform from oxbow.memories o where o.user_id = old.user_id and o.id = any(_originals)
    order by o.id for no key update;
  select o.id into _ended from oxbow.memories o
   where o.user_id = old.user_id and o.id = any(_originals) and o.superseded_by is distinct from old.id
     and (o.expired_at is not null or o.forgotten_at is not null) order by o.id limit 1;
  if found then
    raise exception using
      errcode = 'OX102',
      message = format('memory %s cannot be restored: its original %s is no longer current', old.id, _ended),
      hint    = 'Merge the originals that are current with oxbow.merge.';
  end if;
  update oxbow.memories m set forgotten_at = null, forgotten_by = null, updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = any(_ids)
     and m.forgotten_at = old.forgotten_at;
  with ended as ( -- a merged memory stands for its originals again
    update oxbow.memories o
       set expired_at = now(), invalid_at = coalesce(o.valid_at, o.created_at), superseded_by = old.id,
           updated_at = now(),
           weight_next_at = now() + make_interval(secs => 86400 * oxbow.policy('merge_archive_days'))
     where o.user_id = old.user_id and o.memory_type = old.memory_type and o.id = any(_originals)
       and o.expired_at is null
    returning o.memory_type, o.id, o.content
  )
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
  select old.user_id, e.memory_type, e.id, 'SUPERSEDE', e.content, old.content, _actor, 'the merged memory was restored'
    from ended e;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_content, new_metadata, actor)
  values (old.user_id, old.memory_type, old.id, 'RESTORE', old.content, old.metadata, _actor);
  if old.sensitivity < 2 and not exists (select from oxbow.memory_vectors v
                  where v.user_id = old.user_id and v.memory_type = old.memory_type and v.memory_id = old.id) then
    insert into oxbow.river_job (kind, queue, max_attempts, args)
    values ('embed', 'embed', 25, jsonb_build_object('user_id', old.user_id, 'ids', old.id));
    perform oxbow.ring_doorbell();
  end if;
end $$;
call oxbow.grant_app('restore');

-- beside_versions returns, for each memory, the memories linked to it: those that it supersedes or
-- contradicts, and those that supersede or contradict it. Each is looked up separately (lateral, offset 0),
-- regardless of a plan made while the tables were small.
create or replace function oxbow.beside_versions(_user_id text, _ids uuid[]) returns table (id uuid, other uuid)
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off as $$
#variable_conflict error
begin
  return query
  select m.id, n.id
    from unnest(_ids) i(id)
   cross join lateral (select m.memory_type, m.id, m.superseded_by from oxbow.memories m
                        where m.user_id = _user_id and m.id = i.id offset 0) m
   cross join lateral (
    select m.superseded_by as id where m.superseded_by is not null
    union all
    select o.id from oxbow.memories o where o.user_id = _user_id and o.superseded_by = m.id
    union all
    select l.to_id from oxbow.memory_links l
     where l.user_id = _user_id and l.from_type = m.memory_type and l.from_id = m.id
       and l.relation in ('supersedes', 'contradicts')
    union all
    select l.from_id from oxbow.memory_links l
     where l.user_id = _user_id and l.to_type = m.memory_type and l.to_id = m.id
       and l.relation in ('supersedes', 'contradicts')) n;
end $$;

-- versions returns all versions of a memory, older and newer, including itself.
create or replace function oxbow.versions(user_id text, id uuid) returns table (memory_type text, memory_id uuid)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set jit = off as $$
#variable_conflict error
begin
  perform oxbow.check_access(versions.user_id);
  return query
  with recursive chain as (
    select versions.id as id
    union
    select b.other from chain c, oxbow.beside_versions(versions.user_id, array[c.id]) b
  )
  select m.memory_type::text, m.id
    from chain c
   cross join lateral (select m.memory_type, m.id from oxbow.memories m
                        where m.user_id = versions.user_id and m.id = c.id offset 0) m;
end $$;
call oxbow.grant_app('versions');

-- history shows the rows of memory_history, and an ADD for each memory that has none there. A plain INSERT
-- adds no row to memory_history, because the memory itself records its creation.
create or replace view oxbow.history with (security_invoker = true) as
select h.user_id, h.memory_type, h.memory_id, h.event, h.old_content, h.new_content, h.old_metadata, h.new_metadata,
       h.actor, h.reason, h.message_ids, h.created_at as at
  from oxbow.memory_history h
union all
select m.user_id, m.memory_type, m.id, 'ADD', null, coalesce(a.content, m.content), null,
       coalesce(a.metadata, m.metadata), coalesce(m.source, 'app'), null, '{}', m.created_at
  from oxbow.memories m
  left join oxbow.memory_archive a on a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id
 where not exists (select from oxbow.memory_history h
                    where h.user_id = m.user_id and h.memory_type = m.memory_type and h.memory_id = m.id
                      and h.event = 'ADD');

-- history returns what happened to a memory and all its versions, in order: an ADD for the creation of
-- each, the events of memory_history, and a STAGE_CHANGE for each event that changed a trait's stage. The
-- ADD of an extracted memory has the reason from memory_history; any other ADD is derived from the memory's
-- row. message_ids are the source messages.
drop function if exists oxbow.history(text, uuid); -- an earlier version had fewer columns
create function oxbow.history(user_id text, id uuid)
returns table (at timestamptz, event text, memory_id uuid, memory_type text, version integer, old_content text,
  new_content text, old_metadata jsonb, new_metadata jsonb, actor text, reason text, message_ids uuid[])
language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
  perform oxbow.check_access(history.user_id);
  return query
  with version as (
    select m.id, m.user_id, m.memory_type, m.version, m.created_at, m.source, coalesce(a.content, m.content) as content,
           coalesce(a.metadata, m.metadata) as metadata
      from oxbow.versions(history.user_id, history.id) v
     cross join lateral ( -- separately, or all of the user's memories are read
       select m.* from oxbow.memories m
        where m.user_id = history.user_id and m.memory_type = v.memory_type and m.id = v.memory_id offset 0) m
      left join lateral (
       select a.content, a.metadata from oxbow.memory_archive a
        where a.user_id = history.user_id and a.memory_type = v.memory_type and a.memory_id = v.memory_id offset 0) a
        on m.level <> 'full'
  ), noted as (
    select v.id, v.memory_type, v.version, h.event, h.old_content, h.new_content, h.old_metadata, h.new_metadata,
           h.actor, h.reason, h.message_ids, h.created_at
      from version v
     cross join lateral (
       select h.* from oxbow.memory_history h
        where h.user_id = history.user_id and h.memory_type = v.memory_type and h.memory_id = v.id offset 0) h
  ), happened as (
    select v.created_at as at, 'ADD' as event, v.id, v.memory_type::text, v.version, null as old_content,
           v.content as new_content, null::jsonb as old_metadata, v.metadata as new_metadata,
           coalesce(n.actor, v.source) as actor, n.reason, coalesce(n.message_ids, '{}') as message_ids, 0 as nth
      from version v
      left join lateral (
        -- an UPDATE by an extraction is recorded with the replaced memory; reconcile did not store the new one
        select n.actor, case when n.event = 'ADD' then n.reason end as reason, n.message_ids
          from noted n
         where n.event = 'ADD' and n.id = v.id
            or n.event = 'UPDATE' and n.id <> v.id and n.new_content = v.content and n.created_at >= v.created_at
               and v.source in ('extraction', 'summary')
         order by n.event, n.created_at limit 1) n on true
    union all
    select n.created_at, n.event, n.id, n.memory_type::text, n.version, n.old_content, n.new_content, n.old_metadata,
           n.new_metadata, n.actor, n.reason, n.message_ids, 1
      from noted n where n.event <> 'ADD'
    union all
    select e.created_at, 'STAGE_CHANGE', v.id, v.memory_type::text, v.version, null, null,
           jsonb_build_object('stage', e.last_stage),
           jsonb_strip_nulls(jsonb_build_object('stage', e.stage, 'confidence', e.confidence)), e.actor,
           coalesce(e.reason, e.event), '{}', 2
      from version v, lateral (
        select t.*, lag(t.stage) over (order by t.seq) as last_stage
          from oxbow.trait_events t where t.user_id = v.user_id and t.trait_id = v.id) e
     where v.memory_type = 'trait' and e.last_stage <> e.stage
  )
  select h.at, h.event, h.id, h.memory_type, h.version, h.old_content, h.new_content, h.old_metadata, h.new_metadata,
         h.actor, h.reason, h.message_ids
    from happened h order by h.at, h.version, h.nth, h.id;
end $$;
call oxbow.grant_app('history');
