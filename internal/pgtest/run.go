package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const forever = 365 * 24 * time.Hour

// run is one test program; `go test` runs one for each package.
//
// Its databases are called oxbow_test_run_<id>_<n>. While it lives, on whatever machine, a
// connection with application name oxbow_test_run_<id> is open, so that others can tell which
// databases are left over.
type run struct {
	id       string
	admin    *pgxpool.Pool // to the maintenance database; its first connection marks the run as alive
	adminDSN string
	template string
	serial   atomic.Int64

	sharedPool func() (*pgxpool.Pool, error)
}

func newRun(ctx context.Context) (*run, error) {
	admin, err := maintenanceDSN(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{id: "oxbow_test_run_" + randomHex(), adminDSN: admin}
	r.sharedPool = sync.OnceValues(r.openShared)

	cfg, err := pgxpool.ParseConfig(admin)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", urlVariable, err)
	}
	cfg.ConnConfig.RuntimeParams["application_name"] = r.id
	cfg.MaxConns, cfg.MinConns = 4, 1
	cfg.MaxConnIdleTime, cfg.MaxConnLifetime = forever, forever
	if r.admin, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg); err != nil {
		return nil, err
	}
	conn, err := r.admin.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", int64(advisoryLock)); err != nil {
		return nil, err
	}
	r.template, err = ensureTemplate(ctx, conn.Conn(), admin)
	if err == nil {
		err = errors.Join(dropOld(ctx, conn.Conn()), trackCalls(ctx, conn.Conn()))
	}
	if _, unlockErr := conn.Exec(ctx, "select pg_advisory_unlock($1)", int64(advisoryLock)); err == nil {
		err = unlockErr
	}
	return r, err
}

// create copies a template and returns the new database's name.
func (r *run) create(ctx context.Context, template string) (string, error) {
	name := fmt.Sprintf("%s_%d", r.id, r.serial.Add(1))
	_, err := r.admin.Exec(ctx, fmt.Sprintf("create database %s template %s strategy %s", name, template, strategy()))
	if err != nil {
		return "", fmt.Errorf("copy database %s: %w", template, err)
	}
	return name, nil
}

// strategy returns how to copy a database: as files, with two checkpoints of the cluster, or block
// by block through the WAL. Without fsync copying files takes half the time, as
// BenchmarkCreateDatabase shows; on a durable server checkpoints are expensive.
func strategy() string {
	if os.Getenv(urlVariable) != "" {
		return "wal_log"
	}
	return "file_copy"
}

func (r *run) drop(ctx context.Context, name string) error {
	if err := r.noteCalls(ctx, name); err != nil {
		return fmt.Errorf("note the calls in %s: %w", name, err)
	}
	_, err := r.admin.Exec(ctx, "drop database "+pgx.Identifier{name}.Sanitize()+" with (force)")
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

func (r *run) dsn(name string) string {
	dsn, err := withDatabase(r.adminDSN, name)
	if err == nil {
		dsn, err = withSetting(dsn, "default_query_exec_mode", os.Getenv(modeVariable))
	}
	if err != nil {
		panic(err) // cannot fail: the same string was used to connect
	}
	return dsn
}

// openShared creates the database for rolled-back transactions. It lasts as long as the run, and
// the next run drops it.
func (r *run) openShared() (*pgxpool.Pool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	name, err := r.create(ctx, r.template)
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(r.dsn(name))
	if err != nil {
		return nil, err
	}
	knowUUIDs(cfg)
	cfg.MaxConns = 32 // one for each concurrent test
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

func randomHex() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
