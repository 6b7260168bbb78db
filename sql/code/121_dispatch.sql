-- Adjustments: what the job dispatch changes because of signals that agree, and how it is undone.

-- waiting_signals locks at most _limit signals of all users that are not yet counted, and returns the memories and
-- skills that they are about. For each memory and skill it returns the signals within feedback_window_days that have
-- not yet led to an adjustment of it, and the last adjustment in force. The target final_answer is about memories.
-- Criticism of the targets reasoning, style and tool_choice, and praise, are about the skills that the answer used.
create or replace function oxbow.waiting_signals(_now timestamptz, _limit integer)
returns table (user_id text, memory_type text, memory_id uuid, signals jsonb, adjustment jsonb, taken uuid[])
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
#variable_conflict error
declare
  _since constant timestamptz := _now - make_interval(secs => 86400 * oxbow.policy('feedback_window_days'));
begin
  return query
  with waiting as materialized (
    select s.user_id, s.id, s.answer_id from oxbow.feedback_signals s
     where s.dispatched_at is null order by s.at limit _limit for update skip locked
  ), subject as (
    select w.user_id, f.memory_type::text, f.memory_id as id, array_agg(w.id) as taken
      from waiting w
      left join oxbow.feedback_subjects f on f.user_id = w.user_id and f.signal_id = w.id -- no row if it was erased
     group by w.user_id, f.memory_type, f.memory_id
    union all
    select w.user_id, 'skill', k.id, '{}'
      from waiting w
      join oxbow.answers a on a.user_id = w.user_id and a.id = w.answer_id
     cross join unnest(a.skills) k(id)
     group by w.user_id, k.id
  )
  select u.user_id, u.memory_type, u.id, said.signals, last.adjustment, u.taken
    from subject u
    left join lateral (
      select to_jsonb(a) as adjustment, a.at from oxbow.adjustments a
       where a.user_id = u.user_id and a.memory_id = u.id and a.undone_at is null and a.kind <> 'relation_weight'
       order by a.at desc limit 1) last on true
   cross join lateral (
      select jsonb_agg(jsonb_build_object('id', g.id, 'type', g.type, 'confidence', g.confidence, 'share', g.share,
               'kind', g.kind, 'at', g.at) order by g.at, g.id) as signals
        from (select s.id, s.kind, s.confidence, s.at, f.share,
                     case when s.targets = '{}' or 'final_answer' = any(s.targets)
                          then coalesce(s.parts ->> 'final_answer', s.type) else 'neutral' end as type
                from oxbow.feedback_subjects f
                join oxbow.feedback_signals s on s.user_id = f.user_id and s.id = f.signal_id
               where f.user_id = u.user_id and f.memory_type = u.memory_type and f.memory_id = u.id
              union all
              select s.id, s.kind, s.confidence, s.at, 1.0 / cardinality(a.skills),
                     case when exists (select from unnest(s.targets) t
                                        where t <> 'final_answer' and coalesce(s.parts ->> t, s.type) = 'negative')
                          then 'negative' when s.type = 'positive' then 'positive' else 'neutral' end
                from oxbow.feedback_signals s
                join oxbow.answers a on a.user_id = s.user_id and a.id = s.answer_id
               where u.memory_type = 'skill' and s.user_id = u.user_id and s.at > _since and u.id = any(a.skills)) g
       where g.at > greatest(_since, last.at)) said
   order by u.user_id, u.id;
end $$;
call oxbow.grant_worker('waiting_signals');

-- adjust changes the strength of a memory or the confidence of a trait by a factor, and records that. It returns the id
-- of the adjustment, or null if the memory no longer takes part in recall or nothing changed.
create or replace function oxbow.adjust(_user_id text, _type text, _id uuid, _factor double precision, _cause text,
  _signals uuid[], _score double precision, _now timestamptz) returns uuid
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  old oxbow.memories;
  _before double precision;
  _after double precision;
  _adjustment uuid;
begin
  select * into old from oxbow.memories m
   where m.user_id = _user_id and m.memory_type = _type and m.id = _id and m.forgotten_at is null
     and m.expired_at is null
     for no key update;
  if not found then
    return null;
  end if;
  _before := case when _type = 'trait' then old.trait_confidence else old.strength end;
  _after := oxbow.apply_factor(old, _factor, _now, _cause);
  if _after is null or _after = _before then
    return null;
  end if;
  insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before, after, cause, signals, score, expires_at)
  values (_user_id, case when _type = 'trait' then 'trait_confidence' else 'memory_weight' end, _type, _id, _before,
          _after, _cause, _signals, _score,
          case when _type <> 'trait' then
            _now + make_interval(secs => 86400 * oxbow.policy('feedback_adjustment_days')) end)
  returning id into _adjustment;
  perform oxbow.adjust_links(old, _factor, _cause, _signals, _score, _now);
  return _adjustment;
