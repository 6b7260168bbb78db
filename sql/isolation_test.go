package sqlcode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// asApp makes the transaction one of a new login in the group oxbow_app, and returns its name. The role is
// rolled back with the transaction.
func asApp(t *testing.T, tx db) string { return asMember(t, tx, "oxbow_app") }

func asMember(t *testing.T, tx db, group string) string {
	t.Helper()
	exec(t, tx, "reset role")
	role := fmt.Sprintf("oxbow_sql_test_%x", rand.Uint64())
	exec(t, tx, fmt.Sprintf("create role %s login in role %s", role, group))
	exec(t, tx, "set local role "+role)
	return role
}

func setUser(t *testing.T, tx db, user string) {
	t.Helper()
	exec(t, tx, "select set_config('oxbow.user_id', $1, true)", user)
}

// userTables returns all tables with a user_id, including partitions.
func userTables(t testing.TB, tx db) []string {
	t.Helper()
	return all[string](t, tx, `
		select c.oid::regclass::text from pg_class c
		  join pg_attribute a on a.attrelid = c.oid and a.attname = 'user_id' and not a.attisdropped
		 where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p') order by 1`)
}

// populate inserts a row of the user into every table with a user_id.
func populate(t testing.TB, tx db, user string) {
	t.Helper()
	var first, trait string
	for _, kind := range []string{"fact", "episodic", "trait", "document"} {
		id := remember(t, tx, row{"user_id": user, "memory_type": kind, "trait_stage": "core"})
		addVector(t, tx, user, kind, id, axis(1))
		switch kind {
		case "fact":
			first = id
		case "trait":
			trait = id
		}
	}
	index(t, tx, user)
	exec(t, tx, `with file as (insert into oxbow.document_files (user_id, path, media_type, bytes, content_hash)
		values ($1, 'p', 'text/plain', 1, 'h') returning id)
		insert into oxbow.document_chunks (user_id, file_id, nth, memory_id)
		select $1, file.id, 1, m.id from file, oxbow.memories_document m where m.user_id = $1`, user)
	exec(t, tx, "insert into oxbow.users (user_id) values ($1)", user)
	exec(t, tx, "insert into oxbow.sessions (user_id, id) values ($1, 's')", user)
	exec(t, tx, "insert into oxbow.messages (user_id, session_id, content) values ($1, 's', 'hello')", user)
	exec(t, tx, `insert into oxbow.api_keys (user_id, id, role, name, hash)
		values ($1, gen_random_uuid(), 'person', 'n', '\x00')`, user)
	exec(t, tx, `insert into oxbow.page_sessions (user_id, hash, expires_at) values ($1, '\x00', now())`, user)
	exec(t, tx, `insert into oxbow.api_answers (user_id, key, request, answer) values ($1, 'k', '\x00', '{}')`, user)
	exec(t, tx, `insert into oxbow.import_parts (user_id, import_id, part, content)
		values ($1, gen_random_uuid(), 1, 'x')`, user)
	exec(t, tx, `insert into oxbow.api_log (user_id, id, at, role, operation, status)
		values ($1, gen_random_uuid(), now(), 'person', 'get-memory', 200)`, user)
	exec(t, tx, "insert into oxbow.open_erasures (user_id, kind, session_id) values ($1, 'messages', 's')", user)
	exec(t, tx, "insert into oxbow.extractions (user_id, number) values ($1, 1)", user)
	exec(t, tx, "insert into oxbow.fact_subjects (user_id, about, memory_id) values ($1, 'home', $2)", user, first)
	exec(t, tx, `insert into oxbow.memory_gists (user_id, memory_type, gist, memory_id)
		values ($1, 'fact', gen_random_uuid(), $2)`, user, first)
	exec(t, tx, "insert into oxbow.activity (user_id, memory_ids) values ($1, array[$2::uuid])", user, first)
	exec(t, tx,
		`insert into oxbow.embedding_refusals (user_id, memory_type, memory_id, model, reason)
			values ($1, 'fact', $2, 'm', 'r')`, user, first)
	exec(t, tx,
		"insert into oxbow.memory_history (user_id, memory_type, memory_id, event) values ($1, 'fact', $2, 'UPDATE')",
		user, first)
	exec(t, tx,
		`insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
			values ($1, 'fact', $2, 'fact', $2, 'related_to')`, user, first)
	exec(t, tx, `insert into oxbow.memory_archive (user_id, memory_type, memory_id, content, metadata, content_hash,
			len, tsv)
		select user_id, memory_type, id, content, metadata, content_hash, 1, 'boat' from oxbow.memories
		 where user_id = $1 and id = $2`, user, first)
	exec(t, tx, `insert into oxbow.weight_log (user_id, memory_type, memory_id, cause, before, after)
		values ($1, 'fact', $2, 'used', 1.1, 1.2)`, user, first)
	exec(t, tx,
		"insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id) values ($1, 'fact', $2, 's')",
		user, first)
	exec(t, tx, "insert into oxbow.reflection_cycles (user_id, trigger_type) values ($1, 'manual')", user)
	exec(t, tx, `insert into oxbow.key_values (user_id, key, value) values ($1, 'job', '"baker"')`, user)
	exec(t, tx, `insert into oxbow.profile_memories (user_id, namespace, key, item, memory_id)
		values ($1, 'profile', 'job', 'baker', $2)`, user, first)
	exec(t, tx, "insert into oxbow.communities (user_id, id) values ($1, gen_random_uuid())", user)
	exec(t, tx, "insert into oxbow.nights (user_id, due_at) values ($1, 'infinity')", user)
	exec(t, tx, "insert into oxbow.night_questions (user_id, hash, asked_at) values ($1, oxbow.trait_hash('k'), now())", user)
	exec(t, tx, "insert into oxbow.intentions (user_id, content) values ($1, 'Paint')", user)
	exec(t, tx, "insert into oxbow.instructions (user_id, content) values ($1, 'Be brief')", user)
	exec(t, tx, "insert into oxbow.skills (user_id, name, situation, steps) values ($1, 'Knot', 'rope', '{tie}')", user)
	exec(t, tx, "insert into oxbow.topics (user_id, topic, concluded) values ($1, 'do:sailing', true)", user)
	exec(t, tx, `insert into oxbow.topic_fragments (user_id, topic, memory_type, memory_id, at)
		values ($1, 'do:sailing', 'fact', $2, now())`, user, first)
	exec(t, tx, `insert into oxbow.conclusions (user_id, memory_id, topic, voices, confidence, fragments, sessions, made_by)
		values ($1, $2, 'do:sailing', '{""}', 0.5, 4, 2, 'rules-v1')`, user, first)
	exec(t, tx, `select oxbow.feedback($1, 'wrong', array[$2::text::uuid],
		oxbow.answered($1, 'Who painted it?', array[$2::text::uuid], session_id => 's'))`, user, first)
	exec(t, tx, `insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before, after, cause, signals)
		values ($1, 'memory_weight', 'fact', $2, 1, 0.5, 'c', '{}')`, user, first)
	exec(t, tx, `insert into oxbow.trait_evidence (user_id, trait_id, direction, memory_type, memory_id, quality,
		session_key, observed_at, timezone, event_seq)
		values ($1, $2, 'supporting', 'fact', $3, 'C', 's', now(), 'UTC', 1)`, user, trait, first)
	exec(t, tx,
		`insert into oxbow.trait_events (user_id, trait_id, seq, event, at, sets, subtype, confidence, stage)
			values ($1, $2, 1, 'created', now(), 0.9, 'behavior', 0.9, 'core')`, user, trait)
	exec(t, tx,
		`insert into oxbow.trait_clues (user_id, key, memory_type, memory_id, content, session_key, observed_at)
			values ($1, 'k', 'fact', $2, 'c', 's', now())`, user, first)
	exec(t, tx, "insert into oxbow.trait_refusals (user_id, hash) values ($1, oxbow.trait_hash('k'))", user)
	exec(t, tx,
		`insert into oxbow.llm_calls (user_id, purpose, model, attempt, started_at, latency)
			values ($1, 'reflect', 'm', 1, now(), '1 s')`, user)
	exec(t, tx, `with entity as (insert into oxbow.entities (user_id, kind, name, key, head)
		values ($1, 'person', 'Tom', 'tom', 'tom'), ($1, 'self', 'user', 'user', 'user') returning id),
		mention as (insert into oxbow.entity_mentions (user_id, entity_id, memory_type, memory_id)
		select $1, id, 'fact', $2 from entity)
		insert into oxbow.entity_edges (user_id, from_id, relation, to_id, memory_type, memory_id, valid_at, created_at)
		select $1, (array_agg(id))[1], 'friend', (array_agg(id))[2], 'fact', $2, now(), now() from entity`, user, first)
	exec(t, tx, "insert into oxbow.vector_slots (user_id, memory_type, slot) values ($1, 'fact', 1)", user)
	exec(t, tx,
		`insert into oxbow.indexed_vectors (user_id, memory_type, memory_id) values ($1, 'fact', $2)
			on conflict do nothing`, user, first)
	exec(t, tx, "insert into oxbow.sensory (user_id, content) values ($1, 'tick')", user)
	exec(t, tx,
		`insert into oxbow.sensory_candidates (user_id, hash, content, times, first_at, last_at)
			values ($1, md5('tick')::uuid, 'tick', 3, now(), now())`, user)
}

