package documents_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/worker"
)

// bundle is a test's own migrated database, with a client that connects as its owner.
type bundle struct {
	dsn    string
	pool   *pgxpool.Pool
	client *oxbow.Client
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{dsn: pgtest.Database(t)}
	b.pool = b.open(t, "", "")
	b.client = newClient(t, b.pool)
	return b
}

func newClient(t *testing.T, pool *pgxpool.Pool) *oxbow.Client {
	t.Helper()
	client, err := oxbow.New(pool, oxbow.WithoutUseReports(), oxbow.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	return client
}

// open returns a pool whose connections use a role and set a user, "" for none.
func (b *bundle) open(t *testing.T, role, user string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(b.dsn)
	require.NoError(t, err)
	cfg.MaxConns = 12
	if user != "" {
		cfg.ConnConfig.RuntimeParams["oxbow.user_id"] = user
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if role == "" {
			return nil
		}
		_, err := conn.Exec(ctx, "set role "+pgx.Identifier{role}.Sanitize())
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// work runs a worker until it is idle.
func (b *bundle) work(t *testing.T) {
	t.Helper()
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: b.dsn})
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

// dump returns every row of every table of the schema as text, by table.
func (b *bundle) dump(t *testing.T) map[string]string {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `
		select c.relname::text from pg_class c
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	dump := map[string]string{}
	for _, table := range tables {
		var text string
		require.NoError(t, b.pool.QueryRow(t.Context(), fmt.Sprintf(
			`select coalesce(string_agg(to_jsonb(r)::text, E'\n' order by to_jsonb(r)::text), '') from oxbow.%s r`,
			table)).Scan(&text))
		dump[table] = text
	}
	return dump
}

// requireRightStatistics checks the term statistics against the terms.
func (b *bundle) requireRightStatistics(t *testing.T) {
	t.Helper()
	require.Zero(t, b.count(t, `
		select count(*) from oxbow.memory_term_stats s full join
		  (select user_id, memory_type, count(*) as documents, sum(len) as terms from oxbow.memory_terms
		  group by 1, 2) t
		  using (user_id, memory_type)
		where (coalesce(s.documents, 0), coalesce(s.terms, 0)) is distinct
		from (coalesce(t.documents, 0), coalesce(t.terms, 0))`))
}

// letters is an endless text.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
