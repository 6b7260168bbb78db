-- name: QueueCounts :many
-- Jobs that are not finished, with the age of the oldest that is due.
select queue, kind, state::text as state, count(*) as jobs,
  coalesce(max(extract(epoch from coalesce(sqlc.narg('now')::timestamptz, now()) - scheduled_at)), 0)::double precision as oldest_seconds
from oxbow.river_job
where state in ('available', 'pending', 'retryable', 'running', 'scheduled', 'discarded')
group by queue, kind, state
order by queue, kind, state;

-- name: QueueToWork :one
-- How much there is to do: now, soon (within the given seconds), and later.
select count(*) filter (where state = 'running' or scheduled_at <= now()) as now,
  count(*) filter (where state <> 'running' and scheduled_at > now() and scheduled_at <= now() + make_interval(secs => @soon_seconds::double precision)) as soon,
  count(*) filter (where state <> 'running' and scheduled_at > now() + make_interval(secs => @soon_seconds::double precision)) as later,
  count(*) filter (where state = 'retryable') as failed
from oxbow.river_job
where state in ('available', 'retryable', 'running', 'scheduled');
