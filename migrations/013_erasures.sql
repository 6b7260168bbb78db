-- Receipts of erasures. They hold no user data: a receipt can be matched to a user only with the proof.

create table oxbow.erasures (
  id     uuid not null default gen_random_uuid() primary key,
  at     timestamptz not null default clock_timestamp(),
  kind   text not null check (kind in ('user', 'memory')),
  actor  text not null,       -- the database role that requested it
  rows   jsonb not null,      -- rows deleted by table; tables that lost none are left out
  digest bytea                -- of the proof and what was erased; null without a proof
);
create index erasures_digest_idx on oxbow.erasures (digest) where digest is not null;

---- create above / drop below ----

drop table oxbow.erasures cascade;
