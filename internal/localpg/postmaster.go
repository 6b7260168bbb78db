package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/connect"
)

// postmaster is a running server process.
type postmaster struct {
	pid       int
	data      string
	socketDir string
	exited    chan struct{} // closed when the process ends; nil if another program started it
}

const (
	pollEvery  = 20 * time.Millisecond
	retryEvery = 200 * time.Millisecond
	maxLogSize = 10 << 20 // bytes; a larger log is truncated when the server starts
)

// settings returns parameters for a database on a developer's machine: small, quiet, safe, and
// reachable only through its socket.
func (c *cluster) settings(extra map[string]string, socketDir string) map[string]string {
	s := map[string]string{
		"shared_buffers":       "256MB",
		"maintenance_work_mem": "128MB",
		"max_wal_size":         "2GB",
		"checkpoint_timeout":   "15min",
		"log_checkpoints":      "off",
		"log_line_prefix":      "%m [%p] %d ",
		"log_timezone":         "UTC",
		"timezone":             "UTC",
		"logging_collector":    "off",
	}
	maps.Copy(s, extra)
	s["listen_addresses"] = ""
	s["port"] = port
	s["unix_socket_directories"] = socketDir
	s["unix_socket_permissions"] = "0700"
	return s
}

// attach returns the running postmaster, or nil if none is running. The caller holds the lock.
func (c *cluster) attach(ctx context.Context, logger *slog.Logger) (*postmaster, error) {
	pm := c.runningPostmaster()
	if pm == nil {
		return nil, nil
	}
	if err := pm.waitReady(ctx); err != nil {
		if errors.Is(err, errExited) {
			return nil, nil
		}
		return nil, err
	}
	if exists(filepath.Join(pm.socketDir, ".s.PGSQL."+port)) {
		return pm, nil
	}
	// A cleaner of temporary directories removed the socket, so the server is unreachable.
	logger.Warn("restarting the private PostgreSQL, because its socket is gone", "pid", pm.pid, "socket", pm.socketDir)
	return nil, pm.stop(ctx)
}

// startPostmaster starts the server and waits until it accepts connections. The caller holds the lock.
func (c *cluster) startPostmaster(ctx context.Context, cfg Config) (*postmaster, error) {
	socketDir, err := c.socketDir()
	if err != nil {
		return nil, err
	}
	for {
		if err := errors.Join(disarmPIDFile(c.data()), removeSocketFiles(socketDir)); err != nil {
			return nil, fmt.Errorf("clean up after a killed server: %w", err)
		}
		pm, output, err := c.spawn(ctx, cfg, socketDir)
		if err == nil {
			return pm, nil
		}
		// Server processes can outlive a killed postmaster until their current statement ends.
		if !strings.Contains(output, "pre-existing shared memory block") {
			_ = os.Remove(socketDir)
			return nil, fmt.Errorf("start PostgreSQL in %s: %w\n%s", c.dir, err, output)
		}
		cfg.Logger.Info("waiting for the remaining processes of a killed PostgreSQL", "directory", c.dir)
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("processes of a killed PostgreSQL still use %s: %w", c.dir, context.Cause(ctx))
		case <-time.After(retryEvery):
		}
	}
}

// spawn starts the process once. On failure it also returns the server's output.
func (c *cluster) spawn(ctx context.Context, cfg Config, socketDir string) (*postmaster, string, error) {
	log, err := openLog(c.path("postgres.log"))
	if err != nil {
		return nil, "", err
	}
	//nolint:errcheck // the server has its own descriptor; nothing is written through this one
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, "", err
	}

	settings := c.settings(cfg.Settings, socketDir)
	args := []string{"-D", c.data()}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	// Not bound to ctx: the process outlives Start.
	cmd := exec.Command(filepath.Join(c.install.bin, "postgres"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.data(), environment(), c.account.attributes()
	// A file rather than a pipe: a server that outlives this program can still write to it.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	pm := &postmaster{pid: cmd.Process.Pid, data: c.data(), exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the log has the reason
		close(pm.exited)
	}()
	if err := pm.waitReady(ctx); err != nil {
		if !errors.Is(err, errExited) {
			err = errors.Join(err, pm.stop(context.WithoutCancel(ctx)))
		}
		return nil, tail(log, begin), err
	}
	return pm, "", nil
}

var errExited = errors.New("the server process exited")

// waitReady waits until the postmaster's pid file reports that it accepts connections, which
// includes recovery.
func (p *postmaster) waitReady(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		f, err := readPIDFile(p.data)
		if err != nil {
			return err
		}
		if f.pid == p.pid && f.ready {
			p.socketDir = f.socketDir
			return nil
		}
		if !p.running() {
			return errExited
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (p *postmaster) running() bool {
	if p.exited == nil {
		return isPostmaster(p.pid, p.data)
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop shuts the server down, disconnecting its clients, and waits for it to end.
func (p *postmaster) stop(ctx context.Context) error {
	if !p.running() {
		return nil
	}
	if err := syscall.Kill(p.pid, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("stop PostgreSQL (process %d): %w", p.pid, err)
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for p.running() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("PostgreSQL (process %d) is still shutting down: %w", p.pid, context.Cause(ctx))
		case <-tick.C:
		}
	}
	_ = os.Remove(p.socketDir) // empty now; the next start recreates it
	return nil
}

func openLog(name string) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | os.O_APPEND
	if info, err := os.Stat(name); err == nil && info.Size() > maxLogSize {
		flags |= os.O_TRUNC
	}
	return os.OpenFile(name, flags, 0o600)
}

// tail returns the end of the log after the given offset, at most 4 kB.
func tail(log *os.File, from int64) string {
	size, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text := make([]byte, min(size-from, 4<<10))
	n, _ := log.ReadAt(text, size-int64(len(text))) // a short read is still useful
	return strings.TrimSpace(string(text[:n]))
}

func open(ctx context.Context, dsn string) (*pgx.Conn, error) {
	cfg, err := connect.One(dsn, "oxbow dev")
	if err != nil {
		return nil, err
	}
	return pgx.ConnectConfig(ctx, cfg)
}

// ensureDatabase creates the database and its vector extension. The caller holds the lock.
func ensureDatabase(ctx context.Context, maintenance, target, name string) error {
	conn, err := open(ctx, maintenance)
	if err != nil {
		return fmt.Errorf("connect to the private PostgreSQL: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var exists bool
	err = conn.QueryRow(ctx, "select exists (select from pg_database where datname = $1)", name).Scan(&exists)
	if err != nil {
		return err
	}
	if !exists {
		if _, err := conn.Exec(ctx, "create database "+pgx.Identifier{name}.Sanitize()); err != nil {
			return fmt.Errorf("create database %q: %w", name, err)
		}
	}
	db, err := open(ctx, target)
	if err != nil {
		return fmt.Errorf("connect to database %q: %w", name, err)
	}
	defer db.Close(context.WithoutCancel(ctx))
	if _, err := db.Exec(ctx, "create extension if not exists vector"); err != nil {
		return fmt.Errorf("create the extension vector in database %q: %w", name, err)
	}
	return nil
}
