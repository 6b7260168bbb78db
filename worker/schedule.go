package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/robfig/cron/v3"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Schedule determines when jobs of a kind run: at an interval, or by a cron expression in UTC.
type Schedule struct {
	Every time.Duration
	Cron  cron.Schedule
}

// never is the interval of a cron expression that never matches, such as one for February 30. It is also the longest
// interval: a time.Duration ends at 292 years.
const never = 100 * 365 * 24 * time.Hour

// Next returns the first run after the given time.
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

// parseSchedule parses the schedule of a kind. An empty row means the kind's default.
func parseSchedule(kind *jobs.Kind, row store.Schedule) (Schedule, error) {
	switch {
	case row.Schedule == "":
		return Schedule{Every: kind.Every}, nil
	case row.Every != nil && *row.Every < 1:
		return Schedule{}, errors.New("the interval is shorter than 1 second")
	case row.Every != nil:
		return Schedule{Every: time.Duration(min(*row.Every, never.Seconds()) * float64(time.Second))}, nil
	}
	parsed, err := cron.ParseStandard(sundays(row.Schedule))
	return Schedule{Cron: parsed}, err
}

// sundays writes Sunday as 0, because the parser does not know it as 7.
func sundays(schedule string) string {
	fields := strings.Fields(schedule)
	if len(fields) == 5 {
		days := strings.Split(fields[4], ",")
		for i, day := range days {
			if day == "7" {
				days[i] = "0"
			}
		}
		fields[4] = strings.Join(days, ",")
	}
	return strings.Join(fields, " ")
}

// period returns the time between the next two runs of a kind.
func period(kind *jobs.Kind, row store.Schedule) time.Duration {
	schedule, err := parseSchedule(kind, row)
	if err != nil {
		return kind.Every // see periodic.follow
	}
	next := schedule.Next(time.Now())
	return schedule.Next(next).Sub(next)
}

// KindStatus describes a kind of job and, for a periodic kind, its schedule and runs.
type KindStatus struct {
	Kind        string     `json:"kind"`
	Does        string     `json:"does"`
	Queue       string     `json:"queue"`
	Schedule    string     `json:"schedule,omitzero"` // empty: the kind is not periodic
	Changed     bool       `json:"changed,omitzero"`  // set by a row in oxbow.job_schedules
	NextRunAt   *time.Time `json:"next_run_at,omitzero"`
	LastRunAt   *time.Time `json:"last_run_at,omitzero"`
	LastSeconds *float64   `json:"last_seconds,omitzero"`
	// LastOutcome is completed, failed, discarded, cancelled, snoozed or panicked.
	LastOutcome string `json:"last_outcome,omitzero"`
}

// Kinds returns all kinds of jobs with their schedules.
func Kinds(ctx context.Context, db store.DB) ([]KindStatus, error) {
	rows, err := store.Schedules(ctx, db)
	if err != nil {
		return nil, err
	}
	var all []KindStatus
	for _, k := range jobs.Kinds() {
		s := KindStatus{Kind: k.Name, Does: k.Does, Queue: k.Queue}
		if row := rows[k.Name]; k.Periodic() {
			s.Schedule = k.Period()
			if _, err := parseSchedule(k, row); err == nil && row.Schedule != "" {
				s.Schedule, s.Changed = row.Schedule, true
			}
			s.NextRunAt, s.LastRunAt, s.LastSeconds, s.LastOutcome = row.NextRunAt, row.LastRunAt, row.LastSeconds,
				row.LastOutcome
		}
		all = append(all, s)
	}
	return all, nil
}

// UnknownKindError reports that no periodic kind has the name.
type UnknownKindError struct {
	Name     string
	Periodic []string // the periodic kinds
}

func (e *UnknownKindError) Error() string {
	is := "is not a kind of job"
	if jobs.KindOf(e.Name) != nil {
		is = "is not a periodic kind of job"
	}
	return fmt.Sprintf("%q %s: use one of %s", e.Name, is, strings.Join(e.Periodic, ", "))
}

// RunNow enqueues a job of a periodic kind that is due now. If such a job is already due or running,
// it adds none and reports running. An unknown name is an *UnknownKindError; other errors come from
// the database.
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
