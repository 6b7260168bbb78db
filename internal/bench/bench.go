// Package bench measures Oxbow on a PostgreSQL of its own, with the settings that the report names (a commit is on the disk),
// and makes a table per promise. It leaves nothing behind. The texts are made up, from a seed.
//
// Rates and times depend on the machine and on what else it does: the load is told with every section, and what is compared
// is measured in turns, within one run.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/migrations"
)

// Options say what is measured, and how much of it. The zero value of a number is its default.
type Options struct {
	Only       []string      // these sections; none: all
	Rounds     int           // of each way to insert
	Round      time.Duration // of single-row transactions
	Memories   int           // in the database that is recalled from
	Questions  int           // to each size of user
	Indexed    []int         // memories of the users whose vectors get an index
	Inserts    int           // to wait for, with LISTEN and without
	Imported   []int         // memories to import, one size after the other
	ImportFile string        // import this instead, JSON Lines as for oxbow import
	Traits     int           // to settle some of; also among a tenth and a hundredth of them
	Settles    int           // rounds of settling
	People     int           // who are reflected on at once, each with 1,000 memories; at least 10
	History    int           // memories of the user with the longest history that is reflected on
	V1         int           // rows in the table of version 1
	Pipelined  int           // memories that wait to be embedded
	Jobs       int           // that wait to be worked in a round of the queue
	Churn      int           // jobs that come and go until their table is looked at
	Databases  []int         // memories in the databases in which recall and jobs are measured at scale
	Growers    int           // users to whom the change happens of which the growth is measured
	Soak       time.Duration // of mixed load; 0: none, unless the section is named
	SoakRate   float64       // acts of users a second
	Seed       uint64        // of the texts
	Out        io.Writer     // the tables, as they come
	Program    string        // the oxbow that runs as a process of its own; default: this program
	Notes      io.Writer     // what goes on meanwhile

	// After is called after each section, with what was measured up to then; its error ends the run.
	After func(Report) error

	server map[string]string // settings of PostgreSQL beside the advised ones: a test's need not survive a crash, and has little memory
	parent string            // where its directory is made; "": /var/tmp, which is on a disk, where a commit costs what it costs
}

// Defaults are what is measured if nothing else is said.
func Defaults() Options {
	return Options{Rounds: 9, Round: 1200 * time.Millisecond, Memories: 100_000, Questions: 60, Indexed: []int{10_000, 50_000, 100_000}, Inserts: 60, Imported: []int{31_439}, Traits: 1_000_000,
		Settles: 9, People: 12, History: 50_000, V1: 200_000, Databases: []int{10_000, 100_000, 1_000_000}, Growers: 7,
		Pipelined: 20_000, Jobs: 50_000, Churn: 1_000_000, SoakRate: 20, Seed: 1, Out: io.Discard, Notes: io.Discard}
}

// Check tells what cannot be measured: a section that there is not, or less than a section needs.
func (o Options) Check() error {
	for _, name := range o.Only {
		if !slices.Contains(Sections(), name) {
			return fmt.Errorf("there is no section %q: there are %s", name, strings.Join(Sections(), ", "))
		}
	}
	for _, number := range []struct {
		name  string
		least int
		given []int
	}{
		{"rounds", 1, []int{o.Rounds}}, {"memories", fewestMemories(), []int{o.Memories}}, {"questions", 1, []int{o.Questions}},
		{"indexed", 100, o.Indexed}, {"inserts", 1, []int{o.Inserts}}, {"imported", 1, o.Imported}, {"traits", 200 * dueTraits, []int{o.Traits}},
		{"settles", 1, []int{o.Settles}}, {"people", 10, []int{o.People}}, {"history", newcomerHistory, []int{o.History}}, {"v1", 1_000, []int{o.V1}},
		{"databases", 1_000, o.Databases}, {"growers", 1, []int{o.Growers}}, {"pipelined", 1, []int{o.Pipelined}}, {"jobs", 10, []int{o.Jobs}}, {"churn", 10, []int{o.Churn}},
	} {
		if len(number.given) == 0 {
			return fmt.Errorf("%s: no number is given", number.name)
		}
		if least := slices.Min(number.given); least < number.least {
			return fmt.Errorf("%s: %d is given, at least %d can be measured", number.name, least, number.least)
		}
	}
	switch {
	case o.Round < time.Millisecond:
		return fmt.Errorf("round: %s is given, at least 1ms can be measured", o.Round)
	case o.Soak < 0 || o.Soak > 0 && o.Soak < leastSoak:
		return fmt.Errorf("soak: %s is given, at least %s can be measured", o.Soak, leastSoak)
	case !(o.SoakRate > 0 && o.SoakRate <= mostSoakRate): // and not NaN
		return fmt.Errorf("soak-rate: %v is given, more than 0 and at most %d can be measured", o.SoakRate, mostSoakRate)
	}
	return nil
}

type section struct {
	name string
	run  func(*bench, context.Context) error
}

var sections = []section{
	{"insert", (*bench).insertRates},
	{"recall", (*bench).recallTimes},
	{"hnsw", (*bench).hnsw},
	{"latency", (*bench).latencies},
	{"pipeline", (*bench).pipelines},
	{"import", (*bench).importTimes},
	{"import-v1", (*bench).importV1},
	{"queue", (*bench).queueRates},
	{"settle", (*bench).settleTimes},
	{"reflect", (*bench).reflections},
	{"extract", (*bench).extractions},
	{"scale", (*bench).recallAtScale},
	{"growth", (*bench).jobGrowth},
	{"soak", (*bench).soaking},
}

