package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/store"
)

// VectorIndexArgs are empty: the job is about everybody.
type VectorIndexArgs struct{}

// Kind is "vector_index".
func (VectorIndexArgs) Kind() string { return "vector_index" }

// InsertOpts are those of the kind.
func (a VectorIndexArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "keeps the indexes of vectors of the largest users",
	Every: time.Minute,
	// This leaves time for the step that is under way.
	Timeout: func(Config) time.Duration { return vectorIndexTime + time.Minute },
}, func(c Config) river.Worker[VectorIndexArgs] {
	return &vectorIndexWorker{db: c.DB, log: c.Logger}
})

// What one run does at most; the next one goes on.
const (
	vectorIndexTime = 4 * time.Minute
	vectorIndexNote = 30 * time.Second // how often it is said how far it is
	vectorIndexWalk = 1000             // ids in one transaction
	vectorIndexRows = 64               // vectors moved into an index in one transaction: each takes milliseconds
	vectorIndexEnd  = 1000             // copies deleted in one transaction
)

// vectorIndexWorker keeps the indexes of those whose vectors take too long to scan.
type vectorIndexWorker struct {
	river.WorkerDefaults[VectorIndexArgs]
	db  store.DB
	log *slog.Logger
}

// Work decides who has an index, then frees what is not wanted and fills what is, in short transactions.
func (w *vectorIndexWorker) Work(ctx context.Context, _ *river.Job[VectorIndexArgs]) error {
	begun, ended, err := store.AssignSlots(ctx, w.db)
	if err != nil {
		return err
	}
	if begun+ended > 0 {
		w.log.InfoContext(ctx, "decided whose vectors have an index", "begun", begun, "ended", ended)
	}
	until := time.Now().Add(vectorIndexTime)
	for _, step := range []struct {
		did   string
		limit int
		do    func(context.Context, store.DB, int) (int, error)
	}{
		{"removed vectors from an index that is not wanted", vectorIndexEnd, store.EndSlots},
		{"looked through vectors to index", vectorIndexWalk, store.WalkVectors},
		{"indexed vectors", vectorIndexRows, store.IndexVectors},
	} {
		if err := w.repeat(ctx, until, step.did, step.limit, step.do); err != nil {
			return err
		}
	}
	return nil
}

func (w *vectorIndexWorker) repeat(ctx context.Context, until time.Time, did string, limit int, do func(context.Context, store.DB, int) (int, error)) error {
	number, note := 0, time.Now().Add(vectorIndexNote)
	defer func() {
		if number > 0 {
			w.log.InfoContext(ctx, did, "number", number)
		}
	}()
	for time.Now().Before(until) {
		n, err := do(ctx, w.db, limit)
		number += n
		if ctx.Err() != nil { // the worker stops; the next run goes on
			return nil
		}
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(note) {
			w.log.InfoContext(ctx, did, "number", number, "still", true)
			note = time.Now().Add(vectorIndexNote)
		}
	}
	return nil
}
