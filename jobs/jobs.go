// Package jobs holds the work that memories cause, a file per kind: its arguments, its place in the queue, its worker,
// and the interfaces that it needs of others.
//
// Jobs are delivered at least once. A handler loads, decides, calls out, and then, in one
// transaction, writes its results and completes its job; so a job that is repeated after a crash
// finds nothing left to do. No transaction is open while a network is waited for.
//
// It is not part of the API, and may change in any release: applications use package worker.
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
)

// The queues. Each has workers of its own, so that a long reflection never holds up an embedding.
const (
	QueueEmbed   = "embed"
	QueueDefault = river.QueueDefault
	QueueReflect = "reflect"
	QueueExtract = "extract"
)

// Timeout limits a job of a kind that does not say otherwise. None of those asks anything outside the database.
const Timeout = 30 * time.Second

// live are the states in which a job is still going to be worked. River's own default counts completed ones too, and
// would hold back the next job until they are cleared away.
func live() []rivertype.JobState {
	return []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
		rivertype.JobStateRunning, rivertype.JobStateScheduled,
	}
}

// enqueue inserts a job in tx. A unique one that is there already stays alone.
func enqueue(ctx context.Context, tx pgx.Tx, args river.JobArgs) error {
	_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, args, nil)
	return err
}

// enqueueAt inserts a job in tx that is due at a moment.
func enqueueAt(ctx context.Context, tx pgx.Tx, args river.JobArgs, at time.Time) error {
	_, err := river.ClientFromContext[pgx.Tx](ctx).InsertTx(ctx, tx, args, &river.InsertOpts{ScheduledAt: at})
	return err
}

// complete marks a job as completed in tx, so that its results and its end are committed together.
// The error is rivertype.ErrNotFound where the job was erased meanwhile, with its user or its only
// memory: then nothing is to be left of what it did.
func complete[T river.JobArgs](ctx context.Context, tx pgx.Tx, job *river.Job[T]) error {
	_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
	return err
}

// maxOvertaken is how often a job waits because others were quicker before that counts as an attempt.
const maxOvertaken = 20

// overtaken puts a job off that found everything changed again and again while it worked. In the
// end that is an attempt, with its error: the job may be what cannot go on.
func overtaken(job *rivertype.JobRow, stale error) error {
	var metadata struct {
		Snoozes int `json:"snoozes"` // written by River
	}
	if err := json.Unmarshal(job.Metadata, &metadata); err == nil && metadata.Snoozes >= maxOvertaken {
		return fmt.Errorf("others were quicker %d times: %w", metadata.Snoozes, stale)
	}
	return river.JobSnooze(spread(time.Second))
}
