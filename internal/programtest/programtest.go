// Package programtest builds the program for the tests that run it as a process.
package programtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// building is held while the program is built: the tests of a package run at once.
var building sync.Mutex

// Oxbow returns the path of the program, built with the tags from the source as it is. It is not linked again where nothing has
// changed. Each package that tests has a file of its own beside what make build makes, as packages are tested at once and
// nobody may run what another one is writing.
func Oxbow(t testing.TB, tags ...string) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	here, err := os.Getwd()
	require.NoError(t, err)
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	root := strings.TrimSpace(string(dir))
	binary := filepath.Join(root, "bin", strings.Join(append([]string{"oxbow", "for", filepath.Base(here)}, tags...), "-"))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-tags", strings.Join(tags, ","), "-o", binary, "./cli/oxbow").CombinedOutput() //nolint:gosec // what is built is fixed
	require.NoError(t, err, "%s", out)
	return binary
}
