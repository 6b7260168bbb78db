package sqlcode_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// Everything in the catalog is attacked by a login that may see only another user. New objects are
// attacked too, or fail these tests until their expected behavior is declared.

// noUserData lists the relations without a user_id, and whether an application may read them.
var noUserData = map[string]bool{
	// versions, and the settings that recall needs
	"settings": true, "schema_version": true, "river_migration": true, "installed_code": true,
	"policy_definitions": true, "policy_changes": true, "trait_rules": true, "recall_rules": true,
	"category_names": true, "profile_mapping": true,
	"strategies": false, "strategies_version_seq": false,
	"erasures": false, "erased_users": false, "webhooks": false, "pattern_releases": false, "pattern_counts": false, "pattern_releases_id_seq": false, "activity_id_seq": false, "job_schedules": false,
	"river_job": false, "river_job_id_seq": false, "river_leader": false, "river_notification": false,
	"river_notification_id_seq": false, "river_queue": false,
}

// unread lists the tables of users' data that an application may not read.
var unread = []string{"api_keys", "page_sessions"}

// secrets gives a user rows in every table that contain a unique word.
func secrets(t *testing.T, tx db, user string) (word string, ids []string) {
	t.Helper()
	word = "cormorant"
	populate(t, tx, user)
	id := remember(t, tx, row{"user_id": user, "content": "A cormorant, 鸬鹚.", "external_id": "cormorant 1",
		"session_id": "cormorant", "metadata": `{"is": "cormorant"}`})
	addVector(t, tx, user, "fact", id, axis(1))
	index(t, tx, user)
	exec(t, tx, "select oxbow.supersede($1, $2, 'Two cormorants', reason => 'cormorant')", user, id)
	for _, sql := range []string{
		"insert into oxbow.messages (user_id, session_id, content) values ($1, 'cormorant', 'cormorant')",
		"update oxbow.open_erasures set session_id = 'cormorant' where user_id = $1",
		"update oxbow.users set metadata = '{\"is\": \"cormorant\"}' where user_id = $1",
		`update oxbow.entities set name = 'cormorant', key = 'cormorant', head = 'cormorant' where user_id = $1
			and kind = 'person'`,
		"update oxbow.document_files set path = 'cormorant' where user_id = $1",
		"update oxbow.sensory_candidates set content = 'cormorant' where user_id = $1",
		"update oxbow.trait_clues set content = 'cormorant' where user_id = $1",
		"update oxbow.trait_events set reason = 'cormorant' where user_id = $1",
		"update oxbow.memories_trait set trait_key = 'cormorant' where user_id = $1",
		"insert into oxbow.sensory (user_id, content) values ($1, 'cormorant')",
		`update oxbow.memory_archive set content = 'A cormorant, 鸬鹚, archived.', metadata = '{"is": "cormorant"}',
			tsv = 'cormorant' where user_id = $1`,
		"update oxbow.fact_subjects set about = 'cormorant' where user_id = $1",
		"insert into oxbow.trait_evidence select (jsonb_populate_record(e, '{\"event_seq\": 2, \"session_key\": \"cormorant\"," +
			" \"direction\": \"contradicting\"}')).* from oxbow.trait_evidence e where user_id = $1",
		`insert into oxbow.weight_log (user_id, memory_type, memory_id, cause, before, after, actor)
			select user_id, memory_type, memory_id, 'mentioned', 1, 2, 'cormorant' from oxbow.weight_log where user_id = $1`,
		"update oxbow.embedding_refusals set reason = 'cormorant' where user_id = $1",
		"update oxbow.api_keys set name = 'cormorant' where user_id = $1",
		`update oxbow.api_answers set answer = '{"is": "cormorant"}' where user_id = $1`,
		"update oxbow.api_log set target = 'cormorant' where user_id = $1",
		"update oxbow.llm_calls set error = 'cormorant' where user_id = $1",
		`insert into oxbow.key_values (user_id, key, value) values ($1, 'bird', '"cormorant"')`,
		`insert into oxbow.profile_memories (user_id, namespace, key, item, memory_id)
			select user_id, 'profile', 'bird', 'cormorant', id from oxbow.memories_fact where user_id = $1 limit 1`,
		"update oxbow.intentions set content = 'cormorant' where user_id = $1",
		"update oxbow.instructions set content = 'cormorant' where user_id = $1",
		"update oxbow.skills set name = 'cormorant' where user_id = $1",
		"update oxbow.answers set query = 'cormorant' where user_id = $1",
		"update oxbow.feedback_signals set query = 'cormorant', reason = 'cormorant' where user_id = $1",
		"update oxbow.suppressions set query = 'cormorant', terms = '{cormorant}' where user_id = $1",
		"update oxbow.adjustments set cause = 'cormorant' where user_id = $1",
		"update oxbow.topics set topic = 'cormorant' where user_id = $1",
		"update oxbow.topic_fragments set topic = 'cormorant' where user_id = $1",
		"update oxbow.conclusions set topic = 'cormorant', reason = 'cormorant' where user_id = $1",
		"update oxbow.memory_sources set session_id = 'cormorant' where user_id = $1",
		`update oxbow.reflection_cycles set dropped = '["cormorant"]' where user_id = $1`,
		`insert into oxbow.memories (user_id, content, modality, reference, topic)
			values ($1, 'A cormorant, 鸬鹚, diving.', 'image', 'cormorant.png', 'cormorant')`,
	} {
		exec(t, tx, sql, user)
	}
	return word,
		all[string](t, tx, "select id::text from oxbow.memories where user_id = $1 order by memory_type, created_at",
			user)
}