func count(t *testing.T, tx db, table, user string) int {
	t.Helper()
	return one[int](t, tx, "select count(*) from "+table+" where user_id = $1", user)
}

func TestAppReadsOnlyItsUser(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, ann(t))
	populate(t, tx, bob(t))
	tables := userTables(t, tx)
	require.Contains(t, tables, "oxbow.memories_fact")
	rows := map[string]int{}
	for _, table := range tables {
		rows[table] = count(t, tx, table, ann(t))
		require.Positive(t, rows[table], "populate must cover the new table %s", table)
	}
	tables = slices.DeleteFunc(tables, func(table string) bool {
		return slices.Contains(unread, strings.TrimPrefix(table, "oxbow."))
	})
	asApp(t, tx)
	for _, unset := range []string{"nothing was set", ""} {
		if unset == "" {
			setUser(t, tx, "")
		}
		for _, table := range tables {
			require.Zero(t, one[int](t, tx, "select count(*) from "+table), "%s, %q", table, unset)
		}
	}
	setUser(t, tx, ann(t))
	for _, table := range tables {
		require.Equal(t, rows[table], one[int](t, tx, "select count(*) from "+table), table)
	}
}

func TestAppChangesOnlyItsUser(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, ann(t))
	populate(t, tx, bob(t))
	tables := userTables(t, tx)
	rows := map[string]int{}
	for _, table := range tables {
		rows[table] = count(t, tx, table, bob(t))
	}
	asApp(t, tx)
	for _, setting := range []string{"", ann(t)} {
		setUser(t, tx, setting)
		for _, table := range tables {
			for _, sql := range []string{"update %s set user_id = user_id where user_id = $1",
				"delete from %s where user_id = $1"} {
				sql = fmt.Sprintf(sql, table)
				inner, err := tx.Begin(t.Context())
				require.NoError(t, err)
				done, err := inner.Exec(t.Context(), sql, bob(t))
				if err != nil {
					require.ErrorContains(t, err, "permission denied", sql)
				} else {
					require.Zero(t, done.RowsAffected(), sql)
				}
				require.NoError(t, inner.Rollback(t.Context()))
			}
		}
	}
	// a row cannot be moved to another user either
	for _, table := range []string{"oxbow.messages", "oxbow.sessions", "oxbow.users", "oxbow.memories"} {
		err := fails(t, tx, "update "+table+" set user_id = $1 || 'x' where user_id = $2", bob(t), ann(t))
		require.Contains(t, []string{"42501", "23001"}, err.Code, table)
	}
	// it may change its own rows
	exec(t, tx, "update oxbow.memories set importance = 1 where memory_type = 'fact'")
	exec(t, tx, "delete from oxbow.memories where memory_type = 'episodic'")
	exec(t, tx, "delete from oxbow.messages")
	exec(t, tx, "reset role")
	require.Equal(t, 3, count(t, tx, "oxbow.memories", ann(t)))
	require.Equal(t, 3, requireStats(t, tx, ann(t)))
	for _, table := range tables {
		require.Equal(t, rows[table], count(t, tx, table, bob(t)), table)
	}
}

