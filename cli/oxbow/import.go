package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
)

// shownBad is how many bad lines of a file are shown.
const shownBad = 20

func importCommand(a *app) *cobra.Command {
	o := oxbow.ImportOptions{Type: oxbow.TypeEpisodic}
	var userID string
	var dryRun bool
	var in movingIn
	cmd := &cobra.Command{
		Use:   "import SOURCE...",
		Short: "Import memories from JSON Lines files, or from another memory system",
		Long: `Import memories from JSON Lines files, which may be compressed with gzip; "-" is standard input. A line is

  {"type":"memory","user":U,"id":ID,"session":S,"seq":N,"speaker":P,"role":R,"at":RFC3339,"content":TEXT}

Only user and content are required. Any column of oxbow.memories may be given by name; without memory_type,
--type applies. Lines of type "question" and "point" are ignored. The output of "oxbow export" is imported completely,
with --traits if it contains traits.

Each file is imported as a whole, or not at all if a line is invalid. Memories that exist (by id) are left
unchanged, so an import can be repeated. With OXBOW_KEYSET, memories in which a secret is found are stored as
sensitivity 3. If all times of a new user have the same UTC offset, it becomes the user's time zone.

With --from, the sources are the database (a PostgreSQL URL) or the exports of another memory system:

  mem0       the pgvector table, the JSON of get_all or of the platform, history.db for older versions
  zep        a Graphiti graph as JSON or from Neo4j's apoc.export.json; the tables of Zep's community edition
  langgraph  the table of PostgresStore; --user-from says which part of the namespace is the user
  letta      the server's tables, or an agent file (.af)
  hindsight  the tables, or the archive of an export
  jsonl      JSON or JSON Lines of any form; --map names the members

Such an import skips rows that cannot be imported, and reports them with what was not imported of the others.
Memories without a type become facts, those of jsonl episodes. The other system's vectors are not imported; a worker
computes new ones. --dry-run does everything except commit.`,
		Example: `  oxbow import conversations.jsonl.gz
  oxbow export ada | oxbow import - --user ada-copy
  oxbow import --from mem0 --table memories postgres://me@host/app ~/.mem0/history.db --dry-run
  oxbow import --from langgraph --user-from 2 postgres://me@host/app
  oxbow import --from jsonl --map content=note,user=owner.name notes.jsonl`,
		Args: cobra.MinimumNArgs(1),
	}
	f := cmd.Flags()
	run := a.asOperator(func(ctx context.Context, d *database, sources []string) error {
		if in.from != "" {
			if !f.Changed("type") {
				o.Type = ""
			}
			return d.moveIn(ctx, sources, in, userID, o.Type, dryRun)
		}
		for _, file := range sources {
			if err := d.importFile(ctx, file, userID, dryRun, o); err != nil {
				return err
			}
		}
		return nil
	}, withLazyKeys)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := in.check(f); err != nil {
			return err
		}
		return run(cmd, args)
	}
	f.BoolVar(&dryRun, "dry-run", false, "show what would be imported, and write nothing")
	in.flags(f)
	f.BoolVar(&o.SkipBad, "skip-bad", false, "report invalid lines and import the others")
	userFlag(f, &userID, "import the memories of the only user as this user's")
	typeFlag(f, &o.Type, "type of memories without memory_type")
	f.BoolVar(&o.Traits, "traits", false, "accept traits, which otherwise only reflection creates")
	a.jsonFlag(f)
	return cmd
}

// errDryRun rolls a transaction back that has served its purpose.
var errDryRun = errors.New("dry run")

func (d *database) importFile(ctx context.Context, name, userID string, dryRun bool, o oxbow.ImportOptions) error {
	file, size, err := d.open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	name = shownName(name)
	in := &countingReader{Reader: file}
	bar := d.progress("read "+name+" (bytes)", size)
	users := map[string]bool{}
	bad := 0
	o.Progress = func(oxbow.ImportReport) { bar.set(in.read.Load()) }
	o.OnBad = func(line *oxbow.InvalidError) {
		if bad++; bad <= shownBad {
			bar.say("%s: %s", name, line.Error())
		}
	}
	if userID != "" {
		o.Rename = func(id string) string {
			users[id] = true
			return userID
		}
	}
	var report oxbow.ImportReport
	err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) (err error) {
		report, err = d.client.WithTx(tx).Import(ctx, in, o)
		if err == nil && len(users) > 1 {
			err = fmt.Errorf("--user would merge the memories of %d users", len(users))
		}
		if err == nil && dryRun {
			err = errDryRun
		}
		return err
	})
	bar.end()
	if err != nil && !errors.Is(err, errDryRun) {
		if line, ok := errors.AsType[*oxbow.InvalidError](err); ok && line.Line > 0 {
			return fmt.Errorf("%s: %w; nothing was imported from the file (--skip-bad skips invalid lines)", name, err)
		}
		return fmt.Errorf("%s: %w; nothing was imported from the file", name, err)
	}
	if bad > shownBad {
		d.say("%s: … and %s", name, count(bad-shownBad, "more invalid line"))
	}
	d.printf("%s: %s\n", name, importSummary(report))
	if dryRun {
		d.printf("Dry run: nothing was written.\n")
	}
	return nil
}

// importSummary returns the result for a file as a sentence.
func importSummary(r oxbow.ImportReport) string {
	text := count(r.New, "memory") + " added"
	switch existing := int64(r.Memories) - r.New; {
	case r.Memories == 0:
		text = "no memories"
	case existing > 0:
		text += ", " + thousands(existing) + " unchanged"
	}
	for _, also := range []struct {
		n          int
		noun, what string
	}{{r.Records, "other record", "read"}, {r.Ignored, "line of an evaluation", "ignored"}, {r.Bad, "invalid line", "skipped"}} {
		if also.n > 0 {
			text += "; " + count(also.n, also.noun) + " " + also.what
		}
	}
	return text + "."
}
