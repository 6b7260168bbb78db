package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/connect"
	"github.com/oxbow-memory/oxbow/internal/importv1"
	"github.com/oxbow-memory/oxbow/store"
)

// shownRejected is how many rejected rows are shown; --json has up to 1,000.
const shownRejected = 20

func importV1Command(a *app) *cobra.Command {
	var o importv1.Options
	var from string
	var types map[string]string
	cmd := &cobra.Command{
		Use:   "import-v1",
		Short: "Import the memories of version 1",
		Long: `Import the memories of version 1: one table with a type, an embedding and metadata in each row. The table is
only read.

The import has four stages: prepare counts the rows, memories stores them, evidence stores their relations,
and finish checks that every row has its memory. An interrupted import continues where it stopped when it is
started again, and stores nothing twice. Rejected rows are counted and listed, and do not stop the import.

The type general becomes fact; insight becomes a trait in stage trend. Memories keep their ids. A worker
computes their search terms and vectors.`,
		Example: `  oxbow import-v1 --dry-run
  oxbow import-v1 --from postgres://me@old-host/app --table public.embeddings --map preference=fact`,
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`URL` of the database with the table (default: the same database)")
	f.StringVar(&o.Table, "table", "public.embeddings", "the table, with its schema")
	f.StringToStringVar(&types, "map", nil, "`types` to import as other types: preference=fact,note=document")
	f.Lookup("map").DefValue = ""
	f.Float64Var(&o.ImportanceScale, "importance-scale", 0,
		"highest importance, 1 or 10 (default: 10 if any is above 1)")
	f.BoolVar(&o.KeepVectors, "keep-vectors", false, "import the vectors, which must come from the database's model")
	f.BoolVar(&o.DryRun, "dry-run", false, "show what would be imported and rejected, and write nothing")
	f.BoolVar(&o.Again, "again", false, "after a finished import, import newer rows; erased memories return")
	o.Batch = 50_000
	intFlag(f, &o.Batch, "batch", "", 1, 1_000_000, "rows per transaction")
	a.jsonFlag(f)
	run := a.asOperator(func(ctx context.Context, d *database, _ []string) error { return d.importV1(ctx, from, o) })
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if s := o.ImportanceScale; s != 0 && s != 1 && s != 10 {
			return usagef("invalid --importance-scale %g: expected 1 or 10", s)
		}
		if o.Types, err = mappedTypes(types); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}

// mappedTypes reads --map.
func mappedTypes(given map[string]string) (map[string]store.MemoryType, error) {
	types := map[string]store.MemoryType{}
	for _, from := range slices.Sorted(maps.Keys(given)) {
		to := store.MemoryType(given[from])
		if !slices.Contains(store.MemoryTypes(), to) {
			return nil, usagef("invalid --map %s=%s: expected %s after =", from, to, or(store.MemoryTypes()))
		}
		types[strings.ToLower(strings.TrimSpace(from))] = to
	}
	return types, nil
}

func (d *database) importV1(ctx context.Context, from string, o importv1.Options) error {
	if from != "" {
		cfg, err := connect.One(from, "oxbow import-v1")
		if err != nil {
			return fmt.Errorf("--from: %s", sentence(err))
		}
		if o.Source, err = pgx.ConnectConfig(ctx, cfg); err != nil {
			return fmt.Errorf("--from: %s", sentence(err))
		}
		defer o.Source.Close(context.WithoutCancel(ctx))
	}
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	bar := d.progress("import-v1", 0)
	o.Progress = func(stage string, done, total int64) {
		bar.phase("import-v1: "+stage, total)
		bar.set(done)
	}
	report, err := importv1.Run(ctx, conn.Conn(), o)
	bar.end()
	if err != nil {
		if report.Stage != "" && report.Stage != importv1.StagePrepare && !o.DryRun {
			d.say("The import stopped in stage %s. Run the same command to continue.", report.Stage)
		}
		return err
	}
	return d.output(report, func() { d.printV1(report) })
}

func (d *database) printV1(r importv1.Report) {
	if r.Already {
		d.printf("Nothing to do: %s was imported on %s UTC. --again imports newer rows.\n\n",
			r.Source, format(r.Finished, minuteLayout, time.UTC))
	}
	if r.Resumed {
		d.printf("Continued an interrupted import. The figures include the earlier runs.\n\n")
	}
	imported := "#imported"
	if r.DryRun {
		imported = "#would import"
	}
	t := d.table("type", "becomes", "#rows", imported, "#existing", "#rejected", "#missing")
	row := func(name, to string, v importv1.Type) {
		t.add(name, to, v.Rows, v.New, unlessZero(v.Existing), unlessZero(v.Rejected), unlessZero(v.Missing))
	}
	for _, v := range r.Types {
		row(v.From, v.To, v)
	}
	row("total", "", r.Sum())
	t.print()
	d.printf("\n")
	d.printV1Rejected(r)
	if r.DryRun {
		d.printf("Dry run: nothing was written. Importance is divided by %g.\n", r.ImportanceScale)
	} else {
		d.printf("%s: %s, %s, %s, %s.\n", r.Source, count(r.Adopted, "trait"), count(r.Evidence, "piece of evidence"),
			count(r.History, "older version"), count(r.Sources, "conversation"))
		if r.KeepVectors {
			d.printf("%s kept. A worker replaces %s of another dimension or without a valid value.\n",
				count(r.Vectors, "vector"), thousands(r.VectorsLeft))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Orphans)) {
		d.printf("%s: %s without a target.\n", kind, count(r.Orphans[kind], "reference"))
	}
	if len(r.Unread) > 0 {
		d.printf("Columns not imported: %s.\n", printable(strings.Join(r.Unread, ", ")))
	}
}

// printV1Rejected shows why rows were rejected, with some of the rows.
func (d *database) printV1Rejected(r importv1.Report) {
	if len(r.Rejected) == 0 {
		return
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Rejected)) {
		d.printf("%s rejected: %s\n", count(r.Rejected[reason], "row"), reason)
	}
	d.printf("\n")
	t := d.table("id", "reason", "~value")
	some := r.Rejections[:min(len(r.Rejections), shownRejected)]
	for _, rejection := range some {
		t.add(rejection.ID.String(), rejection.Reason, rejection.Detail)
	}
	t.print()
	if more := r.Sum().Rejected - int64(len(some)); more > 0 {
		d.printf("… and %s; --json lists up to 1,000.\n", count(more, "more row"))
	}
	d.printf("\n")
}
