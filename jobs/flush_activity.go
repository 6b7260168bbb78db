package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// FlushActivityArgs are empty: the job is about everybody.
type FlushActivityArgs struct{}

// Kind is "flush_activity".
func (FlushActivityArgs) Kind() string { return "flush_activity" }

// InsertOpts are those of the kind.
func (a FlushActivityArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "adds reported uses to their memories",
	Every: 10 * time.Second,
}, func(c Config) river.Worker[FlushActivityArgs] {
	return &flushActivityWorker{db: c.DB}
})

// activityBatch is how many uses one transaction adds up.
const activityBatch = 1000

// flushActivityWorker adds the uses that oxbow.touch reported to their memories.
type flushActivityWorker struct {
	river.WorkerDefaults[FlushActivityArgs]
	db store.DB
}

// Work goes on until a batch is not full. Each batch is a transaction that deletes what it counts.
func (w *flushActivityWorker) Work(ctx context.Context, _ *river.Job[FlushActivityArgs]) error {
	for {
		// an extraction locks several memories too, in an order of its own
		taken, err := pastDeadlocks(func() (int, error) { return store.FoldActivity(ctx, w.db, activityBatch) })
		failpoint.Reach(failpoint.FlushBatch)
		if err != nil || taken < activityBatch {
			return err
		}
	}
}
