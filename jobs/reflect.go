package jobs

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/store"
)

// ReflectArgs name the user to reflect on, and why.
type ReflectArgs struct {
	UserID       string  `json:"user_id" river:"unique"`
	TriggerType  string  `json:"trigger_type,omitempty"` // as in store.Trigger; empty: manual
	TriggerValue float64 `json:"trigger_value,omitempty"`
}

// Kind is "reflect".
func (ReflectArgs) Kind() string { return "reflect" }

// InsertOpts allows one live reflection a user.
func (ReflectArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueReflect, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live()}}
}

func reflectOn(userID string, t store.Trigger) ReflectArgs {
	return ReflectArgs{UserID: userID, TriggerType: t.Type, TriggerValue: t.Value}
}

func (a ReflectArgs) trigger() store.Trigger {
	return store.Trigger{Type: cmp.Or(a.TriggerType, "manual"), Value: a.TriggerValue}
}

// reflectBatch is how many memories one reflection takes up.
const reflectBatch = 200

// reflectWorker works a user's inbox off.
type reflectWorker struct {
	river.WorkerDefaults[ReflectArgs]
	db  store.DB
	now func() time.Time
}

// Work reflects on one batch. It draws no conclusions yet: it records that the batch was looked at.
func (w *reflectWorker) Work(ctx context.Context, job *river.Job[ReflectArgs]) error {
	begun := w.now()
	batch, err := store.InboxBatch(ctx, w.db, job.Args.UserID, reflectBatch)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		return w.finish(ctx, tx, job, batch, begun)
	})
}

// finish takes the batch out of the inbox and sees to the rest of it. The job is completed first: the successor is
// another job of the same user, which must not exist while this one is live; and what came into the inbox up to then is
// seen (see checkTriggerWorker).
func (w *reflectWorker) finish(ctx context.Context, tx pgx.Tx, job *river.Job[ReflectArgs], batch []store.Unreflected, begun time.Time) error {
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	user := job.Args.UserID
	if out, err := store.OptedOut(ctx, tx, user); err != nil {
		return err
	} else if out {
		return store.EmptyInbox(ctx, tx, user)
	}
	removed, err := store.RemoveFromInbox(ctx, tx, user, batch)
	if err != nil {
		return err
	}
	if removed > 0 {
		cycle := store.Cycle{UserID: user, Trigger: job.Args.trigger(), Scanned: removed, StartedAt: begun}
		if err := store.RecordCycle(ctx, tx, cycle); err != nil {
			return err
		}
	}
	more, err := store.InboxHasMore(ctx, tx, user)
	if err != nil || !more {
		return err
	}
	return enqueue(ctx, tx, job.Args)
}
