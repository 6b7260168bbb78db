package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// sampleFile holds memories of three people, in English and Chinese, with questions.
const sampleFile = "../../examples/lives.jsonl"

// on runs command lines on a database, as its owner unless dsn names another login.
type on struct {
	t   *testing.T
	dsn string
}

// onDatabase returns a new migrated database for the test.
func onDatabase(t *testing.T) on { return on{t, pgtest.Database(t)} }

// run runs a command line.
func (d on) run(args ...string) result {
	d.t.Helper()
	return d.input("", args...)
}

// input runs a command line with in as its standard input.
func (d on) input(in string, args ...string) result {
	d.t.Helper()
	var out, err bytes.Buffer
	code := run(d.t.Context(), append([]string{"--database-url", d.dsn}, args...),
		&app{in: strings.NewReader(in), out: &out, err: &err})
	return result{code, out.String(), err.String()}
}

// ok runs a command line that must succeed, and returns its output without the final newline.
func (d on) ok(args ...string) string {
	d.t.Helper()
	r := d.run(args...)
	require.Zero(d.t, r.code, "oxbow %q: %s", args, r.err)
	return strings.TrimRight(r.out, "\n")
}

// work runs all jobs with a login of oxbow_worker.
func (d on) work() {
	d.t.Helper()
	on{d.t, pgtest.As(d.t, d.dsn, "worker")}.ok("work", "--until-idle")
}

// recall returns the recalled memories, best first.
func (d on) recall(args ...string) []oxbow.Result {
	d.t.Helper()
	return decoded[[]oxbow.Result](d.t, d.ok(append([]string{"recall", "--json"}, args...)...))
}

var (
	keeping  sync.Mutex
	keptOpen = map[string]*pgxpool.Pool{} // by connection string
)

// kept returns connections that stay open until the test ends: opening one takes longer than most
// queries. They cache nothing about the tables, which tests change.
func (d on) kept() *pgxpool.Pool {
	d.t.Helper()
	keeping.Lock()
	defer keeping.Unlock()
	if pool := keptOpen[d.dsn]; pool != nil {
		return pool
	}
	cfg, err := pgxpool.ParseConfig(d.dsn)
	require.NoError(d.t, err)
	cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	require.NoError(d.t, err)
	keptOpen[d.dsn] = pool
	d.t.Cleanup(func() {
		keeping.Lock()
		defer keeping.Unlock()
		delete(keptOpen, d.dsn)
		pool.Close()
	})
	return pool
}

func (d on) exec(sql string, args ...any) {
	d.t.Helper()
	ctx := context.WithoutCancel(d.t.Context()) // also in a clean-up
	_, err := d.kept().Exec(ctx, sql, args...)
	require.NoError(d.t, err)
}

func (d on) text(sql string, args ...any) (text string) {
	d.t.Helper()
	require.NoError(d.t, d.kept().QueryRow(d.t.Context(), sql, args...).Scan(&text))
	return text
}

func (d on) number(sql string, args ...any) (n int) {
	d.t.Helper()
	require.NoError(d.t, d.kept().QueryRow(d.t.Context(), sql, args...).Scan(&n))
	return n
}

// rows counts the jobs and the rows of all tables with a user column.
func (d on) rows() int {
	d.t.Helper()
	return d.number(`
		select sum((xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), false,
		true,
			'')))[1]::text::int)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id'
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`) +
		d.number(`select count(*) from oxbow.river_job`)
}

// decoded decodes JSON and fails on members unknown to T.
func decoded[T any](t *testing.T, text string) (v T) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&v), text)
	_, err := decoder.Token()
	require.ErrorIs(t, err, io.EOF, "one value and nothing else")
	return v
}

// An application's own login may run the commands that concern one user.
func TestAppLogin(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.ok("remember", "ada", "The boat is called Heron.")
	id := d.ok("remember", "林", "船叫白鹭。")
	d.work()
	login := "app_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	d.exec("create role " + login + " login in role oxbow_app")
	t.Cleanup(func() { d.exec("drop role " + login) })
	at, err := url.Parse(d.dsn)
	require.NoError(t, err)
	at.User = url.User(login)
	app := on{t, at.String()}

	require.Equal(t, []string{"The boat is called Heron."}, contents(app.recall("ada", "boat")))
	require.Contains(t, app.ok("show", id, "--user", "林"), "船叫白鹭。")
	require.NotEmpty(t, app.ok("remember", "林", "船漏水。"))
	require.Equal(t, 2, strings.Count(app.ok("export", "林"), `"type": "memory"`))
	for _, args := range [][]string{{"status"}, {"eval", sampleFile}, {"work", "--until-idle"}} {
		r := app.run(args...)
		require.Equal(t, exitFailed, r.code)
		require.Equal(t, "oxbow: \"oxbow "+args[0]+"\" requires the owner of the schema or a member of "+
			"oxbow_worker, but this login is \""+login+"\": check the user in the database URL\n", r.err)
	}
	require.Contains(t, app.run("keys", "api", "list").err, "a member of oxbow_operator")
	require.Contains(t, app.run("show", id).err, "add --user if this login may see only one user")
	require.Contains(t, app.ok("erase", "林", "--yes"), "Erased user")
	require.Equal(t, 1, d.number(`select count(*) from oxbow.memories`))

	d.exec("grant oxbow_operator to " + login) // as the login of oxbow serve
	require.Equal(t, "No keys.\n", app.run("keys", "api", "list").err)
	require.Contains(t, app.ok("keys", "api", "create", "--user", "ada", "--name", "phone"), "oxb_")
	require.Contains(t, app.ok("keys", "api", "list"), "phone")
}

// Every command reports a problem with the database in one line.
func TestDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	file := lines(t, `{"user":"ada","id":"1","content":"x"}`,
		`{"type":"question","user":"ada","question":"q","gold":["1"]}`)
	id := uuid.NewString()
	commands := [][]string{{"remember", "u", "x"}, {"recall", "u", "x"}, {"import", file}, {"export", "u"},
		{"show", id},
		{"status"},
		{"eval", file}, {"forget", "u", id}, {"restore", "u", id}, {"erase", "u", "--yes"}}
	newer, older, bare := onDatabase(t), onDatabase(t), onDatabase(t)
	newer.exec(`update oxbow.schema_version set version = 99`)
	older.exec(`update oxbow.schema_version set version = 1`)
	bare.exec(`drop extension vector cascade`)
	for says, d := range map[string]on{
		"cannot connect to PostgreSQL on socket /no/such/directory": {t,
			"host=/no/such/directory user=u password=secret"},
		"the database has no Oxbow schema":                 {t, pgtest.Empty(t)},
		"the database is newer than this version of oxbow": newer,
		"the database is older than this version of oxbow": older,
		"a PostgreSQL extension is missing":                bare,
	} {
		for _, args := range commands {
			r := d.run(args...)
			require.Equal(t, exitFailed, r.code, args)
			require.Contains(t, r.err, says)
			require.Equal(t, 1, strings.Count(r.err, "\n"), r.err)
			require.NotContains(t, r.err, "secret")
			require.Empty(t, r.out)
		}
	}
	for _, args := range commands {
		t.Run(args[0], func(t *testing.T) {
			r := on{t, ""}.run(args...)
			require.Equal(t, exitUsage, r.code)
			require.Contains(t, r.err, "no database: set DATABASE_URL")
		})
	}
}

func contents(memories []oxbow.Result) []string {
	texts := make([]string, len(memories))
	for i, m := range memories {
		texts[i] = m.Content
	}
	return texts
}
