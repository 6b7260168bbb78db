// Package program builds oxbow, for tests and benchmarks that run it as a process.
package program

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

var (
	building sync.Mutex
	built    = map[string]bool{}
)

// Root returns the directory of the source.
func Root(ctx context.Context) (string, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/oxbow-memory/oxbow").Output()
	if err != nil {
		return "", fmt.Errorf("find the source of oxbow: %w", err)
	}
	return strings.TrimSpace(string(dir)), nil
}

// Build returns the path of the program, built with the tags from the source as it is at the first
// call. Processes share the file, and an unchanged program is not linked again. It is not the file
// of make build, which a developer may be writing.
func Build(ctx context.Context, tags ...string) (string, error) {
	building.Lock()
	defer building.Unlock()
	root, err := Root(ctx)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(root, "bin", strings.Join(append([]string{"oxbow", "for", "tests"}, tags...), "-"))
	if built[binary] {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(binary+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-C", root, "-tags", strings.Join(tags, ","), "-o", binary,
		"./cli/oxbow")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build oxbow: %w: %s", err, out)
	}
	built[binary] = true
	return binary, nil
}
