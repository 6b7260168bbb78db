-- The sensory stream: raw input that is kept for days, in a partition a day, and is gone after a crash of the server.

create table oxbow.sensory (
  user_id  text not null,
  at       timestamptz not null default now(),
  id       uuid not null default gen_random_uuid(),
  kind     text not null default 'input',
  content  text not null,
  hash     uuid generated always as (md5(content)::uuid) stored,
  metadata jsonb not null default '{}',
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 1048576
    or oxbow.reject('content', content, 'must not be blank, nor longer than 1 MiB')),
  primary key (user_id, at, id)
) partition by range (at);

-- what came often enough to be worth a look, until somebody takes it up or it ages out
create table oxbow.sensory_candidates (
  user_id  text not null,
  hash     uuid not null,
  content  text not null,
  times    integer not null,
  first_at timestamptz not null,
  last_at  timestamptz not null,
  primary key (user_id, hash)
);

---- create above / drop below ----

drop table oxbow.sensory_candidates, oxbow.sensory;
