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

// Reflect works a user's inbox off at once, and tells of each cycle. Workers may run meanwhile:
// whoever is first with a batch has it. With dryRun everything is done in one transaction that is
// rolled back in the end; while it runs, the user's traits that it would change are locked. With a
// language model a dry run ends after the first batch. The error is a *jobs.OptedOutError for a
// user who does not want to be reflected on.
func (w *Worker) Reflect(ctx context.Context, userID string, dryRun bool, report func(jobs.Outcome)) error {
	client, err := w.client(nil)
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
	errUndo := errors.New("a dry run is undone")
	err = pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		// a model takes its time, and a transaction that waits for it keeps others waiting: its
		// first batch tells enough
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

// Workers that take the user's batches first are given time, so often in a row.
const (
	outrunPause = 100 * time.Millisecond
	outrunLimit = 100
)

func reflectAll(ctx context.Context, r *jobs.Reflection, db jobs.DB, userID string, enqueue jobs.Enqueue, report func(jobs.Outcome), once bool) error {
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
