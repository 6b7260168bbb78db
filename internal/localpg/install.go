package localpg

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// binGlobs are the usual locations of PostgreSQL's programs, one directory per major version.
var binGlobs = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/lib/postgresql[1-9]*/bin",                      // SUSE
	"/usr/pgsql-*/bin",                                   // Red Hat (PGDG)
	"/usr/libexec/postgresql[1-9]*",                      // Alpine
	"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew, Apple silicon
	"/usr/local/opt/postgresql@*/bin",                    // Homebrew, Intel
	"/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin",    // Homebrew, Linux
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/opt/local/lib/postgresql*/bin",                     // MacPorts
	"/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin", // from source, FreeBSD, Arch
}

// installation is a PostgreSQL installed on this machine.
type installation struct {
	bin    string // directory of postgres and initdb
	major  int
	vector string // pgvector's version, or "" if it is not installed for this PostgreSQL
}

func (in installation) String() string {
	vector := "without pgvector"
	if in.vector != "" {
		vector = "pgvector " + in.vector
	}
	return fmt.Sprintf("PostgreSQL %d in %s (%s)", in.major, in.bin, vector)
}

func (in installation) usable() bool {
	return in.major >= minMajor && vectorIsRecent(in.vector)
}

// installations lists the installations on this machine in order of preference: that of pg_config,
// then the system directories, newest version first, then PATH.
func installations() []installation {
	var dirs []string
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	var known []string
	for _, glob := range binGlobs {
		matches, _ := filepath.Glob(glob) // the only error is a malformed pattern
		known = append(known, matches...)
	}
	slices.SortStableFunc(known, func(a, b string) int { return cmp.Compare(digitsIn(b), digitsIn(a)) })
	dirs = append(dirs, known...)
	dirs = append(dirs, filepath.SplitList(os.Getenv("PATH"))...)
	return inspect(dirs)
}

func inspect(dirs []string) []installation {
	var found []installation
	seen := map[string]bool{}
	for _, dir := range dirs {
		postgres, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
		if err != nil {
			continue
		}
		bin := filepath.Dir(postgres)
		if seen[bin] || !exists(filepath.Join(bin, "initdb")) {
			continue
		}
		seen[bin] = true
		if major, err := majorOf(postgres); err == nil {
			found = append(found, installation{bin: bin, major: major, vector: vectorOf(bin, major)})
		}
	}
	return found
}

var majorPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

func majorOf(postgres string) (int, error) {
	out, err := exec.Command(postgres, "--version").Output()
	if err != nil {
		return 0, err
	}
	m := majorPattern.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s --version printed %q", postgres, out)
	}
	return strconv.Atoi(string(m[1]))
}

var versionPattern = regexp.MustCompile(`(?m)^\s*default_version\s*=\s*'([^']+)'`)

// vectorOf returns the version in vector's control file, or "" without one.
func vectorOf(bin string, major int) string {
	shares := []string{
		fmt.Sprintf("/usr/share/postgresql/%d", major),
		filepath.Join(bin, "../share/postgresql"),
		filepath.Join(bin, "../share"),
	}
	if out, err := exec.Command(filepath.Join(bin, "pg_config"), "--sharedir").Output(); err == nil {
		shares = []string{strings.TrimSpace(string(out))} // the only reliable answer
	}
	for _, share := range shares {
		control, err := os.ReadFile(filepath.Join(share, "extension", "vector.control"))
		if err != nil {
			continue
		}
		if m := versionPattern.FindSubmatch(control); m != nil {
			return string(m[1])
		}
	}
	return ""
}

// vectorIsRecent reports whether the version is 0.8 or newer, the first with iterative index scans.
func vectorIsRecent(version string) bool {
	majorText, rest, _ := strings.Cut(version, ".")
	minorText, _, _ := strings.Cut(rest, ".")
	major, err := strconv.Atoi(majorText)
	if err != nil {
		return false
	}
	minor, _ := strconv.Atoi(minorText)
	return major > 0 || minor >= 8
}

// choose returns the first usable installation, of the given major version unless that is 0.
func choose(all []installation, major int) (installation, error) {
	for _, in := range all {
		if in.usable() && (major == 0 || in.major == major) {
			return in, nil
		}
	}
	return installation{}, missing(all, major)
}

// missing returns an error that says what is missing and how to install it.
func missing(all []installation, major int) error {
	text := "the private database requires PostgreSQL 15 or newer with pgvector 0.8 or newer"
	if major != 0 {
		text = fmt.Sprintf("the data directory requires PostgreSQL %d with pgvector 0.8 or newer", major)
	}
	if len(all) == 0 {
		text += "; no PostgreSQL server is installed"
	} else {
		names := make([]string, len(all))
		for i, in := range all {
			names[i] = in.String()
		}
		text += "; installed: " + strings.Join(names, ", ")
	}
	return errors.New(text + ". " + howToInstall(all, major))
}

func howToInstall(all []installation, major int) string {
	want := major
	for _, in := range all {
		if want == 0 && in.major >= minMajor {
			want = in.major // only the extension is missing
		}
	}
	version := "17"
	if want != 0 {
		version = strconv.Itoa(want)
	}
	hint := fmt.Sprintf("On Debian and Ubuntu: `make setup` in Oxbow's source, or "+
		"`apt-get install postgresql-%s postgresql-%s-pgvector`. "+
		"With Homebrew: `brew install postgresql@%s pgvector`.", version, version, version)
	if runtime.GOOS == "darwin" {
		hint = fmt.Sprintf("Install with Homebrew: `brew install postgresql@%s pgvector`.", version)
	}
	return hint + " Or set DATABASE_URL to an existing database."
}

func digitsIn(path string) int {
	digits := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, path)
	n, _ := strconv.Atoi(digits) // 0 for a directory without a version, which sorts last
	return n
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
