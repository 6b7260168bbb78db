// Package movein imports the memories of other systems. A reader per source turns rows or JSON objects into
// memories; Run writes them as lines that oxbow.Import reads.
package movein

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Source is a system whose memories can be imported.
type Source struct {
	Name  string
	Type  store.MemoryType // of memories without a type of their own
	Users []string         // where the user may come from; the first is the default
	Table string           // the default of Options.Table; "" if the tables have fixed names
	Map   bool             // whether Options.Map applies

	read func(*run, context.Context) error
}

// Sources returns all sources, in the order in which the help lists them.
func Sources() []Source {
	return []Source{
		{Name: "mem0", Type: store.Fact, Users: []string{"user_id", "agent_id", "run_id"}, Table: "mem0",
			read: (*run).mem0},
		{Name: "zep", Type: store.Fact, Users: []string{"group_id"}, read: (*run).zep},
		{Name: "langgraph", Type: store.Fact, Table: "store", Map: true, read: (*run).langgraph,
			Users: []string{"the number of a part of the namespace, from 1, or from -1 at the end"}},
		{Name: "letta", Type: store.Fact, Users: []string{"identity", "agent_id", "agent_name"}, read: (*run).letta},
		{Name: "hindsight", Type: store.Fact, Users: []string{"bank_id", "tag:PREFIX"}, read: (*run).hindsight},
		{Name: "jsonl", Type: store.Episodic, Users: []string{"user"}, Map: true, read: (*run).jsonl},
	}
}

// Fields returns the fields that Options.Map can fill.
func (s Source) Fields() []string {
	if s.Name == "langgraph" {
		return []string{"content"}
	}
	return slices.Sorted(maps.Keys(jsonlNames))
}

// UserIn reports whether a user can come from there. "" is the default.
func (s Source) UserIn(from string) bool {
	switch s.Name {
	case "langgraph":
		n, err := strconv.Atoi(from)
		return from == "" || err == nil && n != 0
	case "hindsight":
		if prefix, ok := strings.CutPrefix(from, "tag:"); ok {
			return prefix != ""
		}
	}
	return from == "" || slices.Contains(s.Users, from)
}

// Options configures Run. File or Conn is what the memories are read from.
type Options struct {
	Source   Source
	File     io.Reader         // an export; nil for a database
	Path     string            // of File, for formats that need random access; "" for standard input
	Conn     *pgx.Conn         // the database of the other system, which is only read
	History  string            // mem0: path of its history.db, or ""
	Table    string            // mem0, langgraph: the table
	User     string            // the user of all memories; "": the user of the row
	UserFrom string            // one of Source.Users, or for langgraph the number of a part of the namespace
	Type     store.MemoryType  // of memories without a type of their own
	Map      map[string]string // names of members, by the field that they fill
	Progress func(Report)      // called every 1,000 lines
}

// Importer is oxbow.Client.Import in a transaction, which Run's caller commits or rolls back.
type Importer func(context.Context, io.Reader, store.ImportOptions) (store.ImportReport, error)

// Run reads the memories of another system and imports them. Rows that cannot be imported are counted in the report
// and do not stop the import; a broken file or an unknown schema does.
func Run(ctx context.Context, o Options, into Importer) (Report, error) {
	r := &run{Options: o, report: newReport(o.Source.Name), others: map[string]bool{}, started: time.Now()}
	if r.UserFrom == "" {
		r.UserFrom = o.Source.Users[0]
	}
	if r.Table == "" {
		r.Table = o.Source.Table
	}
	if r.Type == "" {
		r.Type = o.Source.Type
	}
	var stop func()
	r.next, stop = iter.Pull2(r.drafts(ctx))
	defer stop()
	imported, err := into(ctx, r, store.ImportOptions{SkipBad: true, OnBad: r.rejected,
		Progress: func(store.ImportReport) {
			if o.Progress != nil {
				o.Progress(r.report)
			}
		}})
	r.report.New = imported.New
	r.report.Seconds = time.Since(r.started).Seconds()
	switch {
	case r.err != nil:
		err = r.err // the import only reports that it could not read
	case err == nil && r.report.Read == 0 && r.strange != "":
		err = fmt.Errorf("this is not from %s: %s", o.Source.Name, r.strange)
	case err == nil && len(r.others) > 1 && o.User != "":
		err = fmt.Errorf("--user would merge the memories of %d users", len(r.others))
	}
	return r.report, err
}

// link is the line that says that a memory supersedes an older version.
type link struct {
	Kind     string           `json:"type"`
	User     string           `json:"user_id"`
	FromType store.MemoryType `json:"from_type"`
	From     uuid.UUID        `json:"from_id"`
	ToType   store.MemoryType `json:"to_type"`
	To       uuid.UUID        `json:"to_id"`
	Relation string           `json:"relation"`
}

