package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// recallFlags are the flags of recall. Times are parsed once the user's time zone is known.
type recallFlags struct {
	embedding          embeddingFlags
	query              oxbow.Query
	types              []string
	metadata           string
	asOf, believedAsOf string
	json, explain      bool
}

func newRecallCommand(a *app) *cobra.Command {
	var flags recallFlags
	cmd := &cobra.Command{
		Use:   "recall USER QUERY",
		Short: "Show what a user's memories hold for a query, best first",
		Long: `Show what a user's memories hold for a query, best first. "-" reads the query from standard input.

--as-of asks what was true then, --believed-as-of what was believed then. Both take a time (2024-05-17T08:00:00Z), a day
(2024-05-17), a month or a year, of which the end counts, in the user's time zone.

The embedding flags must name the provider whose vectors the database holds. Looking at memories here does not count as
using them.`,
		Example: `  oxbow recall ada "What should I not cook for her?"
  oxbow recall ada "where does she work" --as-of 2024-05 --type fact
  oxbow recall 林 "去京都要注意什么" --explain`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.query.UserID = args[0]
			var err error
			if flags.query.Text, err = a.text(cmd.Context(), args[1]); err != nil {
				return err
			}
			return a.recall(cmd.Context(), &flags)
		},
	}
	f, q := cmd.Flags(), &flags.query
	f.IntVarP(&q.Limit, "limit", "n", 10, "how many memories at most, 1 to 1000")
	f.StringSliceVar(&flags.types, "type", nil, "only these types: fact, episodic, trait, document (default: all)")
	f.StringSliceVar(&q.Contexts, "context", nil, "only these contexts: work, personal, …")
	f.StringVar(&q.AgentID, "agent", "", "only memories of this agent")
	f.StringVar(&flags.metadata, "metadata", "", "only memories whose metadata contains this JSON object")
	f.StringVar(&flags.asOf, "as-of", "", "what was true then (default: now)")
	f.StringVar(&flags.believedAsOf, "believed-as-of", "", "what was believed then (default: now)")
	f.BoolVar(&q.WordsOnly, "words-only", false, "leave the vectors out")
	f.BoolVar(&flags.json, "json", false, "print a JSON array")
	f.BoolVar(&flags.explain, "explain", false, "show where each score comes from")
	cmd.MarkFlagsMutuallyExclusive("json", "explain") // JSON always includes the explanation
	flags.embedding.add(f)
	return cmd
}

