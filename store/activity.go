package store

import "context"

// FoldActivity adds up to limit reports of oxbow.touch to their memories. It returns the
// number of reports taken. Fewer than limit means that none are left.
func FoldActivity(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "fold reported uses", `select oxbow.fold_activity($1)`, limit)
}

// OldestActivity returns the id of the oldest report of oxbow.touch that waits to be folded, or 0
// if none waits.
func OldestActivity(ctx context.Context, db DB) (int64, error) {
	return one[int64](ctx, db, "look for reported uses", `select min(id) from oxbow.activity`)
}
