package documents_test

import (
	"log/slog"
	"testing"

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

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{dsn: pgtest.Database(t)}
	b.pool = pgtest.Open(t, b.dsn, "")
	b.client = newClient(t, b.pool)
	return b
}

func newClient(t *testing.T, pool *pgxpool.Pool) *oxbow.Client {
	t.Helper()
	client, err := oxbow.New(pool, oxbow.WithoutUseReports(), oxbow.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	return client
}

// work runs a worker with a login of oxbow_worker until it is idle.
func (b *bundle) work(t *testing.T) {
	t.Helper()
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker")})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))
}

// count returns the number that a query selects.
func (b *bundle) count(t *testing.T, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// recall returns the contents of the chunks of ann's that a query recalls.
func (b *bundle) recall(t *testing.T, query string) (contents []string) {
	t.Helper()
	found, err := b.client.Recall(t.Context(), oxbow.Query{UserID: "ann", Text: query,
		Types: []oxbow.MemoryType{oxbow.TypeDocument}})
	require.NoError(t, err)
	for _, m := range found.Memories {
		contents = append(contents, m.Content)
	}
	return contents
}

// letters is an endless text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
