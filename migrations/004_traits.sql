-- Traits: the evidence for and against each, what happened to it, and what reflection notes on the way.

-- when time alone will change the trait's stage
alter table oxbow.memories add column trait_next_transition_at timestamptz;
-- the pattern that it was made from, as the reasoner names it
alter table oxbow.memories add column trait_key text;
-- a trait that depends on the context: {"work": {"tendency": …, "confidence": …}, …}
alter table oxbow.memories add column trait_contexts jsonb;
-- since when a contradiction review is due
alter table oxbow.memories add column trait_review_due_at timestamptz;
-- when a person corrected it; reflection leaves its wording alone then
alter table oxbow.memories add column trait_edited_at timestamptz;

create index memories_trait_due_idx on oxbow.memories_trait (trait_next_transition_at) where trait_next_transition_at is not null;
create index memories_trait_stage_idx on oxbow.memories_trait (user_id, trait_stage, trait_confidence desc) where expired_at is null;
create index memories_trait_key_idx on oxbow.memories_trait (user_id, trait_key) where trait_key is not null and expired_at is null;
create index memories_trait_parent_idx on oxbow.memories_trait (user_id, trait_parent_id) where trait_parent_id is not null;
create index memories_trait_review_idx on oxbow.memories_trait (user_id) where trait_review_due_at is not null;

-- Which memory speaks for or against which trait: once a direction, for ever.
create table oxbow.trait_evidence (
  user_id     text not null,
  trait_id    uuid not null,
  direction   text not null check (direction in ('supporting', 'contradicting')),
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  quality     text not null check (quality in ('A', 'B', 'C', 'D')),
  session_key text not null, -- the conversation, or the day where there is none
  context     text,
  stated      boolean not null default false,
  observed_at timestamptz not null, -- the memory's time
  timezone    text not null,        -- the user's, when it was weighed
  event_seq   integer not null,     -- the event in which it counted
  cycle_id    uuid,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, trait_id, direction, memory_type, memory_id),
  foreign key (user_id, trait_id) references oxbow.memories_trait (user_id, id) on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index trait_evidence_memory_idx on oxbow.trait_evidence (user_id, memory_type, memory_id);
-- whether a session has spoken for a trait before, however much evidence there is. It does not begin like the primary key, so
-- that neither is taken in the place of the other.
create index trait_evidence_session_idx on oxbow.trait_evidence (user_id, session_key, trait_id, direction);

-- What happened to a trait, in order: its confidence at any moment is the replay of these (docs/traits.md).
create table oxbow.trait_events (
  user_id    text not null,
  trait_id   uuid not null,
  seq        integer not null, -- 1, 2, 3, … of the trait
  event      text not null check (event in ('created', 'reinforced', 'contradicted', 'promoted', 'revised', 'split', 'edited', 'decayed',
               'dissolved', 'revived', 'used')),
  at         timestamptz not null,
  factor     double precision check (factor >= 0 and factor < 1), -- reinforced, used: of the doubt; contradicted: of the confidence
  sets       double precision check (sets > 0 and sets < 1),      -- the confidence that it sets outright
  memories   integer not null default 0,                          -- how many counted
  subtype    text,                                                -- created: behavior, preference or core
  window_end timestamptz,                                         -- created: until when a trend is watched
  confidence double precision,                                    -- after it; null of a trend
  stage      text not null,                                       -- after it
  cycle_id   uuid,
  actor      text not null default 'reflection', -- reflection, settle, extraction, user, import, check, app
  reason     text,
  details    jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, trait_id, seq),
  foreign key (user_id, trait_id) references oxbow.memories_trait (user_id, id) on delete cascade
);