// rowsOf returns all rows of a user as text.
func rowsOf(t *testing.T, tx db, user string) string {
	t.Helper()
	exec(t, tx, "reset role")
	var text strings.Builder
	for _, table := range userTables(t, tx) {
		for _, row := range all[string](t, tx,
			"select to_jsonb(t)::text from "+table+" t where user_id = $1 order by 1", user) {
			text.WriteString(table + row + "\n")
		}
	}
	return text.String()
}

// attempt runs a statement as an attacker and rolls it back. It returns the rows as text, the number of
// affected rows, and the error.
func attempt(t *testing.T, tx db, sql string, args ...any) (text string, affected int64, failed *pgconn.PgError) {
	t.Helper()
	inner, err := tx.Begin(t.Context())
	require.NoError(t, err)
	rows, err := inner.Query(t.Context(), sql, args...)
	var lines []string
	if err == nil {
		for rows.Next() {
			for _, value := range rows.RawValues() {
				lines = append(lines, string(value))
			}
		}
		rows.Close()
		err, affected = rows.Err(), rows.CommandTag().RowsAffected()
	}
	if err != nil {
		require.ErrorAs(t, err, &failed, sql)
	}
	require.NoError(t, inner.Rollback(t.Context()))
	return strings.Join(lines, "\n"), affected, failed
}

// withoutText lists the tables of user data in which no column has a text of the user's, or only as bytes.
var withoutText = []string{"activity", "communities", "document_chunks", "entity_edges", "entity_mentions", "extractions", "feedback_subjects",
	"import_parts", "indexed_vectors", "memory_gists", "memory_links", "memory_term_stats", "memory_vectors", "night_questions",
	"nights", "page_sessions",
	"trait_refusals", "vector_slots"}

// The attacks look for a word in each table that can contain one.
func TestSecretsAreEverywhere(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	word, _ := secrets(t, tx, bob(t))
	for _, table := range all[string](t, tx, `
		select c.relname::text from pg_class c
		  join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`) {
		require.Equal(t, !slices.Contains(withoutText, table), one[bool](t, tx,
			"select exists (select from oxbow."+table+" t where user_id = $1 and strpos(t::text, left($2, 6)) > 0)", bob(t), word), // a stem
			"secrets must put the word into %s, unless it contains no texts", table)
	}
}

func TestCatalogIsKnown(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Empty(t, unguarded(t, tx))
	keys := all[string](t, tx, "select key from oxbow.settings")
	require.Subset(t, []string{"embedding", "recall", "secrets", "sensory"}, keys, "other settings name users")
}

