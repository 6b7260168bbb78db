-- Settings of River's job table, and the schedules of periodic jobs.

-- A job row is updated twice and deleted soon. With the default settings, autovacuum would wait until most
-- of a busy queue is dead, and fetching jobs steps over dead rows. The ids of 128 memories are random
-- digits: compressing them costs more than writing the rest of the job.
alter table oxbow.river_job
  set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
       autovacuum_analyze_scale_factor = 0.05),
  alter args set storage external;

-- Only River's job lists use its GIN indexes, and every INSERT pays for them. Erasure looks up a user's jobs.
drop index oxbow.river_job_args_index, oxbow.river_job_metadata_index;
create index river_job_user_idx on oxbow.river_job ((args ->> 'user_id'));

-- Every extraction looks up the jobs of its session.
create index river_job_extract_idx on oxbow.river_job ((args ->> 'user_id'), (args ->> 'session_id'))
  where kind = 'extract' and state in ('available', 'scheduled', 'retryable', 'running');

-- schedule_seconds and is_schedule parse a schedule. sql/code replaces their bodies.
create function oxbow.schedule_seconds(schedule text) returns double precision
language plpgsql stable as $$ begin return null; end $$;

create function oxbow.is_schedule(schedule text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

-- An operator sets a job's schedule here; otherwise the program's own applies. Workers write the other
-- columns. No user data.
create table oxbow.job_schedules (
  kind         text primary key,
  schedule     text,             -- an interval or a cron expression in UTC; null: the program's own
  next_run_at  timestamptz,
  last_run_at  timestamptz,      -- when the last run began
  last_seconds double precision, -- its duration
  last_outcome text,
  -- when a run last succeeded; until then, when a worker first scheduled the kind
  succeeded_at timestamptz not null default now(),
  constraint schedule_known check (oxbow.is_schedule(schedule)
    or oxbow.reject('schedule', schedule, 'must be an interval of at least 1 second, such as 5 minutes, '
         'or a cron expression with five fields, such as */5 * * * *'))
);

---- create above / drop below ----

drop table oxbow.job_schedules;
drop function oxbow.is_schedule, oxbow.schedule_seconds;

drop index oxbow.river_job_extract_idx, oxbow.river_job_user_idx;
create index river_job_args_index on oxbow.river_job using gin (args);
create index river_job_metadata_index on oxbow.river_job using gin (metadata);
alter table oxbow.river_job
  reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor),
  alter args set storage extended;
