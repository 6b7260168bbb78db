-- Procedural memory: how a person wants to be answered, and skills, the ways to do something that worked.

-- Standing instructions. A newer one replaces those of the same aspect and scope, except of avoid and other.
create table oxbow.instructions (
  user_id     text not null,
  id          uuid not null default gen_random_uuid(),
  content     text not null,                   -- in the person's words
  aspect      text not null default 'other',
  context     text,                            -- scope: work, personal, social, learning; null: everywhere
  agent_id    text,                            -- scope: one agent; null: all
  session_id  text,                            -- scope: one conversation; null: all
  priority    smallint not null default 0,     -- higher ones come first
  source      text not null default 'app' check (source in ('app', 'conversation')),
  message_id  uuid,                            -- conversation: the message
  said_in     text,                            -- and its session
  actor       text not null default 'app',
  created_at  timestamptz not null default now(),
  ended_at    timestamptz,
  replaced_by uuid,
  reason      text,                            -- why it ended
  external_id text,
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint reason_length check (coalesce(octet_length(reason) <= 10000, true)
    or oxbow.reject('reason', reason, 'must have at most 10,000 bytes')),
  constraint content_length check (content ~ '\S' and octet_length(content) <= 2000
    or oxbow.reject('content', content, 'must not be blank or longer than 2,000 bytes')),
  constraint aspect_known check (aspect in ('language', 'length', 'address', 'tone', 'format', 'avoid', 'other')
    or oxbow.reject('aspect', aspect, 'must be language, length, address, tone, format, avoid or other')),
  constraint context_known check (coalesce(context in ('work', 'personal', 'social', 'learning'), true)
    or oxbow.reject('context', context, 'must be work, personal, social or learning')),
  constraint priority_range check (priority between -100 and 100
    or oxbow.reject('priority', priority::text, 'must be between -100 and 100')),
  constraint external_id_length check (coalesce(octet_length(external_id) between 1 and 1024, true)
    or oxbow.reject('external_id', external_id, 'must have 1 to 1024 bytes')),
  primary key (user_id, id),
  unique (user_id, external_id)
);
create index instructions_current_idx on oxbow.instructions (user_id, priority desc, created_at desc)
  where ended_at is null;
create unique index instructions_message_idx on oxbow.instructions (user_id, message_id, content)
  where message_id is not null;

-- Skills: named steps for a situation (U §6). A changed skill is a new version; the old one stays.
create table oxbow.skills (
  user_id       text not null,
  id            uuid not null default gen_random_uuid(),
  name          text not null,
  situation     text not null,                 -- when it applies, in words
  terms         tsvector not null default '',  -- of name and situation
  steps         text[] not null,
  preconditions text[] not null default '{}',
  successes     integer not null default 0,
  failures      integer not null default 0,
  version       integer not null default 1,
  source        text not null default 'app' check (source in ('app', 'conversation')),
  message_id    uuid,
  said_in       text,
  created_at    timestamptz not null default now(),
  used_at       timestamptz,
  ended_at      timestamptz,                   -- replaced, or given up
  replaced_by   uuid,
  reason        text,
  constraint user_id_length check (octet_length(user_id) between 1 and 255
    or oxbow.reject('user_id', user_id, 'must have 1 to 255 bytes')),
  constraint reason_length check (coalesce(octet_length(reason) <= 10000, true)
    or oxbow.reject('reason', reason, 'must have at most 10,000 bytes')),
  constraint name_length check (name ~ '\S' and octet_length(name) <= 200
    or oxbow.reject('name', name, 'must not be blank or longer than 200 bytes')),
  constraint situation_length check (octet_length(situation) <= 2000
    or oxbow.reject('situation', situation, 'must have at most 2,000 bytes')),
  constraint steps_number check (cardinality(steps) between 1 and 50 and octet_length(steps::text) <= 20000
    or oxbow.reject('steps', cardinality(steps) || ' steps', 'must be 1 to 50, of at most 20,000 bytes together')),
  constraint preconditions_number check (cardinality(preconditions) <= 20 and octet_length(preconditions::text) <= 20000
    or oxbow.reject('preconditions', cardinality(preconditions) || ' conditions',
         'must be at most 20, of at most 20,000 bytes together')),
  primary key (user_id, id)
);
create unique index skills_name_idx on oxbow.skills (user_id, lower(name)) where ended_at is null;
create unique index skills_message_idx on oxbow.skills (user_id, message_id, name) where message_id is not null;

---- create above / drop below ----

drop table oxbow.skills, oxbow.instructions cascade;
