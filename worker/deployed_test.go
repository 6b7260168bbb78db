package worker

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/consistency"
	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/migrations"
)

// deploy makes a bundle of an empty database, with the logins of a deployment. A superuser runs before first.
func deploy(t *testing.T, dsn, before string) *bundle {
	t.Helper()
	pool := pgtest.Open(t, dsn, "")
	b := &bundle{T: t, dsn: dsn, pool: pool, cfg: Config{
		Concurrency: 2, Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)), fast: true,
	}}
	b.exec(before)
	require.NoError(t, pgtest.Deploy(t.Context(), dsn))
	pool.Reset() // the types of the extension
	b.cfg.DatabaseURL = pgtest.As(t, dsn, "worker")
	return b
}

// everyKind works a job of each kind, after a user has said and done many things, and requires that none fails.
func (b *bundle) everyKind() {
	b.Helper()
	b.exec(`insert into oxbow.memories (user_id, memory_type, content) select 'ann', 'fact', c from unnest(array[
		'Ann lives in Delft.', 'Ann lives in Delft', 'Ann lives in Leiden.', 'Ann''s brother Ben works at Philips.',
		'Ann uses the password hunter2.', 'Ann plays the cello in an orchestra.']) c`)
	b.insert("ann", numbered(12, "Ann ran in the park with Ben, walk")...)
	b.exec(`insert into oxbow.messages (user_id, session_id, role, content) select 'ann', 's', 'user', c from unnest(array[
		'I moved to Leiden.', 'Please always answer in Dutch.', 'Remind me tomorrow to call Ben.']) c`)
	b.exec(`select oxbow.end_session('ann', 's')`)
	b.exec(`insert into oxbow.sensory (user_id, content) values ('ann', 'It rains.')`)
	b.exec(`select oxbow.touch('ann', array_agg(id)) from oxbow.memories where user_id = 'ann'`)
	b.exec(`insert into oxbow.settings (key, value) values ('patterns', '{"enabled": true}')
		on conflict (key) do update set value = excluded.value`)
	b.exec(`select oxbow.set_policy('archive_delete_days', 30), oxbow.set_policy('molt_mode', 1)`)
	require.NoError(b, b.drain())
	b.exec(`update oxbow.memories set created_at = created_at - interval '2 years', valid_at = valid_at - interval '2 years',
		last_accessed_at = null where user_id = 'ann' and memory_type = 'episodic'`)
	b.exec(`update oxbow.memories set forgotten_at = now() - interval '40 days' where id = (select id from oxbow.memories
		where user_id = 'ann' and memory_type = 'fact' and forgotten_at is null and expired_at is null limit 1)`)
	var kinds []string
	for _, kind := range jobs.Kinds() {
		kinds = append(kinds, kind.Name)
		b.exec(`insert into oxbow.river_job (kind, queue, max_attempts, args)
			select $1, $2, 1, jsonb_build_object('user_id', 'ann', 'session_id', 's', 'ids', string_agg(id::text, ','))
			  from oxbow.memories where user_id = 'ann'`, kind.Name, kind.Queue)
	}
	b.work()
	require.Empty(b, get[string](b, `select coalesce(string_agg(concat_ws(' ', kind, state, args, errors[cardinality(errors)] ->> 'error',
		scheduled_at - now()), E'\n'), '') from oxbow.river_job where state <> 'completed'`))
	for _, kind := range kinds {
		require.Positive(b, b.count(`oxbow.river_job where kind = $1`, kind), kind)
	}
}

// The logins need no right on the schema of pgvector besides those that migrate grants.
func TestEveryKindRunsWithVectorInAnotherSchema(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	b := deploy(t, dsn, `create schema ext; create extension vector schema ext; create extension btree_gin schema ext;
		do $$ begin
		  if to_regrole('oxbow') is null then create role oxbow login; end if;
		  grant usage on schema ext to oxbow with grant option;
		end $$`)
	b.everyKind()
	b.exec(`select oxbow.erase_user('ann')`)
}

// A publication of all tables refuses to change or delete rows of a table without a key.
func TestPublicationOfAllTables(t *testing.T) {
	t.Parallel()
	server, err := localpg.Start(t.Context(), localpg.Config{
		DataDir: filepath.Join(pgtest.Dir(t), "pg"), Database: "oxbow",
		Settings: map[string]string{"wal_level": "logical", "fsync": "off", "shared_buffers": "64MB", "max_connections": "60"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.Background())) })
	dsn := server.DSN("oxbow")
	b := deploy(t, dsn, "create publication everything for all tables")
	b.everyKind()
	b.exec(`select oxbow.erase_user('ann')`)
	require.Zero(t, b.count(`oxbow.memory_sources`))

	// Every table has a key, also those of River and of tern.
	require.Equal(t, 0, b.count(`pg_class c where c.relnamespace = 'oxbow'::regnamespace and c.relkind in ('r', 'p')
		and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`))

	// A database of an earlier version is migrated.
	owner := pgtest.As(t, dsn, "oxbow")
	require.NoError(t, migrations.Down(t.Context(), owner, 23, migrations.Options{}))
	b.exec(`alter table oxbow.schema_version drop constraint schema_version_pkey`)
	require.NoError(t, migrations.Up(t.Context(), owner, migrations.Options{}))
	require.NoError(t, b.drain())
}

