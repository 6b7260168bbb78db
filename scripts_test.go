package oxbow_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All parts of the tests run and are counted, whichever fail.
func TestAllPartsOfTheTestsRun(t *testing.T) {
	t.Parallel()
	for failing, want := range map[string]string{
		"nothing": "parts: 6 passed, 0 failed", "golden": "parts: 5 passed, 1 failed: golden",
		"": "parts: 0 passed, 6 failed: golden sdk onnx onnx-models lab go",
	} {
		dir := t.TempDir()
		text, err := os.ReadFile("scripts/test")
		require.NoError(t, err)
		fake := "#!/bin/sh\necho \"test-sdk go $*\"\ncase \"$*\" in *'" + failing + "'*) exit 1 ;; esac\n"
		for name, text := range map[string]string{"scripts/test": string(text), "scripts/test-sdk": fake, "bin/go": fake} {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "scripts/test"))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		require.Equal(t, failing == "nothing", err == nil, string(out))
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		require.Equal(t, want, lines[len(lines)-1])
	}
}
