package localpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cluster is a directory that holds a database cluster, running or not.
type cluster struct {
	dir     string
	install installation
	account account
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }
func (c *cluster) data() string            { return c.path("data") }

// openCluster finds the directory and the programs for it, and prepares the directory.
func openCluster(cfg Config) (*cluster, error) {
	all := installations()
	dir, install, err := pick(cfg, all)
	if err != nil {
		return nil, err
	}
	if err := refuseForeign(dir); err != nil {
		return nil, err
	}
	acct, err := accountFor(dir)
	if err != nil {
		return nil, err
	}
	if err := makeParents(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	// PostgreSQL stores the real path of its data directory, so comparisons need the real path too.
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(parent, filepath.Base(dir))
	if err := acct.own(dir); err != nil {
		return nil, fmt.Errorf("create the data directory: %w", err)
	}
	if err := acct.reaches(dir); err != nil {
		return nil, err
	}
	return &cluster{dir: dir, install: install, account: acct}, nil
}

// makeParents is os.MkdirAll with mode 0755 whatever the umask: root's umask may keep the account
// out.
func makeParents(dir string) error {
	if exists(dir) {
		return nil
	}
	if err := makeParents(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil // another program created it
		}
		return err
	}
	return os.Chmod(dir, 0o755)
}

// pick chooses directory and programs together: a cluster runs only with the major version that
// created it.
func pick(cfg Config, all []installation) (string, installation, error) {
	if cfg.DataDir != "" {
		dir, err := filepath.Abs(cfg.DataDir)
		if err != nil {
			return "", installation{}, err
		}
		major, err := majorOfData(filepath.Join(dir, "data"))
		if err != nil {
			return "", installation{}, err
		}
		install, err := choose(all, major)
		return dir, install, err
	}
	base := cfg.BaseDir
	if base == "" {
		var err error
		if base, err = defaultBase(); err != nil {
			return "", installation{}, err
		}
	}
	base, err := filepath.Abs(base)
	if err != nil {
		return "", installation{}, err
	}
	return pickDefault(base, all, cfg.Logger)
}

// pickDefault prefers an existing cluster over a newer PostgreSQL: after a system upgrade the data
// stays in use while the old programs are installed.
func pickDefault(base string, all []installation, logger *slog.Logger) (string, installation, error) {
	existing, err := filepath.Glob(filepath.Join(base, "pg-*"))
	if err != nil {
		return "", installation{}, err
	}
	slices.SortFunc(existing, func(a, b string) int {
		return digitsIn(filepath.Base(b)) - digitsIn(filepath.Base(a))
	})
	for _, dir := range existing {
		major, err := majorOfData(filepath.Join(dir, "data"))
		if err != nil {
			return "", installation{}, err
		}
		if major == 0 {
			continue
		}
		if install, err := choose(all, major); err == nil {
			return dir, install, nil
		}
		logger.Warn("skipping the data of another PostgreSQL version, which is not installed or lacks pgvector",
			"directory", dir, "major", major)
	}
	install, err := choose(all, 0)
	return filepath.Join(base, fmt.Sprintf("pg-%d", install.major)), install, err
}

func defaultBase() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/oxbow", nil // the account that runs PostgreSQL cannot enter root's home
	}
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "oxbow"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory for the private PostgreSQL: %w", err)
	}
	return filepath.Join(home, ".local", "share", "oxbow"), nil
}

// majorOfData returns the major version of the data, or 0 without data.
func majorOfData(data string) (int, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the data directory: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s/PG_VERSION contains %q, not a version: the data directory is damaged", data, text)
	}
	return major, nil
}

// refuseForeign returns an error for a directory that this package does not own, above all another
// cluster's.
func refuseForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the data directory: %w", err)
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case name == "PG_VERSION":
			return fmt.Errorf("%s is the data directory of another PostgreSQL cluster: choose another directory", dir)
		case !slices.Contains([]string{"data", "lock", "users", "postgres.log"}, name) &&
			!strings.HasPrefix(name, "initdb-"):
			return fmt.Errorf("%s contains other files (%s): choose an empty directory", dir, name)
		}
	}
	return nil
}

