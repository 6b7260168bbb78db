-- Reflection: its inbox, its cycles, and calls to language models.

-- Facts and episodes not yet reflected on, with the values that decide when and in what order to reflect.
-- Each row is updated once (nominated). With room for the new version in its page, the indexes do not change.
create table oxbow.reflection_inbox (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  importance  double precision not null,
  valid_at    timestamptz not null,
  session_id  text,
  added_at    timestamptz not null default now(),
  nominated   boolean not null default false, -- a job merge was enqueued for it, if it needed one
  primary key (user_id, memory_type, memory_id)
) partition by list (memory_type);
create table oxbow.reflection_inbox_fact partition of oxbow.reflection_inbox (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_fact (user_id, memory_type, id) on delete cascade
) for values in ('fact')
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create table oxbow.reflection_inbox_episodic partition of oxbow.reflection_inbox (
  foreign key (user_id, memory_type, memory_id)
    references oxbow.memories_episodic (user_id, memory_type, id) on delete cascade
) for values in ('episodic')
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
create index reflection_inbox_order_idx on oxbow.reflection_inbox (user_id, valid_at, memory_id);

create table oxbow.reflection_cycles (
  user_id          text not null,
  id               uuid not null default gen_random_uuid(),
  trigger_type     text not null
    check (trigger_type in ('importance_accumulated', 'scheduled', 'session_end', 'manual', 'contradiction_review',
      'sleep')),
  trigger_value    double precision,
  memories_scanned integer not null default 0,
  traits_created   integer not null default 0,
  traits_updated   integer not null default 0,
  traits_dissolved integer not null default 0,
  started_at       timestamptz not null default now(),
  completed_at     timestamptz,
  status           text not null default 'running' check (status in ('running', 'completed', 'failed')),
  error_message    text,
  reasoner         text,
  now              timestamptz,                 -- the time that the cycle used as now
  dropped          jsonb not null default '[]', -- rejected proposals: [{"what": …, "reason": …}]
  primary key (user_id, id)
);
create index reflection_cycles_started_idx on oxbow.reflection_cycles (user_id, started_at desc);

-- Calls to language models and their cost.
create table oxbow.llm_calls (
  user_id           text not null,
  id                uuid not null default gen_random_uuid(),
  purpose           text not null, -- reflect, review
  job_id            bigint,
  cycle_id          uuid,
  model             text not null,
  attempt           integer not null,
  prompt_tokens     integer not null default 0,
  completion_tokens integer not null default 0,
  started_at        timestamptz not null,
  latency           interval not null,
  error             text, -- null: the answer was usable
  primary key (user_id, id)
);
create index llm_calls_started_idx on oxbow.llm_calls (started_at desc);
create index llm_calls_user_idx on oxbow.llm_calls (user_id, started_at desc);

---- create above / drop below ----

drop table oxbow.llm_calls, oxbow.reflection_cycles, oxbow.reflection_inbox cascade;
