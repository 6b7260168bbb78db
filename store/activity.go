package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// FoldActivity adds up to limit uses reported to oxbow.touch to their memories. It returns the
// number of uses taken. Fewer than limit means that none are left.
func FoldActivity(ctx context.Context, db DB, limit int) (int, error) {
	taken, err := CollectOne(ctx, db, pgx.RowTo[int], `select oxbow.fold_activity($1::integer)::bigint`, limit)
	if err != nil {
		return 0, fmt.Errorf("add up the uses of memories: %w", err)
	}
	return taken, nil
}

// OldestActivity returns the id of the oldest report of oxbow.touch that waits to be folded, or 0
// if none waits.
func OldestActivity(ctx context.Context, db DB) (id int64, err error) {
	err = db.QueryRow(ctx, `select coalesce(min(id), 0) from oxbow.activity`).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("look for uses of memories: %w", err)
	}
	return id, nil
}
