package store

import (
	"context"
	"time"
)

// TrimWeightLog deletes at most limit rows of the log of weights that are older than the policy weight_log_days, and
// returns their number. Fewer than limit means that none are left.
func TrimWeightLog(ctx context.Context, db DB, now time.Time, limit int) (int, error) {
	return one[int](ctx, db, "trim the log of weights", `select oxbow.trim_weight_log($1, $2)`, now, limit)
}
