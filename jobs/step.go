package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/store"
)

// DB is the database handle of a Reflection: a pool or a transaction.
type DB = store.DB

// Enqueue inserts a job in tx that is scheduled for at.
type Enqueue func(ctx context.Context, tx pgx.Tx, args river.JobArgs, at time.Time) error

// OptedOutError reports that a user opted out of reflection.
type OptedOutError struct{ UserID string }

func (e *OptedOutError) Error() string {
	return fmt.Sprintf("user %q has opted out of reflection", e.UserID)
}

// Step does immediately what a user's next job would do: it reviews a contradicted trait, or
// reflects on the next batch of the inbox. more is false if there was nothing to do. The error is
// an *OptedOutError, an *UnavailableError, a *reasoner.AnswerError or a database error.
func (r *Reflection) Step(ctx context.Context, db DB, userID string,
	enqueue Enqueue) (o Outcome, more bool, err error) {
	err = retried(rereadings, stale, func() error {
		o, more, err = r.step(ctx, db, userID, enqueue)
		return err
	})
	return o, more, err
}

func (r *Reflection) step(ctx context.Context, db DB, userID string,
	enqueue Enqueue) (o Outcome, more bool, err error) {
	s, err := r.begin(ctx, db, userID)
	if err != nil {
		return o, false, err
	}
	if s.Person.OptedOut {
		return o, false, &OptedOutError{userID}
	}
	d, err := r.nextReview(ctx, db, s, 0, false)
	if err == nil && d == nil {
		d, err = r.nextBatch(ctx, db, s, r.ReflectBatch, 0)
	}
	if err != nil || d == nil {
		return o, false, err
	}
	written, err := r.write(ctx, db, d, during{
		locked:  func(context.Context, pgx.Tx) error { return nil },
		written: func(context.Context, pgx.Tx, Outcome) error { return nil },
		enqueue: enqueue,
	})
	if err == nil && written == nil {
		err = &OptedOutError{userID}
	}
	if err != nil {
		return o, false, err
	}
	return *written, true, nil
}
