package main

import (
	"context"
	"fmt"
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

func newDoctorCommand(a *app) *cobra.Command {
	var flags embeddingFlags
	var want doctor.Expected
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what is wrong, or will be, and say what to do",
		Long: `Look at the server, its extensions and settings, the schema, rights, indexes, dead rows, transactions that hold back
vacuum, workers, the queue, and what waits; and say of each what is wrong, why it matters, and what to do about it.

It reads the catalog, PostgreSQL's statistics and a bounded number of rows, and changes nothing. It is for the owner of the
schema and members of oxbow_worker; what the login may not see is said. The command fails if there is an error or a warning;
advice is no failure.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if want.Timeout < time.Millisecond || want.Timeout > time.Hour {
				return usagef("--timeout has to be from 1ms to 1h, got %s", want.Timeout)
			}
			for _, x := range migrations.Indexes() {
				want.Indexes = append(want.Indexes, doctor.ExpectedIndex(x))
			}
			embedder, err := flags.open()
			if err != nil {
				return err
			}
			want.Model = store.EmbeddingModel{Model: embedder.Model(), Dimension: embedder.Dimension()}
			d, err := a.diagnose(cmd.Context(), want)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(d)
			} else {
				a.printDiagnosis(d)
			}
			if err == nil && !d.Healthy {
				err = fmt.Errorf("%s is not well: %s", d.Database, tally(d.Findings, doctor.LevelError, doctor.LevelWarning))
			}
			return err
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().DurationVar(&want.Timeout, "timeout", 5*time.Second, "how long a question to PostgreSQL may take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) diagnose(ctx context.Context, want doctor.Expected) (d diagnosis, err error) {
	dsn, err := a.dsn()
	if err != nil {
		return d, err
	}
	schema, err := migrations.Read(ctx, dsn)
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
		defer db.close()
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
	f := doctor.Finding{About: "schema", Level: doctor.LevelOK, What: fmt.Sprintf("schema %d, River %d, vector %s in schema %s; functions and triggers are this oxbow's",
		s.Ours.Current, s.River.Current, s.Extensions["vector"], s.VectorSchema)}
	if s.Problem != "" {
		f.Level, f.What, f.Why, f.Do = doctor.LevelError, s.Problem, "This oxbow and the database do not fit each other; nothing else was looked at.",
			"oxbow migrate status shows what is there."
	}
	return f
}

// levelWords are the words for counted findings, worst level first.
var levelWords = []struct {
	level     doctor.Level
	one, many string
}{
	{doctor.LevelError, "error", "errors"}, {doctor.LevelWarning, "warning", "warnings"},
	{doctor.LevelAdvice, "piece of advice", "pieces of advice"}, {doctor.LevelUnseen, "thing that could not be seen", "things that could not be seen"},
	{doctor.LevelOK, "part that is well", "parts that are well"},
}

// tally counts the findings of the given levels in words; it is "" if there are none.
func tally(findings []doctor.Finding, levels ...doctor.Level) string {
	var parts []string
	for _, w := range levelWords {
		n := 0
		for _, f := range findings {
			if f.Level == w.level {
				n++
			}
		}
		for _, l := range levels {
			if l == w.level && n > 0 {
				parts = append(parts, counted(n, w.one, w.many))
			}
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
		a.printf("%-8s %-14s %s\n", f.Level, f.About, indented(f.What, indent, columns))
		for _, more := range []string{f.Why, f.Do} {
			if more != "" {
				mark := "  "
				if more == f.Do {
					mark = "→ "
				}
				a.printf("%*s%s%s\n", indent, "", mark, indented(more, indent+2, columns))
			}
		}
	}
	a.printf("\n%s: %s.\n", d.Database, tally(d.Findings, doctor.LevelError, doctor.LevelWarning, doctor.LevelAdvice, doctor.LevelUnseen, doctor.LevelOK))
}

// indented wraps a text and indents all lines but the first.
func indented(text string, indent, columns int) string {
	return strings.Join(wrap(printable(text), max(columns-indent, minText), 1000), "\n"+strings.Repeat(" ", indent))
}
