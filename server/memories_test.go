package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

func TestAddAndGet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, app := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleApp, "")
	added := as[server.Added](t, 200, b.do(t, ada, http.MethodPost, "/v1/memories", object{"content": "Ada lives in Lisbon"}))
	path := "/memories/" + added.ID.String()
	m := as[oxbow.Memory](t, 200, b.do(t, ada, http.MethodGet, "/v1"+path, nil))
	require.Equal(t, "Ada lives in Lisbon", m.Content)
	require.Equal(t, m, as[oxbow.Memory](t, 200, b.do(t, app, http.MethodGet, "/v1/users/ada"+path, nil)))
	require.Equal(t, m, as[oxbow.Memory](t, 200, b.do(t, ada, http.MethodGet, "/v1/users/ada"+path, nil)))
	for _, other := range []answer{
		b.do(t, b.key(t, store.RolePerson, "bob"), http.MethodGet, "/v1"+path, nil),
		b.do(t, app, http.MethodGet, "/v1/users/bob"+path, nil),
	} {
		require.Equal(t, 404, other.status, "%s", other.body)
	}
	require.Equal(t, 403, b.do(t, ada, http.MethodGet, "/v1/users/bob"+path, nil).status)
	require.Equal(t, 401, b.do(t, "", http.MethodGet, "/v1"+path, nil).status)
	require.Equal(t, 401, b.do(t, "oxb_nonsense", http.MethodGet, "/v1"+path, nil).status)
	require.Equal(t, 400, b.do(t, app, http.MethodGet, "/v1"+path, nil).status)
	require.Equal(t, 422, b.do(t, ada, http.MethodPost, "/v1/memories", object{"content": " "}).status)
	require.Equal(t, 200, b.do(t, "", http.MethodGet, "/v1/health", nil).status)
	found := as[server.Recalled](t, 200, b.do(t, ada, http.MethodPost, "/v1/recall", object{"query": "where"}))
	require.Empty(t, found.Memories, "no worker has embedded it")
}
