package oxbow_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/worker"
)

// bundle is a test's own migrated database, with a client that connects as its owner, as a single-tenant
// application does.
type bundle struct {
	dsn    string
	pool   *pgxpool.Pool
	client *oxbow.Client
}

func setup(t *testing.T, options ...oxbow.Option) *bundle {
	t.Helper()
	b := &bundle{dsn: pgtest.Database(t)}
	b.pool = pgtest.Open(t, b.dsn, "")
	b.client = newClient(t, b.pool, options...)
	return b
}

func newClient(t *testing.T, db oxbow.DB, options ...oxbow.Option) *oxbow.Client {
	t.Helper()
	client, err := oxbow.New(db, append([]oxbow.Option{oxbow.WithLogger(slog.New(slog.DiscardHandler))}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Logf("close the client: %v", err)
		}
	})
	return client
}

// begin returns a transaction that is rolled back at the end of the test if it is still open.
func begin(t *testing.T, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// app returns a client with the rights of an application's login.
func (b *bundle) app(t *testing.T) *oxbow.Client {
	return newClient(t, pgtest.Open(t, b.dsn, "oxbow_app"))
}

// work runs a worker with a login of oxbow_worker until it is idle.
func (b *bundle) work(t *testing.T) {
	t.Helper()
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker")})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))
}

// remember stores a memory, with defaults for the fields that are not set.
func (b *bundle) remember(t *testing.T, m oxbow.NewMemory) uuid.UUID {
	t.Helper()
	if m.UserID == "" {
		m.UserID = "ann"
	}
	if m.Content == "" {
		m.Content = "Ann plays the cello in an orchestra."
	}
	id, err := b.client.Remember(t.Context(), m)
	require.NoError(t, err)
	return id
}

// count returns the number that a query selects.
func (b *bundle) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// recall returns the contents of the recalled memories.
func recall(t *testing.T, client *oxbow.Client, q oxbow.Query) []string {
	t.Helper()
	if q.UserID == "" {
		q.UserID = "ann"
	}
	found, err := client.Recall(t.Context(), q)
	require.NoError(t, err)
	contents := []string{}
	for _, m := range found.Memories {
		contents = append(contents, m.Content)
	}
	return contents
}
