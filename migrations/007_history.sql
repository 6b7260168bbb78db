-- The audit log of memories, the links between them, and their uses.

create table oxbow.memory_history (
  user_id      text not null,
  id           uuid not null default gen_random_uuid(),
  memory_type  oxbow.memory_type not null,
  memory_id    uuid not null,
  event        text not null check (event in
    ('ADD', 'UPDATE', 'DELETE', 'SUPERSEDE', 'STAGE_CHANGE', 'RESTORE', 'NOOP', 'BOOST', 'EXPIRE', 'PROMOTE',
     'MARK', 'DEMOTE', 'VERIFY', 'COMPRESS', 'KEEP', 'UNMERGE')),
  old_content  text,
  new_content  text,
  old_metadata jsonb,
  new_metadata jsonb,
  actor        text not null default 'system',
  reason       text,
  created_at   timestamptz not null default clock_timestamp(),
  message_ids  uuid[] not null default '{}', -- the messages behind the operation
  primary key (user_id, id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index memory_history_memory_idx on oxbow.memory_history (user_id, memory_type, memory_id, created_at);

create table oxbow.memory_links (
  user_id    text not null,
  from_type  oxbow.memory_type not null,
  from_id    uuid not null,
  to_type    oxbow.memory_type not null,
  to_id      uuid not null,
  relation   text not null,
  weight     double precision not null default 1.0,
  created_at timestamptz not null default now(),
  primary key (user_id, from_type, from_id, relation, to_type, to_id),
  constraint relation_known check (
    relation in ('source', 'merged_from', 'compressed_from', 'related_to', 'supersedes', 'contradicts')
    or oxbow.reject('relation', relation,
         'must be source, merged_from, compressed_from, related_to, supersedes or contradicts')),
  constraint weight_range check (weight between 0 and 1000000
    or oxbow.reject('weight', weight::text, 'must be between 0 and 1000000')),
  foreign key (user_id, from_type, from_id) references oxbow.memories (user_id, memory_type, id) on delete cascade,
  foreign key (user_id, to_type, to_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
);
create index memory_links_to_idx on oxbow.memory_links (user_id, to_type, to_id);

-- Accesses and uses of memories, one row for each call of oxbow.touch. The job flush_activity adds them to memories.
create table oxbow.activity (
  user_id    text not null,
  id         bigint generated always as identity,
  memory_ids uuid[] not null,
  used       boolean not null default true, -- a reply used them; false: they were only returned
  at         timestamptz not null default now(),
  primary key (user_id, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 100);
alter table oxbow.activity alter memory_ids set storage main; -- compressed; only long ones are stored out of line

-- The events that changed the weights of memories (docs/weight.md). Rows are only added, and settle deletes old ones.
create table oxbow.weight_log (
  user_id     text not null,
  id          uuid not null default gen_random_uuid(),
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  at          timestamptz not null default clock_timestamp(), -- when it was noted
  cause       text not null check (cause in
    ('mentioned', 'used', 'negated', 'classified', 'restored', 'reviewed', 'merged', 'unmerged', 'feedback')),
  before      double precision not null, -- the unclamped weight at that moment, without the event and with it
  after       double precision not null,
  times       bigint not null default 1, -- the number of mentions or uses that the row adds up
  actor       text not null default 'system',
  primary key (user_id, memory_type, memory_id, id),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories (user_id, memory_type, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.05);
create index weight_log_at_idx on oxbow.weight_log (at);

---- create above / drop below ----

drop table oxbow.weight_log, oxbow.activity, oxbow.memory_links, oxbow.memory_history cascade;
