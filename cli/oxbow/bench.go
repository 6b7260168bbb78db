package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow/internal/bench"
)

type benchFlags struct {
	bench.Options
	json bool
	page string
}

func newBenchCommand(a *app) *cobra.Command {
	flags := benchFlags{Options: bench.Defaults()}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure Oxbow on this machine",
		Long: `Measure Oxbow on a PostgreSQL of its own that is gone afterwards; the database that is configured is not touched. It needs
PostgreSQL and pgvector installed, as "oxbow dev" does, and some GiB of disk under /var/tmp.

What is promised is compared with a reference (a bare table, a bare query, COPY, …) in the same run and in turns, so that a
noisy machine weighs on both. The texts are made up, from a seed.

Sections: ` + strings.Join(bench.Sections(), ", ") + `. The last is left out unless it is named or --soak
says how long it is (30 minutes, if only named); an interrupt ends it, and what was seen so far is printed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd.Context(), &flags) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.Only, "only", nil, "measure these sections alone")
	f.BoolVar(&flags.json, "json", false, "print JSON")
	f.StringVar(&flags.page, "page", "", "also write the tables into this page of Markdown, in the place of those sections")
	f.Uint64Var(&flags.Seed, "seed", flags.Seed, "of the texts")
	f.IntVar(&flags.Rounds, "rounds", flags.Rounds, "rounds of each way to insert")
	f.DurationVar(&flags.Round, "round", flags.Round, "length of a round of single-row transactions")
	f.IntVar(&flags.Memories, "memories", flags.Memories, "memories in the database that is recalled from, at least 28,000")
	f.IntVar(&flags.Questions, "questions", flags.Questions, "questions to each size of user")
	f.IntSliceVar(&flags.Indexed, "indexed", flags.Indexed, "memories of the users whose vectors get an index")
	f.IntVar(&flags.Inserts, "inserts", flags.Inserts, "inserts to wait for, with LISTEN and without")
	f.IntSliceVar(&flags.Imported, "imported", flags.Imported, "memories to import, one size after the other")
	f.StringVar(&flags.ImportFile, "import-file", "", "import this file instead, JSON Lines as for oxbow import")
	f.IntVar(&flags.Traits, "traits", flags.Traits, "traits to settle some of, at least 200,000; also among a tenth and a hundredth of them")
	f.IntVar(&flags.Settles, "settles", flags.Settles, "rounds of settling")
	f.IntVar(&flags.People, "people", flags.People, "users who are reflected on at once, each with 1,000 memories; at least 10")
	f.IntVar(&flags.History, "history", flags.History, "memories of the user with the longest history that is reflected on, at least 1,000")
	f.IntSliceVar(&flags.Databases, "databases", flags.Databases, "memories in the databases in which recall and jobs are measured at scale")
	f.IntVar(&flags.V1, "v1", flags.V1, "rows in the table of version 1")
	f.IntVar(&flags.Pipelined, "pipelined", flags.Pipelined, "memories that wait to be embedded; a tenth of them one by one")
	f.IntVar(&flags.Jobs, "jobs", flags.Jobs, "jobs that wait to be worked in a round of the queue")
	f.IntVar(&flags.Churn, "churn", flags.Churn, "jobs that come and go until their table is looked at")
	f.DurationVar(&flags.Soak, "soak", flags.Soak, "also load a worker for so long, for example 30m")
	f.Float64Var(&flags.SoakRate, "soak-rate", flags.SoakRate, "acts of users a second in the section soak")
	return cmd
}

func (a *app) bench(ctx context.Context, flags *benchFlags) error {
	if err := flags.Check(); err != nil {
		return usageError{err}
	}
	flags.Out, flags.Notes = a.out, a.err
	if flags.json {
		flags.Out = io.Discard
	}
	if flags.page != "" {
		write, err := pageWriter(flags.page)
		if err != nil {
			return err
		}
		flags.After = write
	}
	report, failed := bench.Run(ctx, flags.Options)
	if flags.json {
		if err := a.printJSON(report); err != nil {
			return errors.Join(failed, err)
		}
	}
	switch missed := report.Missed(); {
	case flags.json:
	case len(missed) > 0:
		a.printf("\nMissed of what is promised:\n  %s\n", strings.Join(missed, "\n  "))
	case failed == nil:
		a.printf("\nNothing that is promised was missed.\n")
	}
	return failed
}

// pageWriter returns what brings a page up to date after each section, as the page is then: others may have written to it. That the page
// can be written is tried at once, and not after hours.
func pageWriter(path string) (write func(bench.Report) error, err error) {
	write = func(r bench.Report) error {
		page, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the page: %w", err)
		}
		if err := os.WriteFile(path, []byte(r.Page(string(page))), 0o644); err != nil { // a page is for everybody
			return fmt.Errorf("write the page: %w", err)
		}
		return nil
	}
	return write, write(bench.Report{})
}
