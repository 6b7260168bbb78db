-- Jobs by user. Those who take jobs read it to give each user a turn: see oxbow.take_jobs. It has no more columns, and
-- an index that nothing reads goes, because every INSERT pays for the indexes of river_job.
create index river_job_turn_idx on oxbow.river_job (queue, hashtext(coalesce(args ->> 'user_id', '')))
  where state = 'available';
drop index oxbow.river_job_kind;

---- create above / drop below ----

drop index oxbow.river_job_turn_idx;
create index river_job_kind on oxbow.river_job (kind);
