-- Strategies: versions of the policies that the job molt proposed, tried, adopted and rolled back (U §10).

-- Values of policies of this installation, and what became of them. The texts name no user.
create table oxbow.strategies (
  version       bigint generated always as identity primary key,
  at            timestamptz not null default clock_timestamp(),
  about         text not null check (about in ('recall', 'decay', 'conflict', 'outdated', 'too_much', 'request')),
  cause         text not null,          -- in a sentence
  changes       jsonb not null,         -- values by name of the policy
  previous      jsonb,                  -- the values that it replaced
  state         text not null default 'proposed'
                check (state in ('proposed', 'tried', 'adopted', 'rejected', 'rolled_back')),
  metric        text,                   -- mrr or f1
  answers       integer,                -- number that it was tried on
  metric_before double precision,       -- on these answers with the values in force, and with the changes
  metric_after  double precision,
  low           double precision,       -- lower bound of the gain
  live_before   double precision,       -- the same metric of the replies before and after it was adopted
  live_after    double precision,
  tried_at      timestamptz,
  adopted_at    timestamptz,
  judged_at     timestamptz,            -- when the replies since then were compared
  ended_at      timestamptz,
  actor         text not null default session_user,
  constraint cause_length check (octet_length(cause) between 1 and 2000
    or oxbow.reject('cause', cause, 'must have 1 to 2,000 bytes'))
);
create index strategies_open_idx on oxbow.strategies (state, version);

alter table oxbow.recall_rules
  add recall_threshold double precision not null default 0,
  add weight_decay_used double precision not null default 0,
  add weight_decay_conclusion double precision not null default 1;

---- create above / drop below ----

alter table oxbow.recall_rules drop recall_threshold, drop weight_decay_used, drop weight_decay_conclusion;
drop table oxbow.strategies;
