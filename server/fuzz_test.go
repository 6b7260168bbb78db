package server_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

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
