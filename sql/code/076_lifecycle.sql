-- The rules of a trait's life that the database applies itself: package internal/lifecycle has them all, explains them, and
-- a test keeps the two equal.

-- trait_stage_of returns the stage of a confidence.
create or replace function oxbow.trait_stage_of(_confidence double precision) returns text
language sql immutable parallel safe
return case when _confidence > 0.85 then 'core' when _confidence >= 0.60 then 'established' when _confidence > 0.30 then 'emerging'
            else 'candidate' end;
call oxbow.grant_app('trait_stage_of');

-- trait_rate is how fast confidence decays, per day.
create or replace function oxbow.trait_rate(_subtype text, _reinforcements integer) returns double precision
language sql immutable parallel safe
return case _subtype when 'preference' then 0.002 when 'core' then 0.001 else 0.005 end::double precision
       / (1 + 0.1::double precision * greatest(coalesce(_reinforcements, 0), 0));
call oxbow.grant_app('trait_rate');

-- trait_confidence_at is a confidence that was set at one moment, decayed to another. What is next to nothing stays so, because
-- PostgreSQL refuses a product that is too small for a number.
create or replace function oxbow.trait_confidence_at(_confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _now timestamptz) returns double precision
language sql immutable parallel safe
return case when _confidence < 1e-18 then _confidence
            else _confidence * exp(greatest(-700, -oxbow.trait_rate(_subtype, _reinforcements)
                                   * greatest(case when _now <= _at then 0 when isfinite(_now) then extract(epoch from _now - _at)::double precision else 1e15 end, 0) / 86400)) end;
call oxbow.grant_app('trait_confidence_at');

-- trait_stage_at is a trait's stage at a moment, time alone considered.
create or replace function oxbow.trait_stage_at(_stage text, _confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _window_end timestamptz, _now timestamptz) returns text
language sql immutable parallel safe
return case
  when _stage = 'dissolved' then 'dissolved'
  when _stage = 'trend' then case when _now >= _window_end then 'dissolved' else 'trend' end
  when oxbow.trait_confidence_at(_confidence, _subtype, _reinforcements, _at, _now) < 0.05 then 'dissolved'
  else oxbow.trait_stage_of(oxbow.trait_confidence_at(_confidence, _subtype, _reinforcements, _at, _now)) end;
call oxbow.grant_app('trait_stage_at');

-- trait_next_transition is when time alone changes a trait's stage; null: never. It is PL/pgSQL, because a function in SQL
-- that uses an argument twice is not always inlined, and costs several times as much then.
create or replace function oxbow.trait_next_transition(_stage text, _confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _window_end timestamptz) returns timestamptz
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _boundary double precision;
  _exponent double precision;
  _next timestamptz;
begin
  if _stage = 'trend' then
    return _window_end;
  elsif _stage = 'dissolved' or _confidence is null then
    return null;
  end if;
  _boundary := case when _confidence > 0.85 then 0.85 when _confidence >= 0.60 then 0.60 when _confidence > 0.30 then 0.30 else 0.05 end;
  if _confidence < _boundary then
    return oxbow.ceil_second(_at); -- too weak already
  end if;
  _exponent := ln(_confidence / _boundary);
  _next := oxbow.trait_after(_at, _exponent, _subtype, _reinforcements);
  if oxbow.trait_stage_at(_stage, _confidence, _subtype, _reinforcements, _at, null, _next) = oxbow.trait_stage_of(_confidence) then
    -- so slow that the boundary is not passed for rounding: a little more than the error of ln and exp
    _next := oxbow.trait_after(_at, _exponent + 4e-15, _subtype, _reinforcements);
  end if;
  return _next;
end $$;
call oxbow.grant_app('trait_next_transition');

-- trait_after is the moment after which confidence has decayed to exp(-exponent) of itself; at the latest in the year 9999.
create or replace function oxbow.trait_after(_at timestamptz, _exponent double precision, _subtype text, _reinforcements integer)
returns timestamptz
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _farthest constant timestamptz := '9999-12-31 00:00:00+00';
  _seconds constant double precision := ceil(_exponent / oxbow.trait_rate(_subtype, _reinforcements) * 86400);
begin
  if _seconds <= extract(epoch from _farthest - _at) then
    return oxbow.ceil_second(_at + make_interval(secs => _seconds));
  end if;
  return case when _at < _farthest then _farthest else oxbow.ceil_second(_at) end;
end $$;
call oxbow.grant_app('trait_after');

-- ceil_second rounds up, and always up.
create or replace function oxbow.ceil_second(_at timestamptz) returns timestamptz
language sql immutable parallel safe
return date_trunc('second', _at, 'UTC') + interval '1 second';
call oxbow.grant_app('ceil_second');

