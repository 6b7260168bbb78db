package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// largeBodies are JSON texts that cost more than their size, or have more errors than an answer should list.
func largeBodies() map[string]string {
	var names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, `"%d":1,`, i)
	}
	metadata := func(value string) string { return `{"content":"x","metadata":` + value + `}` }
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	objects := strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)
	list := "[" + strings.Repeat("0,", 500_000) + "0]"
	return map[string]string{
		"deep": deep, "deep in a field": metadata(`{"a":` + deep + `}`), "deep objects": metadata(objects),
		"list": list, "list in a field": metadata(`{"a":` + list + `}`), "names": "{" + names.String() + `"a":1}`,
		"names in a field": metadata("{" + names.String() + `"a":1}`), "no JSON": strings.Repeat("x", 1<<20),
		"a long text": `"` + strings.Repeat("x", 1<<20) + `"`, "nothing but brackets": strings.Repeat("[", 1<<20),
		"many errors": `{"memories":[` + strings.Repeat("1,", 20_000) + `1],"messages":[` + strings.Repeat("1,", 20_000) +
			`1],"ids":[` + strings.Repeat("1,", 20_000) + "1]}",
		"large errors": `{"` + strings.Repeat("x", 1<<20) + `":1}`,
	}
}

// JSON that costs more than its size is refused on every route with a body, and the answer is short.
func TestLargeJSON(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	methods, operators := operations(t)
	sample := &owned{user: "ada", memory: anID, other: anID, forgotten: anID, merged: anID, erased: anID, trait: anID,
		proof: "0123456789abcdef", job: "1", strategy: "1", webhook: anID, instruction: anID, skill: anID, intention: anID,
		adjustment: anID}
	person, operator := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleOperator, "")
	for name, body := range largeBodies() {
		for id, method := range methods {
			if r := cases[id](sample); r.body != nil && id != "import" { // which reads lines
				key := person
				for _, of := range operators {
					if of == id {
						key = operator
					}
				}
				a := b.do(t, key, method, "/v1"+r.path, body)
				require.GreaterOrEqual(t, a.status, 400, "%s: %s", id, name)
				require.Less(t, a.status, 500, "%s: %s: %s", id, name, a.body)
				require.Less(t, len(a.body), 20_000, "%s: %s", id, name)
			}
		}
	}
	for name, body := range largeBodies() {
		for _, message := range []string{body, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + body + `}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_memory","arguments":` + body + `}}`} {
			a := b.do(t, person, http.MethodPost, "/mcp", message, "Accept", "application/json, text/event-stream")
			require.Less(t, a.status, 500, name)
			require.Less(t, len(a.body), len(message)+20_000, name) // the SDK repeats it
			if strings.HasPrefix(name, "deep") || strings.HasPrefix(name, "list") || strings.HasPrefix(name, "names") {
				require.Equal(t, 400, a.status, "%s: %s", name, a.body)
			}
		}
	}
	memory := object{"content": "Ada rows", "metadata": object{}}
	for range 90 {
		memory["metadata"] = object{"a": memory["metadata"]}
	}
	b.add(t, person, memory)
}

// Queries with many or strange parameters are refused.
func TestLargeQueries(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond, c.Addr = 1e6, "127.0.0.1:0" })
	b.run(t)
	for _, a := range b.targets(t, "ada") {
		for query, status := range map[string]int{strings.Repeat("a&", 12_000): 0, strings.Repeat("a=%zz&", 10): 0,
			strings.Repeat("x", 100_000): http.StatusRequestEntityTooLarge} {
			r, err := http.NewRequestWithContext(t.Context(), a.method, b.url, nil)
			require.NoError(t, err)
			path, _, _ := strings.Cut(a.path, "?")
			r.URL.Path, r.URL.RawQuery = path, query
			for line := range strings.SplitSeq(a.header, "\r\n") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					r.Header.Set(name, value)
				}
			}
			got, err := http.DefaultTransport.RoundTrip(r)
			require.NoError(t, err)
			require.NoError(t, got.Body.Close())
			require.Less(t, got.StatusCode, 500, "%s %q", a.name, query[:10])
			if status != 0 {
				require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, got.StatusCode, "%s", a.name)
			}
		}
	}
}
