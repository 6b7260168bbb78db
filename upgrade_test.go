package oxbow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/worker"
)

// oldDatabase is a database that the program of commit 95c87929 filled: rows in every table, jobs in every state, two
// users whose answers are in the JSON file beside it, and one, Max, whose numbers are at the ends of their types. The
// sessions of pages are removed from the recorded exports, which have had none since.
const oldDatabase = "migrations/testdata/95c87929"

// replaced holds the tables whose rows an upgrade changes, and why.
var replaced = map[string]string{
	"installed_code": "checksums of the functions",
	"schema_version": "the number of migrations",
}

// A database of that commit reaches this version with the same rows and answers, and then has exactly what a new
// database has.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	var recorded struct {
		Now     time.Time
		Answers map[string]map[string][]string
	}
	text, err := os.ReadFile(oldDatabase + ".json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &recorded))
	require.Len(t, recorded.Answers, 2)

	dsn := pgtest.Restore(t, oldDatabase+".sql.gz")
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	tables := tablesOf(t, conn)
	before := rowsOf(t, conn, tables)
	for table, rows := range before {
		require.NotEmpty(t, rows, table)
	}
	require.NoError(t, migrations.Up(t.Context(), dsn, migrations.Options{}))
	require.NoError(t, migrations.Check(t.Context(), conn))
	for table, rows := range rowsOf(t, conn, tables) {
		if replaced[table] == "" {
			require.Equal(t, before[table], rows, table)
		}
	}

	pool := pgtest.Open(t, dsn, "")
	for user, expected := range recorded.Answers {
		for question, answer := range answers(t, pool, user, recorded.Now) {
			require.Equal(t, expected[question], answer, "%s: %s", user, question)
		}
	}
	fresh := pgtest.Empty(t) // of the same owner
	require.NoError(t, migrations.Up(t.Context(), fresh, migrations.Options{}))
	require.Equal(t, catalog(t, pgtest.Open(t, fresh, "")), catalog(t, pool))

	b := &bundle{dsn: dsn, pool: pool, client: newClient(t, pool)}
	require.Len(t, recall(t, b.client, oxbow.Query{UserID: "Max", Text: "Max has"}), 3)
	b.work(t)
	require.Zero(t, b.count(t, `select count(*) from oxbow.memories m where expired_at is null and forgotten_at is null
		and not exists (select from oxbow.memory_vectors v where v.user_id = m.user_id and v.memory_id = m.id)`))
	require.Contains(t, recall(t, b.client, oxbow.Query{UserID: "Ada", Text: "a letter"}),
		"Ada waits for a letter from Porto.")
}

// A database with the tables of a version between releases, or with views on what this version lacks, is refused by all
// programs, which change nothing.
func TestRefusedUpgradeChangesNothing(t *testing.T) {
	t.Parallel()
	const between = "export each user with the oxbow that made it"
	for name, test := range map[string]struct{ change, says, remedy string }{
		"a column": {`alter table oxbow.memories rename strength to force`, "oxbow.memories.strength is missing", between},
		"a type": {`alter table oxbow.webhooks alter disabled_by type character varying(9)`,
			"oxbow.webhooks.disabled_by is character varying(9), not text", between},
		"an attribute": {`alter type oxbow.recall_filter drop attribute ids`, "oxbow.recall_filter.ids is missing", between},
		"a table":      {`drop table oxbow.pattern_counts`, "oxbow.pattern_counts.", between},
		"ahead":        {`alter table oxbow.memory_links add joint real`, "migrations/023_relations.sql", between},
		"a view": {`create function oxbow.olden(text) returns text language sql return $1;
			create view public.mine as select oxbow.olden('x')`,
			"drops the routine oxbow.olden(text), on which other objects depend (view mine depends on function olden(text))",
			"drop those objects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := pgtest.Restore(t, oldDatabase+".sql.gz")
			require.NoError(t, migrations.Down(t.Context(), dsn, 22, migrations.Options{}))
			pool := pgtest.Open(t, dsn, "")
			_, err := pool.Exec(t.Context(), test.change)
			require.NoError(t, err)
			before := pgtest.PgDump(t, dsn)

			_, err = worker.New(t.Context(), worker.Config{DatabaseURL: dsn})
			require.ErrorIs(t, err, migrations.ErrBehind)
			_, err = server.New(t.Context(), server.Config{DatabaseURL: dsn, Logger: slog.New(slog.DiscardHandler)})
			require.ErrorIs(t, err, migrations.ErrBehind)
			for range 2 {
				err = migrations.Up(t.Context(), dsn, migrations.Options{})
				require.ErrorContains(t, err, test.says)
				require.ErrorContains(t, err, "Nothing was changed: "+test.remedy)
				require.Equal(t, test.remedy == between, errors.Is(err, migrations.ErrUnreleased), "%v", err)
			}
			require.Equal(t, before, pgtest.PgDump(t, dsn))
		})
	}
}

