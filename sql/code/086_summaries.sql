-- Summaries of conversations: how they are written, expire, and are erased with their sources. See
-- docs/summaries.md.
--
-- Code that locks memories and sessions locks the memories first, as extraction does.

-- summary_due reports whether a conversation is due for a summary: more messages than the setting
-- summary_after (default 30) are not yet summarized, or the conversation ended with any that its current
-- summary lacks. Only extracted messages count.
create or replace function oxbow.summary_due(_user_id text, _session_id text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  _enough constant integer := coalesce(
    (select (s.value ->> 'summary_after')::numeric::integer from oxbow.settings s where s.key = 'conversations'), 30);
  _session oxbow.sessions;
  _new integer;
begin
  select * into _session from oxbow.sessions s where s.user_id = _user_id and s.id = _session_id;
  if not found or _enough <= 0 then
    return false;
  end if;
  select count(*) into _new
    from (select from oxbow.messages m
           where m.user_id = _user_id and m.session_id = _session_id
             and m.seq > coalesce(_session.summarized_seq, -9223372036854775808)
             and m.extracted_at is not null and m.sensitivity < 2
           order by m.seq limit _enough + 1) m;
  return _new > _enough or _new > 0 and _session.ended_at is not null
    and oxbow.summary_stands(_user_id, _session.summary_id);
end $$;
call oxbow.grant_worker('summary_due');

-- summary_stands reports whether a summary is a current memory.
create or replace function oxbow.summary_stands(_user_id text, _id uuid) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from oxbow.memories_episodic m
                  where m.user_id = _user_id and m.id = _id and m.expired_at is null and m.forgotten_at is null);
$$;
call oxbow.grant_worker('summary_stands');

-- write_summary writes the summary of a conversation up to _until, in place of the summary that it extends.
-- It returns false, and writes nothing, if another writer was first or if its sources were changed,
-- forgotten or erased meanwhile.
--   _content     null: nothing to summarize; only the position moves
--   _from, _old  sessions.summarized_seq and summary_id as read
--   _messages    the messages that it adds
-- A summary has no session_id, because recall would treat it as a neighbour of the last messages;
-- memory_sources holds the session. It has the highest sensitivity of its sources, links of the relation
-- source to all memories extracted from them, including those of its predecessor, and the usage counts of
-- its predecessor.
create or replace function oxbow.write_summary(_user_id text, _session_id text, _actor text, _from bigint,
  _until bigint, _old uuid, _id uuid, _content text, _at timestamptz, _importance double precision, _metadata jsonb,
  _messages uuid[]) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _days constant integer := coalesce(
    (select (s.value ->> 'summary_days')::numeric::integer from oxbow.settings s where s.key = 'conversations'), 14);
  _covered constant uuid[] := array(
    select distinct s.memory_id from oxbow.memory_sources s
     where s.user_id = _user_id and s.session_id = _session_id and s.message_id = any(_messages));
  _session oxbow.sessions;
  old oxbow.memories_episodic;