// Sections names what can be measured, in order.
func Sections() []string {
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.name
	}
	return names
}

// bench is one run.
type bench struct {
	Options
	server *localpg.Server
	base   string // a directory on disk that is gone afterwards
	report *Report

	migrated bool     // templateDatabase is there
	v1Stages []string // how long those of an import took
	grown    *growth  // what jobs took in the databases of recall at scale
}

// Run measures. A section that fails does not keep the others from being measured. With an error, the report has what was measured.
func Run(ctx context.Context, o Options) (report Report, err error) {
	if err := o.Check(); err != nil {
		return report, err
	}
	base, err := os.MkdirTemp(cmp.Or(o.parent, "/var/tmp"), "oxbow-bench-")
	if err != nil {
		return report, err
	}
	if err := os.Chmod(base, 0o755); err != nil { // PostgreSQL may run as another user
		return report, err
	}
	defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx), base)) }()
	server, err := localpg.Start(ctx, localpg.Config{BaseDir: base, Settings: o.serverSettings()})
	if err != nil {
		return report, err
	}
	if o.Program == "" {
		if o.Program, err = os.Executable(); err != nil {
			return report, errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
		}
	}
	b := &bench{Options: o, server: server, base: base, report: &report}
	defer func() { err = errors.Join(err, b.server.Stop(context.WithoutCancel(ctx))) }()
	if report.Machine, err = machine(ctx, server); err != nil {
		return report, err
	}
	report.Seed = o.Seed
	fmt.Fprintf(b.Out, "%s\n", report.Machine)
	var failed error
	for _, s := range o.sections() {
		if err := ctx.Err(); err != nil {
			return report, errors.Join(failed, err)
		}
		failed = errors.Join(failed, b.measure(ctx, s))
		if o.After != nil {
			if err := o.After(report); err != nil {
				return report, errors.Join(failed, err)
			}
		}
	}
	return report, failed
}

func (b *bench) measure(ctx context.Context, s section) error {
	began := time.Now()
	b.report.Sections = append(b.report.Sections, Section{Name: s.name, Began: began.UTC().Truncate(time.Second), LoadBefore: load(), Tables: []Table{}})
	err := s.run(b, ctx)
	of := b.section()
	of.LoadAfter, of.Seconds = load(), time.Since(began).Round(time.Second).Seconds()
	if err != nil {
		err = errors.Join(err, b.clear(context.WithoutCancel(ctx)))
		of.Error = err.Error()
		fmt.Fprintf(b.Out, "\n  %s failed: %v\n", s.name, err)
		return fmt.Errorf("%s: %w", s.name, err)
	}
	fmt.Fprintf(b.Out, "  load average before %s, after %s; %s\n", of.LoadBefore, of.LoadAfter, time.Since(began).Round(time.Second))
	return nil
}

// section is the one that is being measured.
func (b *bench) section() *Section { return &b.report.Sections[len(b.report.Sections)-1] }

// show adds a table to the report, and prints it.
func (b *bench) show(t Table) {
	b.section().Tables = append(b.section().Tables, t)
	t.print(b.Out)
}

// notef tells of something on the way.
func (b *bench) notef(format string, args ...any) { fmt.Fprintf(b.Notes, "  "+format+"\n", args...) }

func remove(ctx context.Context, base string) error {
	clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
	errs := []error{err}
	for _, dir := range clusters {
		errs = append(errs, localpg.Remove(ctx, dir))
	}
	return errors.Join(append(errs, os.RemoveAll(base))...)
}

func (o Options) sections() []section {
	return slices.DeleteFunc(slices.Clone(sections), func(s section) bool { return o.leaves(s.name) })
}

// leaves tells whether a section is left out: what takes long by its nature is only measured if somebody asks for it.
func (o Options) leaves(name string) bool {
	if len(o.Only) > 0 {
		return !slices.Contains(o.Only, name)
	}
	return name == "soak" && o.Soak == 0
}

// templateDatabase is migrated once, and copied. It stays when a section has failed.
const templateDatabase = "migrated"

// database makes a migrated database and returns its connection URL.
func (b *bench) database(ctx context.Context, name string) (string, error) {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if !b.migrated {
		for _, sql := range []string{"drop database if exists " + templateDatabase, "create database " + templateDatabase} {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return "", err
			}
		}
		if err := migrations.Up(ctx, b.server.DSN(templateDatabase), migrations.Options{}); err != nil {
			return "", err
		}
		b.migrated = true
	}
	_, err = conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()+" template "+templateDatabase)
	return b.server.DSN(name), err
}

// measures tells whether a section is to be measured.
func (b *bench) measures(name string) bool { return len(b.Only) == 0 || slices.Contains(b.Only, name) }

// restartCold restarts PostgreSQL, and tells whether the system has forgotten its files meanwhile.
func (b *bench) restartCold(ctx context.Context) (cold bool, err error) {
	dir := b.server.Dir()
	if err := b.server.Stop(ctx); err != nil {
		return false, err
	}
	if cold, err = dropCached(dir); err != nil {
		return false, err
	}
	server, err := localpg.Start(ctx, localpg.Config{BaseDir: b.base, Settings: b.serverSettings()})
	if err != nil {
		return false, err
	}
	b.server = server
	return cold, nil
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

// clear drops what a section has left that failed, or it would weigh on those that come after.
func (b *bench) clear(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, b.server.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select datname from pg_database where datname like 'bench\_%'`)
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		err = errors.Join(err, b.drop(ctx, name))
	}
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
