// Package store holds the SQL that Oxbow's Go code runs, one file per aggregate. It takes and
// returns domain types and maps PostgreSQL errors to typed ones (see errors.go). It holds no state.
//
// The package is not part of the API and may change in any release. Applications use package oxbow.
package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB runs statements. *pgxpool.Pool, *pgx.Conn and pgx.Tx implement it.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults
}
