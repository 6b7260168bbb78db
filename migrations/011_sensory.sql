-- The sensory stream: raw input kept for a few days, partitioned by day. A server crash empties it.

create table oxbow.sensory (
  user_id  text not null,
  at       timestamptz not null default now(),
  id       uuid not null default gen_random_uuid(),
  kind     text not null default 'input',
  content  text not null,
  hash     uuid generated always as (md5(content)::uuid) stored,
  metadata jsonb not null default '{}',
  tx       xid8 not null default pg_current_xact_id(), -- the transaction that wrote it, for counting up to a snapshot
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint kind_length check (octet_length(kind) between 1 and 64
    or oxbow.reject('kind', kind, 'must have 1 to 64 bytes')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 1048576
    or oxbow.reject('content', content, 'must not be blank or longer than 1 MiB')),
  constraint metadata_object check (jsonb_typeof(metadata) = 'object'
    or oxbow.reject('metadata', metadata::text, 'must be a JSON object')),
  primary key (user_id, at, id)
) partition by range (at);
create index sensory_hash_idx on oxbow.sensory (user_id, hash, at);
create index sensory_tx_idx on oxbow.sensory (tx, id);

-- Takes rows for days that have no partition until the job sensory creates one at runtime.
create unlogged table oxbow.sensory_default partition of oxbow.sensory default;
create index sensory_default_at_idx on oxbow.sensory_default (at);

-- Frequent texts, which are candidates for memory until they age out.
create table oxbow.sensory_candidates (
  user_id  text not null,
  hash     uuid not null,
  content  text not null,
  times    integer not null,                -- within the days kept, at most 1000
  first_at timestamptz not null,
  last_at  timestamptz not null,
  primary key (user_id, hash)
);
create index sensory_candidates_first_idx on oxbow.sensory_candidates (first_at);

---- create above / drop below ----

drop table oxbow.sensory_candidates, oxbow.sensory cascade;
