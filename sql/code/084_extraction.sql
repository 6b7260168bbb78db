-- is_about reports whether a fact is about any of the given subjects.
create or replace function oxbow.is_about(_user_id text, _id uuid, _about text[]) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from oxbow.fact_subjects s
                  where s.user_id = _user_id and s.memory_id = _id and s.about = any(_about));
$$;
call oxbow.grant_worker('is_about');

-- write_earlier inserts a newly written memory into the version chain of a later one, in the order in which the
-- versions were true, not in which they were learned: the next version supersedes it, and it supersedes the previous
-- one if that is about the same topic.
create or replace function oxbow.write_earlier(_user_id text, _actor text, _type oxbow.memory_type, _id uuid,
  _later oxbow.memories, _reason text, _messages uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
declare
  new oxbow.memories;
  next oxbow.memories := _later;
  _target constant uuid := _later.id; -- the reason is about this one, not about versions between
  _about text[];
begin
  select * into new from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id for no key update;
  _about := array(select s.about from oxbow.fact_subjects s where s.user_id = _user_id and s.memory_id = _id);
  while found loop
    _later := next;
    select * into next from oxbow.memories m
     where m.user_id = _user_id and m.memory_type = _type and m.superseded_by = _later.id and m.id <> _id
       and m.forgotten_at is null and m.valid_at > new.valid_at
       and m.speaker is not distinct from new.speaker and oxbow.is_about(_user_id, m.id, _about)
     order by m.valid_at, m.id limit 1;
  end loop;
  if new.invalid_at <= coalesce(_later.valid_at, _later.created_at) then -- another target of this update is closer
    return;
  end if;
  update oxbow.memories m
     set invalid_at = coalesce(_later.valid_at, _later.created_at), expired_at = now(), superseded_by = _later.id,
         updated_at = now()
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id;
  if new.expired_at is null then
    insert into oxbow.memory_history
      (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason, message_ids)
    values (_user_id, _type, _id, 'ADD', null, new.content, _actor, null, _messages),
           (_user_id, _type, _id, 'UPDATE', new.content, _later.content, _actor,
            case when _later.id = _target then _reason end, _messages);
  else
    update oxbow.memory_history h set new_content = _later.content
     where h.user_id = _user_id and h.memory_type = _type and h.memory_id = _id and h.event = 'UPDATE';
  end if;
  with before as (
    update oxbow.memories m set invalid_at = new.valid_at, superseded_by = _id, updated_at = now()
     where m.user_id = _user_id and m.memory_type = _type and m.superseded_by = _later.id and m.id <> _id
       and m.forgotten_at is null and m.valid_at <= new.valid_at and m.invalid_at > new.valid_at
       and m.speaker is not distinct from new.speaker and oxbow.is_about(_user_id, m.id, _about)
    returning m.id, m.content
  ), noted as (
    insert into oxbow.memory_history
      (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason, message_ids)
    select _user_id, _type, b.id, 'UPDATE', b.content, new.content, _actor, null, _messages from before b
  )
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  select _user_id, _later.memory_type, _later.id, _type, _id, 'supersedes'
  union all
  select _user_id, _type, _id, _type, b.id, 'supersedes' from before b
  on conflict do nothing;
end $$;
call oxbow.grant_worker('write_earlier');

-- begin_earlier moves the beginning of a fact back to _at, if both are moments at which it was mentioned. A beginning
-- that was stated stays, and so does that of a fact that replaced another.
create or replace function oxbow.begin_earlier(_user_id text, _id uuid, _at timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.memories_fact m set valid_at = _at
    from (select array_agg(g.created_at) as mentioned
            from oxbow.memory_sources s
            join oxbow.messages g on g.user_id = _user_id and g.id = s.message_id
           where s.user_id = _user_id and s.memory_type = 'fact' and s.memory_id = _id) s
   where m.user_id = _user_id and m.id = _id and m.valid_at > _at
     and m.valid_at = any(s.mentioned) and _at = any(s.mentioned)
     and not exists (select from oxbow.memory_links l
                      where l.user_id = _user_id and l.from_type = 'fact' and l.from_id = _id
                        and l.relation = 'supersedes');
$$;
call oxbow.grant_worker('begin_earlier');

-- apply_operations applies what was decided about new memories to the memories that they are about.
--   _operations  [{"id", "type", "content", "at", "category", "sources": [message ids], "reason",
--                   "operation": ADD | UPDATE | DELETE | NOOP, "target", "also": [other targets of an UPDATE], "policy"}]
--   _new         memories of this transaction, which may already have ended when they were said
-- A target that is not a current memory is the error OX105. The policy of the category, from the settings
-- or as given, decides about the old memory of an UPDATE:
--   latest_wins     it was true until now, and is superseded
--   version_keep    it was true until now, and is kept as a negated one
--   weight_balance  both are current; the old one is negated
-- A memory has the highest sensitivity of its messages and of what it replaces. Statements may come in any order: one
-- older than the last mention of the old memory is placed before it.
create or replace function oxbow.apply_operations(_user_id text, _actor text, _operations json, _new uuid[],
  out updated integer, out deleted integer, out mentioned integer)
language plpgsql set search_path = pg_catalog, pg_temp
-- otherwise the foreign keys to the partitioned table memories are planned again for every row
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict error
declare
  _policies constant jsonb := coalesce(
    (select s.value -> 'policies' from oxbow.settings s where s.key = 'conversations'), '{}');
  r record;
  old oxbow.memories;
  _policy text;
  _began timestamptz; -- of the old memory
  _earlier boolean;
  _said record;
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _now timestamptz;
begin
  updated := 0; deleted := 0; mentioned := 0;
  for r in
    select m.*, t.of
      from json_to_recordset(_operations) m (type text, id uuid, content text, at timestamptz, category text,
             sources uuid[], reason text, operation text, target uuid, also uuid[], policy text),
           unnest(m.target || m.also) t(of)
     where m.operation <> 'ADD'
  loop
    select * into old from oxbow.memories m
     where m.user_id = _user_id and m.id = r.of and m.memory_type in ('fact', 'episodic') and m.forgotten_at is null
       and m.sensitivity < 2 and (m.expired_at is null or m.id = any(_new))
       for no key update;
    if not found then
      raise exception using errcode = 'OX105',
        message = format('memory %s is not a current memory of user %L', r.of, _user_id);
    end if;
    -- it was written just now and had already ended when it was said: the update applies to its current successor
    if old.expired_at is not null and r.operation = 'UPDATE' then
      while old.expired_at is not null loop
        select * into old from oxbow.memories m
         where m.user_id = _user_id and m.id = old.superseded_by and m.memory_type in ('fact', 'episodic')
           and m.forgotten_at is null
           for no key update;
      end loop;
      continue when old.id is null; -- it has none
    end if;
    case r.operation
      when 'UPDATE' then
        updated := updated + (r.of = r.target)::integer;
        _policy := coalesce(_policies ->> coalesce(r.category, oxbow.category_of(old.category), 'fact'), r.policy);
        _began := coalesce(old.valid_at, old.created_at);
        -- the start may be stated later, so the order of the statements decides; what an application stored counts as
        -- stated then
        _earlier := r.at < _began;
        if _earlier then
          select coalesce(
            (select min(g.created_at) from oxbow.messages g where g.user_id = _user_id and g.id = any(r.sources))
            < coalesce((select max(g.created_at)
                 from oxbow.memory_sources s join oxbow.messages g on g.user_id = _user_id and g.id = s.message_id
                where s.user_id = _user_id and s.memory_type = old.memory_type and s.memory_id = old.id),
                old.created_at), true)
            into _earlier;
        end if;
        if _earlier then
          perform oxbow.write_earlier(_user_id, _actor, r.type, r.id, old, r.reason, r.sources);
        elsif _policy = 'weight_balance' then
          update oxbow.memories m set negated_at = greatest(m.negated_at, least(r.at, now())), updated_at = now()
           where m.user_id = _user_id and m.memory_type = old.memory_type and m.id = old.id;
        else
          update oxbow.memories m
             set invalid_at = least(m.invalid_at, greatest(r.at, m.valid_at)), updated_at = now(),
                 expired_at = case when _policy = 'latest_wins' then now() end,
                 superseded_by = case when _policy = 'latest_wins' then r.id end,
                 negated_at = greatest(m.negated_at, case when _policy = 'version_keep' then least(r.at, now()) end)
           where m.user_id = _user_id and m.memory_type = old.memory_type and m.id = old.id;
        end if;
        if not _earlier and _policy <> 'latest_wins' then
          _now := clock_timestamp();
          perform oxbow.log_weight(_user_id, m.memory_type, m.id, _now, 'negated', oxbow.weight_of(old, _now, _rules),
                                   oxbow.weight_of(m, _now, _rules), 1, _actor)
             from oxbow.memories m
            where m.user_id = _user_id and m.memory_type = old.memory_type and m.id = old.id;
        end if;
        if old.sensitivity > 0 then
          update oxbow.memories m set sensitivity = old.sensitivity
           where m.user_id = _user_id and m.memory_type = r.type and m.id = r.id and m.sensitivity < old.sensitivity;
        end if;
        continue when _earlier;
        insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
        values (_user_id, r.type, r.id, old.memory_type, old.id,
                case when _policy = 'weight_balance' then 'contradicts' else 'supersedes' end)
        on conflict do nothing;
      when 'DELETE' then
        deleted := deleted + 1;
        update oxbow.memories m
           set invalid_at = least(m.invalid_at, greatest(r.at, m.valid_at)),
               expired_at = coalesce(m.expired_at, now()), updated_at = now()
         where m.user_id = _user_id and m.memory_type = old.memory_type and m.id = old.id;
      when 'NOOP' then
        mentioned := mentioned + 1;
        -- said in messages, or stored by an application as the memory r.id, which then repeats the target
        select coalesce(max(g.created_at), m.created_at) as said, coalesce(max(g.sensitivity), m.sensitivity) as level
          into _said
          from (values (1)) one
          left join oxbow.memories m on m.user_id = _user_id and m.memory_type = r.type and m.id = r.id
          left join oxbow.messages g on g.user_id = _user_id and g.id = any(r.sources)
         group by m.created_at, m.sensitivity;
        perform oxbow.mention_memory(_user_id, old.memory_type, old.id, array[_said.said], 1, _said.level, _actor);
        with repeated as (
          update oxbow.memories m
             set expired_at = now(), invalid_at = coalesce(m.valid_at, m.created_at), superseded_by = old.id,
                 updated_at = now()
           where m.user_id = _user_id and m.memory_type = r.type and m.id = r.id
          returning m.memory_type, m.id, m.content
        )
        insert into oxbow.memory_history
          (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
        select _user_id, d.memory_type, d.id, 'SUPERSEDE', d.content, old.content, _actor, r.reason from repeated d;
        if r.at < old.valid_at then
          perform oxbow.begin_earlier(_user_id, old.id, r.at);
        end if;
    end case;
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason,
                                      message_ids)
    values (_user_id, old.memory_type, old.id, r.operation, case when r.operation <> 'NOOP' then old.content end,
      case when r.operation = 'UPDATE' then r.content end, _actor, r.reason, r.sources);
  end loop;
end $$;
call oxbow.grant_worker('apply_operations');

-- write_extraction writes the decisions about a batch of messages: all new memories in one statement, and
-- then the effect of each operation on its target. The caller holds the user's lock.
--   _memories  [{"id", "type", "content", "at", "speaker", "category", "topic", "importance", "metadata",
--                 "sources": [message ids], "reason", "operation": ADD | UPDATE | DELETE | NOOP, "target",
--                 "also": [other memories that an UPDATE is about], "policy"}]
--   _used      memories that a reply used
--   _embed     whether embed processes the new memories; otherwise the caller writes their vectors and indexes them
create or replace function oxbow.write_extraction(_user_id text, _session_id text, _actor text, _messages uuid[],
  _memories json, _used uuid[], _embed boolean, out added integer, out updated integer, out deleted integer,
  out mentioned integer, out boosted integer)
language plpgsql set search_path = pg_catalog, pg_temp
-- otherwise the foreign keys to the partitioned table memories are planned again for every row
set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
#variable_conflict error
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_user_id, 'infinity');
  _new constant uuid[] := array(select m.id from json_to_recordset(_memories) m (id uuid, operation text)
                                 where m.operation in ('ADD', 'UPDATE'));
  _now constant timestamptz := clock_timestamp();
  _use record;
begin
  -- Lock them first, in the order of ids. Otherwise an erasure that has locked one of them could wait for rows that
  -- refer to it, while this function waits for the erasure.
  perform from oxbow.memories m
    where m.user_id = _user_id and m.id = any(_used || array(
      select unnest(n.target || n.also) from json_to_recordset(_memories) n (target uuid, also uuid[])))
    order by m.id for no key update;
  perform set_config('oxbow.embed', case when _embed then '' else 'off' end, true);
  insert into oxbow.memories (user_id, memory_type, id, content, valid_at, session_id, seq, speaker, source, category,
                              topic, importance, metadata, sensitivity, activated_at)
  select _user_id, m.type, m.id, m.content, m.at, _session_id, s.seq, m.speaker, 'extraction', m.category, m.topic,
         m.importance, m.metadata, coalesce(s.level, 0), s.said
    from json_to_recordset(_memories) m (type text, id uuid, content text, at timestamptz, speaker text, category text,
           topic text, importance double precision, metadata jsonb, sources uuid[], operation text)
   cross join lateral (select min(g.seq) as seq, max(g.sensitivity) as level, least(max(g.created_at), now()) as said
                        from oxbow.messages g where g.user_id = _user_id and g.id = any(m.sources)) s
   where m.operation in ('ADD', 'UPDATE');
  perform set_config('oxbow.embed', '', true);
  perform oxbow.note_subjects(array_fill(_user_id, array[cardinality(_new)]), _new);
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, new_content, actor, reason, message_ids)
  select _user_id, m.type, m.id, 'ADD', m.content, _actor, m.reason, m.sources
    from json_to_recordset(_memories) m (type text, id uuid, content text, reason text, sources uuid[], operation text)
   where m.operation = 'ADD';
  get diagnostics added = row_count;
  insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id, message_id)
  select _user_id, m.type, case when m.operation in ('ADD', 'UPDATE') then m.id else m.target end, _session_id, g
    from json_to_recordset(_memories) m (type text, id uuid, sources uuid[], operation text, target uuid),
         unnest(m.sources) g
  on conflict do nothing;

  select o.updated, o.deleted, o.mentioned into updated, deleted, mentioned
    from oxbow.apply_operations(_user_id, _actor, _memories, _new) o;

  boosted := 0;
  for _use in
    with used as (
      select m as memory from oxbow.memories m
       where m.user_id = _user_id and m.id = any(_used) and m.expired_at is null and m.forgotten_at is null
       order by m.id for no key update
    ), boosted as (
      update oxbow.memories m
         set strength = oxbow.used_strength(m, now(), 1, _rules), used_at = now(), activated_at = now(),
             review_at = oxbow.review_after(m, oxbow.used_strength(m, now(), 1, _rules), now(), _rules),
             updated_at = now()
        from used u
       where m.user_id = _user_id and m.id = any(_used) and m.id = (u.memory).id
         and m.memory_type = (u.memory).memory_type
      returning m.memory_type as type, m.id, oxbow.weight_of(u.memory, _now, _rules) as before,
                oxbow.weight_of(m, _now, _rules) as after
    ), noted as (
      insert into oxbow.memory_history (user_id, memory_type, memory_id, event, actor, reason, message_ids)
      select _user_id, b.type, b.id, 'BOOST', _actor, 'a reply used it', _messages from boosted b
    )
    select * from boosted b
  loop
    boosted := boosted + 1;
    perform oxbow.log_weight(_user_id, _use.type, _use.id, _now, 'used', _use.before, _use.after, 1, _actor)
      where _use.type <> 'trait';
  end loop;
  perform oxbow.use_trait(_user_id, t.id, now(), 'extraction') from unnest(_used) t(id);

  insert into oxbow.extractions as x (user_id, number) values (_user_id, 1)
  on conflict (user_id) do update set number = x.number + 1;
  update oxbow.messages g set extracted_at = now(), extract_error = null
   where g.user_id = _user_id and g.id = any(_messages);
  -- The judge passed over messages that failed before, or were committed late: it reads again from the first. The lock
  -- makes a judge that writes at this moment wait.
  update oxbow.sessions s
     set last_activity_at = greatest(s.last_activity_at, g.at),
         judged_seq = case when s.judged_seq >= g.first then g.first - 1 else s.judged_seq end
    from (select max(g.created_at) as at, min(g.seq) as first from oxbow.messages g
           where g.user_id = _user_id and g.id = any(_messages)) g
   where s.user_id = _user_id and s.id = _session_id;
end $$;
call oxbow.grant_worker('write_extraction');
