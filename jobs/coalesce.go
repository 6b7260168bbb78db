package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
)

// Coalescing: a worker that River gives a job also takes waiting jobs of the same kind, runs them
// in the same calls and transactions, and completes them together. While they run they are
// ordinary running jobs with their own attempt and attempted_by, so River's rescuer returns them
// if the worker dies. A job that was attempted before, or whose batch failed, runs alone, so that
// it cannot fail other jobs and its errors contain nothing about them.

// putBackTime limits putting jobs back.
const putBackTime = 5 * time.Second

// aloneKey is the metadata key of a job that must run alone.
const aloneKey = "alone"

// errAlone ends a job whose error may be about the jobs that it ran with.
var errAlone = errors.New("the batch failed; the job runs alone next")

// batchArgs is implemented by the arguments of kinds that coalesce.
type batchArgs interface {
	river.JobArgs
	// valid returns an error if a job with these arguments can never succeed.
	valid() error
}

// member is a job of a batch.
type member[T batchArgs] struct {
	row      *rivertype.JobRow
	args     T
	metadata []byte // for the jobs that it enqueues
	end      func(error)
}

// batch is a set of jobs that run together. Jobs are removed as they end.
type batch[T batchArgs] struct {
	jobs  []*member[T]
	alone bool // when they are snoozed, the jobs run alone next
}

// end removes jobs that ended with err, and returns their ids.
func (b *batch[T]) end(jobs []*member[T], err error) []int64 {
	ids := make([]int64, len(jobs))
	for i, job := range jobs {
		ids[i] = job.row.ID
		job.end(err)
	}
	b.jobs = slices.DeleteFunc(slices.Clone(b.jobs), func(job *member[T]) bool { return slices.Contains(jobs, job) })
	return ids
}

// endErased removes the jobs that could not be completed because they were erased.
func (b *batch[T]) endErased(completed map[int64]bool) {
	b.end(slices.DeleteFunc(slices.Clone(b.jobs), func(job *member[T]) bool { return completed[job.row.ID] }),
		rivertype.ErrNotFound)
}

func (b *batch[T]) ids() []int64 {
	ids := make([]int64, len(b.jobs))
	for i, job := range b.jobs {
		ids[i] = job.row.ID
	}
	return ids
}

// coalescer takes waiting jobs to run together with a job that River gave a worker.
type coalescer[T batchArgs] struct {
	Config
	most  int          // maximum total weight of a batch; a job weighs as much as it has ids
	room  atomic.Int64 // maximum total weight of the next batch
	turns *turns
}

func newCoalescer[T batchArgs](c Config, most int) *coalescer[T] {
	made := &coalescer[T]{Config: c, most: most, turns: newTurns()}
	made.room.Store(int64(most))
	return made
}

// work calls do with a batch of the job and other waiting jobs. Jobs that do leaves in the batch
// have not ended. If do snoozes, they are all snoozed; if the worker is stopping, they are put
// back. After any other error the other jobs are put back to run alone, and this job runs alone at
// once.
func (c *coalescer[T]) work(ctx context.Context, job *river.Job[T], weight int,
	do func(context.Context, *batch[T]) error) error {
	own := &member[T]{row: job.JobRow, args: job.Args, end: func(error) {}}
	b := &batch[T]{jobs: append([]*member[T]{own}, c.gather(ctx, own, weight)...)}
	if len(b.jobs) == 1 {
		return do(ctx, b)
	}
	outcome, pause, alone := river.JobSnooze(0), time.Duration(0), true
	release := func() {
		others := slices.DeleteFunc(slices.Clone(b.jobs), func(job *member[T]) bool { return job == own })
		c.release(ctx, b, others, outcome, pause, alone)
	}
	defer release()
	err := survive(func() error { return do(ctx, b) })
	snoozed, isSnooze := errors.AsType[*rivertype.JobSnoozeError](err)
	switch {
	case err == nil || errors.Is(err, rivertype.ErrNotFound):
		return err
	case isSnooze:
		outcome, pause, alone = err, snoozed.Duration, b.alone
		return err
	case errors.Is(ctx.Err(), context.Canceled): // the worker is stopping
		alone = false
		return err
	}
	c.Logger.WarnContext(ctx, "a batch failed; its jobs run one by one", "kind", job.Kind, "jobs", len(b.jobs), "error",
		err)
	release()
	if ctx.Err() != nil {
		return errAlone
	}
	return do(ctx, b)
}

