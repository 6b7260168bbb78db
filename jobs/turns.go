package jobs

import (
	"context"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
)

// River works a queue strictly in order, so one user with many jobs would delay all others. Driver, like the
// coalescers, takes jobs with oxbow.take_jobs instead, which gives users turns. Nothing else in River changes.

// Driver returns River's driver with fair turns. River discourages other implementations of its driver interface, so
// only the method that takes jobs is replaced; TestTurns shows that River calls it.
func Driver(pool *pgxpool.Pool) riverdriver.Driver[pgx.Tx] {
	return &fairDriver{Driver: riverpgxv5.New(pool), db: pool, queues: map[string]*turns{}}
}

type fairDriver struct {
	*riverpgxv5.Driver
	db store.DB

	mu     sync.Mutex
	queues map[string]*turns
}

// GetExecutor returns an executor that takes jobs fairly.
func (d *fairDriver) GetExecutor() riverdriver.Executor {
	return fairExecutor{d.Driver.GetExecutor(), d}
}

type fairExecutor struct {
	riverdriver.Executor
	driver *fairDriver
}

// JobGetAvailable takes due jobs of a queue.
func (e fairExecutor) JobGetAvailable(ctx context.Context,
	p *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	taken, undecoded, err := e.driver.turns(p.Queue).take(ctx, e.driver.db,
		store.Taking{Queue: p.Queue, By: p.ClientID, Room: p.MaxToLock})
	return &riverdriver.JobGetAvailableResult{Jobs: taken, DecodeErrors: undecoded}, err
}

func (d *fairDriver) turns(queue string) *turns {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.queues[queue] == nil {
		d.queues[queue] = newTurns()
	}
	return d.queues[queue]
}

// turns is how far a process has come in giving the users of a queue their turns.
type turns struct {
	mu    sync.Mutex
	given int   // room so far
	after int64 // where the turn of users continues
}

// newTurns begins anywhere, so that several workers do not take turns in step.
func newTurns() *turns { return &turns{after: math.MinInt32 + rand.Int64N(math.MaxUint32)} }

// take takes jobs. Each part of the room gets its share over time, even if there is room for one job at a time.
// undecoded has the errors of jobs that cannot be decoded.
func (t *turns) take(ctx context.Context, db store.DB, taking store.Taking) (
	rows []*rivertype.JobRow, undecoded map[int64]error, err error,
) {
	t.mu.Lock()
	taking.Oldest, taking.Newest = shares(t.given, taking.Room)
	t.given, taking.After = t.given+taking.Room, t.after
	t.mu.Unlock()
	taken, err := store.TakeJobs(ctx, db, taking)
	if err != nil || len(taken) == 0 {
		return nil, nil, err
	}
	t.mu.Lock()
	t.after = taken[0].After
	t.mu.Unlock()
	rows = make([]*rivertype.JobRow, len(taken))
	for i, job := range taken {
		attemptedAt := job.AttemptedAt.UTC()
		rows[i] = &rivertype.JobRow{ID: job.ID, Kind: job.Kind, Queue: job.Queue, Priority: job.Priority,
			State: rivertype.JobStateRunning, EncodedArgs: job.Args, Metadata: job.Metadata, Tags: job.Tags,
			UniqueKey: job.UniqueKey, Attempt: job.Attempt, MaxAttempts: job.MaxAttempts, AttemptedAt: &attemptedAt,
			AttemptedBy: job.AttemptedBy, CreatedAt: job.CreatedAt.UTC(), ScheduledAt: job.ScheduledAt.UTC(),
			Errors: make([]rivertype.AttemptError, len(job.Errors))}
		for j, text := range job.Errors {
			if err := riverdriver.UnmarshalAttemptError(text, &rows[i].Errors[j]); err != nil {
				if undecoded == nil {
					undecoded = map[int64]error{}
				}
				undecoded[job.ID] = err
			}
		}
	}
	return rows, undecoded, nil
}

// shares returns which parts of the next room are for the oldest and for the newest jobs: a fifth and two fifths of all
// room given over time. The rest is for users in turn.
func shares(given, room int) (oldest, newest int) {
	for i := given; i < given+room; i++ {
		switch i % 5 {
		case 1, 3:
			newest++
		case 4:
			oldest++
		}
	}
	return oldest, newest
}
