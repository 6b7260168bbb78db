package store

import (
	"context"
	"time"
)

// Settled counts the traits that SettleTraits looked at, and those that dissolved.
type Settled struct{ Settled, Dissolved int64 }

// SettleTraits applies decay to at most limit due traits that no other transaction has locked.
func SettleTraits(ctx context.Context, db DB, now time.Time, limit int) (Settled, error) {
	return one[Settled](ctx, db, "settle traits",
		`select settled, dissolved from oxbow.settle_traits($1, $2)`, now, limit)
}

// FollowPolicies recomputes the next stage transition of at most limit traits under the current
// policies and returns their number. Fewer than limit means that all traits are up to date.
func FollowPolicies(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "follow a change of policies", `select oxbow.follow_policies($1)`, limit)
}
