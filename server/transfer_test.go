package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

// wire is a connection whose client reads and writes as slowly as it likes.
type wire struct {
	*net.TCPConn
	in *bufio.Reader
}

// dial sends the head of a request. headers are lines.
func (b *bench) dial(t testing.TB, method, path string, headers ...string) *wire {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(b.url, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", method, path, strings.Join(headers, "\r\n"))
	require.NoError(t, err)
	return &wire{conn.(*net.TCPConn), bufio.NewReader(conn)}
}

// awaited are the headers of a body that is sent once the server asks for it, which status returns.
const awaited = "Transfer-Encoding: chunked\r\nExpect: 100-continue"

// status returns the next line with a status.
func (w *wire) status() string {
	for {
		line, err := w.in.ReadString('\n')
		if err != nil || strings.HasPrefix(line, "HTTP/1.1 ") {
			return strings.TrimPrefix(strings.TrimSpace(line), "HTTP/1.1 ")
		}
	}
}

// chunk sends a part of a body.
func (w *wire) chunk(text string) error {
	_, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(text), text)
	return err
}

// transactions counts those of the server that are open.
func (b *bench) transactions(t *testing.T) int {
	t.Helper()
	return pgtestOne[int](t, b, `select count(*)::int from pg_stat_activity where datname = current_database()
		and application_name = 'oxbow serve' and xact_start is not null`)
}

// fill gives a user more data than the buffers of a connection hold.
func (b *bench) fill(t testing.TB, user string) {
	t.Helper()
	_, err := b.pool.Exec(t.Context(), `insert into oxbow.memories (user_id, memory_type, content)
		select $1, 'document', n || repeat('x', 1000000) from generate_series(1, 16) n`, user)
	require.NoError(t, err)
}

