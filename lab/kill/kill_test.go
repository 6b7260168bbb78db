package kill

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/failpoint"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/lab/program"
)

// killing is a test that kills the program at failpoints.
type killing struct {
	*testing.T
	binary, dsn string
	seed        uint64
	random      *rand.Rand
	kept        map[string]*pgx.Conn // connections of exec and count, by connection string
	output      string               // of the last command that killAt ran
}

func newKilling(t *testing.T) *killing {
	binary, err := program.Build(t.Context(), "failpoints")
	require.NoError(t, err)
	k := &killing{T: t, binary: binary, dsn: pgtest.Database(t), seed: rand.Uint64()}
	if s := os.Getenv("OXBOW_KILL_SEED"); s != "" {
		k.seed, err = strconv.ParseUint(s, 10, 64)
		require.NoError(t, err)
	}
	k.random = rand.New(rand.NewPCG(k.seed, 0))
	return k
}

func (k *killing) command(dsn string, args ...string) *exec.Cmd {
	return k.commandContext(k.Context(), dsn, args...)
}

// commandContext returns a command. Workers on a database of the tests' server have a login of oxbow_worker.
func (k *killing) commandContext(ctx context.Context, dsn string, args ...string) *exec.Cmd {
	if args[0] == "work" && k.dsn != "" {
		dsn = pgtest.As(k, dsn, "worker")
	}
	cmd := exec.CommandContext(ctx, k.binary, args...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+dsn)
	return cmd
}

// commandLimit limits the duration of a command. A command that exceeds it prints its goroutines.
const commandLimit = 10 * time.Minute

func (k *killing) oxbow(dsn string, args ...string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), commandLimit)
	defer cancel()
	cmd := k.commandContext(ctx, dsn, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		k.Log(k.unfinished(dsn))
	}
	require.NoError(k, err, "oxbow %s: %s", strings.Join(args, " "), out)
}

// unfinished lists unfinished jobs and the server's connections.
func (k *killing) unfinished(dsn string) (lines string) {
	conn := k.connect(dsn)
	defer conn.Close(context.Background())
	require.NoError(k, conn.QueryRow(k.Context(), `
		select coalesce(string_agg(line, E'\n'), 'no jobs, no connections') from (
		  select concat_ws(' ', 'job', kind, state, 'attempt', attempt, 'of', max(attempted_at), 'due',
		  min(scheduled_at), 'times', count(*))
		    from oxbow.river_job where state <> 'completed' group by kind, state, attempt
		  union all
		  select concat_ws(' ', 'leader', leader_id, expires_at) from oxbow.river_leader
		  union all
		  select concat_ws(' ', 'connection', application_name, state, wait_event_type, wait_event, now() - xact_start,
		  left(query, 100))
		    from pg_stat_activity where datname = current_database()) l(line)`).Scan(&lines))
	return lines
}

func (k *killing) exec(dsn, sql string) {
	k.Helper()
	_, err := k.keep(dsn).Exec(k.Context(), sql)
	require.NoError(k, err, sql)
}

func (k *killing) count(dsn, sql string) (n int) {
	k.Helper()
	require.NoError(k, k.keep(dsn).QueryRow(k.Context(), "select count(*) from "+sql).Scan(&n), sql)
	return n
}

// keep returns a connection that stays open, for one goroutine at a time.
func (k *killing) keep(dsn string) *pgx.Conn {
	k.Helper()
	if conn := k.kept[dsn]; conn != nil && !conn.IsClosed() {
		return conn
	}
	if k.kept == nil {
		k.kept = map[string]*pgx.Conn{}
	}
	conn := k.connect(dsn)
	k.kept[dsn] = conn
	k.Cleanup(func() { _ = conn.Close(context.Background()) }) // its server may have been stopped
	return conn
}

func (k *killing) connect(dsn string) *pgx.Conn {
	k.Helper()
	conn, err := pgx.Connect(k.Context(), dsn)
	require.NoError(k, err)
	return conn
}

// work works off the jobs of calm, and those of wild with a kill at each failpoint, and requires that read then returns the
// same of both. It returns these lines. args follow "work --until-idle".
func (k *killing) work(calm, wild string, read func(dsn string) []string, points []string, args ...string) []string {
	k.Helper()
	args = append([]string{"work", "--until-idle"}, args...)
	begun := time.Now()
	k.oxbow(calm, args...)
	killed := k.killAtPoints(wild, points, time.Since(begun), args...)
	k.oxbow(wild, args...)
	want, got := read(calm), read(wild)
	k.Logf("seed %d: killed at %v; %d lines", k.seed, killed, len(want))
	require.NotEmpty(k, want)
	for i := range min(len(want), len(got)) {
		require.Equal(k, want[i], got[i], "line %d", i)
	}
	require.Len(k, got, len(want))
	return want
}

