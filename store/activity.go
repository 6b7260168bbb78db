package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// FoldActivity adds up to limit uses that oxbow.touch reported to their memories, and returns how many it took: fewer
// than limit means that there are no more.
func FoldActivity(ctx context.Context, db DB, limit int) (int, error) {
	taken, err := CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.fold_activity($1::integer)::bigint`, limit)
	if err != nil {
		return 0, fmt.Errorf("add up the uses of memories: %w", err)
	}
	return taken, nil
}

// OldestActivity returns the number of the oldest report of oxbow.touch that waits to be folded, or 0.
func OldestActivity(ctx context.Context, db DB) (id int64, err error) {
	err = db.QueryRow(ctx, `select coalesce(min(id), 0) from oxbow.activity`).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("look for uses of memories: %w", err)
	}
	return id, nil
}