func TestAppInserts(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": bob(t)})
	asApp(t, tx)
	for _, setting := range []string{"", ann(t)} {
		setUser(t, tx, setting)
		exec(t, tx, "insert into oxbow.memories (user_id, content) values ($1, 'one'), ($2, 'two')", ann(t), bob(t))
		exec(t, tx,
			"insert into oxbow.memories_episodic (user_id, memory_type, content) values ($1, 'episodic', 'three')",
			bob(t))
		exec(t, tx, "insert into oxbow.messages (user_id, session_id, content) values ($1, 's', 'hello')", bob(t))
		exec(t, tx, "insert into oxbow.sensory (user_id, content) values ($1, 'tick'), ($2, 'tock')", ann(t), bob(t))
		for _, sql := range []string{
			"insert into oxbow.memories (user_id, content) values ($1, 'one') returning id",
			"insert into oxbow.users (user_id) values ($1)",
			"insert into oxbow.sessions (user_id, id) values ($1, 's')",
		} {
			require.Equal(t, "42501", fails(t, tx, sql, bob(t)).Code, sql)
		}
	}
	addVector(t, tx, bob(t), "fact", id, axis(3))
	require.NotEmpty(t,
		one[string](t, tx, "insert into oxbow.memories (user_id, content) values ($1, 'one') returning id::text",
			ann(t)))
	exec(t, tx, "insert into oxbow.users (user_id) values ($1)", ann(t))

	// only functions and the worker write to other tables
	for _, table := range []string{"memory_terms", "memory_term_stats", "memory_history", "memory_sources",
		"memory_links", "reflection_inbox",
		"reflection_cycles", "activity", "embedding_refusals", "settings", "river_job", "memory_terms_fact",
		"sensory_candidates", "entities",
		"entity_mentions", "entity_edges", "vector_slots", "indexed_vectors"} {
		require.Equal(t, "42501", fails(t, tx, "insert into oxbow."+table+" default values").Code, table)
	}
}

