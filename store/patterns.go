package store

import (
	"context"
	"time"
)

// PatternBudget is what the next release of patterns across users may spend.
type PatternBudget struct {
	Enabled       bool
	Due           bool
	Epsilon       float64
	Spent, Budget float64 // ε
	UsersMin      float64
	PerUser       int
}

// PatternAccount is the account of the privacy budget.
type PatternAccount struct {
	Enabled    bool           `json:"enabled"`              // the setting patterns is on
	Epsilon    float64        `json:"epsilon"`              // that a release spends
	Spent      float64        `json:"spent"`                // by the releases of pattern_budget_days
	Budget     float64        `json:"budget"`               // that these may spend
	UsersMin   float64        `json:"users_min"`            // that share a pattern before it is published
	PerUser    int            `json:"per_user"`             // patterns of one user that count at most
	ReleasedAt time.Time      `json:"released_at,omitzero"` // the latest release
	DueAt      time.Time      `json:"due_at,omitzero"`      // the next
	Patterns   []PatternCount `json:"patterns" db:"-"`      // of the latest release, the most frequent first
}

// ReadPatternAccount returns the account at a moment, with the latest release.
func ReadPatternAccount(ctx context.Context, db DB, now time.Time) (a PatternAccount, err error) {
	a, err = one[PatternAccount](ctx, db, "read the privacy budget", `select * from oxbow.pattern_account($1)`, now)
	if err == nil {
		a.Patterns, err = list[PatternCount](ctx, db, "read the latest release", `
			select pattern, context, users from oxbow.pattern_counts order by users desc, pattern, context`)
	}
	return a, err
}

// PatternCount is the number of users with a pattern.
type PatternCount struct {
	Pattern string `json:"pattern"`
	Context string `json:"context"`
	Users   int64  `json:"users"` // in a release, with noise
}

// ReadPatternBudget locks the account of the privacy budget until the end of the transaction, and returns it.
func ReadPatternBudget(ctx context.Context, tx DB, now time.Time) (PatternBudget, error) {
	return one[PatternBudget](ctx, tx, "read the privacy budget", `select * from oxbow.pattern_budget($1)`, now)
}

// CountPatterns returns how many users who share their patterns have each, without noise: never to be published.
func CountPatterns(ctx context.Context, tx DB, vocabulary, contexts []string, perUser int) ([]PatternCount, error) {
	return list[PatternCount](ctx, tx, "count patterns", `select * from oxbow.count_patterns($1, $2, $3)`, vocabulary,
		contexts, perUser)
}

// PublishPatterns replaces the latest release by noisy counts, and enters what it spends into the account.
func PublishPatterns(ctx context.Context, tx DB, now time.Time, b PatternBudget, counted int,
	noisy []PatternCount) error {
	patterns, contexts, users := make([]string, len(noisy)), make([]string, len(noisy)), make([]int64, len(noisy))
	for i, c := range noisy {
		patterns[i], contexts[i], users[i] = c.Pattern, c.Context, c.Users
	}
	_, err := run(ctx, tx, "publish patterns", `select oxbow.publish_patterns($1, $2, $3, $4, $5, $6, $7, $8)`, now,
		b.Epsilon, b.UsersMin, b.PerUser, counted, patterns, contexts, users)
	return err
}

// WithdrawPatterns deletes the latest release.
func WithdrawPatterns(ctx context.Context, tx DB) (int64, error) {
	return run(ctx, tx, "withdraw patterns", `delete from oxbow.pattern_counts`)
}
