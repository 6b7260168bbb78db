package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Taking describes the jobs that a worker takes in addition to the one it got from River.
type Taking struct {
	Kind, Queue string
	Weight      string // the weight of a job, an SQL expression over its args
	Room        int    // the maximum sum of the weights
	By          string // River's id of the worker
	Alone       string // a metadata key; jobs that have it are not taken
}

// TakenJob is a job that TakeJobs marked as running.
type TakenJob struct {
	ID          int64
	Args        []byte
	Metadata    []byte
	Attempt     int
	MaxAttempts int
	CreatedAt   time.Time
	ScheduledAt time.Time
}

// TakeJobs marks waiting jobs without a previous attempt as running, in the order River would take
// them, and returns them.
func TakeJobs(ctx context.Context, db DB, t Taking) ([]TakenJob, error) {
	return list[TakenJob](ctx, db, "take waiting "+t.Kind+" jobs", `
		with waiting as (
		  select id, priority, scheduled_at, `+t.Weight+` as weight
		    from oxbow.river_job
		   where state = 'available' and queue = $1 and kind = $2 and scheduled_at <= now()
		     and attempt = 0 and not metadata ? $5
		   order by priority, scheduled_at, id limit $3 for update skip locked
		), fitting as (
		  select id
		    from (select id, sum(weight) over (order by priority, scheduled_at, id) as total from waiting) w
		   where total <= $3
		)
		update oxbow.river_job j
		   set state = 'running', attempt = j.attempt + 1, attempted_at = now(), -- River keeps 100 of attempted_by
		       attempted_by = array_append(j.attempted_by[greatest(cardinality(j.attempted_by) - 98, 1):], $4)
		  from fitting f where j.id = f.id
		returning j.id, j.args, j.metadata, j.attempt, j.max_attempts, j.created_at, j.scheduled_at`,
		t.Queue, t.Kind, t.Room, t.By, t.Alone)
}

// LimitLocks makes the statements of a transaction fail that wait longer for a lock: see IsLockTimeout.
func LimitLocks(ctx context.Context, tx DB, most time.Duration) error {
	_, err := run(ctx, tx, "limit the wait for locks", `select set_config('lock_timeout', $1::text, true)`,
		strconv.FormatInt(most.Milliseconds(), 10))
	return err
}

// CompleteJobs completes the given jobs that are running and returns their ids. It locks the rows
// in the order of their users, as embed locks check_trigger jobs.
func CompleteJobs(ctx context.Context, db DB, ids []int64) ([]int64, error) {
	return list[int64](ctx, db, "complete jobs", `
		with mine as materialized (
		  select id from oxbow.river_job
		   where id = any($1) and state = 'running'
		   order by args ->> 'user_id' collate "C", id for update
		)
		update oxbow.river_job j set state = 'completed', finalized_at = clock_timestamp() from mine m where j.id = m.id
		returning j.id`, ids)
}

// DeleteCompleted deletes at most limit completed jobs that are older than the retention of their
// kind, and returns their number.
func DeleteCompleted(ctx context.Context, db DB, retentions map[string]time.Duration, limit int) (int64, error) {
	kinds := slices.Sorted(maps.Keys(retentions))
	ages := make([]time.Duration, len(kinds))
	for i, kind := range kinds {
		ages[i] = retentions[kind]
	}
	return run(ctx, db, "delete completed jobs", `
		delete from oxbow.river_job where id in (
		  select j.id from oxbow.river_job j join unnest($1::text[], $2::interval[]) k(kind, age) using (kind)
		   where j.state = 'completed' and j.finalized_at < now() - k.age
		     and j.finalized_at < now() - (select min(age) from unnest($2::interval[]) age)
		   limit $3 for update of j skip locked)`, kinds, ages, limit)
}

// PutBackJobs returns running jobs to the queue, due after pause, without counting the attempt,
// like a snooze in River. A job whose cancellation was requested in the meantime is cancelled. If
// key is not empty, it is set in the metadata of the jobs.
func PutBackJobs(ctx context.Context, db DB, ids []int64, pause time.Duration, key string) error {
	_, err := run(ctx, db, "put jobs back", `
		update oxbow.river_job
		   set state = (case when metadata ? 'cancel_attempted_at' then 'cancelled'
		                     when $2::interval < interval '5 seconds' then 'available'
		                     else 'scheduled' end)::oxbow.river_job_state,
		       finalized_at = case when metadata ? 'cancel_attempted_at' then now() end,
		       attempt = attempt - 1, scheduled_at = case when $2 > interval '0' then now() + $2 else scheduled_at end,
		       metadata = metadata || case when $3 <> '' then jsonb_build_object($3::text, true) else '{}' end
		         || case when $2 > interval '0'
		                 then jsonb_build_object('snoozes', coalesce((metadata ->> 'snoozes')::integer, 0) + 1)
		                 else '{}' end -- as River counts
		 where id = any($1) and state = 'running'`, ids, pause, key)
	return err
}