// run is one import. It is the reader of the lines that the import stores.
type run struct {
	Options
	report  Report
	started time.Time
	next    func() (*draft, error, bool)
	line    []byte // the rest of the current line
	last    *draft // whose line was written last; nil if the import rejected it
	linked  *draft // whose link to its older version is due
	others  map[string]bool
	strange string // why a row is not of the source
	err     error  // why the source could not be read
	emit    func(*draft) error
}

// errStopped ends a reader whose memories nobody asks for any more.
var errStopped = errors.New("the import has ended")

// drafts returns the memories of the source.
func (r *run) drafts(ctx context.Context) iter.Seq2[*draft, error] {
	return func(yield func(*draft, error) bool) {
		r.emit = func(d *draft) error {
			if !yield(d, nil) {
				return errStopped
			}
			return nil
		}
		if err := r.Source.read(r, ctx); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Read returns at most one line, so that the line that the import rejects is the last one written: between them there
// are a bufio.Reader and a bufio.Scanner, which read once when they have no whole line.
func (r *run) Read(p []byte) (int, error) {
	for len(r.line) == 0 {
		if err := r.write(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.line)
	r.line = r.line[n:]
	return n, nil
}

// write makes the next line, if the next memory has one.
func (r *run) write() error {
	var line any
	if d := r.linked; d != nil && r.last == d {
		r.linked = nil
		line = link{"memory_links", d.User, d.Type, d.ID, d.Type, r.id(d.older), "supersedes"}
	} else {
		d, err, ok := r.next()
		if !ok {
			return io.EOF
		}
		if err != nil {
			r.err = err
			return err
		}
		older := r.last
		r.last, r.linked = nil, nil
		if !r.complete(d) {
			return nil
		}
		if older != nil && older.ref == d.older {
			r.linked = d
		}
		r.last, line = d, d.memory
	}
	text, err := json.Marshal(line)
	if err != nil {
		r.err = fmt.Errorf("%s: %w", r.last.ref, err)
		return r.err
	}
	r.line = append(text, '\n')
	return nil
}

// complete fills in what every memory has, and reports whether the memory can be imported.
func (r *run) complete(d *draft) bool {
	if r.User != "" {
		if d.User != "" {
			r.others[d.User] = true
		}
		d.User = r.User
	}
	if d.User == "" {
		r.report.skip("no user: --user NAME imports such rows as NAME's", d.ref)
		return false
	}
	if d.Type == "" {
		d.Type = r.Type
	}
	if d.ref == "" { // the same row has the same id in the next import
		d.ref = uuid.NewSHA1(namespace, []byte(strings.Join([]string{d.User, d.Session,
			d.ValidAt.UTC().String(), d.At.UTC().String(), d.Role, d.Content}, "\x00"))).String()
	}
	d.ID, d.ExternalID, d.Source = r.id(d.ref), r.Source.Name+":"+d.ref, r.Source.Name
	if len(d.ExternalID) > 1024 {
		d.ExternalID = r.Source.Name + ":" + d.ID.String()
	}
	if !d.InvalidAt.IsZero() && (d.InvalidAt.Before(d.ValidAt) || d.InvalidAt.Before(d.At)) {
		d.setAside("invalid_at", "is before valid_at", d.InvalidAt.Format(time.RFC3339))
		d.InvalidAt = time.Time{}
	}
	if !d.ExpiresAt.IsZero() && !d.ExpiresAt.After(d.CreatedAt) {
		d.setAside("expires_at", "is not after created_at", d.ExpiresAt.Format(time.RFC3339))
		d.ExpiresAt = time.Time{}
	}
	d.keep()
	r.report.count(d, 1)
	return true
}

// namespace is that of the ids that are made from a source's ids.
var namespace = uuid.MustParse("6f7b0c5e-5f0f-5b8e-9d0a-0c0a3d1b7e52")

func (r *run) id(ref string) uuid.UUID {
	return uuid.NewSHA1(namespace, []byte(r.Source.Name+":"+ref))
}

// rejected is called when the import rejects the last line.
func (r *run) rejected(bad *store.InvalidError) {
	d := r.last
	if d == nil {
		return // a link of a rejected memory is not written
	}
	r.report.count(d, -1)
	r.report.skip(strings.TrimSpace(bad.Field+" "+bad.Rule), d.ref)
	r.last = nil
}

// foreign skips a row that is not what the source stores.
func (r *run) foreign(o object, expected string) {
	names := o.names()
	if r.strange == "" {
		r.strange = fmt.Sprintf("expected %s, found an object with %s", expected,
			strings.Join(names[:min(len(names), 8)], ", "))
	}
	r.report.skip("not a memory: expected "+expected, "")
}
