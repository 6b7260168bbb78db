package jobs

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
	"github.com/oxbow-memory/oxbow/store"
)

// DB is what a Reflection reads and writes: a pool, or a transaction.
type DB = store.DB

// Enqueue inserts a job in tx that is due at a moment.
type Enqueue func(ctx context.Context, tx pgx.Tx, args river.JobArgs, at time.Time) error

// OptedOutError says that a user does not want to be reflected on.
type OptedOutError struct{ UserID string }

func (e *OptedOutError) Error() string {
	return fmt.Sprintf("user %q has opted out of reflection", e.UserID)
}

// Step does what a job would do next for a user, at once: it reviews a trait that evidence contradicts, or reflects on the
// next batch of the inbox. more is false when there was nothing to do. The error is an *OptedOutError, an
// *UnavailableError, a *reasoner.AnswerError, or one of the database.
func (r *Reflection) Step(ctx context.Context, db DB, userID string, enqueue Enqueue) (o Outcome, more bool, err error) {
	for try := 1; ; try++ {
		o, more, err = r.step(ctx, db, userID, enqueue)
		if !stale(err) || try == rereadings {
			return o, more, err
		}
	}
}

func (r *Reflection) step(ctx context.Context, db DB, userID string, enqueue Enqueue) (o Outcome, more bool, err error) {
	s, err := r.begin(ctx, db, userID)
	if err != nil {
		return o, false, err
	}
	if s.person.OptedOut {
		return o, false, &OptedOutError{userID}
	}
	c, err := r.loadCase(ctx, db, s)
	if err != nil {
		return o, false, err
	}
	if c != nil {
		return r.reviewNow(ctx, db, s, c)
	}
	if err = r.load(ctx, db, s, r.Batch); err != nil || len(s.batch) == 0 {
		return o, false, err
	}
	proposals, err := r.ask(ctx, s, 0)
	if err != nil {
		return o, false, err
	}
	p, err := r.weigh(ctx, db, s, proposals)
	if err != nil {
		return o, false, err
	}
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		changes := p.changes()
		if err := store.LockChanges(ctx, tx, changes); err != nil {
			return err
		}
		if out, err := store.OptedOut(ctx, tx, userID); err != nil || out {
			return cmp.Or(err, error(&OptedOutError{userID}))
		}
		if o, err = r.write(ctx, tx, p, changes, store.Trigger{Type: "manual", Value: float64(len(s.batch))}); err != nil {
			return err
		}
		for _, args := range o.trends() {
			if err := enqueue(ctx, tx, args, args.due(p, r.Now())); err != nil {
				return err
			}
		}
		return nil
	})
	return o, err == nil, err
}

func (r *Reflection) reviewNow(ctx context.Context, db DB, s *snapshot, c *reasoner.Case) (o Outcome, more bool, err error) {
	verdict, err := r.judge(ctx, s, c, 0)
	if err != nil {
		return o, false, err
	}
	p := s.conclude(verdict, c)
	changes := p.changes()
	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := store.LockChanges(ctx, tx, changes); err != nil {
			return err
		}
		if out, err := store.OptedOut(ctx, tx, s.user); err != nil || out {
			return cmp.Or(err, error(&OptedOutError{s.user}))
		}
		o, err = r.writeReview(ctx, tx, p, changes, c)
		return err
	})
	return o, err == nil, err
}
