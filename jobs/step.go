package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

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
		if !errors.Is(err, store.ErrStale) || try == rereadings {
			return o, more, err
		}
	}
}

func (r *Reflection) step(ctx context.Context, db DB, userID string, enqueue Enqueue) (o Outcome, more bool, err error) {
	begun := r.Now()
	s, c, err := r.loadCase(ctx, db, userID)
	if err != nil {
		return o, false, err
	}
	if s.person.OptedOut {
		return o, false, &OptedOutError{userID}
	}
	if c != nil {
		verdict, err := r.judge(ctx, s, c, 0)
		if err != nil {
			return o, false, err
		}
		err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			p, err := r.conclude(ctx, tx, s, verdict, c, begun)
			if err == nil {
				o = Outcome{Cycle: s.cycle, Updated: 1, Changes: p.changes(), Dropped: p.dropped, Review: true}
			}
			return err
		})
		return o, err == nil, err
	}
	if s, err = r.load(ctx, db, userID, r.Batch); err != nil || len(s.batch) == 0 {
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
		if o, err = r.write(ctx, tx, p, store.Trigger{Type: "manual", Value: float64(len(s.batch))}, begun); err != nil {
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
