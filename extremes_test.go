package oxbow_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/worker"
)

// extremes holds the values at the ends of each type, and those that are not numbers, as literals.
var extremes = map[string][]string{
	"double precision": {"NaN", "Infinity", "-Infinity", "5e-324", "-5e-324", "1e-310", "2.3e-308", "1e-300", "1e-155",
		"1e155", "1e300", "1.7976931348623157e308", "-1.7976931348623157e308", "-0", "0", "0.1", "1", "1000"},
	"smallint": {"-32768", "-1", "0", "1", "2", "3", "32767"},
	"integer":  {"-2147483648", "-1", "0", "1", "2147483647"},
	"bigint":   {"-9223372036854775808", "-1", "0", "1", "9223372036854775807"},
	"timestamp with time zone": {"infinity", "-infinity", "294276-12-31 23:59:59.999999+00", "4714-11-24 00:00:00+00 BC",
		"0001-01-01 00:00:00+00", "9999-12-31 23:59:59.999999+00", "10000-01-01 00:00:00+00"},
	"timestamp with time zone[]": {"{infinity}", "{-infinity,NULL}", "{294276-12-31,4714-11-24 00:00:00+00 BC}", "{}"},
	"oxbow.mention[]": {`{"(infinity,f)"}`, `{"(-infinity,t)"}`, `{"(,)"}`, `{"(294276-12-31,f)","(4714-11-24 BC,t)"}`,
		`{"(9999-12-31,f)","(0001-01-01,t)"}`, "{}"},
	"halfvec":       {vector("65504"), vector("6e-8"), vector("0"), "[1]"},
	"halfvec(1024)": {vector("65504"), vector("-65504"), vector("6e-8"), vector("0"), vector("NaN"), vector("1e308")},
	"jsonb": {"1e400", "-1e400", "1e-400", "9223372036854775808", "[1e400]", `"294276-12-31"`,
		`{"emotion": {"arousal": 1e400, "valence": -1e400}}`, `{"emotion": {"arousal": 1e-400, "valence": 5e-324}}`,
		`{"emotion": {"arousal": 9223372036854775808, "valence": 1e308}}`, `{"context": 1e400}`,
		`{"at": "294276-12-31", "date": "infinity", "due": 1e400}`},
}

func vector(number string) string { return "[" + strings.Repeat(number+",", 1023) + number + "]" }

// column is one that an application may write.
type column struct{ Table, Name, Type string }

// Whatever an application stores in a column or passes to a function is refused, or harms nothing: no question about its
// user, and no job.
func TestExtremeValues(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows, err := b.pool.Query(t.Context(), `
		select c.relname::text as table, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
		  and has_any_column_privilege('oxbow_app', c.oid, 'insert, update') and a.attgenerated = ''
		  and a.atttypid not in ('text'::regtype, 'uuid'::regtype, 'boolean'::regtype, 'bytea'::regtype, 'xid8'::regtype,
		    'oxbow.memory_type'::regtype) order by 1, 2`)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByName[column])
	require.NoError(t, err)
	require.Greater(t, len(columns), 50)

	stored := map[string]bool{} // the users whose values were accepted
	for _, c := range columns {
		values, ok := extremes[c.Type]
		require.True(t, ok, "the test has no values for %s.%s, which is %s", c.Table, c.Name, c.Type)
		for _, value := range values {
			user := c.Table + "." + c.Name
			if c.Table == "users" { // one row each
				user += " " + value
			}
			for _, statements := range c.writes(user, value) {
				if err := b.asUser(t, user, statements); err == nil {
					stored[user] = true
				} else {
					requireRefused(t, err, c.Name, c.Table+"."+c.Name+" = "+value[:min(len(value), 60)])
				}
			}
		}
	}
	require.Greater(t, len(stored), 40)
	b.passExtremes(t, stored)
	b.importExtremes(t, stored)
	users := slices.Sorted(maps.Keys(stored))
	b.tryToWork(t)
	for _, user := range users {
		b.ask(t, user)
	}
	b.runAllJobs(t, users)
}

// parameter is one of a function that applications may call.
type parameter struct {
	Function, Name, Type string
	Required             string // arguments of the other parameters without a default
}

