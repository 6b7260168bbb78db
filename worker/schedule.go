package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/robfig/cron/v3"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Schedule is when jobs of a kind run: every so often, or as a cron expression says, in UTC.
type Schedule struct {
	Every time.Duration
	Cron  cron.Schedule
}

// never is what a cron expression of a day that does not exist comes to, such as February 30.
const never = 100 * 365 * 24 * time.Hour

// Next returns the first run after a moment.
func (s Schedule) Next(after time.Time) time.Time {
	if s.Cron == nil {
		return after.Add(s.Every)
	}
	next := s.Cron.Next(after.UTC())
	if next.IsZero() {
		return after.Add(never)
	}
	return next
}

// parseSchedule reads the schedule of a kind. Without one it is that of the program.
func parseSchedule(kind *jobs.Kind, row store.Schedule) (Schedule, error) {
	switch {
	case row.Schedule == "":
		return Schedule{Every: kind.Every}, nil
	case row.Every != nil && *row.Every < 1:
		return Schedule{}, errors.New("the interval is shorter than 1 second")
	case row.Every != nil:
		return Schedule{Every: time.Duration(*row.Every * float64(time.Second))}, nil
	}
	parsed, err := cron.ParseStandard(row.Schedule)
	return Schedule{Cron: parsed}, err
}

// KindStatus is a kind of job and, of a periodic one, its runs.
type KindStatus struct {
	Kind        string     `json:"kind"`
	Does        string     `json:"does"`
	Queue       string     `json:"queue"`
	Schedule    string     `json:"schedule,omitzero"` // empty: something causes its jobs
	Changed     bool       `json:"changed,omitzero"`  // by a row in oxbow.job_schedules
	NextRunAt   *time.Time `json:"next_run_at,omitzero"`
	LastRunAt   *time.Time `json:"last_run_at,omitzero"`
	LastSeconds *float64   `json:"last_seconds,omitzero"`
	// completed, failed, discarded, cancelled, snoozed or panicked
	LastOutcome string `json:"last_outcome,omitzero"`
}

// Kinds lists all kinds of jobs, with their schedules.
func Kinds(ctx context.Context, db store.DB) ([]KindStatus, error) {
	rows, err := store.Schedules(ctx, db)
	if err != nil {
		return nil, err
	}
	var all []KindStatus
	for _, k := range jobs.Kinds() {
		s := KindStatus{Kind: k.Name, Does: k.Does, Queue: k.Queue}
		if row := rows[k.Name]; k.Periodic() {
			s.Schedule, s.Changed = k.Period(), row.Schedule != ""
			if s.Changed {
				s.Schedule = row.Schedule
			}
			s.NextRunAt, s.LastRunAt, s.LastSeconds, s.LastOutcome = row.NextRunAt, row.LastRunAt, row.LastSeconds, row.LastOutcome
		}
		all = append(all, s)
	}
	return all, nil
}

// UnknownKindError says that there is no periodic kind of a name.
type UnknownKindError struct {
	Name     string
	Periodic []string // those that exist
}

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("%q is not a periodic kind of job; those are %v", e.Name, e.Periodic)
}

// RunNow enqueues a job of a periodic kind that is due now. running reports that one was due or
// running already, and that none was added. The error is an *UnknownKindError or the database's.
func RunNow(ctx context.Context, pool *pgxpool.Pool, name string) (id int64, running bool, err error) {
	kind := jobs.KindOf(name)
	if !kind.Periodic() {
		return 0, false, &UnknownKindError{name, jobs.Names((*jobs.Kind).Periodic)}
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Schema: riverSchema})
	if err != nil {
		return 0, false, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		result, err := client.InsertTx(ctx, tx, kind.Args(), nil)
		if err == nil {
			id, running = result.Job.ID, result.UniqueSkippedAsDuplicate
		}
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("enqueue a %s job: %w", name, store.Explain(err))
	}
	return id, running, nil
}
