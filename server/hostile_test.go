package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

// run serves on an address, as the program does.
func (b *bench) run(t *testing.T) {
	t.Helper()
	ctx, stop := contextWithCancel(t)
	addresses, stopped := make(chan net.Addr, 1), make(chan error, 1)
	go func() { stopped <- b.server.Run(ctx, func(a net.Addr) { addresses <- a }) }()
	b.url = "http://" + (<-addresses).String()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-stopped)
	})
}

// target is a request to a path, with a kind of credential.
type target struct {
	name, method, path string
	header             string // with the credential
}

// targets are all routes: the operations of openapi.json, MCP, the pages, and paths that do not exist. Each is asked
// without a credential, by a person and by an operator.
func (b *bench) targets(t *testing.T, user string) (all []target) {
	t.Helper()
	methods, _ := operations(t)
	require.ElementsMatch(t, slices.Collect(maps.Keys(methods)), slices.Collect(maps.Keys(cases)))
	sample := &owned{user: user, memory: anID, other: anID, forgotten: anID, merged: anID, erased: anID, trait: anID,
		proof: "0123456789abcdef", job: "1"}
	person, operator := b.key(t, store.RolePerson, user), b.key(t, store.RoleOperator, "")
	cookie := func(user string) string {
		id, err := store.CreatePageSession(t.Context(), b.pool, user, uuid.Nil, time.Hour)
		require.NoError(t, err)
		return "Sec-Fetch-Site: same-origin\r\nCookie: oxbow-session=" + id + "\r\n"
	}
	who := map[string]string{"nobody": "", "person": "Authorization: Bearer " + person + "\r\n" + cookie(user),
		"operator": "Authorization: Bearer " + operator + "\r\n"}
	add := func(name, method, path string) {
		for role, header := range who {
			all = append(all, target{role + " " + name, method, path, header})
		}
	}
	for id, method := range methods {
		add(id, method, "/v1"+cases[id](sample).path)
	}
	for pattern := range pages.Routes() {
		method, path, found := strings.Cut(pattern, " ")
		if !found {
			method, path = http.MethodGet, pattern
		}
		path = strings.NewReplacer("{$}", "", "{id}", anID, "{job}", "1", "{version}", "1").Replace(path)
		add(pattern, method, path)
	}
	for _, path := range []string{"/mcp", "/v1/mcp", "/v1/users/" + user + "/mcp", "/v1/none", "/none", "/v1/users/x",
		"/v1/openapi.json", "/.well-known/oauth-protected-resource", "/.well-known/none", "/static/style.css"} {
		add(path, http.MethodPost, path)
		add(path, http.MethodGet, path)
	}
	return all
}

// send opens a connection and sends the header of a request.
func (b *bench) send(t *testing.T, a target, header string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(waitAtMost)))
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n", a.method, a.path,
		strings.TrimPrefix(b.url, "http://"), a.header, header)
	require.NoError(t, err)
	return c
}

// A request whose body does not come ends, on every route, whoever asks.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.Addr = 1e6, "127.0.0.1:0"
		c.Hurry(500*time.Millisecond, waitAtMost)
	})
	b.run(t)
	open := map[string]net.Conn{}
	for _, a := range b.targets(t, "ada") {
		if a.method == http.MethodPost && strings.HasPrefix(a.path, "/v1/import") && a.header != "" {
			continue // each part of a transfer has its own time
		}
		open[a.name+" "+a.method] = b.send(t, a, "Content-Type: application/json\r\nContent-Length: 1000\r\n")
	}
	for name, c := range open {
		_, err := io.Copy(io.Discard, c)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "%s: still open", name)
	}
}

