// Package doctor examines a database, its server and its workers, and reports problems and
// remedies.
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

// Level is the severity of a Finding.
type Level string

// The levels.
const (
	LevelOK      Level = "ok"
	LevelUnseen  Level = "unseen" // not visible to this login, or the query timed out
	LevelAdvice  Level = "advice"
	LevelWarning Level = "warning" // causes problems now or soon
	LevelError   Level = "error"   // something does not work or may be lost
)

// Finding is one result of an examination.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"`
	What  string `json:"what"`
	Why   string `json:"why,omitzero"`  // why it matters
	Do    string `json:"do,omitzero"`   // how to fix it
	Kind  string `json:"kind,omitzero"` // the kind of the jobs that it is about, if they failed
}

// Expected describes what an examination compares a database with.
type Expected struct {
	// Indexes lists the indexes that must exist.
	Indexes []ExpectedIndex
	// Model is the configured embedding model; zero: unknown.
	Model store.EmbeddingModel
	// OldTransaction is the age from which an open transaction is reported. Default: 10 minutes.
	OldTransaction time.Duration
	// Timeout is the time limit of each statement, from 1 millisecond to 24 days. A part that
	// exceeds it is reported as unseen. Default: 5 seconds.
	Timeout time.Duration
}

// ExpectedIndex is an index that must exist under its name or with its definition.
type ExpectedIndex struct{ Table, Name, Rest string }

// Examine examines a database and changes nothing. Each part reads the catalog, PostgreSQL's
// statistics and a bounded number of rows, in its own transaction. A part that fails is reported
// as a finding.
func Examine(ctx context.Context, db store.DB, want Expected) []Finding {
	want.OldTransaction = cmp.Or(want.OldTransaction, 10*time.Minute)
	want.Timeout = cmp.Or(want.Timeout, gauges.Timeout)
	e := &examination{want: want}
	for _, part := range []struct {
		about string
		look  func(context.Context, pgx.Tx) error
	}{
		{"server", e.server}, {"settings", e.settings}, {"connections", e.connections},
		{"transactions", e.transactions}, {"rights", e.rights}, {"indexes", e.indexes}, {"tables", e.tables},
		{"model", e.model}, {"workers", e.workers}, {"periodic jobs", e.periodic}, {"queue", e.queue},
		{"backlog", e.backlog}, {"traits", e.traits}, {"secrets", e.secrets},
	} {
		e.about = part.about
		before := len(e.found)
		err := gauges.Snapshot(ctx, db, want.Timeout, func(tx pgx.Tx) error { return part.look(ctx, tx) })
		if err != nil {
			e.found = e.found[:before] // they may be about what was not read
			e.unseen(err)
		}
		e.sum(before)
	}
	return e.found
}

type examination struct {
	want  Expected
	about string
	fine  string // reported if a part finds nothing
	found []Finding
}

func (e *examination) add(level Level, what, why, do string) {
	e.found = append(e.found, Finding{Level: level, About: e.about, What: what, Why: why, Do: do})
}

// addFailed adds a finding about failed jobs of a kind.
func (e *examination) addFailed(kind string, level Level, what, why, do string) {
	e.found = append(e.found, Finding{Level: level, About: e.about, What: what, Why: why, Do: do, Kind: kind})
}

// check adds a finding if found is true.
func (e *examination) check(found bool, level Level, what, why, do string) {
	if found {
		e.add(level, what, why, do)
	}
}

// unseen reports that a part could not be examined.
func (e *examination) unseen(err error) {
	what, why, do := fmt.Sprintf("this part could not be examined: %s", store.Explain(err)), "", ""
	if store.IsTimeout(err) {
		what = "this part could not be examined in time"
		why = fmt.Sprintf("A query took longer than --timeout, %s.", e.want.Timeout)
		do = fmt.Sprintf("Run oxbow doctor --timeout %s.", min(10*e.want.Timeout, time.Hour))
	}
	e.add(LevelUnseen, what, why, do)
}

// sum ends a part. If it found nothing, sum reports that.
func (e *examination) sum(before int) {
	if !slices.ContainsFunc(e.found[before:], func(f Finding) bool { return f.Level != LevelOK }) && e.fine != "" {
		e.add(LevelOK, e.fine, "", "")
	}
	e.fine = ""
}

// numberOf formats a number with its singular or plural noun.
func numberOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// inWords formats a number of seconds.
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

// megabytes formats a number of bytes in MB, or in GB from 10 GB.
func megabytes(bytes int64) string {
	if bytes >= 10<<30 {
		return fmt.Sprintf("%d GB", bytes>>30)
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}
