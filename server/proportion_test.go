package server_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// craftedBytes is about the length of a crafted body.
const craftedBytes = 128 << 10

// crafted returns requests like r that once took, or could take, time or memory out of proportion to their length.
func crafted(r request) map[string]request {
	found := map[string]request{}
	add := func(name string, body any) { found[name] = request{r.path, body} }
	if path, query, ok := strings.Cut(r.path, "?"); ok {
		values, _ := url.ParseQuery(query)
		for name := range values {
			changed := maps.Clone(values)
			changed[name] = []string{strings.Repeat("cormorant ", 6000)}
			found["long "+name] = request{path + "?" + changed.Encode(), r.body}
			changed[name] = []string{strings.Repeat("a,", 30_000)}
			found["list "+name] = request{path + "?" + changed.Encode(), r.body}
		}
		changed := maps.Clone(values)
		changed["limit"] = []string{"2147483647"}
		found["limit"] = request{path + "?" + changed.Encode(), r.body}
	}
	given, ok := r.body.(object)
	if !ok {
		return found
	}
	long := strings.Repeat("Heron sails. ", craftedBytes/13)
	for _, text := range map[string]string{"text": long, "word": strings.Repeat("y", craftedBytes),
		"marks": strings.Repeat("# a > b\n", craftedBytes/8), "tags": strings.Repeat("<b a=1><p>", craftedBytes/10),
		"quotes": strings.Repeat(`"`, craftedBytes/2), "full width": strings.Repeat("１２３　", craftedBytes/12)} {
		for i, body := range planting(given, text) {
			add(fmt.Sprintf("%.6q in %d", text, i), body)
		}
	}
	for name, value := range map[string]any{
		"unknown members": numbered(craftedBytes / 16), "a list": slices.Repeat([]any{"a"}, craftedBytes/4),
		"objects": slices.Repeat([]any{object{}}, craftedBytes/4), "depth": nested(400), "great depth": nested(5000),
		"a number": "1" + strings.Repeat("0", 1000),
	} {
		body := maps.Clone(given)
		if members, ok := value.(object); ok && name == "unknown members" {
			maps.Copy(body, members)
			add(name, body)
			body = maps.Clone(given)
		}
		body["metadata"] = object{"x": value}
		add(name+" in metadata", body)
		for field := range given {
			if list, ok := given[field].([]any); ok && len(list) > 0 {
				body := maps.Clone(given)
				body[field] = slices.Repeat(list[:1], 30_000/len(jsonOf(list[0])))
				add("many "+field, body)
			}
			body := maps.Clone(given)
			body[field] = value
			add(name+" as "+field, body)
		}
	}
	add("braces", "{"+strings.Repeat(`"a":{},`, craftedBytes/7)+`"b":0}`)
	add("half", jsonOf(given)[:len(jsonOf(given))-1]+strings.Repeat(`,"a":[`, craftedBytes/6))
	return found
}

func jsonOf(v any) string {
	return jsonText(quiet{}, v)
}

// quiet is a test that cannot fail.
type quiet struct{ testing.TB }

func (quiet) Helper()               {}
func (quiet) Errorf(string, ...any) {}
func (quiet) FailNow()              {}

func numbered(n int) object {
	members := object{}
	for i := range n {
		members[fmt.Sprintf("member%d", i)] = i
	}
	return members
}

func nested(depth int) (v any) {
	for range depth {
		v = []any{v}
	}
	return v
}

// cost is what a request costs.
type cost struct{ allocated, stored int64 }

