package oxbow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
)

// fill adds something of a user to every table. Each text contains the user's id.
func (b *bundle) fill(t *testing.T, user string) (forgotten, superseded, current uuid.UUID) {
	t.Helper()
	ctx := t.Context()
	// set before the dates of memories are indexed
	_, err := b.pool.Exec(ctx, `insert into oxbow.users (user_id, timezone) values ($1, 'Asia/Tokyo')`, user)
	require.NoError(t, err)
	superseded = b.remember(t, oxbow.NewMemory{UserID: user, Content: user + " lives in Berlin.", SessionID: user +
		" s1",
		Speaker: user,
		Metadata: map[string]any{"entities": []any{map[string]any{"name": "Berlin of " + user, "kind": "place"}},
			"relations": []any{map[string]any{"relation": "lives_in", "to": "Berlin of " + user}}}})
	b.remember(t, oxbow.NewMemory{UserID: user, Content: user + " eats rice.", Type: oxbow.TypeEpisodic,
		SessionID: user + " s1", ExternalID: user + " e", Metadata: map[string]any{user: user}})
	b.remember(t, oxbow.NewMemory{UserID: user, Content: user + " repeats it."})
	b.remember(t, oxbow.NewMemory{UserID: user, Content: user + " repeats it."})
	forgotten = b.remember(t, oxbow.NewMemory{UserID: user, Content: user + " was ill."})
	b.work(t)
	current, err = b.client.Supersede(ctx, user, superseded, oxbow.Replacement{Content: user + " lives in Paris.",
		Reason: user + " moved to Paris"})
	require.NoError(t, err)
	require.NoError(t, b.client.Forget(ctx, user, forgotten, user+" asked"))
	traittest.Trait{UserID: user, Content: user + " gets up early.", Key: user + " early", Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.4, traittest.Evidence{Content: user + " was up at five.",
			At: traittest.Day(1, 9), Session: user + " s1"})}}.Insert(t, b.pool)
	_, err = documents.Ingest(ctx, b.client, documents.NewFile{UserID: user, Path: user + ".txt",
		Content: strings.NewReader(user + " wrote a page.")})
	require.NoError(t, err)
	for _, sql := range []string{
		`update oxbow.users set metadata = jsonb_build_object('name', $1::text), opted_out = true where user_id = $1`,
		`insert into oxbow.sessions (user_id, id) values ($1, $1 || ' s1')`,
		`insert into oxbow.messages (user_id, session_id, content) values ($1, $1 || ' s1', $1 || ' says hello')`,
		`insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id)
			select user_id, memory_type, id, $1 || ' s1' from oxbow.memories where user_id = $1`,
		`update oxbow.sessions set summary_id = (select min(id::text) from oxbow.memories_episodic where user_id = $1)::uuid
			where user_id = $1`,
		`insert into oxbow.reflection_cycles (user_id, trigger_type, dropped)
			select $1, 'manual', jsonb_agg(jsonb_build_object('memory', id)) from oxbow.memories where user_id = $1`,
		`insert into oxbow.trait_clues (user_id, key, memory_type, memory_id, content, session_key, observed_at)
		 select user_id, 'key', memory_type, id, $1 || ' likes noodles', 's', now() from oxbow.memories
		 where user_id = $1
		 and content like '%rice%'`,
		`insert into oxbow.extractions (user_id, number) values ($1, 3)
			on conflict (user_id) do update set number = 3`,
		`insert into oxbow.communities (user_id, id, sources)
			select $1, gen_random_uuid(), array_agg(id) from oxbow.memories where user_id = $1`,
		`insert into oxbow.nights (user_id, due_at) values ($1, 'infinity')`,
		`insert into oxbow.night_questions (user_id, hash, asked_at) values ($1, oxbow.trait_hash('Boats'), now())`,
		`insert into oxbow.trait_refusals (user_id, hash) values ($1, oxbow.trait_hash('Boats'))`,
		`insert into oxbow.llm_calls (user_id, purpose, model, attempt, started_at, latency, error)
			values ($1, 'reflect', 'm', 1, now(), '1.5 seconds', $1)`,
		`insert into oxbow.embedding_refusals (user_id, memory_type, memory_id, model, reason)
			select user_id, memory_type, id, 'm', $1 from oxbow.memories where user_id = $1 limit 1`,
		`insert into oxbow.vector_slots (user_id, memory_type, slot, ready_at)
			values ($1, 'episodic', 1, now()), ($1, 'fact', 2, now())`,
		`insert into oxbow.indexed_vectors (user_id, memory_type, memory_id, slot, embedding)
		 select user_id, memory_type, memory_id, case memory_type when 'fact' then 2 else 1 end, embedding
		 from oxbow.memory_vectors where user_id = $1`,
		`insert into oxbow.memory_archive (user_id, memory_type, memory_id, content, metadata, content_hash,
				len, tsv)
			select user_id, memory_type, id, content, metadata, content_hash, 1, 'boat'
			  from oxbow.memories where user_id = $1 and content like '%rice%'`,
		`update oxbow.memories set level = 'summary' where user_id = $1 and content like '%rice%'`,
		`insert into oxbow.sensory (user_id, content) values ($1, $1 || ' opened a page')`,
		`insert into oxbow.api_keys (user_id, id, role, name, hash)
			values ($1, gen_random_uuid(), 'person', $1 || ' phone', '\x00')`,
		`insert into oxbow.page_sessions (user_id, hash, expires_at) values ($1, sha256($1::text::bytea), now())`,
		`insert into oxbow.api_answers (user_id, key, request, answer) 
			select $1, $1 || ' key', '\x00', jsonb_agg(id) from oxbow.memories where user_id = $1`,
		`insert into oxbow.import_parts (user_id, import_id, part, content)
			values ($1, gen_random_uuid(), 1, convert_to($1 || ' arrives', 'UTF8'))`,
		`insert into oxbow.api_log (user_id, id, at, role, operation, target, status)
			select $1, gen_random_uuid(), now(), 'person', 'get-memory', id, 200 from oxbow.memories where user_id = $1`,
		`insert into oxbow.topics (user_id, topic) values ($1, 'do:cooking')`,
		`insert into oxbow.topic_fragments (user_id, topic, memory_type, memory_id, at)
			select user_id, 'do:cooking', memory_type, id, now() from oxbow.memories where user_id = $1 and content like '%rice%'`,
		`insert into oxbow.conclusions (user_id, memory_id, topic, voices, confidence, fragments, sessions, made_by)
			select user_id, id, 'do:cooking', '{""}', 0.5, 4, 2, 'rules-v1' from oxbow.memories
			 where user_id = $1 and memory_type = 'fact' and content like '%repeats it.' limit 1`,
		`select oxbow.feedback($1, 'wrong', array(select id from oxbow.memories_episodic where user_id = $1 limit 1),
			query => $1 || '?', reason => $1)`,
		`select oxbow.answered($1, $1 || '?', array(select id from oxbow.memories where user_id = $1))`,
		`insert into oxbow.adjustments (user_id, kind, memory_type, memory_id, before, after, cause, signals)
			select user_id, 'memory_weight', memory_type, id, 1, 0.5, $1, '{}' from oxbow.memories where user_id = $1 limit 1`,
		`select oxbow.instruct($1, 'Call me ' || $1), oxbow.learn_skill($1, $1, '{tie}'), oxbow.intend($1, $1 || ' swims'),
			oxbow.set_value($1, 'name', to_jsonb($1::text))`,
		`insert into oxbow.sensory_candidates (user_id, hash, content, times, first_at, last_at)
			values ($1, md5($1)::uuid, $1, 3, now(), now())`,
		`update oxbow.river_job
			set state = 'discarded', finalized_at = now(),
			errors = array[jsonb_build_object('error', 'failed for ' || $1::text)]
		  where args ->> 'user_id' = $1 and finalized_at is not null`,
	} {
		_, err := b.pool.Exec(ctx, sql, user)
		require.NoError(t, err, sql)
	}
	return forgotten, superseded, current
}

