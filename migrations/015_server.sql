-- What "oxbow serve" keeps: keys, sessions, answers to repeated requests, and who read or changed what.

-- Keys of the API. Only the hash of a key's secret is stored.
create table oxbow.api_keys (
  user_id      text not null,     -- the person of a key of role person; otherwise empty
  id           uuid not null,
  role         text not null,     -- person: one user's own; app: the users that the path names; operator: also the queue
  name         text not null,     -- for whom or what it is
  hash         bytea not null,    -- SHA-256 of the secret
  created_at   timestamptz not null default now(),
  expires_at   timestamptz,       -- null: never
  revoked_at   timestamptz,
  last_used_at timestamptz,       -- to the minute
  primary key (user_id, id),
  constraint role_known check (role in ('person', 'app', 'operator')
    or oxbow.reject('role', role, 'must be person, app or operator')),
  constraint user_of_role check ((role = 'person') = (user_id <> '')
    or oxbow.reject('user_id', user_id, 'must name the person of a key of role person, and be empty for other roles')),
  constraint name_length check (octet_length(name) between 1 and 255
    or oxbow.reject('name', name, 'must have 1 to 255 bytes')),
  constraint expires_after check (coalesce(expires_at > created_at, true)
    or oxbow.reject('expires_at', expires_at::text, 'must be in the future'))
);
create index api_keys_id_idx on oxbow.api_keys (id);

-- Sessions of people who are signed in to the pages. Only the hash of a session's id is stored. A session ends with its
-- key; settle deletes expired ones.
create table oxbow.page_sessions (
  user_id    text not null,     -- the person; empty for an operator
  hash       bytea not null,    -- SHA-256 of the id
  key_id     uuid,              -- null: signed in at the issuer
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (user_id, hash),
  foreign key (user_id, key_id) references oxbow.api_keys on delete cascade
);
create index page_sessions_hash_idx on oxbow.page_sessions (hash);
create index page_sessions_expires_idx on oxbow.page_sessions (expires_at);

-- Answers to requests with an Idempotency-Key. A repeated request gets the same answer; settle deletes them after a day.
create table oxbow.api_answers (
  user_id    text not null,
  key        text not null,
  request    bytea not null, -- SHA-256 of the operation and its body
  answer     jsonb not null,
  created_at timestamptz not null default now(),
  primary key (user_id, key),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint key_length check (octet_length(key) between 1 and 255
    or oxbow.reject('key', key, 'must have 1 to 255 bytes'))
);
create index api_answers_created_idx on oxbow.api_answers (created_at);

-- The audit log: one row per request that read or changed a user's data. settle deletes rows after api_log_days.
create table oxbow.api_log (
  user_id    text not null,
  id         uuid not null, -- ordered by time
  at         timestamptz not null,
  key_id     uuid,          -- null: a token of an issuer, or a program that runs oxbow mcp
  role       text not null,
  operation  text not null, -- the operationId of openapi.json, or the name of an MCP tool
  target     text,          -- the id in the path
  status     integer not null,
  primary key (user_id, id),
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes'))
);
create index api_log_at_idx on oxbow.api_log (at);

---- create above / drop below ----

drop table oxbow.api_log, oxbow.api_answers, oxbow.page_sessions, oxbow.api_keys;
