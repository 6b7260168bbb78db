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
	Pauses   []store.Pause  `json:"pauses,omitempty"` // of providers that workers do not call for a time
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

func statusCommand(a *app) *cobra.Command {
	var flags embeddingFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the contents of the database and the state of the work",
		Long: `Show the number of memories by type and state, messages that wait for extraction, the queue, the age of the
oldest memory that waits to be embedded, the embedding provider, the language model's recent answers (the
rules reasoner has none), and the schema versions.

For a type with more than 250,000 memories, the numbers are estimates from PostgreSQL's statistics, marked
with "~". The provider is asked to embed one short text. The command succeeds in any state; for alerts, use
--json.`,
	}
	flags.add(cmd.Flags())
	a.jsonFlag(cmd.Flags())
	cmd.RunE = a.asOperator(func(ctx context.Context, d *database, _ []string) error {
		embedder, err := flags.open()
		if err != nil {
			return err
		}
		s, err := d.status(ctx, embedder)
		if err != nil {
			return err
		}
		return d.output(s, func() { d.printStatus(s) })
	}, flags.option)
	return cmd
}

func (d *database) status(ctx context.Context, embedder oxbow.Embedder) (s databaseStatus, err error) {
	schema, err := migrations.Read(ctx, d.databaseURL)
	if err != nil {
		return s, err
	}
	s.Database, s.Oxbow, s.River = schema.Database, schema.Ours, schema.River
	if s.Overview, err = gauges.ReadOverview(ctx, d.pool, gauges.ExactCounts); err != nil {
		return s, err
	}
	if s.Pauses, err = store.Pauses(ctx, d.pool); err != nil {
		return s, err
	}
	s.Provider = askProvider(ctx, embedder)
	s.Provider.MatchesVectors = s.Embedding == store.ModelOf(embedder)
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

func (d *database) printStatus(s databaseStatus) {
	line := func(name, text string) { d.printf("%-10s %s\n", name, text) }
	line("database", fmt.Sprintf("%s; schema %d of %d, River %d of %d", s.Database,
		s.Oxbow.Current, s.Oxbow.Latest, s.River.Current, s.River.Latest))
	line("vectors", s.Embedding.String())
	for _, u := range s.Indexed {
		line("indexed", indexedLine(u))
	}
	line("provider", s.Provider.String())
	for _, p := range s.Pauses {
		line("paused", fmt.Sprintf("the %s provider has failed for %s and is not called for another %s: %s", p.Provider,
			age(time.Since(p.Since).Seconds()), age(time.Until(p.Until).Seconds()), printable(p.Error)))
	}
	if s.Reasoner != nil {
		line("reasoner", reasonerLine(*s.Reasoner, time.Now()))
	}
	if s.Messages.Waiting > 0 {
		line("messages", messageLine(s.Messages))
	}
	d.printf("\n")
	d.printMemories(s.Memories)
	d.printf("\n")
	d.printQueue(s)
}

// indexedLine describes a user whose vectors have an index.
func indexedLine(u store.IndexedUser) string {
	line := fmt.Sprintf("%s, %s: %s", printable(u.UserID), u.Type, count(u.Vectors, "vector"))
	switch {
	case u.State == "ending":
		return line + "; the index is being dropped"
	case u.State == "ready" && u.Waiting == 0:
		return line + ", searched by index"
	case u.State == "ready":
		return line + ", searched by index; " + thousands(u.Waiting) + " not indexed yet, scanned"
	case u.State == "filling":
		return line + ", scanned until the index is ready; " + thousands(u.Waiting) + " not indexed yet"
	}
	return line + ", scanned until the index is ready; indexing starts when older transactions end"
}

func (p providerStatus) String() string {
	switch {
	case !p.MatchesVectors:
		return fmt.Sprintf("%s with %d dimensions does not match the vectors: change the embedding flags, "+
			"or run oxbow reembed", p.Model, p.Dimension)
	case !p.OK:
		return p.Model + " fails: " + p.Error
	case p.Milliseconds < 1:
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
	line := fmt.Sprintf("%s: %s failed in the last %s: %s",
		r.Model, count(r.Failures, "call"), ago(*r.DownSince), printable(r.LastError))
	if r.Waiting == 0 { // the model may no longer be in use
		return line + "; no job waits for it"
	}
	return line + "; waiting for it: " + count(r.Waiting, "job")
}

// messageLine describes the messages waiting for extraction.
func messageLine(m gauges.MessageCount) string {
	line := thousands(m.Waiting) + " waiting for extraction"
	if m.Waiting >= gauges.ExactCounts {
		line = "at least " + line
	}
	if m.Failing > 0 {
		line += fmt.Sprintf("; %s failed, up to %s, and will be retried: %s",
			thousands(m.Failing), times(m.Failures), printable(m.LastError))
	}
	return line
}

func (a *app) printMemories(counts []gauges.TypeCount) {
	t := a.table("memories", "#current", "#superseded", "#forgotten", "#embedded", "#waiting")
	for _, c := range counts {
		if c.Current+c.Superseded+c.Forgotten == 0 {
			continue
		}
		mark := ""
		if c.Estimated {
			mark = "~"
		}
		row := []any{c.Type}
		for _, n := range []int64{c.Current, c.Superseded, c.Forgotten, c.Embedded, c.Waiting} {
			row = append(row, mark+thousands(n))
		}
		t.add(row...)
	}
	if len(t.rows) == 0 {
		a.printf("No memories yet.\n")
		return
	}
	t.print()
}

func (d *database) printQueue(s databaseStatus) {
	if len(s.Jobs) == 0 {
		d.printf("The queue is empty.\n")
		return
	}
	t := d.table("jobs", "state", "#number", "#oldest", "~last error")
	for _, j := range s.Jobs {
		t.add(j.Kind, j.State, j.Jobs, age(j.OldestSeconds), j.LastError)
	}
	t.print()
	d.printf("\n")
	if w := s.OldestWaiting; w != nil {
		d.printf("The oldest due job, %s %d, has been waiting for %s.\n", w.Kind, w.ID, age(w.WaitingSeconds))
	} else {
		d.printf("No job is due.\n")
	}
	if s.EmbeddingLagSeconds > 0 {
		d.printf("The oldest memory to embed was stored %s ago.\n", age(s.EmbeddingLagSeconds))
	}
}
