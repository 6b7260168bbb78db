package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/localpg"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// While applications write and two workers work, some jobs of them failing, a database is dumped,
// copied and recovered to a moment of its past, and a standby takes over when the server dies. Each
// of the four has exactly the transactions that it is to have, and a worker brings each to where
// nothing is left to do and nothing was done twice. This runs what docs/backup.md says.
func TestBackupsUnderLoad(t *testing.T) {
	t.Parallel()
	l := newLoad(t)
	l.begin()

	// A base backup, of which one copy is a standby at once, and another one is recovered at the end.
	l.run(l.Command(t.Context(), "pg_basebackup", "--dbname="+l.dsn("postgres", "replication"), "--checkpoint=fast",
		"--write-recovery-conf",
		"--pgdata="+l.dir("standby")))
	l.run(exec.CommandContext(t.Context(), "cp", "--archive", l.dir("standby"), l.dir("recovered")))
	standby := l.start("standby", "hot_standby=on")

	dumped := l.dump()
	l.write(30)
	point := l.restorePoint("before the accident")
	l.write(30)
	written := l.die()

	t.Run("dump", func(t *testing.T) { l.on(t).restoreDump(dumped) })
	t.Run("point in time", func(t *testing.T) { l.on(t).recover(point, written) })
	t.Run("standby", func(t *testing.T) { l.on(t).promote(standby, written) })
}

// load is a server with an archive of its log, an application that writes, and workers.
type load struct {
	*killing
	*localpg.Server
	root     string // of everything, open to the account that runs the servers
	provider *provider

	stop    context.CancelFunc
	writers sync.WaitGroup
	workers []*exec.Cmd
	mu      sync.Mutex
	acks    []ack
}

// ack is an acknowledged transaction, with positions in the log before and after its commit.
type ack struct {
	n             int
	before, after uint64
}

const (
	appName   = "app"    // database, and login in oxbow_app
	keeper    = "keeper" // the owner, no superuser
	clerk     = "clerk"  // login in oxbow_worker
	dimension = 16

	patience = 5 * time.Minute // with a machine that others use too
)

// provider is a slow server of embeddings. While it fails, every fifth answer is invalid.
type provider struct {
	url     string
	failing atomic.Bool
}

func newProvider(t *testing.T) *provider {
	p := &provider{}
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		time.Sleep(30 * time.Millisecond)
		type vector struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		data := []vector{}
		for i, text := range asked.Input {
			data = append(data, vector{i, embeddingtest.Vector(text, dimension)})
		}
		if requests.Add(1)%5 == 0 && p.failing.Load() {
			data = data[1:]
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data}) // the worker may have been killed
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func newLoad(t *testing.T) *load {
	root := pgtest.Dir(t)
	binary, err := program.Build(t.Context(), "failpoints")
	require.NoError(t, err)
	l := &load{killing: &killing{T: t, binary: binary}, root: root, provider: newProvider(t)}
	l.Server = l.cluster("source", map[string]string{
		"archive_mode": "on", "archive_command": "cp %p " + root + "/%f", "max_wal_senders": "4",
		"wal_level": "replica", "fsync": "off",
	})
	l.exec(l.dsn("postgres", "postgres"), `create role `+keeper+` login createrole`)
	l.exec(l.dsn("postgres", "postgres"), `create database `+appName+` owner `+keeper)
	l.exec(l.dsn("postgres", appName), `create extension vector; create extension btree_gin`)
	l.oxbow(l.dsn(keeper, appName), "migrate", "up")
	l.exec(l.dsn(keeper, appName), `
		create role `+appName+` login in role oxbow_app; create role `+clerk+` login in role oxbow_worker;
		create table acks (n integer primary key, user_id text not null, ids uuid[] not null);
		grant insert on acks to `+appName+`;
		update oxbow.settings set value = value || '{"quiet_seconds": 1}' where key = 'conversations'`)
	l.run(l.withProvider(l.dsn(keeper, appName), "reembed"))
	return l
}

