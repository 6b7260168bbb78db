package worker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// soon is how far ahead RunUntilIdle waits for a job that is to be tried again.
const soon = 3 * time.Second

// UnfinishedError says that jobs are left which cannot be worked now.
type UnfinishedError struct {
	Jobs int64 // how many wait
	Err  error // why, where that is known
}

func (e *UnfinishedError) Error() string {
	jobs := fmt.Sprintf("%d jobs are", e.Jobs)
	if e.Jobs == 1 {
		jobs = "1 job is"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s left for later: %s", jobs, e.Err)
	}
	return jobs + " to be tried again later: oxbow status shows them"
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// RunUntilIdle works jobs until none is left that is due, including those that jobs cause, and
// those that an earlier worker put off because its provider was down. It enqueues no periodic jobs,
// except that it folds waiting activity at the end. report, if it is not nil, is told now and then
// how much is left.
//
// Jobs that wait for a provider that is down, or that failed and are to be tried again only later,
// are not waited for: the error is then an *UnfinishedError. Where ctx ends first, the running jobs
// are finished as in Run.
func (w *Worker) RunUntilIdle(ctx context.Context, report func(store.Backlog)) error {
	client, err := w.client(nil)
	if err != nil {
		return err
	}
	if err := store.WakeJobs(ctx, w.pool, jobs.Names(func(k *jobs.Kind) bool { return k.Embedder || k.Reasoner })); err != nil {
		return err
	}
	if err := w.start(ctx, client); err != nil {
		return err
	}
	stopWatching := w.watchLeader(ctx)
	left, waitErr := w.waitUntilIdle(ctx, client, report)
	stopWatching()
	if err := w.stop(ctx, client); err != nil {
		return err
	}
	if waitErr != nil {
		return waitErr
	}
	return w.unfinished(left)
}

// waitUntilIdle returns when the queue was found idle twice in a row, because a job is counted as
// running while its worker completes it, and no activity waits that was not tried to fold.
func (w *Worker) waitUntilIdle(
	ctx context.Context, client *river.Client[pgx.Tx], report func(store.Backlog),
) (store.Backlog, error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var folded int64
	for idle := 0; ; {
		left, err := store.ReadBacklog(ctx, w.pool, soon, w.waitingKinds())
		if err != nil {
			return left, err
		}
		if report != nil {
			report(left)
		}
		if left.Now > 0 || left.Soon > 0 {
			idle = 0
		} else if idle++; idle == 2 {
			oldest, err := store.OldestActivity(ctx, w.pool)
			if err != nil || oldest == 0 || oldest == folded { // folded: it could not be
				return left, err
			}
			if _, err := client.Insert(ctx, jobs.FlushActivityArgs{}, nil); err != nil {
				return left, fmt.Errorf("enqueue flush_activity: %w", err)
			}
			idle, folded = 0, oldest
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-ticker.C:
		}
	}
}

// waitingKinds are the kinds of jobs that wait for a provider that is down.
func (w *Worker) waitingKinds() []string {
	return jobs.Names(func(k *jobs.Kind) bool {
		return k.Embedder && w.provider.Status().Down() || k.Reasoner && w.thinker.Status().Down()
	})
}

func (w *Worker) unfinished(left store.Backlog) error {
	waiting := left.Soon + left.Later
	if waiting == 0 {
		return nil
	}
	return &UnfinishedError{Jobs: waiting, Err: cmp.Or(w.provider.Status().Err, w.thinker.Status().Err)}
}