// Others are answered meanwhile.
func TestManyUnfinishedRequests(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond, c.Addr = 1e6, "127.0.0.1:0" })
	b.run(t)
	good := b.key(t, store.RolePerson, "good")
	for i, targets := 0, b.targets(t, "ada"); i < 300; i++ {
		b.send(t, targets[i%len(targets)], "Content-Type: application/json\r\nContent-Length: 1000\r\n")
	}
	b.add(t, good, object{"content": "Good rows"})
	require.Equal(t, 200, b.do(t, good, http.MethodPost, "/v1/recall", object{"query": "rows"}).status)
	require.Equal(t, 200, b.do(t, good, http.MethodGet, "/login", nil).status)
	require.Equal(t, 200, b.ask(t, "/mcp", map[string]string{"Authorization": "Bearer " + good}).status)
}

// At the limit of connections, those without a credential are closed, and those with one go on.
func TestConnectionsWithoutCredential(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.MaxClients, c.Addr = 3, "127.0.0.1:0" })
	b.run(t)
	known := target{method: http.MethodGet, path: "/v1/settings",
		header: "Authorization: Bearer " + b.key(t, store.RolePerson, "ada") + "\r\n"}
	session, err := store.CreatePageSession(t.Context(), b.pool, "ada", uuid.Nil, time.Hour)
	require.NoError(t, err)
	visitor := target{method: http.MethodGet, path: "/settings", header: "Cookie: oxbow-session=" + session + "\r\n"}
	status := func(c net.Conn) int {
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, r.Body)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		return r.StatusCode
	}
	asked := map[target]net.Conn{known: b.send(t, known, ""), visitor: b.send(t, visitor, "")}
	for _, c := range asked {
		require.Equal(t, 200, status(c))
	}
	var strangers []net.Conn
	for range 5 {
		strangers = append(strangers,
			b.send(t, target{method: http.MethodPost, path: "/v1/memories"}, "Content-Length: 9\r\n"))
	}
	for _, c := range strangers[:4] {
		_, err := io.Copy(io.Discard, c)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	}
	for a, c := range asked {
		_, err := fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: x\r\n%s\r\n", a.method, a.path, a.header)
		require.NoError(t, err)
		require.Equal(t, 200, status(c))
	}
}

// A user of an application's key has limits of its own, and the key has larger ones.
func TestLimitsPerUser(t *testing.T) {
	t.Parallel()
	for surface, path := range map[string]string{"HTTP": "/settings", "MCP": "/mcp"} {
		t.Run(surface, func(t *testing.T) {
			t.Parallel()
			b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 0.2 })
			app := map[string]string{"Authorization": "Bearer " + b.key(t, store.RoleApp, "")}
			status := func(user string) int {
				if surface == "MCP" {
					return b.ask(t, "/v1/users/"+user+path, app).status
				}
				return b.do(t, app["Authorization"][len("Bearer "):], http.MethodGet, "/v1/users/"+user+path, nil).status
			}
			require.Equal(t, 200, status("mallory"))
			require.Eventually(t, func() bool { return status("mallory") == 429 }, waitAtMost, time.Millisecond)
			require.Equal(t, 200, status("ada"))
			n := 0
			require.Eventually(t, func() bool { n++; return status(fmt.Sprint("user", n)) == 429 }, waitAtMost, time.Millisecond)
			require.Equal(t, 200, b.do(t, b.key(t, store.RoleApp, ""), http.MethodGet, "/v1/users/ada/settings", nil).status,
				"another key")
		})
	}
}

