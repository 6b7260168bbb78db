-- name: MemoriesOnTheWay :one
-- How many jobs that make memories, or make them ready, are due and not taken up, at most max.
select count(*) from (
  select from oxbow.river_job
   where state = 'available' and queue in ('embed', 'extract') and priority = 1 and scheduled_at <= now() limit @max::integer) w;

-- name: JobsWake :exec
-- Jobs of these kinds that are due later (available, where it is a few seconds) were put off, because a provider was down or
-- the model another one, or until a conversation is over. Those that have come due meanwhile need not wait for River either,
-- which looks for them where somebody leads.
update oxbow.river_job set state = 'available', scheduled_at = least(scheduled_at, now())
 where kind in ('embed', 'reflect', 'contradiction_review', 'extract', 'summarize')
   and (state = 'scheduled' or state = 'available' and scheduled_at > now());

-- name: LeaderDepose :execrows
-- Who leads River has a row, which ends with it. Without it all stand for election, and who leads begins its work anew.
delete from oxbow.river_leader
 where elected_at < now() - make_interval(secs => @seconds::double precision)
   and exists (select from oxbow.river_job
                where state in ('scheduled', 'retryable') and scheduled_at < now() - make_interval(secs => @seconds::double precision));

-- name: MemoriesCount :one
select count(*) from oxbow.memories where forgotten_at is null;

-- name: QueueToWork :one
-- How much there is to do: now, soon (within the given seconds, but for the kinds that wait for something else), and later. A
-- trend whose window is still open is nothing to do.
select count(*) filter (where state = 'running' or scheduled_at <= now()) as now,
  count(*) filter (where state <> 'running' and scheduled_at > now() and near) as soon,
  count(*) filter (where state <> 'running' and scheduled_at > now() and not near) as later
from oxbow.river_job,
  lateral (select scheduled_at <= now() + make_interval(secs => @soon_seconds::double precision) and kind <> all(@waiting::text[]) as near) n
where state in ('available', 'retryable', 'running', 'scheduled')
  and not (kind = 'expire_trend' and state = 'scheduled' and scheduled_at > now());
