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

// SettledLevels counts the memories that SettleLevels looked at, compressed, raised and forgot.
type SettledLevels struct{ Settled, Compressed, Raised, Forgotten int64 }

// SettleLevels writes the levels of at most limit memories that are due and that no other transaction has locked.
func SettleLevels(ctx context.Context, db DB, now time.Time, limit int) (SettledLevels, error) {
	return one[SettledLevels](ctx, db, "settle the levels of memories",
		`select settled, compressed, raised, forgotten from oxbow.settle_levels($1, $2)`, now, limit)
}

// WalkLevels schedules the levels of at most limit memories that became old enough, and returns their number. Fewer
// than limit means that it has seen all.
func WalkLevels(ctx context.Context, db DB, now time.Time, limit int) (int, error) {
	return one[int](ctx, db, "schedule the levels of memories", `select oxbow.walk_levels($1, $2)`, now, limit)
}
