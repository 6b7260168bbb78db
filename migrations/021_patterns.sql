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

---- create above / drop below ----

drop table oxbow.night_questions, oxbow.nights, oxbow.pattern_counts, oxbow.pattern_releases cascade;
drop index oxbow.topic_fragments_at_idx;
drop index oxbow.users_sharing_idx;
alter table oxbow.users drop column share_patterns;
