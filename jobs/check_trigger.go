package jobs

import (
	"cmp"
	"context"
	"errors"
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

// InsertOpts are those of the kind.
func (a CheckTriggerArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:   "asks whether the inbox of a user is due for reflection",
	Unique: true,
}, func(c Config) river.Worker[CheckTriggerArgs] {
	return &checkTriggerWorker{db: c.DB, together: &coalescer[CheckTriggerArgs]{c.DB, c.Logger, c.observer(), "1", checkedUsers}}
})

func (a CheckTriggerArgs) valid() error {
	if a.UserID == "" {
		return errors.New("the arguments name no user")
	}
	return nil
}

// checkedUsers is how many users one transaction asks about.
const checkedUsers = 128

// checkTriggerWorker asks whether users' inboxes are to be reflected on.
type checkTriggerWorker struct {
	river.WorkerDefaults[CheckTriggerArgs]
	db       store.DB
	together *coalescer[CheckTriggerArgs]
}

// Work asks about a user, and about others whose jobs wait.
func (w *checkTriggerWorker) Work(ctx context.Context, job *river.Job[CheckTriggerArgs]) error {
	return w.together.work(ctx, job, 1, w.check)
}

// check goes by the machine's clock, also where reflection's is set: it is about when memories came
// in. It completes the jobs first and looks into the inboxes then. In this order nothing is missed:
// an embed that changes an inbox either finds the job live and, by finding it, holds its row until
// it has committed, which the completion waits for; or it finds it completed and enqueues the next.
// While memories wait to be embedded the jobs give way, so that those that come in for a user
// meanwhile cost one check.
func (w *checkTriggerWorker) check(ctx context.Context, b *batch[CheckTriggerArgs]) error {
	if busy, err := givesWay(ctx, w.db, b.jobs[0].row); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	var completed map[int64]bool
	_, err := pastDeadlocks(func() (int, error) {
		return 0, pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) (err error) {
			if completed, err = completeAll(ctx, tx, b.ids()); err != nil {
				return err
			}
			var users []string
			metadata := map[string][]byte{}
			for _, job := range b.jobs {
				if completed[job.row.ID] {
					users = append(users, job.args.UserID)
					metadata[job.args.UserID] = job.metadata
				}
			}
			due, err := store.ReflectionTriggers(ctx, tx, users, time.Now())
			if err != nil || len(due) == 0 {
				return err
			}
			failpoint.Reach(failpoint.TriggerAsked)
			reflections := make([]river.InsertManyParams, len(due))
			for i, d := range due {
				reflections[i] = river.InsertManyParams{
					Args: reflectOn(d.UserID, d.Trigger), InsertOpts: &river.InsertOpts{Metadata: metadata[d.UserID]}}
			}
			_, err = river.ClientFromContext[pgx.Tx](ctx).InsertManyTx(ctx, tx, reflections)
			return err
		})
	})
	if err != nil {
		return err
	}
	b.endErased(completed)
	b.end(b.jobs, nil)
	return nil
}
