package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// providerTimeout is how long status waits for the embedding provider.
const providerTimeout = 5 * time.Second

// databaseStatus is the output of status.
type databaseStatus struct {
	Database string             `json:"database"`
	Oxbow    migrations.Version `json:"oxbow"`
	River    migrations.Version `json:"river"`
	gauges.Overview
	Provider providerStatus `json:"provider"`
}

// providerStatus is the state of the embedding provider that the flags choose.
type providerStatus struct {
	Model          string  `json:"model"`
	Dimension      int     `json:"dimension"`
	MatchesVectors bool    `json:"matches_vectors"` // the database's vectors come from this model
	OK             bool    `json:"ok"`
	Milliseconds   float64 `json:"milliseconds"`
	Error          string  `json:"error,omitzero"`
}

func newStatusCommand(a *app) *cobra.Command {
	var flags embeddingFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the database holds and how the work goes",
		Long: `Show the memories by type and state, the messages that wait to be extracted from, the queue, how long the oldest memory
waits to be embedded, whether the embedding provider answers, how the language model has answered (none is asked by the rules),
and the versions of the schema.

Where a type has more than 250,000 memories, its numbers come from PostgreSQL's statistics and are marked with "~", so
that this stays cheap. The provider is asked for the vector of one short text. The command succeeds whatever it finds;
for alarms, read --json.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			embedder, err := flags.open()
			if err != nil {
				return err
			}
			s, err := a.readStatus(cmd.Context(), embedder)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(s)
			}
			return a.printDatabaseStatus(s)
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) readStatus(ctx context.Context, embedder oxbow.Embedder) (databaseStatus, error) {
	var s databaseStatus
	d, err := a.connect(ctx)
	if err != nil {
		return s, err
	}
	defer d.close()
	if err := seeAll(ctx, d.pool, "oxbow status"); err != nil {
		return s, err
	}
	schema, err := migrations.Read(ctx, a.databaseURL)
	if err != nil {
		return s, err
	}
	s.Database, s.Oxbow, s.River = schema.Database, schema.Ours, schema.River
	if s.Overview, err = gauges.ReadOverview(ctx, d.pool, gauges.ExactCounts); err != nil {
		return s, err
	}
	s.Provider = askProvider(ctx, embedder)
	s.Provider.MatchesVectors = s.Embedding == store.EmbeddingModel{Model: s.Provider.Model, Dimension: s.Provider.Dimension}
	return s, ctx.Err()
}

// askProvider requests one vector.
func askProvider(ctx context.Context, embedder oxbow.Embedder) providerStatus {
	s := providerStatus{Model: embedder.Model(), Dimension: embedder.Dimension()}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	begun := time.Now()
	_, err := embedder.Embed(ctx, []string{"How are you?"})
	s.Milliseconds = float64(time.Since(begun).Microseconds()) / 1000
	switch {
	case ctx.Err() != nil:
		s.Error = fmt.Sprintf("no answer within %s", providerTimeout)
	case err != nil:
		s.Error = sentence(err)
	default:
		s.OK = true
	}
	return s
}

func (a *app) printDatabaseStatus(s databaseStatus) error {
	a.printf("%-10s %s; schema %d of %d, River %d of %d\n", "database", s.Database,
		s.Oxbow.Current, s.Oxbow.Latest, s.River.Current, s.River.Latest)
	a.printf("%-10s %s\n", "vectors", s.Embedding)
	for _, u := range s.Indexed {
		a.printf("%-10s %s\n", "indexed", indexedLine(u))
	}
	a.printf("%-10s %s\n", "provider", s.Provider)
	if s.Reasoner != nil {
		a.printf("%-10s %s\n", "reasoner", reasonerLine(*s.Reasoner, time.Now()))
	}
	if s.Messages.Waiting > 0 {
		a.printf("%-10s %s\n", "messages", messageLine(s.Messages))
	}
	a.printf("\n")
	if err := a.printMemories(s.Memories); err != nil {
		return err
	}
	a.printf("\n")
	if err := a.printQueue(s); err != nil {
		return err
	}
	return nil
}

// indexedLine describes a user whose vectors have an index.
func indexedLine(u store.IndexedUser) string {
	line := fmt.Sprintf("%s, %s: %s vectors", printable(u.UserID), u.Type, thousands(u.Vectors))
	switch {
	case u.State == "ending":
		return line + "; the index is being removed"
	case u.State == "ready" && u.Waiting == 0:
		return line + ", found by an index"
	case u.State == "ready":
		return line + ", found by an index; " + thousands(u.Waiting) + " wait to be in it, and are scanned"
	case u.State == "filling":
		return line + ", scanned until the index is ready; " + thousands(u.Waiting) + " are not in it yet"
	}
	return line + ", scanned until the index is ready; it begins when older transactions are over"
}

func (p providerStatus) String() string {
	if !p.MatchesVectors {
		return fmt.Sprintf("%s with %d dimensions, which is not what the vectors are of: give the embedding flags, or run oxbow reembed",
			p.Model, p.Dimension)
	}
	if !p.OK {
		return p.Model + " does not work: " + p.Error
	}
	if p.Milliseconds < 1 {
		return p.Model + " answers within 1 ms"
	}
	return fmt.Sprintf("%s answers within %.0f ms", p.Model, p.Milliseconds)
}

// reasonerLine describes a language model's state from its last calls.
func reasonerLine(r gauges.ReasonerState, now time.Time) string {
	ago := func(t time.Time) string { return age(now.Sub(t).Seconds()) }
	if r.DownSince == nil {
		return fmt.Sprintf("%s answered %s ago", r.Model, ago(*r.WorkedAt))
	}
	if r.Waiting == 0 { // the model may no longer be in use
		return fmt.Sprintf("%s gave no answer of use at its last %s, the first %s ago: %s; nothing waits for it", r.Model,
			counted(int(r.Failures), "call", "calls"), ago(*r.DownSince), printable(r.LastError))
	}
	line := fmt.Sprintf("%s gives no answer of use for %s, %s: %s", r.Model, ago(*r.DownSince), counted(int(r.Failures), "call", "calls"), printable(r.LastError))
	return line + fmt.Sprintf("; %s meanwhile", counted(int(r.Waiting), "job waits", "jobs wait"))
}

// messageLine describes the messages waiting for extraction.
func messageLine(m gauges.MessageCount) string {
	line := thousands(m.Waiting)
	if m.Waiting >= gauges.ExactCounts {
		line = "at least " + line
	}
	line += map[bool]string{true: " waits", false: " wait"}[m.Waiting == 1] + " to be extracted from"
	if m.Failing > 0 {
		line += fmt.Sprintf("; the extractor failed on %s, up to %s, and tries again: %s", thousands(m.Failing), times(m.Failures), printable(m.LastError))
	}
	return line
}

func (a *app) printMemories(counts []gauges.TypeCount) error {
	t := newTable("memories", "#current", "#superseded", "#forgotten", "#embedded", "#waiting")
	for _, c := range counts {
		if c.Current+c.Superseded+c.Forgotten == 0 {
			continue
		}
		about := ""
		if c.Estimated {
			about = "~"
		}
		row := []string{string(c.Type)}
		for _, n := range []int64{c.Current, c.Superseded, c.Forgotten, c.Embedded, c.Waiting} {
			row = append(row, about+thousands(n))
		}
		t.add(row...)
	}
	if len(t.rows) == 0 {
		a.printf("There are no memories yet.\n")
		return nil
	}
	return t.print(a.out)
}

func (a *app) printQueue(s databaseStatus) error {
	if len(s.Jobs) == 0 {
		a.printf("The queue is empty.\n")
		return nil
	}
	t := newTable("jobs", "state", "#number", "#oldest", "~last error")
	for _, j := range s.Jobs {
		t.add(j.Kind, j.State, thousands(j.Jobs), age(j.OldestSeconds), printable(j.LastError))
	}
	if err := t.print(a.out); err != nil {
		return err
	}
	a.printf("\n")
	if w := s.OldestWaiting; w != nil {
		a.printf("The oldest job that is due, %s %d, waits for %s.\n", w.Kind, w.ID, age(w.WaitingSeconds))
	} else {
		a.printf("No job is due.\n")
	}
	if s.EmbeddingLagSeconds > 0 {
		a.printf("The oldest memory that waits to be embedded was stored %s ago.\n", age(s.EmbeddingLagSeconds))
	}
	return nil
}

// age formats a duration in one suitable unit: 45 s, 12 min, 5.5 h, 3.0 days.
func age(seconds float64) string {
	switch d := time.Duration(seconds * float64(time.Second)); {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	default:
		return fmt.Sprintf("%.1f days", d.Hours()/24)
	}
}
