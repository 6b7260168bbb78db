package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/consistency"
)

// ConsistencyCheckArgs are the arguments of the job. They are empty because the job covers all users.
type ConsistencyCheckArgs struct{}

// Kind returns "consistency_check".
func (ConsistencyCheckArgs) Kind() string { return "consistency_check" }

// InsertOpts returns the insert options of the kind.
func (a ConsistencyCheckArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:  "compares traits with their events and evidence, and memories with their levels and originals",
	Every: 24 * time.Hour,
	// The margin over checkTime lets the run record its progress.
	Timeout: func(Config) time.Duration { return 2 * checkTime },
}, func(c Config) worker[ConsistencyCheckArgs] { return &consistencyWorker{c} })

// Limits of one run.
const (
	checkTime     = 2 * time.Minute
	checkUsers    = 100 // between two checks of the time
	checkProblems = 20  // logged individually
)

// consistencyWorker does the same as oxbow check, but computes the levels of some memories only. It repairs
// nothing: somebody changed the rows, and should be asked first.
type consistencyWorker struct{ Config }

// Work checks users from where the last run stopped, and starts again after the last user.
func (w *consistencyWorker) Work(ctx context.Context, _ *river.Job[ConsistencyCheckArgs]) error {
	problems := 0
	found := func(p consistency.Problem) error {
		if problems++; problems <= checkProblems {
			message, id := "a trait contradicts its events or its evidence", slog.Any("trait", p.TraitID)
			if p.TraitID == uuid.Nil {
				message, id = "a memory is not kept as it should be", slog.Any("memory", p.MemoryID)
			}
			w.Logger.ErrorContext(ctx, message, "user", p.UserID, id, "kind", p.Kind, "found", p.Found,
				"expected", p.Expected)
		}
		return nil
	}
	defer func() {
		if problems > checkProblems {
			w.Logger.ErrorContext(ctx, "there are more problems: oxbow check shows all",
				"number", problems)
		}
	}()
	for begun := time.Now(); time.Since(begun) < checkTime; {
		last, err := consistency.CheckNext(ctx, w.DB, w.Now(), checkUsers, found)
		if err != nil || last {
			return err
		}
	}
	return nil
}
