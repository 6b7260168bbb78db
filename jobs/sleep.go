package jobs

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/store"
)

// SleepArgs identifies a user whose night is due.
type SleepArgs struct {
	UserID string `json:"user_id" river:"unique"`
}

// Kind returns "sleep".
func (SleepArgs) Kind() string { return "sleep" }

// InsertOpts returns the insert options of the kind.
func (a SleepArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "looks for evidence about open questions in a user's older memories, at night",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) worker[SleepArgs] { return &sleepWorker{c.Reflection()} })

// awakePause is how long a deep reflection waits for a conversation to end, or for the inbox to be reflected on.
const awakePause = 5 * time.Minute

// sleepWorker reflects in two phases: it takes a question that reflection left open, recalls memories about it, and
// concludes from these alone. Each job answers one question and enqueues the next, so that other users' reflections come
// in between.
type sleepWorker struct{ *Reflection }

// Work answers one question.
func (w *sleepWorker) Work(ctx context.Context, job *river.Job[SleepArgs]) error {
	if busy, err := givesWay(ctx, w.DB, job.JobRow); err != nil || busy {
		return cmp.Or(err, river.JobSnooze(busyPause))
	}
	err := retried(rereadings, stale, func() error { return w.sleep(ctx, job) })
	if stale(err) {
		return overtaken(job.JobRow, err)
	}
	return w.postpone(ctx, err)
}

func (w *sleepWorker) sleep(ctx context.Context, job *river.Job[SleepArgs]) error {
	s, err := w.begin(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	night, err := store.ReadNight(ctx, w.DB, s.User, s.Now)
	if err != nil {
		return err
	}
	unread, err := store.InboxHasMore(ctx, w.DB, s.User)
	if err != nil {
		return err
	}
	switch {
	case s.Person.OptedOut:
		return w.end(ctx, job, false)
	case night.Over || night.Spent:
		return w.end(ctx, job, true)
	case night.Awake || unread:
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
			if err := store.DelayNight(ctx, tx, s.User, s.Now.Add(awakePause)); err != nil || night.Awake {
				return err
			}
			return follow(ctx, tx, ReflectArgs{UserID: s.User}) // what is new comes first
		})
	}
	q, err := store.NextQuestion(ctx, w.DB, s.User)
	if err != nil {
		return err
	}
	if q == nil {
		return w.end(ctx, job, false)
	}
	return w.answer(ctx, job, s, *q, night.Recalls)
}

// answer recalls memories about a question, asks the reasoner about them, and writes what follows.
func (w *sleepWorker) answer(ctx context.Context, job *river.Job[SleepArgs], s *reflection.Snapshot, q store.Question,
	recalls int) error {
	memories, err := store.MemoriesAbout(ctx, w.DB, s.User, s.Person, s.Now, q.Content, recalls)
	if err != nil {
		return err
	}
	recalled := len(memories)
	if err := w.loadKnown(ctx, w.DB, s, memories, q.Key); err != nil {
		return err
	}
	proposals, err := w.ask(ctx, s, job.ID)
	var useless *reasoner.AnswerError
	if errors.As(err, &useless) {
		w.Logger.WarnContext(ctx, "the reasoner gave an invalid answer; skipping the question", "error", useless)
	} else if err != nil {
		return err
	}
	failpoint.Reach(failpoint.SleepAsked)
	p, err := w.weigh(ctx, w.DB, s, proposals)
	if err != nil {
		return err
	}
	next := func(ctx context.Context, tx pgx.Tx, o Outcome) error {
		if err := store.NoteQuestion(ctx, tx, s.User, q.Key, recalled, s.Now); err != nil {
			return err
		}
		if o.Reviews > 0 {
			if err := follow(ctx, tx, ContradictionReviewArgs{UserID: s.User}); err != nil {
				return err
			}
		}
		err := follow(ctx, tx, SleepArgs{UserID: s.User})
		failpoint.Reach(failpoint.SleepWritten)
		return err
	}
	outcome, err := w.write(ctx, w.DB, &decision{plan: p, trigger: store.Trigger{Type: "sleep", Value: float64(recalled)}},
		during{
			locked:  func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) },
			written: next,
			enqueue: enqueueAt,
		})
	failpoint.Reach(failpoint.SleepCommitted)
	if outcome != nil {
		w.Observer.Reflected(*outcome)
	}
	return err
}

// end ends the night.
func (w *sleepWorker) end(ctx context.Context, job *river.Job[SleepArgs], again bool) error {
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		return store.EndNight(ctx, tx, job.Args.UserID, w.Now(), again)
	})
}
