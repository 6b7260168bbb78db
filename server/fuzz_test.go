package server_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// No body, query or id makes the server fail.
func FuzzRequests(f *testing.F) {
	b := setup(f, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	methods, _ := operations(f)
	ids := slices.Sorted(maps.Keys(methods))
	operator := b.key(f, store.RoleOperator, "")
	sample := &owned{user: "ada", memory: anID, other: anID, forgotten: anID, merged: anID, erased: anID, trait: anID,
		proof: "0123456789abcdef", job: "1"}
	for i, id := range ids {
		r := cases[id](sample)
		body, ok := r.body.(string)
		if !ok {
			body = jsonText(f, r.body)
		}
		_, query, _ := strings.Cut(r.path, "?")
		f.Add(i, body, query, anID)
		f.Add(i, body[:len(body)/2], query+"&limit=-1&cursor=x", "x")
	}
	f.Fuzz(func(t *testing.T, i int, body, query, segment string) {
		id := ids[uint(i)%uint(len(ids))]
		if id == eraseUser {
			return // the key would go
		}
		path, _, _ := strings.Cut(cases[id](sample).path, "?")
		path = strings.ReplaceAll(path, anID, url.PathEscape(segment))
		values, _ := url.ParseQuery(query)
		target := "/v1/users/ada" + path + "?" + values.Encode()
		if id == "health" {
			target = "/v1/health"
		}
		if methods[id] == http.MethodGet || methods[id] == http.MethodDelete {
			body = ""
		}
		a := b.do(t, operator, methods[id], target, body)
		require.Less(t, a.status, 500, "%s %s %q: %s", methods[id], target, body, a.body)
	})
}

const (
	anID      = "00000000-0000-4000-8000-000000000001"
	eraseUser = "erase-user"
)

// No message of MCP makes the server fail, with and without sessions.
func FuzzMCPMessages(f *testing.F) {
	b := setup(f, func(c *server.Config) { c.RequestsPerSecond = 1e6; c.MCPSessions = time.Hour })
	ada := b.key(f, store.RolePerson, "ada")
	message := func(method string, params object) string {
		return jsonText(f, object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	}
	seeds := []string{
		message("initialize", object{"protocolVersion": "2025-11-25", "capabilities": object{},
			"clientInfo": object{"name": "fuzz", "version": "1"}}),
		message("server/discover", object{}), message("tools/list", object{"cursor": "x"}), message("ping", nil),
		message("resources/read", object{"uri": "oxbow://context/boats"}),
		message("resources/read", object{"uri": "oxbow://memories/" + anID}),
		message("prompts/get", object{"name": "use_memory", "arguments": object{"question": "Who rows?"}}),
		message("completion/complete", object{}), message("logging/setLevel", object{"level": "debug"}),
		message("subscriptions/listen", object{}), message("notifications/cancelled", object{"requestId": 1}),
		`{"jsonrpc": "2.0", "id": 1, "result": {}}`, `{}`, `[]`, `null`, ``, "\x00", strings.Repeat("[", 1000),
	}
	for tool, arguments := range map[string]object{
		"add_memory": {"content": "Ada rows"}, "search_memories": {"q": "boats", "types": "fact"}, "get_context": {},
		"list_memories": {"cursor": "x"}, "get_memory": {"id": anID}, "timeline": {"topic": "boats"},
		"update_memory": {"id": anID, "content": "x"}, "forget_memory": {"memoryId": anID}, "list_traits": {"as_of": "2024"},
		"get_operation": {"id": anID, "max_tokens": "300"},
	} {
		seeds = append(seeds, message("tools/call", object{"name": tool, "arguments": arguments}))
	}
	for _, seed := range seeds {
		for _, version := range append(generations, "x") {
			f.Add(seed, version, "tools/call", "")
		}
	}
	f.Fuzz(func(t *testing.T, body, version, method, session string) {
		headers := []string{"Accept", "application/json, text/event-stream"}
		for name, value := range map[string]string{"Mcp-Protocol-Version": version, "Mcp-Method": method,
			"Mcp-Session-Id": session} {
			if value != "" && !strings.ContainsFunc(value, unicode.IsControl) {
				headers = append(headers, name, value)
			}
		}
		if method == "subscriptions/listen" {
			return // it is answered when something happens, which is never
		}
		a := b.do(t, ada, http.MethodPost, "/mcp", body, headers...)
		require.Less(t, a.status, 500, "%s %q: %s", version, body, a.body)
	})
}
