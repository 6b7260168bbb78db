-- Writes traits as reflections leave them, in all stages, none of them due yet.
-- $1: how many; $2: how many of each user; $3: how the users' names begin
with drawn as (
  select now() as base, random() as kind, 0.06 + 0.89 * random() as sure, random() as age, random() as span,
         floor(20 * random() ^ 3)::integer as reinforcements,
         case when g % 20 < 16 then 'behavior' when g % 20 < 19 then 'preference' else 'core' end as subtype,
         (array['work', 'personal', 'social', 'learning', 'general'])[1 + g % 5] as context,
         (array['do:', 'food:', 'like:'])[1 + g % 3] || g % 997 as key,
         case when g % 2 = 0 then 'Often spends time with friend ' || g % 997
              else '经常和第' || g % 997 || '位朋友一起' end as content
    from generate_series(1, 2 * $1::bigint) g
), staged as (
  select d.*,
         case when kind < 0.05 then 'trend' when kind < 0.15 then 'dissolved'
              else oxbow.trait_stage_of(sure) end as stage,
         case when kind < 0.05 then null when kind < 0.15 then 0.04 else sure end as confidence,
         case when kind < 0.05 then base + span * interval '30 days' end as window_end,
         base - age * interval '60 days' as at,
         base - age * interval '60 days' - span * interval '300 days' as first
    from drawn d
), trait as (
  select s.*, oxbow.trait_next_transition(stage, confidence, subtype, reinforcements, at, window_end) as next
    from staged s
)
insert into oxbow.memories_trait (
  user_id, memory_type, id, content, valid_at, created_at, source, metadata,
  trait_key, trait_subtype, trait_stage, trait_confidence, trait_confidence_at, trait_context,
  trait_reinforcement_count, trait_contradiction_count, trait_first_observed, trait_last_reinforced,
  trait_window_start, trait_window_end, trait_derived_from, trait_next_transition_at)
select $3::text || (row_number() over () - 1) / $2::integer, 'trait', gen_random_uuid(), content, first, at,
       'reflection', jsonb_build_object('evidence_contexts', jsonb_build_array(context)),
       key, subtype, stage, confidence, at, context, reinforcements, reinforcements / 5, first, at,
       case stage when 'trend' then at end, window_end, 'patterns', next
  from trait
 where coalesce(next > base, true)
 limit $1
