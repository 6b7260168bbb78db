package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Taking describes the jobs that a worker takes: see oxbow.take_jobs.
type Taking struct {
	Queue          string
	By             string // River's id of the worker
	Room           int    // the maximum sum of the weights
	Oldest, Newest int    // parts of Room
	After          int64  // where the turn of users continues
	Kind           string // if not empty, only first attempts of this kind; each weighs as much as it has ids
	Alone          string // a metadata key; with Kind, jobs that have it are not taken
}

// TakenJob is a job that TakeJobs marked as running.
type TakenJob struct {
	ID          int64
	Kind        string
	Queue       string
	Priority    int
	Args        []byte
	Metadata    []byte
	Tags        []string
	UniqueKey   []byte
	Attempt     int
	MaxAttempts int
	AttemptedAt time.Time
	AttemptedBy []string
	Errors      [][]byte
	CreatedAt   time.Time
	ScheduledAt time.Time
	After       int64 // for the next Taking
}

// TakeJobs marks due jobs as running and returns them.
func TakeJobs(ctx context.Context, db DB, t Taking) ([]TakenJob, error) {
	return list[TakenJob](ctx, db, "take "+t.Queue+" jobs", `
		select (t.job).id, (t.job).kind, (t.job).queue, (t.job).priority, (t.job).args, (t.job).metadata, (t.job).tags,
		       (t.job).unique_key, (t.job).attempt, (t.job).max_attempts, (t.job).attempted_at, (t.job).attempted_by,
		       (t.job).errors, (t.job).created_at, (t.job).scheduled_at, t.after
		  from oxbow.take_jobs($1::text, $2::text, $3::integer, $4::integer, $5::integer, $6::bigint,
		         nullif($7::text, ''), $8::text) t`,
		t.Queue, t.By, t.Room, t.Oldest, t.Newest, t.After, t.Kind, t.Alone)
}

// LimitLocks makes the statements of a transaction fail that wait longer for a lock: see IsLockTimeout.
func LimitLocks(ctx context.Context, tx DB, most time.Duration) error {
	_, err := run(ctx, tx, "limit the wait for locks", `select set_config('lock_timeout', $1::text, true)`,
		strconv.FormatInt(most.Milliseconds(), 10))
	return err
}

// outlived is a condition on a job: the transaction that enqueued it began before an erasure of its user committed.
// The job is about data that the erasure is going to delete (oxbow.finish_erasures).
const outlived = `exists (select from oxbow.open_erasures e where e.user_id = args ->> 'user_id' and e.kind = 'user'
		                   and created_at < e.at and created_at <> e.began)`

// CompleteJobs completes the given jobs that are running and returns their ids. It locks the rows
// in the order of their users, as embed locks check_trigger jobs. Jobs of erased users are left out.
func CompleteJobs(ctx context.Context, db DB, ids []int64) ([]int64, error) {
	return list[int64](ctx, db, "complete jobs", `
		with mine as materialized (
		  select id from oxbow.river_job
		   where id = any($1) and state = 'running' and not `+outlived+`
		   order by args ->> 'user_id' collate "C", id for update
		)
		update oxbow.river_job j set state = 'completed', finalized_at = clock_timestamp() from mine m where j.id = m.id
		returning j.id`, ids)
}

// Outlived reports whether the user of a job was erased after the job was enqueued, or the job itself was erased.
func Outlived(ctx context.Context, db DB, id int64) (bool, error) {
	return one[bool](ctx, db, "look for the job", `select not exists (
		select from oxbow.river_job where id = $1 and not `+outlived+`)`, id)
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
