-- What the jobs need to remember.

-- Memories whose text a provider refuses: they are found by their words, and are not asked about again for that model.
create table oxbow.embedding_refusals (
  user_id     text not null,
  memory_type oxbow.memory_type not null,
  memory_id   uuid not null,
  model       text not null,
  reason      text not null,
  refused_at  timestamptz not null default now(),
  primary key (user_id, memory_type, memory_id, model),
  foreign key (user_id, memory_type, memory_id) references oxbow.memories on delete cascade
);

-- Each job is a row that is updated twice and deleted soon. The share that the defaults wait for would be most of a busy
-- queue, and fetching passes over what is not cleared away.
alter table oxbow.river_job set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_analyze_scale_factor = 0.05);
alter table oxbow.activity set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- The ids of 128 memories are digits at random: compressing them costs more than writing the rest of the job.
alter table oxbow.river_job alter args set storage external;

---- create above / drop below ----

alter table oxbow.activity reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
alter table oxbow.river_job alter args set storage extended;
alter table oxbow.river_job reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor);
drop table oxbow.embedding_refusals;