// survive returns a panic of do as an error. River would store its text, which may be about any job of a batch, with the
// job that it runs.
func survive(do func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
		}
	}()
	return do()
}

// gather takes waiting jobs. If that fails, the job runs alone.
func (c *coalescer[T]) gather(ctx context.Context, own *member[T], weight int) []*member[T] {
	room := int(c.room.Load())
	if weight >= room || !coalesces(own.row) {
		return nil
	}
	rows, _, err := c.turns.take(ctx, c.DB, store.Taking{Queue: own.row.Queue, Kind: own.row.Kind, Alone: aloneKey,
		By: river.ClientFromContext[pgx.Tx](ctx).ID(), Room: room - weight})
	if err != nil {
		c.Logger.WarnContext(ctx, "cannot take waiting jobs; the job runs alone", "kind", own.row.Kind, "error", err)
		return nil
	}
	var others []*member[T]
	var invalid []int64
	for _, row := range rows {
		var args T
		if err := json.Unmarshal(row.EncodedArgs, &args); err != nil || args.valid() != nil {
			invalid = append(invalid, row.ID) // reports its error when it runs alone
			continue
		}
		metadata, end := c.Observer.Joined(ctx, row)
		others = append(others, &member[T]{row, args, metadata, end})
	}
	c.putBack(ctx, invalid, 0, true)
	return others
}

// release ends jobs with err and puts them back.
func (c *coalescer[T]) release(ctx context.Context, b *batch[T], jobs []*member[T], err error, pause time.Duration,
	alone bool) {
	c.putBack(ctx, b.end(jobs, err), pause, alone)
}

func (c *coalescer[T]) putBack(ctx context.Context, ids []int64, pause time.Duration, alone bool) {
	if len(ids) == 0 {
		return
	}
	key := ""
	if alone {
		key = aloneKey
	}
	// The job's own deadline may have passed.
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), putBackTime)
	defer cancel()
	if err := store.PutBackJobs(within, c.DB, ids, pause, key); err != nil {
		c.Logger.WarnContext(ctx, "cannot put jobs back; they wait to be rescued", "jobs", len(ids), "error", err)
	}
}

// coalesces reports whether a job may run together with others.
func coalesces(job *rivertype.JobRow) bool {
	var metadata map[string]json.RawMessage
	if err := json.Unmarshal(job.Metadata, &metadata); err != nil {
		return false
	}
	_, alone := metadata[aloneKey]
	return job.Attempt == 1 && !alone
}

// lockTime is how long jobs that run together wait for a lock.
const lockTime = 5 * time.Second

// inTx runs work in a transaction and retries it after a deadlock. A batch of several jobs does not wait long for
// locks, so that one user's open transaction does not hold up the others.
func (c *coalescer[T]) inTx(ctx context.Context, b *batch[T], work func(pgx.Tx) error) error {
	return pastDeadlocks(ctx, c.DB, func(tx pgx.Tx) error {
		if len(b.jobs) > 1 {
			if err := store.LimitLocks(ctx, tx, lockTime); err != nil {
				return err
			}
		}
		return work(tx)
	})
}

// completeAll completes running jobs in tx and returns the ids of those that it completed. The
// others were erased or ended otherwise.
func completeAll(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64]bool, error) {
	done, err := store.CompleteJobs(ctx, tx, ids)
	completed := make(map[int64]bool, len(done))
	for _, id := range done {
		completed[id] = true
	}
	return completed, err
}
