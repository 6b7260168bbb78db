-- Traits: the evidence for and against each, what happened to it, and what reflection notes on the way.

-- Which memory speaks for or against which trait: one row a direction, for ever.
create table oxbow.trait_evidence (
  user_id     text not null,
  trait_id    uuid not null,
  direction   text not null check (direction in ('supporting', 'contradicting')),
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  quality     text not null check (quality in ('A', 'B', 'C', 'D')),
  session_key text not null,        -- the session, or the day where there is none
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
-- whether a session has spoken for a trait before. It begins unlike the primary key: the planner takes neither for the
-- other.
create index trait_evidence_session_idx on oxbow.trait_evidence (user_id, session_key, trait_id, direction);

-- What happened to a trait, in order: its confidence at any moment is the replay of these (docs/traits.md).
create table oxbow.trait_events (
  user_id    text not null,
  trait_id   uuid not null,
  seq        integer not null, -- 1, 2, 3, … of the trait
  event      text not null check (event in ('created', 'reinforced', 'contradicted', 'promoted', 'revised', 'split',
               'edited', 'decayed', 'dissolved', 'revived', 'used')),
  at         timestamptz not null,
  factor     double precision check (factor >= 0 and factor < 1), -- of the doubt (reinforced, used) or the confidence
  sets       double precision check (sets > 0 and sets < 1),      -- the confidence that it sets outright
  memories   integer not null default 0, -- how many counted
  subtype    text,                       -- created: behavior, preference or core
  window_end timestamptz,                -- created: until when a trend is watched
  confidence double precision,           -- after it; null for a trend
  stage      text not null,              -- after it
  cycle_id   uuid,
  actor      text not null default 'reflection', -- reflection, settle, extraction, user, import, check, app
  reason     text,
  details    jsonb not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  primary key (user_id, trait_id, seq),
  foreign key (user_id, trait_id) references oxbow.memories_trait (user_id, id) on delete cascade
);

-- What a reasoner noted about memories that do not suffice for a conclusion yet.
create table oxbow.trait_clues (
  user_id     text not null,
  key         text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  content     text not null, -- what the trait would say; of a clue against it, why
  session_key text not null,
  context     text,
  stated      boolean not null default false,
  observed_at timestamptz not null,
  created_at  timestamptz not null default clock_timestamp(),
  against     boolean not null default false, -- a denial may be read before anything that shows the pattern
  skipped     integer not null default 0,     -- how many later memories were noted and are not kept any more
  primary key (user_id, key, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index trait_clues_memory_idx on oxbow.trait_clues (user_id, memory_type, memory_id);
create index trait_clues_latest_idx on oxbow.trait_clues (user_id, created_at desc);

-- Traits that a person deleted: their text is gone, and reflection does not make them again.
create table oxbow.trait_refusals (
  user_id    text not null,
  hash       uuid not null, -- of the trait's key, and of its content
  created_at timestamptz not null default now(),
  primary key (user_id, hash)
);

---- create above / drop below ----

drop table oxbow.trait_refusals, oxbow.trait_clues, oxbow.trait_events, oxbow.trait_evidence cascade;
