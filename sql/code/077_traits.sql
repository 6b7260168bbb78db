-- Traits as people and programs see and correct them.

-- traits shows the traits of each user with confidence and stage as of now, including the decay since the
-- row was written. It includes trends, candidates and dissolved traits, which recall leaves out.
create or replace view oxbow.traits with (security_invoker = true) as
select m.user_id, m.id, m.content, m.trait_subtype as subtype,
       oxbow.trait_stage_with(m.trait_stage, c.confidence, m.trait_window_end, now(), r.rules) as stage, c.confidence,
       m.trait_stage as stored_stage, m.trait_confidence as stored_confidence, m.trait_confidence_at as confidence_at,
       m.trait_context as context, m.trait_contexts as contexts, m.trait_parent_id as parent_id,
       coalesce(m.trait_reinforcement_count, 0) as reinforcement_count,
       coalesce(m.trait_contradiction_count, 0) as contradiction_count,
       (select count(*) from oxbow.trait_evidence e
         where e.user_id = m.user_id and e.trait_id = m.id and e.direction = 'supporting') as supporting,
       (select count(*) from oxbow.trait_evidence e
         where e.user_id = m.user_id and e.trait_id = m.id and e.direction = 'contradicting') as contradicting,
       m.trait_first_observed as first_observed, m.trait_last_reinforced as last_reinforced,
       m.trait_window_start as window_start, m.trait_window_end as window_end,
       m.trait_next_transition_at as next_transition_at,
       m.trait_edited_at as edited_at, m.trait_derived_from as derived_from, m.trait_key as key, m.version, m.created_at
  from oxbow.memories_trait m
 cross join (select oxbow.trait_rules() as rules offset 0) r -- fetched once
 cross join lateral ( -- computed once
       select oxbow.trait_confidence_at(m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
                m.trait_confidence_at, now(), r.rules) as confidence offset 0) c
 where m.expired_at is null and m.forgotten_at is null;
call oxbow.grant_operator('rules_at', 'trait_confidence_at', 'trait_decayed', 'trait_rate', 'trait_rules',
                          'trait_stage_by', 'trait_stage_of', 'trait_stage_with');

-- traits_as_of returns the traits of a user at a moment, each with its wording at the time and with the
-- confidence from its events up to then, decayed to that moment. trait_id is the trait's current id, id
-- that of the wording. Forgotten traits are left out at all times.
create or replace function oxbow.traits_as_of(user_id text, at timestamptz)
returns table (id uuid, trait_id uuid, content text, subtype text, stage text, confidence double precision,
  context text, reinforcement_count integer, contradiction_count integer)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
begin
  perform oxbow.check_access(traits_as_of.user_id);
  if not isfinite(traits_as_of.at) then
    perform oxbow.reject('at', traits_as_of.at::text, 'must be a finite time');
  end if;
  return query
  with recursive version as (
    -- events belong to the newest version of a trait
    select m.id as head, m.id, m.content, m.trait_context, m.created_at, m.expired_at
      from oxbow.memories_trait m
     where m.user_id = traits_as_of.user_id and m.superseded_by is null and m.forgotten_at is null
    union all
    select v.head, m.id, m.content, m.trait_context, m.created_at, m.expired_at
      from version v join oxbow.memories_trait m on m.user_id = traits_as_of.user_id and m.superseded_by = v.id
  ), reworded as (
    -- an event, if any, dates the wording, because a reflection may run with a clock that was set
    select v.*, row_number() over (partition by v.head order by v.created_at desc, v.id) as age,
           (select max(e.at) from oxbow.trait_events e
             where e.user_id = traits_as_of.user_id and e.trait_id = v.head
               and e.details ->> 'version' = v.id::text) as since
      from version v
  ), wording as (
    select distinct on (w.head) w.*
      from reworded w
     where coalesce(w.since, '-infinity') <= traits_as_of.at
     order by w.head, w.age
  )
  select w.id, w.head, w.content, r.subtype,
         oxbow.trait_stage_with(r.stage, c.confidence, r.window_end, traits_as_of.at, _rules), c.confidence,
         w.trait_context, r.reinforcements, r.contradictions
    from wording w, lateral oxbow.replay_trait(traits_as_of.user_id, w.head, traits_as_of.at, _rules) r,
         lateral (select oxbow.trait_confidence_at(r.confidence, r.subtype, r.reinforcements, r.confidence_at,
           traits_as_of.at, _rules) as confidence offset 0) c
   where r.stage is not null
   order by 6 desc nulls last, w.head;
