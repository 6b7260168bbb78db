package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"
)

// Open returns a pool of connections that use the role ("" for none) and the settings, given as names and values. The
// pool is closed when the test ends.
func Open(t testing.TB, dsn, role string, settings ...string) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	cfg.MaxConns = 12
	for i := 0; i < len(settings); i += 2 {
		cfg.ConnConfig.RuntimeParams[settings[i]] = settings[i+1]
	}
	if role != "" {
		cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "set role "+pgx.Identifier{role}.Sanitize())
			return err
		}
	}
	return PoolOf(t, cfg)
}

// PoolOf returns a pool with the configuration, which is closed when the test ends.
func PoolOf(t testing.TB, cfg *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	knowUUIDs(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// knowUUIDs lets tests pass slices of google/uuid in every query mode.
func knowUUIDs(cfg *pgxpool.Config) {
	if os.Getenv(modeVariable) == "" {
		return
	}
	setUp := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		pgxuuid.Register(conn.TypeMap())
		conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
		if setUp == nil {
			return nil
		}
		return setUp(ctx, conn)
	}
}

// Dump returns every row of every table of the schema as text, by table. db is a pool, a connection or a transaction.
func Dump(t testing.TB, db interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) map[string]string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		select c.relname::text from pg_class c
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	dump := map[string]string{}
	for _, table := range tables {
		var text string
		require.NoError(t, db.QueryRow(t.Context(), fmt.Sprintf(
			`select coalesce(string_agg(to_jsonb(r)::text, E'\n' order by to_jsonb(r)::text), '') from oxbow.%s r`,
			table)).Scan(&text))
		dump[table] = text
	}
	return dump
}

// RequireRightStatistics checks the term statistics against the terms.
func RequireRightStatistics(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	var wrong int
	require.NoError(t, pool.QueryRow(t.Context(), `
		select count(*) from oxbow.memory_term_stats s full join
		  (select user_id, memory_type, count(*) as documents, sum(len) as terms from oxbow.memory_terms
		  group by 1, 2) t
		  using (user_id, memory_type)
		where (coalesce(s.documents, 0), coalesce(s.terms, 0)) is distinct
		from (coalesce(t.documents, 0), coalesce(t.terms, 0))`).Scan(&wrong))
	require.Zero(t, wrong)
}