// on returns the load for a subtest.
func (l *load) on(t *testing.T) *load {
	return &load{killing: &killing{T: t, binary: l.binary}, Server: l.Server, root: l.root, provider: l.provider}
}

func (l *load) cluster(name string, settings map[string]string) *localpg.Server {
	l.Helper()
	settings["shared_buffers"], settings["max_connections"] = "64MB", "60"
	s, err := localpg.Start(l.Context(), localpg.Config{DataDir: filepath.Join(l.root, name), Database: "oxbow",
		Settings: settings})
	require.NoError(l, err)
	l.Cleanup(func() { require.NoError(l, s.Stop(context.Background())) })
	return s
}

// dsn names a database of the source as a role.
func (l *load) dsn(role, database string) string { return as(l.DSN(database), role) }

func as(dsn, role string) string { return strings.Replace(dsn, "//postgres@", "//"+role+"@", 1) }

func (l *load) run(cmd *exec.Cmd) string {
	l.Helper()
	out, err := cmd.CombinedOutput()
	require.NoError(l, err, "%s: %s", strings.Join(cmd.Args, " "), out)
	return string(out)
}

// dir is where a copy of the server is or will be.
func (l *load) dir(name string) string { return filepath.Join(l.root, "copy-"+name) }

// begin starts writers and workers. Some answers of the provider are invalid while the source runs.
func (l *load) begin() {
	ctx, cancel := context.WithCancel(l.Context())
	l.stop = cancel
	l.Cleanup(cancel)
	for w := range 4 {
		l.writers.Go(func() { l.writeFor(ctx, w) })
	}
	l.provider.failing.Store(true)
	for range 2 {
		worker := l.withProvider(l.dsn(clerk, appName), "work")
		require.NoError(l, worker.Start())
		l.Cleanup(func() { _ = worker.Process.Kill() }) // it has ended, unless the test failed
		l.workers = append(l.workers, worker)
	}
	l.write(50) // enough for traits
}

func (l *load) withProvider(dsn string, args ...string) *exec.Cmd {
	return l.command(dsn, append(args, "--embedding-provider", "openai", "--embedding-model", "m",
		"--embedding-dimension", strconv.Itoa(dimension),
		"--embedding-url", l.provider.url)...)
}

// writeFor commits transactions of two memories, a message and a row of the application's own,
// until the server is gone.
func (l *load) writeFor(ctx context.Context, writer int) {
	conn, err := pgx.Connect(ctx, l.dsn(appName, appName))
	if err != nil {
		l.Errorf("writer %d: %v", writer, err)
		return
	}
	defer conn.Close(context.Background())
	for i := 0; ctx.Err() == nil; i++ {
		a := ack{n: i*4 + writer}
		a.before, a.after, err = l.writeOne(ctx, conn, a.n)
		if err != nil {
			return // the transaction may be committed or not
		}
		l.mu.Lock()
		l.acks = append(l.acks, a)
		l.mu.Unlock()
		time.Sleep(200 * time.Millisecond) // as an application does; what it writes has to be worked off, three times
	}
}

func (l *load) writeOne(ctx context.Context, conn *pgx.Conn, n int) (before, after uint64, err error) {
	const position = `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn`
	user, ids := fmt.Sprintf("person %d", n%4), []uuid.UUID{uuid.New(), uuid.New()}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, s := range []struct {
			sql  string
			args []any
		}{
			{`insert into acks values ($1, $2, $3)`, []any{n, user, ids}},
			{`insert into oxbow.memories (user_id, memory_type, id, content, session_id, valid_at)
				values ($1, 'episodic', $2, $3, $4, $5), ($1, 'fact', $6, $7, $4, $5)`,
				[]any{user, ids[0], fmt.Sprintf("Went climbing at the hall (%d).", n), fmt.Sprintf("s%d", n/40),
					time.Now().AddDate(0, 0, n/4-400),
					ids[1], fmt.Sprintf("第%d次去打羽毛球了", n)}},
			{`insert into oxbow.messages (user_id, session_id, seq, role, content, created_at)
				values ($1, $2, $3, 'user', $4, now() - interval '1 day')`,
				[]any{user, fmt.Sprintf("chat %d", n/40), n, fmt.Sprintf("I bought a bicycle with the number %d.", n)}},
		} {
			if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, position).Scan(&before)
	})
	if err == nil {
		err = conn.QueryRow(ctx, position).Scan(&after)
	}
	return before, after, err
}

