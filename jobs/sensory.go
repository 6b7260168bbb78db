package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// SensoryArgs are empty: the job is about everybody.
type SensoryArgs struct{}

// Kind is "sensory".
func (SensoryArgs) Kind() string { return "sensory" }

// InsertOpts are those of the kind.
func (a SensoryArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "keeps the days of the sensory stream, notes what comes often",
	Every: time.Minute,
}, func(c Config) river.Worker[SensoryArgs] {
	return &sensoryWorker{db: c.DB, log: c.Logger}
})

// What one run does at most; the next one goes on.
const (
	sensoryBatch = 2000             // rows, or candidates, in one transaction
	sensoryTime  = 15 * time.Second // for counting
)

// sensoryWorker keeps the sensory stream: its partitions, and what is frequent in it.
type sensoryWorker struct {
	river.WorkerDefaults[SensoryArgs]
	db  store.DB
	log *slog.Logger
}

// Work keeps the days first, because an INSERT is cheaper with them, then counts what came since the last run.
func (w *sensoryWorker) Work(ctx context.Context, _ *river.Job[SensoryArgs]) error {
	days, failed := store.KeepSensoryDays(ctx, w.db)
	switch {
	case days.Dropped > 0 || days.Deleted > 0 || days.Moved > 0:
		w.log.InfoContext(ctx, "kept the days of the sensory stream", "made", days.Made, "moved", days.Moved,
			"dropped", days.Dropped, "deleted", days.Deleted, "put_off", days.PutOff)
	case days.PutOff > 0:
		w.log.InfoContext(ctx, "days of the sensory stream have to wait for a lock", "number", days.PutOff)
	}
	until := time.Now().Add(sensoryTime)
	for _, step := range []func(context.Context, store.DB, int) (int, error){store.CountSensory, store.AgeSensoryCandidates} {
		for time.Now().Before(until) {
			n, err := step(ctx, w.db, sensoryBatch)
			failpoint.Reach(failpoint.SensoryBatch)
			if err != nil {
				failed = errors.Join(failed, err)
			}
			if err != nil || n < sensoryBatch {
				break
			}
		}
	}
	return failed
}
