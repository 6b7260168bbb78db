// Package programtest builds the program for the tests that run it as a process.
package programtest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Oxbow returns the path of the program, built with the tags from the source as it is. It is not linked again where nothing has
// changed, and so it lies beside what make build makes: all packages share it.
func Oxbow(t testing.TB, tags ...string) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	require.NoError(t, err)
	root := strings.TrimSpace(string(dir))
	binary := filepath.Join(root, "bin", strings.Join(append([]string{"test", "oxbow"}, tags...), "-"))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", root, "-tags", strings.Join(tags, ","), "-o", binary, "./cli/oxbow").CombinedOutput() //nolint:gosec // what is built is fixed
	require.NoError(t, err, "%s", out)
	return binary
}
