package oxbow_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An application that imports this package builds the database driver, but no network client, no model
// providers and no cryptography that it does not use. pgx alone is 199 packages.
func TestImportsAreFew(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	packages := strings.Fields(string(out))
	require.LessOrEqual(t, len(packages), 235)
	for _, p := range packages {
		for _, heavy := range []string{"net/http", "github.com/tmc/", "github.com/tink-crypto/",
			"github.com/riverqueue/"} {
			require.False(t, p == heavy || strings.HasPrefix(p, heavy) && strings.HasSuffix(heavy, "/"), p)
		}
	}
}
