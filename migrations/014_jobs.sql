-- Settings of River's table of jobs, and the schedules of periodic jobs.

-- A job is a row that is updated twice and deleted soon. With the defaults autovacuum would wait until most of a busy
-- queue is dead, and fetching steps over dead rows.
-- The ids of 128 memories are random digits: compressing them costs more than writing the rest of the job.
alter table oxbow.river_job
  set (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
       autovacuum_analyze_scale_factor = 0.05),
  alter args set storage external;

-- Every extraction looks for the jobs of its session, however many wait.
create index river_job_extract_idx on oxbow.river_job ((args ->> 'user_id'), (args ->> 'session_id'))
  where kind = 'extract' and state in ('available', 'scheduled', 'retryable', 'running');

-- schedule_seconds and is_schedule read the text of a schedule. Their text is in sql/code.
create function oxbow.schedule_seconds(schedule text) returns double precision
language plpgsql stable as $$ begin return null; end $$;

create function oxbow.is_schedule(schedule text) returns boolean
language plpgsql stable as $$ begin return false; end $$;

-- Periodic jobs run as often as the program says, unless an operator gives them another schedule here. The rest of a row is
-- written by workers. No user data.
create table oxbow.job_schedules (
  kind         text primary key,
  schedule     text,             -- an interval or a cron expression in UTC; null: the program's own
  next_run_at  timestamptz,
  last_run_at  timestamptz,      -- when the last run began
  last_seconds double precision, -- how long it took
  last_outcome text,
  constraint schedule_known check (oxbow.is_schedule(schedule)
    or oxbow.reject('schedule', schedule, 'must be an interval of at least 1 second, such as 5 minutes, or a cron expression with five fields, such as */5 * * * *'))
);

---- create above / drop below ----

drop table oxbow.job_schedules;
drop function oxbow.is_schedule, oxbow.schedule_seconds;

drop index oxbow.river_job_extract_idx;
alter table oxbow.river_job
  reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor),
  alter args set storage extended;
