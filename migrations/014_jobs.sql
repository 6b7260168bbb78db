-- Settings of River's table of jobs.

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

---- create above / drop below ----

drop index oxbow.river_job_extract_idx;
alter table oxbow.river_job
  reset (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor),
  alter args set storage extended;
