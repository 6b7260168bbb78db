package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Collect runs a query and collects its rows with scan, such as pgx.RowToStructByName[T]. Errors are those of Explain.
func Collect[T any](ctx context.Context, db DB, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, scan)
	return found, Explain(err)
}

// CollectOne runs a query that returns exactly one row, and scans it. ErrNotFound if it returns none; other errors are
// those of Explain.
func CollectOne[T any](ctx context.Context, db DB, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // CollectExactlyOneRow returns its error
	found, err := pgx.CollectExactlyOneRow(rows, scan)
	return found, Explain(err)
}

// Exec runs a statement and returns how many rows it changed. Errors are those of Explain.
func Exec(ctx context.Context, db DB, sql string, args ...any) (int64, error) {
	tag, err := db.Exec(ctx, sql, args...)
	return tag.RowsAffected(), Explain(err)
}
