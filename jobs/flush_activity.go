package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// FlushActivityArgs are the arguments of the job. They are empty because the job covers all users.
type FlushActivityArgs struct{}

// Kind returns "flush_activity".
func (FlushActivityArgs) Kind() string { return "flush_activity" }

// InsertOpts returns the insert options of the kind.
func (a FlushActivityArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "adds reported uses to their memories",
	Every:     5 * time.Minute,
	Retention: busyRetention,
	Timeout:   func(Config) time.Duration { return 4 * time.Minute }, // for all that were reported since the last run
}, func(c Config) worker[FlushActivityArgs] { return &flushActivityWorker{c} })

// activityBatch is the maximum number of reports that one transaction adds up.
const activityBatch = 200

// flushActivityWorker adds uses reported by oxbow.touch to their memories.
type flushActivityWorker struct{ Config }

// Work adds up batches until one is not full. Each batch is a transaction that deletes the
// reports it counts.
func (w *flushActivityWorker) Work(ctx context.Context, _ *river.Job[FlushActivityArgs]) error {
	for {
		// An extraction locks several memories too, in a different order.
		var taken int
		var events store.WeightEvents
		err := retried(deadlockTries, store.IsDeadlock, func() (err error) {
			return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) (err error) {
				if taken, err = store.FoldActivity(ctx, tx, activityBatch); err == nil && taken > 0 {
					events, err = store.CountWeightEvents(ctx, tx)
				}
				return err
			})
		})
		failpoint.Reach(failpoint.FlushBatch)
		if err == nil {
			w.Observer.Weighed(events)
		}
		if err != nil || taken < activityBatch {
			return err
		}
	}
}
