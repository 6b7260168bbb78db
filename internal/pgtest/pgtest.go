// Package pgtest gives tests a real PostgreSQL: a migrated database of a test's own, or a transaction that is rolled
// back.
//
//	dsn := pgtest.Database(t) // a fresh migrated database, dropped after the test
//	pool := pgtest.Pool(t)    // the same, with a pool of connections to it
//	tx := pgtest.Tx(t)        // a transaction in a migrated database, never committed: the cheapest
//	dsn := pgtest.Empty(t)    // a database with nothing in it
//	dir := pgtest.Dir(t)      // a directory for a PostgreSQL of the test's own
//
// The server is the one that OXBOW_TEST_DATABASE_URL names (its role needs CREATEDB), and otherwise a private one
// without durability, in memory (/dev/shm) where there are 4 GiB of it, else in the user's cache directory. That one is
// started by the first test that needs it and stays up for the next run; `make clean` stops it.
//
// Databases are copies of a template that is migrated once and named by a hash of everything that the migration
// consists of, so a changed migration makes a new one. What killed runs leave behind, the next run drops.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// cleanupTimeout limits what happens after a test, when its own context is over.
const cleanupTimeout = 2 * time.Minute

// Database returns the connection URL of a fresh migrated database, which is dropped when the test ends.
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

// Pool returns a pool of connections to a fresh migrated database. Pool and database end with the test.
func Pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), Database(t))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			pool.Close() // waits for every connection to be given back
			close(closed)
		}()
		select {
		case <-closed:
		case <-time.After(cleanupTimeout):
			t.Errorf("pgtest: the test has not given back %d of its connections", pool.Stat().AcquiredConns())
		}
	})
	return pool
}

// Tx returns a transaction in a migrated database that the tests of one package share. It is rolled back when the
// test ends: nothing may commit, and NOTIFY, which only a commit sends, is never heard.
func Tx(t testing.TB) pgx.Tx {
	t.Helper()
	r := theRun(t)
	pool, err := r.sharedPool()
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	// Not the test's context: it is over before the clean-up, and pgx would close the connection.
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

// Create makes an empty database for a program that is no test, and returns its connection URL. Drop ends it.
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

// Drop drops a database that Create made.
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

// Dir returns a directory for a PostgreSQL of a test's own, in memory where the tests' PostgreSQL
// is, else below /tmp. The account that runs PostgreSQL may write there. It is removed after the
// test.
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
