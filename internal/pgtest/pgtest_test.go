package pgtest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return conn
}

func databaseExists(t *testing.T, name string) bool {
	t.Helper()
	var there bool
	err := theRun(t).admin.QueryRow(context.Background(), "select exists (select from pg_database where datname = $1)",
		name).Scan(&there)
	require.NoError(t, err)
	return there
}

func TestDatabaseIsMigratedAndDropped(t *testing.T) {
	t.Parallel()
	var names []string
	t.Run("test", func(t *testing.T) {
		for range 2 {
			conn := connect(t, Database(t))
			var name string
			var memories, jobs int
			err := conn.QueryRow(t.Context(), `
				select current_database(), (select count(*) from oxbow.memories), (select count(*)
				from oxbow.river_job)`).
				Scan(&name, &memories, &jobs)
			require.NoError(t, err)
			require.Zero(t, memories)
			require.True(t, databaseExists(t, name))
			names = append(names, name)
		}
	})
	require.Len(t, names, 2)
	require.NotEqual(t, names[0], names[1])
	for _, name := range names {
		require.False(t, databaseExists(t, name))
	}
}

func TestEmptyHasNothing(t *testing.T) {
	t.Parallel()
	conn := connect(t, Empty(t))
	var schemas, extensions int
	err := conn.QueryRow(t.Context(), `
		select (select count(*) from pg_namespace where nspname = 'oxbow'), (select count(*) from pg_extension
		where extname = 'vector')`).
		Scan(&schemas, &extensions)
	require.NoError(t, err)
	require.Zero(t, schemas)
	require.Zero(t, extensions)
}

func TestPoolCommits(t *testing.T) {
	t.Parallel()
	pool := Pool(t)
	_, err := pool.Exec(t.Context(), "create table oxbow.kept as select 7 as n")
	require.NoError(t, err)
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), "select n from oxbow.kept").Scan(&n))
	require.Equal(t, 7, n)
}

func TestTxIsRolledBack(t *testing.T) {
	t.Parallel()
	for range 2 { // the second would fail if the first had left its table
		t.Run("transaction", func(t *testing.T) {
			_, err := Tx(t).Exec(t.Context(), "create table oxbow.passing as select count(*) from oxbow.memories")
			require.NoError(t, err)
		})
	}
}

func TestLeftoversAreDropped(t *testing.T) {
	t.Parallel()
	r := theRun(t)
	mine, err := r.create(t.Context(), r.template)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.drop(context.Background(), mine)) })

	// Under the lock, as in newRun: other programs create templates and drop leftovers at the same
	// time.
	conn := connect(t, r.adminDSN)
	exec := func(sql string, args ...any) {
		_, err := conn.Exec(t.Context(), sql, args...)
		require.NoError(t, err)
	}
	exec("select pg_advisory_lock($1)", int64(advisoryLock))
	leftover := "oxbow_test_run_" + randomHex() + "_1"
	unfinished, unused, recent := templatePrefix+randomHex(), templatePrefix+randomHex(), templatePrefix+randomHex()
	for _, name := range []string{leftover, unfinished, unused, recent} {
		exec("create database " + name)
	}
	exec("comment on database " + unused + " is '" + time.Now().Add(-2*templateLife).UTC().Format(time.RFC3339) + "'")
	exec("comment on database " + recent + " is '" + time.Now().UTC().Format(time.RFC3339) + "'")

	require.NoError(t, dropOld(t.Context(), conn))
	for _, name := range []string{leftover, unfinished, unused} {
		require.False(t, databaseExists(t, name), name)
	}
	for _, name := range []string{recent, r.template, mine} {
		require.True(t, databaseExists(t, name), name)
	}
	require.NoError(t, dropDatabase(t.Context(), conn, recent))
}

func TestCreateAndDrop(t *testing.T) {
	t.Parallel()
	dsn, err := Create(t.Context())
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	require.NoError(t, Drop(t.Context(), dsn))
	require.Error(t, conn.Ping(t.Context()), "disconnected")
	_, err = pgx.Connect(t.Context(), dsn)
	require.Error(t, err)
}

func TestWithDatabase(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"postgres://u:p%40@h:5433/a?sslmode=disable":     "postgres://u:p%40@h:5433/x?sslmode=disable",
		"postgresql://postgres@/a?host=/tmp/s&port=5432": "postgresql://postgres@/x?host=/tmp/s&port=5432",
		"postgres://u@h?dbname=a":                        "postgres://u@h/x",
		"host=/tmp/s port=54329 user=postgres dbname=a":  "host=/tmp/s port=54329 user=postgres dbname=a dbname=x",
	} {
		got, err := withDatabase(dsn, "x")
		require.NoError(t, err)
		require.Equal(t, want, got)
		cfg, err := pgx.ParseConfig(got)
		require.NoError(t, err)
		require.Equal(t, "x", cfg.Database)
	}
	_, err := withDatabase("postgres://u@h:port/a", "x")
	require.ErrorContains(t, err, urlVariable)
}

// BenchmarkCreateDatabase compares the two copy strategies: go test -bench . ./internal/pgtest
func BenchmarkCreateDatabase(b *testing.B) {
	for _, strategy := range []string{"wal_log", "file_copy"} {
		b.Run(strategy, func(b *testing.B) {
			r := theRun(b)
			for b.Loop() {
				_, err := r.admin.Exec(b.Context(),
					"create database oxbow_test_run_bench_1 template "+r.template+" strategy "+strategy)
				require.NoError(b, err)
				require.NoError(b, r.drop(b.Context(), "oxbow_test_run_bench_1"))
			}
		})
	}
}