// What changes with the years needs no more rights: a memory whose weight falls is summarized, archived and forgotten,
// with the summary of its conversation.
func TestLevelsWithALogin(t *testing.T) {
	b := setup(t)
	worker := pgtest.Open(t, b.cfg.DatabaseURL, "")
	b.exec(`select oxbow.set_policy('archive_delete_days', 30)`)
	b.exec(`insert into oxbow.memories (user_id, memory_type, content, session_id) select 'ann', 'episodic', c, 's'
		from unnest($1::text[]) c`, []string{
		strings.Repeat("Ann walked along the canal in the rain and bought bread. ", 20), strings.Repeat("canals and café ", 60)})
	b.exec(`with summary as (
		  insert into oxbow.memories (user_id, memory_type, content, session_id, source)
		  values ('ann', 'episodic', 'Ann walked.', 's', 'summary') returning id)
		insert into oxbow.memory_sources (user_id, memory_type, memory_id, session_id) select 'ann', 'episodic', id, 's' from summary`)
	require.NoError(t, b.drain())
	levels := map[string]bool{}
	forgotten := 0
	for days := 0; forgotten == 0 && days < 3650; days += 10 {
		var now []string
		_, err := worker.Exec(t.Context(), `select oxbow.walk_levels($1, 1000)`, time.Now().AddDate(0, 0, days))
		require.NoError(t, err)
		require.NoError(t, worker.QueryRow(t.Context(), `select forgotten from oxbow.settle_levels($1, 1000)`,
			time.Now().AddDate(0, 0, days)).Scan(&forgotten))
		require.NoError(t, worker.QueryRow(t.Context(), `select array_agg(level) from oxbow.memories`).Scan(&now))
		for _, level := range now {
			levels[level] = true
		}
	}
	require.Positive(t, forgotten)
	require.Contains(t, levels, "summary")
	require.Contains(t, levels, "archive")
}

// "oxbow check --repair" needs no more rights either.
func TestRepairWithALogin(t *testing.T) {
	b := setup(t)
	worker := pgtest.Open(t, b.cfg.DatabaseURL, "")
	at := traittest.Day(1, 10)
	id := traittest.Trait{UserID: "ann", Events: []traittest.Event{
		traittest.Created(at, 0.4, traittest.Evidence{Content: "Rowed at dawn.", At: at, Session: "s1"}),
		traittest.Contradicted(at.AddDate(0, 0, 5), 0.2, traittest.Evidence{Content: "Slept until noon.",
			At: at.AddDate(0, 0, 4), Session: "s2", Against: true}),
	}}.Insert(t, b.pool)
	b.exec(`update oxbow.memories_trait set trait_confidence = 0.9 where id = $1`, id)
	report, err := consistency.Check(t.Context(), worker, consistency.Options{Repair: true})
	require.NoError(t, err)
	require.Positive(t, report.Problems)
	report, err = consistency.Check(t.Context(), worker, consistency.Options{})
	require.NoError(t, err)
	require.Zero(t, report.Problems)
	_, err = worker.Exec(t.Context(), `delete from oxbow.memories where user_id = 'ann' and memory_type <> 'trait'`)
	require.NoError(t, err)
	require.Zero(t, b.count(`oxbow.memories_trait where id = $1`, id), "a trait without evidence is erased")
}

// Steps that other tests do not reach with a worker's login.
func TestRareStepsWithALogin(t *testing.T) {
	b := setup(t)
	worker := pgtest.Open(t, b.cfg.DatabaseURL, "")
	ids := b.insert("ann", "Ann drinks tea.", "Ann drinks tea at four.", "Ann has a kettle.", "Ann has a blue kettle.")
	require.NoError(t, b.drain())
	b.exec(`select oxbow.merge('ann', $1)`, ids[:2])
	b.exec(`insert into oxbow.memory_links (user_id, from_type, from_id, to_type, to_id, relation)
		values ('ann', 'episodic', $1, 'episodic', $2, 'related_to') on conflict do nothing`, ids[2], ids[3])
	for _, call := range []string{
		`forget_memory('ann', ids[1], 'auto', 'test', 'no reason')`, // leaves the merged memory
		`use_links(array['ann', 'ann'], ids[3:4], array[now(), now()])`,
		`recall_debug('ann', 'kettle')`,
		`begin_earlier('ann', ids[1], now())`,
		`term_weights('ann', array['kettl'])`,
		`terms_shared(array['kettl'], array['tea'])`,
		`trait_reinforcement(array['A'], now())`,
	} {
		_, err := worker.Exec(t.Context(), `select oxbow.`+call+` from (select $1::uuid[] as ids) i`, ids)
		require.NoError(t, err, call)
	}
}
