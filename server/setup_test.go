package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// bench is a server on a database of its own.
type bench struct {
	url    string
	dsn    string
	pool   *pgxpool.Pool // as the owner
	server *server.Server
}

func setup(t testing.TB, change ...func(*server.Config)) *bench {
	t.Helper()
	dsn := pgtest.Database(t)
	cfg := server.Config{DatabaseURL: pgtest.As(t, dsn, "server"), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, c := range change {
		c(&cfg)
	}
	s, err := server.New(t.Context(), cfg)
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { h.Close(); s.Close() })
	return &bench{h.URL, dsn, pgtest.Open(t, dsn, ""), s}
}

// key returns the text of a new key. user is "" unless the role is person.
func (b *bench) key(t testing.TB, role store.Role, user string) string {
	t.Helper()
	_, text, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: role, UserID: user, Name: "test"})
	require.NoError(t, err)
	return text
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do makes a request with a key; body is encoded as JSON unless it is nil, text or bytes. headers are names and values.
func (b *bench) do(t testing.TB, key, method, path string, body any, headers ...string) answer {
	t.Helper()
	var text io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		text = strings.NewReader(body)
	default:
		encoded, err := json.Marshal(body)
		require.NoError(t, err)
		text = bytes.NewReader(encoded)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, text)
	require.NoError(t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, read}
}

// as decodes an answer, which must have the given status.
func as[T any](t testing.TB, status int, a answer) (v T) {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	require.NoError(t, json.Unmarshal(a.body, &v), "%s", a.body)
	return v
}

type object = map[string]any

// page is a page of a list.
type page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next_cursor"`
}

// work runs the jobs that are due.
func (b *bench) work(t testing.TB) {
	t.Helper()
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker"),
		Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))
}

// add adds a memory and returns its id.
func (b *bench) add(t testing.TB, key string, memory object) string {
	t.Helper()
	return as[server.Added](t, 200, b.do(t, key, http.MethodPost, "/v1/memories", memory)).ID.String()
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	return string(text)
}

func contextWithCancel(t testing.TB) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
