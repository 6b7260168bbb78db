-- Strategies: versions of the policies that the job molt proposed, tried, adopted and rolled back (U §10).

-- Values of policies of this installation, and what became of them. The texts name no user.
create table oxbow.strategies (
  version       bigint generated always as identity primary key,
  at            timestamptz not null default clock_timestamp(),
  about         text not null check (about in ('recall', 'decay', 'conflict', 'request')),
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

insert into oxbow.policy_definitions (name, "default", minimum, maximum, unit, source, meaning) values
  ('molt_mode', 0, 0, 2, 'mode', 'U §10', 'of the job molt; 0: off, 1: it suggests changes of policies, 2: it adopts them'),
  ('molt_answers', 40, 8, 500, 'answers', 'U §10', 'minimum on which a change is tried, and after which it is judged'),
  ('molt_sample', 100, 8, 500, 'answers', 'U §10', 'the latest ones that a run replays'),
  ('molt_gain', 0.02, 0.001, 0.5, 'of the metric', 'U §10', 'minimum that a change must gain to be adopted'),
  ('molt_rest_days', 7, 0, 365, 'days', 'U §10', 'for which a change that was rejected or rolled back is not tried again'),
  ('molt_rank', 0.8, 0, 1, 'reciprocal rank', 'U §10', 'mean of the first used memory, below which recall is poor'),
  ('molt_share', 0.3, 0, 1, 'of the recalled', 'U §10', 'share that replies use, below which too much is recalled'),
  ('molt_faded', 0.1, 0, 1, 'of the used', 'U §10', 'share that are compressed, above which memories fade too early'),
  ('molt_conflicts', 0.1, 0, 1, 'of the recalled', 'U §10', 'share that are negated or contradicted, above which it is much'),
  ('recall_threshold', 0, 0, 0.95, 'of the best score', 'U §10', 'minimum of a result of recall; 0: none'),
  ('weight_decay_used', 0, 0, 10, 'per strength', 'U §9', 'slows weight_decay for each unit of strength above 1, which use adds'),
  ('weight_decay_conclusion', 1, 0, 10, 'of weight_decay', 'U §9', 'the rate for conclusions, which are long-term memory');

alter table oxbow.recall_rules
  add recall_threshold double precision not null default 0,
  add weight_decay_used double precision not null default 0,
  add weight_decay_conclusion double precision not null default 1;

---- create above / drop below ----

alter table oxbow.recall_rules drop recall_threshold, drop weight_decay_used, drop weight_decay_conclusion;
drop table oxbow.strategies;
