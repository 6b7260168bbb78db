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

// CheckTriggerArgs identifies a user whose inbox changed.
type CheckTriggerArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind returns "check_trigger".
func (CheckTriggerArgs) Kind() string { return "check_trigger" }

// InsertOpts returns the insert options of the kind.
func (a CheckTriggerArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:      "checks whether a user's inbox is due for reflection, and enqueues merge for what is new in it",
	Unique:    true,
	Retention: busyRetention,
}, func(c Config) worker[CheckTriggerArgs] {
	return &checkTriggerWorker{c, newCoalescer[CheckTriggerArgs](c, checkedUsers)}
})

func (a CheckTriggerArgs) valid() error {
	if a.UserID == "" {
		return errors.New("the arguments have no user_id")
	}
	return nil
}

// checkedUsers is how many users one transaction checks.
const checkedUsers = 128

// checkTriggerWorker decides whether users' inboxes are due for reflection.
type checkTriggerWorker struct {
	Config
	together *coalescer[CheckTriggerArgs]
}

// Work checks a user, together with the users of other waiting jobs.
func (w *checkTriggerWorker) Work(ctx context.Context, job *river.Job[CheckTriggerArgs]) error {
	return w.together.work(ctx, job, 1, w.check)
}

// check uses the machine's clock even if reflection has another one, because it is about when
// memories were stored.
//
// It completes the jobs before it reads the inboxes, so that no change is missed. An embed job
// that changes an inbox either finds the check_trigger job live and locks its row until it
// commits, and the completion waits for that lock; or it finds the job completed and enqueues
// another.
//
// The jobs give way for a while if memories wait to be embedded, so that all memories that arrive
// for a user meanwhile cost one check.
func (w *checkTriggerWorker) check(ctx context.Context, b *batch[CheckTriggerArgs]) error {
	if busy, err := givesWay(ctx, w.DB, b.jobs[0].row, ""); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	var completed map[int64]bool
	err := w.together.inTx(ctx, b, func(tx pgx.Tx) (err error) {
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
		if err != nil {
			return err
		}
		if len(due) > 0 {
			failpoint.Reach(failpoint.TriggerAsked)
		}
		var reflections, following []river.InsertManyParams
		for _, d := range due {
			reflections = append(reflections, river.InsertManyParams{
				Args: reflectOn(d.UserID, d.Trigger), InsertOpts: &river.InsertOpts{Metadata: metadata[d.UserID]}})
		}
		// This waits for a reflection that is being written and deletes from the inbox, so it must come before the
		// locks on rows of the inbox.
		if _, err := enqueueMany(ctx, tx, reflections); err != nil {
			return err
		}
		fresh, err := store.NewToMerge(ctx, tx, users)
		if err != nil {
			return err
		}
		for _, args := range merges(fresh) {
			following = append(following, river.InsertManyParams{
				Args: args, InsertOpts: &river.InsertOpts{Metadata: metadata[args.UserID]}})
		}
		_, err = enqueueMany(ctx, tx, following)
		return err
	})
	if err != nil {
		return err
	}
	b.endErased(completed)
	b.end(b.jobs, nil)
	return nil
}
