package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/documents"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

func pgtestOne[T any](t *testing.T, b *bench, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, b.pool.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

func TestMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	added := as[page[string]](t, 200, b.do(t, ada, http.MethodPost, "/v1/messages", object{"messages": []object{
		{"session_id": "s/1", "content": "I moved to Oslo."},
		{"session_id": "s/1", "role": "assistant", "content": "Nice!"}}}))
	require.Len(t, added.Items, 2)
	path := "/v1/messages?session_id=s%2F1"
	messages := as[page[oxbow.Message]](t, 200, b.do(t, ada, http.MethodGet, path, nil)).Items
	require.Equal(t, []string{"I moved to Oslo.", "Nice!"}, []string{messages[0].Content, messages[1].Content})
	bob := b.key(t, store.RolePerson, "bob")
	require.Empty(t, as[page[oxbow.Message]](t, 200, b.do(t, bob, http.MethodGet, path, nil)).Items)
	end := object{"session_id": "s/1"}
	require.True(t, as[server.Done](t, 200, b.do(t, ada, http.MethodPost, "/v1/sessions/end", end)).Done)
	require.False(t, as[server.Done](t, 200, b.do(t, ada, http.MethodPost, "/v1/sessions/end", end)).Done)
	require.Equal(t, 422, b.do(t, ada, http.MethodPost, "/v1/sessions/end", object{"session_id": "none"}).status)
	require.Equal(t, 422, b.do(t, ada, http.MethodGet, "/v1/messages", nil).status, "no session")
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	guide := object{"path": "boats.md", "content": "# Boats\n\nAn oar is for rowing.", "metadata": object{"by": "ada"}}
	report := as[documents.Report](t, 200, b.do(t, ada, http.MethodPost, "/v1/documents", guide))
	require.Equal(t, 1, report.Added)
	require.True(t, as[documents.Report](t, 200, b.do(t, ada, http.MethodPost, "/v1/documents", guide)).Unchanged)
	files := as[page[documents.File]](t, 200, b.do(t, ada, http.MethodGet, "/v1/documents", nil)).Items
	require.Equal(t, "boats.md", files[0].Path)
	require.Equal(t, 422, b.do(t, ada, http.MethodPost, "/v1/documents",
		object{"path": "x.pdf", "content": "%PDF-1.4"}).status)
	path := "/v1/documents?path=boats.md"
	require.Equal(t, 404, b.do(t, b.key(t, store.RolePerson, "bob"), http.MethodDelete, path, nil).status)
	require.EqualValues(t, 1, as[server.Deleted](t, 200, b.do(t, ada, http.MethodDelete, path, nil)).Rows)
	require.Equal(t, 404, b.do(t, ada, http.MethodDelete, path, nil).status)
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, bob := b.key(t, store.RolePerson, "ada"), b.key(t, store.RolePerson, "bob")
	b.add(t, ada, object{"content": "Ada rows"})
	b.add(t, bob, object{"content": "Bob sails"})
	exported := b.do(t, ada, http.MethodGet, "/v1/export", nil)
	require.Equal(t, 200, exported.status)
	require.Equal(t, "application/x-ndjson", exported.header.Get("Content-Type"))
	require.Contains(t, string(exported.body), "Ada rows")
	require.NotContains(t, string(exported.body), "Bob")
	require.NotContains(t, string(exported.body), "api_keys")
	require.Equal(t, 400, b.do(t, b.key(t, store.RoleApp, ""), http.MethodGet, "/v1/export", nil).status)

	memories, _, _ := strings.Cut(string(exported.body), "\n")
	other := strings.Replace(memories, `"user_id": "ada"`, `"user_id": "bob"`, 1)
	require.NotEqual(t, memories, other)
	report := as[server.Imported](t, 200, b.do(t, b.key(t, store.RolePerson, "cy"), http.MethodPost, "/v1/import", other))
	require.Equal(t, server.Imported{Lines: 1, Memories: 1, New: 1}, report)
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.memories where user_id = 'cy'`))
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.memories where user_id = 'bob'`))

	bad := `{"user_id": "cy", "content": "fine"}` + "\n" + `{"user_id": "cy", "memory_type": "trait", "content": "kind"}`
	refused := b.do(t, bob, http.MethodPost, "/v1/import", bad)
	require.Equal(t, 422, refused.status)
	require.Contains(t, string(refused.body), "line 2")
	report = as[server.Imported](t, 200, b.do(t, bob, http.MethodPost, "/v1/import?skip_bad=true&memory_type=fact", bad))
	require.Equal(t, 1, report.Bad)
	log := `{"type": "api_log", "user_id": "cy", "id": "00000000-0000-0000-0000-000000000001", "status": 200}`
	require.Equal(t, 422, b.do(t, bob, http.MethodPost, "/v1/import", log).status)
}

