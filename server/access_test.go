package server_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// panicking is a tracer with which each call of the Go client panics inside a request.
type panicking struct{ noop.TracerProvider }

func (p panicking) Tracer(name string, _ ...trace.TracerOption) trace.Tracer {
	return panickingTracer{provider: p, panics: !strings.HasSuffix(name, "/server")}
}

type panickingTracer struct {
	noop.Tracer
	provider panicking
	panics   bool
}

func (p panickingTracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	if p.panics {
		panic("no " + name)
	}
	span := panickingSpan{provider: p.provider}
	return trace.ContextWithSpan(ctx, span), span
}

type panickingSpan struct {
	noop.Span
	provider panicking
}

func (p panickingSpan) TracerProvider() trace.TracerProvider { return p.provider }

// Each operation that reads or changes a user's data is in the log, also if it panics or its client leaves at once.
func TestEachOperationIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	broken, err := server.New(t.Context(), server.Config{DatabaseURL: b.dsn, RequestsPerSecond: 1e6,
		TracerProvider: panicking{}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	h := httptest.NewServer(broken.Handler())
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(func() { h.Close(); broken.Close() })
	o := b.owner(t, "ada")
	key, secret, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "x"})
	require.NoError(t, err)
	logged := func(operation string) []string {
		found, err := store.Collect[string](t.Context(), b.pool, `select status::text from oxbow.api_log
			where user_id = 'ada' and operation = $1 and key_id = $2 order by id`, operation, key.ID)
		require.NoError(t, err)
		return found
	}
	methods, operators := operations(t)
	send := func(b *bench, id string) *wire {
		r := cases[id](o)
		if id == eraseUser {
			r.body = object{"user_id": "another"} // the log of an erased user is erased
		}
		body, ok := r.body.(string)
		if !ok && r.body != nil {
			body = jsonText(t, r.body)
		}
		w := b.dial(t, methods[id], "/v1"+r.path, "Authorization: Bearer "+secret, "Content-Type: application/json",
			fmt.Sprint("Content-Length: ", len(body)))
		_, err := io.WriteString(w, body)
		require.NoError(t, err)
		return w
	}
	panics, statuses := 0, map[string]string{}
	for id := range methods {
		if id == "health" || slices.Contains(operators, id) {
			continue // nobody's data
		}
		statuses[id], _, _ = strings.Cut(send(&bench{url: h.URL}, id).status(), " ")
		if statuses[id] == "" { // the connection was closed
			statuses[id] = "500"
			panics++
		}
	}
	require.Greater(t, panics, 5)
	for id, status := range statuses {
		require.Eventually(t, func() bool { return len(logged(id)) == 1 }, waitAtMost, tick, id)
		require.Equal(t, status, logged(id)[0], id)
		// the key is remembered, because who has left cannot be looked up
		require.Equal(t, 404, b.do(t, secret, http.MethodGet, "/v1/nothing", nil).status)
		require.NoError(t, send(b, id).Close())
	}
	for id := range statuses {
		require.Eventually(t, func() bool { return len(logged(id)) == 2 }, waitAtMost, tick, id)
	}
}

// A tool that panics says that it failed, is in the log, and leaves the server running.
func TestEachToolIsLogged(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.TracerProvider, c.Logger = 1e6, panicking{}, slog.New(slog.DiscardHandler)
	})
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[0])
	tools := toolNames(m)
	for _, tool := range tools {
		m.call(tool, object{})
	}
	text, isError := m.call("add_memory", object{"content": "Ada rows"})
	require.True(t, isError)
	require.Contains(t, text, "unexpected error")
	b.server.Close() // which writes what waits
	found, err := store.Collect[string](t.Context(), b.pool,
		`select distinct operation from oxbow.api_log where user_id = 'ada'`)
	require.NoError(t, err)
	require.ElementsMatch(t, tools, found)
	require.Positive(t, pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where status = 500`))
}
