package sqlcode_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// db is a transaction, a connection or a pool.
type db interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// row holds the columns of a memory that matter to a test.
type row map[string]any

// with returns the row with the columns of other added.
func (r row) with(other row) row {
	all := maps.Clone(r)
	maps.Copy(all, other)
	return all
}

// statement returns an INSERT of the row and its arguments.
func (r row) statement(table string) (string, []any) {
	names := slices.Sorted(maps.Keys(r))
	places, args := make([]string, len(names)), make([]any, len(names))
	for i, name := range names {
		places[i], args[i] = fmt.Sprintf("$%d", i+1), r[name]
	}
	return fmt.Sprintf("insert into %s (%s) values (%s)", table, strings.Join(names, ", "), strings.Join(places, ", ")),
		args
}

// ann returns a user of the test's own. Tests share a database and would wait for each other's rows.
func ann(t *testing.T) string { return "ann in " + t.Name() }

// bob returns a second user.
func bob(t *testing.T) string { return "bob in " + t.Name() }

// remember inserts a memory and returns its id. It inserts a trait as an import does.
func remember(t testing.TB, tx db, r row) string {
	t.Helper()
	if r["memory_type"] == "trait" {
		exec(t, tx, "select set_config('oxbow.origin', 'import', true)")
	}
	if _, ok := r["content"]; !ok {
		r = r.with(row{"content": "A boat on the river."})
	}
	sql, args := r.statement("oxbow.memories")
	return one[string](t, tx, sql+" returning id::text", args...)
}

// index does the work of the job embed for all of a user's memories, except for vectors.
func index(t testing.TB, tx db, user string) []string {
	t.Helper()
	return all[string](t, tx, `
		select i.id::text
		  from oxbow.index_memories(array[$1], array(select id from oxbow.memories where user_id = $1)) i`, user)
}

func exec(t testing.TB, tx db, sql string, args ...any) {
	t.Helper()
	_, err := tx.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

func one[T any](t testing.TB, tx db, sql string, args ...any) T {
	t.Helper()
	var value T
	require.NoError(t, tx.QueryRow(t.Context(), sql, args...).Scan(&value), sql)
	return value
}

// all returns the single column of all rows.
func all[T any](t testing.TB, tx db, sql string, args ...any) []T {
	t.Helper()
	rows, err := tx.Query(t.Context(), sql, args...)
	require.NoError(t, err, sql)
	values, err := pgx.CollectRows(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return values
}

// fails runs a statement that must fail and returns its error. The transaction stays usable.
func fails(t *testing.T, tx db, sql string, args ...any) *pgconn.PgError {
	t.Helper()
	inner, err := tx.Begin(t.Context())
	require.NoError(t, err)
	_, err = inner.Exec(t.Context(), sql, args...)
	require.NoError(t, inner.Rollback(t.Context()))
	var pgErr *pgconn.PgError
	require.True(t, errors.As(err, &pgErr), "no error of the database but %v: %s", err, sql)
	return pgErr
}

// connect opens a connection that is closed when the test ends.
func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// begin opens a transaction on its own connection. A statement that waits for a lock in it fails.
func begin(t *testing.T, dsn string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, dsn).Begin(t.Context())
	require.NoError(t, err)
	exec(t, tx, "set local statement_timeout = '1min'")
	exec(t, tx, "set local lock_timeout = '1s'")
	return tx
}

// ago returns a moment before a fixed one.
func ago(d time.Duration) time.Time {
	return time.Date(2025, 10, 12, 12, 0, 0, 0, time.UTC).Add(-d)
}

// axis returns the text of a vector with 1 at the given places and 0 elsewhere.
func axis(places ...int) string {
	v := slices.Repeat([]string{"0"}, 1024)
	for _, i := range places {
		v[i] = "1"
	}
	return "[" + strings.Join(v, ",") + "]"
}

func addVector(t testing.TB, tx db, user, kind, id, vector string) {
	t.Helper()
	exec(t, tx,
		`insert into oxbow.memory_vectors (user_id, memory_type, memory_id, embedding)
			values ($1, $2, $3, $4::text::halfvec)`,
		user, kind, id, vector)
}
