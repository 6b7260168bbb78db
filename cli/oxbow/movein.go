package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/movein"
)

// shownUsers is how many users the report of an import lists; --json has all.
const shownUsers = 10

// movingIn holds the flags of an import from another memory system.
type movingIn struct {
	from     string
	userFrom string
	table    string
	mapping  map[string]string
}

func (in *movingIn) flags(f *pflag.FlagSet) {
	var names []string
	for _, s := range movein.Sources() {
		names = append(names, s.Name)
	}
	choiceFlag(f, &in.from, "from", "the system that the memories are from", names...)
	f.StringVar(&in.userFrom, "user-from", "",
		"with --from, where the user is: a `field` of the source (see docs/moving-in.md), or a part of the namespace")
	f.StringVar(&in.table, "table", "", `with --from mem0 or langgraph, the table (default "mem0" or "store")`)
	f.StringToStringVar(&in.mapping, "map", nil, "with --from jsonl or langgraph, the `members` that fill fields")
	f.Lookup("map").DefValue = ""
}

// source returns the source of --from.
func (in *movingIn) source() movein.Source {
	sources := movein.Sources()
	return sources[slices.IndexFunc(sources, func(s movein.Source) bool { return s.Name == in.from })]
}

// check returns an error for flags that do not fit together.
func (in *movingIn) check(f *pflag.FlagSet) error {
	if in.from == "" {
		for _, name := range []string{"user-from", "table", "map", "json"} {
			if f.Changed(name) {
				return usagef("--%s requires --from", name)
			}
		}
		return nil
	}
	for _, name := range []string{"skip-bad", "traits"} {
		if f.Changed(name) {
			return usagef("--%s does not apply to an import with --from", name)
		}
	}
	s := in.source()
	if in.table != "" && s.Table == "" {
		return usagef("--table does not apply to %s: its tables have fixed names", s.Name)
	}
	if len(in.mapping) > 0 && !s.Map {
		return usagef("--map does not apply to %s: its fields have fixed names", s.Name)
	}
	for _, field := range slices.Sorted(maps.Keys(in.mapping)) {
		if known := s.Fields(); !slices.Contains(known, field) {
			return usagef("invalid --map %s=%s: expected %s before =", field, in.mapping[field], or(known))
		}
	}
	if !s.UserIn(in.userFrom) {
		return usagef("invalid --user-from %q: expected %s", in.userFrom, or(s.Users))
	}
	return nil
}

// moveIn imports the memories of another system, each source in one transaction.
func (d *database) moveIn(ctx context.Context, sources []string, in movingIn, userID string, kind oxbow.MemoryType,
	dryRun bool) error {
	o := movein.Options{Source: in.source(), Table: in.table, User: userID, UserFrom: in.userFrom, Type: kind,
		Map: in.mapping}
	if in.from == "mem0" {
		sources = slices.DeleteFunc(slices.Clone(sources), func(name string) bool {
			if !sqlite(name) {
				return false
			}
			o.History = name
			return true
		})
		if len(sources) == 0 {
			return d.moveInFrom(ctx, o.History, o, dryRun)
		}
	}
	for _, name := range sources {
		if err := d.moveInFrom(ctx, name, o, dryRun); err != nil {
			return err
		}
	}
	return nil
}

// sqlite reports whether a file is an SQLite database.
func sqlite(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close() //nolint:errcheck // it is only read
	magic := make([]byte, 16)
	_, err = io.ReadFull(file, magic)
	return err == nil && string(magic) == "SQLite format 3\x00"
}