// The test notices new objects without rules.
func TestCatalogNoticesWhatIsNew(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t) // of its own, for what others wait for
	for sql, want := range map[string]string{
		"create table oxbow.planted (note text)":                    "planted",
		"create table oxbow.planted (user_id text, note text)":      "planted",
		"create view oxbow.planted as select * from oxbow.memories": "planted",
		"create sequence oxbow.planted":                             "planted",
		"grant select on oxbow.erasures to oxbow_app":               "erasures",
		"grant update on oxbow.settings to oxbow_app":               "settings",
		"drop policy app_select on oxbow.memory_archive":            "memory_archive",
		"alter table oxbow.weight_log disable row level security":   "weight_log",
		"alter view oxbow.history reset (security_invoker)":         "history",
		"alter table oxbow.recall_rules add user_id text":           "recall_rules",
		`create function oxbow.planted(user_id text) returns bigint language sql security definer
			set search_path = pg_catalog, pg_temp as 'select count(*) from oxbow.memories'`: "oxbow.planted(text)",
		`create function oxbow.planted(user_id text) returns void language plpgsql security definer
			as 'begin perform oxbow.check_access(planted.user_id); end'`: "oxbow.planted(text)",
	} {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		exec(t, tx, sql)
		if strings.Contains(sql, "function") {
			exec(t, tx, "grant execute on function oxbow.planted to oxbow_app")
			require.Equal(t, []string{want}, unchecked(t, tx), sql)
		} else {
			require.Equal(t, []string{want}, unguarded(t, tx), sql)
		}
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// unguarded returns the relations that an application could read or write without being kept to its user.
func unguarded(t *testing.T, tx db) (names []string) {
	t.Helper()
	type relation struct {
		Name                    string
		Kind                    string
		User, Secured, Policies bool
		Invoker                 bool
	}
	rows, err := tx.Query(t.Context(), `
		select c.relname, c.relkind::text, exists (select from pg_attribute a where a.attrelid = c.oid
		and a.attname = 'user_id' and not a.attisdropped),
		       c.relrowsecurity, exists (select from pg_policy p where p.polrelid = c.oid and p.polname = 'app_select'),
		       coalesce('security_invoker=true' = any(c.reloptions), false)
		  from pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')`)
	require.NoError(t, err)
	relations, err := pgx.CollectRows(rows, pgx.RowToStructByPos[relation])
	require.NoError(t, err)
	app := asApp(t, tx)
	for _, r := range relations {
		readable, known := noUserData[r.Name]
		guarded := r.User && r.Secured && r.Policies // by secure_tables
		switch {
		case slices.Contains(unread, r.Name):
			guarded = r.User && r.Secured && !r.Policies &&
				!one[bool](t, tx, "select has_table_privilege($1, 'oxbow.' || $2::text, 'select, insert, update, delete')",
					app, r.Name)
		case known:
			guarded = !r.User && readable ==
				one[bool](t, tx, "select has_table_privilege($1, 'oxbow.' || $2::text, 'select')", app, r.Name) &&
				(r.Kind == "S" || !one[bool](t, tx,
					"select has_table_privilege($1, 'oxbow.' || $2::text, 'insert, update, delete')", app, r.Name))
		case r.Kind == "v":
			guarded = r.Invoker
		}
		if !guarded {
			names = append(names, r.Name)
		}
	}
	return names
}

func TestTablesLeakNothing(t *testing.T) {
	t.Parallel()
	tx := begin(t, pgtest.Database(t)) // its own, because other tests' ANALYZE changes plans
	populate(t, tx, ann(t))
	word, ids := secrets(t, tx, bob(t))
	before := rowsOf(t, tx, bob(t))
	require.Greater(t, strings.Count(before, word), 15)
	views := all[string](t, tx, `select c.oid::regclass::text from pg_class c join pg_attribute a on a.attrelid = c.oid
		and a.attname = 'user_id'
		where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('v', 'm') order by 1`)
	require.NotEmpty(t, views)
	relations := append(userTables(t, tx), views...)
	keys := map[string]string{} // primary key columns by table
	for _, table := range relations {
		keys[table] = one[string](t, tx, `select coalesce(string_agg(quote_ident(a.attname), ', '), '') from pg_index i
			join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
			where i.indrelid = $1::text::regclass and i.indisprimary`, table)
	}
	exec(t, tx, "analyze oxbow.memories")
	asApp(t, tx)
	setUser(t, tx, ann(t))
	// reports every row that reaches it
	exec(t, tx, `create function pg_temp.peek(text, text) returns boolean language plpgsql cost 0.0001 as
		$$ begin if strpos($1, $2) > 0 then raise exception 'peeked %', $1; end if; return true; end $$`)
	user := bob(t)
	for _, table := range relations {
		for _, reading := range []struct {
			sql  string
			args []any
		}{
			{"select t::text from %s t where user_id = $1", []any{user}},
			{"select t::text from %s t where pg_temp.peek(t::text, $1)", []any{user}},
			{"select t::text from %s t where user_id = $1 and pg_temp.peek(t::text, $1)", []any{user}},
			{"select t::text from %s t where t::text like '%%' || $1 || '%%'", []any{word}},
			{"select t::text from %s t where exists (select from unnest($1::text[]) i where strpos(t::text, i) > 0)",
				[]any{ids}},
			{`select t::text from %[1]s t right join (select $1::text as user_id) u using (user_id)
				where t is not null`, []any{user}},
			{"select t::text from %s t where user_id = $1 for update", []any{user}},
			{"update %s set user_id = user_id where user_id = $1 returning *", []any{user}},
			{"update %s t set user_id = $2 where user_id = $1 returning *", []any{user, ann(t)}},
			{"delete from %s where user_id = $1 returning *", []any{user}},
			{"delete from %s t where pg_temp.peek(t::text, $1)", []any{user}},
			{"with gone as (delete from %s where user_id = $1 returning *) select * from gone", []any{user}},
			{"merge into %s t using (select $1::text as u) s on t.user_id = s.u when matched then delete", []any{user}},
			{"truncate %s", nil},
			{"lock table %s in access exclusive mode nowait", nil},
		} {
			text, affected, failed := attempt(t, tx, fmt.Sprintf(reading.sql, table), reading.args...)
			if failed != nil {
				require.Contains(t, []string{"42501", "0A000", "42809", "55000", "55P03"}, failed.Code, "%s of %s: %v",
					reading.sql, table, failed)
				require.NotContains(t, failed.Detail+failed.Message+failed.Hint, word)
				continue
			}
			if strings.HasSuffix(reading.sql, "where pg_temp.peek(t::text, $1)") {
				require.NotContains(t, text, word) // its own rows may be reported
				require.NotContains(t, text, user)
				continue
			}
			require.Empty(t, text, "%s of %s", reading.sql, table)
			require.Zero(t, affected, "%s of %s", reading.sql, table)
		}

		// a missing row looks the same as an invisible one
		plan, _, failed := attempt(t, tx,
			fmt.Sprintf("explain (analyze, costs off, timing off, summary off) select * from %s where user_id = $1",
				table), user)
		if slices.Contains(unread, strings.TrimPrefix(table, "oxbow.")) {
			require.Equal(t, "42501", failed.Code, table)
			continue
		}
		require.Nil(t, failed)
		require.Regexp(t, `actual rows=0(\.00)?|never executed`, plan, table)
		require.NotRegexp(t, `actual rows=[1-9]|Removed by`, plan, table)

		// B's row has the same key as one of A's
		if columns := keys[table]; columns != "" {
			own := one[string](t, tx, "select to_jsonb(t)::text from "+table+" t limit 1")
			for _, conflict := range []string{"do nothing", "(" + columns + ") do nothing", "(" + columns +
				") do update set user_id = excluded.user_id returning *"} {
				text, _, failed := attempt(t, tx, fmt.Sprintf(`insert into %[1]s select r.*
					from jsonb_populate_record(null::%[1]s, $1::jsonb || jsonb_build_object('user_id', $2::text)) r
					on conflict %[2]s`, table, conflict), own, user)
				require.NotContains(t, text, word)
				if failed != nil {
					require.NotContains(t, failed.Detail+failed.Message, word, table)
				}
			}
		}

		for _, out := range []string{"copy %s to stdout", "copy (select * from %s) to stdout",
			"copy (delete from %s returning *) to stdout"} {
			inner, err := tx.Begin(t.Context())
			require.NoError(t, err)
			var copied bytes.Buffer
			_, err = inner.Conn().PgConn().CopyTo(t.Context(), &copied, fmt.Sprintf(out, table))
			if err != nil {
				copied.WriteString(err.Error())
			}
			require.NotContains(t, copied.String(), word, out, table)
			require.NotContains(t, copied.String(), user, out, table)
			require.NoError(t, inner.Rollback(t.Context()))
		}
		inner, err := tx.Begin(t.Context())
		require.NoError(t, err)
		_, err = inner.Conn().PgConn().CopyFrom(t.Context(), strings.NewReader(user+"\n"),
			fmt.Sprintf("copy %s (user_id) from stdin", table))
		var refused *pgconn.PgError
		require.True(t, errors.As(err, &refused), "COPY goes round no policy: %s", table)
		require.Contains(t, []string{"42501", "0A000", "42809", "23514", "55000"}, refused.Code, "%s: %v", table,
			refused)
		require.NoError(t, inner.Rollback(t.Context()))
	}
	require.Zero(t, one[int](t, tx,
		`select count(*) from pg_stats where schemaname = 'oxbow'
				and tablename <> all (array['settings', 'schema_version', 'river_migration', 'installed_code',
				  'policy_definitions', 'policy_changes', 'trait_rules', 'recall_rules', 'category_names'])`), "samples of others' rows")
	require.Equal(t, before, rowsOf(t, tx, bob(t)))
}

// Without a user in the setting, or with an empty one, as after a transaction with SET LOCAL, an application reads no row
// of any table, not even those of no user, such as the keys of operators.
func TestEmptyUserReadsNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	secrets(t, tx, bob(t))
	exec(t, tx, `insert into oxbow.api_keys (user_id, id, role, name, hash) values
		('', gen_random_uuid(), 'operator', 'n', '\x01'), ('', gen_random_uuid(), 'app', 'n', '\x02')`)
	exec(t, tx, `insert into oxbow.page_sessions (user_id, hash, expires_at) values ('', '\x01', now())`)
	tables := append(userTables(t, tx), "oxbow.traits", "oxbow.history")
	rows := func(table string) (string, *pgconn.PgError) {
		text, _, failed := attempt(t, tx, "select count(*)::text from "+table)
		return text, failed
	}
	for _, table := range tables {
		text, failed := rows(table)
		require.Nil(t, failed, table)
		require.NotEqual(t, "0", text, table)
	}
	for role, denied := range map[string][]string{"oxbow_app": unread, "oxbow_worker": {"api_keys"}, "oxbow_operator": nil} {
		for setting, set := range map[string]string{
			"unset": "reset oxbow.user_id", "empty": "set local oxbow.user_id = ''",
			"another's": "set local oxbow.user_id = 'somebody else'",
		} {
			exec(t, tx, "set local role "+role)
			exec(t, tx, set)
			for _, table := range tables {
				text, failed := rows(table)
				switch {
				case slices.Contains(denied, strings.TrimPrefix(table, "oxbow.")):
					require.NotNil(t, failed, "%s of %s", table, role)
					require.Equal(t, "42501", failed.Code)
				case role == "oxbow_worker" && (table == "oxbow.traits" || table == "oxbow.history"): // of no job's
				case role == "oxbow_app":
					require.Nil(t, failed, table)
					require.Equal(t, "0", text, "%s with the setting %s", table, setting)
				default:
					require.Nil(t, failed, "%s of %s", table, role)
					require.NotEqual(t, "0", text, "%s of %s", table, role)
				}
			}
			exec(t, tx, "reset role")
		}
	}
}

