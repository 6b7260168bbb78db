package kill

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func (l *load) restoreDump(transactions []int32) {
	fresh := l.cluster("fresh", map[string]string{"fsync": "off"})
	dump := filepath.Join(l.root, "app.dump")

	// Without the roles, policies and grants are missing, and migrate up creates them.
	l.exec(fresh.DSN("postgres"), `create database early`)
	early := fresh.DSN("early")
	out, err := l.Command(l.Context(), "pg_restore", "--no-owner", "--dbname="+early, dump).CombinedOutput()
	require.Error(l, err)
	require.Contains(l, string(out), `role "oxbow_app" does not exist`)
	out, err = l.withProvider(early, "work", "--until-idle").CombinedOutput()
	require.Error(l, err)
	require.Contains(l, string(out), "run oxbow migrate up")
	l.exec(fresh.DSN("postgres"),
		`create role oxbow_app; create role oxbow_worker; create role `+appName+` login in role oxbow_app`)
	out, err = l.withProvider(early, "work", "--until-idle").CombinedOutput()
	require.Error(l, err)
	require.Contains(l, string(out),
		"privileges of oxbow_app and oxbow_worker in schema oxbow of database \"early\" are missing")
	l.oxbow(early, "migrate", "up")
	l.isolated(early)

	l.run(l.Command(l.Context(), "psql", "--quiet", "--dbname="+fresh.DSN("postgres"),
		"--file="+filepath.Join(l.root, "globals.sql")))
	l.run(l.Command(l.Context(), "pg_restore", "--exit-on-error", "--create", "--jobs=2",
		"--dbname="+fresh.DSN("postgres"), dump))
	l.run(l.Command(l.Context(), "vacuumdb", "--quiet", "--analyze-only", "--dbname="+fresh.DSN(appName)))
	l.works(fresh.DSN(appName), transactions)
	l.isolated(fresh.DSN(appName))
	functions := `pg_proc p where p.pronamespace = 'oxbow'::regnamespace
		and has_function_privilege('public', p.oid, 'execute')`
	require.Equal(l, l.count(fresh.DSN(appName), functions), l.count(early, functions))
}

// recover recovers a copy to the restore point. It contains everything acknowledged before, and nothing whose commit
// began later.
func (l *load) recover(point uint64, written []ack) {
	signal := filepath.Join(l.dir("recovered"), "recovery.signal")
	l.run(exec.CommandContext(l.Context(), "mv", filepath.Join(l.dir("recovered"), "standby.signal"), signal))
	dsn := l.start("recovered", "primary_conninfo=", "restore_command=cp "+l.root+"/%f %p",
		"recovery_target_name=before the accident", "recovery_target_action=promote")
	l.promoted(dsn)

	conn := l.connect(dsn)
	defer conn.Close(context.Background())
	there := numbers(l.T, conn)
	has := map[int32]bool{}
	for _, n := range there {
		has[n] = true
	}
	before, after := 0, 0
	for _, a := range written {
		switch {
		case a.after < point:
			require.True(l, has[int32(a.n)], "transaction %d committed before the point", a.n)
			before++
		case a.before > point:
			require.False(l, has[int32(a.n)], "transaction %d committed after the point", a.n)
			after++
		}
	}
	require.Greater(l, before, 50)
	require.Greater(l, after, 15)
	l.works(dsn, there)
	l.isolated(dsn)
}

// promote promotes the standby, after recalling memories on it.
func (l *load) promote(dsn string, written []ack) {
	require.Equal(l, 1, l.count(dsn, `(select where pg_is_in_recovery()) r`))
	require.Positive(l, l.count(dsn, `oxbow.recall('person 1', 'climbing')`))
	require.Positive(l, l.count(dsn, `(select where oxbow.context('person 1', '打羽毛球') like '%打羽毛球%') c`))
	out := l.run(l.withProvider(dsn, "recall", "person 1", "climbing"))
	require.Contains(l, out, "Went climbing")
	require.Contains(l, l.run(l.command(dsn, "top", "--once")), "no leader")
	for _, cmd := range []*exec.Cmd{l.withProvider(dsn, "work"), l.command(dsn, "remember", "person 1", "x")} {
		out, err := cmd.CombinedOutput()
		require.Error(l, err)
		require.Contains(l, string(out), "read-only replica")
	}

	l.run(l.Command(l.Context(), "pg_ctl", "--pgdata="+l.dir("standby"), "--wait", "promote"))
	l.promoted(dsn)
	conn := l.connect(dsn)
	defer conn.Close(context.Background())
	there := numbers(l.T, conn)
	require.Greater(l, len(there), len(written)/2)
	l.works(dsn, there)
	l.isolated(dsn)
}

func (l *load) promoted(dsn string) {
	l.Helper()
	require.Eventually(l, func() bool { return l.count(dsn, `(select where not pg_is_in_recovery()) r`) > 0 }, patience,
		20*time.Millisecond)
}

