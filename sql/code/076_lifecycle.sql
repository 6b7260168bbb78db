-- How time and events change a trait. The formulas are defined only here, because views, recall, settling
-- and replay need them next to the rows. Their numbers are policies: _rules is the result of
-- oxbow.trait_rules(). Time is a parameter.

-- trait_stage_of returns the stage of a confidence.
create or replace function oxbow.trait_stage_of(_confidence double precision,
  _rule oxbow.trait_rules default (oxbow.trait_rules())[1]) returns text
language sql immutable parallel safe
return case when _confidence > (_rule).core_above then 'core'
            when _confidence >= (_rule).established_min then 'established'
            when _confidence > (_rule).candidate_max then 'emerging' else 'candidate' end;
call oxbow.grant_app('trait_stage_of');

-- trait_rate returns the decay of confidence per day (C §4.2, the spacing effect). An unknown subtype
-- counts as behavior.
create or replace function oxbow.trait_rate(_subtype text, _reinforcements integer,
  _rule oxbow.trait_rules default (oxbow.trait_rules())[1]) returns double precision
language sql immutable parallel safe
return case _subtype when 'preference' then (_rule).decay_preference when 'core' then (_rule).decay_core
                     else (_rule).decay_behavior end
       / (1 + (_rule).spacing * greatest(coalesce(_reinforcements, 0), 0));
call oxbow.grant_app('trait_rate');

-- trait_decayed is trait_confidence_at across changes of policy: each policy applies to its own period.
create or replace function oxbow.trait_decayed(_confidence double precision, _subtype text, _reinforcements integer,
  _at timestamptz, _now timestamptz, _rules oxbow.trait_rules[]) returns double precision
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _rule oxbow.trait_rules;
  _exponent double precision := 0;
  _from timestamptz;
begin
  foreach _rule in array _rules loop -- newest first
    continue when _rule.valid_from >= _now;
    exit when _now <= _at;
    _from := greatest(_rule.valid_from, _at);
    _exponent := _exponent + oxbow.trait_rate(_subtype, _reinforcements, _rule)
      * case when isfinite(_now) then extract(epoch from _now - _from)::double precision else 1e15 end / 86400;
    _now := _from;
  end loop;
  return _confidence * exp(greatest(-700, -_exponent));
end $$;
call oxbow.grant_app('trait_decayed');

-- trait_confidence_at returns a confidence set at _at, decayed to _now (C §4.2). A confidence close to zero
-- stays unchanged, because PostgreSQL raises an error on underflow.
create or replace function oxbow.trait_confidence_at(_confidence double precision, _subtype text,
  _reinforcements integer, _at timestamptz, _now timestamptz, _rules oxbow.trait_rules[] default oxbow.trait_rules())
returns double precision
language sql immutable parallel safe
return case
  when _confidence < 1e-18 then _confidence
  when (_rules[1]).valid_from > _at then oxbow.trait_decayed(_confidence, _subtype, _reinforcements, _at, _now, _rules)
  else _confidence * exp(greatest(-700, -oxbow.trait_rate(_subtype, _reinforcements, _rules[1])
         * greatest(case when _now <= _at then 0
                         when isfinite(_now) then extract(epoch from _now - _at)::double precision
                         else 1e15 end, 0) / 86400)) end;

call oxbow.grant_app('trait_confidence_at');

-- trait_stage_by is trait_stage_of, except that a trait below dissolve_below is dissolved.
create or replace function oxbow.trait_stage_by(_confidence double precision, _rule oxbow.trait_rules) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return case when _confidence < (_rule).dissolve_below then 'dissolved'
              else oxbow.trait_stage_of(_confidence, _rule) end;
end $$;
call oxbow.grant_app('trait_stage_by');

-- trait_stage_with returns a trait's stage at _now, given its confidence at _now.
create or replace function oxbow.trait_stage_with(_stage text, _confidence double precision, _window_end timestamptz,
  _now timestamptz, _rules oxbow.trait_rules[]) returns text
language sql immutable parallel safe
return case
  when _stage = 'dissolved' then 'dissolved'
  when _stage = 'trend' then case when _now >= _window_end then 'dissolved' else 'trend' end
  else oxbow.trait_stage_by(_confidence,
         case when (_rules[1]).valid_from <= _now then _rules[1] else oxbow.rules_at(_rules, _now) end) end;
call oxbow.grant_app('trait_stage_with');

