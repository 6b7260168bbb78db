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

// collectWithModel is Collect, and returns the model of the database's vectors as well, in the same round trip and,
// if db is a transaction, the same snapshot.
func collectWithModel[T any](ctx context.Context, db DB, scan pgx.RowToFunc[T], sql string, args ...any) (
	found []T, model EmbeddingModel, err error,
) {
	batch := &pgx.Batch{}
	batch.Queue(`select value from oxbow.settings where key = 'embedding'`).QueryRow(func(row pgx.Row) error {
		return row.Scan(&model)
	})
	batch.Queue(sql, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scan)
		return err
	})
	err = db.SendBatch(ctx, batch).Close()
	return found, model, Explain(err)
}

// ForEach runs a query and calls do for each row, after the row was scanned into dest. Errors are those of Explain.
func ForEach(ctx context.Context, db DB, dest []any, do func() error, sql string, args ...any) error {
	rows, _ := db.Query(ctx, sql, args...) // ForEachRow returns its error
	_, err := pgx.ForEachRow(rows, dest, do)
	return Explain(err)
}

// Exec runs a statement and returns how many rows it changed. Errors are those of Explain.
func Exec(ctx context.Context, db DB, sql string, args ...any) (int64, error) {
	tag, err := db.Exec(ctx, sql, args...)
	return tag.RowsAffected(), Explain(err)
}
