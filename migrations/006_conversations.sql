-- Conversations: sessions, and the messages from which memories are extracted.

create table oxbow.sessions (
  user_id           text not null,
  id                text not null,
  agent_id          text,
  started_at        timestamptz not null default now(),
  last_activity_at  timestamptz not null default now(),
  ended_at          timestamptz,
  last_reflected_at timestamptz,
  metadata          jsonb not null default '{}',
  summary_id        uuid,   -- the current summary
  summarized_seq    bigint, -- the last message that the summary covers
  judged_seq        bigint, -- the last message that the job judge has read
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint id_length check (octet_length(id) between 1 and 1024
    or oxbow.reject('id', id, 'must have 1 to 1024 bytes')),
  constraint times check (oxbow.valid_time('started_at', started_at)
    and oxbow.valid_time('last_activity_at', last_activity_at) and oxbow.valid_time('ended_at', ended_at)
    and oxbow.valid_time('last_reflected_at', last_reflected_at)),
  primary key (user_id, id)
);
-- sessions with activity since their last reflection
create index sessions_unreflected_idx on oxbow.sessions (user_id)
  where greatest(last_activity_at, ended_at) > coalesce(last_reflected_at, '-infinity');

create table oxbow.messages (
  user_id          text not null,
  session_id       text not null,
  id               uuid not null default gen_random_uuid(),
  seq              bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  role             text not null default 'user',
  content          text not null,
  metadata         jsonb not null default '{}',
  created_at       timestamptz not null default now(),
  extracted_at     timestamptz,
  speaker          text,
  extract_failures integer not null default 0, -- number of failed extractions
  extract_error    text,                       -- the last error
  sensitivity      smallint not null default 0, -- as in memories: the client seals secret text
  sealed           bytea,
  sealed_key       text,                       -- the id of the key that opens it
  primary key (user_id, id),
  constraint valid check (oxbow.valid_message(user_id, session_id, role, content, speaker, metadata, created_at,
    sensitivity, sealed, sealed_key))
);
create index messages_session_idx     on oxbow.messages (user_id, session_id, seq);
create index messages_unextracted_idx on oxbow.messages (user_id, session_id, seq) where extracted_at is null;
-- messages that status reports as failed
create index messages_failed_idx      on oxbow.messages (extract_failures)
  where extracted_at is null and extract_failures > 0;
create index messages_secret_idx      on oxbow.messages (user_id, id, sealed_key) where sensitivity >= 2;

-- The number of extractions that wrote something for a user. A waiting extraction compares it to detect
-- others that ran first.
create table oxbow.extractions (
  user_id text not null primary key,
  number  bigint not null
);

-- The conversation from which a memory was extracted, and the message if known.
create table oxbow.memory_sources (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  session_id  text not null,
  message_id  uuid,
  created_at  timestamptz not null default now(),
  unique nulls not distinct (user_id, memory_type, memory_id, session_id, message_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index memory_sources_session_idx on oxbow.memory_sources (user_id, session_id);

---- create above / drop below ----

drop table oxbow.memory_sources, oxbow.extractions, oxbow.messages, oxbow.sessions cascade;