end $$;
call oxbow.grant_app('traits_as_of');

-- newest_wording returns the current id of a trait, given an id of any of its wordings, or null if there is
-- none.
create or replace function oxbow.newest_wording(_user_id text, _id uuid) returns uuid
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive wording as (
    select m.id, m.superseded_by, m.expired_at from oxbow.memories_trait m where m.user_id = _user_id and m.id = _id
    union
    select m.id, m.superseded_by, m.expired_at
      from wording w join oxbow.memories_trait m on m.user_id = _user_id and m.id = w.superseded_by
  )
  select w.id from wording w where w.expired_at is null;
$$;
call oxbow.grant_app('newest_wording');

-- lock_trait returns a user's trait and locks it until the transaction ends.
create or replace function oxbow.lock_trait(_user_id text, _id uuid) returns oxbow.memories
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories;
  _newest uuid;
begin
  t := oxbow.lock_memory(_user_id, _id);
  if t.memory_type <> 'trait' then
    raise exception using errcode = 'OX105',
      message = format('memory %s of user %L is not a trait', _id, left(_user_id, 255)),
      detail = format('It is of type %s.', t.memory_type);
  elsif t.expired_at is not null then
    _newest := oxbow.newest_wording(_user_id, t.superseded_by);
    raise exception using errcode = 'OX102', message = format('trait %s has a newer wording%s', _id, ', ' || _newest),
      hint = case when _newest is null then 'That one was erased.' else 'Correct that one.' end;
  elsif t.forgotten_at is not null then
    raise exception using errcode = 'OX103', message = format('trait %s was forgotten at %s', _id, t.forgotten_at),
      hint = format('Restore it first: select oxbow.restore(user_id => %L, id => %L).', _user_id, _id);
  end if;
  return t;
end $$;
call oxbow.grant_worker('lock_trait');

-- reword_trait gives a trait a new wording as a new row, because content never changes in place, and
-- returns its id. Evidence, events and child traits move to the new row. The old row remains as the wording
-- believed at the time; the new one describes better what was true all along.
create or replace function oxbow.reword_trait(_user_id text, _id uuid, _content text, _actor text, _reason text)
returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  new oxbow.memories;
  origin constant text := coalesce(current_setting('oxbow.origin', true), '');
begin
  old := oxbow.lock_trait(_user_id, _id);
  if old.content = _content then
    return old.id;
  end if;
  new := old;
  new.id := gen_random_uuid();
  new.content := _content;
  new.version := old.version + 1;
  new.created_at := clock_timestamp();
  new.updated_at := null;
  new.external_id := null;
  perform set_config('oxbow.origin', 'reflection', true);
  execute (select format('insert into oxbow.memories (%1$s) select %1$s from (select ($1).*) n',
                         string_agg(quote_ident(a.attname), ', '))
             from pg_attribute a
            where a.attrelid = 'oxbow.memories'::regclass and a.attnum > 0 and not a.attisdropped
              and a.attgenerated = '') using new;
  perform set_config('oxbow.origin', origin, true);
  update oxbow.trait_events e set trait_id = new.id where e.user_id = _user_id and e.trait_id = old.id;
  update oxbow.trait_evidence e set trait_id = new.id where e.user_id = _user_id and e.trait_id = old.id;
  update oxbow.trait_evidence e set memory_id = new.id
   where e.user_id = _user_id and e.memory_type = 'trait' and e.memory_id = old.id;
  update oxbow.memories_trait m set trait_parent_id = new.id where m.user_id = _user_id and m.trait_parent_id = old.id;
  update oxbow.memories_trait m
     set expired_at = new.created_at, invalid_at = coalesce(old.valid_at, old.created_at), superseded_by = new.id,
         trait_next_transition_at = null, trait_review_due_at = null, updated_at = clock_timestamp()
   where m.user_id = _user_id and m.id = old.id;
  insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
  values (_user_id, 'trait', new.id, 'trait', old.id, 'supersedes');
  insert into oxbow.memory_history (user_id, memory_type, memory_id, event, old_content, new_content, old_metadata,
                                    new_metadata, actor, reason)
  values (_user_id, 'trait', old.id, 'SUPERSEDE', old.content, _content, old.metadata, old.metadata, _actor, _reason);
  return new.id;
