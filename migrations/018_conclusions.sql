-- Conclusions: what facts and episodes of one topic come to (U §2, §3). A conclusion is a fact of source 'abstract' with a
-- row in conclusions.

-- Topics of a user's facts and episodes: patterns, entities and subjects (docs/abstraction.md).
create table oxbow.topics (
  user_id   text not null,
  topic     text not null,
  pending   integer not null default 0,     -- fragments since abstract last looked at it
  concluded boolean not null default false, -- it has a conclusion
  refused   boolean not null default false, -- a person forgot, corrected or erased its conclusion: no other is drawn
  due       boolean not null default false,
  primary key (user_id, topic)
);
create index topics_due_idx on oxbow.topics (user_id, topic) where due;

-- The facts and episodes of a topic.
create table oxbow.topic_fragments (
  user_id     text not null,
  topic       text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  at          timestamptz not null,           -- when it was true or happened
  denies      boolean not null default false, -- it says that it is so no longer
  primary key (user_id, topic, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index topic_fragments_recent_idx on oxbow.topic_fragments (user_id, topic, at desc, memory_id);
create index topic_fragments_memory_idx on oxbow.topic_fragments (user_id, memory_type, memory_id);

-- What a conclusion has besides its text: each version has a row. Its sources are links of the relation source.
create table oxbow.conclusions (
  user_id     text not null,
  memory_type oxbow.memory_type not null default 'fact' check (memory_type = 'fact'),
  memory_id   uuid not null,
  topic       text not null,
  denies      boolean not null default false, -- it says that something is so no longer
  voices      text[] not null,                -- who says so: speakers and agents; '' is the user
  conditions  jsonb not null default '{}',    -- part_of_day, weekday, season, where, with, context
  confidence  double precision not null check (confidence between 0 and 1),
  fragments   integer not null,               -- number of its sources
  sessions    integer not null,               -- number of conversations, or days, that they are from
  reason      text,                           -- why this version replaced the previous one, or why it ended
  made_by     text not null,
  updated_at  timestamptz not null default clock_timestamp(),
  primary key (user_id, memory_type, memory_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index conclusions_topic_idx on oxbow.conclusions (user_id, topic);
create index conclusions_surest_idx on oxbow.conclusions (user_id, confidence desc, topic);

---- create above / drop below ----

drop table oxbow.conclusions, oxbow.topic_fragments, oxbow.topics cascade;
