package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// scheduleAge is how often a running worker looks for changed schedules.
const scheduleAge = 5 * time.Second

func everyKind(*jobs.Kind) bool { return true }

// periodic holds the periodic jobs of a worker. River's leader enqueues them. Each kind is unique, so a
// job that runs longer than its period is not enqueued twice. A kind with an interval is also enqueued
// when a worker becomes leader, so that a restart does not postpone it.
type periodic struct {
	*Worker
	followed map[string]*followed
	warned   map[string]bool // kinds whose schedule is ignored
}

// followed is the schedule of a kind, as a river.PeriodicSchedule.
type followed struct {
	text     string // set by an operator; empty means the kind's default
	schedule Schedule
	next     atomic.Pointer[time.Time] // as last returned to River; nil until this worker leads
}

// Next implements river.PeriodicSchedule.
func (f *followed) Next(now time.Time) time.Time {
	next := f.schedule.Next(now)
	f.next.Store(&next)
	return next
}

// newPeriodic reads the schedules and returns the periodic jobs.
func (w *Worker) newPeriodic(ctx context.Context) (*periodic, []*river.PeriodicJob, error) {
	p := &periodic{w, map[string]*followed{}, map[string]bool{}}
	rows, err := store.Schedules(ctx, w.pool)
	if err != nil {
		return nil, nil, err
	}
	var all []*river.PeriodicJob
	for _, kind := range jobs.Kinds() {
		if kind.Periodic() {
			all = append(all, p.follow(ctx, kind, rows[kind.Name], true))
		}
	}
	return p, all, nil
}

// follow returns the periodic job of a kind. If the schedule cannot be parsed, which the database
// mostly prevents, the kind keeps its default.
func (p *periodic) follow(ctx context.Context, kind *jobs.Kind, row store.Schedule, starting bool) *river.PeriodicJob {
	schedule, err := parseSchedule(kind, row)
	if err != nil {
		p.log.WarnContext(ctx, "ignoring an invalid schedule", "kind", kind.Name, "schedule", row.Schedule, "error",
			err)
		schedule = Schedule{Every: kind.Every}
	}
	f := &followed{text: row.Schedule, schedule: schedule}
	p.followed[kind.Name] = f
	return river.NewPeriodicJob(f, func() (river.JobArgs, *river.InsertOpts) { return kind.Args(), nil },
		&river.PeriodicJobOpts{ID: kind.Name, RunOnStart: starting && schedule.Every > 0})
}

// watch applies changed schedules and, if this worker leads, stores the next runs, until stop is called.
func (p *periodic) watch(ctx context.Context, client *river.Client[pgx.Tx]) (stop func()) {
	return repeat(ctx, p.cfg.scheduleAge, func(ctx context.Context) {
		if err := p.refresh(ctx, client); err != nil && ctx.Err() == nil {
			p.log.WarnContext(ctx, "cannot read the schedules of jobs", "error", err)
		}
	})
}

// repeat calls do at once and then at an interval, until stop is called or ctx ends.
func repeat(ctx context.Context, interval time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var repeating sync.WaitGroup
	repeating.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			do(ctx)
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	})
	return func() { cancel(); repeating.Wait() }
}

func (p *periodic) refresh(ctx context.Context, client *river.Client[pgx.Tx]) error {
	rows, err := store.Schedules(ctx, p.pool)
	if err != nil {
		return err
	}
	next := map[string]time.Time{}
	for name, f := range p.followed {
		row := rows[name]
		if row.Schedule != f.text {
			client.PeriodicJobs().RemoveByID(name)
			if _, err := client.PeriodicJobs().AddSafely(p.follow(ctx, jobs.KindOf(name), row, false)); err != nil {
				return err
			}
			p.log.InfoContext(ctx, "a schedule changed", "kind", name, "schedule", row.Schedule)
			continue
		}
		if at := f.next.Load(); at != nil && (row.NextRunAt == nil ||
			!row.NextRunAt.Equal(at.Truncate(time.Microsecond))) {
			next[name] = *at
		}
	}
	for name, row := range rows {
		if row.Schedule != "" && p.followed[name] == nil && !p.warned[name] {
			p.warned[name] = true
			p.log.WarnContext(ctx, "ignoring the schedule of a kind of job that is not periodic", "kind", name)
		}
	}
	return store.NoteNextRuns(ctx, p.pool, client.ID(), next)
}

// noting is middleware that stores how the runs of periodic kinds end.
type noting struct {
	river.MiddlewareDefaults
	*Worker
}

func (n *noting) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
	if !jobs.KindOf(job.Kind).Periodic() {
		return work(ctx)
	}
	begun := time.Now()
	return toOutcome(ctx, job, work, func(outcome string) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if err := store.NoteRun(within, n.pool, job.Kind, begun, time.Since(begun), outcome); err != nil {
			n.log.WarnContext(ctx, "cannot record how a job ended", "kind", job.Kind, "error", err)
		}
	})
}
