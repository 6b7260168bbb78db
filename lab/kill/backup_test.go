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

// While applications write, two workers work and some jobs fail, a database is dumped, copied, and recovered to a
// moment in its past, and a standby takes over when the server dies. Each of the four contains exactly the expected
// transactions, and a worker finishes the work on each without doing anything twice. This tests docs/backup.md.
func TestBackupsUnderLoad(t *testing.T) {
	t.Parallel()
	l := newLoad(t)
	l.begin()

	// One copy of the base backup becomes a standby at once; another one is recovered at the end.
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
	root     string // parent of all directories, accessible to the account that runs the servers
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

	patience = 5 * time.Minute // allows for a busy machine
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
		time.Sleep(200 * time.Millisecond) // like an application: the workers must process all writes, three times
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

// busy is true in a database in which one job runs and another one has failed.
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

// keepBusy waits until the queue is busy, and locks the two jobs until the connection's transaction ends.
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

// restorePoint creates a restore point, and waits until the archive has it.
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