func (d *database) moveInFrom(ctx context.Context, name string, o movein.Options, dryRun bool) error {
	var bar *progress
	switch {
	case strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://"):
		cfg, err := connect.One(name, "oxbow import")
		if err != nil {
			return fmt.Errorf("%s: %s", o.Source.Name, sentence(err))
		}
		name = "database " + cfg.Database
		if o.Conn, err = pgx.ConnectConfig(ctx, cfg); err != nil {
			return fmt.Errorf("%s: %s", name, sentence(err))
		}
		defer o.Conn.Close(context.WithoutCancel(ctx))
		// All tables at one moment, and times in JSON without an offset that could pass for the users'.
		_, err = o.Conn.Exec(ctx, "begin isolation level repeatable read, read only; set local timezone = 'UTC'")
		if err != nil {
			return fmt.Errorf("%s: %s", name, sentence(err))
		}
		bar = d.progress("import "+name+" (memories)", 0)
		o.Progress = func(r movein.Report) { bar.set(r.Read) }
	case name == o.History:
		bar = d.progress("import "+name+" (memories)", 0)
		o.Progress = func(r movein.Report) { bar.set(r.Read) }
	default:
		file, size, err := d.open(ctx, name)
		if err != nil {
			return err
		}
		defer file.Close()
		in := &countingReader{Reader: file}
		if o.File = in; name != "-" {
			o.Path = name
		}
		name = shownName(name)
		bar = d.progress("import "+name+" (bytes)", size)
		o.Progress = func(movein.Report) { bar.set(in.read.Load()) }
	}
	var report movein.Report
	err := pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) (err error) {
		if report, err = movein.Run(ctx, o, d.client.WithTx(tx).Import); err == nil && dryRun {
			err = errDryRun
		}
		return err
	})
	bar.end()
	if err != nil && !errors.Is(err, errDryRun) {
		return fmt.Errorf("%s: %w; nothing was imported from it", name, err)
	}
	report.DryRun = dryRun
	return d.output(report, func() { d.printMovedIn(name, report) })
}

// printMovedIn prints the report of an import.
func (d *database) printMovedIn(name string, r movein.Report) {
	added := "added"
	if r.DryRun {
		added = "would be added"
	}
	d.printf("%s: %s read from %s, %s %s, %s unchanged, %s skipped.\n", name, count(r.Read+r.Rows(), "row"), r.Source,
		count(r.New, "memory"), added, thousands(r.Read-r.New), thousands(r.Rows()))
	if r.Read > 0 {
		d.printf("\n")
		t := d.table("type", "#memories")
		for _, kind := range movein.Most(r.Types, len(r.Types)) {
			t.add(kind, r.Types[kind])
		}
		t.print()
		d.printf("\n")
		t = d.table("user", "#memories")
		for _, user := range movein.Most(r.Users, shownUsers) {
			t.add(user, r.Users[user])
		}
		t.print()
		if more := len(r.Users) - shownUsers; more > 0 {
			d.printf("… and %s\n", count(more, "more user"))
		}
	}
	d.printFindings("skipped", r.Skipped)
	d.printFindings("not mapped", r.Unmapped)
	d.printf("\n")
	if len(r.Kept) > 0 {
		d.printf("In the metadata: %s.\n", printable(fieldCounts(r.Kept)))
	}
	if len(r.Dropped) > 0 {
		d.printf("Not imported: %s.\n", printable(fieldCounts(r.Dropped)))
	}
	if r.Seconds >= 1 {
		d.printf("%.1f s, %s memories/s.\n", r.Seconds, thousands(int64(float64(r.Read)/r.Seconds)))
	}
	if r.DryRun {
		d.printf("Dry run: nothing was written.\n")
	}
}

// printFindings lists reasons with some of the rows that they concern.
func (d *database) printFindings(what string, findings []*movein.Finding) {
	if len(findings) == 0 {
		return
	}
	d.printf("\n")
	t := d.table("#"+what, "reason", "~for example")
	for _, f := range findings {
		t.add(f.Rows, f.Reason, strings.Join(f.Examples, ", "))
	}
	t.print()
}

// fieldCounts lists fields with the number of rows that have them.
func fieldCounts(counts map[string]int64) string {
	const shown = 30
	var list []string
	for _, name := range movein.Most(counts, shown) {
		list = append(list, fmt.Sprintf("%s (%s)", name, thousands(counts[name])))
	}
	if more := len(counts) - shown; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}
