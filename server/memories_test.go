package server_test

import (
	"fmt"
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

func TestRepeatedRequestIsDoneOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	post := func(path string, body object, key string) answer {
		return b.do(t, ada, http.MethodPost, path, body, "Idempotency-Key", key)
	}
	answers := make(chan answer, 8)
	for range cap(answers) {
		go func() { answers <- post("/v1/memories", object{"content": "Ada has a cat"}, "cat") }()
	}
	first := as[server.Added](t, 200, <-answers)
	for range cap(answers) - 1 {
		require.Equal(t, first, as[server.Added](t, 200, <-answers))
	}
	many := object{"memories": []object{{"content": "one"}, {"content": "two"}}}
	batch := as[page[server.Added]](t, 200, post("/v1/memories/batch", many, "many"))
	require.Len(t, batch.Items, 2)
	require.Equal(t, batch, as[page[server.Added]](t, 200, post("/v1/memories/batch", many, "many")))
	require.Len(t, as[page[oxbow.Memory]](t, 200, b.do(t, ada, http.MethodGet, "/v1/memories", nil)).Items, 3)

	other := post("/v1/memories", object{"content": "Ada has a dog"}, "cat")
	require.Equal(t, 422, other.status, "%s", other.body)
	require.Contains(t, string(other.body), "used for another request")
	require.Equal(t, 422, post("/v1/memories/batch", many, "cat").status, "another operation")
	require.Equal(t, 422, post("/v1/memories", object{"content": " "}, "blank").status)
	require.Equal(t, 200, post("/v1/memories", object{"content": "full"}, "blank").status, "a refusal is not kept")
	bob := b.key(t, store.RolePerson, "bob")
	his := as[server.Added](t, 200, b.do(t, bob, http.MethodPost, "/v1/memories", object{"content": "Ada has a cat"},
		"Idempotency-Key", "cat"))
	require.NotEqual(t, first, his, "another user's key")
}

func TestListMemories(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	var memories []object
	for i := range 25 {
		memories = append(memories, object{"content": fmt.Sprint("fact ", i), "session_id": fmt.Sprint("s", i%2),
			"agent_id": "chef", "memory_type": []string{"fact", "episodic"}[i%2]})
	}
	require.Equal(t, 200, b.do(t, ada, http.MethodPost, "/v1/memories/batch", object{"memories": memories}).status)
	b.add(t, b.key(t, store.RolePerson, "bob"), object{"content": "Bob's"})
	seen, next := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		p := as[page[oxbow.Memory]](t, 200, b.do(t, ada, http.MethodGet, "/v1/memories?limit=10&cursor="+next, nil))
		for _, m := range p.Items {
			require.Equal(t, "ada", m.UserID)
			seen[m.ID.String()] = true
		}
		if next = p.Next; next == "" {
			require.Equal(t, 2, pages)
			break
		}
	}
	require.Len(t, seen, 25)
	count := func(query string) int {
		return len(as[page[oxbow.Memory]](t, 200, b.do(t, ada, http.MethodGet, "/v1/memories?"+query, nil)).Items)
	}
	require.Equal(t, 13, count("type=fact"))
	require.Equal(t, 25, count("type=fact,episodic"))
	require.Equal(t, 12, count("session_id=s1"))
	require.Equal(t, 25, count("agent_id=chef"))
	require.Zero(t, count("agent_id=cook"))
	require.Equal(t, 422, b.do(t, ada, http.MethodGet, "/v1/memories?cursor=nonsense", nil).status)
	require.Equal(t, 422, b.do(t, ada, http.MethodGet, "/v1/memories?limit=1001", nil).status)
	unknown := b.do(t, ada, http.MethodGet, "/v1/memories?sesion_id=s1", nil)
	require.Equal(t, 422, unknown.status, "%s", unknown.body)
}

func TestChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	post := func(path string, body any) answer { return b.do(t, ada, http.MethodPost, "/v1"+path, body) }
	get := func(path string) answer { return b.do(t, ada, http.MethodGet, "/v1"+path, nil) }
	old := "/memories/" + b.add(t, ada, object{"content": "Ada lives in Lisbon"})
	current := as[server.Added](t, 200, post(old+"/supersede", object{"content": "Ada lives in Oslo", "reason": "she moved"}))
	path := "/memories/" + current.ID.String()
	require.Equal(t, 409, post(old+"/supersede", object{"content": "again"}).status)
	versions := as[page[oxbow.Memory]](t, 200, get(path+"/versions")).Items
	require.Len(t, versions, 2)
	require.Equal(t, current.ID, versions[0].SupersededBy)
	changes := as[page[oxbow.Change]](t, 200, get(path+"/history")).Items
	require.Contains(t, fmt.Sprint(changes), "she moved")
	require.Len(t, as[page[oxbow.Origin]](t, 200, get(path+"/provenance")).Items, 1)
	require.Empty(t, as[page[oxbow.Related]](t, 200, get(path+"/related")).Items)

	require.Equal(t, 200, post(path+"/verify", object{"verified": true}).status)
	require.True(t, as[oxbow.Memory](t, 200, get(path)).Verified)
	require.Equal(t, 200, post(path+"/tier", object{"tier": "core"}).status)
	require.Equal(t, "core", as[oxbow.Memory](t, 200, get(path)).Tier)
	require.False(t, as[server.Done](t, 200, post(path+"/promote", nil)).Done, "it does not expire")
	require.Equal(t, 409, post(path+"/restore", nil).status)
	require.Equal(t, 200, post(path+"/forget", object{"reason": "asked"}).status)
	require.NotZero(t, as[oxbow.Memory](t, 200, get(path)).ForgottenAt)
	require.Equal(t, 200, post(path+"/restore", nil).status)
	require.Equal(t, 200, post(path+"/forget", nil).status, "without a reason")

	one, two := b.add(t, ada, object{"content": "likes tea"}), b.add(t, ada, object{"content": "Ada likes tea"})
	merged := as[server.Added](t, 200, post("/memories/merge", object{"ids": []string{one, two}, "content": "tea!"}))
	require.Len(t, as[page[string]](t, 200, post("/memories/"+merged.ID.String()+"/unmerge", nil)).Items, 2)

	receipt := as[oxbow.Receipt](t, 200, post("/memories/"+one+"/erase", nil))
	require.Positive(t, receipt.Rows())
	require.Equal(t, 404, get("/memories/"+one).status)
	require.Equal(t, 404, post("/memories/"+one+"/erase", nil).status)
	proof := object{"id": one, "proof": receipt.Proof}
	require.Equal(t, receipt, as[oxbow.Receipt](t, 200, post("/receipts", proof)))
	bob := b.key(t, store.RolePerson, "bob")
	require.Equal(t, 404, b.do(t, bob, http.MethodPost, "/v1/receipts", proof).status)
}
