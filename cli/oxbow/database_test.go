package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// sampleFile is the lives of three people, in English and Chinese, with questions.
const sampleFile = "../../examples/lives.jsonl"

// on is a database and the command lines that are run on it.
type on struct {
	t   *testing.T
	dsn string
}

// onDatabase returns a migrated database of the test's own.
func onDatabase(t *testing.T) on { return on{t, pgtest.Database(t)} }

// run runs a command line.
func (d on) run(args ...string) result {
	d.t.Helper()
	return d.input("", args...)
}

// input runs a command line with something on its standard input.
func (d on) input(in string, args ...string) result {
	d.t.Helper()
	var out, err bytes.Buffer
	code := run(d.t.Context(), append([]string{"--database-url", d.dsn}, args...),
		&app{in: strings.NewReader(in), out: &out, err: &err})
	return result{code, out.String(), err.String()}
}

// ok runs a command line that must succeed, and returns what it printed, without the newline at its end.
func (d on) ok(args ...string) string {
	d.t.Helper()
	r := d.run(args...)
	require.Zero(d.t, r.code, "oxbow %q: %s", args, r.err)
	return strings.TrimRight(r.out, "\n")
}

// work works all jobs.
func (d on) work() {
	d.t.Helper()
	d.ok("work", "--until-idle")
}

// recall returns what is recalled, best first.
func (d on) recall(args ...string) []oxbow.Recalled {
	d.t.Helper()
	return decoded[[]oxbow.Recalled](d.t, d.ok(append([]string{"recall", "--json"}, args...)...))
}

func (d on) exec(sql string, args ...any) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.dsn)
	require.NoError(d.t, err)
	defer conn.Close(d.t.Context())
	_, err = conn.Exec(d.t.Context(), sql, args...)
	require.NoError(d.t, err)
}

func (d on) number(sql string, args ...any) (n int) {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.dsn)
	require.NoError(d.t, err)
	defer conn.Close(d.t.Context())
	require.NoError(d.t, conn.QueryRow(d.t.Context(), sql, args...).Scan(&n))
	return n
}

// rows counts the rows of all tables that have a user, and the jobs.
func (d on) rows() int {
	d.t.Helper()
	return d.number(`
		select sum((xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), false, true, '')))[1]::text::int)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`) +
		d.number(`select count(*) from oxbow.river_job`)
}

// decoded reads JSON that has no member unknown to T.
func decoded[T any](t *testing.T, text string) (v T) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&v), text)
	_, err := decoder.Token()
	require.ErrorIs(t, err, io.EOF, "one value and nothing else")
	return v
}

func contents(memories []oxbow.Recalled) []string {
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.Content
	}
	return texts
}