// A unique key reveals at most the existence of a row: an application may insert for others, so it can
// find out whether a key exists if it knows all of it, but nothing else in the row.
func TestUniqueKeysRevealNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	_, ids := secrets(t, tx, bob(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for _, sql := range []string{
		"insert into oxbow.memories (user_id, content, external_id) values ($1, 'mine', 'cormorant 1')",
		"insert into oxbow.memories (user_id, content, id, memory_type) select $1, 'mine', '" + ids[0] +
			"', 'document'",
	} {
		err := fails(t, tx, sql, bob(t))
		require.Contains(t, []string{"23505", "42501"}, err.Code)
		require.Empty(t, err.Detail, "it would show the row")
	}
	for _, sql := range []string{
		`insert into oxbow.memories (user_id, memory_type, content, external_id)
			values ($1, 'fact', 'mine', 'cormorant 1') on conflict (user_id, memory_type, external_id) do update
			set metadata = '{}' returning content`,
		`insert into oxbow.memories (user_id, memory_type, content, external_id)
			values ($1, 'fact', 'mine', 'cormorant 1') on conflict (user_id, memory_type, external_id) do nothing
			returning content`,
	} {
		require.Equal(t, "42501", fails(t, tx, sql, bob(t)).Code, sql)
	}
}

// Every function that an application may call, with the owner's rights or the caller's, refuses or finds
// nothing for B, and reveals nothing when it is called for A with B's ids.
func TestFunctionsLeakNothing(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, ann(t))
	word, ids := secrets(t, tx, bob(t))
	before := rowsOf(t, tx, bob(t))
	type function struct {
		Name      string
		Procedure bool
		Names     []string
		Types     []string
	}
	rows, err := tx.Query(t.Context(), `
		select p.oid::regproc::text, p.prokind = 'p',
		       array(select coalesce(p.proargnames[nth], '') from generate_series(1, p.pronargs) nth),
		       array(select arg::regtype::text from unnest(p.proargtypes) with ordinality a(arg, nth) order by nth)
		  from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.prorettype <> 'trigger'::regtype and p.prokind in ('f', 'p')
		   and has_function_privilege('oxbow_app', p.oid, 'execute') order by 1`)
	require.NoError(t, err)
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	require.NoError(t, err)
	require.Greater(t, len(functions), 30)

	// B's objects by argument type; an argument called user_id is tried with both users
	names := map[string][]string{
		"text":   {"'cormorant'"},
		"text[]": {"array['cormorant']", "null"},
		"uuid":   nil, "uuid[]": {"array['" + strings.Join(ids, "','") + "']::uuid[]"},
		"integer": {"100"}, "double precision": {"0.5"}, "boolean": {"false", "true"}, "date": {"current_date"},
		"timestamp with time zone": {"now()", "null"}, "jsonb": {"'{}'"},
	}
	for _, id := range ids {
		names["uuid"] = append(names["uuid"], "'"+id+"'")
	}
	values := func(user, name, kind string, n int) string {
		if strings.Contains(name, "user_id") || name == "_after" || name == "" && kind == "text" {
			if strings.HasSuffix(kind, "[]") {
				return "array['" + user + "']"
			}
			return "'" + user + "'"
		}
		if known := names[kind]; len(known) > 0 {
			return known[n%len(known)] + "::" + kind
		}
		return "null::" + kind
	}
	asApp(t, tx)
	setUser(t, tx, ann(t))
	called := 0
	for _, f := range functions {
		for _, user := range []string{bob(t), ann(t)} {
			for n := range max(len(ids), 2) {
				args := make([]string, len(f.Types))
				for i, kind := range f.Types {
					args[i] = values(user, f.Names[i], kind, n)
				}
				call := f.Name + "(" + strings.Join(args, ", ") + ")"
				sql := "select to_jsonb(r)::text from " + call + " r"
				if f.Procedure {
					sql = "call " + call
				}
				text, _, failed := attempt(t, tx, sql)
				if failed == nil {
					called++
				} else {
					text = failed.Message + failed.Detail + failed.Hint
				}
				// the output may repeat the arguments, but rows of B contain more
				for _, arg := range args {
					text = strings.ReplaceAll(text, strings.Trim(strings.SplitN(arg, "::", 2)[0], "'"), "")
				}
				require.NotContains(t, text, "A boat on the river, "+word, call)
				require.NotContains(t, strings.ToLower(text), "a "+word+",", call)
				require.NotContains(t, strings.ToLower(text), "two "+word, call)
				require.NotContains(t, text, "鸬鹚", call)
				if failed == nil && user == ann(t) {
					require.NotContains(t, text, bob(t), call)
				}
			}
		}
	}
	require.Greater(t, called, 100, "most of the calls for A do something")
	// the attempts for A were rolled back; committed, they do not affect B either
	for _, call := range []string{"touch($1, $2::uuid[])", "forget($1, ($2::uuid[])[1])",
		"restore($1, ($2::uuid[])[1])", "erase_memory($1, ($2::uuid[])[1])", "supersede($1, ($2::uuid[])[1], 'x')",
		"promote($1, ($2::uuid[])[1])", "dissolve_trait($1, ($2::uuid[])[1])", "delete_trait($1, ($2::uuid[])[1])",
		"end_session($1, 'cormorant')", "delete_file($1, 'cormorant')"} {
		inner, err := tx.Begin(t.Context())
		require.NoError(t, err)
		if _, err = inner.Exec(t.Context(), "select oxbow."+call, ann(t), ids); err != nil {
			require.NoError(t, inner.Rollback(t.Context()))
			continue
		}
		require.NoError(t, inner.Commit(t.Context()))
	}
	require.Equal(t, before, rowsOf(t, tx, bob(t)))
}
