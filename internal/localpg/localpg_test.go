package localpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	_ "github.com/oxbow-memory/oxbow/internal/pgtest/pgenv" // tests do not depend on PGPORT and the like
)

// helperEnv turns the test binary into a program that starts the server of a directory, prints its
// DSN and waits.
const helperEnv = "OXBOW_LOCALPG_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		os.Exit(helper(dir))
	}
	os.Exit(m.Run())
}

func helper(dir string) int {
	s, err := Start(context.Background(), Config{DataDir: dir, Settings: fast})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println(s.DSN("oxbow"))
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
	if err := s.Stop(context.Background()); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	return 0
}

var fast = map[string]string{"fsync": "off", "shared_buffers": "16MB"}

func start(t *testing.T, dir string) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{DataDir: dir, Settings: fast})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	return s
}

// openTempDir is t.TempDir with permissions for every user to enter; PostgreSQL may have to run as
// another user.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "oxbow-localpg-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

// newDir returns a directory with a path as long as a home directory's can be, so that the socket
// must be elsewhere.
func newDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(openTempDir(t), strings.Repeat("deep/", 30), "cluster")
	t.Cleanup(func() { require.NoError(t, Shutdown(context.Background(), dir)) })
	return dir
}

func exec1(t *testing.T, s *Server, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN("oxbow"))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	_, err = conn.Exec(t.Context(), sql)
	require.NoError(t, err)
}

func get[T any](t *testing.T, dsn, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.Background())) }()
	var v T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

// killPostmaster kills the postmaster and returns when the process is gone.
func killPostmaster(t *testing.T, s *Server) {
	t.Helper()
	require.NoError(t, syscall.Kill(s.postmaster.pid, syscall.SIGKILL))
	if s.postmaster.exited != nil {
		<-s.postmaster.exited
		return
	}
	for s.postmaster.running() {
		runtime.Gosched()
	}
}

func TestStartStop(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	require.True(t, s.Started())

	require.Equal(t, "1", get[string](t, s.DSN("oxbow"), "select '[1]'::vector <-> '[2]' || ''"))
	require.Empty(t, get[string](t, s.DSN("oxbow"), "show listen_addresses"))
	require.Equal(t, "é", get[string](t, s.DSN("oxbow"), "select lower('É')"), "the locale knows Unicode")
	require.Equal(t, filepath.Join(s.Dir(), "data"), get[string](t, s.DSN("oxbow"), "show data_directory"))

	u, err := url.Parse(s.DSN("oxbow"))
	require.NoError(t, err)
	info, err := os.Stat(u.Query().Get("host"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Stop(t.Context()), "a second Stop does nothing")
	require.False(t, alive(s.postmaster.pid))
	_, err = pgx.Connect(t.Context(), s.DSN("oxbow"))
	require.Error(t, err)
}

func TestDataSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	exec1(t, s, "create table kept as select 42 as n")
	require.NoError(t, s.Stop(t.Context()))

	s = start(t, dir)
	require.True(t, s.Started())
	require.Equal(t, 42, get[int](t, s.DSN("oxbow"), "select n from kept"))
}