func TestSettingsLogAndErasure(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, app := b.key(t, store.RolePerson, "ada"), b.key(t, store.RoleApp, "")
	require.Zero(t, as[store.UserSettings](t, 200, b.do(t, ada, http.MethodGet, "/v1/settings", nil)))
	settings := object{"timezone": "Asia/Tokyo", "language": "ja", "opted_out": true, "reconcile": false}
	set := as[store.UserSettings](t, 200, b.do(t, ada, http.MethodPut, "/v1/settings", settings))
	require.Equal(t, store.UserSettings{Timezone: "Asia/Tokyo", Language: "ja", OptedOut: true, Reconcile: new(bool)}, set)
	bad := b.do(t, ada, http.MethodPut, "/v1/settings", object{"timezone": "Atlantis"})
	require.Equal(t, 422, bad.status)
	require.Contains(t, string(bad.body), `"location":"timezone"`)

	require.Equal(t, 422, b.do(t, b.key(t, store.RolePerson, "eve"), http.MethodGet, "/v1/memories/%00", nil).status)
	id := b.add(t, ada, object{"content": "Ada rows"})
	require.Equal(t, 200, b.do(t, app, http.MethodGet, "/v1/users/ada/memories/"+id, nil).status)
	require.Equal(t, 404, b.do(t, app, http.MethodGet, "/v1/users/bob/memories/"+id, nil).status)
	var log []store.Access
	require.Eventually(t, func() bool {
		log = as[page[store.Access]](t, 200, b.do(t, ada, http.MethodGet, "/v1/log?limit=1000", nil)).Items
		return len(log) >= 5
	}, waitAtMost, tick)
	last := log[len(log)-5:]
	require.Equal(t, []string{"get-memory", "add-memory", "put-settings", "put-settings", "get-settings"}, []string{
		last[0].Operation, last[1].Operation, last[2].Operation, last[3].Operation, last[4].Operation})
	require.Equal(t, store.RoleApp, last[0].Role)
	require.Equal(t, id, last[0].Target)
	require.Equal(t, 422, last[2].Status)
	first := as[page[store.Access]](t, 200, b.do(t, ada, http.MethodGet, "/v1/log?limit=1", nil))
	second := as[page[store.Access]](t, 200, b.do(t, ada, http.MethodGet, "/v1/log?limit=1&cursor="+first.Next, nil))
	require.NotEqual(t, first.Items[0].ID, second.Items[0].ID)

	require.Equal(t, 422, b.do(t, app, http.MethodPost, "/v1/users/ada/erase", object{"user_id": "bob"}).status)
	receipt := as[oxbow.Receipt](t, 200, b.do(t, app, http.MethodPost, "/v1/users/ada/erase", object{"user_id": "ada"}))
	require.Equal(t, receipt, as[oxbow.Receipt](t, 200, b.do(t, app, http.MethodPost, "/v1/users/ada/receipts",
		object{"proof": receipt.Proof})))
	require.Equal(t, 401, b.do(t, ada, http.MethodGet, "/v1/settings", nil).status, "her key is erased")
	b.server.Close()
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where user_id = 'ada'`),
		"only the search for the receipt")
}
