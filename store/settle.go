package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SettleTraits applies decay to at most limit due traits that no other transaction has locked. It
// returns the number of traits settled and how many of them dissolved.
func SettleTraits(ctx context.Context, db DB, now time.Time, limit int) (settled, dissolved int64, err error) {
	if err := db.QueryRow(ctx, `select settled, dissolved from oxbow.settle_traits($1, $2)`, now, limit).Scan(&settled,
		&dissolved); err != nil {
		return 0, 0, fmt.Errorf("settle traits: %w", err)
	}
	return settled, dissolved, nil
}

// FollowPolicies recomputes the next stage transition of at most limit traits under the current
// policies and returns their number. Fewer than limit means that all traits are up to date.
func FollowPolicies(ctx context.Context, db DB, limit int) (int, error) {
	return CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.follow_policies($1)`, limit)
}