-- replay_trait returns the state that a trait's events up to a moment lead to. stage is null where there are none. Where a clock
-- went backwards, an event is taken to be no earlier than those before it.
create or replace function oxbow.replay_trait(_user_id text, _trait_id uuid, _until timestamptz default 'infinity',
  out subtype text, out stage text, out confidence double precision, out confidence_at timestamptz, out reinforcements integer,
  out contradictions integer, out window_end timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  e oxbow.trait_events;
begin
  for e in select * from oxbow.trait_events t where t.user_id = _user_id and t.trait_id = _trait_id order by t.seq loop
    exit when e.at > _until;
    select * into subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end
      from oxbow.apply_event(subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end, e);
  end loop;
end $$;
call oxbow.grant_worker('replay_trait');

-- apply_event returns the state after an event: lifecycle.State.Apply.
create or replace function oxbow.apply_event(inout subtype text, inout stage text, inout confidence double precision,
  inout confidence_at timestamptz, inout reinforcements integer, inout contradictions integer, inout window_end timestamptz,
  _event oxbow.trait_events)
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  _held boolean;
begin
  if _event.event = 'created' then
    subtype := coalesce(_event.subtype, 'behavior');
    stage := 'trend';
    confidence := null;
    confidence_at := _event.at;
    reinforcements := 0;
    contradictions := 0;
    window_end := _event.window_end;
  elsif stage is null and _event.sets is null then
    return; -- nothing was created that it could have happened to
  end if;
  _held := stage <> 'trend' and confidence is not null;
  if confidence_at is null or _event.at > confidence_at then
    if _held then
      confidence := oxbow.clamp_confidence(oxbow.trait_confidence_at(confidence, subtype, reinforcements, confidence_at, _event.at));
    end if;
    confidence_at := _event.at;
  end if;
  case _event.event
    when 'reinforced', 'used' then
      if _event.event = 'reinforced' then
        reinforcements := coalesce(reinforcements, 0) + 1;
      end if;
      if _held then
        confidence := oxbow.clamp_confidence(confidence + (1 - confidence) * coalesce(_event.factor, 0));
      end if;
    when 'contradicted' then
      contradictions := coalesce(contradictions, 0) + _event.memories;
      if _held then
        confidence := oxbow.clamp_confidence(confidence * (1 - coalesce(_event.factor, 0)));
      end if;
    when 'dissolved' then
      stage := 'dissolved';
      window_end := null;
    else
      null;
  end case;
  if _event.sets is not null then
    confidence := oxbow.clamp_confidence(_event.sets);
    window_end := null;
    if stage is distinct from 'dissolved' or _event.event in ('revived', 'edited') then
      stage := oxbow.trait_stage_of(confidence);
    end if;
  elsif stage not in ('trend', 'dissolved') then
    stage := oxbow.trait_stage_of(confidence);
  end if;
end $$;
call oxbow.grant_worker('apply_event');

-- clamp_confidence keeps a confidence in (0,1), where rounding would leave it.
create or replace function oxbow.clamp_confidence(_confidence double precision) returns double precision
language sql immutable parallel safe
return least(greatest(_confidence, 1e-9), 1 - 1e-9);
call oxbow.grant_worker('clamp_confidence');

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
call oxbow.grant_worker('record_event');

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
call oxbow.grant_worker('write_state');

-- settle_traits applies what time did to traits that are due: decayed over a boundary of stages, too weak, or a trend
-- whose window ended. With a user it takes all of that user's that are due, otherwise up to _limit that nobody else holds. It
-- returns how many it took, those included that turned out not to be due, and how many dissolved. The cost follows the traits that are due, not those there are:
-- they are locked first, and stay where they are then, so that the second statement finds them by their place.
create or replace function oxbow.settle_traits(_now timestamptz, _limit integer, _user_id text default null, _cycle_id uuid default null,
  out settled bigint, out dissolved bigint)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  _due tid[];
begin
  if _user_id is null then
    select array_agg(d.place) into _due
      from (select m.ctid as place from oxbow.memories_trait m
             where m.trait_next_transition_at <= _now and m.expired_at is null
             order by m.trait_next_transition_at limit _limit for no key update skip locked) d;
  else
    select array_agg(d.place) into _due
      from (select m.ctid as place from oxbow.memories_trait m
             where m.user_id = _user_id and m.trait_next_transition_at <= _now and m.expired_at is null
             order by m.id for no key update) d;
  end if;
  settled := coalesce(cardinality(_due), 0);
  with due as materialized (
    select m.ctid as place, m.user_id, m.id, m.trait_stage as stage, m.trait_subtype as subtype, m.trait_reinforcement_count as reinforcements,
           oxbow.trait_stage_at(m.trait_stage, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at,
             m.trait_window_end, _now) as next,
           oxbow.trait_confidence_at(m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at, _now) as confidence,
           greatest(m.trait_confidence_at, _now) as at
      from oxbow.memories_trait m where m.ctid = any(_due)
  ), turned as materialized (
    select d.*, case when d.confidence is not null then oxbow.clamp_confidence(d.confidence) end as clamped from due d where d.next <> d.stage
  ), changed as (
    update oxbow.memories_trait m
       set trait_stage = d.next, trait_confidence = d.clamped, trait_confidence_at = d.at, trait_window_start = null, trait_window_end = null,
           trait_next_transition_at = oxbow.trait_next_transition(d.next, d.clamped, d.subtype, d.reinforcements, d.at, null),
           version = m.version + 1, updated_at = clock_timestamp()
      from turned d where m.ctid = d.place
  ), put_off as ( -- what was said to be due and is not
    update oxbow.memories_trait m
       set trait_next_transition_at = oxbow.trait_next_transition(m.trait_stage, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
             m.trait_confidence_at, m.trait_window_end)
      from due d where d.next = d.stage and m.ctid = d.place
  ), noted as (
    insert into oxbow.trait_events (user_id, trait_id, seq, event, at, confidence, stage, cycle_id, actor, reason)
    select d.user_id, d.id,
           coalesce((select max(e.seq) from oxbow.trait_events e where e.user_id = d.user_id and e.trait_id = d.id), 0) + 1,
           case d.next when 'dissolved' then 'dissolved' else 'decayed' end, _now, d.clamped, d.next, _cycle_id, 'settle',
           case when d.stage = 'trend' then 'its window ended' when d.next = 'dissolved' then 'its confidence fell below 0.05'
                else d.stage || ' to ' || d.next end
      from turned d
  )
  select count(*) filter (where t.next = 'dissolved') into dissolved from turned t;
end $$;
call oxbow.grant_worker('settle_traits');
