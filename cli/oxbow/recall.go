package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// queryLong is help that the commands with a query share.
const queryLong = `The embedding flags must select the model of the database's vectors. Showing memories here does not
count as using them.`

func recallCommand(a *app) *cobra.Command {
	var embedding embeddingFlags
	var rerank rerankFlags
	q := oxbow.Query{Limit: 10}
	var explain bool
	cmd := &cobra.Command{
		Use:   "recall USER QUERY",
		Short: "Recall the memories that match a query, best first",
		Long: `Recall the memories of a user that match a query, best first. "-" reads the query from standard input.

--as-of selects what was true at a time, --believed-as-of what the database held to be true. Both accept a
time (2024-05-17T08:00:00Z), or a day, month or year, meaning its end in the user's time zone.

` + queryLong,
		Example: `  oxbow recall ada "What should I not cook for her?"
  oxbow recall ada "where does she work" --as-of 2024-05 --type fact
  oxbow recall 林 "去京都要注意什么" --explain`,
		Args: cobra.ExactArgs(2),
	}
	f := cmd.Flags()
	limitFlag(f, &q.Limit, "maximum number of memories")
	typesFlag(f, &q.Types, "only these types", store.MemoryTypes()...)
	f.StringSliceVar(&q.Contexts, "context", nil, "only these contexts: work, personal, …")
	f.StringVar(&q.AgentID, "agent", "", "only memories of this agent")
	objectFlag(f, &q.Metadata, "metadata", "only memories whose metadata contains this JSON object")
	asOf := momentFlag(f, "as-of", "what was true at this time (default: now)")
	believedAsOf := momentFlag(f, "believed-as-of", "what was believed at this time (default: now)")
	f.Float64Var(&q.MinScore, "min-score", 0, "only memories with at least this relevance, 0 to 1 (default: all)")
	modeFlag(f, &q.Mode)
	f.BoolVar(&q.WordsOnly, "words-only", false, "do not search vectors")
	f.BoolVar(&explain, "explain", false, "show how each score is computed")
	a.jsonFlag(f)
	exclude(f, "explain", "json") // JSON always includes the explanation
	embedding.add(f)
	rerank.add(f)
	cmd.RunE = a.onUser(func(ctx context.Context, u *user, args []string) (err error) {
		q.UserID, q.ValidAsOf, q.BelievedAsOf = u.id, asOf.end(u.zone), believedAsOf.end(u.zone)
		if q.Text, err = u.query(ctx, args[0]); err != nil {
			return err
		}
		found, err := u.client.Recall(ctx, q)
		if err != nil {
			return err
		}
		u.sayDegraded(found.Degraded)
		if len(found.Memories) == 0 {
			if err := u.sayNothingFound(ctx); err != nil {
				return err
			}
		}
		return u.output(found.Memories, func() {
			if explain {
				u.printExplained(found.Memories)
			} else if len(found.Memories) > 0 {
				u.printRecalled(found.Memories)
			}
		})
	}, embedding.option, rerank.option)
	return cmd
}

// sayDegraded reports why vectors were not searched.
func (u *user) sayDegraded(err error) {
	if err != nil {
		u.say("Only words were searched: %s.", sentence(err))
	}
}

// sayNothingFound suggests what to check when a query finds nothing.
func (u *user) sayNothingFound(ctx context.Context) error {
	p, err := as(ctx, u.database, u.id, func(db store.DB) (store.Presence, error) {
		return store.UserPresence(ctx, db, u.id)
	})
	if err != nil {
		return err
	}
	switch {
	case !p.Any:
		u.say("Nothing found: user %q has no memories.", u.id)
	case p.Waiting > 0:
		be := map[bool]string{true: "is", false: "are"}[p.Waiting == 1]
		u.say("Nothing found: %s of user %q %s not embedded yet. Is a worker running (oxbow work)?",
			count(p.Waiting, "memory"), u.id, be)
	default:
		u.say("Nothing found: no memory of user %q matches the query and its filters.", u.id)
	}
	return nil
}

// printRecalled writes a table. The type column is shown unless all are episodes.
func (u *user) printRecalled(memories []oxbow.Result) {
	episodes := !slices.ContainsFunc(memories, func(m oxbow.Result) bool { return m.Type != oxbow.TypeEpisodic })
	t := u.table("#score", "when", "type", "who", "true", "~memory", "id")
	for _, m := range memories {
		kind := m.Type
		if episodes {
			kind = ""
		}
		t.add(score(m), u.when(m), kind, m.Speaker, u.until(m), captioned(m.Modality, m.Content), m.ID)
	}
	t.print()
}

