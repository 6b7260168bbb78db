package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/localpg"
)

const (
	database   = "oxbow"
	ownerRole  = "postgres"
	appRole    = "chaos_app" // the logins of clients, workers and servers
	workerRole = "chaos_worker"
	serverRole = "chaos_server"
)

// postgres is the cluster of a run.
type postgres struct {
	config localpg.Config

	mu     sync.Mutex // one thing happens to it at a time
	server *localpg.Server
}

// startPostgres creates the cluster. It turns fsync off, because only processes are killed, and the system keeps what a
// process has written.
func startPostgres(ctx context.Context, dir string) (*postgres, error) {
	p := &postgres{config: localpg.Config{DataDir: filepath.Join(dir, "postgres"), Database: database,
		Settings: map[string]string{"fsync": "off", "max_connections": "200", "shared_buffers": "64MB",
			"log_min_messages": "warning"}}}
	var err error
	p.server, err = localpg.Start(ctx, p.config)
	return p, err
}

func (p *postgres) stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	err := p.server.Stop(ctx)
	p.server = nil
	return err
}

// dsn returns the connection string of the database, past the proxy.
func (p *postgres) dsn() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server.DSN(database)
}

// socket returns the path of the server's socket, which a restart does not change.
func (p *postgres) socket() (string, error) {
	u, err := url.Parse(p.dsn())
	if err != nil {
		return "", err
	}
	return filepath.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port")), nil
}

// postmaster returns the process id in the cluster's pid file.
func (p *postgres) postmaster() (int, error) {
	text, err := os.ReadFile(filepath.Join(p.config.DataDir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(first))
}

// crash stops the server without a checkpoint, and restarts it after a while.
func (p *postgres) crash(ctx context.Context, down time.Duration, crashed func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil {
		return nil
	}
	pid, err := p.postmaster()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		return fmt.Errorf("stop PostgreSQL at once: %w", err)
	}
	for limit := time.Now().Add(20 * time.Second); ; {
		if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
			break
		}
		if time.Now().After(limit) {
			return fmt.Errorf("PostgreSQL, process %d, did not stop at once", pid)
		}
		time.Sleep(20 * time.Millisecond)
	}
	crashed()
	sleep(ctx, down)
	old := p.server
	p.server, err = localpg.Start(context.WithoutCancel(ctx), p.config)
	if err != nil {
		p.server = old
		return fmt.Errorf("start PostgreSQL again: %w", err)
	}
	return old.Stop(context.WithoutCancel(ctx)) // another one uses the cluster
}

// killBackend kills the process of one connection. The server then ends all others and recovers.
func (p *postgres) killBackend(ctx context.Context, nth int) error {
	conn, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var pid int
	err = conn.QueryRow(ctx, `select pid from pg_stat_activity where datname = $1 and backend_type = 'client backend'
		and pid <> pg_backend_pid()
		order by pid offset $2 % greatest(1, (select count(*) - 1 from pg_stat_activity where datname = $1
		and backend_type = 'client backend')) limit 1`, database, nth).Scan(&pid)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// terminate ends one connection of three on the server's side.
func (p *postgres) terminate(ctx context.Context, nth int) error {
	conn, err := pgx.Connect(ctx, p.dsn())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, `select pg_terminate_backend(pid) from pg_stat_activity
		where datname = $1 and backend_type = 'client backend' and pid <> pg_backend_pid() and (pid + $2) % 3 = 0`,
		database, nth)
	return err
}