// measured sends a request and returns what it cost: bytes that the server and its client allocated, and bytes that the
// database grew.
func (b *bench) measured(t *testing.T, key, method, path string, body any, headers ...string) (answer, cost) {
	t.Helper()
	const size = `select coalesce(sum(pg_relation_size(c.oid)), 0)::bigint from pg_class c where c.relkind in ('r', 'i', 't')`
	stored := pgtestOne[int64](t, b, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a := b.do(t, key, method, path, body, headers...)
	runtime.ReadMemStats(&after)
	return a, cost{int64(after.TotalAlloc - before.TotalAlloc), pgtestOne[int64](t, b, size) - stored}
}

// No operation takes memory, or stores bytes, out of proportion to its request, or fails by accident. An operation
// without a case in cases fails. It does not run beside other tests, whose memory it would count.
func TestRequestsAreInProportion(t *testing.T) {
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	methods, operators := operations(t)
	operator := b.key(t, store.RoleOperator, "")
	for _, id := range slices.Sorted(maps.Keys(methods)) {
		t.Run(id, func(t *testing.T) {
			require.Contains(t, cases, id, "an operation without a case")
			o := b.owner(t, "user of "+id)
			key := o.key
			if slices.Contains(operators, id) {
				key = operator
			}
			requests := crafted(cases[id](o))
			for _, name := range slices.Sorted(maps.Keys(requests)) {
				r := requests[name]
				length := int64(len(r.path) + len(jsonOf(r.body)))
				begun := time.Now()
				a, cost := b.measured(t, key, methods[id], "/v1"+r.path, r.body)
				require.Less(t, a.status, 500, "%s: %.300s", name, a.body)
				require.Less(t, cost.allocated, 100*length+64<<20, "%s allocates", name)
				require.Less(t, cost.stored, 20*length+4<<20, "%s stores", name)
				if a.status >= 400 {
					require.Less(t, len(a.body), 16<<10, name)
				}
				require.Less(t, time.Since(begun), 40*time.Second, name)
			}
		})
	}
}

// The files of the report: a heading of 3 MB took gigabytes, and 100 KB stored 11 MB.
func TestDocumentsAreInProportion(t *testing.T) {
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	var titles strings.Builder
	for level := 1; level <= 6; level++ {
		fmt.Fprintf(&titles, "%s %s\n", strings.Repeat("#", level), strings.Repeat("h", 900))
	}
	for name, d := range map[string]object{
		"a heading":      {"path": "x.md", "content": "# " + strings.Repeat("y", 3_000_000) + "\n\nbody"},
		"a page":         {"path": "x.html", "content": "<h1>" + strings.Repeat("y ", 4_000_000) + "</h1><p>body"},
		"headings":       {"path": "y.md", "content": titles.String() + strings.Repeat("A sentence. ", 8000), "chunk_size": 100},
		"short sections": {"path": "z.md", "content": titles.String() + strings.Repeat("###### a\nb\n", 9000)},
		"bold":           {"path": "b.html", "content": strings.Repeat("<p><b a=1><i b=2>x</p>", 40_000)},
		"long path": {"path": strings.Repeat("d", 1000) + ".md", "content": strings.Repeat("# a\nb\n", 50_000),
			"chunk_size": 100},
	} {
		length := int64(len(jsonOf(d)))
		a, cost := b.measured(t, b.key(t, store.RolePerson, name), http.MethodPost, "/v1/documents", d)
		require.Contains(t, []int{200, 422}, a.status, "%s: %.200s", name, a.body)
		require.Less(t, cost.allocated, 120*length+64<<20, "%s allocates", name)
		require.Less(t, pgtestOne[int64](t, b, `select coalesce(sum(pg_column_size(m.content) + pg_column_size(m.metadata)), 0)
			from oxbow.memories m where m.user_id = $1`, name), 80*length, name)
	}
	a := b.do(t, ada, http.MethodPost, "/v1/documents", object{"path": "x", "content": "%PDF-1.4\n"})
	require.Equal(t, 422, a.status)
	require.Contains(t, string(a.body), "oxbow ingest reads PDF files")
	require.Equal(t, 413, b.do(t, ada, http.MethodPost, "/v1/documents", object{"path": "x",
		"content": strings.Repeat("x", 17<<20)}).status)
}

// A packed import is limited by what it unpacks to.
func TestPackedImport(t *testing.T) {
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	line := `{"content": "` + strings.Repeat("x", 1000) + `"}` + "\n"
	for name, c := range map[string]struct {
		line  string
		times int
		says  string
	}{
		"small":        {line, 100, ""},
		"bomb":         {line, 100_000, "it unpacks to more than 50 times its size"},
		"one line":     {"x", 20 << 20, "longer than 16 MiB"},
		"many members": {`{"content": "x", "metadata": {` + strings.Repeat(`"a":{},`, 300_000) + `"b":0}}` + "\n", 1, "has more than"},
		"metadata":     {`{"content": "x", "metadata": {"a": "` + strings.Repeat("y", 2<<20) + `"}}` + "\n", 1, "metadata"},
	} {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		for range c.times {
			_, err := io.WriteString(w, c.line)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		a, cost := b.measured(t, ada, http.MethodPost, "/v1/import", packed.String(), "Content-Type", "application/x-ndjson")
		require.Less(t, cost.allocated, int64(400<<20), name)
		require.Less(t, cost.stored, int64(64<<20), name)
		if c.says == "" {
			require.Equal(t, 200, a.status, "%s", a.body)
			continue
		}
		require.Less(t, a.status, 500, "%s: %s", name, a.body)
		require.GreaterOrEqual(t, a.status, 400, name)
		require.Contains(t, string(a.body), c.says, name)
	}
}

// An answer has at most 16 MiB. A list has shorter pages instead.
func TestLargeAnswers(t *testing.T) {
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	const many = 30
	for range many {
		b.add(t, ada, object{"content": "Heron " + strings.Repeat("sails ", 1<<20/6-1), "session_id": "s"})
	}
	require.Equal(t, 200, b.do(t, ada, http.MethodPost, "/v1/messages", object{"messages": slices.Repeat([]any{
		object{"session_id": "s", "content": strings.Repeat("sails ", 1<<20/6)}}, many)}).status)
	var all []memory
	for cursor := ""; ; {
		a, cost := b.measured(t, ada, http.MethodGet, "/v1/memories?limit=1000&cursor="+cursor, nil)
		require.Less(t, cost.allocated, int64(400<<20))
		p := as[page[memory]](t, 200, a)
		all = append(all, p.Items...)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	require.Len(t, all, many)
	for _, path := range []string{"/v1/messages?session_id=s", "/v1/facts"} {
		a := b.do(t, ada, http.MethodGet, path, nil)
		require.Equal(t, 422, a.status, path)
		require.Contains(t, string(a.body), "the answer has more than 16 MiB", path)
	}
}

// What one user with one key sends at once is limited, and does not hinder another user with the same key.
func TestLoadOfOneUser(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	app := b.key(t, store.RoleApp, "")
	body, more := io.Pipe() // begins, and goes on when the test ends
	slow, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/v1/users/eve/memories/batch", body)
	require.NoError(t, err)
	slow.Header.Set("Authorization", "Bearer "+app)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if a, err := http.DefaultClient.Do(slow); err == nil {
			_ = a.Body.Close()
		}
	}()
	_, err = io.WriteString(more, strings.Repeat(" ", 100<<10))
	require.NoError(t, err)
	large := object{"content": strings.Repeat("Heron sails. ", 10_000)}
	send := func(user string, body any) answer {
		return b.do(t, app, http.MethodPost, "/v1/users/"+user+"/memories", body)
	}
	var refused answer
	for refused.status != http.StatusTooManyRequests { // until the server has read the beginning
		refused = send("eve", large)
		require.Contains(t, []int{200, http.StatusTooManyRequests}, refused.status, "%s", refused.body)
	}
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	require.Contains(t, string(refused.body), "Retry-After")
	require.Equal(t, 200, send("eve", object{"content": "a small one"}).status)
	require.Equal(t, 200, send("ada", large).status)
	require.NoError(t, more.Close())
	<-ended
	require.Equal(t, 200, send("eve", large).status)
}

// No tool answers crafted arguments with more than max_tokens allow, or repeats them.
func TestToolsAreInProportion(t *testing.T) {
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	m := b.over(t, b.key(t, store.RolePerson, "ada"), "/mcp", generations[0])
	a := must[server.Added](m, "add_memory", object{"content": "Heron is a sloop."})
	long := strings.Repeat("Heron sails. ", 80_000)
	for tool, err := range m.session.Tools(t.Context(), nil) {
		require.NoError(t, err)
		calls := []object{numbered(20_000), {"x": nested(5000)}, {"x": slices.Repeat([]any{object{}}, 120_000)}}
		for _, c := range callsOf(tool, []any{a.ID.String()})[:1] {
			for name := range tool.InputSchema.(map[string]any)["properties"].(object) {
				for _, value := range []any{long, nested(400), slices.Repeat([]any{"a"}, 50_000), numbered(10_000)} {
					changed := maps.Clone(c)
					changed[name] = value
					calls = append(calls, changed)
				}
			}
		}
		for i, arguments := range calls {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r, err := m.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: arguments})
			runtime.ReadMemStats(&after)
			if err != nil {
				require.ErrorContains(t, err, "Bad Request", "%s %d", tool.Name, i) // the protocol refuses it
				continue
			}
			text := r.Content[0].(*mcp.TextContent).Text
			require.Less(t, len(text), 32<<10, "%s %d: %.300s", tool.Name, i, text)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), "%s %d", tool.Name, i)
			require.NotContains(t, text, "unexpected error", "%s %d", tool.Name, i)
		}
	}
}

