package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"
)

// Kind describes a kind of job. The kind's file calls describe. Registration, timeouts, schedules,
// retention, metrics, alarms, provider waits and erasure derive from the description; a test compares
// the table in docs/jobs.md with it.
type Kind struct {
	// Name is the kind of the arguments. It is set by describe.
	Name string
	// Does describes what a job of the kind does, in a few words.
	Does string
	// Queue is the queue that jobs of the kind run in. Default: QueueDefault.
	Queue string
	// Attempts is the maximum number of attempts. Default: 25, or 1 for a periodic kind, whose
	// schedule brings the next job.
	Attempts int
	// Unique allows one live job per set of arguments. A periodic kind is always unique.
	Unique bool
	// Every is the period of a periodic kind, unless a row in oxbow.job_schedules overrides it. 0:
	// not periodic.
	Every time.Duration
	// Timeout returns the time limit of a job. Default: 30 seconds, which suits jobs that call
	// nothing outside the database.
	Timeout func(Config) time.Duration
	// Retention is how long completed jobs are kept, at most MaxRetention, which is the default. A
	// kind that completes thousands of jobs a minute keeps them for a shorter time.
	Retention time.Duration
	// Dated reports that jobs are scheduled for dates that may be far away, so that an idle queue may
	// contain them.
	Dated bool
	// Embedder and Reasoner report which provider the jobs depend on. They wait while it is
	// unavailable.
	Embedder, Reasoner bool
	// OfUser reports whether the arguments name a user. Errors of such jobs may quote that user's
	// data; errors of other kinds may quote any user's. Erasure uses the arguments themselves. It
	// is set by describe.
	OfUser bool

	args     river.JobArgs
	register func(*river.Workers, Config)
}

var described = map[string]*Kind{}

// worker works jobs with arguments of type T.
type worker[T river.JobArgs] interface {
	Work(ctx context.Context, job *river.Job[T]) error
}

// describe registers a kind whose jobs have arguments of type T and run on the worker that of
// returns.
func describe[T river.JobArgs](k Kind, of func(Config) worker[T]) *Kind {
	var args T
	k.Name, k.args = args.Kind(), args
	if k.Queue == "" {
		k.Queue = QueueDefault
	}
	if k.Attempts == 0 {
		k.Attempts = river.MaxAttemptsDefault
		if k.Every > 0 {
			k.Attempts = 1
		}
	}
	k.Retention = cmp.Or(k.Retention, MaxRetention)
	if k.Timeout == nil {
		k.Timeout = func(Config) time.Duration { return Timeout }
	}
	var fields map[string]any
	if encoded, err := json.Marshal(args); err != nil || json.Unmarshal(encoded, &fields) != nil {
		panic("the arguments of " + k.Name + " cannot be encoded") // a bug in this package
	}
	_, k.OfUser = fields["user_id"]
	k.register = func(workers *river.Workers, c Config) {
		river.AddWorker(workers, timed[T]{worker: of(c), limit: k.Timeout(c)})
	}
	described[k.Name] = &k
	return &k
}

// timed is a worker with the timeout of its kind.
type timed[T river.JobArgs] struct {
	river.WorkerDefaults[T]
	worker[T]
	limit time.Duration
}

func (w timed[T]) Timeout(*river.Job[T]) time.Duration { return w.limit }

// Kinds returns all kinds of jobs, sorted by name.
func Kinds() []*Kind {
	kinds := make([]*Kind, 0, len(described))
	for _, k := range described {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *Kind) int { return strings.Compare(a.Name, b.Name) })
	return kinds
}

// KindOf returns the kind with the given name, or nil if it is unknown.
func KindOf(name string) *Kind { return described[name] }

// Names returns the names of the kinds that match, sorted.
func Names(match func(*Kind) bool) []string {
	names := []string{}
	for _, k := range Kinds() {
		if match(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Periodic reports whether jobs of the kind run on a schedule. Such jobs cover all users.
func (k *Kind) Periodic() bool { return k != nil && k.Every > 0 }

// Period returns the period of a periodic kind in words, such as "every 10 seconds".
func (k *Kind) Period() string { return "every " + strings.TrimPrefix(inWords(k.Every), "1 ") }

// inWords formats a duration in its largest whole unit, such as "1 hour" or "10 seconds".
func inWords(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == unit.of:
			return "1 " + unit.name
		case d%unit.of == 0:
			return fmt.Sprintf("%d %ss", d/unit.of, unit.name)
		}
	}
	return d.String()
}

// Args returns the arguments of a periodic job.
func (k *Kind) Args() river.JobArgs { return k.args }

// insertOpts returns the insert options of the kind of args.
func insertOpts(args river.JobArgs) river.InsertOpts {
	k := described[args.Kind()]
	opts := river.InsertOpts{Queue: k.Queue, MaxAttempts: k.Attempts}
	if k.Unique || k.Periodic() {
		opts.UniqueOpts = river.UniqueOpts{ByArgs: k.Unique, ByState: live()}
	}
	return opts
}