// A credential that is not valid costs no query once its address has sent too many of them.
func TestInvalidCredentialsAskNobody(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.TrustedProxies = 0.001, prefixes("127.0.0.0/8")
		c.Issuer, c.Audience, c.ClientID = i.url, "oxbow", "pages"
	})
	other := newIssuer(t)
	key := b.key(t, store.RolePerson, "ada")
	guess := key[:len(key)-4] + "AAAA"
	kinds := map[string]func() []string{}
	for _, path := range []string{"/v1/settings", "/v1/users/ada/settings", "/mcp", "/v1/mcp", "/v1/queue", "/v1/none"} {
		kinds["key "+path] = func() []string { return []string{path, "Authorization", "Bearer " + guess} }
		kinds["token "+path] = func() []string {
			return []string{path, "Authorization", "Bearer " + other.token(t, "ada", nil)}
		}
	}
	for pattern := range pages.Routes() {
		if method, path, _ := strings.Cut(pattern, " "); method == http.MethodGet || path == "" {
			path = strings.NewReplacer("{$}", "", "{id}", anID).Replace(strings.TrimPrefix(pattern, "GET "))
			kinds["session "+path] = func() []string { return []string{path, "Cookie", "oxbow-session=" + uuid.NewString()} }
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(address string, kind func() []string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+kind()[0], nil)
		require.NoError(t, err)
		r.Header.Set("X-Forwarded-For", address)
		r.Header.Set(kind()[1], kind()[2])
		a, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		return a.StatusCode
	}
	address := func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }
	names := slices.Sorted(maps.Keys(kinds))
	for i, name := range names {
		require.NotEqual(t, 429, send(address(i), kinds[name]), name)
	}
	locked, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = locked.Rollback(context.WithoutCancel(t.Context())) })
	_, err = locked.Exec(t.Context(), `lock table oxbow.api_keys, oxbow.page_sessions in access exclusive mode`)
	require.NoError(t, err)
	fetched := i.fetched.Load()
	for i, name := range names {
		require.Equal(t, 429, send(address(i), kinds[name]), name)
	}
	require.Equal(t, fetched, i.fetched.Load())
}

// A session that was valid goes on although its address sends others that are not, until it ends.
func TestKnownSessionsGoOn(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 2 })
	id, err := store.CreatePageSession(t.Context(), b.pool, "ada", uuid.Nil, time.Hour)
	require.NoError(t, err)
	visit := func(id string) int {
		return b.do(t, "", http.MethodGet, "/login", nil, "Cookie", "oxbow-session="+id).status
	}
	require.Equal(t, 200, visit(id), "after a redirect")
	attack := func() {
		require.Eventually(t, func() bool { return visit(uuid.NewString()) == 429 }, waitAtMost, time.Millisecond)
	}
	attack()
	require.Equal(t, 200, visit(id))
	require.NoError(t, store.DeletePageSession(t.Context(), b.pool, id))
	require.Eventually(t, func() bool { return visit(id) == 429 }, waitAtMost, time.Millisecond)
}

// One key and user cannot take all connections to the database with slow requests, on any surface.
func TestShareOfConnections(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.Connections, c.Issuer, c.Audience = 1e6, 5, i.url, "oxbow"
		c.Hurry(time.Minute, 100*time.Millisecond)
	})
	app := b.key(t, store.RoleApp, "")
	forget := func(key, base string) func(user, id string) (int, string) {
		return func(_, id string) (int, string) {
			a := b.do(t, key, http.MethodPost, base+"/memories/"+id+"/forget", nil)
			return a.status, a.header.Get("Retry-After")
		}
	}
	surfaces := map[string]func(user, id string) (int, string){
		"app":    forget(app, "/v1/users/app"),
		"person": forget(b.key(t, store.RolePerson, "person"), "/v1"),
		"token":  forget(i.token(t, "token", nil), "/v1"),
		"batch": func(user, id string) (int, string) { // one that is not a transaction of the client
			a := b.do(t, app, http.MethodPost, "/v1/users/"+user+"/memories/"+id+"/verify", object{"verified": true})
			return a.status, a.header.Get("Retry-After")
		},
		"MCP": func(user, id string) (int, string) {
			text, isError := b.over(t, app, "/v1/users/"+user+"/mcp", generations[0]).call("forget_memory", object{"id": id})
			if isError && strings.Contains(text, "too many requests") {
				return 429, "1"
			}
			return map[bool]int{false: 200, true: 500}[isError], text
		},
		"page": func(user, id string) (int, string) {
			session, err := store.CreatePageSession(t.Context(), b.pool, user, uuid.Nil, time.Hour)
			require.NoError(t, err)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/memories/"+id+"/forget", nil)
			require.NoError(t, err)
			r.Header.Set("Cookie", "oxbow-session="+session)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			a, err := http.DefaultTransport.RoundTrip(r)
			require.NoError(t, err)
			require.NoError(t, a.Body.Close())
			return a.StatusCode, a.Header.Get("Retry-After")
		},
	}
	const share = 3 // of 5
	for name, slow := range surfaces {
		id := b.add(t, i.token(t, name, nil), object{"content": name + " rows"})
		locked, err := b.pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = locked.Exec(t.Context(), `select from oxbow.memories where id = $1 for update`, id)
		require.NoError(t, err)
		var running sync.WaitGroup
		for range share {
			running.Go(func() { slow(name, id) })
		}
		b.blocked(t, share)
		status, retry := slow(name, id)
		require.Equal(t, 429, status, name)
		require.Equal(t, "1", retry, name)
		b.blocked(t, share)
		require.Equal(t, 200, b.do(t, app, http.MethodGet, "/v1/users/good/memories", nil).status, name)
		require.NoError(t, locked.Commit(t.Context()))
		running.Wait()
	}
}