// passExtremes calls all functions that applications may call with extremes, each for a user of its own.
func (b *bundle) passExtremes(t *testing.T, stored map[string]bool) {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `
		with parameters as (
		  select p.oid, p.proname::text as function, a.nth, p.proargnames[a.nth] as name, format_type(a.type, null) as type,
		         a.nth <= p.pronargs - p.pronargdefaults or p.proargnames[a.nth] = 'attributions' as required
		    from pg_proc p, unnest(p.proargtypes) with ordinality a(type, nth)
		   where p.pronamespace = 'oxbow'::regnamespace and p.prokind = 'f' and p.prorettype <> 'trigger'::regtype
		     and has_function_privilege('oxbow_app', p.oid, 'execute'))
		select p.function, p.name, p.type, coalesce((
		         select string_agg(format(', %I => %s', r.name, case
		           when r.name ~ 'user_id$' then quote_literal(p.function)
		           when r.name = 'kind' then '''wrong''' when r.name = 'type' then '''negative'''
		           when r.name = 'tier' then '''core'''
		           when r.type = 'uuid' then '''$id''' when r.type = 'uuid[]' then '''{$id}'''
		           when r.type = 'text' then '''boat''' when r.type = 'text[]' then '''{boat}'''
		           when r.type = 'timestamp with time zone' then '''2026-02-03''' when r.type = 'boolean' then 'true'
		           when r.type = 'jsonb' then '''{}''' when r.type ~ 'double|int' then '1'
		           else 'null' end || '::' || r.type), '' order by r.nth)
		           from parameters r where r.oid = p.oid and r.required and r.nth <> p.nth), '') as required
		from parameters p
		where p.type ~ '^(double precision|real|numeric|smallint|integer|bigint|interval|date|time.*|halfvec|jsonb)$'
		order by 1, 2`)
	require.NoError(t, err)
	parameters, err := pgx.CollectRows(rows, pgx.RowToStructByName[parameter])
	require.NoError(t, err)
	require.Greater(t, len(parameters), 60)
	for _, p := range parameters {
		values, ok := extremes[p.Type]
		require.True(t, ok, "the test has no values for %s of %s, which is %s", p.Name, p.Function, p.Type)
		for _, value := range values {
			id := uuid.New()
			switch {
			case strings.HasSuffix(p.Function, "_trait"):
				traittest.Trait{ID: id, UserID: p.Function, Content: "Ann likes boats.", Key: id.String()}.Insert(t, b.pool)
			case strings.Contains(p.Required, "$id"):
				_, err := b.pool.Exec(t.Context(), insert("memories", map[string]string{"user_id": p.Function, "id": id.String(),
					"content": "The boat " + id.String()[:4] + " is in Rome."}))
				require.NoError(t, err)
			}
			if strings.Contains(p.Required, "user_id") {
				stored[p.Function] = true
			}
			sql := fmt.Sprintf("select to_jsonb(r)::text from oxbow.%s(%s => %s::%s%s) r", p.Function, p.Name, quote(value),
				p.Type, strings.ReplaceAll(p.Required, "$id", id.String()))
			err := b.asUser(t, p.Function, []string{sql})
			if pg, ok := errors.AsType[*pgconn.PgError](err); ok && (strings.HasPrefix(pg.Code, "OX") ||
				// called by other functions, which check
				strings.HasPrefix(p.Name, "_") && (pg.Code[:2] == "22" || pg.Code == "23514")) {
				continue
			}
			if err != nil {
				requireRefused(t, err, p.Name, fmt.Sprintf("%.300s", sql))
			}
		}
	}
}

// importExtremes imports lines in which a number or time is an extreme.
func (b *bundle) importExtremes(t *testing.T, stored map[string]bool) {
	t.Helper()
	b.fill(t, "Quentin")
	var file bytes.Buffer
	_, err := b.client.ExportUser(t.Context(), "Quentin", &file)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `delete from oxbow.river_job where cardinality(errors) > 0`) // of fill
	require.NoError(t, err)
	sent := 0
	kinds := map[string]bool{}
	for line := range strings.Lines(file.String()) {
		var fields map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &fields))
		kind := fmt.Sprint(fields["type"], fields["memory_type"])
		if kinds[kind] {
			continue // one of each kind
		}
		kinds[kind] = true
		for name, value := range fields {
			var values []string
			switch value := value.(type) {
			case float64:
				values = []string{"5e-324", "-5e-324", "-0", "1e308", "1e400", "1e-400",
					"9223372036854775808", "-1", "0.5", "2147483648"}
			case string:
				if _, err := time.Parse(time.RFC3339, value); err == nil {
					values = []string{`"infinity"`, `"0001-01-01T00:00:00Z"`, `"9999-12-31T23:59:59.999999Z"`,
						`"294276-12-31T00:00:00Z"`}
				}
			case map[string]any:
				values = []string{`{"x": 1e400}`, `{"emotion": {"arousal": 1e-400, "valence": 1e308}}`}
			}
			for _, value := range values {
				const here = "here goes the value"
				changed := maps.Clone(fields)
				changed[name] = here
				changed["user_id"] = "import " + kind
				text, err := json.Marshal(changed)
				require.NoError(t, err)
				text = bytes.Replace(text, []byte(`"`+here+`"`), []byte(value), 1)
				_, err = b.client.Import(t.Context(), bytes.NewReader(text), oxbow.ImportOptions{Traits: true})
				if err == nil {
					stored["import "+kind] = true
				} else if _, ok := errors.AsType[*oxbow.InvalidError](err); !ok { // the owner's records
					pg, ok := errors.AsType[*pgconn.PgError](err)
					assert.True(t, ok && fields["type"] != "memory" && (pg.Code[:2] == "22" || pg.Code[:2] == "23"),
						"import %s with %s = %s: %v", kind, name, value, err)
				}
				sent++
			}
		}
	}
	require.Greater(t, sent, 200)
}

