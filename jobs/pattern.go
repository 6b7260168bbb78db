package jobs

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/privacy"
	"github.com/oxbow-memory/oxbow/store"
)

// PatternArgs are the arguments of the job. They are empty because the job covers all users.
type PatternArgs struct{}

// Kind returns "pattern".
func (PatternArgs) Kind() string { return "pattern" }

// InsertOpts returns the insert options of the kind.
func (a PatternArgs) InsertOpts() river.InsertOpts { return insertOpts(a) }

var _ = describe(Kind{
	Does:    "counts the traits of users who share their patterns, and publishes the counts with noise",
	Every:   time.Hour,
	Timeout: func(Config) time.Duration { return 10 * time.Minute },
}, func(c Config) worker[PatternArgs] { return &patternWorker{Config: c} })

// patternContexts are the contexts of traits: together with Config.Patterns, what is counted.
var patternContexts = []string{"work", "personal", "social", "learning", "general", "contextual"}

// mistake bounds the probability that a release contains a pattern of fewer than pattern_users_min users.
const mistake = 0.01

type patternWorker struct {
	Config
	noise privacy.Source
}

// Work publishes a release if one is due and the privacy budget allows it. The release and its entry in the account are
// one transaction, so that nothing is published that was not paid for, and a crash spends nothing.
func (w *patternWorker) Work(ctx context.Context, _ *river.Job[PatternArgs]) error {
	err := pgx.BeginFunc(ctx, w.DB, func(tx pgx.Tx) error {
		now := w.Now()
		b, err := store.ReadPatternBudget(ctx, tx, now)
		if err != nil {
			return err
		}
		if !b.Enabled {
			_, err := store.WithdrawPatterns(ctx, tx)
			return err
		}
		if !b.Due {
			return nil
		}
		if b.Spent+b.Epsilon > b.Budget+1e-9 {
			w.Logger.WarnContext(ctx, "no release of patterns: the privacy budget is exhausted", "epsilon", b.Epsilon,
				"spent", b.Spent, "budget", b.Budget)
			return nil
		}
		exact, err := store.CountPatterns(ctx, tx, w.Patterns, patternContexts, b.PerUser)
		if err != nil {
			return err
		}
		noisy, err := w.release(b, exact)
		if err != nil {
			return err
		}
		if err := store.PublishPatterns(ctx, tx, now, b, len(exact), noisy); err != nil {
			return err
		}
		failpoint.Reach(failpoint.PatternWritten)
		return nil
	})
	failpoint.Reach(failpoint.PatternCommitted)
	return err
}

// release adds noise to every count, zeros too, and keeps those that are over the threshold. One user changes at most
// PerUser counts by one each, so the sum changes by at most PerUser. The threshold sees noisy counts alone, so it costs
// no privacy.
func (w *patternWorker) release(b store.PatternBudget, exact []store.PatternCount) ([]store.PatternCount, error) {
	scale, err := privacy.ScaleOf(b.Epsilon, b.PerUser)
	if err != nil {
		return nil, err
	}
	least := int64(b.UsersMin) + privacy.Margin(scale, len(exact), mistake)
	var noisy []store.PatternCount
	for _, c := range exact {
		x, err := w.noise.Laplace(scale)
		if err != nil {
			return nil, err
		}
		if c.Users += x; c.Users >= least {
			noisy = append(noisy, c)
		}
	}
	return noisy, nil
}
