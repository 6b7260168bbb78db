package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/store"
)

// CheckTriggerArgs name the user whose inbox changed.
type CheckTriggerArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind is "check_trigger".
func (CheckTriggerArgs) Kind() string { return "check_trigger" }

// InsertOpts lets the checks of a burst of memories fold into one.
func (CheckTriggerArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: QueueDefault, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live()}}
}

// checkTriggerWorker asks whether a user's inbox is to be reflected on.
type checkTriggerWorker struct {
	river.WorkerDefaults[CheckTriggerArgs]
	db store.DB
}

// Work goes by the machine's clock, also where reflection's is set: it is about when memories came in. It completes its job first and looks into the inbox then. In this order nothing is missed: an embed that changes the
// inbox either finds this job live and, by finding it, holds its row until it has committed, which the completion waits
// for; or it finds it completed and enqueues the next.
func (w *checkTriggerWorker) Work(ctx context.Context, job *river.Job[CheckTriggerArgs]) error {
	return pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		trigger, err := store.ReflectionTrigger(ctx, tx, job.Args.UserID, time.Now())
		if err != nil || !trigger.Due() {
			return err
		}
		failpoint.Reach(failpoint.TriggerAsked)
		return enqueue(ctx, tx, reflectOn(job.Args.UserID, trigger))
	})
}
