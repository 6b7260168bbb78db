package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// dev migrates its database before it runs a command on it.
func TestDevRunsACommand(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Empty(t)}
	require.Equal(t, d.dsn, d.ok("dev", "--", "sh", "-c", `printf %s "$DATABASE_URL"`))
	require.Contains(t, d.ok("migrate", "status"), "is ready for this version of oxbow")
	r := d.run("dev", "--", "sh", "-c", "exit 3")
	require.Equal(t, 3, r.code)
	require.Equal(t, "oxbow: sh: exit status 3\n", r.err)
	require.Contains(t, d.run("dev", "--", "no-such-program").err, "no-such-program")
}
