package pgtest

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Pooled returns the connection URL of a database behind a PgBouncer that the test starts. mode is its pool_mode. In
// transaction mode its clients share at most 4 connections.
func Pooled(t testing.TB, dsn, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which is not in every user's path
	}
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	dir := Dir(t)
	database := fmt.Sprintf("host=%s port=%d user=%s", cfg.Host, cfg.Port, cfg.User)
	if cfg.Password != "" {
		database += " password=" + cfg.Password
	}
	connections := 4
	if mode == "session" { // each client has its own
		connections = 40
	}
	settings := filepath.Join(dir, "pgbouncer.ini")
	err = os.WriteFile(settings, fmt.Appendf(nil, `[databases]
* = %s
[pgbouncer]
auth_type = any
unix_socket_dir = %s
listen_port = 6432
pool_mode = %s
default_pool_size = %d
max_client_conn = 200
log_connections = 0
log_disconnections = 0
`, database, dir, mode, connections), 0o644)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	cmd := exec.Command(program, settings)
	if info, err := os.Stat(cfg.Host); err == nil && os.Geteuid() == 0 {
		// It refuses to run as root, and only the account that runs PostgreSQL may enter the directory of the socket.
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
		}
	}
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("pgtest: start PgBouncer (scripts/setup --for-tests installs it): %v", err)
	}
	up, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(log); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.Contains(line, "process up"):
				close(up)
			case !strings.Contains(line, " LOG "):
				t.Logf("%s", line)
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // its clients are gone
		<-ended
		_ = cmd.Wait()
	})
	select {
	case <-up:
	case <-ended:
		t.Fatal("pgtest: PgBouncer did not start")
	}
	pooled, err := withSetting("postgres:///"+url.PathEscape(cfg.Database)+"?sslmode=disable&port=6432&user="+
		url.QueryEscape(cfg.User), "host", dir)
	if err == nil {
		pooled, err = withSetting(pooled, "default_query_exec_mode", os.Getenv(modeVariable))
	}
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return pooled
}
