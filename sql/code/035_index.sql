-- index_memories indexes the words of memories and adds the memories to the reflection inbox. Each memory
-- is identified by its user and id; a single user applies to all. It processes memories without a row in
-- memory_terms, so a repeated job changes nothing. It returns their ids, those that reconcile compares with others
-- (facts that an application stored, images and so on), and those that are not text. It writes the terms, adds them to
-- the users' statistics, puts facts and episodes into the inbox, folds facts that repeat a current one, records the
-- entities in the metadata, and relates the memories that share them. The inbox receives nothing of users who opted
-- out, and no summaries, merged memories and conclusions, because their originals already count.
--
-- Each memory is looked up separately (lateral, or a scalar subquery). A join would be planned by the
-- statistics of the tables; new tables have none, and every job would read all of its user's memories. The
-- plan is kept, as are those of the foreign keys and of terms, because planning takes longer than
-- execution. Locks of one kind are taken in the order of users, so that two batches of the same users
-- cannot deadlock.
create or replace function oxbow.index_memories(_user_ids text[], _ids uuid[], _imported uuid[] default '{}')
returns table (id uuid, stored boolean, upload boolean)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
declare
  _user text;
  _users text[];
  _fresh uuid[];
  _stored boolean[];
  _uploads boolean[];
  _facts boolean;
  _naming boolean;
  _about boolean;
  _old boolean;
  _seen uuid[];
begin
  -- sensitive and archived memories are not found by their words, and sealed ones have none
  select array_agg(i.user_id order by i.user_id, i.id), array_agg(i.id order by i.user_id, i.id),
         coalesce(bool_or(m.created_at < now() - interval '1 day' and m.weight_next_at is null), false),
         coalesce(array_agg(i.id) filter (where m.weight_next_at is not null), '{}'),
         coalesce(bool_or(m.memory_type = 'fact'), false), coalesce(bool_or(m.names), false),
         coalesce(bool_or(m.about), false)
    into _users, _ids, _old, _seen, _facts, _naming, _about
    from (select distinct coalesce(u.user_id, _user_ids[1]) as user_id, u.id
            from unnest(_user_ids, _ids) u(user_id, id)) i
   cross join lateral (
    select m.memory_type, m.sensitivity, m.metadata ? 'entities' as names, m.metadata ? 'about' as about,
           m.level, m.created_at, m.weight_next_at
      from oxbow.memories m where m.user_id = i.user_id and m.id = i.id offset 0) m
   where m.sensitivity < 2 and m.level <> 'archive';
  if _ids is null then
    return;
  end if;
  -- a user who opts out meanwhile empties the inbox after this has committed: see empty_inbox
  foreach _user in array array(select distinct u from unnest(_users) u order by u) loop
    perform pg_advisory_xact_lock_shared(hashtextextended('oxbow.inbox', hashtext(_user) & 1023));
  end loop;
  -- this comes first, because it locks other memories, and locking the statistics before them could deadlock with an
  -- erasure
  if _facts then
    perform oxbow.fold_facts(_users, _ids);
  end if;
  if _about then
    perform oxbow.note_subjects(_users, _ids);
  end if;
  if _naming then
    perform oxbow.note_entities(n.user_id, n.ids)
       from (select i.user_id, array_agg(i.id) as ids
               from unnest(_users, _ids) i(user_id, id)
              cross join lateral (select m.memory_type, m.metadata ? 'entities' as names from oxbow.memories m
                                   where m.user_id = i.user_id and m.id = i.id offset 0) m
              where m.names and not exists (
                select from oxbow.entity_mentions n
                 where n.user_id = i.user_id and n.memory_type = m.memory_type and n.memory_id = i.id)
              group by i.user_id order by i.user_id) n;
  end if;
  with memory as (
    select m.*, coalesce(p.timezone, 'UTC') as timezone, coalesce(p.opted_out, false) as opted_out,
           case when m.level = 'summary'
           then coalesce((select a.content from oxbow.memory_archive a
                           where a.user_id = m.user_id and a.memory_type = m.memory_type and a.memory_id = m.id), m.content)
           else m.content end as whole
      from unnest(_users, _ids) i(user_id, id) -- in this order
     cross join lateral (select m.* from oxbow.memories m where m.user_id = i.user_id and m.id = i.id for key share) m
      left join lateral (select u.timezone, u.opted_out from oxbow.users u where u.user_id = i.user_id) p on true
     where (select true from oxbow.memory_terms t
             where t.user_id = i.user_id and t.memory_type = m.memory_type and t.memory_id = m.id) is null
  ), fresh as (
    insert into oxbow.memory_terms (user_id, memory_type, memory_id, len, tsv)
    select m.user_id, m.memory_type, m.id, t.len,
           t.tsv || array_to_tsvector(oxbow.date_terms(coalesce(m.valid_at, m.created_at) at time zone m.timezone))
      from memory m, oxbow.terms(coalesce(m.speaker || ': ', '') || m.whole) t
    on conflict do nothing
    returning user_id, memory_type, memory_id, len
  ), counted as (
    insert into oxbow.memory_term_stats as s (user_id, memory_type, documents, terms)
    select user_id, memory_type, count(*), sum(len) from fresh
     group by user_id, memory_type order by user_id, memory_type
    on conflict (user_id, memory_type) do update
      set documents = s.documents + excluded.documents, terms = s.terms + excluded.terms
  ), noticed as (
    insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, session_id, nominated)
    select m.user_id, m.memory_type, m.id, m.importance, coalesce(m.valid_at, m.created_at), m.session_id,
           m.id = any(_imported)
      from memory m join fresh f on f.user_id = m.user_id and f.memory_type = m.memory_type and f.memory_id = m.id
     where m.memory_type in ('fact', 'episodic') and coalesce(m.source, '') not in ('summary', 'merge', 'abstract')
       and not m.opted_out
       and m.id <> all(_seen) -- it was in the inbox before it was compressed
    on conflict do nothing
  )
  select array_agg(f.memory_id),
         array_agg((m.memory_type = 'fact' or m.memory_type = 'episodic' and m.modality <> 'text')
                   and coalesce(m.source, '') not in ('extraction', 'abstract')),
         array_agg(m.modality <> 'text')
    into _fresh, _stored, _uploads
    from fresh f join memory m on m.user_id = f.user_id and m.memory_type = f.memory_type and m.id = f.memory_id;
  if _naming or _about then
    perform oxbow.relate_memories(n.user_id, n.ids)
       from (select i.user_id, array_agg(i.id) as ids
               from unnest(_users, _ids) i(user_id, id)
              cross join lateral (select m.metadata ?| array['entities', 'about'] as names from oxbow.memories m
                                   where m.user_id = i.user_id and m.id = i.id offset 0) m
              where m.names and i.id = any(_fresh)
              group by i.user_id order by i.user_id) n;
  end if;
  -- A bulk load leaves its terms in the pending list, which is cheaper. A batch with few jobs behind it empties the
  -- list.
  if cardinality(_fresh) > 0 and oxbow.waiting_jobs(4) < 4 then
    perform oxbow.clean_terms();
  end if;
  if _old then -- imported with an old time, which walk_levels has passed; it skips locked memories, which are in use
    perform oxbow.schedule_levels(array_agg(m.user_id), array_agg(m.id), now())
       from unnest(_users, _ids) i(user_id, id)
      cross join lateral (
        select m.user_id, m.id from oxbow.memories m
         where m.user_id = i.user_id and m.id = i.id and m.created_at < now() - interval '1 day'
           and m.weight_next_at is null
           for no key update skip locked) m;
  end if;
  return query select * from unnest(_fresh, _stored, _uploads);