// fillIdle fills the tables that an idle worker has emptied.
const fillIdle = `
	insert into oxbow.activity (user_id, memory_ids) select user_id, array[id] from oxbow.memories;
	insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at)
	select user_id, memory_type, id, importance, created_at from oxbow.memories
	 where memory_type in ('fact', 'episodic') on conflict do nothing`

func TestEraseUser(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, "Quentin")
	b.fill(t, "Zebedee")
	b.work(t) // this also empties activity and reflection_inbox
	_, err := b.pool.Exec(t.Context(), fillIdle)
	require.NoError(t, err)
	before := pgtest.Dump(t, b.pool)
	for table, text := range before {
		if !slices.Contains([]string{"settings", "schema_version", "installed_code", "erasures", "job_schedules",
			"policy_definitions",
			"policy_changes", "trait_rules", "recall_rules", "category_names", "profile_mapping", "webhooks", "strategies",
			"pattern_releases", "pattern_counts", "open_erasures", "erased_users"}, table) && !strings.HasPrefix(table, "river_") {
			require.Contains(t, text, "Zebedee", "the test puts nothing into %s", table)
		}
	}

	_, err = b.pool.Exec(t.Context(), `insert into oxbow.settings (key, value) values -- positions of jobs
		('policies.followed', jsonb_build_object('valid_from', now(), 'user_id', 'Zebedee', 'id', gen_random_uuid())),
		('sweep.walk', '{"user_id": "Zebedee"}'), ('sweep.stats', '"Zebedee"'), ('consistency', '{"after": "Zebedee"}'),
		('sweep.levels', '{"cursor": {"user_id": "Zebedee"}}') on conflict (key) do update set value = excluded.value`)
	require.NoError(t, err)

	receipt, err := b.client.EraseUser(t.Context(), "Zebedee")
	require.NoError(t, err)
	counts := map[string]int64{}
	for _, e := range receipt.Erased {
		counts[e.Table] = e.Rows
	}
	require.EqualValues(t, 10, counts["memories"])
	require.EqualValues(t, 10, counts["memory_vectors"])
	require.EqualValues(t, 10, counts["memory_terms"])
	require.EqualValues(t, 1, counts["trait_evidence"])
	require.EqualValues(t, 1, counts["users"])
	require.EqualValues(t, strings.Count(before["river_job"], `"user_id": "Zebedee"`), counts["river_job"])
	require.Positive(t, counts["river_job"])
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, strings.ToLower(text), "zebedee", table)
		require.Equal(t, strings.Count(before[table], "Quentin"), strings.Count(text, "Quentin"), "%s of another user",
			table)
	}
	for table, text := range before {
		require.Equal(t, strings.Contains(text, "Zebedee"), counts[table] > 0, "%s: %d", table, counts[table])
	}

	again, err := b.client.EraseUser(t.Context(), "Zebedee")
	require.NoError(t, err)
	require.Empty(t, again.Erased, "nothing is left")

	found, err := b.client.FindReceipt(t.Context(), "Zebedee", uuid.Nil, receipt.Proof)
	require.NoError(t, err)
	require.Equal(t, receipt, found)
	for _, wrong := range []struct {
		user, proof string
		memory      uuid.UUID
	}{{"Quentin", receipt.Proof, uuid.Nil}, {"Zebedee", again.Proof[:25] + "1", uuid.Nil},
		{"Zebedee", receipt.Proof, uuid.New()}} {
		_, err = b.client.FindReceipt(t.Context(), wrong.user, wrong.memory, wrong.proof)
		require.ErrorIs(t, err, oxbow.ErrNoReceipt)
	}
}

func TestEraseUserInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, "Zebedee")
	before := pgtest.Dump(t, b.pool)
	tx := begin(t, b.pool)
	_, err := b.client.WithTx(tx).EraseUser(t.Context(), "Zebedee")
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, before, pgtest.Dump(t, b.pool))
}

func TestEraseMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	forgotten, old, current := b.fill(t, "Zebedee")

	receipt, err := b.client.EraseMemory(ctx, "Quentin", current)
	require.NoError(t, err)
	require.Zero(t, receipt, "another user's")

	receipt, err = b.client.EraseMemory(ctx, "Zebedee", current)
	require.NoError(t, err)
	require.Contains(t, receipt.Erased, oxbow.Erased{Table: "memories", Rows: 1})
	found, err := b.client.FindReceipt(ctx, "Zebedee", current, receipt.Proof)
	require.NoError(t, err)
	require.Equal(t, receipt, found)
	requireErased(t, pgtest.Dump(t, b.pool), current, "Paris")
	m, err := b.client.Get(ctx, "Zebedee", old)
	require.NoError(t, err)
	require.Equal(t, uuid.Nil, m.SupersededBy)
	require.NotZero(t, m.ExpiredAt, "erasing the new version does not bring the old one back")

	receipt, err = b.client.EraseMemory(ctx, "Zebedee", forgotten)
	require.NoError(t, err)
	require.Positive(t, receipt.Rows())
	requireErased(t, pgtest.Dump(t, b.pool), forgotten, "was ill")
	_, err = b.client.Get(ctx, "Zebedee", forgotten)
	require.ErrorIs(t, err, oxbow.ErrNotFound)

	var kept uuid.UUID // the one that the other, equal fact was folded into
	require.NoError(t, b.pool.QueryRow(ctx,
		`select id from oxbow.memories where content = 'Zebedee repeats it.' and expired_at is null`).Scan(&kept))
	receipt, err = b.client.EraseMemory(ctx, "Zebedee", kept)
	require.NoError(t, err)
	require.Contains(t, receipt.Erased, oxbow.Erased{Table: "memories", Rows: 2})
	for table, text := range pgtest.Dump(t, b.pool) {
		require.NotContains(t, text, "repeats it", table)
	}
	pgtest.RequireRightStatistics(t, b.pool)
}

