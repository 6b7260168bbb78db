// Package localpg runs a private PostgreSQL for development and tests.
//
// The server listens only on a Unix socket in a directory closed to other users, and keeps its data
// in its own directory. It therefore never interferes with another cluster on the machine: no port,
// no service, no shared configuration. It survives crashes of this program and recovers from its
// own. A second program that starts the same directory attaches to the running server, and the last
// program to leave stops it.
//
// A directory of this package contains:
//
//	data/         PostgreSQL's data directory (PGDATA), created by initdb
//	postgres.log  the server's output
//	lock          held briefly while a program starts or stops the server
//	users         held shared by every program that uses the server
package localpg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// superuser is the only role of a new cluster. It has no password: the permissions of the
	// socket's directory protect it.
	superuser = "postgres"
	// port is only a part of the socket's file name; no TCP port is opened.
	port = "5432"

	minMajor = 15 // oldest PostgreSQL that Oxbow supports
)

// Config describes a cluster. The zero value is usable.
type Config struct {
	// DataDir is the directory that holds everything of the cluster. It is created if it does not
	// exist; a directory with other contents is refused. Default: pg-<major version> in BaseDir.
	DataDir string

	// BaseDir is the parent of the default DataDir, which is an existing cluster that this
	// machine's PostgreSQL can run, or else a new one. Default: $XDG_DATA_HOME/oxbow (or
	// ~/.local/share/oxbow), and /var/lib/oxbow for root.
	BaseDir string

	// Database is created with the vector extension if it does not exist. Default: "oxbow".
	Database string

	// Settings are server parameters (postgresql.conf names) in addition to this package's own.
	// They apply only if Start starts the server; a running server keeps its settings.
	Settings map[string]string

	// KeepRunning leaves the server running after Stop and after the program ends. Shutdown stops
	// it.
	KeepRunning bool

	// StartTimeout limits how long Start waits for the server, including crash recovery. Default: 2
	// minutes.
	StartTimeout time.Duration

	// Logger receives the steps taken. Default: no logging.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Database = cmp.Or(c.Database, "oxbow")
	c.StartTimeout = cmp.Or(c.StartTimeout, 2*time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Server is a running private PostgreSQL that Start started or found running.
type Server struct {
	cluster     *cluster
	postmaster  *postmaster
	users       *fileLock
	keepRunning bool
	started     bool

	stopOnce sync.Once
	stopErr  error
}

// Start returns the server of cfg.DataDir, and starts it unless it is running.
//
// An error says what to install if PostgreSQL (15 or newer) or pgvector (0.8 or newer) is missing,
// and quotes the server's log if the server does not start. Concurrent calls of Start, also in
// other programs, wait for each other.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, cfg.StartTimeout,
		fmt.Errorf("the private PostgreSQL was not ready within %s", cfg.StartTimeout))
	defer cancel()

	c, err := openCluster(cfg)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(ctx, c.path("lock"), exclusive)
	if err != nil {
		return nil, err
	}
	defer lock.release()

	// Acquired inside the lock: Stop checks it under the same lock, so no program stops a server
	// that we are about to use.
	users, err := acquire(ctx, c.path("users"), shared)
	if err != nil {
		return nil, err
	}
	s := &Server{cluster: c, users: users, keepRunning: cfg.KeepRunning}
	if err := s.start(ctx, cfg); err != nil {
		users.release()
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, cfg Config) error {
	if err := s.cluster.init(ctx, cfg); err != nil {
		return err
	}
	pm, err := s.cluster.attach(ctx, cfg.Logger)
	if err != nil {
		return err
	}
	if pm == nil {
		if pm, err = s.cluster.startPostmaster(ctx, cfg); err != nil {
			return err
		}
		s.started = true
	}
	s.postmaster = pm
	if err := ensureDatabase(ctx, s.DSN("postgres"), s.DSN(cfg.Database), cfg.Database); err != nil {
		if s.started {
			_ = pm.stop(context.WithoutCancel(ctx)) // the first error is the one to report
		}
		return err
	}
	cfg.Logger.Info("private PostgreSQL is ready", "started", s.started, "major", s.cluster.install.major,
		"directory", s.cluster.dir, "socket", pm.socketDir)
	return nil
}

// DSN returns the connection URL of a database of this server, as its superuser. It works with pgx
// and libpq.
func (s *Server) DSN(database string) string {
	host := strings.ReplaceAll(url.QueryEscape(s.postmaster.socketDir), "%2F", "/")
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=%s", superuser, url.PathEscape(database), host, port)
}

// Dir returns the directory that holds everything of the cluster.
func (s *Server) Dir() string { return s.cluster.dir }

// BinDir returns the directory of the server's programs, which include psql and pg_dump if they are
// installed.
func (s *Server) BinDir() string { return s.cluster.install.bin }

// Command returns a command for one of the server's programs that runs as the server's account: it
// can access the server's files and creates files with the right owner.
func (s *Server) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.BinDir(), program), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.Dir(), environment(), s.cluster.account.attributes()
	return cmd
}

// Started reports whether this call of Start started the server; otherwise it was already running.
func (s *Server) Started() bool { return s.started }

// Stop ends the use of the server. It shuts the server down, disconnecting clients, unless
// Config.KeepRunning is set or another program uses it. Later calls do nothing and return the first
// call's result.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { s.stopErr = s.stop(ctx) })
	return s.stopErr
}

func (s *Server) stop(ctx context.Context) error {
	lock, err := acquire(ctx, s.cluster.path("lock"), exclusive)
	if err != nil {
		s.users.release()
		return err
	}
	defer lock.release()
	s.users.release()
	if s.keepRunning {
		return nil
	}
	last, err := tryAcquire(s.cluster.path("users"), exclusive)
	if err != nil {
		return err
	}
	if last == nil {
		return nil // another program uses the server
	}
	defer last.release()
	return s.postmaster.stop(ctx)
}

// Shutdown stops the server of a directory, even if other programs use it. It does nothing if no
// server is running.
func Shutdown(ctx context.Context, dir string) error {
	c, lock, err := lockExisting(ctx, dir)
	if c == nil || err != nil {
		return err
	}
	defer lock.release()
	return c.shutdown(ctx)
}

// lockExisting locks the cluster of a directory. It returns a nil cluster if the directory has
// none.
func lockExisting(ctx context.Context, dir string) (*cluster, *fileLock, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	c := &cluster{dir: dir}
	if !exists(c.path("lock")) {
		return nil, nil, nil
	}
	lock, err := acquire(ctx, c.path("lock"), exclusive)
	if err != nil {
		return nil, nil, err
	}
	return c, lock, nil
}