// init runs initdb unless the data exists. It works in a temporary directory and renames it, so
// that a killed initdb leaves nothing that looks like a cluster. The caller holds the lock.
func (c *cluster) init(ctx context.Context, cfg Config) error {
	if exists(filepath.Join(c.data(), "PG_VERSION")) {
		return nil
	}
	cfg.Logger.Info("creating a private PostgreSQL cluster", "directory", c.dir, "major", c.install.major,
		"runs as", c.account.String())
	leftovers, err := filepath.Glob(c.path("initdb-*"))
	if err != nil {
		return err
	}
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	fresh := c.path("initdb-" + strconv.Itoa(os.Getpid()))
	if err := c.account.own(fresh); err != nil {
		return err
	}
	if err := c.initdb(ctx, fresh, cfg.Settings["fsync"] == "off"); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	return os.Rename(fresh, c.data())
}

func (c *cluster) initdb(ctx context.Context, dir string, noSync bool) error {
	var failures []error
	for _, locale := range locales(c.install.major) {
		args := append([]string{"--pgdata=" + dir, "--username=" + superuser, "--encoding=UTF8",
			"--no-instructions", "--auth-local=trust", "--auth-host=reject"}, locale...)
		if noSync {
			args = append(args, "--no-sync")
		}
		cmd := exec.CommandContext(ctx, filepath.Join(c.install.bin, "initdb"), args...)
		cmd.Dir, cmd.Env, cmd.SysProcAttr = c.dir, environment(), c.account.attributes()
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		failures = append(failures, fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(string(out))))
		if ctx.Err() != nil || !strings.Contains(string(out), "invalid locale") {
			break // another locale would not help
		}
	}
	return errors.Join(failures...)
}

// locales lists initdb options for a Unicode-aware cluster that sorts the same on every machine,
// best first.
func locales(major int) [][]string {
	var list [][]string
	if major >= 17 {
		list = append(list, []string{"--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"})
	}
	return append(list, []string{"--locale=C.UTF-8"}, []string{"--locale=en_US.UTF-8"})
}

// environment returns the environment without PGDATA, PGPORT, PGOPTIONS, a foreign HOME and the
// like. LC_ALL keeps messages in English.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}

// socketDir chooses and creates the directory of the Unix socket. The path of the data directory
// may be too long: a socket's whole path is limited to 107 bytes (103 on macOS).
func (c *cluster) socketDir() (string, error) {
	const longest = 103 - len("/.s.PGSQL."+port+".lock")
	base := os.TempDir()
	if c.account.switched {
		base = "/tmp" // the account may not be able to enter root's TMPDIR
	}
	name := fmt.Sprintf("oxbow-%d-%s", c.account.uid, shortHash(c.dir))
	if len(base)+1+len(name) > longest {
		base = "/tmp"
	}
	dir := filepath.Join(base, name)
	if err := c.account.own(dir); err != nil {
		return "", fmt.Errorf("create the socket directory: %w", err)
	}
	return dir, nil
}

// shutdown stops any server running in this directory. The caller holds the lock.
func (c *cluster) shutdown(ctx context.Context) error {
	pm := c.runningPostmaster()
	if pm == nil {
		return nil
	}
	return pm.stop(ctx)
}

// Remove stops the server of a directory and deletes the directory with its contents. It refuses a
// directory that this package did not create.
func Remove(ctx context.Context, dir string) error {
	if err := refuseForeign(dir); err != nil {
		return err
	}
	c, lock, err := lockExisting(ctx, dir)
	if c == nil || err != nil {
		return err
	}
	defer lock.release()
	if err := c.shutdown(ctx); err != nil {
		return err
	}
	return os.RemoveAll(c.dir)
}
