package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// A program starts oxbow mcp and talks to it over its standard streams.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	for _, generation := range []string{"2026-07-28", "2025-11-25"} {
		program := exec.CommandContext(t.Context(), os.Args[0], "mcp", "--user", "ada", "--database-url", d.dsn)
		program.Env = append(os.Environ(), asProgram+"=1")
		var logs bytes.Buffer
		program.Stderr = &logs
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: program},
			&mcp.ClientSessionOptions{ProtocolVersion: generation})
		require.NoError(t, err, "%s", &logs)
		require.Equal(t, generation, session.InitializeResult().ProtocolVersion)
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "add_memory",
			Arguments: map[string]any{"text": "Ada plays the cello."}})
		require.NoError(t, err)
		require.False(t, r.IsError)
		require.NoError(t, session.Close())
		require.Empty(t, logs.String())
	}
	require.Contains(t, d.ok("export", "ada"), "Ada plays the cello.")
}

func TestMCPUsage(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Empty(t)}
	for _, c := range []struct {
		args []string
		code int
		err  string
	}{
		{[]string{"mcp"}, exitUsage, "no user: set --user or OXBOW_USER"},
		{[]string{"mcp", "--user", "\xff"}, exitUsage, "user_id"},
		{[]string{"mcp", "--user", "ada"}, exitFailed, "run oxbow migrate up"},
	} {
		r := d.run(c.args...)
		require.Equal(t, c.code, r.code, r.err)
		require.Contains(t, r.err, c.err)
		require.Empty(t, r.out)
	}
}
