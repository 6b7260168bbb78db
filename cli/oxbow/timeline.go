package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

type timelineFlags struct {
	embedding embeddingFlags
	query     oxbow.TimelineQuery
	types     []string
	json      bool
}

func newTimelineCommand(a *app) *cobra.Command {
	var flags timelineFlags
	cmd := &cobra.Command{
		Use:   "timeline USER TOPIC",
		Short: "Show what was known about a topic, as it changed",
		Long: `Show the facts and episodes of a user that are about a topic, those of the past too, in the order in which they became true:
since when and until when, what followed, and what holds now (●). "-" reads the topic from standard input.

Where a memory was learned of later than it became true, that is told. The embedding flags must name the provider whose
vectors the database holds.`,
		Example: `  oxbow timeline ada "where she lives"
  oxbow timeline 小明 住在哪里 --type fact`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.query.UserID = args[0]
			var err error
			if flags.query.Topic, err = a.text(cmd.Context(), args[1]); err != nil {
				return err
			}
			return a.timeline(cmd.Context(), &flags)
		},
	}
	f, q := cmd.Flags(), &flags.query
	f.IntVarP(&q.Limit, "limit", "n", 50, "how many memories at most, the most relevant ones, 1 to 1000")
	f.StringSliceVar(&flags.types, "type", nil, "only this type: fact or episodic (default: both)")
	f.BoolVar(&q.WordsOnly, "words-only", false, "leave the vectors out")
	f.BoolVar(&flags.json, "json", false, "print a JSON array")
	flags.embedding.add(f)
	return cmd
}

func (a *app) timeline(ctx context.Context, flags *timelineFlags) error {
	q := &flags.query
	if q.Limit < 1 { // the client reads 0 as the default
		return usagef("--limit must be between 1 and 1000, got %d", q.Limit)
	}
	for _, t := range flags.types {
		if t != string(oxbow.TypeFact) && t != string(oxbow.TypeEpisodic) {
			return usagef("--type must be fact or episodic, got %q", t)
		}
		q.Types = append(q.Types, oxbow.MemoryType(t))
	}
	embedder, err := flags.embedding.open()
	if err != nil {
		return err
	}
	d, err := a.connect(ctx, oxbow.WithEmbedder(embedder))
	if err != nil {
		return err
	}
	defer d.close()
	found, err := d.client.Timeline(ctx, *q)
	if err != nil {
		return err
	}
	if found.Degraded != nil {
		a.say("The memories are found by their words alone: %s.", sentence(found.Degraded))
	}
	if len(found.Entries) == 0 {
		asked := oxbow.Query{UserID: q.UserID, Types: q.Types}
		if err := a.sayNothingFound(ctx, d, &asked); err != nil {
			return err
		}
	}
	if flags.json {
		if found.Entries == nil {
			found.Entries = []oxbow.TimelineEntry{}
		}
		return a.printJSON(found.Entries)
	}
	if len(found.Entries) == 0 {
		return nil
	}
	location, err := d.location(ctx, q.UserID)
	if err != nil {
		return err
	}
	return a.printTimeline(found.Entries, location)
}

// printTimeline writes a table. The type column is shown unless all are facts.
func (a *app) printTimeline(entries []oxbow.TimelineEntry, location *time.Location) error {
	columns := width(a.out)
	numbers := map[uuid.UUID]int{}
	for i, e := range entries {
		numbers[e.ID] = i + 1
	}
	at := func(t time.Time) string { return day(t, location) }
	if crowded(entries, location) {
		at = func(t time.Time) string { return showTime(t, location) }
	}
	facts := !slices.ContainsFunc(entries, func(e oxbow.TimelineEntry) bool { return e.Type != oxbow.TypeFact })
	t := newTable("#nr", "from", "until", "now", "type", "who", "~memory", "then", "learned", "id")
	for i, e := range entries {
		now, kind, learned, id := "", string(e.Type), "", e.ID.String()
		if facts {
			kind = ""
		}
		if e.Current {
			now = "●"
		}
		if day(e.CreatedAt, location) != day(e.ValidAt, location) {
			learned = at(e.CreatedAt)
		}
		if columns > 0 && columns < roomForIDs {
			id = ""
		}
		t.add(fmt.Sprint(i+1), at(e.ValidAt), at(e.InvalidAt), now, kind, printable(e.Speaker), printable(store.Shorten(e.Content, 300)),
			thenOf(e, numbers), learned, id)
	}
	return t.print(a.out)
}

// crowded reports whether an entry begins and ends on the same day, so that the table needs times.
func crowded(entries []oxbow.TimelineEntry, location *time.Location) bool {
	for _, e := range entries {
		if e.InvalidAt.After(e.ValidAt) && day(e.InvalidAt, location) == day(e.ValidAt, location) {
			return true
		}
	}
	return false
}

// thenOf describes what became of an entry. It refers to the successor by its number if the list
// has it.
func thenOf(e oxbow.TimelineEntry, numbers map[uuid.UUID]int) string {
	by := func(id uuid.UUID) string {
		if n, ok := numbers[id]; ok {
			return fmt.Sprint(n)
		}
		return id.String()
	}
	switch {
	case e.SupersededBy != uuid.Nil && !e.InvalidAt.IsZero() && !e.InvalidAt.After(e.ValidAt):
		return "never true: see " + by(e.SupersededBy)
	case e.SupersededBy != uuid.Nil:
		return "superseded by " + by(e.SupersededBy)
	case e.ContradictedBy != uuid.Nil:
		return "contradicted by " + by(e.ContradictedBy)
	case !e.ExpiredAt.IsZero():
		return "taken back"
	case !e.InvalidAt.IsZero() && !e.InvalidAt.After(time.Now()):
		return "ended"
	case e.ValidAt.After(time.Now()):
		return "planned"
	}
	return ""
}
