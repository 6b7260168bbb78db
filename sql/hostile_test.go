package sqlcode_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// hostile are texts written to break something.
var hostile = []string{
	"", " ", "'", "''", `"`, `\`, `\'`, `'; drop table oxbow.memories; --`, `') or true; --`, "$1", "$$", "/*", "--",
	"%", "%s%n%L", "%1$s", "_%_",
	"&", "!", "a & | b", "':*", "<->", "a <2> b", "(((", ":*", `'a' | 'b'`, `\x`, `\xzz`,
	"{", "{}", "[]", "{a,b}", "{{1,2},{3}}", `{"a":`, `{"a": {"b": [1, null, "c"]}}`, "null", `"\u0000"`,
	`{"x": "\u0000"}`, `"\ud800"`, `{"\udfff": 1}`, "1e999999", "-0", `{"entities": "x", "relations": 1}`,
	`{"entities": [null, 1, {"name": {"a": 1}}, {"name": "\\'"}], "relations": [{"from": 1, "to": []}, null]}`,
	"(", "[", "*", "+", "a{99999}", "(?<x>", `\m`, `(a+)+$`, "^$", "[[:x:]]",
	"0001-01-01", "infinity", "now", "31 February 2025", "99999999999年99月99日", "9999-99-99 25:61", "UTC+99",
	"../../etc/passwd", "C:\\x",
	"שלום \u202eolleh", "cafe\u0301", strings.Repeat("\u0301", 3000), "\ufeff", "\u200b", "\U0010ffff", "ﷺ",
	"👨\u200d👩\u200d👧", "水", "我在2025年10月3日去了哪里？", "İ", "\x01\x02\x7f", "a\tb\r\nc", "NaN",
}

// large are texts of up to 1 MiB, the maximum for a memory.
var large = []string{strings.Repeat("水", 1<<20/3), strings.Repeat("a'", 1<<19), strings.Repeat("[", 1<<16),
	strings.Repeat("x1 2025年 ", 1<<16)}

// unstorable are texts that PostgreSQL cannot store.
var unstorable = []string{"\x00", "a\x00b", "\xff", "\xed\xa0\x80", "水\xe6\xb0"}

// exempt functions take arbitrary text by design: SQL, from the owner only, or the text of an error.
var exempt = []string{"oxbow.ensure_policy", "oxbow.reject"}

// called is a function of the catalog with a text argument, or one that contains text.
type called struct {
	Name  string
	Ours  bool // applications cannot call it
	Names []string
	Types []string
}

var texts = []string{"text", "text[]", "json", "jsonb", "jsonb[]", "name"}