-- trait_stage_at returns a trait's stage at a moment, as changed by time alone.
create or replace function oxbow.trait_stage_at(_stage text, _confidence double precision, _subtype text,
  _reinforcements integer, _at timestamptz, _window_end timestamptz, _now timestamptz,
  _rules oxbow.trait_rules[] default oxbow.trait_rules()) returns text
language sql immutable parallel safe
return oxbow.trait_stage_with(_stage,
  oxbow.trait_confidence_at(_confidence, _subtype, _reinforcements, _at, _now, _rules), _window_end, _now, _rules);
call oxbow.grant_app('trait_stage_at');

-- trait_next_transition returns when time alone changes a trait's stage: at the end of a trend's window, or
-- when decay carries its confidence over the next boundary. If a later change of policy implies another
-- stage, it is the moment of that change. The result is rounded up by at most two seconds, so that the
-- boundary is passed by then. A moment beyond the year 9999 becomes the last day of that year. Null means
-- never.
create or replace function oxbow.trait_next_transition(_stage text, _confidence double precision, _subtype text,
  _reinforcements integer, _at timestamptz, _window_end timestamptz,
  _rules oxbow.trait_rules[] default oxbow.trait_rules())
returns timestamptz
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _rule constant oxbow.trait_rules := _rules[1];
  _from constant timestamptz := greatest(_at, _rule.valid_from);
  _held double precision := _confidence;
  _rate double precision;
  _boundary double precision;
  _exponent double precision;
  _next timestamptz;
begin
  if _stage = 'trend' then
    return _window_end;
  elsif _stage = 'dissolved' or _confidence is null then
    return null;
  end if;
  if _from > _at then
    _held := oxbow.trait_decayed(_confidence, _subtype, _reinforcements, _at, _from, _rules);
    if oxbow.trait_stage_by(_held, _rule) <> _stage then
      return oxbow.ceil_second(_from);
    end if;
  end if;
  _boundary := case when _held > _rule.core_above then _rule.core_above
                    when _held >= _rule.established_min then _rule.established_min
                    when _held > _rule.candidate_max then _rule.candidate_max else _rule.dissolve_below end;
  if _held < _boundary then
    return oxbow.ceil_second(_from); -- already below the boundary
  end if;
  _exponent := ln(_held / _boundary);
  _rate := oxbow.trait_rate(_subtype, _reinforcements, _rule);
  _next := oxbow.trait_after(_from, _exponent, _rate);
  if oxbow.trait_stage_at(_stage, _confidence, _subtype, _reinforcements, _at, null, _next, _rules)
     = oxbow.trait_stage_of(_held, _rule) then
    -- decay is so slow that rounding hides the boundary: add a little more than the error of ln and exp
    _next := oxbow.trait_after(_from, _exponent + 4e-15, _rate);
  end if;
  return _next;
end $$;
call oxbow.grant_app('trait_next_transition');

-- trait_after returns when confidence has decayed to exp(-exponent) of itself, at the latest in 9999.
create or replace function oxbow.trait_after(_at timestamptz, _exponent double precision, _rate double precision)
returns timestamptz
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  _farthest constant timestamptz := '9999-12-31 00:00:00+00';
  _seconds constant double precision := ceil(_exponent / _rate * 86400);
begin
  if _seconds <= extract(epoch from _farthest - _at) then
    return oxbow.ceil_second(_at + make_interval(secs => _seconds));
  end if;
  return case when _at < _farthest then _farthest else oxbow.ceil_second(_at) end;
end $$;
call oxbow.grant_app('trait_after');

-- ceil_second rounds up to the next full second, and adds a second to a full one.
create or replace function oxbow.ceil_second(_at timestamptz) returns timestamptz
language sql immutable parallel safe
return date_trunc('second', _at, 'UTC') + interval '1 second';
call oxbow.grant_app('ceil_second');

-- trait_reinforcement returns the share of the remaining doubt that the evidence of one cycle removes: 1 −
-- Π(1 − f), always below 1 (C §4.2). _qualities has the best quality of each session, which counts once.
create or replace function oxbow.trait_reinforcement(_qualities text[], _at timestamptz) returns double precision
language sql stable set search_path = pg_catalog, pg_temp as $$
  select least(1 - exp(sum(n * ln(1 - oxbow.policy(
           case q when 'A' then 'trait_factor_a' when 'B' then 'trait_factor_b'
                  when 'C' then 'trait_factor_c' else 'trait_factor_d' end,
           _at)))), 1 - 1e-9)
    from (select q, count(*) as n from unnest(_qualities) q group by q) quality;