end $$;
call oxbow.grant_worker('reword_trait');

-- person_actor returns the name under which a person's correction is recorded. It rejects Oxbow's own
-- names.
create or replace function oxbow.person_actor(_actor text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
  if _actor in ('reflection', 'settle', 'import', 'check') then
    perform oxbow.reject('actor', _actor, 'must not be reflection, settle, import or check, which are Oxbow''s own');
  end if;
  return coalesce(_actor, 'user');
end $$;

-- edit_trait corrects the wording, context or confidence of a trait on behalf of the person it describes. A null
-- argument leaves the value unchanged, except that an edit without a confidence raises it to at least the policy
-- correction_confidence. A dissolved trait is revived. Reflection continues to weigh evidence, but no longer changes
-- the wording. It returns the trait's id, which is new if the trait was reworded.
--   content     at most 1,000 characters
--   confidence  above 0, below 1
--   context     work, personal, social, learning, general
create or replace function oxbow.edit_trait(user_id text, id uuid, content text default null,
  confidence double precision default null, context text default null, reason text default null,
  actor text default 'user') returns uuid
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories;
  e oxbow.trait_events;
  _id uuid;
begin
  perform oxbow.check_access(edit_trait.user_id);
  -- includes the traits that a new wording changes, in order
  perform oxbow.lock_traits(edit_trait.user_id, array[edit_trait.id]);
  t := oxbow.lock_trait(edit_trait.user_id, edit_trait.id);
  if edit_trait.content is null and edit_trait.confidence is null and edit_trait.context is null then
    perform oxbow.reject('content', null, 'or confidence or context must be given');
  elsif length(edit_trait.content) > 1000 then
    perform oxbow.reject('content', left(edit_trait.content, 100), 'must have at most 1,000 characters in a trait');
  elsif not (edit_trait.confidence > 0 and edit_trait.confidence < 1) then
    perform oxbow.reject('confidence', edit_trait.confidence::text, 'must be above 0 and below 1');
  elsif edit_trait.context <> all(array['work', 'personal', 'social', 'learning', 'general']) then
    perform oxbow.reject('context', edit_trait.context, 'must be work, personal, social, learning or general');
  end if;
  _id := t.id;
  if edit_trait.content is not null then
    _id := oxbow.reword_trait(edit_trait.user_id, t.id, edit_trait.content, oxbow.person_actor(edit_trait.actor),
                              edit_trait.reason);
  end if;
  update oxbow.memories_trait m
     set trait_context = coalesce(edit_trait.context, m.trait_context), trait_edited_at = now(),
         trait_review_due_at = null,
         trait_contexts = case when edit_trait.content is null and edit_trait.context is null then m.trait_contexts end
   where m.user_id = edit_trait.user_id and m.id = _id;
  e.user_id := edit_trait.user_id;
  e.trait_id := _id;
  e.event := 'edited';
  e.at := now();
  e.sets := coalesce(edit_trait.confidence, greatest(
    oxbow.policy('correction_confidence'),
    case when t.trait_stage not in ('trend', 'dissolved') then
      oxbow.trait_confidence_at(
        t.trait_confidence, t.trait_subtype, t.trait_reinforcement_count, t.trait_confidence_at, now()) end));
  e.actor := oxbow.person_actor(edit_trait.actor);
  e.reason := edit_trait.reason;
  e.details := jsonb_strip_nulls(jsonb_build_object(
    'version', case when _id <> t.id then _id end, 'context', edit_trait.context));
  perform oxbow.record_event(e);
  return _id;
end $$;
call oxbow.grant_app('edit_trait');

-- dissolve_trait archives a trait on behalf of the person it describes. Only edit_trait brings it back.
create or replace function oxbow.dissolve_trait(user_id text, id uuid, reason text default null,
  actor text default 'user') returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories;
  e oxbow.trait_events;
begin
  perform oxbow.check_access(dissolve_trait.user_id);
  t := oxbow.lock_trait(dissolve_trait.user_id, dissolve_trait.id);
  update oxbow.memories_trait m set trait_edited_at = now(), trait_review_due_at = null
   where m.user_id = t.user_id and m.id = t.id;
  if (select v.event = 'dissolved' and v.actor not in ('settle', 'reflection')
        from oxbow.trait_events v where v.user_id = t.user_id and v.trait_id = t.id order by v.seq desc limit 1) then
    return; -- a person has already done that
  end if;
  e.user_id := t.user_id;
  e.trait_id := t.id;
  e.event := 'dissolved';
  e.at := now();
  e.actor := oxbow.person_actor(dissolve_trait.actor);
  e.reason := dissolve_trait.reason;
  perform oxbow.record_event(e);
end $$;
call oxbow.grant_app('dissolve_trait');

-- trait_hash identifies a trait's pattern or wording without revealing it.
create or replace function oxbow.trait_hash(_text text) returns uuid
language sql immutable parallel safe
return md5('oxbow trait ' || lower(regexp_replace(normalize(_text, nfkc), '[[:space:][:punct:]]+', ' ', 'g')))::uuid;
call oxbow.grant_worker('trait_hash');

-- delete_trait erases a trait with all its wordings, evidence and events on behalf of the person it
-- describes. It keeps a hash of each wording, so that reflection does not create the trait again. It
-- returns how many rows were deleted.
create or replace function oxbow.delete_trait(user_id text, id uuid) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories;
  _versions uuid[];
  _version uuid;
  _deleted bigint;
begin
  perform oxbow.check_access(delete_trait.user_id);
  perform oxbow.lock_traits(delete_trait.user_id, array[delete_trait.id]);
  t := oxbow.lock_trait(delete_trait.user_id, delete_trait.id);
  select array_agg(v.id) into _versions from (
    with recursive version as (
      select t.id as id
      union
      select m.id from version v join oxbow.memories_trait m on m.user_id = t.user_id and m.superseded_by = v.id
    ) select v.id from version v) v;
  insert into oxbow.trait_refusals (user_id, hash)
  select t.user_id, oxbow.trait_hash(m.content) from oxbow.memories_trait m
   where m.user_id = t.user_id and m.id = any(_versions)
  union
  select t.user_id, oxbow.trait_hash(t.trait_key) where t.trait_key is not null
  on conflict do nothing;
  delete from oxbow.trait_clues c where c.user_id = t.user_id and c.key = t.trait_key;
  get diagnostics _deleted = row_count;
  -- cascades delete these rows, so count them first
  select _deleted + (select count(*) from oxbow.trait_evidence e
                      where e.user_id = t.user_id and e.trait_id = any(_versions))
                  + (select count(*) from oxbow.trait_events e
                      where e.user_id = t.user_id and e.trait_id = any(_versions)) into _deleted;
  perform oxbow.lock_erased(t.user_id, _versions);
  foreach _version in array _versions loop
    _deleted := _deleted + oxbow.sum_counts(oxbow.erase_and_count(t.user_id, _version));
  end loop;
  return _deleted;
end $$;
call oxbow.grant_app('delete_trait');
