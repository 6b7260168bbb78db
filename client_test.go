package oxbow_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, err := oxbow.New(nil)
	require.ErrorContains(t, err, "the database is nil")
	for _, option := range []oxbow.Option{oxbow.WithEmbedder(nil), oxbow.WithLogger(nil), oxbow.WithEmbedTimeout(0),
		oxbow.WithEmbedTimeout(-1)} {
		_, err := oxbow.New(&pgxpool.Pool{}, option)
		require.ErrorContains(t, err, "oxbow: With")
	}
	for _, dimension := range []int{0, 3585} {
		_, err = oxbow.NewEmbedder(oddVectors{}, "magic:m", dimension)
		require.ErrorContains(t, err, "must be 1 to 3584")
	}
	_, err = oxbow.NewEmbedder(nil, "magic:m", 2)
	require.ErrorContains(t, err, "the embedder is nil")
	_, err = oxbow.NewEmbedder(oddVectors{}, "", 2)
	require.ErrorContains(t, err, "the model is empty")
}

// oddVectors embeds a text as a vector that does not have length 1, and an empty text as zeros.
type oddVectors struct{}

func (oddVectors) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 2)
		if text != "" {
			vectors[i] = []float32{3, 4}
		}
	}
	return vectors, nil
}

func TestNewEmbedder(t *testing.T) {
	t.Parallel()
	e, err := oxbow.NewEmbedder(oddVectors{}, "magic:m", 2)
	require.NoError(t, err)
	require.Equal(t, "magic:m", e.Model())
	require.Equal(t, 2, e.Dimension())
	vectors, err := e.Embed(t.Context(), []string{"tea", ""})
	require.ErrorContains(t, err, "a vector is all zero")
	require.Equal(t, [][]float32{{0.6, 0.8}, nil}, vectors, "of length 1")
}

func TestDatabaseThatIsNotReady(t *testing.T) {
	t.Parallel()
	nowhere, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none?connect_timeout=2")
	require.NoError(t, err)
	t.Cleanup(nowhere.Close)
	cfg := pgtest.Open(t, pgtest.Empty(t), "").Config()
	cfg.ConnConfig.Database = "oxbow_that_nobody_made"
	elsewhere := pgtest.PoolOf(t, cfg)
	in := func(change string) *pgxpool.Pool {
		pool := pgtest.Pool(t)
		_, err := pool.Exec(t.Context(), change)
		require.NoError(t, err)
		return pool
	}
	for name, test := range map[string]struct {
		pool *pgxpool.Pool
		is   error
		todo string
	}{
		"unreachable":  {nowhere, oxbow.ErrUnreachable, "check that PostgreSQL runs and that DATABASE_URL names it"},
		"no database":  {elsewhere, oxbow.ErrUnreachable, "create the database, or name another one"},
		"empty":        {pgtest.Open(t, pgtest.Empty(t), ""), oxbow.ErrNotMigrated, "run oxbow migrate up"},
		"older":        {in(`update oxbow.schema_version set version = 1`), oxbow.ErrBehind, "run oxbow migrate up"},
		"unreleased":   {in(`drop table oxbow.policy_definitions cascade`), oxbow.ErrBehind, "unreleased schema"},
		"newer":        {in(`update oxbow.schema_version set version = 99`), oxbow.ErrAhead, "use a newer Oxbow"},
		"no extension": {in(`drop extension vector cascade`), oxbow.ErrNoExtension, "create extension vector"},
		"no rights":    {pgtest.Open(t, pgtest.Database(t), "pg_read_all_stats"), oxbow.ErrDenied, "member of oxbow_app"},
	} {
		client := newClient(t, test.pool)
		_, err := client.Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "x"})
		require.ErrorIs(t, err, test.is, name)
		require.ErrorContains(t, err, test.todo, name)
		_, err = client.Recall(t.Context(), oxbow.Query{UserID: "ann", Text: "x"})
		require.ErrorIs(t, err, test.is, name)
		_, err = client.Get(t.Context(), "ann", uuid.New())
		require.ErrorIs(t, err, test.is, name)
	}
}

// The check of the schema does not abort the caller's transaction.
func TestCheckInATransaction(t *testing.T) {
	t.Parallel()
	pool := pgtest.Open(t, pgtest.Empty(t), "")
	tx := begin(t, pool)
	_, err := newClient(t, pool).WithTx(tx).Get(t.Context(), "ann", uuid.New())
	require.ErrorIs(t, err, oxbow.ErrNotMigrated)
	_, err = tx.Exec(t.Context(), `select 1`)
	require.NoError(t, err)
}

// A connection of the pool that broke while it was idle fails no call in a transaction, and no recall.
func TestIdleConnectionBreaks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cfg := b.pool.Config()
	cfg.MaxConns = 1
	pool := pgtest.PoolOf(t, cfg)
	client := newClient(t, pool, oxbow.WithoutUseReports())
	for range 3 {
		for _, call := range []func() error{
			func() error {
				_, err := client.SetValue(t.Context(), "ann", "occupation", "baker")
				return err
			},
			func() error {
				_, err := client.Recall(t.Context(), oxbow.Query{UserID: "ann", Text: "x"})
				return err
			},
			func() error {
				_, err := client.Traits(t.Context(), "ann", oxbow.TraitsOptions{})
				return err
			},
		} {
			require.NoError(t, call())
			_, err := b.pool.Exec(t.Context(), `select pg_terminate_backend(pid, 5000) from pg_stat_activity
				where datname = current_database() and pid <> pg_backend_pid()`)
			require.NoError(t, err)
			require.NoError(t, call())
		}
	}
}

func TestConnectionThatBreaks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	tx := begin(t, b.pool)
	_, err := pgtest.Open(t, b.dsn, "").Exec(t.Context(), `select pg_terminate_backend($1, 5000)`, tx.Conn().PgConn().PID())
	require.NoError(t, err)
	_, err = b.client.WithTx(tx).Remember(t.Context(), oxbow.NewMemory{UserID: "ann", Content: "x"})
	require.ErrorIs(t, err, oxbow.ErrUnreachable)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = b.client.Remember(ctx, oxbow.NewMemory{UserID: "ann", Content: "x"})
	require.ErrorIs(t, err, context.Canceled)
}
