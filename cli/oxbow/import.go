package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// shownBad is how many bad lines of a file are shown.
const shownBad = 20

type importFlags struct {
	skipBad, traits bool
	user, kind      string
}

func newImportCommand(a *app) *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Store the memories of JSON Lines files",
		Long: `Store the memories of files of JSON Lines, compressed with gzip or not; "-" is standard input. A line is

  {"type":"memory","user":U,"id":ID,"session":S,"seq":N,"speaker":P,"role":R,"at":RFC3339,"content":TEXT}

of which only user and content are required; any column of oxbow.memories may be given by its name. A memory is an
episode unless its line has a memory_type. Lines of type "question" are passed over. What "oxbow export" wrote is read
back whole, with --traits if there are traits.

A file is stored whole or, if a line is bad, not at all. A memory that is there already (by its id) stays as it is, so
an import can be repeated. A new user whose times all have one offset gets it as time zone.`,
		Example: `  oxbow import conversations.jsonl.gz
  oxbow export ada | oxbow import - --user ada-copy`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error { return a.importFiles(cmd.Context(), files, flags) },
	}
	cmd.Flags().BoolVar(&flags.skipBad, "skip-bad", false, "leave bad lines out, show them, and store the others")
	cmd.Flags().StringVar(&flags.user, "user", "", "whose memories they are, whatever the lines say (those of one user only)")
	cmd.Flags().StringVar(&flags.kind, "type", string(oxbow.TypeEpisodic), "the type of memories whose lines name none: fact, episodic or document")
	cmd.Flags().BoolVar(&flags.traits, "traits", false, "take traits, which otherwise only reflection makes: for exports and old data")
	return cmd
}

func (a *app) importFiles(ctx context.Context, files []string, flags importFlags) error {
	if !slices.Contains([]string{"fact", "episodic", "document"}, flags.kind) {
		return usagef("--type must be fact, episodic or document, got %q", flags.kind)
	}
	if flags.user != "" {
		if err := store.ValidateUserID(flags.user); err != nil {
			return usageError{fmt.Errorf("--user: %w", err)}
		}
	}
	d, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	for _, file := range files {
		if err := a.importFile(ctx, d, file, flags); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) importFile(ctx context.Context, d *database, name string, flags importFlags) error {
	file, size, err := a.open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	name = shownName(name)
	in := &countingReader{Reader: file}
	bar := a.progress("read "+name+" (bytes)", size)
	users := map[string]bool{}
	bad := 0
	options := oxbow.ImportOptions{
		SkipBad: flags.skipBad, Type: oxbow.MemoryType(flags.kind), Traits: flags.traits,
		Progress: func(oxbow.ImportReport) { bar.set(in.read.Load()) },
		OnBad: func(line *oxbow.InvalidError) {
			if bad++; bad <= shownBad {
				bar.say(fmt.Sprintf("%s: %s", name, line.Error()))
			}
		},
	}
	if flags.user != "" {
		options.Rename = func(userID string) string {
			users[userID] = true
			return flags.user
		}
	}
	var report oxbow.ImportReport
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) (err error) {
		report, err = d.client.WithTx(tx).Import(ctx, in, options)
		if err == nil && len(users) > 1 {
			err = fmt.Errorf("it has memories of %d users, which --user would mix", len(users))
		}
		return err
	})
	bar.end()
	if err != nil {
		return importError(name, err)
	}
	if bad > shownBad {
		a.say("%s: … and %s", name, count(int64(bad-shownBad), "bad line more", "bad lines more"))
	}
	a.printf("%s: %s\n", name, importSummary(report))
	return nil
}

// importError names the file and says that nothing of it was imported.
func importError(name string, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: nothing of the file was kept: %w", name, err)
	}
	if line, ok := errors.AsType[*oxbow.InvalidError](err); ok && line.Line > 0 {
		return fmt.Errorf("%s: %w; nothing of the file was kept (--skip-bad leaves bad lines out)", name, err)
	}
	return fmt.Errorf("%s: %w; nothing of the file was kept", name, err)
}

// importSummary returns the result for a file as a sentence.
func importSummary(r oxbow.ImportReport) string {
	memories, there := int64(r.Memories), int64(r.Memories)-r.New
	var text string
	switch {
	case memories == 0:
		text = "no memories in it"
	case r.New == 0:
		text = fmt.Sprintf("nothing to add, the %s in it %s there already", count(memories, "memory", "memories"), areOne(memories))
	case there == 0:
		text = count(memories, "memory", "memories") + " added"
	default:
		text = fmt.Sprintf("%s added, %s there already", count(r.New, "memory", "memories"), thousands(there))
	}
	for _, also := range []struct {
		n         int64
		one, many string
	}{
		{int64(r.Records), "other record read", "other records read"},
		{int64(r.Ignored), "question passed over", "questions passed over"},
		{int64(r.Bad), "bad line left out", "bad lines left out"},
	} {
		if also.n > 0 {
			text += "; " + count(also.n, also.one, also.many)
		}
	}
	return text + "."
}

func areOne(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are all"
}
