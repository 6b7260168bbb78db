package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/localpg"
)

// urlVariable names a server to test with instead of a private one.
const urlVariable = "OXBOW_TEST_DATABASE_URL"

// clusterSettings trade durability for speed. A crash of PostgreSQL alone loses nothing even so; a crash of the whole
// machine can, which is why the directory of the cluster changes with every boot.
var clusterSettings = map[string]string{
	"fsync":                     "off",
	"synchronous_commit":        "off",
	"full_page_writes":          "off",
	"wal_level":                 "minimal",
	"max_wal_senders":           "0",
	"max_connections":           "300",
	"max_locks_per_transaction": "128",
	"autovacuum":                "off", // it would stand in the way of copying and dropping databases
	"shared_buffers":            "256MB",
	"checkpoint_timeout":        "1h",
}

// maintenanceDSN returns the connection URL of a database to create others from, and starts the server if need be.
func maintenanceDSN(ctx context.Context) (string, error) {
	if dsn := os.Getenv(urlVariable); dsn != "" {
		return dsn, nil
	}
	server, err := startServer(ctx)
	if err != nil {
		return "", err
	}
	return server.DSN("oxbow_test"), nil
}

// BinDir returns the directory of the programs of the private server, "" where OXBOW_TEST_DATABASE_URL replaces it.
func BinDir(ctx context.Context) (string, error) {
	if os.Getenv(urlVariable) != "" {
		return "", nil
	}
	server, err := startServer(ctx)
	if err != nil {
		return "", err
	}
	return server.BinDir(), nil
}

func startServer(ctx context.Context) (*localpg.Server, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(cache, "test-"+bootID())
	if err := removeOtherBoots(ctx, cache, base); err != nil {
		return nil, err
	}
	server, err := localpg.Start(ctx, localpg.Config{
		BaseDir:     base,
		Database:    "oxbow_test",
		Settings:    clusterSettings,
		KeepRunning: true,
	})
	if err != nil {
		return nil, err
	}
	return server, server.Stop(ctx) // KeepRunning: this ends our use of it and nothing else
}

// Stop stops the private server and deletes its databases. With OXBOW_TEST_DATABASE_URL there is nothing to stop.
func Stop(ctx context.Context) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	return removeOtherBoots(ctx, cache, "")
}

func removeOtherBoots(ctx context.Context, cache, keep string) error {
	bases, err := filepath.Glob(filepath.Join(cache, "test-*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, base := range bases {
		if base == keep {
			continue
		}
		clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
		errs = append(errs, err)
		for _, dir := range clusters {
			errs = append(errs, localpg.Remove(ctx, dir))
		}
		if err := os.Remove(base); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/oxbow", nil // root's own cache is closed to the user who runs PostgreSQL
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for the test databases: %w", err)
	}
	return filepath.Join(dir, "oxbow"), nil
}

// bootID changes when the machine starts anew.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		id, _ = exec.Command("sysctl", "-n", "kern.bootsessionuuid").Output() // macOS
	}
	short, _, _ := strings.Cut(strings.TrimSpace(string(id)), "-")
	if short == "" {
		return "unknown"
	}
	return strings.ToLower(short)
}

// withDatabase returns the connection string with another database in it. Both forms that PostgreSQL knows are kept.
func withDatabase(dsn, name string) (string, error) {
	if _, err := pgx.ParseConfig(dsn); err != nil {
		return "", fmt.Errorf("%s: %w", urlVariable, err)
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + name, nil // the last of several counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s: %w", urlVariable, err)
	}
	query := u.Query()
	query.Del("dbname") // it would win over the path
	query.Del("database")
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	u.Path = "/" + name
	return u.String(), nil
}
