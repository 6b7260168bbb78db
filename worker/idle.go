package worker

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/secrets"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	// soon is how far ahead RunUntilIdle waits for a retry.
	soon = 3 * time.Second
	// idlePoll is how often RunUntilIdle polls, for jobs and for the end.
	idlePoll = 50 * time.Millisecond
)

// UnfinishedError reports that jobs remain that cannot be worked now.
type UnfinishedError struct {
	Jobs int64 // the number of waiting jobs
	Err  error // the reason, nil if unknown
}

func (e *UnfinishedError) Error() string {
	jobs := fmt.Sprintf("%d jobs are", e.Jobs)
	if e.Jobs == 1 {
		jobs = "1 job is"
	}
	if e.Err != nil {
		return fmt.Sprintf("%s postponed: %s", jobs, secrets.Mask(e.Err.Error()))
	}
	return jobs + " waiting for a retry: oxbow status shows them"
}

func (e *UnfinishedError) Unwrap() error { return e.Err }

// RunUntilIdle works jobs until none is due. This includes the jobs that jobs enqueue, and those that
// an earlier worker postponed because its provider was down. It enqueues no periodic jobs, except that
// it folds waiting activity at the end. If report is not nil, it is called repeatedly with the
// remaining backlog.
//
// RunUntilIdle does not wait for jobs whose provider is down or whose retry is more than 3 seconds
// away; it then returns an *UnfinishedError. If ctx ends first, running jobs are finished as in Run.
func (w *Worker) RunUntilIdle(ctx context.Context, report func(store.Backlog)) error {
	client, err := w.client(nil, idlePoll)
	if err != nil {
		return err
	}
	if _, err := store.EndPauses(ctx, w.pool, embeddingProvider, reasonerProvider); err != nil {
		return err
	}
	if err := store.WakeJobs(ctx, w.pool, jobs.Names(func(k *jobs.Kind) bool {
		return k.Embedder || k.Reasoner
	})); err != nil {
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

// waitUntilIdle returns when the queue was idle twice in a row and no unfolded activity waits. Once is
// not enough, because a job counts as running while its worker completes it.
func (w *Worker) waitUntilIdle(
	ctx context.Context, client *river.Client[pgx.Tx], report func(store.Backlog),
) (store.Backlog, error) {
	ticker := time.NewTicker(idlePoll)
	defer ticker.Stop()
	dated := jobs.Names(func(k *jobs.Kind) bool { return k.Dated })
	var folded int64
	for idle := 0; ; {
		left, err := store.ReadBacklog(ctx, w.pool, soon, w.waitingKinds(), dated)
		if err != nil {
			return left, err
		}
		if report != nil {
			report(left)
		}
		if left.Now > 0 || left.Soon > 0 {
			idle = 0
			if left.Now == 0 { // nothing is left for check_trigger jobs to give way to
				if err := store.WakeJobs(ctx, w.pool, []string{jobs.CheckTriggerArgs{}.Kind()}); err != nil {
					return left, err
				}
			}
		} else if idle++; idle == 2 {
			oldest, err := store.OldestActivity(ctx, w.pool)
			if err != nil || oldest == 0 || oldest == folded { // equal to folded: folding failed
				return left, err
			}
			inserted, err := client.Insert(ctx, jobs.FlushActivityArgs{}, nil)
			if err != nil {
				return left, fmt.Errorf("enqueue flush_activity: %w", err)
			}
			idle = 0
			if !inserted.UniqueSkippedAsDuplicate { // otherwise another worker's job may have read too early
				folded = oldest
			}
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-ticker.C:
		}
	}
}

// waitingKinds returns the kinds of jobs whose provider is down.
func (w *Worker) waitingKinds() []string {
	return jobs.Names(func(k *jobs.Kind) bool {
		return k.Embedder && w.provider.Status().Down() || k.Reasoner && w.reasonerState.Status().Down()
	})
}

func (w *Worker) unfinished(left store.Backlog) error {
	waiting := left.Soon + left.Later
	if waiting == 0 {
		return nil
	}
	return &UnfinishedError{Jobs: waiting, Err: cmp.Or(w.provider.Status().Err, w.reasonerState.Status().Err)}
}
