package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// diagnosis is the output of doctor.
type diagnosis struct {
	Database string           `json:"database"`
	Healthy  bool             `json:"healthy"` // neither errors nor warnings were found
	Findings []doctor.Finding `json:"findings"`
}

func doctorCommand(a *app) *cobra.Command {
	var flags embeddingFlags
	var want doctor.Expected
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose the server, the schema, the queue and the workers",
		Long: `Examine the server, its extensions and settings, the schema, permissions, indexes, dead rows, transactions
that hold back vacuum, workers, the queue and the backlog. Count the memories kept from recall because of a
secret. For each problem, report its cause, its effect and a remedy.

It reads the catalog, PostgreSQL's statistics and a bounded number of rows, and changes nothing. It requires
the owner of the schema or a member of oxbow_worker, and lists what the login may not see. The command fails
on errors and warnings, not on advice.`,
	}
	run := a.needsDatabase(func(cmd *cobra.Command, _ []string) error {
		for _, x := range migrations.Indexes() {
			want.Indexes = append(want.Indexes, doctor.ExpectedIndex(x))
		}
		embedder, err := flags.open()
		if err != nil {
			return err
		}
		want.Model = store.ModelOf(embedder)
		d, err := a.diagnose(cmd.Context(), want)
		if err != nil {
			return err
		}
		err = a.output(d, func() { a.printDiagnosis(d) })
		if err == nil && !d.Healthy {
			err = fmt.Errorf("%s is unhealthy: %s", d.Database,
				tally(d.Findings, doctor.LevelError, doctor.LevelWarning))
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if want.Timeout < time.Millisecond || want.Timeout > time.Hour {
			return usagef("invalid --timeout %s: expected 1ms to 1h", want.Timeout)
		}
		return run(cmd, args)
	}
	flags.add(cmd.Flags())
	cmd.Flags().DurationVar(&want.Timeout, "timeout", 5*time.Second, "timeout of one query")
	a.jsonFlag(cmd.Flags())
	return cmd
}

func (a *app) diagnose(ctx context.Context, want doctor.Expected) (d diagnosis, err error) {
	schema, err := migrations.Read(ctx, a.databaseURL)
	if err != nil {
		return d, err
	}
	d.Database = schema.Database
	d.Findings = []doctor.Finding{schemaFinding(schema)}
	if schema.Problem == "" {
		db, err := a.connect(ctx)
		if err != nil {
			return d, err
		}
		defer db.pool.Close()
		if err := seeAll(ctx, db.pool, "oxbow doctor"); err != nil {
			return d, err
		}
		d.Findings = append(d.Findings, doctor.Examine(ctx, db.pool, want)...)
	}
	d.Healthy = tally(d.Findings, doctor.LevelError, doctor.LevelWarning) == ""
	return d, ctx.Err()
}

// schemaFinding reports whether the schema, its code and the extensions match this program.
func schemaFinding(s migrations.Status) doctor.Finding {
	if s.Problem != "" {
		return doctor.Finding{About: "schema", Level: doctor.LevelError, What: s.Problem,
			Why: "The database does not match this version of oxbow. Nothing else was examined.",
			Do:  `Run "oxbow migrate status" for details.`}
	}
	return doctor.Finding{About: "schema", Level: doctor.LevelOK,
		What: fmt.Sprintf(
			"schema %d, River %d, vector %s in schema %s; functions and triggers match this version of oxbow",
			s.Ours.Current, s.River.Current, s.Extensions["vector"], s.VectorSchema)}
}

// levelNouns are the nouns for counted findings, worst level first.
var levelNouns = []struct {
	level doctor.Level
	noun  string
}{
	{doctor.LevelError, "error"}, {doctor.LevelWarning, "warning"}, {doctor.LevelAdvice, "piece of advice"},
	{doctor.LevelUnseen, "unchecked part"}, {doctor.LevelOK, "healthy part"},
}

// tally counts the findings of the given levels in words; it is "" if there are none.
func tally(findings []doctor.Finding, levels ...doctor.Level) string {
	var parts []string
	for _, of := range levelNouns {
		n := 0
		for _, f := range findings {
			if f.Level == of.level {
				n++
			}
		}
		if n > 0 && slices.Contains(levels, of.level) {
			parts = append(parts, count(n, of.noun))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *app) printDiagnosis(d diagnosis) {
	columns := width(a.out)
	if columns == 0 || columns > 120 {
		columns = 120
	}
	const indent = 24
	for _, f := range d.Findings {
		a.printf("%-8s %-14s %s\n", f.Level, f.About, hanging(f.What, indent, columns))
		if f.Why != "" {
			a.printf("%*s  %s\n", indent, "", hanging(f.Why, indent+2, columns))
		}
		if f.Do != "" {
			a.printf("%*s→ %s\n", indent, "", hanging(f.Do, indent+2, columns))
		}
	}
	a.printf("\n%s: %s.\n", d.Database, tally(d.Findings,
		doctor.LevelError, doctor.LevelWarning, doctor.LevelAdvice, doctor.LevelUnseen, doctor.LevelOK))
}

// hanging wraps a text and indents all lines but the first.
func hanging(text string, indent, columns int) string {
	return strings.Join(wrap(printable(text), max(columns-indent, minText), 1000), "\n"+strings.Repeat(" ", indent))
}
