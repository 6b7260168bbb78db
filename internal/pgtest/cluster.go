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
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/internal/localpg"
)

// urlVariable names a server to test with instead of a private one.
const urlVariable = "OXBOW_TEST_DATABASE_URL"

// clusterSettings trade durability for speed. A crash of PostgreSQL alone loses nothing even so; a crash of the whole
// machine can, which is why the directory of the cluster changes with every boot. The log is kept small, as it may lie
// in memory.
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
	"max_wal_size":              "256MB",
	"bgwriter_lru_maxpages":     "0", // most databases are gone before their pages would have to be written
	"bgwriter_delay":            "10s",
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
	dir, err := baseDir()
	if err != nil {
		return nil, err
	}
	base := filepath.Join(dir, "test-"+bootID())
	if err := removeAllBut(ctx, base); err != nil {
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

// Stop stops the private server and deletes its databases, and what killed tests left of servers of
// their own: those end by themselves when their files are gone. With OXBOW_TEST_DATABASE_URL there
// is nothing to stop.
func Stop(ctx context.Context) error {
	err := removeAllBut(ctx, "")
	left, globErr := filepath.Glob(filepath.Join(memoryDir(), "oxbow-test-*"))
	err = errors.Join(err, globErr)
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// removeAllBut removes the private servers of this user but those of the boot that keep is of:
// where there was less room in memory a while ago, somebody may be using one on a disk.
func removeAllBut(ctx context.Context, keep string) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	var errs []error
	for _, dir := range []string{cache, memoryDir()} {
		bases, err := filepath.Glob(filepath.Join(dir, "test-*"))
		errs = append(errs, err)
		for _, base := range bases {
			if filepath.Base(base) == filepath.Base(keep) {
				continue
			}
			clusters, err := filepath.Glob(filepath.Join(base, "pg-*"))
			errs = append(errs, err)
			for _, cluster := range clusters {
				errs = append(errs, localpg.Remove(ctx, cluster))
			}
			if err := os.Remove(base); !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// baseDir is where the private server lies: in memory where there is room, else in the user's cache
// directory. Each database of a test is some 600 files that are made and removed, which on ext4
// takes as long as the tests (docs/decisions.md).
func baseDir() (string, error) {
	dir := memoryDir()
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		err = nil
	}
	// Everybody may write where it lies, so another user could have made it.
	info, statErr := os.Lstat(dir)
	if err == nil && statErr == nil && info.IsDir() && ownedByUs(info) && (hasServer(dir) || roomInMemory(dir)) {
		return dir, nil
	}
	return cacheDir()
}

// hasServer reports whether a private server of this boot lies in dir.
func hasServer(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "test-"+bootID()))
	return err == nil
}

// memoryDir is a directory of this user on the file system in memory that Linux has for everybody.
func memoryDir() string { return fmt.Sprintf("/dev/shm/oxbow-%d", os.Geteuid()) }

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// roomInMemory reports whether the file system of dir and the machine's memory both have memoryNeeded.
func roomInMemory(dir string) bool {
	// bytes, to be on the safe side: 114 MB was what a run of everything had taken when it was
	// looked at
	const memoryNeeded = 4 << 30
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < memoryNeeded {
		return false
	}
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "MemAvailable:")
	var kib uint64
	_, err = fmt.Sscan(rest, &kib)
	return err == nil && kib<<10 >= memoryNeeded
}

// cacheDir is where the private server lies on a disk.
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
