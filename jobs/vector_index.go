package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/store"
)

// VectorIndexArgs are the arguments of the job. They are empty because the job covers all users.
type VectorIndexArgs struct{}

// Kind returns "vector_index".
func (VectorIndexArgs) Kind() string { return "vector_index" }

// InsertOpts returns the insert options of the kind.
func (a VectorIndexArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "maintains the vector indexes of the largest users",
	Every: time.Minute,
	// The margin lets the current step finish.
	Timeout: func(Config) time.Duration { return vectorIndexTime + time.Minute },
}, func(c Config) worker[VectorIndexArgs] { return &vectorIndexWorker{c} })

// Limits of one run. The next run continues.
const (
	vectorIndexTime = 4 * time.Minute
	vectorIndexNote = 30 * time.Second // interval of progress messages
	vectorIndexWalk = 1000             // ids per transaction
	vectorIndexRows = 64               // vectors indexed per transaction; each takes milliseconds
	vectorIndexEnd  = 1000             // copies deleted per transaction
)

// vectorIndexWorker maintains the vector indexes of users with too many vectors to scan.
type vectorIndexWorker struct{ Config }

// Work decides which users have an index, then empties unwanted indexes and fills wanted ones, in
// short transactions.
func (w *vectorIndexWorker) Work(ctx context.Context, _ *river.Job[VectorIndexArgs]) error {
	begun, ended, err := store.AssignSlots(ctx, w.DB)
	if err != nil {
		return err
	}
	if begun+ended > 0 {
		w.Logger.InfoContext(ctx, "assigned vector indexes", "begun", begun, "ended", ended)
	}
	until := time.Now().Add(vectorIndexTime)
	for _, step := range []struct {
		did   string
		limit int
		do    func(context.Context, store.DB, int) (int, error)
	}{
		{"removed vectors from unwanted indexes", vectorIndexEnd, store.EndSlots},
		{"checked vectors to index", vectorIndexWalk, store.WalkVectors},
		{"indexed vectors", vectorIndexRows, store.IndexVectors},
	} {
		if err := w.repeat(ctx, until, step.did, step.limit, step.do); err != nil {
			return err
		}
	}
	return nil
}

func (w *vectorIndexWorker) repeat(ctx context.Context, until time.Time, did string, limit int,
	do func(context.Context, store.DB, int) (int, error)) error {
	number, note := 0, time.Now().Add(vectorIndexNote)
	defer func() {
		if number > 0 {
			w.Logger.InfoContext(ctx, did, "number", number)
		}
	}()
	for time.Now().Before(until) {
		n, err := do(ctx, w.DB, limit)
		number += n
		if ctx.Err() != nil { // the worker is stopping; the next run continues
			return nil
		}
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(note) {
			w.Logger.InfoContext(ctx, did, "number", number, "still", true)
			note = time.Now().Add(vectorIndexNote)
		}
	}
	return nil
}
