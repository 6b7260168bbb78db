package migrations_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
)

// bundle is a database and a small set of files that each create one object.
type bundle struct {
	dsn        string
	migrations fstest.MapFS
	code       fstest.MapFS
	src        migrations.Source
	opts       migrations.Options
	log        *logged
}

var serial atomic.Int64

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{
		dsn: pgtest.Empty(t),
		migrations: fstest.MapFS{
			"001_first.sql": file("create table oxbow.policy_definitions ();\n" +
				"create table oxbow.memories (id int primary key, v halfvec(3));\n" +
				"create table oxbow.runs (name text);\n" +
				"---- create above / drop below ----\ndrop table oxbow.memories, oxbow.runs, oxbow.policy_definitions;"),
			"002_second.sql": file("alter table oxbow.memories add column note text;\n" +
				"---- create above / drop below ----\nalter table oxbow.memories drop column note cascade;"),
		},
		code: fstest.MapFS{
			"10_functions.sql": file("create or replace function oxbow.near(a halfvec) returns float8 language sql\n" +
				"set search_path from current as $$ select a <-> a $$;\ninsert into oxbow.runs values ('10');"),
			"20_views.sql": file(
				"create or replace view oxbow.notes as select id, note, oxbow.near(v) from oxbow.memories;\n" +
					"insert into oxbow.runs values ('20');"),
		},
		log: newLogged(),
	}
	n := serial.Add(1)
	b.src = migrations.Source{Migrations: b.migrations, Code: b.code, Roles: []string{
		fmt.Sprintf("mig_app_%d_%d", os.Getpid(), n), fmt.Sprintf("mig_worker_%d_%d", os.Getpid(), n)}}
	b.opts = migrations.Options{Logger: b.logger(), LockTimeout: 100 * time.Millisecond}.WithSource(b.src)
	t.Cleanup(func() { dropRoles(t, b.dsn, b.src.Roles...) })
	return b
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

// conn returns a connection that is closed when the test ends.
func (b *bundle) conn(t *testing.T) *pgx.Conn { return connect(t, b.dsn) }

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// as returns the connection string of the same database for another role.
func (b *bundle) as(t *testing.T, role string) string {
	t.Helper()
	cfg, err := pgx.ParseConfig(b.dsn)
	require.NoError(t, err)
	return fmt.Sprintf("host=%s port=%d dbname=%s user=%s", cfg.Host, cfg.Port, cfg.Database, role)
}

func value[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err)
	return v
}

func list(t *testing.T, conn *pgx.Conn, sql string, args ...any) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	v, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return v
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	_, err := conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// objects lists what a database has beyond PostgreSQL's own objects: schemas and the named objects
// in them.
func objects(t *testing.T, conn *pgx.Conn) []string {
	return list(t, conn, `
		select distinct i.type || ' ' || i.identity
		from pg_depend d cross join pg_identify_object(d.classid, d.objid, d.objsubid) i
		where d.classid <> 0 and d.objid >= 16384 and d.deptype <> 'e'
		  and not (i.identity ~ 'pg_toast|_toast_|constraint_[0-9]|ConstraintTrigger_')
		union select 'schema ' || nspname from pg_namespace where oid >= 16384 and nspname !~ '^pg_'
		order by 1`)
}

// dropRoles drops the roles that exist, with their rights in the database.
func dropRoles(t *testing.T, dsn string, roles ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for _, role := range roles {
		name := pgx.Identifier{role}.Sanitize()
		var exists bool
		require.NoError(t, conn.QueryRow(context.Background(),
			`select exists (select from pg_roles where rolname = $1)`,
			role).Scan(&exists))
		if exists {
			_, err := conn.Exec(context.Background(), "drop owned by "+name+" cascade; drop role "+name)
			require.NoError(t, err)
		}
	}
}

// execLater is exec for clean-ups, which run after the test's context and connections have ended.
func execLater(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(context.Background(), sql)
	require.NoError(t, err)
}

func (b *bundle) logger() *slog.Logger { return slog.New(b.log) }

// logged keeps log records and lets a test wait for a message.
type logged struct {
	mu      sync.Mutex
	records []slog.Record
	grown   chan struct{} // closed and replaced with each record
}

func newLogged() *logged { return &logged{grown: make(chan struct{})} }

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }

func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	close(l.grown)
	l.grown = make(chan struct{})
	return nil
}

// find returns the first record whose text, including attributes, contains part.
func (l *logged) find(part string) (text string, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		text := r.Level.String() + " " + r.Message
		r.Attrs(func(a slog.Attr) bool { text += " " + a.String(); return true })
		if strings.Contains(text, part) {
			return text, nil
		}
	}
	return "", l.grown
}

func (l *logged) waitFor(t *testing.T, part string) string {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		text, grown := l.find(part)
		if text != "" {
			return text
		}
		select {
		case <-grown:
		case <-timeout:
			t.Fatalf("%q was never logged", part)
		}
	}
}