// writes returns transactions that write a value to the column: by INSERT, and by UPDATE of another row.
func (c column) writes(user, value string) (all [][]string) {
	for kind, update := range map[string]bool{"fact": false, "episodic": true} {
		id := uuid.NewString()
		row := map[string]map[string]string{
			"memories":       {"memory_type": kind, "id": id, "content": "The boat " + id[:4] + " is in the harbour of Rome."},
			"memory_vectors": {"memory_type": kind, "memory_id": id, "embedding": vector("0.03")},
			"messages":       {"session_id": "s " + id, "id": id, "content": "I moved to Rome. I like boats."},
			"sensory":        {"id": id, "content": "A click on the boat."},
			"users":          {},
			"sessions":       {"id": "s " + id},
			"api_answers":    {"key": id, "request": "", "answer": "{}"},
			"import_parts":   {"import_id": id, "part": "1", "content": "x"},
			"api_log":        {"id": id, "role": "app", "operation": "recall", "at": "now", "status": "200"},
		}[c.Table]
		if row == nil {
			panic("the test has no row for the table " + c.Table)
		}
		row["user_id"] = user
		var statements []string
		if c.Table == "memory_vectors" {
			statements = append(statements, insert("memories", map[string]string{"user_id": user, "memory_type": kind, "id": id,
				"content": "A boat with a vector."}))
		}
		if update {
			key := "id"
			for _, k := range []string{"memory_id", "key"} {
				if row[k] != "" {
					key = k
				}
			}
			where := "user_id = " + quote(user)
			if row[key] != "" {
				where += fmt.Sprintf(" and %s = %s", key, quote(row[key]))
			}
			all = append(all, append(statements, insert(c.Table, row),
				fmt.Sprintf("update oxbow.%s set %s = %s where %s", c.Table, c.Name, quote(value), where)))
			continue
		}
		row[c.Name] = value
		all = append(all, append(statements, insert(c.Table, row)))
	}
	return all
}

func insert(table string, row map[string]string) string {
	var names, values []string
	for name, value := range row {
		names, values = append(names, name), append(values, quote(value))
	}
	return fmt.Sprintf("insert into oxbow.%s (%s) values (%s)", table, strings.Join(names, ", "), strings.Join(values, ", "))
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// asUser runs statements as an application, in a transaction.
func (b *bundle) asUser(t *testing.T, user string, statements []string) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "set local role oxbow_app; set local oxbow.user_id = "+quote(user))
		require.NoError(t, err)
		for _, sql := range statements {
			if _, err := tx.Exec(t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// requireRefused requires an error of the column's type or right, or one that names the column.
func requireRefused(t *testing.T, err error, name, what string) {
	t.Helper()
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg, what)
	if pg.Code == "42501" || pg.Code == "23505" || // no right; a user's row
		pg.Code[:2] == "22" && strings.HasSuffix(pg.Routine, "_in") || pg.Routine == "CheckElement" || // not of the type
		pg.Code == "23514" && (pg.ColumnName == name || strings.Contains(pg.Message, name)) {
		return
	}
	assert.Fail(t, what, "%s %s (column %q, %s) %.200s", pg.Code, pg.Message, pg.ColumnName, pg.Routine, pg.Where)
}

// runAllJobs runs a job of each kind: for everybody, or for each of the users.
func (b *bundle) runAllJobs(t *testing.T, users []string) {
	t.Helper()
	ctx := t.Context()
	for _, kind := range jobs.Kinds() {
		if kind.Every > 0 {
			_, _, err := worker.RunNow(ctx, b.pool, kind.Name)
			require.NoError(t, err)
			continue
		}
		if slices.Contains([]string{"embed", "notify", "expire_trend"}, kind.Name) {
			continue // their arguments name rows
		}
		_, err := b.pool.Exec(ctx, `
			insert into oxbow.river_job (kind, args, state, queue, max_attempts)
			select $1, jsonb_build_object('user_id', u,
			         'session_id', coalesce((select min(id) from oxbow.sessions where user_id = u), 's'), 'ids', (
			           select string_agg(id::text, ',') from (select id from oxbow.memories where user_id = u limit 20) m)),
			       'available', $2, 1
			from unnest($3::text[]) u where exists (select from oxbow.memories where user_id = u)`,
			kind.Name, kind.Queue, users)
		require.NoError(t, err)
	}
	b.tryToWork(t)
	rows, err := b.pool.Query(ctx, `
		select distinct on (kind, left(errors[1] ->> 'error', 80)) kind || ' ' || args || ': ' || (errors[1] ->> 'error')
		from oxbow.river_job
		where cardinality(errors) > 0 and errors[1] ->> 'error' not like 'JobCancelError: the arguments need%'`)
	require.NoError(t, err)
	failed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, f := range failed {
		assert.Fail(t, "a job failed", "%.400s", f)
	}
}

// tryToWork runs a worker until it is idle, or until only failed jobs wait for their retry.
func (b *bundle) tryToWork(t *testing.T) {
	t.Helper()
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: b.dsn})
	require.NoError(t, err)
	defer w.Close()
	var unfinished *worker.UnfinishedError
	if err := w.RunUntilIdle(t.Context(), nil); !errors.As(err, &unfinished) {
		require.NoError(t, err)
	}
}