// run enqueues a job without arguments.
func (k *killing) run(kind string, dsns ...string) {
	k.Helper()
	for _, dsn := range dsns {
		k.exec(dsn, fmt.Sprintf(`insert into oxbow.river_job (kind, queue, max_attempts, args)
			values ('%s', 'default', 25, '{}')`, kind))
	}
}

// killAtPoints kills a command once at each failpoint, when it first reaches it. With OXBOW_KILLS it kills that many
// times, also at later arrivals and at random moments. Each command continues the work of the previous one.
func (k *killing) killAtPoints(dsn string, points []string, calmly time.Duration,
	args ...string) (killed map[string]int) {
	k.Helper()
	killed = map[string]int{}
	// All that are left are armed at once, because a command goes on with other work until it is killed, and could pass a
	// point that a later one is to be killed at.
	for left := slices.Clone(points); len(left) > 0; {
		require.True(k, k.killAt(dsn, strings.Join(left, ","), 0, args...), "the work is done before %v is reached", left)
		at := slices.IndexFunc(left, func(point string) bool {
			return strings.Contains(k.output, "killed at "+point+"\n")
		})
		require.GreaterOrEqual(k, at, 0, k.output)
		killed[left[at]]++
		left = slices.Delete(left, at, at+1)
	}
	for n := range max(k.number("OXBOW_KILLS", 0)-len(points), 0) {
		point, nth, after := "moment", 0, time.Duration(k.random.Int64N(int64(calmly)))
		if n%3 > 0 {
			point, nth, after = points[k.random.IntN(len(points))], 1+k.random.IntN(5), 0
		}
		if k.killAt(dsn, fmt.Sprint(point, ":", nth), after, args...) {
			killed[point]++
		}
	}
	return killed
}

// killAt runs a command that kills itself at a failpoint ("name:nth"), or is killed after a time. It reports whether
// the command was killed, and then rescues the jobs, as the next worker does 45 seconds later.
func (k *killing) killAt(dsn, point string, after time.Duration, args ...string) bool {
	k.Helper()
	cmd := k.command(dsn, args...)
	cmd.Env = append(cmd.Env, failpoint.Variable+"="+point)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(k, cmd.Start())
	if after > 0 {
		defer time.AfterFunc(after, func() { _ = cmd.Process.Kill() }).Stop() // it may have ended
	}
	err := cmd.Wait()
	k.output = out.String()
	if err == nil {
		return false
	}
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(k, ok && status.Signaled() && status.Signal() == syscall.SIGKILL, "%s: %v: %s", point, err, &out)
	require.Eventually(k, func() bool {
		return k.count(dsn,
			`pg_stat_activity where application_name like 'oxbow%' and datname = current_database()`) == 0
	}, 10*time.Minute, 10*time.Millisecond)
	k.exec(dsn, `delete from oxbow.river_leader; update oxbow.river_job set state = 'available'
		where state = 'running'`)
	return true
}

// number returns the value of an environment variable.
func (k *killing) number(name string, otherwise int) int {
	k.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	require.NoError(k, err)
	return n
}

func (k *killing) text(dsn, sql string) (text string) {
	k.Helper()
	require.NoError(k, k.keep(dsn).QueryRow(k.Context(), sql).Scan(&text), sql)
	return text
}

// lines returns the rows of queries with one column each, sorted within a query.
func (k *killing) lines(dsn string, queries ...string) (lines []string) {
	conn := k.connect(dsn)
	defer conn.Close(context.Background())
	for _, sql := range queries {
		rows, err := conn.Query(k.Context(), "select line::text from ("+sql+") q(line) order by 1")
		require.NoError(k, err)
		some, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(k, err)
		lines = append(lines, some...)
	}
	return lines
}

// clone copies the database.
func (k *killing) clone(name string) string {
	u, err := url.Parse(k.dsn)
	require.NoError(k, err)
	source := strings.TrimPrefix(u.Path, "/")
	name = source + "_" + name
	server := *u
	server.Path = "/postgres"
	if conn := k.kept[k.dsn]; conn != nil {
		require.NoError(k, conn.Close(k.Context())) // a template must have no connections
	}
	k.exec(server.String(), fmt.Sprintf("create database %s template %s", pgx.Identifier{name}.Sanitize(),
		pgx.Identifier{source}.Sanitize()))
	k.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), server.String())
		require.NoError(k, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), fmt.Sprintf("drop database %s with (force)",
			pgx.Identifier{name}.Sanitize()))
		require.NoError(k, err)
	})
	u.Path = "/" + name
	return u.String()
}