end $$;
call oxbow.grant_worker('adjust');

-- adjust_links multiplies the weights of the links from a memory to related ones by a factor if the same signals are
-- about both, because memories that were wrong together are less related.
create or replace function oxbow.adjust_links(_from oxbow.memories, _factor double precision, _cause text,
  _signals uuid[], _score double precision, _now timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  with old as (
    select l.to_type, l.to_id, l.weight, least(l.weight * _factor, 1) as after from oxbow.memory_links l
     where l.user_id = _from.user_id and l.from_type = _from.memory_type and l.from_id = _from.id
       and l.relation = 'related_to'
       and exists (select from oxbow.feedback_subjects f
                    where f.user_id = l.user_id and f.signal_id = any(_signals) and f.memory_type = l.to_type
                      and f.memory_id = l.to_id)
       for no key update
  ), changed as (
    update oxbow.memory_links l set weight = o.after from old o
     where l.user_id = _from.user_id and l.from_type = _from.memory_type and l.from_id = _from.id
       and l.relation = 'related_to' and l.to_type = o.to_type and l.to_id = o.to_id and l.weight <> o.after
    returning l.to_id
  )
  insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, target, before, after, cause, signals, score,
                                 expires_at)
  select _from.user_id, 'relation_weight', _from.memory_type, _from.id,
         jsonb_build_object('relation', 'related_to', 'memory_type', o.to_type, 'memory_id', o.to_id), o.weight, o.after,
         _cause, _signals, _score, _now + make_interval(secs => 86400 * oxbow.policy('feedback_adjustment_days'))
    from changed c join old o on o.to_id = c.to_id;
end $$;
call oxbow.grant_worker('adjust_links');

-- apply_factor multiplies the strength of a locked memory, or the confidence of a locked trait, by a factor, and
-- returns the new value, or null for a trait without a confidence. A strength decays by factors too, so that the
-- inverse factor undoes it at any later time, except for what uses added meanwhile.
create or replace function oxbow.apply_factor(_old oxbow.memories, _factor double precision, _now timestamptz,
  _reason text) returns double precision
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.recall_rules := oxbow.recall_rules(_old.user_id, 'infinity');
  _weight double precision;
  _value double precision;
  e oxbow.trait_events;
begin
  if _old.memory_type = 'trait' then
    if _old.trait_stage in ('trend', 'dissolved') then
      return null;
    end if;
    e.user_id := _old.user_id;
    e.trait_id := _old.id;
    e.at := _now;
    e.actor := 'feedback';
    e.reason := _reason;
    e.event := 'revised'; -- contradicted is for evidence
    e.sets := oxbow.clamp_confidence(_factor * oxbow.trait_confidence_at(_old.trait_confidence, _old.trait_subtype,
      _old.trait_reinforcement_count, _old.trait_confidence_at, _now));
    perform oxbow.record_event(e);
    return (select m.trait_confidence from oxbow.memories_trait m where m.user_id = _old.user_id and m.id = _old.id);
  end if;
  if _old.strength < 1e-100 then
    return null;
  end if;
  update oxbow.memories m set strength = least(least(m.strength, 1e100) * least(_factor, 1e100), 1000), updated_at = now()
   where m.user_id = _old.user_id and m.memory_type = _old.memory_type and m.id = _old.id
  returning m.strength, oxbow.weight_of(m, _now, _rules) into _value, _weight;
  perform oxbow.log_weight(_old.user_id, _old.memory_type, _old.id, _now, 'feedback',
                           oxbow.weight_of(_old, _now, _rules), _weight, 1, 'dispatch');
  return _value;
end $$;
call oxbow.grant_worker('apply_factor');

-- undo_adjustment undoes an adjustment if it is in force, and reports whether it was.
create or replace function oxbow.undo_adjustment(_user_id text, _id uuid, _by text, _now timestamptz) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  a oxbow.adjustments;
  m oxbow.memories;