// Nor can a key, whatever users it names.
func TestShareOfKey(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.Connections = 1e6, 5
		c.Hurry(time.Minute, 100*time.Millisecond)
	})
	app := b.key(t, store.RoleApp, "")
	const share = 4 // of 5
	ids := map[string]string{}
	for n := range share {
		user := fmt.Sprint("user", n)
		ids[user] = as[server.Added](t, 200,
			b.do(t, app, http.MethodPost, "/v1/users/"+user+"/memories", object{"content": "x"})).ID.String()
	}
	locked, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `select from oxbow.memories for update`)
	require.NoError(t, err)
	var running sync.WaitGroup
	for user, id := range ids {
		running.Go(func() { b.do(t, app, http.MethodPost, "/v1/users/"+user+"/memories/"+id+"/forget", nil) })
	}
	b.blocked(t, share)
	require.Equal(t, 429, b.do(t, app, http.MethodGet, "/v1/users/another/memories", nil).status)
	require.Equal(t, 200, b.do(t, b.key(t, store.RoleApp, ""), http.MethodGet, "/v1/users/another/memories", nil).status)
	require.NoError(t, locked.Commit(t.Context()))
	running.Wait()
}

// The requests of one key and user that run at once are limited, by their number and by what they send.
func TestRequestsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) {
		c.RequestsPerSecond, c.Addr = 1e6, "127.0.0.1:0"
		c.Hurry(time.Minute, 100*time.Millisecond)
	})
	b.run(t)
	app := b.key(t, store.RoleApp, "")
	for name, c := range map[string]struct {
		header string
		fit    int
	}{
		"small": {"Content-Length: 1000\r\n", 64}, "large": {"Content-Length: 33554432\r\n", 1},
		"unknown": {"Transfer-Encoding: chunked\r\n", 64},
	} {
		unfinished := target{method: http.MethodPost, path: "/v1/users/" + name + "/memories/batch",
			header: "Content-Type: application/json\r\nAuthorization: Bearer " + app + "\r\n"}
		statuses := make(chan int, c.fit+1)
		for range c.fit + 1 { // in any order, one is too many
			connection := b.send(t, unfinished, c.header)
			go func() {
				if r, err := http.ReadResponse(bufio.NewReader(connection), nil); err == nil {
					statuses <- r.StatusCode
					_ = r.Body.Close()
				}
			}()
		}
		require.Equal(t, 429, <-statuses, name)
		require.Equal(t, 200, b.do(t, app, http.MethodGet, "/v1/users/good/settings", nil).status)
	}
}

// blocked waits until so many statements wait for a lock.
func (b *bench) blocked(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return pgtestOne[int](t, b, `select count(*)::int from pg_stat_activity where wait_event_type = 'Lock'
			and datname = current_database()`) == n
	}, waitAtMost, tick)
}