// tablesOf returns the columns of the tables, as a row constructor, by table.
func tablesOf(t *testing.T, conn *pgx.Conn) map[string]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		select c.relname::text, string_agg(quote_ident(a.attname), ', ' order by a.attnum)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition group by 1`)
	require.NoError(t, err)
	tables := map[string]string{}
	var table, columns string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		tables[table] = columns
		return nil
	})
	require.NoError(t, err)
	return tables
}

// rowsOf returns the rows of each table, in these columns.
func rowsOf(t *testing.T, conn *pgx.Conn, tables map[string]string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for table, columns := range tables {
		rows, err := conn.Query(t.Context(), fmt.Sprintf(
			`select r::text from (select row(%s) as r from oxbow.%s) r order by 1`, columns, table))
		require.NoError(t, err)
		all[table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, table)
	}
	return all
}

// catalog describes everything in the schema: relations with their columns, types, functions, triggers, views,
// indexes, constraints, policies, and the rights on them.
func catalog(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		with ours as (
		  select c.oid, c.relname, c.relkind, c.relacl, c.relrowsecurity, c.relispartition from pg_class c
		   where c.relnamespace = 'oxbow'::regnamespace)
		select translate(text, '()', '') as text from ( -- a restored expression may have fewer parentheses
		select format('relation %s %s %s %s', relname, relkind, relrowsecurity,
		              array(select a::text from unnest(relacl) a order by 1)) as text from ours
		union all
		select format('column %s.%s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
		              pg_get_expr(d.adbin, d.adrelid), a.attacl)
		  from ours c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
		union all
		select format('type %s %s %s %s', t.typname, t.typtype, array(select a::text from unnest(t.typacl) a order by 1),
		              array(select e.enumlabel from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder))
		  from pg_type t where t.typnamespace = 'oxbow'::regnamespace
		union all
		select format('function %s %s', case p.prokind when 'a' then p.oid::regprocedure::text else pg_get_functiondef(p.oid) end,
		              array(select a::text from unnest(p.proacl) a order by 1))
		  from pg_proc p where p.pronamespace = 'oxbow'::regnamespace
		union all
		select 'trigger ' || pg_get_triggerdef(g.oid) from ours c join pg_trigger g on g.tgrelid = c.oid and not g.tgisinternal
		union all
		select format('view %s %s', c.relname, pg_get_viewdef(c.oid)) from ours c where c.relkind = 'v'
		union all
		select 'index ' || pg_get_indexdef(i.indexrelid) from ours c join pg_index i on i.indrelid = c.oid
		union all
		select format('constraint %s %s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
		  from ours c join pg_constraint k on k.conrelid = c.oid
		union all
		select format('policy %s %s %s %s %s %s', c.relname, p.polname, p.polcmd, p.polroles::regrole[],
		              pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
		  from ours c join pg_policy p on p.polrelid = c.oid
		union all
		select format('schema %s', array(select a::text from unnest(nspacl) a order by 1))
		  from pg_namespace where nspname = 'oxbow') every
		order by 1`)
	require.NoError(t, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(all), 1000)
	return all
}

// answers returns what a user's memories say at a moment, by question.
func answers(t *testing.T, pool *pgxpool.Pool, user string, now time.Time) map[string][]string {
	t.Helper()
	ctx := t.Context()
	client := newClient(t, pool, oxbow.WithoutUseReports())
	all := map[string][]string{}
	for _, text := range []string{"Where does " + user + " live?", "rice for breakfast", "王芳 和 李梅 住 在 哪里",
		"喝什么茶", "page"} {
		found, err := client.Recall(ctx, oxbow.Query{UserID: user, Text: text, Limit: 30, Now: now})
		require.NoError(t, err)
		require.NoError(t, found.Degraded)
		for _, m := range found.Memories {
			all["recall "+text] = append(all["recall "+text], m.ID.String()+" "+m.Content)
		}
	}
	block, err := client.Context(ctx, oxbow.ContextQuery{UserID: user, Text: "hens, Porto, 绿茶, 画画", Now: now,
		Include: []string{"profile", "emotion", "communities", "skills"}})
	require.NoError(t, err)
	all["context"] = strings.Split(block.Text, "\n")
	traits, err := client.Traits(ctx, user, oxbow.TraitsOptions{AsOf: now, IncludeHidden: true})
	require.NoError(t, err)
	for _, trait := range traits {
		all["traits"] = append(all["traits"], trait.ID.String()+" "+trait.Stage+" "+trait.Content)
	}
	facts, err := client.Facts(ctx, user, oxbow.FactsOptions{ValidAsOf: now, BelievedAsOf: now})
	require.NoError(t, err)
	for _, fact := range facts {
		all["facts"] = append(all["facts"], fact.ID.String()+" "+fact.Content)
	}
	line, err := client.Timeline(ctx, oxbow.TimelineQuery{UserID: user, Topic: "lives in"})
	require.NoError(t, err)
	for _, entry := range line.Entries {
		all["timeline"] = append(all["timeline"], entry.ID.String()+" "+entry.Content)
	}
	var file bytes.Buffer
	_, err = client.ExportUser(ctx, user, &file)
	require.NoError(t, err)
	all["export"] = strings.Split(file.String(), "\n")
	_, err = consistency.Check(ctx, pool, consistency.Options{UserID: user, Found: func(p consistency.Problem) error {
		all["check"] = append(all["check"], fmt.Sprint(p))
		return nil
	}})
	require.NoError(t, err)
	return all
}
