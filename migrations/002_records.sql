-- What stands around the memories: people, conversations, the audit log, and the worker's own books.

-- Its text is in sql/code.
create function oxbow.is_timezone(name text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

-- A row only where something differs from the default.
create table oxbow.users (
  user_id           text not null primary key,
  timezone          text not null default 'UTC',
  language          text,
  forgetting_factor double precision not null default 1.0,
  opted_out         boolean not null default false,
  metadata          jsonb not null default '{}',
  created_at        timestamptz not null default now(),
  updated_at        timestamptz,
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint timezone_known check (oxbow.is_timezone(timezone)
    or oxbow.reject('timezone', timezone, 'must be a time zone that PostgreSQL knows')),
  constraint forgetting_factor_range check (forgetting_factor > 0 and forgetting_factor < 'Infinity'
    or oxbow.reject('forgetting_factor', forgetting_factor::text, 'must be above 0, and finite')),
  constraint metadata_object check (jsonb_typeof(metadata) = 'object'
    or oxbow.reject('metadata', metadata::text, 'must be a JSON object'))
);

create table oxbow.memory_history (
  user_id      text not null,
  id           uuid not null default gen_random_uuid(),
  memory_type  oxbow.memory_type not null,
  memory_id    uuid not null,
  event        text not null check (event in ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE')),
  old_content  text,
  new_content  text,
  old_metadata jsonb,
  new_metadata jsonb,
  actor        text not null default 'system',
  reason       text,
  created_at   timestamptz not null default clock_timestamp(),
  primary key (user_id, id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index memory_history_memory_idx on oxbow.memory_history (user_id, memory_type, memory_id, created_at);

create table oxbow.sessions (
  user_id           text not null,
  id                text not null,
  agent_id          text,
  started_at        timestamptz not null default now(),
  last_activity_at  timestamptz not null default now(),
  ended_at          timestamptz,
  last_reflected_at timestamptz,
  metadata          jsonb not null default '{}',
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint id_length check (octet_length(id) between 1 and 1024
    or oxbow.reject('id', id, 'must have 1 to 1024 bytes')),
  primary key (user_id, id)
);

create table oxbow.messages (
  user_id      text not null,
  session_id   text not null,
  id           uuid not null default gen_random_uuid(),
  seq          bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  role         text not null default 'user',
  content      text not null,
  metadata     jsonb not null default '{}',
  created_at   timestamptz not null default now(),
  extracted_at timestamptz,
  primary key (user_id, id),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint session_id_length check (octet_length(session_id) between 1 and 1024
    or oxbow.reject('session_id', session_id, 'must have 1 to 1024 bytes')),
  constraint role_known check (role in ('user', 'assistant', 'system', 'tool')
    or oxbow.reject('role', role, 'must be user, assistant, system or tool')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 1048576
    or oxbow.reject('content', content, 'must not be blank, nor longer than 1 MiB'))
);
create index messages_session_idx on oxbow.messages (user_id, session_id, seq);

-- Which conversation, and which message of it where that is known, a memory was drawn from.
create table oxbow.memory_sources (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  session_id  text not null,
  message_id  uuid,
  created_at  timestamptz not null default now(),
  unique nulls not distinct (user_id, memory_type, memory_id, session_id, message_id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);
create index memory_sources_session_idx on oxbow.memory_sources (user_id, session_id);

create table oxbow.memory_links (
  user_id    text not null,
  from_type  oxbow.memory_type not null,
  from_id    uuid not null,
  to_type    oxbow.memory_type not null,
  to_id      uuid not null,
  relation   text not null,
  weight     double precision not null default 1.0,
  created_at timestamptz not null default now(),
  primary key (user_id, from_type, from_id, relation, to_type, to_id),
  constraint relation_known check (relation in ('source', 'merged_from', 'compressed_from', 'related_to', 'supersedes', 'contradicts')
    or oxbow.reject('relation', relation, 'must be source, merged_from, compressed_from, related_to, supersedes or contradicts')),
  foreign key (user_id, from_type, from_id) references oxbow.memories on delete cascade,
  foreign key (user_id, to_type, to_id) references oxbow.memories on delete cascade
);
create index memory_links_to_idx on oxbow.memory_links (user_id, to_type, to_id);

-- The memories not yet reflected on, facts and episodes, with what the trigger conditions and the batch order need of them.
create table oxbow.reflection_inbox (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  importance  double precision not null,
  valid_at    timestamptz not null,
  session_id  text,
  added_at    timestamptz not null default now(),
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
create table oxbow.reflection_inbox_fact     partition of oxbow.reflection_inbox for values in ('fact')     with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create table oxbow.reflection_inbox_episodic partition of oxbow.reflection_inbox for values in ('episodic') with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
alter table oxbow.reflection_inbox_fact     add foreign key (user_id, memory_type, memory_id) references oxbow.memories_fact on delete cascade;
alter table oxbow.reflection_inbox_episodic add foreign key (user_id, memory_type, memory_id) references oxbow.memories_episodic on delete cascade;
create index reflection_inbox_order_idx on oxbow.reflection_inbox (user_id, valid_at, memory_id);

create table oxbow.reflection_cycles (
  user_id          text not null,
  id               uuid not null default gen_random_uuid(),
  trigger_type     text not null check (trigger_type in ('importance_accumulated', 'scheduled', 'session_end', 'manual')),
  trigger_value    double precision,
  memories_scanned integer not null default 0,
  traits_created   integer not null default 0,
  traits_updated   integer not null default 0,
  traits_dissolved integer not null default 0,
  started_at       timestamptz not null default now(),
  completed_at     timestamptz,
  status           text not null default 'running' check (status in ('running', 'completed', 'failed')),
  error_message    text,
  primary key (user_id, id)
);
create index reflection_cycles_started_idx on oxbow.reflection_cycles (user_id, started_at desc);

-- Accesses and uses of memories, reported by oxbow.touch and folded into memories by the job flush_activity.
create table oxbow.activity (
  user_id   text not null,
  id        bigint generated always as identity,
  memory_id uuid not null,
  used      boolean not null default true, -- a reply used it; false: it was only returned
  at        timestamptz not null default now(),
  primary key (user_id, id)
);

-- The database's own facts, such as the embedding model in use. No user data.
create table oxbow.settings (
  key        text primary key,
  value      jsonb not null,
  updated_at timestamptz not null default now()
);
insert into oxbow.settings (key, value) values ('embedding', '{"model": "local-v1", "dimension": 1024}');

---- create above / drop below ----

drop table oxbow.settings, oxbow.activity, oxbow.reflection_cycles, oxbow.reflection_inbox, oxbow.memory_links,
  oxbow.memory_sources, oxbow.messages, oxbow.sessions, oxbow.memory_history, oxbow.users;
drop function oxbow.is_timezone;