func TestAppDoesNotSeeTheQueue(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	queue := all[string](t, tx, `select oid::regclass::text from pg_class where relnamespace = 'oxbow'::regnamespace
		and relkind = 'r'
		and relname like 'river%' and relname <> 'river_migration'`) // versions are public
	require.Contains(t, queue, "oxbow.river_job")
	asApp(t, tx)
	for _, table := range queue {
		require.Equal(t, "42501", fails(t, tx, "select from "+table).Code, table)
	}
}

func TestAppCannotMakeTraits(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	id := remember(t, tx, row{"user_id": ann(t), "memory_type": "trait", "trait_stage": "core"})
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for _, origin := range []string{"", "import", "reflection"} {
		exec(t, tx, "select set_config('oxbow.origin', $1, true)", origin)
		for _, sql := range []string{
			"insert into oxbow.memories (user_id, memory_type, content) values ($1, 'trait', 'one')",
			"insert into oxbow.memories_trait (user_id, memory_type, content) values ($1, 'trait', 'one')",
			"select oxbow.supersede($1, '" + id + "', 'another')",
		} {
			err := fails(t, tx, sql, ann(t))
			require.Equal(t, "23514", err.Code, "%s as %q", sql, origin)
			require.Equal(t, "memory_type", err.ColumnName)
		}
	}
}

// A function with its owner's rights has a fixed search_path, and either refuses to serve another user or
// is not for applications. New functions are tested too.
func TestFunctionsWithOwnersRights(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	require.Empty(t, unchecked(t, tx))
	require.Greater(t, one[int](t, tx, `select count(*) from pg_proc p where p.pronamespace = 'oxbow'::regnamespace
		and p.prosecdef and has_function_privilege('oxbow_app', p.oid, 'execute')`), 30)
}