// works runs a worker on a restored database until no work is left, and checks that everything was done once.
func (l *load) works(dsn string, transactions []int32) {
	l.Helper()
	conn := l.connect(dsn)
	require.Equal(l, transactions, numbers(l.T, conn))
	require.NoError(l, conn.Close(l.Context()))
	l.none(dsn,
		`acks a where (select count(*) from oxbow.memories m where m.user_id = a.user_id and m.id = any(a.ids)) <> 2
		or not exists (select from oxbow.messages g where g.user_id = a.user_id and g.seq = a.n)`)
	require.Equal(l, len(transactions), l.count(dsn, `oxbow.messages`))
	require.Positive(l, l.count(dsn, busy), "jobs were running and had failed")
	newest := l.count(dsn, `generate_series(1, (select max(id) from oxbow.river_job))`)

	owner := as(dsn, keeper)
	l.oxbow(owner, "migrate", "up")
	// Restoring a real database takes longer than this test: pretend that an hour has passed.
	l.exec(owner, `update oxbow.river_job set attempted_at = attempted_at - interval '1 hour',
		scheduled_at = scheduled_at - interval '1 hour' where finalized_at is null;
		delete from oxbow.river_leader`)
	begun := time.Now()
	for {
		out, err := l.withProvider(as(dsn, clerk), "work", "--until-idle").CombinedOutput()
		if err == nil {
			break
		}
		// The job that was running has failed twice and waits for 16 seconds.
		require.Contains(l, string(out), "waiting for a retry")
		require.Less(l, time.Since(begun), patience)
		l.exec(owner, `update oxbow.river_job set scheduled_at = now() where state = 'retryable'`)
	}
	l.Logf("%d transactions were there, and what was left to do took %s", len(transactions),
		time.Since(begun).Round(time.Millisecond))
	l.done(owner, len(transactions))

	// The application continues to write.
	l.exec(as(dsn, appName), `insert into oxbow.memories (user_id, content)
		values ('zoe', 'Zoe keeps bees'), ('zoe', '佐伊住在汉堡')`)
	require.Equal(l, 1, l.count(dsn, fmt.Sprintf(`oxbow.river_job where args ->> 'user_id' = 'zoe' and id > %d`,
		newest)))
	l.run(l.withProvider(as(dsn, clerk), "work", "--until-idle"))
	require.Equal(l, 1, l.count(dsn, `oxbow.recall('zoe', 'bees', max_results => 1) where content = 'Zoe keeps bees'`))
	require.Equal(l, 1, l.count(dsn, `oxbow.recall('zoe', '住在哪里', max_results => 1) where content = '佐伊住在汉堡'`))
}

// done finds lost and repeated work.
func (l *load) done(dsn string, transactions int) {
	l.Helper()
	// Periodic jobs have one attempt, and the schedule enqueues them again.
	l.none(dsn, `oxbow.river_job where state not in ('completed', 'scheduled') and not (state = 'discarded'
		and metadata ? 'periodic')`)
	l.none(dsn, `oxbow.river_job where state = 'scheduled' and kind <> 'expire_trend'`)
	memories := `oxbow.memories m where m.memory_type <> 'trait'`
	l.none(dsn,
		memories+` and not exists (select from oxbow.memory_terms t
			where t.user_id = m.user_id and t.memory_id = m.id)`)
	l.none(dsn,
		memories+` and not exists (select from oxbow.memory_vectors v
			where v.user_id = m.user_id and v.memory_id = m.id)`)
	l.none(dsn, `(select from oxbow.memory_term_stats having sum(documents) <> (select count(*)
		from oxbow.memory_terms)) s`)
	l.none(dsn, memories+` and mention_count <> 1`)
	// Each message has one memory.
	l.none(dsn, `oxbow.messages g where g.extracted_at is null
		or (select array_agg((length(m.content) - length(replace(m.content, g.content, ''))) / length(g.content))
		from oxbow.memories m
		     where m.user_id = g.user_id and m.source = 'extraction' and strpos(m.content, g.content) > 0) is distinct
		     from '{1}'
		or (select count(*) from oxbow.memory_sources s where s.user_id = g.user_id and s.message_id = g.id) <> 1`)
	require.Equal(l, 2*transactions, l.count(dsn, memories+` and source is null`))
	// Each memory was reflected on once, or waits for reflection.
	l.none(dsn, `(select from oxbow.reflection_cycles having sum(memories_scanned) + (select count(*)
		from oxbow.reflection_inbox) <> (select count(*) from `+memories+` and source is distinct from 'abstract')) c`)
	require.Positive(l, l.count(dsn, `oxbow.trait_evidence`))
	l.oxbow(dsn, "check")
}

// isolated checks that a login of the application sees one user, and nobody until it sets one.
func (l *load) isolated(dsn string) {
	l.Helper()
	conn := l.connect(as(dsn, appName))
	defer conn.Close(context.Background())
	users := func() (n int) {
		require.NoError(l, conn.QueryRow(l.Context(), `select count(distinct user_id) from oxbow.memories`).Scan(&n))
		return n
	}
	require.Zero(l, users())
	_, err := conn.Exec(l.Context(), `select set_config('oxbow.user_id', 'person 1', false)`)
	require.NoError(l, err)
	require.Equal(l, 1, users())
	_, err = conn.Exec(l.Context(), `select * from oxbow.recall('person 2', 'climbing')`)
	require.ErrorContains(l, err, "person 2")
	_, err = conn.Exec(l.Context(), `select oxbow.write_state(null, null)`)
	require.Error(l, err)
}

func (l *load) none(dsn, sql string) {
	l.Helper()
	conn := l.connect(dsn)
	defer conn.Close(context.Background())
	rows, err := conn.Query(l.Context(), "select x::text from (select * from "+sql+") x limit 5")
	require.NoError(l, err)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(l, err, sql)
	require.Empty(l, found, sql)
}
