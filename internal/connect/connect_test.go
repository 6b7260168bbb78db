package connect_test

import (
	"context"
	"io/fs"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/store"
)

// Sessions that began while the database was read-only are replaced once one of them fails.
func TestReadOnlyConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	admin := pgtest.Open(t, dsn, "")
	readOnly := func(value string) {
		_, err := admin.Exec(t.Context(), `do $$ begin execute format(
			'alter database %I set default_transaction_read_only = `+value+`', current_database()); end $$`)
		require.NoError(t, err)
	}
	readOnly("on")
	cfg, err := connect.Pool(dsn, "test")
	require.NoError(t, err)
	cfg.MaxConns = 6
	pool := pgtest.PoolOf(t, cfg)
	all := func(f func(c *pgxpool.Conn)) { // at once, so that each has a connection of its own
		var held, done sync.WaitGroup
		held.Add(int(cfg.MaxConns))
		for range cfg.MaxConns {
			done.Go(func() {
				c, err := pool.Acquire(context.WithoutCancel(t.Context()))
				held.Done()
				if err == nil {
					held.Wait()
					f(c)
					c.Release()
				} else {
					t.Error(err)
				}
			})
		}
		done.Wait()
	}
	all(func(*pgxpool.Conn) {})
	readOnly("off")
	_, err = store.Exec(t.Context(), pool, `insert into oxbow.users (user_id) values ('ada')`)
	require.ErrorIs(t, err, store.ErrReadOnly)
	require.True(t, store.IsRetryable(err))
	all(func(c *pgxpool.Conn) {
		if _, err := c.Exec(t.Context(), `insert into oxbow.users (user_id) select 'x' where false`); err != nil {
			t.Error(err)
		}
	})
}

// silent returns the address of a server that accepts connections and says nothing.
func silent(t *testing.T) string {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() }) // the kernel accepts
	return listener.Addr().String()
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	url := "postgres://ada@" + silent(t) + "/ada?sslmode=disable"
	for given, limit := range map[string]time.Duration{
		"": connect.Timeout, "&connect_timeout=1": time.Second, "&connect_timeout=20": 20 * time.Second,
		"&connect_timeout=0": 0,
	} {
		cfg, err := connect.Pool(url+given, "test")
		require.NoError(t, err)
		require.Equal(t, limit, cfg.ConnConfig.ConnectTimeout, given)
		require.Equal(t, limit, cfg.PingTimeout, given)
	}
	cfg, err := connect.One(url+"&connect_timeout=1", "test")
	require.NoError(t, err)
	_, err = pgx.ConnectConfig(t.Context(), cfg)
	require.True(t, pgconn.Timeout(err), err)
}

// What sets a connection up counts too.
func TestSetUpIsLimited(t *testing.T) {
	t.Parallel()
	cfg, err := connect.Pool(pgtest.Empty(t)+"&connect_timeout=1", "test", func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, `select pg_sleep(600)`)
		return err
	})
	require.NoError(t, err)
	err = pgtest.PoolOf(t, cfg).Ping(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestApplicationName(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://ada@localhost/ada": "test", "postgres://ada@localhost/ada?application_name=mine": "mine",
		"host=localhost application_name=mine": "mine",
	} {
		cfg, err := connect.One(url, "test")
		require.NoError(t, err)
		require.Equal(t, want, cfg.RuntimeParams["application_name"])
	}
	_, err := connect.One("postgres://[", "test")
	require.ErrorAs(t, err, new(*pgconn.ParseConfigError))
}

// Nothing but this package and tests may make a configuration of its own.
func TestAllConnectionsAreConfiguredHere(t *testing.T) {
	t.Parallel()
	own := regexp.MustCompile(`\b(pgx|pgxpool|pgconn)\.(Connect|New|ParseConfig|ParseConfigWithOptions)\(|\bsql\.Open\("p`)
	root := os.DirFS("../..")
	files := 0
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "lab" || path == "internal/pgtest" || path == "internal/connect" || path == "bin" ||
			strings.HasSuffix(path, "node_modules")):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		text, err := fs.ReadFile(root, path)
		require.Empty(t, own.FindString(string(text)), "%s connects on its own: use internal/connect", path)
		return err
	}))
	require.Greater(t, files, 300)
}
