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

// urlVariable names a server to test with instead of the private one.
const urlVariable = "OXBOW_TEST_DATABASE_URL"

// modeVariable names the query mode of pgx in which the tests' connections run statements; see the target test-modes.
const modeVariable = "OXBOW_TEST_QUERY_MODE"

// clusterSettings trade durability for speed. A crash of PostgreSQL alone loses nothing. A crash of
// the machine can lose data, so the directory of the cluster changes with every boot. The log is
// kept small because it may be in memory.
var clusterSettings = map[string]string{
	"fsync":                     "off",
	"synchronous_commit":        "off",
	"full_page_writes":          "off",
	"wal_level":                 "minimal",
	"max_wal_senders":           "0",
	"max_connections":           "300",
	"max_locks_per_transaction": "64",
	"autovacuum":                "off", // it would block copying and dropping databases
	"shared_buffers":            "256MB",
	"checkpoint_timeout":        "1h",
	"max_wal_size":              "256MB",
	"bgwriter_lru_maxpages":     "0", // most databases are gone before their pages must be written
	"bgwriter_delay":            "10s",
}

// maintenanceDSN returns the connection URL of a database from which others are created. It starts
// the server if necessary.
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

// BinDir returns the directory of the private server's programs, or "" if OXBOW_TEST_DATABASE_URL
// replaces the server.
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
	return server, server.Stop(ctx) // KeepRunning: this only ends our use of it
}

// Stop stops the private server and deletes its databases. It also deletes the files of servers
// that killed tests left behind; such servers stop when their files are gone. With
// OXBOW_TEST_DATABASE_URL it does nothing.
func Stop(ctx context.Context) error {
	err := removeAllBut(ctx, "")
	left, globErr := filepath.Glob(filepath.Join(memoryDir(), "oxbow-test-*"))
	err = errors.Join(err, globErr)
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// removeAllBut removes this user's private servers except those of the current boot, to which keep
// belongs: a server on disk may be in use if it was started when memory was short.
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

// baseDir returns the parent directory of the private server: in memory if there is room, else in
// the user's cache directory. Each test database creates and removes about 600 files, which on ext4
// takes as long as the tests (docs/decisions.md).
func baseDir() (string, error) {
	dir := memoryDir()
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, os.ErrExist) {
		err = nil
	}
	// Every user may write to the parent, so another user could have created it.
	info, statErr := os.Lstat(dir)
	if err == nil && statErr == nil && info.IsDir() && ownedByUs(info) && (hasServer(dir) || roomInMemory(dir)) {
		return dir, nil
	}
	return cacheDir()
}

// hasServer reports whether dir holds a private server of this boot.
func hasServer(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "test-"+bootID()))
	return err == nil
}

// memoryDir returns this user's directory on Linux's shared in-memory file system.
func memoryDir() string { return fmt.Sprintf("/dev/shm/oxbow-%d", os.Geteuid()) }

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// roomInMemory reports whether the file system of dir and the machine's memory both have
// memoryNeeded bytes free.
func roomInMemory(dir string) bool {
	// In bytes, with a margin: a run of all tests took 114 MB when measured.
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

// cacheDir returns the parent directory of a private server on disk.
func cacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/cache/oxbow", nil // the account that runs PostgreSQL cannot enter root's cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("choose a directory for the test databases: %w", err)
	}
	return filepath.Join(dir, "oxbow"), nil
}

// bootID returns an id that changes with every boot.
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

// withDatabase returns the connection string with another database, in either of PostgreSQL's two
// forms.
func withDatabase(dsn, name string) (string, error) {
	return changed(dsn, "dbname="+name, func(u *url.URL, query url.Values) {
		query.Del("dbname") // it would override the path
		query.Del("database")
		u.Path = "/" + name
	})
}

// withLogin returns the connection string with the name and the password of a login.
func withLogin(dsn, login string) (string, error) {
	return changed(dsn, "user="+login+" password="+loginPassword, func(u *url.URL, query url.Values) {
		query.Del("user")
		query.Del("password")
		u.User = url.UserPassword(login, loginPassword)
	})
}

// changed returns a connection string with words appended or, if it is a URL, with its URL changed by change.
func changed(dsn, words string, change func(*url.URL, url.Values)) (string, error) {
	if _, err := pgx.ParseConfig(dsn); err != nil {
		return "", fmt.Errorf("%s: %w", urlVariable, err)
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " " + words, nil // the last of several wins
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("%s: %w", urlVariable, err)
	}
	query := u.Query()
	change(u, query)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String(), nil
}

// withSetting returns the connection string with a parameter, in either of PostgreSQL's two forms. An empty value
// changes nothing.
func withSetting(dsn, name, value string) (string, error) {
	if value == "" {
		return dsn, nil
	}
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " " + name + "=" + value, nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = strings.ReplaceAll(query.Encode(), "%2F", "/")
	return u.String(), nil
}
