// Package jobs contains the background jobs, one file per kind: its arguments, its options, its
// worker and the interfaces that the worker needs.
//
// Jobs are delivered at least once. A handler loads, decides, calls out and then, in one
// transaction, writes its results and completes its job. A job repeated after a crash therefore
// finds nothing left to do. No transaction is open during a network call.
//
// The package is not part of the API and may change in any release. Applications use package
// worker.
package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/store"
)

// The queues. Each has its own workers, so that a long reflection never delays an embedding.
const (
	QueueEmbed   = "embed"
	QueueDefault = river.QueueDefault
	QueueReflect = "reflect"
	QueueExtract = "extract"
)

// Timeout is the default time limit of a job. It suits jobs that call nothing outside the
// database.
const Timeout = 30 * time.Second

// MaxRetention is how long completed jobs are kept unless their kind keeps them shorter.
const MaxRetention = time.Hour

// busyRetention is the retention of kinds with a job for each statement or user.
const busyRetention = 10 * time.Minute

// live returns the states of unfinished jobs. River's default for unique jobs also counts
// completed jobs, which would block the next job until they are deleted.
func live() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// enqueue inserts a job in tx. It does nothing if the job is unique and a live one exists.
func enqueue(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, args, nil)
	return err
}

// enqueueAt inserts a job in tx that is scheduled for at.
func enqueueAt(ctx context.Context, tx pgx.Tx, args river.JobArgs, at time.Time) error {
	_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, args, &river.InsertOpts{ScheduledAt: at})
	return err
}

// complete marks a job as completed in tx, so that its results and its completion are committed
// together. It returns rivertype.ErrNotFound if the job has been erased along with its user or its
// only memory; the caller must then roll back.
func complete[T river.JobArgs](ctx context.Context, tx pgx.Tx, job *river.Job[T]) error {
	if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
		return err
	}
	switch erased, err := store.Outlived(ctx, tx, job.ID); {
	case err != nil:
		return err
	case erased:
		return rivertype.ErrNotFound
	}
	return nil
}

// completing completes a job and calls then, in one transaction.
func completing[T river.JobArgs](ctx context.Context, db store.DB, job *river.Job[T],
	then func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := complete(ctx, tx, job); err != nil {
			return err
		}
		return then(tx)
	})
}

// maxOvertaken is how many times a job is snoozed because of concurrent changes before that counts
// as an attempt.
const maxOvertaken = 20

// overtaken snoozes a job whose input changed repeatedly while it ran. After maxOvertaken snoozes, for whatever
// reason, it returns an error, which counts as an attempt: the job itself may be the cause.
func overtaken(job *rivertype.JobRow, stale error) error {
	if n := snoozes(job); n >= maxOvertaken {
		return fmt.Errorf("a concurrent change interrupted the job, which was postponed %d times: %w", n, stale)
	}
	return river.JobSnooze(spread(time.Second))
}

// snoozes returns how many times a job was snoozed.
func snoozes(job *rivertype.JobRow) int {
	var metadata struct {
		Snoozes int `json:"snoozes"` // written by River
	}
	_ = json.Unmarshal(job.Metadata, &metadata) // 0 if it cannot be read
	return metadata.Snoozes
}
