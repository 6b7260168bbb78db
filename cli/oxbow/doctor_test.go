package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/doctor"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// doctor returns the findings about one subject, and the result of the command.
func (d on) doctor(about string, flags ...string) (found []doctor.Finding, r result) {
	d.t.Helper()
	r = d.run(append([]string{"doctor", "--json", "--timeout=1m"}, flags...)...)
	for _, f := range decoded[diagnosis](d.t, r.out).Findings {
		if f.About == about {
			found = append(found, f)
		}
	}
	require.NotEmpty(d.t, found, "%s in %s", about, r.out)
	return found, r
}

// finds checks that a finding of the given level contains the text.
func (d on) finds(about string, level doctor.Level, says string, flags ...string) {
	d.t.Helper()
	found, r := d.doctor(about, flags...)
	for _, f := range found {
		if f.Level == level && strings.Contains(f.What, says) {
			require.NotContains(d.t, []string{f.Why, f.Do}, "", "why it matters, and what to do: %s", f.What)
			if level == doctor.LevelError || level == doctor.LevelWarning {
				require.Equal(d.t, exitFailed, r.code)
			}
			return
		}
	}
	require.Fail(d.t, "not found", "%s %s %q in %+v", about, level, says, found)
}

// fine checks that each subject has only a finding that it is well.
func (d on) fine(abouts ...string) {
	d.t.Helper()
	for _, about := range abouts {
		found, _ := d.doctor(about)
		require.Len(d.t, found, 1, "%+v", found)
		require.Equal(d.t, doctor.LevelOK, found[0].Level, "%+v", found[0])
	}
}

func TestDoctorOfHealthyDatabase(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan result, 1)
	go func() { ended <- cliContext(ctx, "work", "--database-url", pgtest.As(t, d.dsn, "worker")) }()
	require.Eventually(t, func() bool {
		return d.number(`select count(*) from oxbow.river_job where kind = 'sweep' and state = 'completed'`) > 0
	}, 2*time.Minute, 50*time.Millisecond)
	d.fine("schema", "server", "rights", "indexes", "tables", "model", "workers", "periodic jobs", "queue", "backlog",
		"traits", "secrets")
	d.exec(`with m as (insert into oxbow.memories (user_id, content, sensitivity)
		  select 'ann', 'a diary ' || n, 2 from generate_series(1, 3) n returning user_id, memory_type, id, content)
		insert into oxbow.memory_history (user_id, memory_type, memory_id, event, reason)
		select user_id, memory_type, id, 'MARK', 'contains a secret: card' ||
		       case content when 'a diary 2' then ', credential' else '' end from m where content <> 'a diary 3'`)
	text := d.run("doctor").out
	require.Regexp(t, `(?m)^ok +workers +1 worker is running, one is the leader$`, text)
	require.Regexp(t, `(?m)^ok +secrets +3 memories \(card 2, credential 1\) and 0 messages of level 2`, text)
	require.Regexp(t, `(?m)^ok +indexes +all \d\d+ indexes exist and are valid$`, text)
	stop()
	require.Zero(t, (<-ended).code)
	d.exec(`delete from oxbow.river_leader`)
	d.finds("workers", doctor.LevelWarning, "no worker is running")
	d.exec(threeMemories)
	d.finds("workers", doctor.LevelError, "no worker is running, and jobs are due")
}

