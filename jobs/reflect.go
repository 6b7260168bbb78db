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

// ReflectArgs name the user to reflect on, and why.
type ReflectArgs struct {
	UserID       string  `json:"user_id" river:"unique"`
	TriggerType  string  `json:"trigger_type,omitempty"` // as in store.Trigger; empty: manual
	TriggerValue float64 `json:"trigger_value,omitempty"`
}

// Kind is "reflect".
func (ReflectArgs) Kind() string { return "reflect" }

// InsertOpts are those of the kind.
func (a ReflectArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "draws conclusions from the inbox of a user",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) river.Worker[ReflectArgs] {
	return &reflectWorker{Reflection: c.Reflection()}
})

func reflectOn(userID string, t store.Trigger) ReflectArgs {
	return ReflectArgs{UserID: userID, TriggerType: t.Type, TriggerValue: t.Value}
}

func (a ReflectArgs) trigger() store.Trigger {
	return store.Trigger{Type: cmp.Or(a.TriggerType, "manual"), Value: a.TriggerValue}
}

// maxNonsense is how often a reasoner may answer nonsense. Each time it is asked about half as many memories, so
// that in the end the one that it cannot cope with is alone, and is passed over. Other failures, and workers that
// were killed, do not change the batch: what is concluded does not depend on them.
const maxNonsense = 9

// nonsense counts the attempts of a job that ended so.
func nonsense(job *rivertype.JobRow) (n int) {
	for _, e := range job.Errors {
		if strings.Contains(e.Error, reasoner.AnswerErrorText) {
			n++
		}
	}
	return n
}

// reflectWorker works a user's inbox off.
type reflectWorker struct {
	river.WorkerDefaults[ReflectArgs]
	*Reflection
}

// Work reflects on one batch.
func (w *reflectWorker) Work(ctx context.Context, job *river.Job[ReflectArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	failed := nonsense(job.JobRow)
	for try := 1; ; try++ {
		s, err := w.begin(ctx, w.DB, job.Args.UserID)
		if err == nil {
			err = w.reflect(ctx, job, s, max(w.Batch>>failed, 1))
		}
		if stale(err) && try < rereadings {
			w.Logger.InfoContext(ctx, "reflecting again", "reason", err)
			continue
		}
		var useless *reasoner.AnswerError
		if errors.As(err, &useless) && failed+1 >= maxNonsense {
			return w.passOver(ctx, job, s, useless)
		}
		return w.postpone(ctx, err)
	}
}

const (
	// busyJobs is how many jobs that embed or extract may wait before reflection leaves the machine to them: people
	// wait for memories, and what comes in meanwhile is reflected on in the order in which it happened.
	busyJobs  = 4
	busyPause = time.Second
	// busyLimit is how long a job of reflection gives way.
	busyLimit = time.Minute
)

// givesWay reports whether embedding and extracting come before a job.
func givesWay(ctx context.Context, db store.DB, job *rivertype.JobRow) (bool, error) {
	if time.Since(job.CreatedAt) > busyLimit {
		return false, nil
	}
	waiting, err := store.PendingMemoryJobs(ctx, db, busyJobs)
	return waiting == busyJobs, err
}

func (w *reflectWorker) reflect(ctx context.Context, job *river.Job[ReflectArgs], s *reflection.Snapshot, limit int) error {
	if s.Person.OptedOut {
		return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error { return w.finishEmpty(ctx, tx, job) })
	}
	// what contradicts a trait is settled before more is concluded
	if due, err := store.TraitsToReview(ctx, w.DB, job.Args.UserID); err != nil {
		return err
	} else if len(due) > 0 {
		return w.yield(ctx, job)
	}
	d, err := w.nextBatch(ctx, w.DB, s, limit, job.ID)
	if err != nil {
		return err
	}
	if d == nil {
		return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error { return w.finishEmpty(ctx, tx, job) })
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

// yield leaves the user to the review of contradictions, which is followed by a reflection.
func (w *reflectWorker) yield(ctx context.Context, job *river.Job[ReflectArgs]) error {
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		return follow(ctx, tx, reviewAfter(job.Args))
	})
}

// succeed enqueues what follows: the review of contradictions, or the reflection on the next batch.
func (w *reflectWorker) succeed(ctx context.Context, tx pgx.Tx, args ReflectArgs, review bool) error {
	if review {
		return follow(ctx, tx, reviewAfter(args))
	}
	more, err := store.InboxHasMore(ctx, tx, args.UserID)
	if err != nil || !more {
		return err
	}
	return follow(ctx, tx, args)
}

// follow enqueues a reflection or a review, and wakes the workers for it. River itself wakes them ten times a
// second at most, and a batch takes less.
func follow(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	if err := enqueue(ctx, tx, args); err != nil {
		return err
	}
	return store.RingReflect(ctx, tx)
}

// finishEmpty ends a reflection on nothing. A user who opted out is never reflected on: nothing waits for it either.
func (w *reflectWorker) finishEmpty(ctx context.Context, tx pgx.Tx, job *river.Job[ReflectArgs]) error {
	if err := complete(ctx, tx, job); err != nil {
		return err
	}
	if out, err := store.OptedOut(ctx, tx, job.Args.UserID); err != nil {
		return err
	} else if out {
		return store.EmptyInbox(ctx, tx, job.Args.UserID)
	}
	return w.succeed(ctx, tx, job.Args, false)
}

// passOver takes the memories out of the inbox that a reasoner answers nonsense about, and records that.
func (w *reflectWorker) passOver(ctx context.Context, job *river.Job[ReflectArgs], s *reflection.Snapshot, why error) error {
	w.Logger.ErrorContext(ctx, "the reasoner cannot cope with memories: they are passed over",
		"memories", len(s.Batch), "error", why)
	return pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		removed, err := store.RemoveFromInbox(ctx, tx, s.User, s.Batch)
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