end $$;
call oxbow.grant_worker('index_memories');

-- note_subjects notes the subjects that the metadata of facts name (about: a text or several).
create or replace function oxbow.note_subjects(_user_ids text[], _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan
  set enable_seqscan = off as $$
begin
  insert into oxbow.fact_subjects (user_id, about, memory_id)
  select distinct m.user_id, left(a.about, 200), m.id
    from unnest(_user_ids, _ids) i(user_id, id)
   cross join lateral (select m.user_id, m.id, m.metadata -> 'about' as about from oxbow.memories_fact m
                        where m.user_id = coalesce(i.user_id, _user_ids[1]) and m.id = i.id offset 0) m
   cross join lateral jsonb_array_elements_text(
     case jsonb_typeof(m.about) when 'array' then m.about when 'string' then jsonb_build_array(m.about)
                                else '[]' end) a(about)
   where a.about <> ''
   order by 1, 2, 3
  on conflict do nothing;
end $$;
call oxbow.grant_worker('note_subjects');

-- fold_facts merges current facts of equal oxbow.content_hash, speaker, agent and context into the one that began
-- first: what replaced another fact keeps its beginning, so it is preferred. That one supersedes the others, counts
-- their mentions, and takes the highest sensitivity; the others are valid at no time. Two jobs that find each other's
-- duplicate choose the same fact, and the lock lets the second see the first's changes. Rows are locked in the order
-- of users and ids, with a lock mode compatible with the lock of embed on the memories that it indexes.
create or replace function oxbow.fold_facts(_user_ids text[], _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _users text[];
  _hashes uuid[];
  _user text;
  _hash uuid;
  _fold record;
  _gone_users text[] := '{}';
  _gone uuid[] := '{}';
begin
  perform oxbow.expand_memory(a.user_id, a.memory_id) -- compressed facts that new ones repeat
     from unnest(_user_ids, _ids) i(user_id, id)
    cross join lateral (select n.user_id, n.content_hash from oxbow.memories_fact n
                         where n.user_id = coalesce(i.user_id, _user_ids[1]) and n.id = i.id offset 0) n
    cross join lateral (select a.user_id, a.memory_id from oxbow.memory_archive a
                         where a.user_id = n.user_id and a.content_hash = n.content_hash and a.memory_type = 'fact'
                         offset 0) a
    where a.memory_id <> i.id;
  select array_agg(n.user_id order by n.user_id, n.hash), array_agg(n.hash order by n.user_id, n.hash)
    into _users, _hashes
    from (select distinct i.user_id,
                 (select n.content_hash from oxbow.memories_fact n where n.user_id = i.user_id and n.id = i.id) as hash
            from unnest(_user_ids, _ids) i(user_id, id)) n
   where (select count(*) from oxbow.memories_fact f
           where f.user_id = n.user_id and f.content_hash = n.hash and f.expired_at is null and f.forgotten_at is null
             and f.expires_at is null and f.sensitivity < 2 and f.source is distinct from 'abstract') > 1;
  if _users is null then
    return;
  end if;
  for _user, _hash in select * from unnest(_users, _hashes) loop
    perform pg_advisory_xact_lock(hashtextextended('oxbow.fold:' || _user || ':' || _hash, 0));
  end loop;
  perform from (select f.user_id, f.id
                  from unnest(_users, _hashes) h(user_id, hash)
                 cross join lateral (
                   select f.user_id, f.id from oxbow.memories_fact f
                    where f.user_id = h.user_id and f.content_hash = h.hash and f.expired_at is null offset 0) f
                 order by f.user_id, f.id) d
    cross join lateral (select from oxbow.memories_fact f
                         where f.user_id = d.user_id and f.id = d.id for no key update) f;
  for _user, _hash in select * from unnest(_users, _hashes) loop
    for _fold in
      with fact as (
        select f.id, first_value(f.id) over same as keep, first_value(f.content) over same as kept
          from oxbow.memories_fact f
         where f.user_id = _user and f.content_hash = _hash
           and f.expired_at is null and f.forgotten_at is null and f.invalid_at is null and f.expires_at is null
           and f.sensitivity < 2 and f.source is distinct from 'abstract'
        window same as (partition by f.speaker, f.agent_id, f.metadata ->> 'context'
          order by not exists (select from oxbow.memory_links l
                                where l.user_id = _user and l.from_type = 'fact' and l.from_id = f.id
                                  and l.relation = 'supersedes'),
                   coalesce(f.valid_at, f.created_at), f.created_at, f.id)
      ), folded as (
        update oxbow.memories_fact d
           set expired_at = now(), invalid_at = coalesce(d.valid_at, d.created_at), superseded_by = f.keep,
               updated_at = now()
          from fact f
         where d.user_id = _user and d.id = f.id and f.id <> f.keep
        returning d.id, d.mention_count, d.created_at, d.sensitivity, d.content, f.keep, f.kept,
                  d.metadata ? 'entities' as names
      ), noted as (
        insert into oxbow.memory_history
          (user_id, memory_type, memory_id, event, old_content, new_content, actor, reason)
        select _user, 'fact', id, 'SUPERSEDE', content, kept, 'system', 'repeats another fact' from folded
      )
      select f.keep, array_agg(f.created_at) as times, sum(f.mention_count) as mentions, max(f.sensitivity) as level,
             coalesce(array_agg(f.id) filter (where f.names), '{}') as named
        from folded f group by f.keep order by f.keep
    loop
      perform oxbow.mention_memory(_user, 'fact', _fold.keep, _fold.times, _fold.mentions, _fold.level,
                                   'system');
      _gone_users := _gone_users || array_fill(_user, array[cardinality(_fold.named)]);
      _gone := _gone || _fold.named;
    end loop;
  end loop;
  -- the facts that were kept now also mention the entities of the folded ones
  perform oxbow.note_entities(g.user_id, g.ids)
     from (select i.user_id, array_agg(i.id) as ids from unnest(_gone_users, _gone) i(user_id, id)
            group by i.user_id order by i.user_id) g;
end $$;
call oxbow.grant_worker('fold_facts');

-- uncount_terms subtracts deleted terms from the statistics, including those deleted by a cascade.
create or replace function oxbow.uncount_terms() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update oxbow.memory_term_stats s
     set documents = s.documents - d.documents, terms = s.terms - d.terms
    from (select user_id, memory_type, count(*) as documents, sum(len) as terms from deleted group by 1, 2) d
   where s.user_id = d.user_id and s.memory_type = d.memory_type;
  return null;
end $$;

do $$
declare t regclass;
begin
  for t in select 'oxbow.memory_terms'::regclass union all
           select inhrelid::regclass from pg_inherits where inhparent = 'oxbow.memory_terms'::regclass
  loop
    execute format('create or replace trigger uncount_terms after delete on %s
                    referencing old table as deleted for each statement
                    execute function oxbow.uncount_terms()', t);
  end loop;
end $$;

-- clean_terms empties the pending lists of the text indexes, because every search reads the whole list.
create or replace function oxbow.clean_terms() returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform gin_clean_pending_list(i.indexrelid)
     from pg_inherits p
     join pg_index i on i.indrelid = p.inhrelid
     join pg_class c on c.oid = i.indexrelid
     join pg_am a on a.oid = c.relam
    where p.inhparent = 'oxbow.memory_terms'::regclass and a.amname = 'gin';
end $$;
call oxbow.grant_worker('clean_terms');
