package pgenv_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/oxbow-memory/oxbow/internal/pgtest"
)

// The test runs itself with variables. A program that it starts sees none.
func TestNoVariableIsLeft(t *testing.T) {
	t.Parallel()
	for _, variable := range os.Environ() {
		require.False(t, strings.HasPrefix(variable, "PG"), variable)
	}
	const again = "OXBOW_TEST_PGENV"
	if os.Getenv(again) != "" {
		seen, err := exec.CommandContext(t.Context(), "env").Output()
		require.NoError(t, err)
		require.NotContains(t, "\n"+string(seen), "\nPG")
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoVariableIsLeft$")
	cmd.Env = append(os.Environ(), again+"=1", "PGPORT=1", "PGHOST=/nowhere", "PGUSER=x", "PGPASSWORD=x", "PGOPTIONS=-c x",
		"PGSERVICE=x", "PGSSLMODE=require", "PGTARGETSESSIONATTRS=standby", "PGCONNECT_TIMEOUT=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