// Each case damages a healthy database in one way that doctor must find.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql         string
		about, says string
		level       doctor.Level
	}{
		"index gone": {`drop index oxbow.messages_unextracted_idx`, "indexes", "messages_unextracted_idx on messages",
			doctor.LevelError},
		"key gone": {`alter table oxbow.activity drop constraint activity_pkey`, "indexes",
			"activity_pkey on activity", doctor.LevelError},
		"index invalid": {`update pg_index set indisvalid = false
			where indexrelid = 'oxbow.memory_links_to_idx'::regclass`, "indexes", "memory_links_to_idx",
			doctor.LevelError},
		"index too much": {`create index mine on oxbow.messages (role)`, "indexes", "never been used: mine on messages",
			doctor.LevelAdvice},
		"policy off": {`alter table oxbow.messages disable row level security`, "rights",
			"row-level security is off on messages", doctor.LevelError},
		"policy forced": {`alter table oxbow.messages force row level security`, "rights", "forced on messages",
			doctor.LevelWarning},
		"policy gone": {`drop policy app_select on oxbow.sessions; drop policy app_insert on oxbow.sessions;
			drop policy app_update on oxbow.sessions; drop policy app_delete on oxbow.sessions`,
			"rights", "oxbow_app has no policy on sessions", doctor.LevelError},
		"right gone": {`revoke insert on oxbow.river_job from oxbow_worker`, "rights",
			"oxbow_worker lacks rights on river_job", doctor.LevelError},
		"right of the server gone": {`revoke insert on oxbow.api_log from oxbow_operator`, "rights",
			"oxbow_operator lacks rights on api_log", doctor.LevelError},
		"schema of operators": {`grant create on schema public to public`, "rights",
			"oxbow_app may create objects in the schema of pgvector, public", doctor.LevelError},
		"a table's vacuum": {`alter table oxbow.river_job set (autovacuum_enabled = false)`, "tables",
			"autovacuum is off for river_job", doctor.LevelError},
		"code changed": {`update oxbow.installed_code set checksum = 'x' where name like '%recall%'`, "schema",
			"functions in the database differ from this version of oxbow", doctor.LevelError},
		"older schema": {`update oxbow.schema_version set version = 1`, "schema", "run oxbow migrate up",
			doctor.LevelError},
		"given up": {`insert into oxbow.river_job (kind, queue, args, state, attempt, finalized_at, errors)
			values ('embed', 'embed', '{}', 'discarded', 25, now(), array['{"error": "磁盘已满"}']::jsonb[])`,
			"queue", "1 job of kind embed given up: 磁盘已满", doctor.LevelWarning},
		"periodic": {`insert into oxbow.river_job (kind, queue, args, metadata, state, attempt, max_attempts,
			finalized_at,
			errors)
			values ('settle', 'default', '{}', '{"periodic": true}', 'discarded', 1, 1, now(),
			array['{"error": "磁盘已满"}']::jsonb[]);
			insert into oxbow.job_schedules (kind, last_run_at, last_outcome)
			values ('settle', now() - interval '5 hours', 'discarded')`,
			"periodic jobs", "the last run of settle 5.0 h ago: discarded: 磁盘已满", doctor.LevelWarning},
		"periodic late": {`insert into oxbow.river_leader (elected_at, expires_at, leader_id)
			values (now(), now() + interval '1 hour', 'x');
			insert into oxbow.job_schedules (kind, next_run_at) values ('sweep', now() - interval '30 minutes')`,
			"periodic jobs", "sweep should have run 30 min ago", doctor.LevelWarning},
		"schedule": {`insert into oxbow.job_schedules (kind, schedule) values ('embed', '5 minutes')`, "periodic jobs",
			"a schedule for embed, which is not a periodic kind", doctor.LevelAdvice},
		"retried": {`insert into oxbow.river_job (kind, queue, args, state, attempt, errors)
			values ('reflect', 'reflect', '{}', 'retryable', 2, array['{"error": "no sense"}']::jsonb[])`,
			"queue", "1 job of kind reflect failed and will be retried: no sense", doctor.LevelAdvice},
		"stuck": {`insert into oxbow.river_job (kind, queue, args, state, attempt, attempted_at)
			values ('embed', 'embed', '{}', 'running', 1, now() - interval '1 hour')`,
			"queue", "running for up to 60 min", doctor.LevelWarning},
		"late": {`insert into oxbow.river_job (kind, queue, args, scheduled_at)
			values ('extract', 'extract', '{}', now() - interval '1 hour')`,
			"queue", "the oldest job of kind extract has been due for 60 min; 1 job waits", doctor.LevelWarning},
		"not embedded": {`insert into oxbow.river_job (kind, queue, args, state, scheduled_at, created_at)
			values ('embed', 'embed', '{}', 'scheduled', now() + interval '1 minute', now() - interval '1 hour')`,
			"backlog", "memories have waited to be embedded for 60 min", doctor.LevelWarning},
		"not extracted": {`insert into oxbow.messages (user_id, session_id, content, extract_failures)
			values ('ann', 's', '你好', 3)`,
			"backlog", "1 message could not be extracted", doctor.LevelAdvice},
		"not reflected": {`insert into oxbow.memories (user_id, content) values ('ann', 'tea');
			insert into oxbow.reflection_inbox (user_id, memory_type, memory_id, importance, valid_at, added_at)
			select user_id, memory_type, id, 0.5, now(), now() - interval '5 days' from oxbow.memories`,
			"backlog", "memories have waited to be reflected on for 5.0 days (1 in all)", doctor.LevelAdvice},
		"secrets": {`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "store"}')`,
			"secrets", "secrets in texts are not looked for", doctor.LevelAdvice},
		"inconsistent": {`insert into oxbow.settings (key, value)
			values ('consistency', '{"at": "2026-01-01T00:00:00Z", "users": 1, "problems": 2, "after": ""}')`,
			"traits", "the last check found 2 contradictions in traits or memories", doctor.LevelError},
		"other model": {`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}'
			where key = 'embedding'`,
			"model",
			"the vectors are of openai:m with 1024 dimensions, but local-v1 with 1024 dimensions is configured here",
			doctor.LevelWarning},
		"settings": {`do $$ begin execute format('alter database %I set idle_in_transaction_session_timeout = 0',
			current_database());
			execute format('alter database %I set default_transaction_isolation = serializable',
			current_database()); end $$`, "settings", "transactions are serializable by default", doctor.LevelWarning},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := onDatabase(t)
			d.exec(c.sql)
			d.finds(c.about, c.level, c.says)
		})
	}
}

