-- Traits: the evidence for and against each, their events, and the clues that reflection keeps.

-- The memories that support or contradict a trait: one row per direction, kept for good.
create table oxbow.trait_evidence (
  user_id     text not null,
  trait_id    uuid not null,
  direction   text not null check (direction in ('supporting', 'contradicting')),
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  quality     text not null check (quality in ('A', 'B', 'C', 'D')),
  session_key text not null,        -- the session, or the day if there is none
  context     text,
  stated      boolean not null default false,
  observed_at timestamptz not null, -- the memory's time
  timezone    text not null,        -- the user's time zone when it was weighed
  event_seq   integer not null,     -- the event that counted it
  cycle_id    uuid,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, trait_id, direction, memory_type, memory_id),
  foreign key (user_id, trait_id) references oxbow.memories_trait (user_id, id) on delete cascade,
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index trait_evidence_memory_idx on oxbow.trait_evidence (user_id, memory_type, memory_id);
-- Whether a session has supported a trait before. The columns are ordered unlike the primary key, so that
-- the planner does not confuse the two indexes.
create index trait_evidence_session_idx on oxbow.trait_evidence (user_id, session_key, trait_id, direction);

-- The events of a trait, in order. Replaying them gives its confidence at any moment (docs/traits.md).
create table oxbow.trait_events (
  user_id    text not null,
  trait_id   uuid not null,
  seq        integer not null, -- 1, 2, 3, … per trait
  event      text not null check (event in ('created', 'reinforced', 'contradicted', 'promoted', 'revised', 'split',
               'edited', 'decayed', 'dissolved', 'revived', 'used')),
  at         timestamptz not null,
  factor     double precision check (factor >= 0 and factor < 1), -- of doubt (reinforced, used) or of confidence
  sets       double precision check (sets > 0 and sets < 1),      -- the confidence that it sets outright
  memories   integer not null default 0, -- the number of memories counted
  subtype    text,                       -- created: behavior, preference or core
  window_end timestamptz,                -- created: the end of a trend's window
  confidence double precision,           -- after the event; null for a trend
  stage      text not null,              -- after the event
  cycle_id   uuid,
  actor      text not null default 'reflection', -- reflection, settle, extraction, user, import, check, app
  reason     text,
  details    jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, trait_id, seq),
  foreign key (user_id, trait_id) references oxbow.memories_trait (user_id, id) on delete cascade
);

-- Observations by a reasoner that do not yet suffice for a conclusion.
create table oxbow.trait_clues (
  user_id     text not null,
  key         text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  content     text not null, -- what the trait would say; for a clue against it, the reason
  session_key text not null,
  context     text,
  stated      boolean not null default false,
  observed_at timestamptz not null,
  created_at  timestamptz not null default clock_timestamp(),
  against     boolean not null default false, -- a denial may arrive before anything that shows the pattern
  skipped     integer not null default 0,     -- later memories that were counted but not kept
  primary key (user_id, key, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index trait_clues_memory_idx on oxbow.trait_clues (user_id, memory_type, memory_id);
create index trait_clues_latest_idx on oxbow.trait_clues (user_id, created_at desc);

-- Traits that a person deleted. Their text is gone, and reflection does not create them again.
create table oxbow.trait_refusals (
  user_id    text not null,
  hash       uuid not null, -- of the trait's key, and of its content
  created_at timestamptz not null default now(),
  primary key (user_id, hash)
);

---- create above / drop below ----

drop table oxbow.trait_refusals, oxbow.trait_clues, oxbow.trait_events, oxbow.trait_evidence cascade;
