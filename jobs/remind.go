package jobs

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/recurrence"
	"github.com/oxbow-memory/oxbow/store"
)

// RemindArgs are the arguments of the job. They are empty because the job covers all users.
type RemindArgs struct{}

// Kind returns "remind".
func (RemindArgs) Kind() string { return "remind" }

// InsertOpts returns the insert options of the kind.
func (a RemindArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "makes intentions due whose time has come, and announces them",
	Every:     10 * time.Second,
	Retention: busyRetention,
}, func(c Config) worker[RemindArgs] { return &remindWorker{c} })

// remindBatch is the maximum number of intentions that one transaction makes due.
const remindBatch = 200

type remindWorker struct{ Config }

// Work makes intentions due in batches until one is not full. Each batch is a transaction that also sets the next time of
// recurring ones and enqueues the deliveries to webhooks.
func (w *remindWorker) Work(ctx context.Context, _ *river.Job[RemindArgs]) error {
	for {
		var due []store.DueIntention
		err := pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) (err error) {
			if due, err = store.DueIntentions(ctx, tx, w.Now(), remindBatch); err != nil {
				return err
			}
			hooks, err := store.LiveWebhooks(ctx, tx)
			if err != nil {
				return err
			}
			for _, d := range due {
				if err := w.announce(ctx, tx, d, hooks); err != nil {
					return err
				}
			}
			failpoint.Reach(failpoint.RemindWritten)
			return nil
		})
		failpoint.Reach(failpoint.RemindBatch)
		if err != nil || len(due) < remindBatch {
			return err
		}
	}
}

func (w *remindWorker) announce(ctx context.Context, tx pgx.Tx, d store.DueIntention,
	hooks []uuid.UUID) error {
	if d.Recurrence != "" {
		if err := store.AdvanceIntention(ctx, tx, d.UserID, d.ID, w.next(ctx, d)); err != nil {
			return err
		}
	}
	if d.DueID == uuid.Nil {
		return nil
	}
	for _, hook := range hooks {
		if err := enqueue(ctx, tx, NotifyArgs{UserID: d.UserID, Intention: d.DueID, Webhook: hook}); err != nil {
			return err
		}
	}
	return nil
}

// next returns when a recurring intention is due after now, by the clock of its user; the zero time if it does not recur
// any more.
func (w *remindWorker) next(ctx context.Context, d store.DueIntention) time.Time {
	zone, err := time.LoadLocation(d.UserZone)
	if err != nil {
		zone = time.UTC
	}
	after := d.DueAt
	if now := w.Now(); now.After(after) {
		after = now
	}
	next, err := recurrence.Next(d.Recurrence, d.StartsAt.In(zone), after)
	if err != nil {
		w.Logger.WarnContext(ctx, "an intention does not recur: its rule is invalid", "user_id", d.UserID, "id", d.ID,
			"rule", d.Recurrence, "error", err)
	}
	return next
}
