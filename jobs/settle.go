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

// SettleArgs are the arguments of the job. They are empty because the job covers all users.
type SettleArgs struct{}

// Kind returns "settle".
func (SettleArgs) Kind() string { return "settle" }

// InsertOpts returns the insert options of the kind.
func (a SettleArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "applies decay to traits, ends trends and expired summaries",
	Every: 5 * time.Minute,
}, func(c Config) river.Worker[SettleArgs] {
	return &settleWorker{db: c.DB, now: c.Now, log: c.Logger}
})

// Limits of one run. The rest is due at the next run.
const (
	settleTraits   = 1000 // per transaction
	settleMemories = 1000 // per transaction
	settleBatches  = 100
)

// settleWorker applies the effects of time: traits that decayed into another stage or became too
// weak, trends whose window ended without expire_trend dissolving them, and expired summaries.
type settleWorker struct {
	river.WorkerDefaults[SettleArgs]
	db  store.DB
	now func() time.Time
	log *slog.Logger
}

// Work settles in batches, one transaction each, until a batch is not full.
func (w *settleWorker) Work(ctx context.Context, _ *river.Job[SettleArgs]) error {
	return errors.Join(w.settleTraits(ctx), w.expireMemories(ctx))
}

func (w *settleWorker) settleTraits(ctx context.Context) error {
	var settled, dissolved int64
	defer func() {
		if settled > 0 {
			w.log.InfoContext(ctx, "settled traits", "number", settled, "dissolved", dissolved)
		}
	}()
	if err := w.followPolicies(ctx); err != nil {
		return err
	}
	for range settleBatches {
		n, gone, err := store.SettleTraits(ctx, w.db, w.now(), settleTraits)
		settled, dissolved = settled+n, dissolved+gone
		failpoint.Reach(failpoint.SettleBatch)
		if err != nil || n < settleTraits {
			return err
		}
	}
	return nil
}

// followPolicies recomputes when traits change stage after a policy change.
func (w *settleWorker) followPolicies(ctx context.Context) error {
	for range settleBatches {
		if n, err := store.FollowPolicies(ctx, w.db, settleTraits); err != nil || n < settleTraits {
			return err
		}
	}
	return nil
}

// expireMemories uses the machine's clock, like the transaction times that it writes.
func (w *settleWorker) expireMemories(ctx context.Context) error {
	var ended, kept int64
	defer func() {
		if ended+kept > 0 {
			w.log.InfoContext(ctx, "ended expired summaries", "number", ended, "kept", kept)
		}
	}()
	for range settleBatches {
		expired, promoted, err := store.ExpireMemories(ctx, w.db, time.Now(), settleMemories)
		ended, kept = ended+expired, kept+promoted
		if err != nil || expired+promoted < settleMemories {
			return err
		}
	}
	return nil
}
