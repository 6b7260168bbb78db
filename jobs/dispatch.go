package jobs

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/feedback"
	"github.com/oxbow-memory/oxbow/store"
)

// DispatchArgs are the arguments of the job. They are empty because the job covers all users.
type DispatchArgs struct{}

// Kind returns "dispatch".
func (DispatchArgs) Kind() string { return "dispatch" }

// InsertOpts returns the insert options of the kind.
func (a DispatchArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "adjusts memories and skills about which several signals agree, and undoes adjustments that expired",
	Every:     10 * time.Second,
	Retention: busyRetention,
}, func(c Config) worker[DispatchArgs] { return &dispatchWorker{c} })

// dispatchBatch is the maximum number of signals that one transaction counts.
const dispatchBatch = 200

type dispatchWorker struct{ Config }

// Work counts signals in batches until one is not full. Each batch is a transaction that marks the signals that it
// counts.
func (w *dispatchWorker) Work(ctx context.Context, _ *river.Job[DispatchArgs]) error {
	policies, err := store.FeedbackPolicies(ctx, w.DB)
	if err != nil {
		return err
	}
	for {
		var taken int
		err := retried(deadlockTries, store.IsDeadlock, func() error {
			return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) (err error) {
				taken, err = w.dispatch(ctx, tx, policies)
				return err
			})
		})
		failpoint.Reach(failpoint.DispatchBatch)
		if err != nil {
			return err
		}
		if taken < dispatchBatch {
			break
		}
	}
	if _, err := store.ProposeFromFeedback(ctx, w.DB, w.Now()); err != nil {
		return err
	}
	for {
		n, err := store.ExpireFeedback(ctx, w.DB, w.Now(), dispatchBatch)
		if err != nil || n < dispatchBatch {
			return err
		}
	}
}

// dispatch counts the signals of one batch and returns their number.
func (w *dispatchWorker) dispatch(ctx context.Context, tx pgx.Tx, policies *feedback.Policies) (int, error) {
	now := w.Now()
	judged, err := store.WaitingSignals(ctx, tx, now, dispatchBatch)
	if err != nil {
		return 0, err
	}
	counted := map[uuid.UUID]bool{}
	for _, j := range judged {
		if j.MemoryID != uuid.Nil {
			d := feedback.Decide(feedback.Subject{Trait: j.MemoryType == "trait", Signals: j.Signals, Adjustment: j.Adjustment},
				policies)
			if len(d.Signals) > 0 {
				if _, err := store.Adjust(ctx, tx, j, d, now); err != nil {
					return 0, err
				}
			}
		}
		if err := store.SignalsCounted(ctx, tx, j.UserID, j.Taken); err != nil {
			return 0, err
		}
		for _, id := range j.Taken {
			counted[id] = true
		}
	}
	failpoint.Reach(failpoint.DispatchWritten)
	return len(counted), nil
}
