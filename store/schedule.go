package store

import (
	"context"
	"maps"
	"slices"
	"time"
)

// Schedule is a row of oxbow.job_schedules: the operator's schedule of a job kind and its last and
// next run.
type Schedule struct {
	Kind        string
	Schedule    string   // empty: the default schedule of the kind
	Every       *float64 // seconds; nil unless the schedule is an interval
	NextRunAt   *time.Time
	LastRunAt   *time.Time
	LastSeconds *float64
	LastOutcome string
	SucceededAt time.Time // when a run last succeeded; until then, when a worker first scheduled the kind
}

// Schedules returns the rows of oxbow.job_schedules by kind.
func Schedules(ctx context.Context, db DB) (map[string]Schedule, error) {
	rows, err := list[Schedule](ctx, db, "read the schedules of jobs", `
		select kind, schedule, oxbow.schedule_seconds(schedule) as every, next_run_at, last_run_at, last_seconds,
		       last_outcome, succeeded_at
		  from oxbow.job_schedules`)
	byKind := make(map[string]Schedule, len(rows))
	for _, row := range rows {
		byKind[row.Kind] = row
	}
	return byKind, err
}

// NoteNextRuns stores the time of the next run of each kind, unless another worker has become the leader.
func NoteNextRuns(ctx context.Context, db DB, worker string, next map[string]time.Time) error {
	if len(next) == 0 {
		return nil
	}
	kinds := slices.Sorted(maps.Keys(next))
	times := make([]time.Time, len(kinds))
	for i, kind := range kinds {
		times[i] = next[kind]
	}
	_, err := run(ctx, db, "record the next runs of jobs", `
		insert into oxbow.job_schedules (kind, next_run_at) select * from unnest($1::text[], $2::timestamptz[])
		 where exists (select from oxbow.river_leader where leader_id = $3)
		on conflict (kind) do update set next_run_at = excluded.next_run_at`, kinds, times, worker)
	return err
}

// NoteRun stores the time, duration and outcome of a run of a kind.
func NoteRun(ctx context.Context, db DB, kind string, at time.Time, took time.Duration, outcome string) error {
	_, err := run(ctx, db, "record a run of "+kind, `
		insert into oxbow.job_schedules as s (kind, last_run_at, last_seconds, last_outcome) values ($1, $2, $3, $4)
		on conflict (kind) do update
		  set last_run_at = excluded.last_run_at, last_seconds = excluded.last_seconds,
		      last_outcome = excluded.last_outcome,
		      succeeded_at = case when excluded.last_outcome = 'completed' then now() else s.succeeded_at end`,
		kind, at, took.Seconds(), outcome)
	return err
}
