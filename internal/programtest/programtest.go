// Package programtest builds the program for the tests that run it as a process.
package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	building sync.Mutex // held while the program is built: the tests of a package run at once
	built    = map[string]bool{}
)

// Oxbow returns the path of the program, built with the tags from the source as it is when the first test of a package asks for it. It
// is not linked again where nothing has changed: packages, which are tested at once, have it in common. What make build makes is
// another file, as nobody may run what a developer is writing.
func Oxbow(t testing.TB, tags ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/oxbow-memory/oxbow").Output()
	require.NoError(t, err)
	root := strings.TrimSpace(string(dir))
	binary := filepath.Join(root, "bin", strings.Join(append([]string{"oxbow", "for", "tests"}, tags...), "-"))
	if built[binary] {
		return binary
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(binary), 0o755))
	lock, err := os.OpenFile(binary+".lock", os.O_RDWR|os.O_CREATE, 0o644)
	require.NoError(t, err)
	defer func() { _ = lock.Close() }() // and with it the lock of the file; nothing was written
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-tags", strings.Join(tags, ","), "-o", binary, "./cli/oxbow").CombinedOutput() // what is built is fixed
	require.NoError(t, err, "%s", out)
	built[binary] = true
	return binary
}
