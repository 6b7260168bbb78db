package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SettleTraits applies what time did to traits that are due, at most limit that nobody else holds, and returns how
// many it took, and how many of these dissolved.
func SettleTraits(ctx context.Context, db DB, now time.Time, limit int) (settled, dissolved int64, err error) {
	if err := db.QueryRow(ctx, `select settled, dissolved from oxbow.settle_traits($1, $2)`, now, limit).Scan(&settled,
		&dissolved); err != nil {
		return 0, 0, fmt.Errorf("settle traits: %w", err)
	}
	return settled, dissolved, nil
}

// FollowPolicies computes anew, for at most limit traits, when they change their stage, and returns
// how many it took: fewer than limit mean that all follow the policies in force.
func FollowPolicies(ctx context.Context, db DB, limit int) (int, error) {
	return CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.follow_policies($1)`, limit)
}