$$;
call oxbow.grant_worker('trait_reinforcement');

-- trait_contradiction returns the share of confidence that the contradictions of one cycle remove (C §4.2).
create or replace function oxbow.trait_contradiction(_contradictions integer, _at timestamptz) returns double precision
language sql stable set search_path = pg_catalog, pg_temp as $$
  select least(oxbow.policy('trait_contradiction_max', _at),
               oxbow.policy('trait_contradiction', _at)
               + oxbow.policy('trait_contradiction_step', _at) * (_contradictions - 1));
$$;
call oxbow.grant_worker('trait_contradiction');

-- trait_factor returns the factor of an event that counts _memories, with the best quality of each session in
-- _qualities. Events of other kinds have none: null.
create or replace function oxbow.trait_factor(_event text, _qualities text[], _memories integer, _at timestamptz)
returns double precision
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case _event when 'reinforced' then coalesce(oxbow.trait_reinforcement(_qualities, _at), 0)
                     when 'contradicted' then
                       case when _memories > 0 then oxbow.trait_contradiction(_memories, _at) else 0 end
                     when 'used' then oxbow.policy('trait_factor_used', _at) end;
$$;
call oxbow.grant_worker('trait_factor');

-- counts_in reports whether evidence of a direction counts in an event.
create or replace function oxbow.counts_in(_direction text, _event text) returns boolean
language sql immutable parallel safe
return case _direction when 'supporting' then _event in ('created', 'reinforced', 'revived')
            else _event = 'contradicted' end;
call oxbow.grant_worker('counts_in');

