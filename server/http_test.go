package server_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

func TestETag(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	path := "/v1/memories/" + b.add(t, ada, object{"content": "Ada rows"})
	first := b.do(t, ada, http.MethodGet, path, nil)
	etag := first.header.Get("ETag")
	require.NotEmpty(t, etag)
	same := b.do(t, ada, http.MethodGet, path, nil, "If-None-Match", `"other", `+etag)
	require.Equal(t, 304, same.status)
	require.Empty(t, same.body)
	require.Equal(t, etag, same.header.Get("ETag"))
	require.Equal(t, 200, b.do(t, ada, http.MethodPost, path+"/verify", object{"verified": true}).status)
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, path, nil, "If-None-Match", etag).status, "it has changed")
	missing := b.do(t, ada, http.MethodGet, path[:len(path)-1]+"0", nil, "If-None-Match", "*")
	require.Contains(t, []int{200, 304, 404}, missing.status)
	require.Empty(t, b.do(t, ada, http.MethodPost, "/v1/recall", object{"query": "x"}).header.Get("ETag"))
}

func TestLimitsOfRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 2 })
	ada := b.key(t, store.RolePerson, "ada")
	large := b.do(t, ada, http.MethodPost, "/v1/memories", object{"content": strings.Repeat("x", 3<<20)})
	require.Equal(t, 413, large.status)
	require.Equal(t, "application/problem+json", large.header.Get("Content-Type"))
	require.Equal(t, 400, b.do(t, ada, http.MethodPost, "/v1/memories", "{not json").status)
	var refused answer
	for range 6 {
		if refused = b.do(t, ada, http.MethodGet, "/v1/settings", nil); refused.status != 200 {
			break
		}
	}
	require.Equal(t, 429, refused.status)
	require.Contains(t, string(refused.body), "too many requests")
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	require.Equal(t, 200, b.do(t, b.key(t, store.RolePerson, "ada"), http.MethodGet, "/v1/settings", nil).status, "another key")
}

func TestCompressionIDsAndOrigins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	path := "/v1/memories/" + b.add(t, ada, object{"content": strings.Repeat("Ada rows. ", 1000)})
	packed := b.do(t, ada, http.MethodGet, path, nil, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", packed.header.Get("Content-Encoding"))
	require.Less(t, len(packed.body), 2000)
	require.Equal(t, "my-id.1", b.do(t, ada, http.MethodGet, path, nil, "X-Request-Id", "my-id.1").header.Get("X-Request-Id"))
	require.Len(t, b.do(t, ada, http.MethodGet, path, nil, "X-Request-Id", "<script>").header.Get("X-Request-Id"), 36)
	foreign := b.do(t, ada, http.MethodGet, path, nil, "Origin", "https://app.example")
	require.Empty(t, foreign.header.Get("Access-Control-Allow-Origin"))
	document := b.do(t, "", http.MethodGet, "/v1/openapi.json", nil)
	require.Equal(t, 200, document.status)
	require.Equal(t, 401, b.do(t, "", http.MethodGet, "/v1/no-such-path", nil).status)
	require.Equal(t, 404, b.do(t, ada, http.MethodGet, "/v1/no-such-path", nil).status)
	require.Equal(t, 404, b.do(t, ada, http.MethodGet, "/no-such-page", nil).status)
	require.Equal(t, 405, b.do(t, ada, http.MethodDelete, "/v1/recall", nil).status)

	open := setup(t, func(c *server.Config) { c.Origins = []string{"https://app.example"} })
	asked := open.do(t, "", http.MethodOptions, "/v1/recall", nil, "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	require.Equal(t, "https://app.example", asked.header.Get("Access-Control-Allow-Origin"))
	asked = open.do(t, "", http.MethodOptions, "/v1/recall", nil, "Origin", "https://evil.example",
		"Access-Control-Request-Method", "POST")
	require.Empty(t, asked.header.Get("Access-Control-Allow-Origin"))
}

func TestKeysEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	get := func(key string) int { return b.do(t, key, http.MethodGet, "/v1/settings", nil).status }
	key, text, err := store.CreateAPIKey(t.Context(), b.pool,
		store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "phone"})
	require.NoError(t, err)
	require.Equal(t, 200, get(text))
	require.Equal(t, 401, get(text[:len(text)-2]+"AA"), "another secret")
	require.NoError(t, store.RevokeAPIKey(t.Context(), b.pool, key.ID))
	require.Equal(t, 401, get(text))
	require.Equal(t, 401, get(b.expired(t)))
}

// expired returns the text of Ada's key that has expired.
func (b *bench) expired(t *testing.T) string {
	t.Helper()
	key, text, err := store.CreateAPIKey(t.Context(), b.pool,
		store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "old"})
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `update oxbow.api_keys set created_at = now() - interval '2 days',
		expires_at = now() - interval '1 day' where id = $1`, key.ID)
	require.NoError(t, err)
	return text
}

// While the database cannot be reached, requests are told to try again, and it need not be started again.
func TestDatabaseGone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/settings", nil).status)
	name := pgtestOne[string](t, b, `select current_database()`)
	admin := pgtest.Open(t, pgtest.Database(t), "")
	allow := func(yes string) {
		_, err := admin.Exec(t.Context(), `alter database `+name+` allow_connections `+yes)
		require.NoError(t, err)
	}
	allow("false")
	t.Cleanup(func() { _, _ = admin.Exec(context.Background(), `alter database `+name+` allow_connections true`) })
	_, err := admin.Exec(t.Context(),
		`select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = $1`, name)
	require.NoError(t, err)
	for _, path := range []string{"/v1/settings", "/v1/health", "/v1/memories"} {
		for range 3 { // each connection of the pool notices
			a := b.do(t, ada, http.MethodGet, path, nil)
			require.Equal(t, 503, a.status, "%s", a.body)
			require.Equal(t, "1", a.header.Get("Retry-After"))
			require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
			require.NotContains(t, string(a.body), name)
		}
	}
	allow("true")
	require.Eventually(t, func() bool { return b.do(t, ada, http.MethodGet, "/v1/settings", nil).status == 200 },
		waitAtMost, tick)
}

// A running request is answered when the server is told to stop, and new ones are not taken.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	s, err := server.New(t.Context(), server.Config{DatabaseURL: pgtest.As(t, b.dsn, "server"), Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	locked, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	id := b.add(t, ada, object{"content": "Ada rows"})
	_, err = locked.Exec(t.Context(), `select from oxbow.memories for update`)
	require.NoError(t, err)
	ctx, stop := contextWithCancel(t)
	addresses, stopped := make(chan net.Addr, 1), make(chan error, 1)
	go func() { stopped <- s.Run(ctx, func(a net.Addr) { addresses <- a }) }()
	running := bench{url: "http://" + (<-addresses).String()}
	answers := make(chan answer, 1)
	go func() { answers <- running.do(t, ada, http.MethodPost, "/v1/memories/"+id+"/forget", nil) }()
	require.Eventually(t, func() bool {
		return pgtestOne[int](t, b, `select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'
			and datname = current_database()`) > 0
	}, waitAtMost, tick)
	stop()
	require.NoError(t, locked.Commit(t.Context()))
	require.Equal(t, 200, (<-answers).status)
	require.NoError(t, <-stopped)
}
