package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"
)

// Kind describes a kind of job. Its file calls describe; everything that treats kinds alike derives
// from that: registration and timeouts, periodic jobs and their schedules, metrics, what waits for
// which provider, and the table in docs/jobs.md.
type Kind struct {
	// Name is that of the arguments. describe sets it.
	Name string
	// Does says what a job of the kind does, for a list.
	Does string
	// Queue has the workers that it runs on. Default: QueueDefault.
	Queue string
	// Attempts is how often a job is attempted. Default: 25, and 1 for a periodic kind, since the
	// next job comes with the clock.
	Attempts int
	// Unique allows one live job of the same arguments. A periodic kind is always unique.
	Unique bool
	// Every is how often a periodic kind runs, unless a row in oxbow.job_schedules says otherwise.
	// 0: something causes its jobs.
	Every time.Duration
	// Timeout limits a job. Default: 30 seconds, for what asks nothing outside the database.
	Timeout func(Config) time.Duration
	// Embedder and Reasoner say which provider its jobs wait for while that is down.
	Embedder, Reasoner bool
	// OfUser says that its arguments name a user, so that errors of its jobs may quote that user's
	// data; those of other kinds may quote anybody's. describe sets it. Erasure goes by the
	// arguments themselves.
	OfUser bool

	args     river.JobArgs
	register func(*river.Workers, Config)
}

var described = map[string]*Kind{}

// describe adds a kind whose jobs have arguments of type T and are worked by what worker returns.
func describe[T river.JobArgs](k Kind, worker func(Config) river.Worker[T]) *Kind {
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
	if k.Timeout == nil {
		k.Timeout = func(Config) time.Duration { return Timeout }
	}
	var fields map[string]any
	if encoded, err := json.Marshal(args); err != nil || json.Unmarshal(encoded, &fields) != nil {
		panic("the arguments of " + k.Name + " cannot be encoded") // a mistake in this package
	}
	_, k.OfUser = fields["user_id"]
	k.register = func(workers *river.Workers, c Config) { river.AddWorker(workers, timed[T]{worker(c), k.Timeout(c)}) }
	described[k.Name] = &k
	return &k
}

// timed is a worker with the timeout of its kind.
type timed[T river.JobArgs] struct {
	river.Worker[T]
	limit time.Duration
}

func (w timed[T]) Timeout(*river.Job[T]) time.Duration { return w.limit }

// Kinds returns all kinds of jobs, by name.
func Kinds() []*Kind {
	kinds := make([]*Kind, 0, len(described))
	for _, k := range described {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b *Kind) int { return strings.Compare(a.Name, b.Name) })
	return kinds
}

// KindOf returns the kind of a name, nil if it is unknown.
func KindOf(name string) *Kind { return described[name] }

// Names returns the names of the kinds that match.
func Names(match func(*Kind) bool) []string {
	names := []string{}
	for _, k := range Kinds() {
		if match(k) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Periodic reports whether jobs of the kind come with the clock, and concern everybody.
func (k *Kind) Periodic() bool { return k != nil && k.Every > 0 }

// Period writes how often a periodic kind runs, such as "every 10 seconds".
func (k *Kind) Period() string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case k.Every == unit.of:
			return "every " + unit.name
		case k.Every%unit.of == 0:
			return fmt.Sprintf("every %d %ss", k.Every/unit.of, unit.name)
		}
	}
	return "every " + k.Every.String()
}

// Args returns the arguments of a periodic job.
func (k *Kind) Args() river.JobArgs { return k.args }

// insertOpts are the options of a job of a kind.
func insertOpts(args river.JobArgs) river.InsertOpts {
	k := described[args.Kind()]
	opts := river.InsertOpts{Queue: k.Queue, MaxAttempts: k.Attempts}
	if k.Unique || k.Periodic() {
		opts.UniqueOpts = river.UniqueOpts{ByArgs: k.Unique, ByState: live()}
	}
	return opts
}