-- replay_trait returns the state after a trait's events up to a moment. stage is null if there are none. If
-- a clock went backwards, an event counts as no earlier than those before it.
create or replace function oxbow.replay_trait(_user_id text, _trait_id uuid, _until timestamptz default 'infinity',
  _rules oxbow.trait_rules[] default oxbow.trait_rules(),
  out subtype text, out stage text, out confidence double precision, out confidence_at timestamptz,
  out reinforcements integer, out contradictions integer, out window_end timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  e oxbow.trait_events;
begin
  for e in select * from oxbow.trait_events t where t.user_id = _user_id and t.trait_id = _trait_id order by t.seq loop
    exit when e.at > _until;
    select * into subtype, stage, confidence, confidence_at, reinforcements, contradictions, window_end
      from oxbow.apply_event(subtype, stage, confidence, confidence_at, reinforcements, contradictions,
                             window_end, e, _rules);
  end loop;
end $$;

-- replay_events returns the state after each event of a trait.
create or replace function oxbow.replay_events(_user_id text, _trait_id uuid,
  _rules oxbow.trait_rules[] default oxbow.trait_rules())
returns table (seq integer, at timestamptz, subtype text, stage text, confidence double precision,
  confidence_at timestamptz, reinforcements integer, contradictions integer, window_end timestamptz)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
#variable_conflict error
declare
  e oxbow.trait_events;
  s record;
begin
  select null::text as subtype, null::text as stage, null::double precision as confidence,
         null::timestamptz as confidence_at, null::integer as reinforcements, null::integer as contradictions,
         null::timestamptz as window_end into s;
  for e in
    select t.* from oxbow.trait_events t where t.user_id = _user_id and t.trait_id = _trait_id order by t.seq
  loop
    s := oxbow.apply_event(s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions,
                           s.window_end, e, _rules);
    return query select e.seq, e.at, s.subtype, s.stage, s.confidence, s.confidence_at, s.reinforcements,
                        s.contradictions, s.window_end;
  end loop;
end $$;
call oxbow.grant_worker('replay_events');

-- apply_event returns the state after an event. An event first decays the confidence to its moment and then
-- changes it. An event earlier than the last one counts as simultaneous with it.
create or replace function oxbow.apply_event(inout subtype text, inout stage text, inout confidence double precision,
  inout confidence_at timestamptz, inout reinforcements integer, inout contradictions integer,
  inout window_end timestamptz, _event oxbow.trait_events, _rules oxbow.trait_rules[] default oxbow.trait_rules())
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
    return; -- the trait does not exist yet
  end if;
  _held := stage <> 'trend' and confidence is not null;
  if confidence_at is null or _event.at > confidence_at then
    if _held then
      confidence := oxbow.clamp_confidence(
        oxbow.trait_confidence_at(confidence, subtype, reinforcements, confidence_at, _event.at, _rules));
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
      stage := oxbow.trait_stage_of(confidence, oxbow.rules_at(_rules, confidence_at));
    end if;
  elsif stage not in ('trend', 'dissolved') then
    stage := oxbow.trait_stage_of(confidence, oxbow.rules_at(_rules, confidence_at));
  end if;
end $$;
call oxbow.grant_worker('apply_event');

-- clamp_confidence keeps a confidence within (0,1) despite rounding.
create or replace function oxbow.clamp_confidence(_confidence double precision) returns double precision
language sql immutable parallel safe
return least(greatest(_confidence, 1e-9), 1 - 1e-9);
call oxbow.grant_worker('clamp_confidence');

-- record_event appends an event to a trait and writes the resulting state to its row. The caller holds the
-- row lock. Only single events such as edits and dissolutions come this way; reflection and settle write
-- many at once.
create or replace function oxbow.record_event(_event oxbow.trait_events) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  t oxbow.memories_trait;
  s record;
begin
  select * into strict t from oxbow.memories_trait m
   where m.user_id = _event.user_id and m.id = _event.trait_id for update;
  _event.seq := coalesce((select max(e.seq) from oxbow.trait_events e
                           where e.user_id = t.user_id and e.trait_id = t.id), 0) + 1;
  _event.memories := coalesce(_event.memories, 0);
  _event.details := coalesce(_event.details, '{}');
  _event.created_at := clock_timestamp();
  select * into s from oxbow.apply_event(t.trait_subtype, t.trait_stage, t.trait_confidence, t.trait_confidence_at,
    coalesce(t.trait_reinforcement_count, 0), coalesce(t.trait_contradiction_count, 0), t.trait_window_end, _event);
  _event.confidence := s.confidence;
  _event.stage := s.stage;
  insert into oxbow.trait_events select (_event).*;
  perform oxbow.write_state(t.user_id, t.id, s.stage, s.confidence, s.confidence_at, s.reinforcements, s.contradictions,
                            s.window_end);
end $$;
call oxbow.grant_worker('record_event');

-- write_state writes a state to a trait's row.
create or replace function oxbow.write_state(_user_id text, _trait_id uuid, _stage text, _confidence double precision,
  _confidence_at timestamptz, _reinforcements integer, _contradictions integer, _window_end timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  update oxbow.memories_trait m
     set trait_stage = _stage, trait_confidence = _confidence, trait_confidence_at = _confidence_at,
         trait_reinforcement_count = _reinforcements, trait_contradiction_count = _contradictions,
         trait_window_end = _window_end,
         trait_window_start = case when _window_end is not null then m.trait_window_start end,
         trait_next_transition_at = oxbow.trait_next_transition(
           _stage, _confidence, m.trait_subtype, _reinforcements, _confidence_at, _window_end),
         version = m.version + 1, updated_at = clock_timestamp()
   where m.user_id = _user_id and m.id = _trait_id;
$$;
call oxbow.grant_worker('write_state');

-- settle_traits applies the passing of time to traits that are due: decayed past a stage boundary, too
-- weak, or a trend whose window ended. With a user it takes all due traits of that user, otherwise up to
-- _limit that are not locked. It returns how many it took, including those that turn out not to be due, and
-- how many dissolved. The cost depends on the number of due traits, not of all traits: they are locked
-- first and do not move afterwards, so the second statement finds them by ctid.
create or replace function oxbow.settle_traits(_now timestamptz, _limit integer, _user_id text default null,
  _cycle_id uuid default null, out settled bigint, out dissolved bigint)
language plpgsql set search_path = pg_catalog, pg_temp set jit = off set enable_seqscan = off set enable_hashjoin = off
  set enable_mergejoin = off as $$
declare
  _due tid[];
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
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
    select m.ctid as place, m.user_id, m.id, m.trait_stage as stage, m.trait_subtype as subtype,
           m.trait_reinforcement_count as reinforcements,
           oxbow.trait_stage_with(m.trait_stage, c.confidence, m.trait_window_end, _now, _rules) as next, c.confidence,
           greatest(m.trait_confidence_at, _now) as at
      from oxbow.memories_trait m, lateral (
             select oxbow.trait_confidence_at(m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
                      m.trait_confidence_at, _now, _rules) as confidence offset 0) c
     where m.ctid = any(_due)
  ), turned as materialized (
    select d.*, case when d.confidence is not null then oxbow.clamp_confidence(d.confidence) end as clamped
      from due d
     where d.next <> d.stage
  ), changed as (
    update oxbow.memories_trait m
       set trait_stage = d.next, trait_confidence = d.clamped, trait_confidence_at = d.at,
           trait_window_start = null, trait_window_end = null,
           trait_next_transition_at = oxbow.trait_next_transition(
             d.next, d.clamped, d.subtype, d.reinforcements, d.at, null, _rules),
           version = m.version + 1, updated_at = clock_timestamp()
      from turned d where m.ctid = d.place
  ), put_off as ( -- marked as due, but not due
    update oxbow.memories_trait m
       set trait_next_transition_at = oxbow.trait_next_transition(
             m.trait_stage, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count, m.trait_confidence_at,
             m.trait_window_end, _rules)
      from due d where d.next = d.stage and m.ctid = d.place
  ), noted as (
    insert into oxbow.trait_events (user_id, trait_id, seq, event, at, confidence, stage, cycle_id, actor, reason)
    select d.user_id, d.id,
           coalesce((select max(e.seq) from oxbow.trait_events e
                      where e.user_id = d.user_id and e.trait_id = d.id), 0) + 1,
           case d.next when 'dissolved' then 'dissolved' else 'decayed' end, _now, d.clamped, d.next,
           _cycle_id, 'settle',
           case when d.stage = 'trend' then 'its window ended'
                when d.next = 'dissolved' then 'its confidence fell below ' || (_rules[1]).dissolve_below
                else d.stage || ' to ' || d.next end
      from turned d
  )
  select count(*) filter (where t.next = 'dissolved') into dissolved from turned t;
end $$;
call oxbow.grant_worker('settle_traits');

-- policies_pending reports whether follow_policies has work.
create or replace function oxbow.policies_pending() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from oxbow.trait_rules r where r.valid_from > '-infinity' and r.valid_from > coalesce(
    (select (s.value ->> 'valid_from')::timestamptz from oxbow.settings s
      where s.key = 'policies.followed' and not s.value ? 'user_id'), '-infinity'));
