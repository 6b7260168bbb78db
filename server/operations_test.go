package server_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/gauges"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	waitAtMost = 30 * time.Second
	tick       = 20 * time.Millisecond
)

func TestOperation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, app := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleApp, "")
	id := b.add(t, ada, object{"content": "Ada lives in Lisbon"})
	path := "/operations/" + id
	operation := func(key, base string) server.Operation {
		return as[server.Operation](t, 200, b.do(t, key, http.MethodGet, base+path, nil))
	}
	require.Equal(t, "pending", operation(ada, "/v1").State)
	_, err := b.pool.Exec(t.Context(), `update oxbow.river_job set state = 'discarded', finalized_at = now(), attempt = 25,
		errors = array['{"error": "the provider at 10.0.0.1 is broken"}'::jsonb]`)
	require.NoError(t, err)
	failed := operation(app, "/v1/users/ada")
	require.Equal(t, "failed", failed.State)
	require.Equal(t, "the provider at 10.0.0.1 is broken", failed.Jobs[0].LastError)
	require.Empty(t, operation(ada, "/v1").Jobs[0].LastError, "a person need not know about servers")
	require.EqualValues(t, 1, as[server.Retried](t, 200, b.do(t, ada, http.MethodPost, "/v1"+path+"/retry", nil)).Jobs)
	require.Equal(t, "pending", operation(ada, "/v1").State)
	b.work(t)
	done := operation(ada, "/v1")
	require.Equal(t, "done", done.State)
	require.True(t, done.Searchable && done.Embedded)
	require.Zero(t, as[server.Retried](t, 200, b.do(t, ada, http.MethodPost, "/v1"+path+"/retry", nil)).Jobs)

	newer := b.add(t, ada, object{"content": "Ada lives in Oslo"})
	b.work(t)
	path = "/operations/" + newer
	done = operation(ada, "/v1")
	require.Equal(t, "done", done.State)
	require.Len(t, done.Links, 1, "reconciliation replaced the older fact")
	require.Equal(t, "supersedes", done.Links[0].Relation)
	require.Equal(t, id, done.Links[0].ToID.String())
	bob := b.key(t, store.RolePerson, "bob")
	require.Equal(t, 404, b.do(t, bob, http.MethodGet, "/v1"+path, nil).status)
	require.Zero(t, as[server.Retried](t, 200, b.do(t, bob, http.MethodPost, "/v1"+path+"/retry", nil)).Jobs)
}

func TestOperators(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, app, operator := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleApp, ""), b.key(t, store.RoleOperator, "")
	b.add(t, ada, object{"content": "one"})
	require.Equal(t, 200, b.do(t, app, http.MethodPost, "/v1/users/bob/memories", object{"content": "two"}).status)
	_, err := b.pool.Exec(t.Context(), `update oxbow.river_job set state = 'discarded', finalized_at = now(),
		errors = array['{"error": "broken"}'::jsonb] where args ->> 'user_id' = 'ada'`)
	require.NoError(t, err)
	queue := as[server.Queue](t, 200, b.do(t, operator, http.MethodGet, "/v1/queue", nil))
	require.Len(t, queue.Counts, 2)
	require.Len(t, queue.Failed, 1)
	require.Equal(t, "ada", queue.Failed[0].UserID)
	require.Equal(t, "broken", queue.Failed[0].LastError)
	retry := "/v1/queue/" + jsonText(t, queue.Failed[0].ID) + "/retry"
	require.True(t, as[server.Done](t, 200, b.do(t, operator, http.MethodPost, retry, nil)).Done)
	require.False(t, as[server.Done](t, 200, b.do(t, operator, http.MethodPost, retry, nil)).Done)
	overview := as[gauges.Overview](t, 200, b.do(t, operator, http.MethodGet, "/v1/status", nil))
	require.NotEmpty(t, overview.Memories)
	users := as[page[string]](t, 200, b.do(t, operator, http.MethodGet, "/v1/users?limit=1", nil))
	require.Equal(t, []string{"ada"}, users.Items)
	users = as[page[string]](t, 200, b.do(t, operator, http.MethodGet, "/v1/users?limit=10&cursor="+users.Next, nil))
	require.Equal(t, page[string]{Items: []string{"bob"}}, users)
	for _, path := range []string{"/v1/queue", "/v1/status", "/v1/users"} {
		require.Equal(t, 403, b.do(t, app, http.MethodGet, path, nil).status)
		require.Equal(t, 403, b.do(t, ada, http.MethodGet, path, nil).status)
	}
	require.Equal(t, 403, b.do(t, app, http.MethodPost, retry, nil).status)
}

func TestVersion1(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	add := func(kind string) oxbow.Memory {
		added := as[server.Added](t, 200, b.do(t, ada, http.MethodPost, "/v1/add_memory",
			object{"content": "Ada rows (" + kind + ")", "memory_type": kind, "metadata": object{"k": "v"}}))
		return as[oxbow.Memory](t, 200, b.do(t, ada, http.MethodGet, "/v1/memories/"+added.ID.String(), nil))
	}
	require.Equal(t, oxbow.TypeFact, add("general").Type)
	require.Equal(t, oxbow.TypeEpisodic, add("episodic").Type)
	insight := add("insight")
	require.Equal(t, oxbow.TypeTrait, insight.Type)
	require.Equal(t, "trend", insight.Trait.Stage)
	require.Equal(t, "v", insight.Metadata["k"])
	b.work(t)
	search := func(query object) []oxbow.Result {
		return as[page[oxbow.Result]](t, 200, b.do(t, ada, http.MethodPost, "/v1/search", query)).Items
	}
	require.Len(t, search(object{"query": "rows"}), 2, "without the insight")
	require.Len(t, search(object{"query": "rows", "memory_types": []string{"general"}}), 1)
	require.Empty(t, search(object{"query": "rows", "memory_types": []string{"insight"}}))
	require.Equal(t, 422, b.do(t, ada, http.MethodPost, "/v1/add_memory",
		object{"content": "x", "memory_type": "trait"}).status)
	_, err := b.pool.Exec(t.Context(),
		`insert into oxbow.settings (key, value) values ('secrets', '{"policy": "refuse"}')`)
	require.NoError(t, err)
	for _, path := range []string{"/v1/add_memory", "/v1/memories"} {
		secret := b.do(t, ada, http.MethodPost, path, object{"content": "my password is hunter2hunter2"})
		require.Equal(t, 422, secret.status, "%s", secret.body)
		require.NotContains(t, string(secret.body), "hunter2")
	}
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.search('ada', 'rows', types => '{general}')`))
	require.Zero(t, pgtestOne[int](t, b, `select count(*)::int from oxbow.search('ada', 'rows', types => '{insight}')`))
}