func TestConcurrentStartsShareOneServer(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	servers := make([]*Server, 5)
	var wg sync.WaitGroup
	for i := range servers {
		wg.Go(func() {
			s, err := Start(t.Context(), Config{DataDir: dir, Settings: fast})
			if err != nil {
				t.Errorf("start %d: %v", i, err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	require.False(t, t.Failed())

	started := 0
	for _, s := range servers {
		require.Equal(t, servers[0].postmaster.pid, s.postmaster.pid)
		if s.Started() {
			started++
		}
	}
	require.Equal(t, 1, started)

	for i, s := range servers {
		require.Equal(t, 1, get[int](t, servers[len(servers)-1].DSN("oxbow"), "select 1"), "after %d stops", i)
		require.NoError(t, s.Stop(t.Context()))
	}
	require.False(t, isPostmaster(servers[0].postmaster.pid, servers[0].cluster.data()),
		"the last one to leave stops the server")
}

func TestKeepRunningAndShutdown(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s, err := Start(t.Context(), Config{DataDir: dir, Settings: fast, KeepRunning: true})
	require.NoError(t, err)
	require.NoError(t, s.Stop(t.Context()))
	require.Equal(t, 1, get[int](t, s.DSN("oxbow"), "select 1"))

	require.NoError(t, Shutdown(t.Context(), dir))
	<-s.postmaster.exited
	require.NoDirExists(t, s.postmaster.socketDir)
	require.NoError(t, Shutdown(t.Context(), dir), "without a server there is nothing to do")
	require.NoError(t, Remove(t.Context(), dir))
	require.NoDirExists(t, dir)
}

func TestPostmasterKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	exec1(t, s, "create table kept as select 42 as n")
	killPostmaster(t, s)

	again := start(t, dir)
	require.True(t, again.Started())
	require.Equal(t, 42, get[int](t, again.DSN("oxbow"), "select n from kept"))
	require.NoError(t, s.Stop(t.Context()), "the first use ends without an error and without harm")
	require.Equal(t, 42, get[int](t, again.DSN("oxbow"), "select n from kept"))
}

func TestProgramKilled(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	program, _ := startHelper(t, os.Args[0], dir, &syscall.SysProcAttr{})
	require.NoError(t, program.Process.Kill())
	require.Error(t, program.Wait())

	s := start(t, dir)
	require.False(t, s.Started(), "the server outlived the program that started it")
	require.NoError(t, s.Stop(t.Context()))
	require.False(t, s.postmaster.running(), "nobody uses the server any more")
}

func TestInterruptReachesOnlyTheProgram(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	program, dsn := startHelper(t, os.Args[0], dir, &syscall.SysProcAttr{Setpgid: true})
	require.NoError(t, syscall.Kill(-program.Process.Pid, syscall.SIGINT)) // what Ctrl-C does in a terminal
	require.Error(t, program.Wait())
	require.Equal(t, 1, get[int](t, dsn, "select 1"))
}

// The id in a stale postmaster.pid may now belong to another process of the same user, in which
// case PostgreSQL itself refuses to start.
func TestStalePIDFile(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	name := filepath.Join(s.cluster.data(), "postmaster.pid")
	killPostmaster(t, s)

	other := exec.Command("sleep", "600")
	other.SysProcAttr = s.cluster.account.attributes()
	require.NoError(t, other.Start())
	t.Cleanup(func() {
		require.NoError(t, other.Process.Kill())
		require.Error(t, other.Wait())
	})
	recycled := strconv.Itoa(other.Process.Pid)
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), "\n")

	for _, stale := range []string{recycled + "\n" + rest, "", "12x\n"} {
		require.NoError(t, os.WriteFile(name, []byte(stale), 0o600))
		socketLock := filepath.Join(s.postmaster.socketDir, ".s.PGSQL."+port+".lock")
		require.NoError(t, os.WriteFile(socketLock, []byte(stale), 0o600))
		again := start(t, dir)
		require.True(t, again.Started())
		killPostmaster(t, again)
	}
	require.True(t, alive(other.Process.Pid), "the process that got the id is left alone")
	start(t, dir)
}

func TestLostSocket(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	s := start(t, dir)
	require.NoError(t, os.RemoveAll(s.postmaster.socketDir))

	again := start(t, dir)
	require.True(t, again.Started())
	require.Equal(t, 1, get[int](t, again.DSN("oxbow"), "select 1"))
}

func TestInterruptedInitdbLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	leftover := filepath.Join(dir, "initdb-1")
	require.NoError(t, os.MkdirAll(leftover, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(leftover, "PG_VERSION"), []byte("15\n"), 0o600))

	start(t, dir)
	require.NoDirExists(t, leftover)
}

func TestForeignDirectories(t *testing.T) {
	t.Parallel()
	for file, message := range map[string]string{
		"PG_VERSION": "another PostgreSQL cluster",
		"thesis.txt": "contains other files (thesis.txt)",
	} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("15\n"), 0o600))
		_, err := Start(t.Context(), Config{DataDir: dir})
		require.ErrorContains(t, err, message)
		require.Error(t, Remove(t.Context(), dir))
		require.FileExists(t, filepath.Join(dir, file))

		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "untouched")
	}
}

func TestServerLogIsQuoted(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), Config{DataDir: newDir(t), Settings: map[string]string{"shared_buffers": "lots"}})
	require.ErrorContains(t, err, `invalid value for parameter "shared_buffers": "lots"`)
}

// startHelper runs a second program that starts the server, and returns once it is ready.
func startHelper(t *testing.T, binary, dir string, attr *syscall.SysProcAttr) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), helperEnv+"="+dir)
	cmd.SysProcAttr = attr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = stdin.Close() }) // ends a helper that is still running
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	dsn, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(dsn, "postgres://"), dsn)
	return cmd, strings.TrimSpace(dsn)
}

// alive reports whether a process with this id exists, whatever its user.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