// write waits until n more transactions are committed.
func (l *load) write(n int) {
	l.Helper()
	n += l.acknowledged()
	require.Eventually(l, func() bool { return l.acknowledged() >= n }, patience, 5*time.Millisecond)
}

func (l *load) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acks)
}

// busy holds in a database in which one job runs and another one has failed.
const busy = `(select from oxbow.river_job having bool_or(kind = 'embed' and state = 'running')
	and bool_or(state = 'retryable')) busy`

// dump runs pg_dump in a snapshot, and returns the transactions of that snapshot.
func (l *load) dump() (transactions []int32) {
	conn := l.connect(l.dsn(keeper, appName))
	defer conn.Close(context.Background())
	require.Eventually(l, func() bool {
		_, err := conn.Exec(l.Context(), `rollback; begin isolation level repeatable read`)
		require.NoError(l, err)
		var n int
		require.NoError(l, conn.QueryRow(l.Context(), `select count(*) from `+busy).Scan(&n))
		return n > 0
	}, patience, 20*time.Millisecond)
	var snapshot string
	require.NoError(l, conn.QueryRow(l.Context(), `select pg_export_snapshot()`).Scan(&snapshot))
	transactions = numbers(l.T, conn)
	l.run(l.Command(l.Context(), "pg_dumpall", "--globals-only", "--dbname="+l.DSN("postgres"),
		"--file="+filepath.Join(l.root, "globals.sql")))
	l.run(l.Command(l.Context(), "pg_dump", "--format=custom", "--snapshot="+snapshot,
		"--dbname="+l.dsn(keeper, appName), "--file="+filepath.Join(l.root, "app.dump")))
	return transactions
}

// numbers returns the numbers of a database's transactions.
func numbers(t *testing.T, db *pgx.Conn) []int32 {
	t.Helper()
	rows, err := db.Query(t.Context(), `select n from acks order by n`)
	require.NoError(t, err)
	n, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	require.NoError(t, err)
	return n
}

// keepBusy waits until the queue is busy, and keeps it so: until the connection's transaction ends, nothing can change
// the two jobs.
func (l *load) keepBusy(conn *pgx.Conn) {
	require.Eventually(l, func() bool {
		_, err := conn.Exec(l.Context(), `rollback; begin`)
		require.NoError(l, err)
		var n int
		require.NoError(l, conn.QueryRow(l.Context(), `
			with running as (select from oxbow.river_job where kind = 'embed' and state = 'running'
			limit 1 for update skip locked),
			     failed as (select from oxbow.river_job where state = 'retryable' limit 1 for update skip locked)
			select (select count(*) from running) + (select count(*) from failed)`).Scan(&n))
		return n == 2
	}, patience, 20*time.Millisecond)
}

// restorePoint names a moment, and waits until the archive has it.
func (l *load) restorePoint(name string) (at uint64) {
	conn := l.connect(l.DSN(appName))
	defer conn.Close(context.Background())
	l.keepBusy(conn)
	require.NoError(l, conn.QueryRow(l.Context(), `select pg_create_restore_point($1) - '0/0'::pg_lsn`, name).Scan(&at))
	_, err := conn.Exec(l.Context(), `commit`)
	require.NoError(l, err)
	var file string
	require.NoError(l, conn.QueryRow(l.Context(), `select pg_walfile_name(pg_switch_wal())`).Scan(&file))
	require.Eventually(l, func() bool {
		_, err := os.Stat(filepath.Join(l.root, file))
		return err == nil && l.count(l.DSN(appName), `pg_stat_archiver where last_archived_wal >= '`+file+`'`) > 0
	}, patience, 20*time.Millisecond)
	return at
}

