package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
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
	Does: "applies decay to traits and to what is kept of memories, " +
		"ends trends and expired memories, finds facts to review, trims the log of weights",
	Every: 5 * time.Minute,
}, func(c Config) worker[SettleArgs] { return &settleWorker{c} })

// Limits of one run. The rest is due at the next run.
const (
	settleTraits   = 1000 // per transaction
	settleMemories = 1000 // per transaction
	settleWalk     = 2000 // memories per transaction
	settleFacts    = 2000 // looked at for reviews
	settleLog      = 5000 // per transaction
	settleBatches  = 100
)

// settleWorker applies the effects of time: traits that decayed into another stage or became too
// weak, trends whose window ended without expire_trend dissolving them, expired memories, levels of memories, reviews,
// and old rows of the log of weights.
type settleWorker struct{ Config }

// Work settles in batches, one transaction each, until a batch is not full.
func (w *settleWorker) Work(ctx context.Context, _ *river.Job[SettleArgs]) error {
	return errors.Join(w.settleTraits(ctx), w.expireMemories(ctx), w.settleLevels(ctx), w.walkReviews(ctx),
		w.trimWeightLog(ctx), w.trimAPI(ctx))
}

func (w *settleWorker) settleTraits(ctx context.Context) error {
	if err := w.followPolicies(ctx); err != nil {
		return err
	}
	var sum store.Settled
	defer func() {
		if sum.Settled > 0 {
			w.Logger.InfoContext(ctx, "settled traits", "number", sum.Settled, "dissolved", sum.Dissolved)
		}
	}()
	for range settleBatches {
		n, err := store.SettleTraits(ctx, w.DB, w.Now(), settleTraits)
		sum.Settled, sum.Dissolved = sum.Settled+n.Settled, sum.Dissolved+n.Dissolved
		failpoint.Reach(failpoint.SettleBatch)
		if err != nil || n.Settled < settleTraits {
			return err
		}
	}
	return nil
}

// followPolicies recomputes when traits change stage after a policy change.
func (w *settleWorker) followPolicies(ctx context.Context) error {
	for range settleBatches {
		if n, err := store.FollowPolicies(ctx, w.DB, settleTraits); err != nil || n < settleTraits {
			return err
		}
	}
	return nil
}

// expireMemories uses the machine's clock, like the transaction times that it writes.
func (w *settleWorker) expireMemories(ctx context.Context) error {
	var sum store.Expired
	defer func() {
		if sum.Expired+sum.Promoted > 0 {
			w.Logger.InfoContext(ctx, "ended expired memories", "number", sum.Expired, "kept", sum.Promoted)
		}
	}()
	for range settleBatches {
		n, err := store.ExpireMemories(ctx, w.DB, time.Now(), settleMemories)
		sum.Expired, sum.Promoted = sum.Expired+n.Expired, sum.Promoted+n.Promoted
		if err != nil || n.Expired+n.Promoted < settleMemories {
			return err
		}
	}
	return nil
}

// settleLevels first looks for memories that became old enough for another level.
func (w *settleWorker) settleLevels(ctx context.Context) error {
	for range settleBatches {
		n, err := store.WalkLevels(ctx, w.DB, w.Now(), settleWalk)
		failpoint.Reach(failpoint.SettleWalked)
		if err != nil {
			return err
		}
		if n < settleWalk {
			break
		}
	}
	var sum store.SettledLevels
	defer func() {
		if sum.Compressed+sum.Raised+sum.Forgotten > 0 {
			w.Logger.InfoContext(ctx, "settled levels of memories", "compressed", sum.Compressed, "raised", sum.Raised,
				"forgotten", sum.Forgotten)
			w.Observer.Weighed(store.WeightEvents{Compressed: int(sum.Compressed), Raised: int(sum.Raised)})
		}
	}()
	for range settleBatches {
		n, err := store.SettleLevels(ctx, w.DB, w.Now(), settleMemories)
		sum.Compressed, sum.Raised, sum.Forgotten = sum.Compressed+n.Compressed, sum.Raised+n.Raised, sum.Forgotten+n.Forgotten
		failpoint.Reach(failpoint.SettleLeveled)
		if err != nil || n.Settled < settleMemories {
			return err
		}
	}
	return nil
}

// walkReviews schedules the reviews of the next facts. One run looks at a limited number, so its time does not grow
// with the number of facts.
func (w *settleWorker) walkReviews(ctx context.Context) error {
	return pastDeadlocks(ctx, w.DB, func(tx pgx.Tx) error {
		_, err := store.WalkReviews(ctx, tx, time.Now(), settleFacts)
		return err
	})
}

func (w *settleWorker) trimWeightLog(ctx context.Context) error {
	for range settleBatches {
		if n, err := store.TrimWeightLog(ctx, w.DB, time.Now(), settleLog); err != nil || n < settleLog {
			return err
		}
	}
	return nil
}

func (w *settleWorker) trimAPI(ctx context.Context) error {
	for range settleBatches {
		if n, err := store.TrimAPI(ctx, w.DB, time.Now(), settleLog); err != nil || n < settleLog {
			return err
		}
	}
	return nil
}
