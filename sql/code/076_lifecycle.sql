-- The rules of a trait's life that the database applies itself: package internal/lifecycle has them all, explains them, and
-- a test keeps the two equal.

-- trait_stage_of returns the stage of a confidence.
create or replace function oxbow.trait_stage_of(_confidence double precision) returns text
language sql immutable parallel safe
return case when _confidence > 0.85 then 'core' when _confidence >= 0.60 then 'established' when _confidence > 0.30 then 'emerging'
            else 'candidate' end;

-- trait_rate is how fast confidence decays, per day.
create or replace function oxbow.trait_rate(_subtype text, _reinforcements integer) returns double precision
language sql immutable parallel safe
return case _subtype when 'preference' then 0.002 when 'core' then 0.001 else 0.005 end::double precision
       / (1 + 0.1::double precision * greatest(coalesce(_reinforcements, 0), 0));

-- trait_confidence_at is a confidence that was set at one moment, decayed to another.
create or replace function oxbow.trait_confidence_at(_confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _now timestamptz) returns double precision
language sql immutable parallel safe
return _confidence * exp(greatest(-700, -oxbow.trait_rate(_subtype, _reinforcements)
                         * greatest(extract(epoch from _now - _at)::double precision, 0) / 86400));

-- trait_stage_at is a trait's stage at a moment, time alone considered.
create or replace function oxbow.trait_stage_at(_stage text, _confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _window_end timestamptz, _now timestamptz) returns text
language sql immutable parallel safe
return case
  when _stage = 'dissolved' then 'dissolved'
  when _stage = 'trend' then case when _now >= _window_end then 'dissolved' else 'trend' end
  when oxbow.trait_confidence_at(_confidence, _subtype, _reinforcements, _at, _now) < 0.05 then 'dissolved'
  else oxbow.trait_stage_of(oxbow.trait_confidence_at(_confidence, _subtype, _reinforcements, _at, _now)) end;

-- trait_next_transition is when time alone changes a trait's stage; null: never.
create or replace function oxbow.trait_next_transition(_stage text, _confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _window_end timestamptz) returns timestamptz
language sql immutable parallel safe
return case
  when _stage = 'dissolved' then null
  when _stage = 'trend' then _window_end
  else (
    select case
      when _confidence < b.boundary then date_trunc('second', _at, 'UTC') + interval '1 second'
      when s.seconds > extract(epoch from timestamptz '9999-12-31 00:00:00+00' - _at) then timestamptz '9999-12-31 00:00:00+00'
      else date_trunc('second', _at + make_interval(secs => s.seconds), 'UTC') + interval '1 second' end
      from (select case when _confidence > 0.85 then 0.85 when _confidence >= 0.60 then 0.60 when _confidence > 0.30 then 0.30
                        else 0.05 end::double precision) b(boundary),
           lateral (select ceil(ln(greatest(_confidence, 1e-300) / b.boundary) / oxbow.trait_rate(_subtype, _reinforcements) * 86400)) s(seconds)) end;

