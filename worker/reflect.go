package worker

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// Reflect processes a user's inbox immediately and calls report after each cycle. Workers may run at
// the same time: each batch is processed once. With dryRun, Reflect does everything in one transaction
// and rolls it back; meanwhile the traits that it would change are locked. With a language model a dry
// run ends after the first batch. A user who opted out of reflection is a *jobs.OptedOutError.
func (w *Worker) Reflect(ctx context.Context, userID string, dryRun bool, report func(jobs.Outcome)) error {
	client, err := w.client(nil, time.Second)
	if err != nil {
		return err
	}
	enqueue := func(ctx context.Context, tx pgx.Tx, args river.JobArgs, at time.Time) error {
		_, err := client.InsertTx(ctx, tx, args, &river.InsertOpts{ScheduledAt: at})
		return err
	}
	r := w.jobs().Reflection()
	if !dryRun {
		return reflectAll(ctx, r, w.pool, userID, enqueue, report, false)
	}
	errUndo := errors.New("roll back the dry run")
	err = pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		// A model is slow, and an open transaction blocks others, so a dry run with a model ends after
		// the first batch.
		if err := reflectAll(ctx, r, tx, userID, enqueue, report, !w.cfg.byRules()); err != nil {
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}

// If workers take the user's batches first, Reflect pauses and retries up to outrunLimit times in a row.
const (
	outrunPause = 100 * time.Millisecond
	outrunLimit = 100
)

func reflectAll(ctx context.Context, r *jobs.Reflection, db jobs.DB, userID string, enqueue jobs.Enqueue,
	report func(jobs.Outcome), once bool) error {
	for outrun := 0; ; {
		outcome, more, err := r.Step(ctx, db, userID, enqueue)
		if errors.Is(err, store.ErrStale) && outrun < outrunLimit {
			outrun++
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(outrunPause):
				continue
			}
		}
		if err != nil {
			return err
		}
		outrun = 0
		if !more {
			return nil
		}
		report(outcome)
		if once {
			return nil
		}
	}
}
