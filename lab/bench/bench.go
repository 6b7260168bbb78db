package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
)

const seed = 1

// bench is one run of one benchmark.
type bench struct {
	rounds, size  int
	page, match   string
	name, command string
	out           io.Writer

	server   *localpg.Server
	migrated bool
	pools    []*pgxpool.Pool
	promises []promise
}

// promise is a row of the page. Of several measurements with one name the worst counts.
type promise struct {
	what, goal string
	measured   float64
	kept       bool
}

// atMost compares a measured number with the largest that is promised.
func (b *bench) atMost(what string, goal, measured float64) {
	b.promise(promise{what, fmt.Sprintf("≤ %g", goal), measured, measured <= goal},
		func(old float64) bool { return measured > old })
}

// atLeast compares a measured number with the smallest that is promised.
func (b *bench) atLeast(what string, goal, measured float64) {
	b.promise(promise{what, fmt.Sprintf("≥ %g", goal), measured, measured >= goal},
		func(old float64) bool { return measured < old })
}

func (b *bench) promise(p promise, worse func(than float64) bool) {
	for i, old := range b.promises {
		if old.what == p.what {
			if worse(old.measured) {
				b.promises[i] = p
			}
			return
		}
	}
	b.promises = append(b.promises, p)
}

// measure starts PostgreSQL, runs a benchmark, prints its promises, and writes them into the page if one is named.
func (b *bench) measure(ctx context.Context, run func(context.Context, *bench) error) (err error) {
	base, err := os.MkdirTemp("/var/tmp", "oxbow-bench-") // on disk, where a commit costs what it costs
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx), base)) }()
	if err := os.Chmod(base, 0o755); err != nil { // PostgreSQL may run as another user
		return err
	}
	if b.server, err = localpg.Start(ctx, localpg.Config{BaseDir: base, Settings: serverSettings()}); err != nil {
		return err
	}
	defer func() {
		for _, pool := range b.pools {
			pool.Close()
		}
		err = errors.Join(err, b.server.Stop(context.WithoutCancel(ctx)))
	}()
	before := load()
	if err := run(ctx, b); err != nil {
		return err
	}
	if len(b.promises) == 0 {
		return nil
	}
	t := b.table("Promises", fmt.Sprintf("%-72s", "what"), "promised", "measured", "")
	for _, p := range b.promises {
		t.row(p.what, p.goal, p.measured, verdict(p.kept))
	}
	fmt.Fprintf(b.out, "\n%s; load average %s before, %s after\n%s\n", machine(), before, load(), b.command)
	if b.page == "" {
		return nil
	}
	return b.writePage()
}

// sized returns -size, or the benchmark's own number.
func (b *bench) sized(otherwise int) int {
	if b.size > 0 {
		return b.size
	}
	return otherwise
}

func verdict(kept bool) string {
	if kept {
		return "kept"
	}
	return "missed"
}

func remove(ctx context.Context, base string) error {
	clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
	for _, dir := range clusters {
		err = errors.Join(err, localpg.Remove(ctx, dir))
	}
	return errors.Join(err, os.RemoveAll(base))
}

// database creates a migrated database and returns its connection URL. The first call migrates a template.
func (b *bench) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if !b.migrated {
		if _, err := conn.Exec(ctx, "create database migrated"); err != nil {
			return "", err
		}
		if err := migrations.Up(ctx, b.server.DSN("migrated"), migrations.Options{}); err != nil {
			return "", err
		}
		b.migrated = true
	}
	return b.server.DSN(name), b.copyDatabase(ctx, name, "migrated")
}

// fresh creates a migrated database and a pool of connections to it, which is closed when the benchmark ends.
func (b *bench) fresh(ctx context.Context, name string, conns int) (dsn string, pool *pgxpool.Pool, err error) {
	if dsn, err = b.database(ctx, name); err == nil {
		pool, err = openPool(ctx, dsn, conns)
	}
	if err == nil {
		b.pools = append(b.pools, pool)
	}
	return dsn, pool, err
}

// copyDatabase replaces a database by a copy of another one.
func (b *bench) copyDatabase(ctx context.Context, name, template string) error {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, sql := range []string{
		"drop database if exists " + name + " with (force)",
		"create database " + name + " template " + template, "checkpoint",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

func openPool(ctx context.Context, dsn string, conns int) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns, cfg.MinConns = int32(conns), int32(conns)
	cfg.AfterConnect = pgxvec.RegisterTypes
	return pgxpool.NewWithConfig(ctx, cfg)
}