-- replay_trait returns the state that a trait's events up to a moment lead to. stage is null where there are none.
create or replace function oxbow.replay_trait(_user_id text, _trait_id uuid, _until timestamptz default 'infinity',
  out subtype text, out stage text, out confidence double precision, out confidence_at timestamptz, out reinforcements integer,
  out contradictions integer, out window_end timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  e oxbow.trait_events;
begin
  for e in select * from oxbow.trait_events t where t.user_id = _user_id and t.trait_id = _trait_id and t.at <= _until order by t.seq loop
    select * into subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end
      from oxbow.apply_event(subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end, e);
  end loop;
end $$;

-- apply_event returns the state after an event: lifecycle.State.Apply.
create or replace function oxbow.apply_event(inout subtype text, inout stage text, inout confidence double precision,
  inout confidence_at timestamptz, inout reinforcements integer, inout contradictions integer, inout window_end timestamptz,
  _event oxbow.trait_events)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  _trend boolean;
begin
  if _event.event = 'created' then
    subtype := coalesce(_event.subtype, 'behavior');
    stage := 'trend';
    confidence := null;
    confidence_at := _event.at;
    reinforcements := 0;
    contradictions := 0;
    window_end := _event.window_end;
  end if;
  if _event.at > confidence_at then
    confidence := oxbow.trait_confidence_at(confidence, subtype, reinforcements, confidence_at, _event.at);
    confidence_at := _event.at;
  end if;
  _trend := stage = 'trend';
  case _event.event
    when 'reinforced', 'used' then
      if _event.event = 'reinforced' then
        reinforcements := reinforcements + 1;
      end if;
      if not _trend then
        confidence := least(greatest(confidence + (1 - confidence) * _event.factor, 1e-9), 1 - 1e-9);
      end if;
    when 'contradicted' then
      contradictions := contradictions + _event.memories;
      if not _trend then
        confidence := least(greatest(confidence * (1 - _event.factor), 1e-9), 1 - 1e-9);
      end if;
    when 'dissolved' then
      stage := 'dissolved';
      window_end := null;
    else
      null;
  end case;
  if _event.sets is not null then
    confidence := least(greatest(_event.sets, 1e-9), 1 - 1e-9);
    window_end := null;
    if stage <> 'dissolved' or _event.event in ('revived', 'edited') then
      stage := oxbow.trait_stage_of(confidence);
    end if;
  elsif stage not in ('trend', 'dissolved') then
    stage := oxbow.trait_stage_of(confidence);
  end if;
end $$;

-- record_event appends an event to a trait and writes the state that follows to the trait's row. The caller holds the row.
-- Only edits, dissolutions and the like come this way; reflection and settle write many at once.
create or replace function oxbow.record_event(_event oxbow.trait_events) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories_trait;
  s record;
begin
  select * into strict t from oxbow.memories_trait m where m.user_id = _event.user_id and m.id = _event.trait_id for update;
  _event.seq := coalesce((select max(e.seq) from oxbow.trait_events e where e.user_id = t.user_id and e.trait_id = t.id), 0) + 1;
  _event.memories := coalesce(_event.memories, 0);
  _event.details := coalesce(_event.details, '{}');
  _event.created_at := clock_timestamp();
  select * into s from oxbow.apply_event(t.trait_subtype, t.trait_stage, t.trait_confidence, t.trait_confidence_at,
    coalesce(t.trait_reinforcement_count, 0), coalesce(t.trait_contradiction_count, 0), t.trait_window_end, _event);
  _event.confidence := s.confidence;
  _event.stage := s.stage;
  insert into oxbow.trait_events select (_event).*;
  perform oxbow.write_state(t.user_id, t.id, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions, s.window_end);
end $$;

-- write_state writes a state to a trait's row.
create or replace function oxbow.write_state(_user_id text, _trait_id uuid, _stage text, _confidence double precision,
  _confidence_at timestamptz, _reinforcements integer, _contradictions integer, _window_end timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.memories_trait m
     set trait_stage = _stage, trait_confidence = _confidence, trait_confidence_at = _confidence_at,
         trait_reinforcement_count = _reinforcements, trait_contradiction_count = _contradictions,
         trait_window_end = _window_end, trait_window_start = case when _window_end is not null then m.trait_window_start end,
         trait_next_transition_at = oxbow.trait_next_transition(_stage, _confidence, m.trait_subtype, _reinforcements, _confidence_at, _window_end),
         version = m.version + 1, updated_at = clock_timestamp()
   where m.user_id = _user_id and m.id = _trait_id;
$$;

-- settle_traits applies what time did to traits that are due: decayed over a boundary of stages, too weak, or a trend
-- whose window ended. With a user it takes all of that user's that are due, otherwise up to _limit that nobody else holds. It
-- returns how many it took and how many of these dissolved. The cost follows the traits that are due, not those there are.
create or replace function oxbow.settle_traits(_now timestamptz, _limit integer, _user_id text default null, _cycle_id uuid default null,
  out settled bigint, out dissolved bigint)
language plpgsql set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan set jit = off as $$
declare
  _due uuid[];
  _users text[];
begin
  if _user_id is null then
    select array_agg(d.id), array_agg(d.user_id) into _due, _users
      from (select m.id, m.user_id from oxbow.memories_trait m
             where m.trait_next_transition_at <= _now and m.expired_at is null
             order by m.trait_next_transition_at limit _limit for no key update skip locked) d;
  else
    select array_agg(d.id), array_agg(d.user_id) into _due, _users
      from (select m.id, m.user_id from oxbow.memories_trait m
             where m.user_id = _user_id and m.trait_next_transition_at <= _now and m.expired_at is null
             order by m.id for no key update) d;
  end if;
  if _due is null then
    settled := 0;
    dissolved := 0;
    return;
  end if;
  with due as materialized (
    select m.user_id, m.id, m.trait_stage as stage, m.trait_subtype as subtype, m.trait_reinforcement_count as reinforcements,
           oxbow.trait_stage_at(m.trait_stage, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at,
             m.trait_window_end, _now) as next,
           oxbow.trait_confidence_at(m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at, _now) as confidence,
           greatest(m.trait_confidence_at, _now) as at
      from unnest(_users, _due) d(user_id, id)
      join oxbow.memories_trait m on m.user_id = d.user_id and m.id = d.id
  ), changed as (
    update oxbow.memories_trait m
       set trait_stage = d.next, trait_confidence = d.confidence, trait_confidence_at = d.at,
           trait_window_start = case when d.next = 'trend' then m.trait_window_start end,
           trait_window_end = case when d.next = 'trend' then m.trait_window_end end,
           trait_next_transition_at = oxbow.trait_next_transition(d.next, d.confidence, d.subtype, d.reinforcements, d.at, m.trait_window_end),
           version = m.version + 1, updated_at = clock_timestamp()
      from due d where m.user_id = d.user_id and m.id = d.id
    returning d.user_id, d.id
  ), noted as (
    insert into oxbow.trait_events (user_id, trait_id, seq, event, at, confidence, stage, cycle_id, actor, reason)
    select d.user_id, d.id,
           coalesce((select max(e.seq) from oxbow.trait_events e where e.user_id = d.user_id and e.trait_id = d.id), 0) + 1,
           case d.next when 'dissolved' then 'dissolved' else 'decayed' end, _now, d.confidence, d.next, _cycle_id, 'settle',
           case when d.stage = 'trend' then 'its window ended' when d.next = 'dissolved' then 'its confidence fell below 0.05'
                else format('%s to %s', d.stage, d.next) end
      from due d where d.next <> d.stage
    returning stage
  )
  select (select count(*) from changed), (select count(*) from noted where stage = 'dissolved') into settled, dissolved;
end $$;