func callable(t testing.TB, conn db) []called {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		select p.oid::regproc::text, not (has_function_privilege('oxbow_app', p.oid, 'execute') and (p.prosecdef
		or p.provolatile <> 'v')),
		       array(select coalesce(p.proargnames[nth], '') from generate_series(1, p.pronargs) nth),
		       array(select arg::regtype::text from unnest(p.proargtypes) with ordinality a(arg, nth) order by nth)
		  from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
		 and p.oid::regproc::text <> all ($1)
		   and exists (select from unnest(p.proargtypes) arg where arg::regtype::text = any ($2))
		 order by 1`, exempt, texts)
	require.NoError(t, err)
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[called])
	require.NoError(t, err)
	return functions
}

// call returns a statement that calls the function. It uses the given texts in turn. Other arguments get
// values that pass validation, and the user is one with data.
func (f called) call(user, memory string, given ...string) (sql string, args []any) {
	var places []string
	n := 0
	next := func() string { n++; return given[(n-1)%len(given)] }
	add := func(cast string, value any) {
		args = append(args, value)
		places = append(places, fmt.Sprintf("$%d::%s", len(args), cast))
	}
	for i, kind := range f.Types {
		switch {
		case user != "" && kind == "text" && strings.HasSuffix(f.Names[i], "user_id"):
			add("text", user)
		case kind == "text" || kind == "name":
			add("text::"+kind, next())
		case kind == "text[]":
			add("text[]", []string{next(), next()})
		case kind == "json" || kind == "jsonb":
			add("text::"+kind, next())
		case kind == "jsonb[]":
			add("text[]::jsonb[]", []string{next(), next()})
		case kind == "uuid":
			add("text::uuid", memory)
		case kind == "uuid[]":
			add("text[]::uuid[]", []string{memory})
		case kind == "integer" || kind == "bigint":
			places = append(places, "5::"+kind)
		case kind == "double precision":
			places = append(places, "0.5::float8")
		case kind == "boolean":
			places = append(places, "true")
		case kind == "timestamp with time zone":
			places = append(places, "'2026-02-03 04:05:06+00'::timestamptz")
		default:
			places = append(places, "null::"+kind)
		}
	}
	return "select to_jsonb(r)::text from " + f.Name + "(" + strings.Join(places, ", ") + ") r", args
}

// requireTold checks that an error describes an invalid value: it comes from validation, and does not show
// that a text was executed as SQL. Functions that applications cannot call may report the size limit of an
// index.
func requireTold(t *testing.T, err error, ours bool, about string, args ...any) {
	t.Helper()
	if err == nil {
		return
	}
	about = fmt.Sprintf("%s %.40q", about, args)
	var pg *pgconn.PgError
	require.True(t, errors.As(err, &pg), "%s: %v", about, err)
	at := fmt.Sprintf("%s: %s %s (%.200s) in %.300s", about, pg.Code, pg.Message, pg.Detail, pg.Where)
	switch {
	case pg.Code == "23514" && pg.ConstraintName == "":
		assert.NotEmpty(t, pg.ColumnName, at)
		assert.Contains(t, pg.Message, pg.ColumnName, at)
	case strings.HasPrefix(pg.Code, "22"), strings.HasPrefix(pg.Code, "23"), strings.HasPrefix(pg.Code, "OX"),
		pg.Code == "P0001":
		assert.NotEmpty(t, pg.Message, at)
	case pg.Code == "54000" && ours:
	case pg.Code == "42704" && strings.HasPrefix(pg.Message, "role "): // an argument that names a role
	case pg.Code == "54001": // JSON nested too deeply, which PostgreSQL rejects first
	// exists only while the model is changed
	case pg.Code == "42P01" && strings.Contains(pg.Message, "memory_vectors_next"):
	default:
		assert.Fail(t, at)
	}
	if strings.HasPrefix(pg.Code, "OX") || pg.Code == "P0001" || pg.ColumnName != "" { // ours
		assert.Less(t, len(pg.Message)+len(pg.Detail), 4000, "an error of %d bytes: %.300s",
			len(pg.Message)+len(pg.Detail), about)
	}
	assert.True(t, utf8.ValidString(pg.Message+pg.Detail), at)
}

// attack runs a statement and rolls it back.
func attack(t *testing.T, conn db, ours bool, sql string, args ...any) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), sql, args...)
	require.NoError(t, tx.Rollback(t.Context()))
	requireTold(t, err, ours, sql, args...)
}

// besieged returns a memory of a user who has a row in every table.
func besieged(t testing.TB, pool *pgxpool.Pool, user string) (memory string) {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	populate(t, tx, user)
	require.NoError(t, tx.QueryRow(t.Context(), "select id::text from oxbow.memories_trait where user_id = $1",
		user).Scan(&memory))
	require.NoError(t, tx.Commit(t.Context()))
	return memory
}

// impatient returns a pool for a database of the test's own, with a statement timeout.
func impatient(t testing.TB, connections int32) *pgxpool.Pool {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(pgtest.Database(t))
	require.NoError(t, err)
	cfg.MaxConns = connections
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = "1min"
	return pgtest.PoolOf(t, cfg)
}

// Every function of the catalog with a text argument accepts any text, or names the invalid value.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	pool := impatient(t, 4)
	memory := besieged(t, pool, "ann")
	functions := callable(t, pool)
	require.Greater(t, len(functions), 80)
	for nth, f := range functions {
		t.Run(f.Name, func(t *testing.T) {
			if !strings.Contains(f.Name, "reembed") { // these create and drop tables, which others would wait for
				t.Parallel()
			}
			for i, given := range slices.Concat(hostile, unstorable) {
				user := "ann"
				if i%3 == 0 { // every third text is also used as the user
					user = ""
				}
				sql, args := f.call(user, memory, given, "水")
				attack(t, pool, f.Ours, sql, args...)
			}
			// one at a time, because these are slow
			sql, args := f.call("ann", memory, large[nth%len(large)])
			attack(t, pool, f.Ours, sql, args...)
		})
	}
}

// Every text column of every table accepts any text, or names the invalid value.
func TestHostileColumns(t *testing.T) {
	t.Parallel()
	pool := impatient(t, 4)
	besieged(t, pool, "ann")
	for _, table := range userTables(t, pool) {
		if table != "oxbow.memories_trait" && !strings.HasSuffix(table, "_fact") &&
			one[bool](t, pool, "select relispartition from pg_class where oid = $1::text::regclass", table) {
			continue // one per family; a trait has columns that others leave empty
		}
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			ours := !one[bool](t, pool, "select has_table_privilege('oxbow_app', $1, 'insert')", table)
			type column struct{ Name, Type string }
			rows, err := pool.Query(t.Context(), `select quote_ident(a.attname), a.atttypid::regtype::text
				from pg_attribute a
				where a.attrelid = $1::text::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
				and a.attidentity <> 'a' order by a.attnum`, table)
			require.NoError(t, err)
			columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
			require.NoError(t, err)
			for i, attacked := range columns {
				if !slices.Contains(texts, attacked.Type) && attacked.Type != "oxbow.memory_type" {
					continue
				}
				var names, values []string
				for j, c := range columns {
					names = append(names, c.Name)
					switch {
					case i == j:
						values = append(values, "$1::text::"+attacked.Type)
					case c.Name == "id" && c.Type == "uuid":
						values = append(values, "gen_random_uuid()")
					default:
						values = append(values, c.Name)
					}
				}
				sql := fmt.Sprintf("insert into %[1]s (%[2]s) select %[3]s from %[1]s where user_id = 'ann' limit 1",
					table, strings.Join(names, ", "), strings.Join(values, ", "))
				// the index, which has a size limit, is checked before the user
				limited := ours || strings.Contains(table, "memory_vectors") && attacked.Name == "user_id"
				for _, given := range slices.Concat(hostile, unstorable, large[:1]) {
					attack(t, pool, limited, sql, given)
				}
			}
		})
	}
}

// FuzzFunctions calls the catalog's functions with random texts.
func FuzzFunctions(f *testing.F) {
	pool := impatient(f, 1)
	memory := besieged(f, pool, "ann")
	functions := callable(f, pool)
	for i := range functions {
		f.Add(uint16(i), i%2 == 0, []byte("\x81'\\"), []byte{byte(0x80 + i), byte(3 * i), '{', '}'})
	}
	f.Fuzz(func(t *testing.T, which uint16, anyone bool, one, two []byte) {
		user := "ann"
		if anyone {
			user = ""
		}
		function := functions[int(which)%len(functions)]
		sql, args := function.call(user, memory, writing(one), writing(two))
		attack(t, pool, function.Ours, sql, args...)
	})
}