// requireErased checks that no table names or quotes a memory. The log and the answers of the API keep its id.
func requireErased(t *testing.T, dump map[string]string, id uuid.UUID, content string) {
	t.Helper()
	delete(dump, "api_log")
	delete(dump, "api_answers")
	for table, text := range dump {
		require.NotContains(t, text, id.String(), table)
		require.NotContains(t, text, content, table)
	}
}

// withoutMemories lists the tables of user data that name no memory.
var withoutMemories = []string{"api_keys", "document_files", "entities", "extractions", "feedback_signals", "import_parts",
	"instructions", "intentions", "key_values", "llm_calls", "memory_term_stats", "messages", "night_questions", "nights", "page_sessions",
	"sensory", "sensory_candidates", "skills", "topics", "trait_refusals", "users", "vector_slots"}

// Each memory is erased in a transaction of its own. Then nothing names or quotes it in any table that can.
func TestEraseEachMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	b.fill(t, "Zebedee")
	_, err := b.pool.Exec(ctx, fillIdle)
	require.NoError(t, err)
	rows, err := b.pool.Query(ctx, `select id, content from oxbow.memories`)
	require.NoError(t, err)
	contents := map[uuid.UUID]string{}
	var id uuid.UUID
	var content string
	_, err = pgx.ForEachRow(rows, []any{&id, &content}, func() error {
		contents[id] = content
		return nil
	})
	require.NoError(t, err)
	for table, text := range pgtest.Dump(t, b.pool) {
		if strings.Contains(text, "Zebedee") {
			named := slices.ContainsFunc(slices.Collect(maps.Keys(contents)),
				func(id uuid.UUID) bool { return strings.Contains(text, id.String()) })
			require.Equal(t, !slices.Contains(withoutMemories, table), named,
				"the test must name a memory in %s, unless it names none", table)
		}
	}
	for id, content := range contents {
		tx := begin(t, b.pool)
		_, err = b.client.WithTx(tx).EraseMemory(ctx, "Zebedee", id)
		require.NoError(t, err)
		if content == "Zebedee repeats it." { // the other one stays
			content = id.String()
		}
		dump := pgtest.Dump(t, tx)
		delete(dump, "open_erasures") // it is not committed
		requireErased(t, dump, id, content)
		require.NoError(t, tx.Rollback(ctx))
	}
}

// Erasing a memory removes its id from a job and keeps the job's other memories.
func TestEraseMemoryFromJobs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids, err := b.client.RememberMany(t.Context(), []oxbow.NewMemory{
		{UserID: "ann", Content: "one"}, {UserID: "ann", Content: "two"}, {UserID: "ann", Content: "three"}})
	require.NoError(t, err)
	for i, left := range []int{2, 1} {
		_, err = b.client.EraseMemory(t.Context(), "ann", ids[i])
		require.NoError(t, err)
		require.Equal(t, left, b.count(t, `select cardinality(string_to_array(args ->> 'ids', ','))
			from oxbow.river_job`))
		require.Equal(t, 0, b.count(t, `select count(*) from oxbow.river_job where strpos(args::text, $1) > 0`,
			ids[i].String()))
	}
	b.work(t)
	require.Equal(t, []string{"three"}, recall(t, b.client, oxbow.Query{Text: "three"}))
	_, err = b.client.EraseMemory(t.Context(), "ann", ids[2])
	require.NoError(t, err)
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.river_job where kind = 'embed'`))
}

// Users are erased while a worker embeds their memories and folds their repeated facts. None of it reappears.
func TestEraseWhileEmbedding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	const users = 12
	var memories []oxbow.NewMemory
	for u := range users {
		for i := range 300 {
			memories = append(memories, oxbow.NewMemory{UserID: fmt.Sprintf("user %d", u),
				Content: fmt.Sprintf("They said %d.", i/2)})
		}
	}
	_, err := b.client.RememberMany(ctx, memories)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		for u := range users - 1 {
			if _, err := b.client.EraseUser(ctx, fmt.Sprintf("user %d", u)); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	b.work(t)
	require.NoError(t, <-done)
	b.work(t)
	for u := range users - 1 {
		finished, err := b.client.FinishErasures(ctx, fmt.Sprintf("user %d", u))
		require.NoError(t, err)
		require.True(t, finished)
	}
	last := fmt.Sprintf("user %d", users-1)
	for table, text := range pgtest.Dump(t, b.pool) {
		require.Equal(t, strings.Count(text, `"user_id": "user`), strings.Count(text, `"user_id": "`+last+`"`), table)
	}
	require.Equal(t, 150, b.count(t, `select count(*) from oxbow.memories_fact where user_id = $1
		and expired_at is null`,
		last))
	pgtest.RequireRightStatistics(t, b.pool)
}

