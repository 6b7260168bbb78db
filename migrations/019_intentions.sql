-- Prospective memory: what a person intends, has to do, or wants to be reminded of.

create table oxbow.intentions (
  user_id     text not null,
  id          uuid not null default gen_random_uuid(),
  kind        text not null default 'intention',
  content     text not null,
  due_at      timestamptz,                     -- the beginning of the day, week, month or year; null: no time is known
  precision   text not null default 'none',    -- minute, day, week, month, year, none
  remind_at   timestamptz,                     -- when it becomes due; null: never by itself
  recurrence  text,                            -- an RRULE of iCalendar without its name; due_at is its next time
  starts_at   timestamptz,                     -- its first time, from which it counts
  condition   text,                            -- "when I get home": when it is due instead
  state       text not null default 'open',
  source      text not null default 'app' check (source in ('app', 'conversation')),
  message_id  uuid,
  said_in     text,                            -- the conversation
  parent_id   uuid,                            -- the recurring one of which this is an occurrence
  created_at  timestamptz not null default now(),
  became_due_at timestamptz,
  closed_at   timestamptz,                     -- done or dropped
  reason      text,
  external_id text,
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint kind_known check (kind in ('intention', 'goal', 'reminder')
    or oxbow.reject('kind', kind, 'must be intention, goal or reminder')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 2000
    or oxbow.reject('content', content, 'must not be blank or longer than 2,000 bytes')),
  constraint precision_known check (precision in ('minute', 'day', 'week', 'month', 'year', 'none')
    or oxbow.reject('precision', precision, 'must be minute, day, week, month, year or none')),
  constraint due_matches check ((due_at is null) = (precision = 'none')
    or oxbow.reject('precision', precision, 'must be none without a time, and only then')),
  constraint due_finite check (coalesce(isfinite(due_at) and extract(year from due_at) between 1900 and 9999, true)
    or oxbow.reject('due_at', due_at::text, 'must be between the years 1900 and 9999')),
  -- only what comes at most once an hour, and without the combinations that may never come
  constraint recurrence_known check (coalesce(octet_length(recurrence) <= 200 and recurrence ~ (
      '^FREQ=(HOURLY|(DAILY|WEEKLY)(?!.*;BY(MONTHDAY|YEARDAY|WEEKNO|SETPOS)=)|MONTHLY|YEARLY)'
      || '(;(INTERVAL|COUNT)=[1-9][0-9]{0,3}|;UNTIL=[0-9]{8}(T[0-9]{6}Z?)?|;WKST=(MO|TU|WE|TH|FR|SA|SU)'
      || '|;BYDAY=([-+]?[1-9]?[0-9]?(MO|TU|WE|TH|FR|SA|SU)(,(?!$)|(?=;|$)))+'
      || '|;(BYMONTH|BYHOUR|BYMONTHDAY|BYYEARDAY|BYWEEKNO|BYSETPOS)=(-?[0-9]{1,3}(,(?!$)|(?=;|$)))+)*$')
      and (recurrence !~ '^FREQ=HOURLY' or recurrence !~ ';BY(?!DAY)'), true)
    or oxbow.reject('recurrence', recurrence, 'must be a rule of iCalendar such as FREQ=WEEKLY;BYDAY=MO')),
  constraint recurrence_begins check ((recurrence is null) = (starts_at is null) and (recurrence is null or due_at is not null)
    or oxbow.reject('due_at', due_at::text, 'must be the first time of a recurrence')),
  constraint remind_finite check (coalesce(isfinite(remind_at) and extract(year from remind_at) between 1900 and 9999, true)
    or oxbow.reject('until', remind_at::text, 'must be between the years 1900 and 9999')),
  constraint reason_length check (coalesce(octet_length(reason) <= 10000, true)
    or oxbow.reject('reason', reason, 'must have at most 10,000 bytes')),
  constraint condition_length check (coalesce(octet_length(condition) between 1 and 2000, true)
    or oxbow.reject('condition', condition, 'must have 1 to 2,000 bytes')),
  constraint state_known check (state in ('open', 'due', 'done', 'dropped')
    or oxbow.reject('state', state, 'must be open, due, done or dropped')),
  constraint external_id_length check (coalesce(octet_length(external_id) between 1 and 1024, true)
    or oxbow.reject('external_id', external_id, 'must have 1 to 1024 bytes')),
  primary key (user_id, id),
  unique (user_id, external_id),
  unique nulls distinct (user_id, parent_id, due_at)
);
create index intentions_live_idx on oxbow.intentions (user_id, due_at) where state in ('open', 'due');
-- those that are due, or will be before their time
create index intentions_early_idx on oxbow.intentions (user_id, due_at) where state = 'due'
  or state = 'open' and remind_at is not null and (due_at is null or remind_at < due_at);
create index intentions_condition_idx on oxbow.intentions (user_id, created_at desc)
  where state in ('open', 'due') and condition is not null;
create index intentions_words_idx on oxbow.intentions (user_id, md5(lower(content))) where state = 'open';
create index intentions_remind_idx on oxbow.intentions (remind_at) where state = 'open' and remind_at is not null;
create unique index intentions_message_idx on oxbow.intentions (user_id, message_id, content)
  where message_id is not null and parent_id is null;

-- Where due intentions are announced (docs/intentions.md). The secret signs; it is shown once.
create table oxbow.webhooks (
  id          uuid primary key default gen_random_uuid(),
  url         text not null,
  secret      bytea not null,
  created_at  timestamptz not null default now(),
  disabled_at timestamptz,
  disabled_by text,                            -- the operator, or what the far end answered
  deliveries  jsonb not null default '[]',     -- at and status of the last five, the latest first
  constraint url_http check (url ~ '^https?://[^[:space:]]+$' and octet_length(url) <= 2000
    or oxbow.reject('url', url, 'must be an http or https address of at most 2,000 bytes'))
);
create index webhooks_live_idx on oxbow.webhooks (created_at, id) where disabled_at is null;

---- create above / drop below ----

drop table oxbow.webhooks, oxbow.intentions cascade;
