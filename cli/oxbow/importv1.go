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

	"github.com/oxbow-memory/oxbow/internal/importv1"
	"github.com/oxbow-memory/oxbow/store"
)

// shownRefused is how many refused rows are shown; --json has up to 1,000.
const shownRefused = 20

type importV1Flags struct {
	from, table string
	types       map[string]string
	scale       float64
	asJSON      bool
	importv1.Options
}

func newImportV1Command(a *app) *cobra.Command {
	var flags importV1Flags
	cmd := &cobra.Command{
		Use:   "import-v1",
		Short: "Move the memories of version 1 into this database",
		Long: `Move the memories of version 1, one table with a type, an embedding and metadata in each row, into this database. The
table is read and left as it is.

It goes through four stages: prepare counts the rows, memories stores them, evidence stores what they say of each other,
and finish looks for the memory of every row. Interrupted at any moment, it goes on where it was when it is started again,
and stores nothing twice. Rows that Oxbow does not take are counted and listed; they end nothing.

general becomes fact, insight becomes a trait that is watched as a trend. A memory keeps its id. The worker makes terms and
vectors of what comes in.`,
		Example: `  oxbow import-v1 --dry-run
  oxbow import-v1 --from postgres://me@old-host/app --table public.embeddings --map preference=fact`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.importV1(cmd.Context(), flags) },
	}
	cmd.Flags().StringVar(&flags.from, "from", "", "the database that the table is in, as a URL (default: the same)")
	cmd.Flags().StringVar(&flags.table, "table", "public.embeddings", "the table, with its schema")
	cmd.Flags().StringToStringVar(&flags.types, "map", nil, "what becomes of other types: --map preference=fact,note=document")
	cmd.Flags().Float64Var(&flags.scale, "importance-scale", 0, "the highest importance there, 1 or 10 (default: 10 if any is above 1)")
	cmd.Flags().BoolVar(&flags.KeepVectors, "keep-vectors", false, "take the vectors over, which the database's own model must have made")
	cmd.Flags().BoolVar(&flags.DryRun, "dry-run", false, "show what would be moved and what would be refused, and write nothing")
	cmd.Flags().BoolVar(&flags.Again, "again", false, "after an import was done, look for rows that came since; erased memories come back")
	cmd.Flags().IntVar(&flags.Batch, "batch", 50_000, "rows in one transaction")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print the report as JSON")
	return cmd
}

// options returns the options that the flags set.
func (f importV1Flags) options() (importv1.Options, error) {
	o := f.Options
	o.Table, o.ImportanceScale, o.Types = f.table, f.scale, map[string]store.MemoryType{}
	if f.scale != 0 && f.scale != 1 && f.scale != 10 {
		return o, usagef("--importance-scale must be 1 or 10, got %g", f.scale)
	}
	if f.Batch < 1 || f.Batch > 1_000_000 {
		return o, usagef("--batch must be between 1 and 1,000,000, got %d", f.Batch)
	}
	for _, from := range slices.Sorted(maps.Keys(f.types)) {
		to := store.MemoryType(f.types[from])
		if !slices.Contains(store.MemoryTypes(), to) {
			return o, usagef("--map %s=%s: must end in fact, episodic, trait or document", from, to)
		}
		o.Types[strings.ToLower(strings.TrimSpace(from))] = to
	}
	return o, nil
}