begin
  perform from oxbow.memories m where m.user_id = _user_id and m.id = any(_covered || _old) order by m.id for key share;
  select * into _session from oxbow.sessions s where s.user_id = _user_id and s.id = _session_id for update;
  if not found or _session.summarized_seq is distinct from _from
    or _session.summary_id is distinct from _old and oxbow.summary_stands(_user_id, _session.summary_id)
    or (select count(*) from oxbow.messages m
         where m.user_id = _user_id and m.id = any(_messages)) <> cardinality(_messages) then
    return false;
  end if;
  if _old is not null then
    select * into old from oxbow.memories_episodic m
     where m.user_id = _user_id and m.id = _old and m.expired_at is null and m.forgotten_at is null for no key update;
    if not found then
      return false;
    end if;
  end if;
  update oxbow.sessions s
     set summarized_seq = _until, summary_id = case when _content is null then s.summary_id else _id end
   where s.user_id = _user_id and s.id = _session_id;
  if _content is null then
    return true;
  end if;

  insert into oxbow.memories (user_id, memory_type, id, content, valid_at, version, source, importance, metadata,
    strength, used_at, tier, mention_count, mentions, access_count, last_accessed_at, expires_at, sensitivity)
  values (_user_id, 'episodic', _id, _content, greatest(_at, old.valid_at), coalesce(old.version, 0) + 1, 'summary',
    _importance, _metadata, coalesce(old.strength, 1), old.used_at, coalesce(old.tier, 'normal'),
    coalesce(old.mention_count, 1), old.mentions,
    coalesce(old.access_count, 0), old.last_accessed_at,
    -- counted from the last message, however late the summary
    case when (old.id is null or old.expires_at is not null) and _days > 0
      then greatest(_at, old.valid_at) + make_interval(days => _days) end,
    greatest(case when old.sensitivity < 2 then old.sensitivity end, (select max(g.sensitivity) from oxbow.messages g
                                where g.user_id = _user_id and g.id = any(_messages)), 0));
  insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id)
  values (_user_id, 'episodic', _id, _session_id);
  update oxbow.memory_links l set from_id = _id
   where l.user_id = _user_id and l.from_type = 'episodic' and l.from_id = _old and l.relation = 'source';
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  select _user_id, 'episodic', _id, m.memory_type, m.id, 'source'
    from oxbow.memories m where m.user_id = _user_id and m.id = any(_covered)
  on conflict do nothing;
  if old.id is not null then
    update oxbow.memories m
       set invalid_at = greatest(_at, old.valid_at), expired_at = now(), superseded_by = _id, updated_at = now()
     where m.user_id = _user_id and m.memory_type = 'episodic' and m.id = _old;
    insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
    values (_user_id, 'episodic', _id, 'episodic', _old, 'supersedes');
  end if;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
  values (_user_id, 'episodic', coalesce(_old, _id), case when _old is null then 'ADD' else 'UPDATE' end, old.content,
    _content, _actor, format('%s more messages of session %L', cardinality(_messages), _session_id));
  return true;
end $$;
call oxbow.grant_worker('write_summary');

-- expire_memories ends up to _limit memories that are due to expire, and returns how many. Summaries that
-- became strong through use in replies become permanent instead, ten minutes early, so that recall finds
-- them without a gap. A forgotten memory expires once it is restored.
create or replace function oxbow.expire_memories(_now timestamptz, _limit integer, out expired bigint,
  out promoted bigint)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules('', _now);
  _permanent constant double precision := oxbow.policy('memory_strength_permanent');
begin
  with due as materialized (
    select m.user_id, m.memory_type, m.id, m.content, u.used
      from oxbow.memories m
     cross join lateral (
       select coalesce(m.source, '') = 'summary'
          and oxbow.strength_now(m.strength, coalesce(m.used_at, m.created_at), m.tier, m.source, _now, _rules)
              >= _permanent as used) u
     where m.forgotten_at is null and m.expired_at is null and m.expires_at <= _now + interval '10 minutes'
       and (m.expires_at <= _now or u.used)
     order by m.forgotten_at, m.expires_at limit _limit for no key update of m skip locked
  ), changed as (
    update oxbow.memories m
       set expires_at = case when not d.used then m.expires_at end,
           expired_at = case when not d.used then _now end,
           invalid_at = case when d.used then m.invalid_at
                             else coalesce(m.invalid_at, greatest(m.expires_at, m.valid_at)) end,
           updated_at = now()
      from due d where m.user_id = d.user_id and m.memory_type = d.memory_type and m.id = d.id
  ), noted as (
    insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, actor, reason)
    select d.user_id, d.memory_type, d.id, case when d.used then 'PROMOTE' else 'EXPIRE' end,
           case when not d.used then d.content end, 'settle',
           case when d.used then 'replies used it' else 'it expired' end
      from due d
  )
  select count(*) filter (where not d.used), count(*) filter (where d.used) into expired, promoted from due d;
end $$;
call oxbow.grant_worker('expire_memories');

