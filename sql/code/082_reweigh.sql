-- Keeps the row, events and evidence of a trait consistent when memories are erased and when traits are
-- imported.

-- is_adopted reports whether an actor derives events from an existing row; such events have no evidence.
create or replace function oxbow.is_adopted(_actor text) returns boolean
language sql immutable parallel safe
return _actor in ('import', 'check');
call oxbow.grant_worker('is_adopted');

-- lock_traits locks traits and all traits that erasing them may change, in the order of their ids, as in every
-- statement that locks several. These are the traits that they support and their older wordings, recursively, and the
-- parts of all of these.
create or replace function oxbow.lock_traits(_user_id text, _ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform from oxbow.memories_trait m
    where m.user_id = _user_id
      and m.id in (
        with recursive touched as (
          select i.id from unnest(_ids) i(id)
          union
          select n.id from touched t, lateral (
            select e.trait_id as id from oxbow.trait_evidence e
             where e.user_id = _user_id and e.memory_type = 'trait' and e.memory_id = t.id
            union all
            select c.id from oxbow.memories_trait c where c.user_id = _user_id and c.superseded_by = t.id) n
        )
        select t.id from touched t
        union
        select c.id from touched t join oxbow.memories_trait c on c.user_id = _user_id and c.trait_parent_id = t.id)
    order by m.id for no key update;
end $$;
call oxbow.grant_worker('lock_traits');

-- reweigh_trait recomputes a trait after evidence for or against it was erased. Each event counts its
-- remaining evidence, and an event without any is deleted. A trait without remaining support is erased with
-- its earlier wordings, unless a person corrected it or it was imported. Otherwise the reasons given by
-- reflection are removed. The caller holds the locks of lock_traits. With _erase => false, the trait and
-- the reasons stay.
create or replace function oxbow.reweigh_trait(_user_id text, _trait_id uuid, _erase boolean default true) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories_trait;
  _adopted boolean;
begin
  select * into t from oxbow.memories_trait m where m.user_id = _user_id and m.id = _trait_id for no key update;
  if not found then
    return;
  end if;
  _adopted := exists (select from oxbow.trait_events e
                       where e.user_id = _user_id and e.trait_id = _trait_id and e.event = 'created'
                         and oxbow.is_adopted(e.actor));
  if _erase and not _adopted and t.trait_edited_at is null
    and not exists (select from oxbow.trait_evidence v
                     where v.user_id = _user_id and v.trait_id = _trait_id and v.direction = 'supporting') then
    perform oxbow.erase_wordings(_user_id, _trait_id);
    return;
  end if;
  if _erase then -- reflection's reasons may reveal what was erased
    update oxbow.trait_events e set reason = null
     where e.user_id = _user_id and e.trait_id = _trait_id and e.actor = 'reflection' and e.reason is not null;
    with recursive wording as (
      select _trait_id as id
      union
      select m.id from wording w join oxbow.memories_trait m on m.user_id = _user_id and m.superseded_by = w.id
    )
    update oxbow.memory_history h set reason = null
      from wording w
     where h.user_id = _user_id and h.memory_type = 'trait' and h.memory_id = w.id and h.actor = 'reflection'
       and h.reason is not null;
  end if;
  with session as (
    select v.event_seq as seq, count(*) as memories, min(v.quality) as best
      from oxbow.trait_evidence v where v.user_id = _user_id and v.trait_id = _trait_id
     group by v.event_seq, v.session_key
  ), evidence as (
    select n.seq, sum(n.memories)::integer as memories, array_agg(n.best) as qualities
      from session n group by n.seq
  ), weighed as (
    select e.seq, coalesce(v.memories, 0) as memories,
           coalesce(oxbow.trait_factor(e.event, v.qualities, v.memories, e.at), e.factor) as factor
      from oxbow.trait_events e left join evidence v on v.seq = e.seq
     where e.user_id = _user_id and e.trait_id = _trait_id and not oxbow.is_adopted(e.actor)
  )
  update oxbow.trait_events e
     set memories = w.memories, factor = w.factor
    from weighed w
   where e.user_id = _user_id and e.trait_id = _trait_id and e.seq = w.seq
     and (e.memories <> w.memories or abs(coalesce(e.factor, 0) - coalesce(w.factor, 0)) > 1e-9);
  delete from oxbow.trait_events e
   where e.user_id = _user_id and e.trait_id = _trait_id and e.event in ('reinforced', 'contradicted')
     and e.memories = 0 and not oxbow.is_adopted(e.actor);
  perform oxbow.rewrite_trait(_user_id, _trait_id);
  if not _adopted then
    perform oxbow.observe_trait(_user_id, _trait_id);
  end if;
end $$;
call oxbow.grant_worker('reweigh_trait');

-- rewrite_trait renumbers a trait's events from 1 and writes the resulting states to the events and to the
-- row.
create or replace function oxbow.rewrite_trait(_user_id text, _trait_id uuid) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories_trait;
  e oxbow.trait_events;
  s record;
  _seq integer := 0;
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
begin
  select null::text as subtype, null::text as stage, null::double precision as confidence,
         null::timestamptz as confidence_at, null::integer as reinforcements, null::integer as contradictions,
         null::timestamptz as window_end into s;
  for e in select * from oxbow.trait_events v where v.user_id = _user_id and v.trait_id = _trait_id order by v.seq loop
    _seq := _seq + 1;
    if e.seq <> _seq then
      update oxbow.trait_evidence v set event_seq = _seq
       where v.user_id = _user_id and v.trait_id = _trait_id and v.event_seq = e.seq;
    end if;
    s := oxbow.apply_event(s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions,
                           s.window_end, e, _rules);
    update oxbow.trait_events v set seq = _seq, confidence = s.confidence, stage = coalesce(s.stage, v.stage)
     where v.user_id = _user_id and v.trait_id = _trait_id and v.seq = e.seq
       and (v.seq, v.confidence, v.stage) is distinct from (_seq, s.confidence, coalesce(s.stage, v.stage));
  end loop;
  if s.stage is null then
    return;
  end if;
  select * into t from oxbow.memories_trait m where m.user_id = _user_id and m.id = _trait_id for no key update;
  if t.trait_subtype is distinct from s.subtype then
    update oxbow.memories_trait m set trait_subtype = s.subtype where m.user_id = _user_id and m.id = _trait_id;
  end if;
  if (t.trait_subtype, t.trait_stage, t.trait_confidence, t.trait_confidence_at, t.trait_reinforcement_count,
      t.trait_contradiction_count, t.trait_window_end) is distinct from
     (s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions, s.window_end)
    or t.trait_next_transition_at is distinct from
       oxbow.trait_next_transition(s.stage, s.confidence, s.subtype, s.reinforcements, s.confidence_at,
                                   s.window_end, _rules)
    or s.window_end is null and t.trait_window_start is not null then
    perform oxbow.write_state(_user_id, _trait_id, s.stage, s.confidence, s.confidence_at, s.reinforcements,
                              s.contradictions, s.window_end);
  end if;
end $$;
call oxbow.grant_worker('rewrite_trait');

-- observe_trait updates the times and contexts in a trait's row from its evidence. A trait that is supported by other
-- traits inherited these values from them and keeps them.
create or replace function oxbow.observe_trait(_user_id text, _trait_id uuid) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  with supporting as materialized (
    select v.context, v.observed_at, v.event_seq, v.memory_type from oxbow.trait_evidence v
     where v.user_id = _user_id and v.trait_id = _trait_id and v.direction = 'supporting'
  ), seen as (
    select min(s.observed_at) as first, max(s.observed_at) as last,
           coalesce(bool_or(s.memory_type = 'trait'), false) as inferred,
           (select coalesce(jsonb_agg(c.context order by c.seq, c.at), '[]')
              from (select n.context, min(n.event_seq) as seq, min(n.observed_at) as at from supporting n
                     where n.context <> 'general' group by n.context) c) as contexts
      from supporting s
  )
  update oxbow.memories_trait m
     set valid_at = case when m.valid_at = m.trait_first_observed then s.first else m.valid_at end,
         trait_first_observed = s.first, trait_last_reinforced = s.last,
         metadata = case when m.metadata ? 'evidence_contexts'
                         then m.metadata || jsonb_build_object('evidence_contexts', s.contexts) else m.metadata end
    from seen s
   where m.user_id = _user_id and m.id = _trait_id and not s.inferred
     and (m.trait_first_observed, m.trait_last_reinforced, m.metadata -> 'evidence_contexts')
         is distinct from (s.first, s.last, s.contexts);
$$;
call oxbow.grant_worker('observe_trait');

-- erase_wordings erases a trait and all its earlier wordings. It runs with the owner's rights, as erase_memory does, so
-- that the worker needs none on the steps of an erasure.
create or replace function oxbow.erase_wordings(_user_id text, _trait_id uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  _ids uuid[];
begin
  with recursive wording as (
    select _trait_id as id
    union
    select m.id from wording w join oxbow.memories_trait m on m.user_id = _user_id and m.superseded_by = w.id
  ) select array_agg(w.id) into _ids from wording w;
  perform oxbow.lock_erased(_user_id, _ids);
  perform oxbow.erase_and_count(_user_id, i.id) from unnest(_ids) i(id);
end $$;
call oxbow.grant_worker('erase_wordings');

-- mark_erasing marks the transaction as the erasure of a whole user, or as a repair: deletions in it reweigh and
-- withdraw nothing. The mark is a row that no other transaction sees, and not a setting, which every role may change.
-- The caller removes it before the commit.
create or replace function oxbow.mark_erasing(_on boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if _on then
    insert into oxbow.settings (key, value) values ('erasing ' || pg_current_xact_id(), 'true');
  else
    delete from oxbow.settings s where s.key = 'erasing ' || pg_current_xact_id();
  end if;
end $$;
call oxbow.grant_worker('mark_erasing');

-- is_erasing reports whether the transaction is marked by mark_erasing.
create or replace function oxbow.is_erasing() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from oxbow.settings s where s.key = 'erasing ' || pg_current_xact_id());
$$;

-- reweigh_traits recomputes traits whose evidence was deleted.
create or replace function oxbow.reweigh_traits() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  g record;
begin
  if oxbow.is_erasing() then
    return null;
  end if;
  for g in
    select d.user_id, array_agg(distinct d.trait_id order by d.trait_id) as traits from gone d group by 1 order by 1
  loop
    perform oxbow.lock_traits(g.user_id, g.traits);
    perform oxbow.reweigh_trait(g.user_id, t.id) from unnest(g.traits) t(id);
  end loop;
  return null;
end $$;
create or replace trigger reweigh_traits after delete on oxbow.trait_evidence
  referencing old table as gone for each statement execute function oxbow.reweigh_traits();

-- leave_parent detaches the parts of a deleted trait.
create or replace function oxbow.leave_parent() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not oxbow.is_erasing() then
    update oxbow.memories_trait m set trait_parent_id = null
     where m.user_id = old.user_id and m.trait_parent_id = old.id;
  end if;
  return null;
end $$;
create or replace trigger leave_parent after delete on oxbow.memories_trait
  for each row execute function oxbow.leave_parent();

-- complete_trait fills in the missing columns of a trait that reflection did not insert, such as an
-- imported one. Existing values stay, except for the next transition, which follows the policies of this
-- database. A missing confidence becomes one in the middle of the stage's range, so that the trait starts in its stage.
create or replace function oxbow.complete_trait() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  r oxbow.trait_rules;
begin
  new.trait_stage := coalesce(new.trait_stage, 'candidate');
  new.trait_subtype := coalesce(new.trait_subtype, 'behavior');
  new.trait_confidence_at := coalesce(new.trait_confidence_at, new.created_at);
  new.trait_reinforcement_count := coalesce(new.trait_reinforcement_count, 0);
  new.trait_contradiction_count := coalesce(new.trait_contradiction_count, 0);
  if new.trait_confidence is null and new.trait_stage not in ('trend', 'dissolved') then
    r := (oxbow.trait_rules())[1];
    new.trait_confidence := case new.trait_stage
      when 'core' then (r.core_above + 1) / 2 when 'established' then (r.established_min + r.core_above) / 2
      when 'emerging' then (r.candidate_max + r.established_min) / 2 else 0.2 end;
  end if;
  if new.expired_at is null then
    new.trait_next_transition_at := oxbow.trait_next_transition(
      new.trait_stage, new.trait_confidence, new.trait_subtype, new.trait_reinforcement_count,
      new.trait_confidence_at, new.trait_window_end);
  end if;
  return new;
end $$;
create or replace trigger complete_trait before insert on oxbow.memories_trait
  for each row execute function oxbow.complete_trait();

-- adopt_trait creates events for a trait that has none, so that it can be replayed to the state in its row:
-- created with its confidence, then reinforced and contradicted as often as the row says, without effect. A
-- trend without an end gets a window from now. If the row is inconsistent, it is changed to match the
-- events. It returns whether it did anything.
create or replace function oxbow.adopt_trait(_user_id text, _trait_id uuid, _actor text) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories_trait;
  e oxbow.trait_events;
  _kinds text[] := '{created}';
begin
  select * into t from oxbow.memories_trait m
   where m.user_id = _user_id and m.id = _trait_id and m.expired_at is null for no key update;
  if not found or exists (select from oxbow.trait_events v where v.user_id = _user_id and v.trait_id = _trait_id) then
    return false;
  end if;
  t.trait_stage := coalesce(t.trait_stage, 'candidate');
  if t.trait_reinforcement_count > 0 then -- more than a thousand make no difference
    _kinds := _kinds || array_fill('reinforced'::text, array[least(t.trait_reinforcement_count, 1000)]);
  end if;
  if t.trait_contradiction_count > 0 then
    _kinds := _kinds || 'contradicted'::text;
  end if;
  if t.trait_stage = 'dissolved' then
    _kinds := _kinds || 'dissolved'::text;
  end if;
  for i in 1 .. cardinality(_kinds) loop
    e := null;
    e.event := _kinds[i];
    if i = 1 then
      e.subtype := case when t.trait_subtype in ('behavior', 'preference', 'core') then t.trait_subtype
                        else 'behavior' end;
      if t.trait_stage = 'trend' then
        e.window_end := coalesce(t.trait_window_end,
                                 now() + make_interval(days => oxbow.policy('trait_window_days')::integer));
      elsif t.trait_stage <> 'dissolved' or t.trait_confidence is not null then
        e.sets := oxbow.clamp_confidence(coalesce(t.trait_confidence, oxbow.policy('trait_start_candidate')));
      end if;
    end if;
    insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end,
                                    stage, actor)
    values (_user_id, _trait_id, i, e.event, coalesce(t.trait_confidence_at, t.created_at),
            case when e.event in ('reinforced', 'contradicted') then 0 end, e.sets,
            case e.event when 'contradicted' then t.trait_contradiction_count else 0 end,
            e.subtype, e.window_end, '', _actor);
  end loop;
  perform oxbow.rewrite_trait(_user_id, _trait_id);
  return true;
end $$;
call oxbow.grant_worker('adopt_trait');