func (a *app) importV1(ctx context.Context, flags importV1Flags) error {
	o, err := flags.options()
	if err != nil {
		return err
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	if err := seeAll(ctx, d.pool, "import-v1"); err != nil {
		return err
	}
	if flags.from != "" {
		cfg, err := pgx.ParseConfig(flags.from)
		if err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		if cfg.RuntimeParams["application_name"] == "" {
			cfg.RuntimeParams["application_name"] = "oxbow import-v1"
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
	shown := v1Progress{app: a}
	o.Progress = shown.report
	report, err := importv1.Run(ctx, conn.Conn(), o)
	shown.end()
	if err != nil {
		if report.Stage != "" && report.Stage != importv1.StagePrepare && !o.DryRun {
			a.say("It stopped in stage %s; the same command goes on there.", report.Stage)
		}
		return err
	}
	if flags.asJSON {
		return a.printJSON(report)
	}
	return a.printV1(report)
}

// v1Progress shows the progress of each stage in turn.
type v1Progress struct {
	app   *app
	shown *progress
	stage string
}

func (p *v1Progress) report(stage string, done, total int64) {
	if p.stage != stage {
		p.end()
		p.stage, p.shown = stage, p.app.progress("import-v1: "+stage, total)
	}
	p.shown.set(done)
}

func (p *v1Progress) end() {
	if p.shown != nil {
		p.shown.end()
	}
}

func (a *app) printV1(r importv1.Report) error {
	if r.Already {
		a.printf("Nothing to do: %s was imported on %s. --again looks for what came since.\n\n", r.Source, r.Finished.Local().Format("2006-01-02 15:04"))
	}
	if r.Resumed {
		a.printf("It went on where an earlier run was interrupted; this is what all of them did.\n\n")
	}
	moved := "moved"
	if r.DryRun {
		moved = "would move"
	}
	t := newTable("type", "becomes", "#rows", "#"+moved, "#there already", "#refused", "#missing")
	row := func(name, to string, v importv1.Type) {
		t.add(printable(name), to, thousands(v.Rows), thousands(v.New), unlessZero(v.There), unlessZero(v.Refused), unlessZero(v.Missing))
	}
	for _, v := range r.Types {
		row(v.From, v.To, v)
	}
	sum := r.Sum()
	row("in all", "", sum)
	if err := t.print(a.out); err != nil {
		return err
	}
	a.printf("\n")
	if err := a.printV1Refused(r); err != nil {
		return err
	}
	if r.DryRun {
		a.printf("Nothing was written. Importance is divided by %g.\n", r.ImportanceScale)
	} else {
		a.printf("%s: %s, %s, %s, %s.\n", r.Source, count(r.Adopted, "trait watched", "traits watched"), count(r.Evidence, "piece of evidence", "pieces of evidence"),
			count(r.History, "older version", "older versions"), count(r.Sources, "conversation noted", "conversations noted"))
		if r.KeepVectors {
			a.printf("%s kept; %s of another dimension or no good, which the worker makes anew.\n", count(r.Vectors, "vector", "vectors"), thousands(r.VectorsLeft))
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Orphans)) {
		a.printf("%s: %s to nothing.\n", kind, count(r.Orphans[kind], "reference", "references"))
	}
	if len(r.Unread) > 0 {
		a.printf("Columns that are left behind: %s.\n", printable(strings.Join(r.Unread, ", ")))
	}
	if seconds := r.Took.Seconds(); !r.Already && !r.Resumed && seconds >= 1 {
		a.printf("%s, %s rows a second.\n", r.Took.Round(100*time.Millisecond), thousands(int64(float64(sum.Rows)/seconds)))
	}
	return nil
}

// printV1Refused shows why rows were refused, with some of the rows.
func (a *app) printV1Refused(r importv1.Report) error {
	if len(r.Refused) == 0 {
		return nil
	}
	for _, reason := range slices.Sorted(maps.Keys(r.Refused)) {
		a.printf("%s: %s\n", count(r.Refused[reason], "row refused", "rows refused"), reason)
	}
	t := newTable("id", "reason", "~")
	for _, refusal := range r.Refusals[:min(len(r.Refusals), shownRefused)] {
		t.add(refusal.ID.String(), refusal.Reason, printable(refusal.Detail))
	}
	a.printf("\n")
	if err := t.print(a.out); err != nil {
		return err
	}
	if more := r.Sum().Refused - int64(min(len(r.Refusals), shownRefused)); more > 0 {
		a.printf("… and %s; --json has up to a thousand.\n", count(more, "row more", "rows more"))
	}
	a.printf("\n")
	return nil
}

func unlessZero(n int64) string {
	if n == 0 {
		return ""
	}
	return thousands(n)
}
