-- Patterns across users, released with noise (docs/privacy.md), and what predictions read (docs/prediction.md).

-- Whether the traits of a user may be counted. The setting patterns must be on as well.
alter table oxbow.users add column share_patterns boolean not null default false;
create index users_sharing_idx on oxbow.users (user_id) where share_patterns;

-- The releases, kept for good: they are the account of the privacy budget.
create table oxbow.pattern_releases (
  id          bigint generated always as identity primary key,
  released_at timestamptz not null default clock_timestamp(),
  epsilon     double precision not null check (epsilon > 0),
  users_min   double precision not null, -- pattern_users_min at that time
  per_user    integer not null,          -- patterns of a user that counted, at most
  vocabulary  integer not null,          -- patterns that were counted and got noise
  published   integer not null           -- of these
);

-- The patterns of the latest release, with numbers of users that contain noise.
create table oxbow.pattern_counts (
  pattern    text not null, -- a word of the fixed vocabulary, such as a dimension of traits
  context    text not null,
  users      bigint not null,
  release_id bigint not null references oxbow.pattern_releases,
  primary key (pattern, context)
);

-- what a user did most recently, for predictions
create index topic_fragments_at_idx on oxbow.topic_fragments (user_id, at desc);

-- When a user's next deep reflection is due (job sleep), and what the one that began has used of its budget.
create table oxbow.nights (
  user_id   text not null primary key,
  due_at    timestamptz not null,       -- infinity: nothing is new since the last one
  began_at  timestamptz,                -- null: not yet
  questions integer not null default 0, -- that it has answered
  memories  integer not null default 0  -- that it has recalled for them
);
create index nights_due_idx on oxbow.nights (due_at) where due_at < 'infinity';

-- The questions that deep reflections asked, and when: one is asked again when there is more evidence.
create table oxbow.night_questions (
  user_id  text not null,
  hash     uuid not null, -- of the pattern's key
  asked_at timestamptz not null,
  primary key (user_id, hash)
);

insert into oxbow.policy_definitions (name, "default", minimum, maximum, unit, source, meaning) values
  ('pattern_users_min', 20, 5, 1000000, 'users', 'C §8.3', 'that share a pattern before it is published'),
  ('pattern_epsilon', 1, 0.01, 10, 'ε', 'C §8.3', 'of differential privacy that one release of patterns spends'),
  ('pattern_budget', 6, 0, 1000, 'ε', 'C §8.3', 'that all releases within pattern_budget_days may spend; 0: no release'),
  ('pattern_budget_days', 365, 1, 36500, 'days', 'C §8.3', 'for which a release counts against pattern_budget'),
  ('pattern_days', 61, 1, 3650, 'days', 'C §8.3', 'between two releases of patterns'),
  ('pattern_per_user', 3, 1, 100, 'patterns', 'C §8.3', 'of one user that a release counts at most, the surest ones'),
  ('quiet_from', 1, 0, 23, 'o''clock', 'C §8.3', 'of the user''s day, from which deep reflection may run'),
  ('quiet_to', 6, 0, 23, 'o''clock', 'C §8.3', 'until which it may'),
  ('sleep_questions', 10, 0, 1000, 'questions', 'C §8.3', 'that deep reflection asks about a user in a night; 0: none'),
  ('sleep_recall', 20, 1, 100, 'memories', 'C §8.3', 'that it recalls for a question'),
  ('sleep_memories', 200, 1, 100000, 'memories', 'C §8.3', 'that it recalls for a user in a night'),
  ('sleep_tokens', 50000, 0, 100000000, 'tokens', 'C §8.3', 'of a language model that it uses for a user in a night'),
  ('predict_days', 180, 14, 730, 'days', 'C §8.3', 'before a prediction that it takes into account'),
  ('predict_half_life', 60, 1, 3650, 'days', 'C §8.3', 'after which a day counts half in a prediction'),
  ('predict_least', 3, 2, 100, 'days', 'C §8.3', 'on which something must have happened to be predicted'),
  ('predict_prior', 4, 0.1, 1000, 'days', 'C §8.3', 'of evidence that a rate must have to count as much as the base rate'),
  ('predict_lift_prior', 20, 0.1, 1000, 'days', 'C §8.3',
    'of evidence that a day of the week or an interval must have to count as much as the rate'),
  ('predict_lift', 0.6, 0, 1, 'of the log odds', 'C §8.3', 'that the day of the week and the interval change the base rate by');

---- create above / drop below ----

drop table oxbow.night_questions, oxbow.nights, oxbow.pattern_counts, oxbow.pattern_releases cascade;
drop index oxbow.topic_fragments_at_idx;
drop index oxbow.users_sharing_idx;
alter table oxbow.users drop column share_patterns;
