package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// No command waits for ever for a PostgreSQL that accepts connections and says nothing.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }() // the kernel accepts
	url := "postgres://ada@" + listener.Addr().String() + "/ada?sslmode=disable"
	offline := map[string]bool{"help": true, "health": true, "keys new": true, "keys add": true, "keys encrypt": true,
		"rotate-keys": true}
	var waits sync.WaitGroup
	for path, line := range commandLines(t) {
		if offline[path] {
			delete(offline, path)
			continue
		}
		args := append(line.args, "--database-url", url)
		waits.Go(func() {
			r := cli(t, args...)
			assert.Equal(t, exitFailed, r.code, args)
			assert.Contains(t, r.err, "did not answer in time", args)
		})
	}
	waits.Wait()
	require.Empty(t, offline, "commands that do not exist")
}

// commandLine is a command with arguments that are valid.
type commandLine struct {
	*cobra.Command
	args []string
}

// commandLines returns a line for each command, by its name.
func commandLines(t *testing.T) map[string]commandLine {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file.txt")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	// The arguments of commands that need others than those in their synopsis.
	arguments := map[string][]string{"eval": {"--user", "ada"}, "mcp": {"--user", "ada"}, "tier": {"ada", someID, "core"},
		"ingest": {file, "--user", "ada"}, "erase": {"ada", "--yes"}, "trait delete": {someID, "--yes"},
		"trait edit": {someID, "--content", "x"}, "migrate down": {"--yes"},
		"keys api create": {"--user", "ada", "--name", "x"}}
	lines := map[string]commandLine{}
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if !c.Runnable() || c.HasSubCommands() {
			return
		}
		path := strings.TrimPrefix(c.CommandPath(), "oxbow ")
		args := strings.Fields(path)
		if special, ok := arguments[path]; ok {
			lines[path] = commandLine{c, append(args, special...)}
			return
		}
		for _, word := range strings.Fields(strings.TrimPrefix(c.Use, c.Name())) {
			switch word = strings.TrimSuffix(word, "..."); word {
			case "USER":
				args = append(args, "ada")
			case "ID":
				args = append(args, someID)
			case "FILE":
				args = append(args, file)
			case strings.ToUpper(word):
				if word[0] != '[' && word[0] != '-' {
					args = append(args, "text")
				}
			}
		}
		lines[path] = commandLine{c, args}
	}
	visit(rootCommand(&app{}))
	return lines
}