// Others are answered while many clients send and take a little at a time. Each of these ends.
func TestSlowTransfers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.Connections, c.RequestsPerSecond = 2, 1e6 })
	const slow = 10
	imports := make(chan string, slow)
	for n := range slow {
		user := fmt.Sprint("slow", n)
		b.fill(t, user)
		key := "Authorization: Bearer " + b.key(t, store.RolePerson, user)
		in := b.dial(t, http.MethodPost, "/v1/import", key, awaited)
		require.Equal(t, "100 Continue", in.status())
		out := b.dial(t, http.MethodGet, "/v1/export", key)
		require.NoError(t, out.SetReadBuffer(4096))
		go func() { // a byte every half a second
			for each := time.NewTicker(500 * time.Millisecond); in.chunk(" ") == nil; <-each.C {
			}
		}()
		go func() { imports <- in.status() }()
		go func() { // 2 KiB a second
			for each := time.NewTicker(250 * time.Millisecond); ; <-each.C {
				if _, err := out.in.Discard(512); err != nil {
					return
				}
			}
		}()
	}
	taking := func() int {
		return pgtestOne[int](t, b, `select count(*)::int from pg_stat_activity where datname = current_database()
			and application_name = 'oxbow serve' and wait_event = 'ClientWrite'`)
	}
	require.Eventually(t, func() bool { return taking() > 0 }, waitAtMost, tick)
	bob := b.key(t, store.RolePerson, "bob")
	for range 20 {
		b.add(t, bob, object{"content": "Bob sails"})
		require.Equal(t, 200, b.do(t, bob, http.MethodGet, "/v1/memories", nil).status)
		require.Equal(t, 200, b.do(t, bob, http.MethodPost, "/v1/recall", object{"query": "Who sails?"}).status)
	}
	require.Positive(t, taking(), "the slow ones are still running")
	for range slow {
		require.Equal(t, "408 Request Timeout", <-imports)
	}
	logged := func(operation, status string) int {
		return pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where operation = $1 and status::text ~ $2`,
			operation, status)
	}
	require.Eventually(t, func() bool {
		return logged("export", "200|503") == slow && logged("import", "408") == slow && b.transactions(t) == 0
	}, 3*waitAtMost, tick)
	require.Zero(t, pgtestOne[int](t, b, `select count(*)::int from oxbow.import_parts`))
}

// No request holds a transaction while it waits for its body. Every route is asked, and stalls where it reads one.
func TestStalledBodies(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	o := b.owner(t, "ada")
	key := "Authorization: Bearer " + b.key(t, store.RoleOperator, "")
	const kind = "Content-Type: application/json"
	methods, _ := operations(t)
	for id, method := range methods {
		if r := cases[id](o); r.body != nil {
			base := "/v1/users/ada-" + id // one user may not have as many at once
			if strings.HasPrefix(r.path, "/molt") || strings.HasPrefix(r.path, "/webhooks") {
				base = "/v1"
			}
			require.Equal(t, "100 Continue", b.dial(t, method, base+r.path, key, kind, awaited).status(), id)
		}
	}
	for _, path := range []string{"/mcp", "/v1/mcp"} {
		require.Equal(t, "100 Continue", b.dial(t, http.MethodPost, path, "Authorization: Bearer "+o.key, kind,
			"Accept: application/json, text/event-stream", awaited).status(), path)
	}
	stalled := 0
	for pattern, role := range pages.Routes() {
		path, ok := strings.CutPrefix(pattern, "POST ")
		if !ok || role == "" { // which needs no session
			continue
		}
		user := map[store.Role]string{store.RolePerson: "ada"}[role]
		// a session each, because one may not have as many requests at once
		made, _, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: role, UserID: user, Name: "test"})
		require.NoError(t, err)
		session, err := store.CreatePageSession(t.Context(), b.pool, user, made.ID, time.Hour)
		require.NoError(t, err)
		path = strings.NewReplacer("{id}", anID, "{job}", "1", "{version}", "1").Replace(path)
		require.Equal(t, "100 Continue", b.dial(t, http.MethodPost, path, "Cookie: oxbow-session="+session,
			"Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded", awaited).status(), pattern)
		stalled++
	}
	require.Positive(t, stalled)
	require.Eventually(t, func() bool { return b.transactions(t) == 0 }, waitAtMost/2, tick)
}

// A large import arrives in parts, which nobody else sees, and which go with it or with the user.
func TestImportInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	app := "Authorization: Bearer " + b.key(t, store.RoleApp, "")
	lines := strings.Repeat(`{"content": "a `+strings.Repeat("long ", 2000)+`line"}`+"\n", 100) // 1 MB
	const more = 20                                                                             // more than an answer may have
	parts := func(user string) int {
		return pgtestOne[int](t, b, `select count(*)::int from oxbow.import_parts where user_id = $1`, user)
	}
	begin := func(user string) *wire {
		w := b.dial(t, http.MethodPost, "/v1/users/"+user+"/import", app, awaited)
		require.Equal(t, "100 Continue", w.status())
		require.NoError(t, w.chunk(lines))
		require.Eventually(t, func() bool { return parts(user) == 3 }, waitAtMost, tick)
		return w
	}
	whole := begin("ada")
	second := b.dial(t, http.MethodPost, "/v1/users/ada/import", app, awaited)
	require.Equal(t, "429 Too Many Requests", second.status(), "one import of a user at a time")
	for _, path := range []string{"/v1/users/ada/export", "/v1/users/ada/memories"} {
		require.NotContains(t, string(b.do(t, strings.TrimPrefix(app, "Authorization: Bearer "), http.MethodGet, path,
			nil).body), "long", "it is not there before it is complete")
	}
	for range more {
		require.NoError(t, whole.chunk(lines))
	}
	_, err := io.WriteString(whole, "0\r\n\r\n")
	require.NoError(t, err)
	require.Equal(t, "200 OK", whole.status())
	require.Equal(t, 100*(1+more), pgtestOne[int](t, b, `select count(*)::int from oxbow.memories where user_id = 'ada'`))
	require.Zero(t, parts("ada"))

	erased := begin("bob")
	require.Equal(t, 200, b.do(t, strings.TrimPrefix(app, "Authorization: Bearer "), http.MethodPost,
		"/v1/users/bob/erase", object{"user_id": "bob"}).status)
	require.Zero(t, parts("bob"))
	require.NoError(t, erased.chunk(lines))
	require.Equal(t, "409 Conflict", erased.status())
	require.Zero(t, parts("bob"))

	gone := begin("cy")
	require.NoError(t, gone.Close())
	require.Eventually(t, func() bool { return parts("cy") == 0 }, waitAtMost, tick)

	_, err = b.pool.Exec(t.Context(), `insert into oxbow.import_parts (user_id, import_id, part, content)
		select 'killed', gen_random_uuid(), n, 'x' from generate_series(1, 3) n`)
	require.NoError(t, err)
	trim := func(after string) int {
		return pgtestOne[int](t, b, `select oxbow.trim_api(now() + $1::text::interval, 100)::int`, after)
	}
	require.Zero(t, trim("59 minutes"))
	require.Equal(t, 3, trim("61 minutes"))
	require.Zero(t, parts("killed"))
}

// Who has the first byte of an export is in the log, whatever becomes of the rest.
func TestExportIsLoggedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill(t, "ada")
	key, text, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "x"})
	require.NoError(t, err)
	session, err := store.CreatePageSession(t.Context(), b.pool, "ada", key.ID, time.Hour)
	require.NoError(t, err)
	logged := func() int {
		return pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where user_id = 'ada' and key_id = $1
			and operation = 'export' and status = 200`, key.ID)
	}
	for n, head := range [][2]string{{"/v1/export", "Authorization: Bearer " + text}, {"/export", "Cookie: oxbow-session=" + session}} {
		w := b.dial(t, http.MethodGet, head[0], head[1])
		require.Equal(t, "200 OK", w.status())
		_, err := io.CopyN(io.Discard, w.in, 100_000)
		require.NoError(t, err)
		require.Equal(t, n+1, logged(), head[0])
		require.NoError(t, w.SetLinger(0)) // a reset
		require.NoError(t, w.Close())
		require.Eventually(t, func() bool { return b.transactions(t) == 0 }, waitAtMost, tick)
	}
	b.server.Close() // which writes what waits
	require.Equal(t, 2, logged(), "once each")
	require.Zero(t, pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where status <> 200`))
}