// ask asks and changes everything that concerns a user's memories, as an application.
func (b *bundle) ask(t *testing.T, user string) {
	t.Helper()
	ctx := t.Context()
	app := pgtest.Open(t, b.dsn, "oxbow_app", "oxbow.user_id", user)
	defer app.Close()
	client := newClient(t, app)
	check := func(what string, err error) {
		t.Helper()
		var invalid *oxbow.InvalidError
		assert.True(t, err == nil || errors.As(err, &invalid), "%s: %s: %v", user, what, err)
	}
	_, err := client.Recall(ctx, oxbow.Query{UserID: user, Text: "boat in Rome", Limit: 100})
	check("recall", err)
	_, err = client.Recall(ctx, oxbow.Query{UserID: user, Text: "Rome", Limit: 100, WordsOnly: true,
		Now: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)})
	check("recall in the far future", err)
	_, err = b.client.RecallDebug(ctx, oxbow.Query{UserID: user, Text: "boat"})
	check("recall debug", err)
	for _, text := range []string{"", "boats"} {
		_, err = client.Context(ctx, oxbow.ContextQuery{UserID: user, Text: text,
			Include: []string{"profile", "emotion", "communities", "skills"}})
		check("context "+text, err)
	}
	_, err = client.Timeline(ctx, oxbow.TimelineQuery{UserID: user, Topic: "boat"})
	check("timeline", err)
	_, err = client.Facts(ctx, user, oxbow.FactsOptions{})
	check("facts", err)
	_, err = client.Traits(ctx, user, oxbow.TraitsOptions{IncludeHidden: true})
	check("traits", err)
	_, err = client.Entities(ctx, user)
	check("entities", err)
	_, err = client.EmotionProfile(ctx, user, time.Time{})
	check("emotion", err)
	_, err = client.Predict(ctx, user, time.Time{}, time.Time{}, 10)
	check("predict", err)
	_, err = client.Upcoming(ctx, user, time.Time{}, 10)
	check("upcoming", err)
	_, err = client.Communities(ctx, user, "", 10)
	check("communities", err)
	_, err = client.Sensory(ctx, user, 10)
	check("sensory", err)
	_, err = client.ExportUser(ctx, user, io.Discard)
	check("export", err)

	rows, err := app.Query(ctx, `select id from oxbow.memories order by 1`)
	require.NoError(t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	for _, id := range ids {
		_, err = client.Get(ctx, user, id)
		check("get", err)
		_, err = client.History(ctx, user, id)
		check("history", err)
		_, err = client.Why(ctx, user, id)
		check("why", err)
		_, err = client.Related(ctx, user, id, 5)
		check("related", err)
		for _, sql := range []string{`select * from oxbow.weight($1, $2)`, `select * from oxbow.weight_crossings($1, $2, 0.1)`,
			`select oxbow.touch($1, array[$2::uuid])`} {
			_, err = app.Exec(ctx, sql, user, id)
			check(sql, err)
		}
	}
	_, err = client.Answered(ctx, user, oxbow.Answer{Query: "boat", Recalled: ids, Used: ids})
	check("answered", err)
	for _, kind := range []string{"helpful", "wrong"} {
		_, err = client.Feedback(ctx, user, oxbow.Feedback{Kind: kind, IDs: ids, Query: "boat"})
		check("feedback "+kind, err)
	}
}
