package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/traittest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

func TestRecallContextFactsAndTimeline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	post := func(path string, body any) answer { return b.do(t, ada, http.MethodPost, "/v1"+path, body) }
	get := func(path string) answer { return b.do(t, ada, http.MethodGet, "/v1"+path, nil) }
	lisbon := b.add(t, ada, object{"content": "Ada lives in Lisbon", "valid_at": "2020-05-01T00:00:00Z", "metadata": object{
		"entities": []object{{"name": "Lisbon", "kind": "place"}}}})
	b.work(t)
	require.Equal(t, 200, post("/memories/"+lisbon+"/supersede", object{"content": "Ada lives in Oslo",
		"valid_at": "2022-05-01T00:00:00Z"}).status)
	b.work(t)

	found := as[server.Recalled](t, 200, post("/recall", object{"query": "Where does Ada live?", "types": []string{"fact"}}))
	require.Equal(t, "Ada lives in Oslo", found.Memories[0].Content)
	found = as[server.Recalled](t, 200, post("/recall", object{"query": "Where does Ada live?",
		"valid_as_of": "2021-01-01T00:00:00Z"}))
	require.Equal(t, "Ada lives in Lisbon", found.Memories[0].Content)
	block := as[server.PromptContext](t, 200, post("/context", object{"query": "home", "max_tokens": 100}))
	require.Contains(t, block.Text, "Oslo")
	require.Len(t, block.Parts, 1)
	facts := as[page[oxbow.Fact]](t, 200, get("/facts?valid_as_of=2021-01-01T00:00:00Z")).Items
	require.Len(t, facts, 1)
	require.Equal(t, "Ada lives in Lisbon", facts[0].Content)
	line := as[server.Timeline](t, 200, post("/timeline", object{"topic": "Where does Ada live?"}))
	require.Len(t, line.Entries, 2)
	require.NotEmpty(t, as[page[oxbow.NamedEntity]](t, 200, get("/entities")).Items)
	require.Len(t, as[page[oxbow.NamedEntity]](t, 200, get("/entities?name=Lisbon")).Items, 1)

	require.Equal(t, 200, post("/used", object{"ids": []string{found.Memories[0].ID.String()}}).status)
	require.EqualValues(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.activity where used`))
	require.Equal(t, 422, post("/used", object{"ids": []string{}}).status)
	require.Equal(t, 422, post("/recall", object{"query": "x", "limit": 1001}).status)
	require.Equal(t, 422, post("/recall", object{"query": "x", "user_id": "bob"}).status, "the user is never in the body")
}

func TestTraits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	id := traittest.Trait{UserID: "ada", Content: "Ada gets up early.", Key: "early", Events: []traittest.Event{
		traittest.Created(traittest.Day(1, 10), 0.4, traittest.Evidence{Content: "Ada was up at five.",
			At: traittest.Day(1, 9), Session: "s1"})}}.Insert(t, b.pool)
	path := "/v1/traits/" + id.String()
	require.Len(t, as[page[oxbow.Trait]](t, 200, b.do(t, ada, http.MethodGet, "/v1/traits?hidden=true", nil)).Items, 1)
	require.Empty(t, as[page[oxbow.Trait]](t, 200, b.do(t, ada, http.MethodGet, "/v1/traits?stage=core", nil)).Items)
	trait := as[oxbow.TraitDetails](t, 200, b.do(t, ada, http.MethodGet, path, nil))
	require.Equal(t, "Ada was up at five.", trait.Evidence[0].Content)
	require.Len(t, trait.Events, 1)

	edited := as[server.Edited](t, 200, b.do(t, ada, http.MethodPatch, path,
		object{"content": "Ada gets up at five.", "reason": "more precise"}))
	require.NotEqual(t, id, edited.ID)
	require.Equal(t, 409, b.do(t, ada, http.MethodGet, path, nil).status, "it has a newer wording")
	path = "/v1/traits/" + edited.ID.String()
	require.Equal(t, 422, b.do(t, ada, http.MethodPatch, path, object{}).status)
	require.Equal(t, 200, b.do(t, ada, http.MethodPost, path+"/dissolve", object{"reason": "no longer"}).status)
	require.Equal(t, "dissolved", as[oxbow.TraitDetails](t, 200, b.do(t, ada, http.MethodGet, path, nil)).Stage)
	bob := b.key(t, store.RolePerson, "bob")
	require.Equal(t, 404, b.do(t, bob, http.MethodDelete, path, nil).status)
	require.Positive(t, as[server.Deleted](t, 200, b.do(t, ada, http.MethodDelete, path, nil)).Rows)
	require.Equal(t, 404, b.do(t, ada, http.MethodGet, path, nil).status)
	fact := b.add(t, ada, object{"content": "a fact"})
	require.Equal(t, 409, b.do(t, ada, http.MethodGet, "/v1/traits/"+fact, nil).status)
}