// unchecked returns the functions with their owner's rights that have no fixed search_path, or that do not refuse to
// serve another user.
func unchecked(t *testing.T, tx db) []string {
	t.Helper()
	names := all[string](t, tx, `
		select p.oid::regprocedure::text from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.prosecdef
		   and not exists (select from unnest(p.proconfig) c where c ~ '^search_path=pg_catalog, .*pg_temp$')`)

	type function struct{ Name, Call string }
	rows, err := tx.Query(t.Context(), `
		select p.oid::regprocedure::text as name,
		       format('select from %s(%s)', p.oid::regproc,
		       (select string_agg(case nth when 1 then '$1' else 'null' end || '::' || arg::regtype, ', ' order by nth)
		                                                  from unnest(p.proargtypes) with ordinality a(arg,
		                                                  nth))) as call
		  from pg_proc p
		 where p.pronamespace = 'oxbow'::regnamespace and p.prosecdef
		   and p.proname <> 'check_api_key' -- says only whether a key is valid
		 and has_function_privilege('oxbow_app', p.oid, 'execute')`)
	require.NoError(t, err)
	functions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[function])
	require.NoError(t, err)
	app := asApp(t, tx)
	for _, setting := range []string{"", ann(t)} {
		setUser(t, tx, setting)
		for _, f := range functions {
			_, _, err := attempt(t, tx, f.Call, bob(t))
			refused := err != nil && err.Code == "42501" && strings.Contains(err.Message, app) &&
				strings.Contains(err.Message, bob(t)) && strings.Contains(err.Hint, "SET LOCAL oxbow.user_id") &&
				strings.Contains(err.Detail, setting)
			if !refused && !slices.Contains(names, f.Name) {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

func TestAppCallsFunctionsForItsUser(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, ann(t))
	populate(t, tx, bob(t))
	asApp(t, tx)
	setUser(t, tx, ann(t))
	got := recall(t, tx, row{"user_id": ann(t), "query": "boat", "embedding": axis(1)})
	require.Len(t, got, 4)
	exec(t, tx, "select oxbow.touch($1, array[$2]::uuid[])", ann(t), got[0].ID)
	require.NotEmpty(t, all[string](t, tx, "select event from oxbow.history($1, $2)", ann(t), got[0].ID))
	exec(t, tx, "select oxbow.forget($1, $2)", ann(t), got[0].ID)
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": "boat", "embedding": axis(1)}), 3)
	exec(t, tx, "select oxbow.erase_user($1)", ann(t))
	require.Empty(t, recall(t, tx, row{"user_id": ann(t), "query": "boat"}))
	exec(t, tx, "reset role")
	require.Len(t, recall(t, tx, row{"user_id": bob(t), "query": "boat"}), 4)
}

func TestAppCannotCallInternalFunctions(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	asApp(t, tx)
	setUser(t, tx, ann(t))
	for _, sql := range []string{
		"select oxbow.index_memories(array[$1], '{}')", "select oxbow.fold_facts(array[$1], '{}')",
		"select oxbow.clean_terms()", "select oxbow.ring_doorbell()",
		"call oxbow.secure_tables()", "call oxbow.secure_table('oxbow.memories', 'memories')",
		"select oxbow.sensory_partitions()", "select oxbow.count_sensory(1)",
		"select oxbow.age_candidates(1)", "select oxbow.make_sensory_table('2025-01-01')",
		"select oxbow.attach_sensory_day('2025-01-01')", "select oxbow.check_sensory_time()",
		"select oxbow.ensure_policy('oxbow.memories', 'a', 'b')", "select oxbow.erase_rows($1)",
		"select oxbow.erase_documents($1, '{}')", "select oxbow.lock_file($1, 'p')",
		"select oxbow.lock_chunks($1, null)",
		"select oxbow.similar_facts($1, '{}', 1, 0)",
		"select oxbow.write_extraction($1, 's', 'a', '{}', '[]', '{}', true)",
		"select oxbow.recall_text($1, '{fact}', '{boat}', '{}', 10, null)",
	} {
		var args []any
		if strings.Contains(sql, "$1") {
			args = []any{ann(t)}
		}
		require.Equal(t, "42501", fails(t, tx, sql, args...).Code, sql)
	}
	for _, sql := range []string{"alter table oxbow.memories disable row level security",
		"drop policy app_select on oxbow.memories",
		"create table oxbow.mine (n int)", "create function oxbow.mine() returns int language sql return 1",
		"truncate oxbow.memories", "alter table oxbow.memories disable trigger all"} {
		require.Equal(t, "42501", fails(t, tx, sql).Code, sql)
	}
}

// A worker's login owns nothing and can still run embed and sweep.
func TestWorkerIsNotTheOwner(t *testing.T) {
	t.Parallel()
	tx := pgtest.Tx(t)
	populate(t, tx, bob(t))
	populate(t, tx, ann(t))
	role := asMember(t, tx, "oxbow_worker")
	require.False(t, one[bool](t, tx,
		"select pg_has_role($1, (select relowner from pg_class where oid = 'oxbow.memories'::regclass), 'member')",
		role))

	fresh := remember(t, tx, row{"user_id": ann(t), "content": "A second boat."})
	for _, table := range userTables(t, tx) {
		if table == "oxbow.api_keys" {
			require.Equal(t, "42501", fails(t, tx, "select from oxbow.api_keys").Code)
			continue
		}
		require.Positive(t, count(t, tx, table, ann(t)), table)
		require.Positive(t, count(t, tx, table, bob(t)), table)
	}
	require.EqualValues(t, 1, one[int](t, tx,
		`select oxbow.write_vectors(array[$1], '{"model": "local-v1", "dimension": 1024}', array[$2]::uuid[],
			array[$3::text::halfvec])`,
		ann(t), fresh, axis(2)))
	require.Equal(t, []string{fresh}, index(t, tx, ann(t)))
	require.Len(t, recall(t, tx, row{"user_id": ann(t), "query": "boat"}), 5, "with no setting")
	exec(t, tx, "select oxbow.touch($1, array[$2]::uuid[])", ann(t), fresh)
	exec(t, tx, "select oxbow.fold_activity(1000)")
	exec(t, tx, "select oxbow.recount_terms($1)", ann(t))
	exec(t, tx, "select oxbow.clean_terms()")
	exec(t, tx, "select oxbow.sensory_partitions(), oxbow.count_sensory(10), oxbow.age_candidates(10)")
	exec(t, tx, "select from oxbow.reflection_due($1), oxbow.memories_in_queue()", ann(t))
	exec(t, tx, "update oxbow.river_job set state = 'running', attempt = 1 where args ->> 'user_id' = $1", ann(t))
	exec(t, tx, "delete from oxbow.river_job where args ->> 'user_id' = $1", ann(t))
	exec(t, tx, "delete from oxbow.memories where user_id = $1 and memory_type <> 'fact'", ann(t))
	require.Equal(t, 2, requireStats(t, tx, ann(t)))
	exec(t, tx, "select oxbow.erase_user($1)", ann(t))
	require.Zero(t, count(t, tx, "oxbow.memories", ann(t)))

	for _, sql := range []string{"drop table oxbow.activity", "alter table oxbow.memories disable trigger all",
		"call oxbow.secure_tables()"} {
		require.Equal(t, "42501", fails(t, tx, sql).Code, sql)
	}
}

// With real logins the setting role is none, and the session user decides.
func TestLogins(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Database(t)
	owner := connect(t, dsn)
	tx := begin(t, dsn)
	populate(t, tx, ann(t))
	require.NoError(t, tx.Commit(t.Context()))
	login := func(group string) *pgx.Conn {
		role := fmt.Sprintf("oxbow_sql_login_%x", rand.Uint64())
		exec(t, owner, fmt.Sprintf("create role %s login password 'boat' in role %s", role, group))
		// a role belongs to the cluster and outlives the database
		t.Cleanup(func() {
			conn, err := pgx.Connect(context.Background(), dsn)
			if err == nil {
				_, err = conn.Exec(context.Background(), "drop role "+role)
				_ = conn.Close(context.Background())
			}
			require.NoError(t, err)
		})
		cfg, err := pgx.ParseConfig(dsn)
		require.NoError(t, err)
		cfg.User, cfg.Password = role, "boat"
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		return conn
	}
	const sql = "select count(*) from oxbow.recall($1, 'boat')"
	app := login("oxbow_app")
	require.Equal(t, "42501", fails(t, app, sql, ann(t)).Code)
	exec(t, app, "select set_config('oxbow.user_id', $1, false)", ann(t))
	require.Equal(t, 4, one[int](t, app, sql, ann(t)))
	exec(t, app, "reset oxbow.user_id")
	require.Equal(t, "42501", fails(t, app, sql, ann(t)).Code)
	exec(t, app, "set role oxbow_app")
	require.Equal(t, "42501", fails(t, app, sql, ann(t)).Code)
	require.Equal(t, "42501", fails(t, app, "set role oxbow_worker").Code)
	require.Equal(t, "42501", fails(t, app, "set role "+owner.Config().User).Code)

	require.Equal(t, 4, one[int](t, login("oxbow_worker"), sql, ann(t)))
	require.Equal(t, 4, one[int](t, owner, sql, ann(t)))
}
