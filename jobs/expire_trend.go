package jobs

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/store"
)

// ExpireTrendArgs identifies a trend whose window ends.
type ExpireTrendArgs struct {
	UserID  string    `json:"user_id" river:"unique"`
	TraitID uuid.UUID `json:"trait_id" river:"unique"`
}

// Kind returns "expire_trend".
func (ExpireTrendArgs) Kind() string { return "expire_trend" }

// InsertOpts returns the insert options of the kind.
func (a ExpireTrendArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:   "dissolves a trend that was not reinforced enough",
	Unique: true,
	Dated:  true,
}, func(c Config) worker[ExpireTrendArgs] { return &expireTrendWorker{c} })

// expireTrendWorker dissolves a trend that was not reinforced enough.
type expireTrendWorker struct{ Config }

// Work settles the user's due traits. The trend is one of them unless it has become a candidate or
// was reworded.
func (w *expireTrendWorker) Work(ctx context.Context, job *river.Job[ExpireTrendArgs]) error {
	end, err := store.TrendWindow(ctx, w.DB, job.Args.UserID, job.Args.TraitID)
	if err != nil {
		return err
	}
	if wait := end.Sub(w.Now()); wait > 0 {
		return river.JobSnooze(wait)
	}
	return completing(ctx, w.DB, job, func(tx pgx.Tx) error {
		_, err := store.SettleUser(ctx, tx, job.Args.UserID, w.Now(), uuid.Nil)
		return err
	})
}