// The tables of an unfinished reembed are Oxbow's.
func TestDoctorDuringReembed(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`create table oxbow.memory_vectors_next (like oxbow.memory_vectors including indexes)`)
	d.fine("indexes")
}

// A failed periodic job is no longer reported once a later one has succeeded, and doctor does not
// suggest retrying it.
func TestDoctorForgivesPeriodicJobs(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	d.exec(`insert into oxbow.river_job (kind, queue, args, metadata, state, attempt, max_attempts, finalized_at)
		values ('settle', 'default', '{}', '{"periodic": true}', 'discarded', 1, 1, now() - interval '10 minutes');
		insert into oxbow.job_schedules (kind, last_run_at, last_outcome) values ('settle', now(), 'completed')`)
	d.fine("queue", "periodic jobs")
}

func TestDoctorFindsOpenTransactions(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	conn, err := pgx.Connect(t.Context(), d.dsn+"&application_name=forgetful")
	require.NoError(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), `begin; select 1`)
	require.NoError(t, err)
	d.fine("transactions") // the transaction is not old
	time.Sleep(20 * time.Millisecond)
	said := ""
	for _, f := range doctor.Examine(t.Context(), d.pool(), doctor.Expected{OldTransaction: 10 * time.Millisecond}) {
		if f.About == "transactions" {
			said += f.What
		}
	}
	require.Contains(t, said, "(forgetful, process ")
	require.Contains(t, said, "idle in transaction) has been open for ")
}

// doctor reports what the worker's role may see, and names what it may not see.
func TestDoctorAsWorker(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	worker := on{t, d.dsn + "&options=-c%20role%3Doxbow_worker"}
	worker.fine("schema", "server", "rights", "indexes", "tables", "model", "queue", "backlog", "traits", "secrets")
	app := on{t, d.dsn + "&options=-c%20role%3Doxbow_app"}
	r := app.run("doctor")
	require.Equal(t, exitFailed, r.code)
	require.Contains(t, r.err, "\"oxbow doctor\" requires the owner of the schema or a member of oxbow_worker")
}

func TestDoctorTimeout(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	r := d.run("doctor", "--json", "--timeout", "1ms")
	require.Contains(t, decoded[diagnosis](t, r.out).Findings,
		doctor.Finding{Level: doctor.LevelUnseen, About: "rights", What: "this part could not be examined in time",
			Why: "A query took longer than --timeout, 1ms.", Do: "Run oxbow doctor --timeout 10ms."})
	require.NotContains(t, r.out, "do not exist", "a part that was not read is not judged")
	for _, timeout := range []string{"0s", "1ns", "-1s", "61m", "1000h"} {
		r = d.run("doctor", "--timeout", timeout)
		require.Equal(t, exitUsage, r.code)
		require.Contains(t, r.err, "expected 1ms to 1h")
	}
}

func TestDoctorBeforeMigration(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Empty(t)}
	d.finds("schema", doctor.LevelError, "run oxbow migrate up")
}
