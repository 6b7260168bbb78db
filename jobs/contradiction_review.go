package jobs

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/internal/reflection"
	"github.com/oxbow-memory/oxbow/internal/sensitive"
	"github.com/oxbow-memory/oxbow/internal/traits"
	"github.com/oxbow-memory/oxbow/store"
)

// ContradictionReviewArgs identifies a user with a contradicted trait and the reflection to resume
// afterwards.
type ContradictionReviewArgs struct {
	UserID       string  `json:"user_id" river:"unique"`
	TriggerType  string  `json:"trigger_type,omitempty"`
	TriggerValue float64 `json:"trigger_value,omitempty"`
}

// Kind returns "contradiction_review".
func (ContradictionReviewArgs) Kind() string { return "contradiction_review" }

// InsertOpts returns the insert options of the kind.
func (a ContradictionReviewArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:     "revises, splits or dissolves a contradicted trait",
	Queue:    QueueReflect,
	Unique:   true,
	Reasoner: true,
	Timeout:  reasonerTimeout,
}, func(c Config) worker[ContradictionReviewArgs] { return &contradictionReviewWorker{c.Reflection()} })

// reviewedEvidence is the maximum number of memories per direction shown to a review, latest
// first.
const reviewedEvidence = 30

// contradictionReviewWorker reviews contradicted traits one at a time.
type contradictionReviewWorker struct{ *Reflection }

// Work reviews the trait that has waited longest.
func (w *contradictionReviewWorker) Work(ctx context.Context, job *river.Job[ContradictionReviewArgs]) error {
	return w.postpone(ctx, retried(rereadings, stale, func() error { return w.review(ctx, job) }))
}

func (w *contradictionReviewWorker) review(ctx context.Context, job *river.Job[ContradictionReviewArgs]) error {
	s, err := w.begin(ctx, w.DB, job.Args.UserID)
	if err != nil {
		return err
	}
	var d *decision
	if !s.Person.OptedOut {
		if d, err = w.nextReview(ctx, w.DB, s, job.ID, invalidAnswers(job.JobRow)+1 >= maxInvalidAnswers); err != nil {
			return err
		}
	}
	if d == nil {
		return completing(ctx, w.DB, job, func(tx pgx.Tx) error { return w.resume(ctx, tx, job.Args) })
	}
	outcome, err := w.write(ctx, w.DB, d, during{
		locked: func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) },
		written: func(ctx context.Context, tx pgx.Tx, _ Outcome) error {
			failpoint.Reach(failpoint.ContradictionWritten)
			return follow(ctx, tx, job.Args) // another review may be waiting
		},
		enqueue: enqueueAt,
	})
	if outcome != nil {
		w.Observer.Reflected(*outcome)
	}
	return err
}

// resume enqueues the reflection that waits for the reviews, if nothing is left to review. It looks again, because a
// reflection may have found something to review while this job ran, and its review job was then skipped as a duplicate.
func (w *contradictionReviewWorker) resume(ctx context.Context, tx pgx.Tx, args ContradictionReviewArgs) error {
	if due, err := store.ReviewDue(ctx, tx, args.UserID); err != nil {
		return err
	} else if due {
		return follow(ctx, tx, args)
	}
	if args.TriggerType == "" { // sweep or sleep enqueued the review, so no reflection waits for it
		return enqueue(ctx, tx, CheckTriggerArgs{UserID: args.UserID})
	}
	return follow(ctx, tx, ReflectArgs(args)) // plans the night if the inbox is empty
}

// nextReview decides on the trait that has waited longest for a review. It returns nil if none
// waits. If last is set, an unusable answer keeps the trait unchanged until the next
// contradiction.
func (r *Reflection) nextReview(ctx context.Context, db store.DB, s *reflection.Snapshot, job int64,
	last bool) (*decision, error) {
	due, err := store.TraitsToReview(ctx, db, s.User)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	s.Traits = due[:1]
	if err := store.DecayTraits(ctx, db, s.Now, s.Traits); err != nil {
		return nil, err
	}
	t := s.Traits[0]
	c := s.Case(t)
	seen, err := store.SeenEvidence(ctx, db, s.User, nil, map[uuid.UUID]int{t.ID: s.ReviewWeight(t)})
	if err != nil {
		return nil, err
	}
	for direction, into := range map[string]*[]reasoner.Evidence{
		traits.Supporting: &c.Supporting, traits.Contradicting: &c.Contradicting,
	} {
		found, err := store.ReviewEvidence(ctx, db, s.User, t.ID, direction, s.Person, reviewedEvidence)
		if err != nil {
			return nil, err
		}
		*into = slices.DeleteFunc(found, func(e reasoner.Evidence) bool {
			_, hit := sensitive.Category(e.Content)
			return hit
		})
	}
	verdict, settled := reflection.Settled(c)
	if !settled {
		err = r.call(ctx, s.User, s.Cycle, job, func(ctx context.Context) (err error) {
			verdict, err = r.Reasoner.Review(ctx, *c)
			return err
		})
		var useless *reasoner.AnswerError
		if last && errors.As(err, &useless) {
			verdict, err = reasoner.Verdict{Action: reasoner.Keep, Reason: useless.Error()}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return &decision{plan: s.Conclude(verdict, c, seen), review: true,
		trigger: store.Trigger{Type: "contradiction_review", Value: float64(len(c.Contradicting))}}, nil
}
