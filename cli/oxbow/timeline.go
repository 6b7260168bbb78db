package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/oneline"
)

func timelineCommand(a *app) *cobra.Command {
	var embedding embeddingFlags
	q := oxbow.TimelineQuery{Limit: 50}
	cmd := &cobra.Command{
		Use:   "timeline USER TOPIC",
		Short: "Show how knowledge about a topic changed",
		Long: `Show a user's facts and episodes about a topic, including past ones, in the order in which they became true,
with their end and successor; ● marks what is true now. "-" reads the topic from standard input. The column
learned appears for memories that were stored later than they became true.

` + queryLong,
		Example: `  oxbow timeline ada "where she lives"
  oxbow timeline 小明 住在哪里 --type fact`,
		Args: cobra.ExactArgs(2),
	}
	f := cmd.Flags()
	limitFlag(f, &q.Limit, "maximum number of memories; the most relevant are kept")
	typesFlag(f, &q.Types, "only this type", oxbow.TypeFact, oxbow.TypeEpisodic)
	f.BoolVar(&q.WordsOnly, "words-only", false, "do not search vectors")
	a.jsonFlag(f)
	embedding.add(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) (err error) {
		q.UserID = u.id
		if q.Topic, err = u.query(ctx, args[0]); err != nil {
			return err
		}
		found, err := u.client.Timeline(ctx, q)
		if err != nil {
			return err
		}
		u.sayDegraded(found.Degraded)
		if len(found.Entries) == 0 {
			if err := u.sayNothingFound(ctx); err != nil || !u.json {
				return err
			}
		}
		return u.output(found.Entries, func() { u.printTimeline(found.Entries) })
	}, embedding.option)
	return cmd
}

// printTimeline writes a table. The type column is shown unless all are facts. Times are shown if an entry begins and
// ends on the same day, otherwise days.
func (u *user) printTimeline(entries []oxbow.TimelineEntry) {
	numbers := map[uuid.UUID]int{}
	at := u.day
	for i, e := range entries {
		numbers[e.ID] = i + 1
		if e.InvalidAt.After(e.ValidAt) && u.day(e.InvalidAt) == u.day(e.ValidAt) {
			at = u.minute
		}
	}
	facts := !slices.ContainsFunc(entries, func(e oxbow.TimelineEntry) bool { return e.Type != oxbow.TypeFact })
	t := u.table("#nr", "from", "until", "now", "type", "who", "~memory", "then", "learned", "id")
	for i, e := range entries {
		now, kind, learned := "", e.Type, ""
		if facts {
			kind = ""
		}
		if e.Current {
			now = "●"
		}
		if u.day(e.CreatedAt) != u.day(e.ValidAt) {
			learned = at(e.CreatedAt)
		}
		content := oneline.Shorten(captioned(e.Modality, e.Content), 300)
		t.add(i+1, at(e.ValidAt), at(e.InvalidAt), now, kind, e.Speaker, content, outcome(e, numbers), learned, e.ID)
	}
	t.print()
}

// outcome describes what became of an entry. It refers to the successor by its number if the list contains it.
func outcome(e oxbow.TimelineEntry, numbers map[uuid.UUID]int) string {
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
		return "retracted"
	case !e.InvalidAt.IsZero() && !e.InvalidAt.After(time.Now()):
		return "ended"
	case e.ValidAt.After(time.Now()):
		return "planned"
	}
	return ""
}