// die stops the server as a crash does, then the workers. It returns the acknowledged transactions.
func (l *load) die() []ack {
	conn := l.connect(l.DSN(appName))
	defer conn.Close(context.Background())
	l.keepBusy(conn)
	var at string
	require.NoError(l, conn.QueryRow(l.Context(), `select pg_current_wal_lsn()::text`).Scan(&at))
	require.Eventually(l, func() bool {
		return l.count(l.DSN(appName),
			`pg_stat_replication where replay_lsn >= '`+at+`'`) > 0
	}, patience, 20*time.Millisecond)
	l.run(l.Command(l.Context(), "pg_ctl", "--pgdata="+filepath.Join(l.Dir(), "data"), "--mode=immediate", "stop"))
	l.stop()
	l.writers.Wait()
	l.provider.failing.Store(false)
	for _, worker := range l.workers {
		require.NoError(l, worker.Process.Kill())
		_ = worker.Wait() // it was killed
	}
	require.Greater(l, len(l.acks), 90)
	return l.acks
}

// start starts a copy of the server, and returns a connection string of it.
func (l *load) start(name string, settings ...string) string {
	l.Helper()
	options := fmt.Sprintf(
		"-c listen_addresses= -c unix_socket_directories=%s -c fsync=off -c shared_buffers=64MB -c max_connections=60 "+
			"-c archive_mode=off", l.root)
	for _, s := range append(settings, "port="+fmt.Sprint(6000+len(name))) {
		options += " -c " + strings.ReplaceAll(s, " ", `\ `)
	}
	l.run(l.Command(l.Context(), "pg_ctl", "--pgdata="+l.dir(name), "--log="+filepath.Join(l.root, name+".log"),
		"--options="+options, "--wait", "--timeout=300", "start"))
	l.Cleanup(func() {
		l.run(l.Command(context.Background(), "pg_ctl", "--pgdata="+l.dir(name), "--mode=immediate", "stop"))
	})
	return fmt.Sprintf("postgres://postgres@/%s?host=%s&port=%d", appName, l.root, 6000+len(name))
}

func (l *load) restoreDump(transactions []int32) {
	fresh := l.cluster("fresh", map[string]string{"fsync": "off"})
	dump := filepath.Join(l.root, "app.dump")

	// Somebody forgets the roles: policies and grants are missing, and migrate up makes them.
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

// recover brings a copy to the restore point: it has what was acknowledged before, and nothing that
// began to commit after it.
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

// promote makes a primary of the standby, on which memories were recalled before.
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

// works lets a worker bring a restored database to where nothing is left to do, and looks whether
// each thing was done once.
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
	// It takes longer than this test to restore a database: an hour has passed.
	l.exec(owner, `update oxbow.river_job set attempted_at = attempted_at - interval '1 hour',
		scheduled_at = scheduled_at - interval '1 hour' where finalized_at is null;
		delete from oxbow.river_leader`)
	begun := time.Now()
	for {
		out, err := l.withProvider(as(dsn, clerk), "work", "--until-idle").CombinedOutput()
		if err == nil {
			break
		}
		// What was running when it failed the second time waits for 16 seconds.
		require.Contains(l, string(out), "waiting for a retry")
		require.Less(l, time.Since(begun), patience)
		l.exec(owner, `update oxbow.river_job set scheduled_at = now() where state = 'retryable'`)
	}
	l.Logf("%d transactions were there, and what was left to do took %s", len(transactions),
		time.Since(begun).Round(time.Millisecond))
	l.done(owner, len(transactions))

	// Life goes on.
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
	// What is periodic has one attempt, and comes again of itself.
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
	// Each memory was reflected on once, or is still to be.
	l.none(dsn, `(select from oxbow.reflection_cycles having sum(memories_scanned) + (select count(*)
		from oxbow.reflection_inbox) <> (select count(*) from `+memories+`)) c`)
	require.Positive(l, l.count(dsn, `oxbow.trait_evidence`))
	l.oxbow(dsn, "check")
}

// isolated checks that a login of the application sees one user, and none before it names one.
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