func score(m oxbow.Result) string { return fmt.Sprintf("%.3f", m.Score) }

// when returns the time that a memory is about.
func (u *user) when(m oxbow.Result) string {
	if m.ValidAt.IsZero() {
		return u.minute(m.CreatedAt)
	}
	return u.minute(m.ValidAt)
}

// until describes when a memory ceased to be true or to be believed. It returns "" if it still is.
func (u *user) until(m oxbow.Result) string {
	switch {
	case !m.InvalidAt.IsZero():
		return "until " + u.day(m.InvalidAt)
	case !m.ExpiredAt.IsZero():
		return "believed until " + u.day(m.ExpiredAt)
	}
	return ""
}

// printExplained writes a paragraph for each memory, with the parts of its score.
func (u *user) printExplained(memories []oxbow.Result) {
	columns := width(u.out)
	if columns == 0 {
		columns = math.MaxInt
	}
	for i, m := range memories {
		if i > 0 {
			u.printf("\n")
		}
		u.printf("%s\n", joined("  ", fmt.Sprintf("%d. %s", i+1, score(m)), u.when(m), printable(m.Speaker),
			u.until(m)))
		u.printf("   %s\n   %s\n", hanging(captioned(m.Modality, m.Content), 3, columns), explanation(m.Explain))
		from := []string{string(m.Type), m.ID.String()}
		if m.SessionID != "" {
			from = append(from, "session "+printable(m.SessionID))
		}
		if m.Reference != "" {
			from = append(from, "reference "+printable(m.Reference))
		}
		if len(m.Attachments) > 0 {
			from = append(from, "attached "+printable(attached(m.Attachments)))
		}
		if m.ExternalID != "" {
			from = append(from, "external id "+printable(m.ExternalID))
		}
		u.printf("   %s\n", strings.Join(from, ", "))
	}
}

// captioned returns the content of a memory, marked if it is a caption or code.
func captioned(modality oxbow.Modality, content string) string {
	if modality == oxbow.ModalityText {
		return content
	}
	return "[" + string(modality) + "] " + content
}

// explanation describes the parts of a score: the contribution of each channel and the bonuses.
func explanation(e oxbow.Explanation) string {
	channel := func(name string, s *oxbow.ChannelScore) string {
		if s == nil {
			return name + " –"
		}
		return fmt.Sprintf("%s %.3f, rank %d", name, s.Score, s.Rank)
	}
	parts := []string{fmt.Sprintf("relevance %.2f", e.Relevance), channel("words", e.Text), channel("vector", e.Vector)}
	if e.Entity != nil { // most queries name no entity
		parts = append(parts, channel("entity", e.Entity))
	}
	bonus := fmt.Sprintf("recency +%.1f %%, importance +%.1f %%", 100*e.Recency, 100*e.Importance)
	if e.Speaker > 0 {
		bonus += fmt.Sprintf(", speaker +%.0f %%", 100*e.Speaker)
	}
	if e.Weight != nil {
		bonus += fmt.Sprintf(", weight %.2f %+.1f %%", e.Weight.Weight(), 100*e.Weight.Share)
	}
	if e.Modality != 0 {
		bonus += fmt.Sprintf(", modality × %.2f", e.Modality)
	}
	if e.Stage != "" {
		bonus += fmt.Sprintf(", stage %s +%.1f %%; %s, confidence %.2f, %d supporting, %d contradicting", e.Stage,
			100*e.StageBoost, e.Subtype, e.Confidence, e.Supporting, e.Contradicting)
	}
	if r := e.Reranked; r != nil {
		switch {
		case r.Failed != "":
			bonus += "; not ranked again: " + r.Failed
		case r.Score == nil:
			bonus += fmt.Sprintf("; ranked again without a score, from %d", r.From)
		default:
			bonus += fmt.Sprintf("; ranked again by %.3f, from %d", *r.Score, r.From)
		}
	}
	if e.Repeats != uuid.Nil {
		bonus += "; repeats " + e.Repeats.String()
	}
	if e.Level != "" {
		bonus += ", level " + e.Level
	}
	if e.LeftOut != "" {
		bonus += "; usually left out: " + e.LeftOut
	}
	return strings.Join(append(parts, bonus), "; ")
}
