package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go examples of docs/contributing.md compile in the packages that they are for.
func TestContributingCompiles(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs/contributing.md"))
	require.NoError(t, err)
	parts := strings.Split(string(page), "```go\n")
	require.Len(t, parts, 3, "examples and their number in this test differ")

	dir := t.TempDir()
	replace := map[string]string{}
	for i, example := range []struct{ path, head string }{
		{"jobs/example.go", "package jobs\nimport (\"context\"; \"time\"; \"github.com/riverqueue/river\")\n"},
		{"cli/oxbow/example.go", "package main\nimport (\"context\"; \"github.com/spf13/cobra\")\n"},
	} {
		code, _, _ := strings.Cut(parts[i+1], "```\n")
		code = strings.ReplaceAll(code, "entitiesCommand", "exampleCommand") // the program has the former
		file := filepath.Join(dir, filepath.Base(filepath.Dir(example.path))+".go")
		require.NoError(t, os.WriteFile(file, []byte(example.head+code), 0o600))
		replace[filepath.Join(root, example.path)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	cmd := exec.CommandContext(t.Context(), "go", "build", "-overlay", file, "./jobs", "./cli/oxbow")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
