// Package doctor examines a database, its server and its workers, and reports problems with what to do about them.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/store"
)

// Level is how serious a Finding is.
type Level string

// The levels.
const (
	LevelOK      Level = "ok"
	LevelUnseen  Level = "unseen" // this login may not look, or the answer took too long
	LevelAdvice  Level = "advice"
	LevelWarning Level = "warning" // it will hurt, or does already
	LevelError   Level = "error"   // something does not work, or may be lost
)

// Finding is something that an examination found.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"`
	What  string `json:"what"`
	Why   string `json:"why,omitzero"` // it matters
	Do    string `json:"do,omitzero"`  // about it
}

// Expected is what an examination compares a database with.
type Expected struct {
	// Indexes are those that there must be, as table, name and the rest of the definition.
	Indexes []ExpectedIndex
	// Model is the embedding model that is configured; zero: not known.
	Model store.EmbeddingModel
	// OldTransaction is how long a transaction may be open. Default: 10 minutes.
	OldTransaction time.Duration
	// Timeout is how long a statement may take, from a millisecond to 24 days; what takes longer is a finding that
	// something was not seen. Default: 5 seconds.
	Timeout time.Duration
}

// ExpectedIndex is an index that there must be, by its name or by its definition.
type ExpectedIndex struct{ Table, Name, Rest string }

// Examine looks at a database as an experienced operator would, and changes nothing. Each part reads the catalog,
// PostgreSQL's statistics, and a bounded number of rows, in a transaction of its own; a part that fails is a finding.
func Examine(ctx context.Context, db store.DB, want Expected) []Finding {
	want.OldTransaction = cmp.Or(want.OldTransaction, 10*time.Minute)
	want.Timeout = cmp.Or(want.Timeout, gauges.Timeout)
	e := &examination{want: want}
	for _, part := range []struct {
		about string
		look  func(context.Context, pgx.Tx) error
	}{
		{"server", e.server}, {"settings", e.settings}, {"connections", e.connections}, {"transactions", e.transactions},
		{"rights", e.rights}, {"indexes", e.indexes}, {"tables", e.tables},
		{"model", e.model}, {"workers", e.workers}, {"queue", e.queue}, {"backlog", e.backlog}, {"traits", e.traits},
	} {
		e.about = part.about
		before := len(e.found)
		err := gauges.Snapshot(ctx, db, want.Timeout, func(tx pgx.Tx) error { return part.look(ctx, tx) })
		if err != nil {
			e.unseen(err)
		}
		e.sum(before)
	}
	return e.found
}

type examination struct {
	want  Expected
	about string
	fine  string // what to say of a part in which nothing was found
	found []Finding
}

func (e *examination) add(level Level, what, why, do string) {
	e.found = append(e.found, Finding{Level: level, About: e.about, What: what, Why: why, Do: do})
}

// unseen adds that a part could not be looked at.
func (e *examination) unseen(err error) {
	why, do := "", ""
	if store.IsTimeout(err) {
		why = fmt.Sprintf("PostgreSQL took longer than --timeout, %s.", e.want.Timeout)
		do = fmt.Sprintf("oxbow doctor --timeout %s", min(10*e.want.Timeout, time.Hour))
	}
	e.add(LevelUnseen, fmt.Sprintf("this could not be looked at: %s", store.Explain(err)), why, do)
}

// sum ends a part: where nothing was found, that is said.
func (e *examination) sum(before int) {
	if !slices.ContainsFunc(e.found[before:], func(f Finding) bool { return f.Level != LevelOK }) && e.fine != "" {
		e.add(LevelOK, e.fine, "", "")
	}
	e.fine = ""
}

// number writes one or many.
func numberOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// inWords writes a number of seconds.
func inWords(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.1f h", seconds/3600)
	}
	return fmt.Sprintf("%.1f days", seconds/86400)
}

// megabytes writes a number of bytes.
func megabytes(bytes int64) string {
	if bytes >= 10<<30 {
		return fmt.Sprintf("%d GB", bytes>>30)
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}
