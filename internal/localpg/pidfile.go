package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pidFile holds what this package reads from PostgreSQL's postmaster.pid. The file's lines are:
// process id, data directory, start time, port, socket directory, listen address, shared memory
// key, status.
type pidFile struct {
	pid       int // 0 if the file is missing or unreadable
	socketDir string
	ready     bool
}

func readPIDFile(data string) (pidFile, error) {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if errors.Is(err, os.ErrNotExist) {
		return pidFile{}, nil
	}
	if err != nil {
		return pidFile{}, err
	}
	lines := strings.Split(string(text), "\n")
	line := func(n int) string {
		if n > len(lines) {
			return ""
		}
		return strings.TrimSpace(lines[n-1])
	}
	var f pidFile
	if pid, err := strconv.Atoi(line(1)); err == nil && pid > 0 {
		f.pid = pid
	}
	f.socketDir = line(5)
	f.ready = line(8) == "ready"
	return f, nil
}

// runningPostmaster returns the postmaster of this cluster, or nil if none is running.
func (c *cluster) runningPostmaster() *postmaster {
	f, err := readPIDFile(c.data())
	if err != nil || f.pid == 0 || !isPostmaster(f.pid, c.data()) {
		return nil
	}
	return &postmaster{pid: f.pid, data: c.data(), socketDir: f.socketDir}
}

// disarmPIDFile makes a stale postmaster.pid harmless. PostgreSQL refuses to start while a process
// of the same user has the id in the file, and ids are reused after a reboot or in a container.
//
// The file stays, with this program's id: PostgreSQL ignores its parent's id, and still reads the
// shared memory key below it, from which it detects server processes that have outlived their
// postmaster. The caller holds the lock and has checked that no postmaster is running.
func disarmPIDFile(data string) error {
	name := filepath.Join(data, "postmaster.pid")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	if _, err := strconv.Atoi(strings.TrimSpace(first)); err != nil {
		return os.Remove(name) // empty, or truncated by a full disk: PostgreSQL would refuse it
	}
	// Written in place to keep owner and mode.
	return os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())+"\n"+rest), 0o600)
}

// removeSocketFiles removes what a killed server left in its socket directory, for the same reason.
func removeSocketFiles(dir string) error {
	var errs []error
	for _, name := range []string{".s.PGSQL." + port, ".s.PGSQL." + port + ".lock"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
