-- Traits in recall and in context.

-- trait_stage_now returns the stage of a trait at _now. The stored stage holds until _next, when time alone
-- changes it, whether or not the job settle has run since.
create or replace function oxbow.trait_stage_now(_stage text, _next timestamptz, _confidence double precision,
  _subtype text, _reinforcements integer, _at timestamptz, _window_end timestamptz, _now timestamptz,
  _rules oxbow.trait_rules[] default oxbow.trait_rules()) returns text
language sql immutable parallel safe
return case when _next <= _now
            then oxbow.trait_stage_at(_stage, _confidence, _subtype, _reinforcements, _at, _window_end, _now, _rules)
            else _stage end;

-- traits_then returns, for each wording of a user's traits, the state at _believed:
--   {id: {"head": …, "stage": …, "confidence": …, "seq": …}}
-- head is the newest wording of the trait, to which evidence and events belong. Stage and confidence follow
-- from the last event up to then, decayed to then; seq is the number of that event. stage is null if there
-- was none. A trait without events (an import) has no past, so its stored values count. Forgotten traits
-- are left out. It reads the user's events once, while oxbow.traits_as_of replays them.
create or replace function oxbow.traits_then(_user_id text, _believed timestamptz) returns jsonb
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
  _rules constant oxbow.trait_rules[] := oxbow.trait_rules();
begin
  return (
    with recursive wording as (
      select m.id as head, m.id
        from oxbow.memories_trait m
       where m.user_id = _user_id and m.superseded_by is null and m.forgotten_at is null
      union all
      select w.head, m.id from wording w join oxbow.memories_trait m on m.user_id = _user_id and m.superseded_by = w.id
    ), past as (
      select distinct on (e.trait_id) e.*
        from (select e.trait_id, e.seq, e.stage, e.confidence, max(e.at) over sofar as at,
                     (count(*) filter (where e.event = 'reinforced') over sofar)::integer as reinforcements,
                     first_value(e.subtype) over sofar as subtype, first_value(e.window_end) over sofar as window_end
                from oxbow.trait_events e
               where e.user_id = _user_id
              window sofar as (partition by e.trait_id order by e.seq)) e
       where e.at <= _believed
       order by e.trait_id, e.seq desc
    ), state as (
      select p.trait_id as id, p.seq, p.stage, p.confidence, p.subtype, p.reinforcements, p.at, p.window_end from past p
      union all
      select m.id, null, m.trait_stage, m.trait_confidence, m.trait_subtype, m.trait_reinforcement_count,
             m.trait_confidence_at, m.trait_window_end
        from oxbow.memories_trait m
       where m.user_id = _user_id and m.superseded_by is null
         and not exists (select from oxbow.trait_events e where e.user_id = _user_id and e.trait_id = m.id)
    )
    select jsonb_object_agg(w.id, jsonb_build_object('head', w.head, 'seq', s.seq,
             'stage', oxbow.trait_stage_at(s.stage, s.confidence, s.subtype, s.reinforcements, s.at, s.window_end,
               _believed, _rules),
             'confidence', oxbow.trait_confidence_at(s.confidence, s.subtype, s.reinforcements, s.at,
               _believed, _rules)))
      from wording w join state s on s.id = w.head);
end $$;
