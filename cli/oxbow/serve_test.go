package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// watched is an output that reports what is written to it.
type watched struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case w.wrote <- struct{}{}:
	default:
	}
	return w.text.Write(p)
}

// after waits for text and returns the rest of its line.
func (w *watched) after(t *testing.T, text string) string {
	t.Helper()
	for timeout := time.After(time.Minute); ; {
		w.mu.Lock()
		_, rest, found := strings.Cut(w.text.String(), text)
		line, _, complete := strings.Cut(rest, "\n")
		w.mu.Unlock()
		if found && complete {
			return line
		}
		select {
		case <-w.wrote:
		case <-timeout:
			t.Fatalf("no %q in %q", text, w.text.String())
		}
	}
}

// start runs a command until the returned function is called, which returns the exit code.
func start(t *testing.T, out *watched, args ...string) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, args, &app{in: strings.NewReader(""), out: out, err: io.Discard}) }()
	return func() int { cancel(); return <-ended }
}

func TestServeAndKeys(t *testing.T) {
	t.Parallel()
	d := on{t, pgtest.Database(t)}
	key := strings.TrimSpace(d.ok("keys", "api", "create", "--user", "ada", "--name", "phone", "--expires", "90d"))
	require.True(t, strings.HasPrefix(key, "oxb_"))
	require.Contains(t, d.run("keys", "api", "create", "--role", "app", "--user", "ada", "--name", "x").err, "user_id")
	list := d.ok("keys", "api", "list")
	require.Contains(t, list, "phone")
	require.NotContains(t, list, key)

	out := &watched{wrote: make(chan struct{}, 1)}
	stop := start(t, out, "serve", "--database-url", pgtest.As(t, d.dsn, "server"), "--addr", "127.0.0.1:0")
	url := out.after(t, "Serving ")
	get := func() int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/settings", nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		return answer.StatusCode
	}
	require.Equal(t, 200, get())
	id := regexp.MustCompile(`[0-9a-f-]{36}`).FindString(list)
	d.ok("keys", "api", "revoke", id)
	require.Equal(t, 401, get())
	require.Contains(t, d.run("keys", "api", "revoke", someID).err, "no API key")
	require.Zero(t, stop())
}

func TestPrintOpenAPI(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("../../server/openapi.json")
	require.NoError(t, err)
	require.Equal(t, string(committed), cli(t, "serve", "--print-openapi").out)
}

func TestDevServes(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Empty(t)
	out := &watched{wrote: make(chan struct{}, 1)}
	stop := start(t, out, "dev", "--database-url", dsn, "--addr", "127.0.0.1:0")
	url := out.after(t, "Serving ")
	answer, err := http.Get(url + "/health")
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, 200, answer.StatusCode)
	require.Zero(t, stop())
}
