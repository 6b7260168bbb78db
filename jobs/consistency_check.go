package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/store"
)

// ConsistencyCheckArgs are empty: the job is about everybody.
type ConsistencyCheckArgs struct{}

// Kind is "consistency_check".
func (ConsistencyCheckArgs) Kind() string { return "consistency_check" }

// InsertOpts are those of the kind.
func (a ConsistencyCheckArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "compares traits with their events and evidence",
	Every: 24 * time.Hour,
	// This leaves time to write down how far it got.
	Timeout: func(Config) time.Duration { return 2 * checkTime },
}, func(c Config) river.Worker[ConsistencyCheckArgs] {
	return &consistencyWorker{db: c.DB, now: c.Now, log: c.Logger}
})

// What one run does at most.
const (
	checkTime     = 2 * time.Minute
	checkUsers    = 100 // between two looks at the clock
	checkProblems = 20  // that are logged one by one
)

// consistencyWorker compares traits with their events and their evidence, as oxbow check does. It repairs nothing: what
// differs was changed by somebody, who should be asked first.
type consistencyWorker struct {
	river.WorkerDefaults[ConsistencyCheckArgs]
	db  store.DB
	now func() time.Time
	log *slog.Logger
}

// Work looks at the next users, goes on there the next time, and begins anew after the last.
func (w *consistencyWorker) Work(ctx context.Context, _ *river.Job[ConsistencyCheckArgs]) error {
	problems := 0
	found := func(p consistency.Problem) error {
		if problems++; problems <= checkProblems {
			w.log.ErrorContext(ctx, "a trait contradicts its events or its evidence", "user", p.UserID, "trait", p.TraitID, "kind", p.Kind,
				"found", p.Found, "expected", p.Expected)
		}
		return nil
	}
	defer func() {
		if problems > checkProblems {
			w.log.ErrorContext(ctx, "more traits contradict their events or their evidence: oxbow check shows all", "number", problems)
		}
	}()
	for begun := time.Now(); time.Since(begun) < checkTime; {
		last, err := consistency.CheckNext(ctx, w.db, w.now(), checkUsers, found)
		if err != nil || last {
			return err
		}
	}
	return nil
}
