// Package store has the SQL that Oxbow's Go code runs, a file per aggregate. It takes and returns domain types, maps
// the errors of PostgreSQL to typed ones (errors.go), and holds no state.
//
// It is not part of the API, and may change in any release: applications use package oxbow.
package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is what statements run on: a *pgxpool.Pool, a *pgx.Conn, or a pgx.Tx.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}
