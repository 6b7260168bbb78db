// Package pgtest gives tests a real PostgreSQL: a migrated database of their own, or a transaction
// that is rolled back.
//
//	dsn := pgtest.Database(t) // a new migrated database, dropped after the test
//	pool := pgtest.Pool(t)    // the same, with a pool of connections to it
//	tx := pgtest.Tx(t)        // a transaction in a migrated database, never committed: the cheapest
//	dsn := pgtest.Empty(t)    // an empty database
//	dsn := pgtest.Restore(t, "dump.sql.gz") // a database from a file
//	dir := pgtest.Dir(t)      // a directory for a PostgreSQL of the test's own
//
//	cfg := worker.Config{DatabaseURL: pgtest.As(t, dsn, "worker")} // as a login of deploy/logins.sql
//
// These connect as a superuser. The schema of a migrated database belongs to "oxbow", as in a deployment.
//
// The server is the one that OXBOW_TEST_DATABASE_URL names (its role is a superuser), or else a
// private one without durability. The private server is in memory (/dev/shm) if 4 GiB are free,
// else in the user's cache directory. The first test that needs it starts it, and it stays up for
// later runs; `make clean` stops it.
//
// Databases are copies of a template that is migrated once and named by a hash of everything the
// migration consists of, so a changed migration creates a new template. Each run drops what killed
// runs left behind.
package pgtest

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	_ "github.com/oxbow-memory/oxbow/internal/pgtest/pgenv" // tests do not depend on PGPORT and the like
)

// cleanupTimeout limits the clean-up after a test, whose own context has ended.
const cleanupTimeout = 2 * time.Minute

// Database returns the connection URL of a new migrated database, which is dropped when the test
// ends.
func Database(t testing.TB) string {
	t.Helper()
	return database(t, func(ctx context.Context, r *run) (string, error) { return r.create(ctx, r.template) })
}

// Empty returns the connection URL of a database without schema or extensions, which is dropped when the test ends.
func Empty(t testing.TB) string {
	t.Helper()
	return database(t, func(ctx context.Context, r *run) (string, error) { return r.create(ctx, "template0") })
}

func database(t testing.TB, create func(context.Context, *run) (string, error)) string {
	t.Helper()
	r := theRun(t)
	name, err := create(t.Context(), r)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := r.drop(ctx, name); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return r.dsn(name)
}

// Pool returns a connection pool to a new migrated database. Both are removed when the test ends.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(Database(t))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	knowUUIDs(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close() // waits until every connection is returned
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(cleanupTimeout):
			t.Errorf("pgtest: the test did not release %d of its connections", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

// Tx returns a transaction in a migrated database that the tests of one package share. It is rolled
// back when the test ends: tests must not commit, and NOTIFY, which is sent on commit, is never
// delivered.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	r := theRun(t)
	pool, err := r.sharedPool()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	// Not the test's context: it ends before the clean-up, and pgx would close the connection.
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatalf("pgtest: begin: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		if err := tx.Rollback(ctx); err != nil {
			t.Errorf("pgtest: the transaction of pgtest.Tx was ended by the test: %v", err)
		}
	})
	return tx
}

var startRun = sync.OnceValues(func() (*run, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return newRun(ctx)
})

func theRun(t testing.TB) *run {
	t.Helper()
	r, err := startRun()
	if err != nil {
		t.Fatalf("pgtest: no database to test with: %v", err)
	}
	return r
}

// Create creates an empty database for a program that is not a test, and returns its connection
// URL. Drop removes it.
func Create(ctx context.Context) (string, error) {
	admin, err := maintenanceDSN(ctx)
	if err != nil {
		return "", err
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	name := fmt.Sprintf("oxbow_adhoc_%d", time.Now().UnixNano())
	if _, err := conn.Exec(ctx, "create database "+name); err != nil {
		return "", err
	}
	return withDatabase(admin, name)
}

// Drop drops a database that Create created.
func Drop(ctx context.Context, dsn string) error {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return err
	}
	admin, err := maintenanceDSN(ctx)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "drop database if exists "+pgx.Identifier{cfg.Database}.Sanitize()+" with (force)")
	return err
}

// Dir returns a directory for a test's own PostgreSQL, in memory if the tests' PostgreSQL is, else
// below /tmp. The account that runs PostgreSQL may write to it. It is removed after the test.
func Dir(t testing.TB) string {
	t.Helper()
	parent := memoryDir()
	if base, err := baseDir(); err != nil || base != parent {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "oxbow-test-")
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o777); err != nil { // PostgreSQL may run as another user
		t.Fatalf("pgtest: %v", err)
	}
	return dir
}

// Restore returns the connection URL of a database with the content of a file that pg_dump and gzip wrote, with
// INSERTs in place of COPY. It is dropped when the test ends.
func Restore(t testing.TB, file string) string {
	t.Helper()
	dsn := Empty(t)
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // only read
	plain, err := gzip.NewReader(f)
	require.NoError(t, err)
	sql, err := io.ReadAll(plain)
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.PgConn().Exec(t.Context(), string(sql)).ReadAll()
	require.NoError(t, err, file)
	return dsn
}

var psqlCommand = regexp.MustCompile(`(?m)^\\(un)?restrict .*\n`)

// PgDump returns what pg_dump writes for a database, without psql's commands, which contain a random key.
func PgDump(t testing.TB, dsn string) string {
	t.Helper()
	bin, err := BinDir(t.Context())
	require.NoError(t, err)
	dump, err := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_dump"), "--dbname="+dsn).Output()
	require.NoError(t, err)
	return psqlCommand.ReplaceAllString(string(dump), "")
}