begin
  select * into a from oxbow.adjustments j where j.user_id = _user_id and j.id = _id;
  if not found then
    return false;
  end if;
  -- the memory or the skills first, as in adjust and adjust_skill
  perform oxbow.lock_versions(_user_id) where a.kind = 'skill';
  select * into m from oxbow.memories o
   where o.user_id = _user_id and o.memory_type = a.memory_type and o.id = a.memory_id for no key update;
  update oxbow.adjustments j set undone_at = clock_timestamp(), undone_by = _by
   where j.user_id = _user_id and j.id = _id and j.undone_at is null;
  if not found then
    return false;
  end if;
  if a.kind in ('memory_weight', 'trait_confidence') then
    perform oxbow.apply_factor(m, a.before / a.after, _now, 'undone: ' || a.cause);
  elsif a.kind = 'relation_weight' then
    update oxbow.memory_links l set weight = least(l.weight * a.before / a.after, 1)
     where l.user_id = _user_id and l.from_type = a.memory_type and l.from_id = a.memory_id and l.relation = 'related_to'
       and l.to_type = (a.target ->> 'memory_type')::oxbow.memory_type and l.to_id = (a.target ->> 'memory_id')::uuid;
  elsif a.kind = 'skill' then
    perform oxbow.undo_skill(a);
  end if;
  return true;
end $$;
call oxbow.grant_worker('undo_adjustment');

-- rollback undoes an adjustment on behalf of a person. Undoing it again has no effect.
create or replace function oxbow.rollback(user_id text, adjustment uuid) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform oxbow.check_access("rollback".user_id);
  if not oxbow.undo_adjustment("rollback".user_id, "rollback".adjustment, 'person', clock_timestamp())
    and not exists (select from oxbow.adjustments a where a.user_id = "rollback".user_id and a.id = "rollback".adjustment) then
    raise exception using errcode = 'OX131',
      message = format('user %L has no adjustment %s', left("rollback".user_id, 255), "rollback".adjustment);
  end if;
end $$;
call oxbow.grant_app('rollback');

-- expire_feedback undoes expired adjustments and deletes old answers and suppressions, at most _limit of each. It
-- returns the number of rows it changed.
create or replace function oxbow.expire_feedback(_now timestamptz, _limit integer) returns bigint
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  _due record;
  _n bigint;
  _sum bigint := 0;
begin
  for _due in
    select a.user_id, a.id from oxbow.adjustments a
     where a.undone_at is null and a.expires_at <= _now order by a.expires_at limit _limit
  loop
    _sum := _sum + oxbow.undo_adjustment(_due.user_id, _due.id, 'expiry', _now)::integer;
  end loop;
  delete from oxbow.suppressions s
   using (select d.user_id, d.id from oxbow.suppressions d where d.expires_at <= _now
           order by d.expires_at limit _limit for update skip locked) d
   where s.user_id = d.user_id and s.id = d.id;
  get diagnostics _n = row_count;
  _sum := _sum + _n;
  delete from oxbow.answers a
   using (select d.user_id, d.id from oxbow.answers d
           where d.at < _now - make_interval(secs => 86400 * oxbow.policy('answer_days'))
           order by d.at limit _limit for update skip locked) d
   where a.user_id = d.user_id and a.id = d.id;
  get diagnostics _n = row_count;
  return _sum + _n;
end $$;
call oxbow.grant_worker('expire_feedback');

-- adjustments_of returns the adjustments of a user, newest first, with the memory's content or the skill's name.
create or replace function oxbow.adjustments_of(user_id text, memory_id uuid default null, max_results integer default 100)
returns table (id uuid, at timestamptz, kind text, memory_type text, "about" uuid, content text, target jsonb,
  before double precision, after double precision, cause text, signals uuid[], expires_at timestamptz,
  undone_at timestamptz, undone_by text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
begin
  perform oxbow.check_access(adjustments_of.user_id);
  if adjustments_of.max_results is null or adjustments_of.max_results not between 1 and 1000 then
    perform oxbow.reject('max_results', adjustments_of.max_results::text, 'must be between 1 and 1000');
  end if;
  return query
  select a.id, a.at, a.kind, a.memory_type::text, a.memory_id,
         coalesce((select m.content from oxbow.memories m where m.user_id = a.user_id and m.memory_type = a.memory_type
                      and m.id = a.memory_id and m.forgotten_at is null and m.sensitivity < 2),
                  (select s.name from oxbow.skills s where s.user_id = a.user_id and s.id = a.memory_id)),
         a.target, a.before, a.after, a.cause, a.signals, a.expires_at, a.undone_at, a.undone_by
    from oxbow.adjustments a
   where a.user_id = adjustments_of.user_id
     and (adjustments_of.memory_id is null or a.memory_id = adjustments_of.memory_id)
   order by a.at desc, a.id limit adjustments_of.max_results;
end $$;
call oxbow.grant_app('adjustments_of');