// What a request stores makes jobs work later, which counts as its time too.
func TestStoredRowsCount(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	const many = 1000
	found := map[string]bool{}
	methods, _ := operations(t)
	for id := range methods {
		o := b.owner(t, "owner of "+id)
		r := cases[id](o)
		switch body := r.body.(type) {
		case string:
			r.body = strings.Repeat(body+"\n", many)
		case object:
			body = maps.Clone(body)
			for name, value := range body {
				if list, ok := value.([]any); ok && len(list) > 0 {
					body[name] = slices.Repeat(list, many)
				} else if name == "content" {
					body[name] = strings.Repeat("# A cormorant\n\nIt dives.\n\n", many)
				}
			}
			r.body = body
		}
		rows := func() int {
			return pgtestOne[int](t, b, `select (select count(*) from oxbow.memories where user_id = $1)::int
				+ (select count(*) from oxbow.messages where user_id = $1)::int`, o.user)
		}
		stored, owed := rows(), b.server.Owed(o.user)
		b.do(t, b.key(t, store.RolePerson, o.user), methods[id], "/v1"+r.path, r.body)
		if stored = rows() - stored; stored < many/2 {
			continue
		}
		found[id] = true
		require.Greater(t, b.server.Owed(o.user)-owed, 900*time.Millisecond, id)
	}
	require.Subset(t, slices.Collect(maps.Keys(found)), []string{"add-memories", "add-messages", "add-document", "import"})
}
