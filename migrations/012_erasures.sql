-- Receipts of what was erased. No user data: what a receipt is about, only those can tell who have the proof that it was given.

create table oxbow.erasures (
  id     uuid not null default gen_random_uuid() primary key,
  at     timestamptz not null default clock_timestamp(),
  kind   text not null check (kind in ('user', 'memory')),
  actor  text not null,       -- the database role that asked
  rows   jsonb not null,      -- how many each table lost; tables that lost none are left out
  digest bytea                -- of the proof and what was erased; null where no proof was given
);
create index erasures_digest_idx on oxbow.erasures (digest) where digest is not null;

---- create above / drop below ----

drop function if exists oxbow.erasure(text, text, uuid);
drop table oxbow.erasures;