// A job that folds repeated facts locks the row of the statistics and waits for a memory, while erasure
// locks the memory and waits for the statistics. PostgreSQL aborts one of them; erasure then retries.
func TestEraseAfterDeadlock(t *testing.T) {
	t.Parallel()
	for name, erase := range map[string]func(c *oxbow.Client, id uuid.UUID) error{
		"user": func(c *oxbow.Client, _ uuid.UUID) error {
			_, err := c.EraseUser(t.Context(), "ann")
			return err
		},
		"memory": func(c *oxbow.Client, id uuid.UUID) error {
			_, err := c.EraseMemory(t.Context(), "ann", id)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ctx := t.Context()
			id := b.remember(t, oxbow.NewMemory{})
			b.work(t)
			folding := begin(t, b.pool)
			_, err := folding.Exec(ctx, `set local deadlock_timeout = '10min'`) // so that erasure detects the deadlock
			require.NoError(t, err)
			_, err = folding.Exec(ctx, `select from oxbow.memory_term_stats where user_id = 'ann' for update`)
			require.NoError(t, err)

			erasing := pgtest.Open(t, b.dsn, "", "deadlock_timeout", "10s", "application_name", "erasing")
			erased := make(chan error, 1)
			go func() { erased <- erase(newClient(t, erasing), id) }()
			require.Eventually(t, func() bool {
				return b.count(t, `select count(*) from pg_stat_activity where application_name = 'erasing'
					and wait_event_type = 'Lock'`) == 1
			}, 2*time.Minute, time.Millisecond)
			_, err = folding.Exec(ctx, `update oxbow.memories set strength = 2 where user_id = 'ann' and id = $1`, id)
			require.NoError(t, err, "erasure gave way")
			require.NoError(t, folding.Commit(ctx))
			require.NoError(t, <-erased)
			require.Equal(t, 0, b.count(t, `select count(*) from oxbow.memories`))
		})
	}
}

// An extraction that waits for a memory does not keep an erasure of another one waiting.
func TestEraseWhileExtracting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := []uuid.UUID{{15: 1}, {15: 2}}
	for i, id := range ids {
		b.remember(t, oxbow.NewMemory{ID: id, Content: fmt.Sprintf("Ann has %d cats.", i)})
	}
	b.work(t)
	reading := begin(t, b.pool)
	_, err := reading.Exec(ctx, `select from oxbow.memories where id = $1 for no key update`, ids[0])
	require.NoError(t, err)

	extracting := pgtest.Open(t, b.dsn, "", "application_name", "extracting")
	extracted := make(chan error, 1)
	go func() {
		_, err := extracting.Exec(ctx, `select oxbow.write_extraction('ann', 's', 'me', '{}', json_agg(json_build_object(
			'id', gen_random_uuid(), 'type', 'fact', 'at', now(), 'operation', 'NOOP', 'target', i,
			'sources', array[gen_random_uuid()])), '{}', false) from unnest($1::uuid[]) i`, ids)
		extracted <- err
	}()
	require.Eventually(t, func() bool {
		return b.count(t, `select count(*) from pg_stat_activity where application_name = 'extracting'
			and wait_event_type = 'Lock'`) == 1
	}, 2*time.Minute, time.Millisecond)
	_, err = newClient(t, pgtest.Open(t, b.dsn, "", "lock_timeout", "10s")).EraseMemory(ctx, "ann", ids[1])
	require.NoError(t, err)
	require.NoError(t, reading.Rollback(ctx))
	require.ErrorContains(t, <-extracted, "foreign key", "the job decides again")
}
