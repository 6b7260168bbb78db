package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Collect runs a query and collects its rows with scan, such as pgx.RowToStructByName[T]. It maps
// errors with Explain.
func Collect[T any](ctx context.Context, db DB, scan pgx.RowToFunc[T], sql string, args ...any) ([]T, error) {
	rows, _ := db.Query(ctx, sql, args...) // CollectRows returns its error
	found, err := pgx.CollectRows(rows, scan)
	return found, Explain(err)
}

// CollectOne runs a query that returns exactly one row and scans it. It returns ErrNotFound if the
// query returns no row, and maps other errors with Explain.
func CollectOne[T any](ctx context.Context, db DB, scan pgx.RowToFunc[T], sql string, args ...any) (T, error) {
	rows, _ := db.Query(ctx, sql, args...) // CollectExactlyOneRow returns its error
	found, err := pgx.CollectExactlyOneRow(rows, scan)
	return found, Explain(err)
}

// collectWithModel is like Collect and also returns the embedding model of the database. Both
// queries share one round trip and, if db is a transaction with a fixed snapshot, one snapshot.
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

// ForEach runs a query and calls do for each row after scanning it into dest. It maps errors with
// Explain.
func ForEach(ctx context.Context, db DB, dest []any, do func() error, sql string, args ...any) error {
	rows, _ := db.Query(ctx, sql, args...) // ForEachRow returns its error
	_, err := pgx.ForEachRow(rows, dest, do)
	return Explain(err)
}

// Exec runs a statement and returns the number of rows affected. It maps errors with Explain.
func Exec(ctx context.Context, db DB, sql string, args ...any) (int64, error) {
	tag, err := db.Exec(ctx, sql, args...)
	return tag.RowsAffected(), Explain(err)
}