func (a *app) recall(ctx context.Context, flags *recallFlags) error {
	q := &flags.query
	if q.Limit < 1 { // the client reads 0 as the default
		return usagef("--limit must be between 1 and 1000, got %d", q.Limit)
	}
	for _, t := range flags.types {
		q.Types = append(q.Types, oxbow.MemoryType(t))
	}
	var err error
	if q.Metadata, err = jsonFlag("metadata", flags.metadata); err != nil {
		return err
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
	if err := store.ValidateUserID(q.UserID); err != nil {
		return err
	}
	location, err := d.location(ctx, q.UserID)
	if err != nil {
		return err
	}
	if err := flags.times(location); err != nil {
		return err
	}
	found, err := d.client.Recall(ctx, *q)
	if err != nil {
		return err
	}
	if found.Degraded != nil {
		a.say("The memories are found by their words alone: %s.", sentence(found.Degraded))
	}
	if len(found.Memories) == 0 {
		if err := a.sayNothingFound(ctx, d, q); err != nil {
			return err
		}
	}
	switch {
	case flags.json:
		if found.Memories == nil {
			found.Memories = []oxbow.Result{}
		}
		return a.printJSON(found.Memories)
	case flags.explain:
		return a.printExplained(found.Memories, location)
	case len(found.Memories) > 0:
		return a.printRecalled(found.Memories, location)
	}
	return nil
}

// times parses the flags that are times.
func (flags *recallFlags) times(location *time.Location) error {
	for _, t := range []struct {
		flag, text string
		to         *time.Time
	}{{"as-of", flags.asOf, &flags.query.ValidAsOf}, {"believed-as-of", flags.believedAsOf, &flags.query.BelievedAsOf}} {
		if t.text == "" {
			continue
		}
		of, err := parsePeriod(t.flag, t.text, location)
		if err != nil {
			return err
		}
		*t.to = of.end
	}
	return nil
}

// sayNothingFound suggests what to check when nothing was found.
func (a *app) sayNothingFound(ctx context.Context, d *database, q *oxbow.Query) error {
	var p store.Presence
	err := d.as(ctx, q.UserID, func(db store.DB) (err error) {
		p, err = store.UserPresence(ctx, db, q.UserID)
		return err
	})
	if err != nil {
		return err
	}
	filtered := len(q.Types)+len(q.Contexts) > 0 || q.AgentID != "" || q.Metadata != nil
	switch {
	case !p.Any:
		a.say("Nothing found: there are no memories of user %q.", q.UserID)
	case p.Waiting > 0:
		a.say("Nothing found: %s of user %q %s to be embedded. Is a worker running? (oxbow work)",
			count(p.Waiting, "memory", "memories"), q.UserID, waits(p.Waiting))
	case filtered:
		a.say("Nothing found: no memory of user %q that the filters let through answers that.", q.UserID)
	case !q.ValidAsOf.IsZero() || !q.BelievedAsOf.IsZero():
		a.say("Nothing found: no memory of user %q answers that as of then.", q.UserID)
	default:
		a.say("Nothing found: no memory of user %q answers that.", q.UserID)
	}
	return nil
}

func waits(n int64) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

// roomForIDs is how wide a terminal must be for a table with ids.
const roomForIDs = 120

// printRecalled writes a table. On a terminal it fits the width; elsewhere each memory is on one
// line, uncut. The type column is shown unless all are episodes.
func (a *app) printRecalled(memories []oxbow.Result, location *time.Location) error {
	columns := width(a.out)
	episodes := !slices.ContainsFunc(memories, func(m oxbow.Result) bool { return m.Type != oxbow.TypeEpisodic })
	t := newTable("#score", "when", "type", "who", "true", "~memory", "id")
	for _, m := range memories {
		kind, id := string(m.Type), m.ID.String()
		if episodes {
			kind = ""
		}
		if columns > 0 && columns < roomForIDs {
			id = ""
		}
		t.add(fmt.Sprintf("%.3f", m.Score), whenOf(m, location), kind, printable(m.Speaker), periodOf(m, location),
			printable(m.Content), id)
	}
	return t.print(a.out)
}

// whenOf returns the time that a memory is about.
func whenOf(m oxbow.Result, location *time.Location) string {
	if !m.ValidAt.IsZero() {
		return showTime(m.ValidAt, location)
	}
	return showTime(m.CreatedAt, location)
}

// periodOf returns until when a memory was true or was believed, if that has ended.
func periodOf(m oxbow.Result, location *time.Location) string {
	switch {
	case !m.InvalidAt.IsZero():
		return "until " + m.InvalidAt.In(location).Format(time.DateOnly)
	case !m.ExpiredAt.IsZero():
		return "believed until " + m.ExpiredAt.In(location).Format(time.DateOnly)
	}
	return ""
}

// printExplained writes a paragraph for each memory, with the parts of its score.
func (a *app) printExplained(memories []oxbow.Result, location *time.Location) error {
	columns := width(a.out)
	for i, m := range memories {
		if i > 0 {
			a.printf("\n")
		}
		head := []string{fmt.Sprintf("%d. %.3f", i+1, m.Score), whenOf(m, location), printable(m.Speaker), periodOf(m, location)}
		a.printf("%s\n", joined(head, "  "))
		text := []string{printable(m.Content)}
		if columns > 0 {
			text = wrap(text[0], max(columns-3, minText), 2*textRows)
		}
		for _, line := range text {
			a.printf("   %s\n", line)
		}
		a.printf("   %s\n", explanation(m.Explain))
		from := []string{string(m.Type), m.ID.String()}
		if m.SessionID != "" {
			from = append(from, "session "+printable(m.SessionID))
		}
		if m.ExternalID != "" {
			from = append(from, "external id "+printable(m.ExternalID))
		}
		a.printf("   %s\n", strings.Join(from, ", "))
	}
	return nil
}

// explanation describes the parts of a score: the contribution of each channel and the bonuses.
func explanation(e oxbow.Explanation) string {
	var parts []string
	for _, c := range []struct {
		name  string
		score *oxbow.ChannelScore
	}{{"words", e.Text}, {"vector", e.Vector}, {"entity", e.Entity}} {
		if c.score == nil && c.name == "entity" {
			continue // most queries name no entity
		}
		if c.score == nil {
			parts = append(parts, c.name+" –")
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %.3f, rank %d", c.name, c.score.Score, c.score.Rank))
	}
	bonus := fmt.Sprintf("recency +%.1f %%, importance +%.1f %%", 100*e.Recency, 100*e.Importance)
	if e.Stage != "" {
		bonus += fmt.Sprintf(", stage %s +%.1f %%; %s, confidence %.2f, %d for and %d against", e.Stage, 100*e.StageBoost, e.Subtype,
			e.Confidence, e.Supporting, e.Contradicting)
	}
	return strings.Join(append(parts, bonus), "; ")
}

// joined joins the parts that are not empty.
func joined(parts []string, separator string) string {
	var some []string
	for _, part := range parts {
		if part != "" {
			some = append(some, part)
		}
	}
	return strings.Join(some, separator)
}
