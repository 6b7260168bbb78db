package server_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// ask makes the first request of a session, with the given headers.
func (b *bench) ask(t *testing.T, path string, headers map[string]string) answer {
	t.Helper()
	text := strings.NewReader(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": ` +
		`"2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+path, text)
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return answer{status: response.StatusCode, header: response.Header}
}

// A request needs a valid key of the right user. An answer without one says where the metadata is.
func TestMCPKeys(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.MCPSessions = time.Hour })
	ada, app := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleApp, "")
	revoked, revokedText, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RoleApp,
		Name: "revoked"})
	require.NoError(t, err)
	require.NoError(t, store.RevokeAPIKey(t.Context(), b.pool, revoked.ID))

	const users = "/v1/users/"
	for _, c := range []struct {
		key, path string
		status    int
	}{
		{ada, "/mcp", 200}, {ada, "/v1/mcp", 200}, {ada, users + "ada/mcp", 200}, {app, users + "ada/mcp", 200},
		{ada, users + "bob/mcp", 403}, {app, "/mcp", 400}, {app, "/v1/mcp", 400}, {app, users + "%00/mcp", 422},
		{"", "/mcp", 401}, {"oxb_nonsense", "/mcp", 401}, {b.expired(t), "/mcp", 401}, {revokedText, users + "ada/mcp", 401},
	} {
		headers := map[string]string{}
		if c.key != "" {
			headers["Authorization"] = "Bearer " + c.key
		}
		got := b.ask(t, c.path, headers)
		require.Equal(t, c.status, got.status, "%s %s", c.key, c.path)
		challenge := got.header.Get("WWW-Authenticate")
		if c.status != 401 {
			require.Empty(t, challenge)
			continue
		}
		require.Contains(t, challenge, `resource_metadata="`+b.url+"/.well-known/oauth-protected-resource"+c.path+`"`)
		require.Equal(t, c.key != "", strings.Contains(challenge, `error="invalid_token"`))
	}
}

// A batch would be many requests for the price of one.
func TestMCPBatch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, 400, b.do(t, b.key(t, store.RolePerson, "ada"), http.MethodPost, "/mcp", []object{}).status)
}

// A session belongs to the key and the user that began it.
func TestMCPSessionOfAnother(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.MCPSessions = time.Hour })
	app, bob := b.key(t, store.RoleApp, ""), b.key(t, store.RolePerson, "bob")
	begun := b.ask(t, "/v1/users/ada/mcp", map[string]string{"Authorization": "Bearer " + app})
	session := begun.header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	for _, c := range []struct {
		key, path string
		status    int
	}{{app, "/v1/users/ada/mcp", 200}, {app, "/v1/users/bob/mcp", 403}, {bob, "/mcp", 403}} {
		got := b.ask(t, c.path, map[string]string{"Authorization": "Bearer " + c.key, "Mcp-Session-Id": session})
		require.Equal(t, c.status, got.status, "%s", c.path)
	}
	require.Empty(t, setup(t).ask(t, "/mcp", nil).header.Get("Mcp-Session-Id"), "sessions are a setting")
}

// A process keeps a limited number of sessions.
func TestMCPTooManySessions(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.MCPSessions, c.MCPMaxSessions = time.Hour, 1 })
	key := map[string]string{"Authorization": "Bearer " + b.key(t, store.RolePerson, "ada")}
	first := b.ask(t, "/mcp", key)
	require.Equal(t, 200, first.status)
	require.Equal(t, 503, b.ask(t, "/mcp", key).status)
	key["Mcp-Session-Id"] = first.header.Get("Mcp-Session-Id")
	require.Equal(t, 200, b.ask(t, "/mcp", key).status, "a request of the session")
}

func TestMCPMetadata(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.PublicURL, c.Issuer = "https://memory.example/", "https://issuer.example" })
	const path = "/.well-known/oauth-protected-resource"
	for resource, want := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/v1/mcp": "/v1/mcp",
		"/v1/users/ada/mcp": "/v1/users/ada/mcp"} {
		got := as[object](t, 200, b.do(t, "", http.MethodGet, path+resource, nil))
		require.Equal(t, object{"resource": "https://memory.example" + want, "resource_name": "Oxbow",
			"authorization_servers": []any{"https://issuer.example"}, "bearer_methods_supported": []any{"header"}}, got)
	}
	require.Equal(t, 404, b.do(t, "", http.MethodGet, path+"/v1/memories", nil).status)
}

// Pages of other origins, and pages that call this machine by their own name, are refused.
func TestMCPOrigins(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) {
		c.Origins, c.PublicURL = []string{"https://friend.example"}, "https://memory.example"
	})
	ada := "Bearer " + b.key(t, store.RolePerson, "ada")
	for _, c := range []struct {
		origin, host string
		status       int
	}{
		{"", "", 200}, {b.url, "", 200}, {"https://friend.example", "", 200},
		{"https://memory.example", "memory.example", 200},
		{"https://evil.example", "", 403}, {"https://evil.example", "evil.example", 403}, {"null", "", 403},
	} {
		headers := map[string]string{"Authorization": ada}
		if c.origin != "" {
			headers["Origin"] = c.origin
		}
		if c.host != "" {
			headers["Host"] = c.host
		}
		require.Equal(t, c.status, b.ask(t, "/mcp", headers).status, "%+v", c)
	}
}

// Calls of tools are in the log of accesses, with the id that they concern.
func TestMCPAudit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[0])
	a := must[server.Added](m, "add_memory", object{"content": "Ada sails."})
	must[memory](m, "get_memory", object{"memoryId": a.ID})
	_, isError := m.call("get_memory", object{"id": uuid.New()})
	require.True(t, isError)
	_, err := m.session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "oxbow://memories/" + a.ID.String()})
	require.NoError(t, err)
	b.server.Close() // which writes what waits
	entries, err := store.Collect[string](t.Context(), b.pool, `select format('%s %s %s', operation, status,
		coalesce(target = $1, false)) from oxbow.api_log where user_id = 'ada' and role = 'person' and key_id is not null
		order by id`, a.ID.String())
	require.NoError(t, err)
	require.Equal(t, []string{"add_memory 200 f", "get_memory 200 t", "get_memory 404 f", "get_memory 200 t"}, entries)
}

// An open stream ends when the server stops.
func TestMCPStreamEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.MCPSessions, c.Addr = time.Hour, "127.0.0.1:0" })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done, address := make(chan error, 1), make(chan string, 1)
	go func() { done <- b.server.Run(ctx, func(a net.Addr) { address <- a.String() }) }()
	b.url = "http://" + <-address
	key := "Bearer " + b.key(t, store.RolePerson, "ada")
	session := b.ask(t, "/mcp", map[string]string{"Authorization": key}).header.Get("Mcp-Session-Id")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/mcp", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", key)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Mcp-Session-Id", session)
	stream, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer stream.Body.Close()
	require.Equal(t, 200, stream.StatusCode)
	stop()
	require.NoError(t, <-done)
}
