package jobs

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/store"
)

// ReflectArgs identifies the user to reflect on and the trigger.
type ReflectArgs struct {
	UserID       string  `json:"user_id" river:"unique"`
	TriggerType  string  `json:"trigger_type,omitempty"` // see store.Trigger; empty: manual
	TriggerValue float64 `json:"trigger_value,omitempty"`
}

// Kind returns "reflect".
func (ReflectArgs) Kind() string { return "reflect" }

// InsertOpts returns the insert options of the kind.
func (a ReflectArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "infers traits from a user's inbox",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) worker[ReflectArgs] { return &reflectWorker{c.Reflection()} })

func reflectOn(userID string, t store.Trigger) ReflectArgs {
	return ReflectArgs{UserID: userID, TriggerType: t.Type, TriggerValue: t.Value}
}

func (a ReflectArgs) trigger() store.Trigger {
	return store.Trigger{Type: cmp.Or(a.TriggerType, "manual"), Value: a.TriggerValue}
}

// maxInvalidAnswers is the maximum number of unusable answers from a reasoner. Each one halves the
// batch, so that the memory that causes them ends up alone and is skipped. Other failures and
// killed workers do not change the batch, so conclusions do not depend on them.
const maxInvalidAnswers = 9

// invalidAnswers counts the attempts of a job that ended with an unusable answer.
func invalidAnswers(job *rivertype.JobRow) (n int) {
	for _, e := range job.Errors {
		if strings.Contains(e.Error, reasoner.AnswerErrorText) {
			n++
		}
	}
	return n
}

// reflectWorker processes a user's inbox.
type reflectWorker struct{ *Reflection }

// Work reflects on one batch.
func (w *reflectWorker) Work(ctx context.Context, job *river.Job[ReflectArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow, job.Args.UserID); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	failed := invalidAnswers(job.JobRow)
	var s *reflection.Snapshot
	err := retried(rereadings, stale, func() (err error) {
		if s, err = w.begin(ctx, w.DB, job.Args.UserID); err != nil {
			return err
		}
		return w.reflect(ctx, job, s, max(w.ReflectBatch>>failed, 1))
	})
	if useless, ok := errors.AsType[*reasoner.AnswerError](err); ok && failed+1 >= maxInvalidAnswers {
		return w.passOver(ctx, job, s, useless)
	}
	return w.postpone(ctx, err)
}

const (
	// busyJobs is how many embed and extract jobs may wait before reflection gives way. Users wait
	// for memories, whereas reflection can catch up: it processes memories in the order in which
	// they happened.
	busyJobs  = 4
	busyPause = time.Second
	// busyLimit is how long a reflection job, counted from its creation, gives way to jobs of its user, and
	// othersLimit how long to jobs of other users, which may never end.
	busyLimit   = time.Minute
	othersLimit = 5 * time.Second
)

// givesWay reports whether a job must wait for embedding and extraction, for a while to those of all users and then to
// those of its own. userID is empty for a job that then waits no longer.
func givesWay(ctx context.Context, db store.DB, job *rivertype.JobRow, userID string) (bool, error) {
	switch age := time.Since(job.CreatedAt); {
	case age <= othersLimit:
		userID = ""
	case age > busyLimit || userID == "":
		return false, nil
	}
	waiting, err := store.PendingMemoryJobs(ctx, db, userID, busyJobs)
	return waiting == busyJobs, err
}

func (w *reflectWorker) reflect(ctx context.Context, job *river.Job[ReflectArgs], s *reflection.Snapshot,
	limit int) error {
	if s.Person.OptedOut {
		return w.finishEmpty(ctx, job)
	}
	// Contradicted traits are reviewed before more conclusions are drawn. The review enqueues a reflection afterwards.
	if due, err := store.ReviewDue(ctx, w.DB, job.Args.UserID); err != nil {
		return err
	} else if due {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
			return follow(ctx, tx, ContradictionReviewArgs(job.Args))
		})
	}
	d, err := w.nextBatch(ctx, w.DB, s, limit, job.ID)
	if err != nil {
		return err
	}
	if d == nil {
		return w.finishEmpty(ctx, job)
	}
	d.trigger = job.Args.trigger()
	failpoint.Reach(failpoint.ReflectAsked)
	outcome, err := w.write(ctx, w.DB, d, during{
		locked: func(ctx context.Context, tx pgx.Tx) error {
			err := complete(ctx, tx, job)
			failpoint.Reach(failpoint.ReflectLocked)
			return err
		},
		written: func(ctx context.Context, tx pgx.Tx, o Outcome) error {
			err := w.succeed(ctx, tx, job.Args, o.Reviews > 0)
			failpoint.Reach(failpoint.ReflectWritten)
			return err
		},
		enqueue: enqueueAt,
	})
	failpoint.Reach(failpoint.ReflectCommitted)
	if outcome != nil {
		w.Observer.Reflected(*outcome)
	}
	return err
}

// succeed enqueues the follow-up: a contradiction review, or a reflection on the next batch.
func (w *reflectWorker) succeed(ctx context.Context, tx pgx.Tx, args ReflectArgs, review bool) error {
	if review {
		return follow(ctx, tx, ContradictionReviewArgs(args))
	}
	more, err := store.InboxHasMore(ctx, tx, args.UserID)
	if err != nil {
		return err
	}
	if !more {
		return store.PlanNight(ctx, tx, args.UserID, w.Now())
	}
	return follow(ctx, tx, args)
}

// follow enqueues a reflection or a review and notifies the workers. River notifies them at most
// ten times a second, which is slower than a batch.
func follow(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	if err := enqueue(ctx, tx, args); err != nil {
		return err
	}
	return store.RingReflect(ctx, tx)
}

// finishEmpty completes a reflection on an empty inbox. It empties the inbox of a user who opted
// out.
func (w *reflectWorker) finishEmpty(ctx context.Context, job *river.Job[ReflectArgs]) error {
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		if out, err := store.OptedOut(ctx, tx, job.Args.UserID); err != nil {
			return err
		} else if out {
			return store.EmptyInbox(ctx, tx, job.Args.UserID)
		}
		return w.succeed(ctx, tx, job.Args, false)
	})
}

// passOver removes the memories with unusable answers from the inbox and records the failed cycle.
func (w *reflectWorker) passOver(ctx context.Context, job *river.Job[ReflectArgs], s *reflection.Snapshot,
	why error) error {
	w.Logger.ErrorContext(ctx, "the reasoner gave too many invalid answers; skipping the memories",
		"memories", len(s.Batch), "error", why)
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		removed, _, err := store.RemoveFromInbox(ctx, tx, s.User, s.Batch)
		if err != nil {
			return err
		}
		failed := cycle(s, job.Args.trigger(), Outcome{Scanned: int(removed)})
		failed.Error = why.Error()
		if err := store.RecordCycle(ctx, tx, failed); err != nil {
			return err
		}
		return w.succeed(ctx, tx, job.Args, false)
	})
}
