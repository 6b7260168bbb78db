// Package noop is a job that does nothing, for measuring what a job costs besides its work. Nobody outside of this module can
// make a worker know it.
package noop

import (
	"context"

	"github.com/riverqueue/river"
)

// Args are none.
type Args struct{}

// Kind is "noop".
func (Args) Kind() string { return "noop" }

type worker struct{ river.WorkerDefaults[Args] }

func (*worker) Work(context.Context, *river.Job[Args]) error { return nil }

// Register lets the workers work the job.
func Register(workers *river.Workers) { river.AddWorker(workers, &worker{}) }

type key struct{}

// Context returns a context in which a new worker knows the job.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Wanted tells whether ctx comes from Context.
func Wanted(ctx context.Context) bool { return ctx.Value(key{}) != nil }