-- What a reasoner noted about memories that nothing could be concluded from yet.
create table oxbow.trait_clues (
  user_id     text not null,
  key         text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  content     text not null, -- what the trait would say
  session_key text not null,
  context     text,
  stated      boolean not null default false,
  observed_at timestamptz not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, key, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index trait_clues_memory_idx on oxbow.trait_clues (user_id, memory_type, memory_id);
create index trait_clues_latest_idx on oxbow.trait_clues (user_id, created_at desc);

-- Traits that a person deleted: what they said is gone, and reflection does not make them again.
create table oxbow.trait_refusals (
  user_id    text not null,
  hash       uuid not null, -- of the trait's key, and of its content
  created_at timestamptz not null default now(),
  primary key (user_id, hash)
);

-- What calls of a language model took.
create table oxbow.llm_calls (
  user_id           text not null,
  id                uuid not null default gen_random_uuid(),
  purpose           text not null, -- reflect, review
  job_id            bigint,
  cycle_id          uuid,
  model             text not null,
  attempt           integer not null,
  prompt_tokens     integer not null default 0,
  completion_tokens integer not null default 0,
  started_at        timestamptz not null,
  latency           interval not null,
  error             text, -- null: the answer was of use
  primary key (user_id, id)
);
create index llm_calls_started_idx on oxbow.llm_calls (started_at desc);
create index llm_calls_user_idx on oxbow.llm_calls (user_id, started_at desc);

-- conversations in which something happened since they were reflected on
create index sessions_unreflected_idx on oxbow.sessions (user_id)
  where greatest(last_activity_at, ended_at) > coalesce(last_reflected_at, '-infinity');

alter table oxbow.reflection_cycles
  add column reasoner text,
  add column now timestamptz,                        -- the clock's moment
  add column dropped jsonb not null default '[]',    -- proposals that were not followed: [{"what": …, "reason": …}]
  drop constraint reflection_cycles_trigger_type_check,
  add constraint reflection_cycles_trigger_type_check
    check (trigger_type in ('importance_accumulated', 'scheduled', 'session_end', 'manual', 'contradiction_review'));

-- Traits that were imported before have no events, and may lack what the rules need. Each gets the events that lead to where
-- it stands: created, and reinforced and contradicted as often as it says, to no effect. settle works out the rest.
update oxbow.memories_trait
   set trait_subtype = case when trait_subtype in ('preference', 'core') then trait_subtype else 'behavior' end,
       trait_stage = case
         when trait_stage in ('trend', 'dissolved') then trait_stage
         when trait_confidence > 0.85 or trait_confidence is null and trait_stage = 'core' then 'core'
         when trait_confidence >= 0.60 or trait_confidence is null and trait_stage = 'established' then 'established'
         when trait_confidence > 0.30 or trait_confidence is null and trait_stage = 'emerging' then 'emerging'
         else 'candidate' end,
       trait_confidence = case
         when trait_stage = 'trend' then null
         when trait_confidence is not null then least(greatest(trait_confidence, 1e-9), 1 - 1e-9)
         else case trait_stage when 'core' then 0.9 when 'established' then 0.7 when 'emerging' then 0.4 else 0.2 end end,
       trait_confidence_at = coalesce(trait_confidence_at, created_at),
       trait_window_start = case when trait_stage = 'trend' then coalesce(trait_window_start, created_at) end,
       trait_window_end = case when trait_stage = 'trend' then coalesce(trait_window_end, now() + interval '30 days') end,
       trait_reinforcement_count = least(greatest(coalesce(trait_reinforcement_count, 0), 0), 1000),
       trait_contradiction_count = greatest(coalesce(trait_contradiction_count, 0), 0),
       trait_next_transition_at = case when trait_stage is distinct from 'dissolved' and expired_at is null then now() end;
insert into oxbow.trait_events (user_id, trait_id, seq, event, at, factor, sets, memories, subtype, window_end, confidence, stage, actor, reason)
select m.user_id, m.id, row_number() over (partition by m.user_id, m.id order by e.nth, n), e.event, m.trait_confidence_at,
       case when e.event in ('reinforced', 'contradicted') then 0 end, case e.event when 'created' then m.trait_confidence end,
       case e.event when 'contradicted' then m.trait_contradiction_count else 0 end, case e.event when 'created' then m.trait_subtype end,
       case e.event when 'created' then m.trait_window_end end, m.trait_confidence,
       case when m.trait_stage <> 'dissolved' or e.event = 'dissolved' then m.trait_stage when m.trait_confidence > 0.85 then 'core'
            when m.trait_confidence >= 0.60 then 'established' when m.trait_confidence > 0.30 then 'emerging' else 'candidate' end,
       'import', 'there before events were kept'
  from oxbow.memories_trait m,
       (values (1, 'created'), (2, 'reinforced'), (3, 'contradicted'), (4, 'dissolved')) e(nth, event),
       generate_series(1, case e.event when 'created' then 1 when 'reinforced' then m.trait_reinforcement_count
         when 'contradicted' then least(m.trait_contradiction_count, 1) else (m.trait_stage = 'dissolved')::integer end) n
 where m.expired_at is null;

---- create above / drop below ----

drop trigger if exists complete_trait on oxbow.memories_trait;
drop trigger if exists leave_parent on oxbow.memories_trait;
alter table oxbow.reflection_cycles drop column reasoner, drop column now, drop column dropped,
  drop constraint reflection_cycles_trigger_type_check,
  add constraint reflection_cycles_trigger_type_check
    check (trigger_type in ('importance_accumulated', 'scheduled', 'session_end', 'manual')) not valid;
drop table oxbow.llm_calls, oxbow.trait_refusals, oxbow.trait_clues, oxbow.trait_events, oxbow.trait_evidence cascade;
drop index oxbow.sessions_unreflected_idx, oxbow.memories_trait_due_idx, oxbow.memories_trait_stage_idx, oxbow.memories_trait_key_idx,
  oxbow.memories_trait_parent_idx, oxbow.memories_trait_review_idx;
alter table oxbow.memories drop column trait_edited_at cascade, drop column trait_review_due_at cascade, drop column trait_contexts cascade,
  drop column trait_key cascade, drop column trait_next_transition_at cascade; -- triggers name them
