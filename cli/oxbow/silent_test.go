package main

import (
	"net"
	"os"
	"path/filepath"
	"slices"
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
	file := filepath.Join(t.TempDir(), "file.txt")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	// The arguments of commands that need others than those in their synopsis, and commands that need no database or,
	// first, keys.
	arguments := map[string][]string{"eval": {"--user", "ada"}, "mcp": {"--user", "ada"}, "tier": {"ada", someID, "core"},
		"ingest": {file, "--user", "ada"}, "erase": {"ada", "--yes"}, "trait delete": {someID, "--yes"},
		"trait edit": {someID, "--content", "x"}, "migrate down": {"--yes"},
		"keys api create": {"--user", "ada", "--name", "x"}}
	offline := map[string]bool{"help": true, "health": true, "keys new": true, "keys add": true, "keys encrypt": true,
		"rotate-keys": true}
	var waits sync.WaitGroup
	var visit func(*cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if !c.Runnable() || c.HasSubCommands() {
			return
		}
		path := strings.TrimPrefix(c.CommandPath(), "oxbow ")
		if offline[path] {
			delete(offline, path)
			return
		}
		var args []string
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
		if special, ok := arguments[path]; ok {
			args = special
		}
		args = slices.Concat(strings.Fields(path), args, []string{"--database-url", url})
		waits.Go(func() {
			r := cli(t, args...)
			assert.Equal(t, exitFailed, r.code, args)
			assert.Contains(t, r.err, "did not answer in time", args)
		})
	}
	visit(rootCommand(&app{}))
	waits.Wait()
	require.Empty(t, offline, "commands that do not exist")
}
