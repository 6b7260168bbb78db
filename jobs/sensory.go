package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// SensoryArgs are the arguments of the job. They are empty because the job covers all users.
type SensoryArgs struct{}

// Kind returns "sensory".
func (SensoryArgs) Kind() string { return "sensory" }

// InsertOpts returns the insert options of the kind.
func (a SensoryArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "manages the sensory stream's daily partitions, records recurring texts",
	Every: time.Minute,
}, func(c Config) worker[SensoryArgs] { return &sensoryWorker{c} })

// Limits of one run. The next run continues.
const (
	sensoryBatch = 2000             // rows or candidates per transaction
	sensoryTime  = 15 * time.Second // time limit for counting
)

// sensoryWorker maintains the partitions of the sensory stream and counts its frequent texts.
type sensoryWorker struct{ Config }

// Work maintains the daily partitions first, because they make an INSERT cheaper, and then counts
// new rows.
func (w *sensoryWorker) Work(ctx context.Context, _ *river.Job[SensoryArgs]) error {
	days, failed := store.KeepSensoryDays(ctx, w.DB)
	switch {
	case days.Dropped > 0 || days.Deleted > 0 || days.Moved > 0:
		w.Logger.InfoContext(ctx, "maintained the partitions of the sensory stream", "made", days.Made, "moved",
			days.Moved, "dropped", days.Dropped, "deleted", days.Deleted, "put_off", days.PutOff)
	case days.PutOff > 0:
		w.Logger.InfoContext(ctx, "postponed changes to the partitions of the sensory stream, because they are locked",
			"number", days.PutOff)
	}
	until := time.Now().Add(sensoryTime)
	for _, step := range []func(context.Context, store.DB, int) (int, error){store.CountSensory,
		store.AgeSensoryCandidates} {
		for time.Now().Before(until) {
			n, err := step(ctx, w.DB, sensoryBatch)
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
