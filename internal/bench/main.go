// Bench measures Oxbow on a PostgreSQL of its own, with the settings that a new cluster has (a commit is on the disk),
// and prints a table per promise. It leaves nothing behind. The texts are made up, from a seed.
//
// Rates and times depend on the machine and on what else it does: the load is printed at the start and at the end, and
// what is compared is measured in turns, within one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
)

type options struct {
	only       string
	rounds     int
	round      time.Duration
	memories   int
	questions  int
	inserts    int
	imported   int
	importFile string
	traits     int
	settles    int
	people     int
	history    int
	v1         int
	seed       uint64
}

var sections = []struct {
	name string
	run  func(*bench, context.Context) error
}{
	{"insert", (*bench).insertRates},
	{"recall", (*bench).recallTimes},
	{"latency", (*bench).latencies},
	{"import", (*bench).importTimes},
	{"import-v1", (*bench).importV1},
	{"settle", (*bench).settleTimes},
	{"reflect", (*bench).reflections},
	{"extract", (*bench).extractions},
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "run these sections alone, separated by commas: insert, recall, latency, import, import-v1, settle, reflect, extract")
	flag.IntVar(&o.rounds, "rounds", 9, "rounds of each way to insert")
	flag.DurationVar(&o.round, "round", 1200*time.Millisecond, "length of a round of single-row transactions")
	flag.IntVar(&o.memories, "memories", 100_000, "memories in the database that is recalled from")
	flag.IntVar(&o.questions, "questions", 60, "questions to each size of user")
	flag.IntVar(&o.inserts, "inserts", 60, "inserts to wait for, with LISTEN and without")
	flag.IntVar(&o.imported, "imported", 31_439, "memories to import")
	flag.StringVar(&o.importFile, "import-file", "", "import this file instead, JSON Lines as for oxbow import")
	flag.IntVar(&o.traits, "traits", 1_000_000, "traits to settle some of; also among a tenth and a hundredth of them")
	flag.IntVar(&o.settles, "settles", 9, "rounds of settling")
	flag.IntVar(&o.people, "people", 12, "users who are reflected on at once, each with 1,000 memories; at least 10")
	flag.IntVar(&o.history, "history", 50_000, "memories of the user with the longest history that is reflected on")
	flag.IntVar(&o.v1, "v1", 200_000, "rows in the table of version 1")
	flag.Uint64Var(&o.seed, "seed", 1, "of the texts")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	options
	server *localpg.Server

	v1Stages []string // how long those of an import took
}

func run(ctx context.Context, o options) (err error) {
	chosen, err := o.sections()
	if err != nil {
		return err
	}
	// Not a directory in memory: a commit is to cost what it costs.
	base, err := os.MkdirTemp("/var/tmp", "oxbow-bench-")
	if err != nil {
		return err
	}
	if err := os.Chmod(base, 0o755); err != nil { // PostgreSQL may run as another user
		return err
	}
	defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx), base)) }()
	server, err := localpg.Start(ctx, localpg.Config{BaseDir: base})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()

	b := &bench{options: o, server: server}
	fmt.Printf("%d CPUs, %s\n", runtime.NumCPU(), load())
	for _, section := range chosen {
		if err := section(b, ctx); err != nil {
			return err
		}
	}
	fmt.Printf("\n%s\n", load())
	return nil
}

func remove(ctx context.Context, base string) error {
	clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
	errs := []error{err}
	for _, dir := range clusters {
		errs = append(errs, localpg.Remove(ctx, dir))
	}
	return errors.Join(append(errs, os.RemoveAll(base))...)
}

func (o options) sections() ([]func(*bench, context.Context) error, error) {
	var chosen []func(*bench, context.Context) error
	known := map[string]bool{}
	for _, s := range sections {
		known[s.name] = true
		if o.only == "" || slices.Contains(strings.Split(o.only, ","), s.name) {
			chosen = append(chosen, s.run)
		}
	}
	if o.only != "" {
		for name := range strings.SplitSeq(o.only, ",") {
			if !known[name] {
				return nil, fmt.Errorf("--only: there is no section %q", name)
			}
		}
	}
	return chosen, nil
}

// database makes a migrated database and returns its connection URL.
func (b *bench) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", err
	}
	dsn := b.server.DSN(name)
	return dsn, migrations.Up(ctx, dsn, migrations.Options{})
}

// drop frees the disk for what comes next.
func (b *bench) drop(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "drop database "+pgx.Identifier{name}.Sanitize()+" with (force)")
	return err
}

func openPool(ctx context.Context, dsn string, conns int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns, cfg.MinConns = conns, conns
	cfg.AfterConnect = pgxvec.RegisterTypes
	return pgxpool.NewWithConfig(ctx, cfg)
}

// load is what the system says of its work in the last minutes.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return "load average unknown"
	}
	return "load average " + strings.Join(fields[:3], " ")
}