-- promote makes a memory that was to expire permanent. It returns whether that changed anything.
create or replace function oxbow.promote(user_id text, id uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
begin
  perform oxbow.check_access(promote.user_id);
  old := oxbow.lock_kept(promote.user_id, promote.id);
  if old.superseded_by is not null then
    raise exception using
      errcode = 'OX102',
      message = format('memory %s is already superseded by %s', old.id, old.superseded_by),
      hint    = format('Promote the newer version, %s.', old.superseded_by);
  elsif old.expires_at is null or old.expired_at < old.expires_at then -- it does not expire, or ended before
    return false;
  end if;
  -- An expired memory becomes current again. If settle has not ended it yet, record that it did not hold meanwhile.
  update oxbow.memories m
     set expires_at = null, expired_at = null,
         invalid_at = case when old.expired_at is null or old.invalid_at <> greatest(old.expires_at, old.valid_at)
                           then m.invalid_at end,
         former_ends = case when old.expired_at is null and old.expires_at <= now()
                            then coalesce(old.former_ends, '{}') || array[old.expires_at, old.invalid_at, now(),
                                   least(old.invalid_at, old.expires_at)]
                            else m.former_ends end,
         updated_at = now()
   where m.user_id = old.user_id and m.memory_type = old.memory_type and m.id = old.id;
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, actor, reason)
  values (old.user_id, old.memory_type, old.id, 'PROMOTE', 'app', promote.reason);
  return true;
end $$;
call oxbow.grant_app('promote');

-- sessions_of returns the conversations in which a fact or an episode was said, or which it summarizes.
create or replace function oxbow.sessions_of(_user_id text, _id uuid) returns text[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct s.session_id), '{}')
    from (select s.session_id from oxbow.memory_sources s
           where s.user_id = _user_id and s.memory_type in ('fact', 'episodic') and s.memory_id = _id
          union all
          select m.session_id from oxbow.memories m
           where m.user_id = _user_id and m.memory_type in ('fact', 'episodic') and m.id = _id
             and m.session_id is not null) s;
$$;
call oxbow.grant_worker('sessions_of');

-- summaries_of returns all summaries of conversations, including older versions.
create or replace function oxbow.summaries_of(_user_id text, _sessions text[]) returns uuid[]
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct m.id), '{}')
    from oxbow.memory_sources s
   cross join lateral (select m.id from oxbow.memories_episodic m
                        where m.user_id = _user_id and m.id = s.memory_id and m.source = 'summary') m
   where s.user_id = _user_id and s.session_id = any(_sessions) and s.message_id is null and s.memory_type = 'episodic';
$$;
call oxbow.grant_worker('summaries_of');

-- withdraw_summaries excludes everything said so far in conversations from future summaries, and returns
-- the existing ones. The caller removes these, because a single statement cannot be removed from a summary.
-- It waits for one that is being written.
create or replace function oxbow.withdraw_summaries(_user_id text, _sessions text[]) returns uuid[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from oxbow.memories m
    where m.user_id = _user_id and m.id = any(oxbow.summaries_of(_user_id, _sessions))
    order by m.id for no key update;
  perform from oxbow.sessions s where s.user_id = _user_id and s.id = any(_sessions) order by s.id for no key update;
  update oxbow.sessions s set summary_id = null, summarized_seq = greatest(s.summarized_seq, m.seq)
    from unnest(_sessions) i(id),
         lateral (select max(m.seq) as seq from oxbow.messages m where m.user_id = _user_id and m.session_id = i.id) m
   where s.user_id = _user_id and s.id = i.id;
  return oxbow.summaries_of(_user_id, _sessions);
end $$;
call oxbow.grant_worker('withdraw_summaries');

-- withdraw_deleted erases the summaries of a conversation when one of its messages is deleted.
create or replace function oxbow.withdraw_deleted() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  d record;
  _ids uuid[];
  _id uuid;
begin
  if oxbow.is_erasing() then
    return null; -- the summaries are erased too
  end if;
  for d in
    select o.user_id, array_agg(distinct o.session_id) as sessions
      from deleted o
      join oxbow.sessions s on s.user_id = o.user_id and s.id = o.session_id and s.summarized_seq is not null
     group by o.user_id order by o.user_id
  loop
    _ids := oxbow.withdraw_summaries(d.user_id, d.sessions);
    perform oxbow.lock_erased(d.user_id, _ids);
    foreach _id in array _ids loop
      perform oxbow.erase_one(d.user_id, _id);
    end loop;
  end loop;
  return null;
end $$;

create or replace trigger withdraw_deleted after delete on oxbow.messages
  referencing old table as deleted for each statement execute function oxbow.withdraw_deleted();