$$;
call oxbow.grant_worker('policies_pending');

-- follow_policies recomputes when time changes the stage of each trait after a trait policy changed, up to
-- _limit traits per call, in order. It returns how many it took; fewer than _limit means that it is done.
create or replace function oxbow.follow_policies(_limit integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
  _since constant timestamptz := (_rules[1]).valid_from;
  _at jsonb;
  _batch integer;
  _last record;
begin
  if not oxbow.policies_pending() then
    return 0;
  end if;
  select s.value into _at from oxbow.settings s where s.key = 'policies.followed' for update;
  if (_at ->> 'valid_from')::timestamptz is distinct from _since then
    _at := jsonb_build_object('valid_from', _since, 'user_id', '', 'id', '00000000-0000-0000-0000-000000000000');
  end if;
  with batch as (
    select m.user_id, m.id from oxbow.memories_trait m
     where (m.user_id, m.id) > (_at ->> 'user_id', (_at ->> 'id')::uuid)
     order by m.user_id, m.id limit _limit for no key update
  ), followed as (
    update oxbow.memories_trait m
       set trait_next_transition_at = oxbow.trait_next_transition(m.trait_stage, m.trait_confidence, m.trait_subtype,
             m.trait_reinforcement_count, m.trait_confidence_at, m.trait_window_end, _rules)
      from batch b
     where m.user_id = b.user_id and m.id = b.id and m.expired_at is null
       and m.trait_stage not in ('trend', 'dissolved')
  )
  select count(*) over ()::integer, b.user_id, b.id into _last from batch b order by b.user_id desc, b.id desc limit 1;
  _batch := coalesce(_last.count, 0);
  _at := case when _batch < _limit then _at - 'user_id' - 'id'
              else _at || jsonb_build_object('user_id', _last.user_id, 'id', _last.id) end;
  insert into oxbow.settings (key, value) values ('policies.followed', _at)
  on conflict (key) do update set value = excluded.value, updated_at = now();
  return _batch;
end $$;
call oxbow.grant_worker('follow_policies');
