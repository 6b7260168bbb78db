package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// onlyRead are the operations that change nothing although they are not GET.
var onlyRead = []string{"recall", "context", "timeline", "search-v1", "find-receipt"}

// While the database is read-only, what reads works, and what changes is told to try again; so is an export, whose entry
// comes before its first byte. Afterwards all works at once, and the log has everything.
func TestReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond = 1e6 })
	o := b.owner(t, "ada")
	operator := b.key(t, store.RoleOperator, "")
	key, person, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "x"})
	require.NoError(t, err)
	requests := 0
	ask := func(method, path string, body any) answer {
		requests++
		return b.do(t, person, method, path, body)
	}
	readOnly := func(value string) {
		t.Helper()
		_, err := b.pool.Exec(t.Context(), `do $$ begin execute format(
			'alter database %I set default_transaction_read_only = `+value+`', current_database()); end $$`)
		require.NoError(t, err)
	}
	health := func() server.Health {
		return as[server.Health](t, 200, b.do(t, "", http.MethodGet, "/v1/health", nil))
	}
	require.True(t, health().Writes)
	readOnly("on")
	_, err = b.pool.Exec(t.Context(), `select pg_terminate_backend(pid, 10000) from pg_stat_activity
		where datname = current_database() and application_name = 'oxbow serve'`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return !health().Writes }, waitAtMost, tick)
	methods, operators := operations(t)
	for _, id := range slices.Sorted(maps.Keys(methods)) {
		r := cases[id](o)
		var a answer
		if id == "health" || slices.Contains(operators, id) {
			a = b.do(t, operator, methods[id], "/v1"+r.path, r.body)
		} else {
			a = ask(methods[id], "/v1"+r.path, r.body)
		}
		if id != "export" && (methods[id] == http.MethodGet || slices.Contains(onlyRead, id)) {
			require.Equal(t, 200, a.status, "%s: %s", id, a.body)
			continue
		}
		if a.status == 409 || a.status == 404 { // refused by what it read
			continue
		}
		require.Equal(t, 503, a.status, "%s: %s", id, a.body)
		require.Equal(t, "1", a.header.Get("Retry-After"), id)
		require.Contains(t, string(a.body), "try again", id)
	}
	readOnly("off")
	require.Eventually(t, func() bool {
		return ask(http.MethodPost, "/v1/memories", object{"content": "x"}).status == 200
	}, waitAtMost, tick)
	for range 20 { // no session of before is left
		require.Equal(t, 200, ask(http.MethodPost, "/v1/memories", object{"content": "x"}).status)
	}
	require.Eventually(t, func() bool { return health().Writes }, waitAtMost, tick)
	require.Eventually(t, func() bool {
		return requests == pgtestOne[int](t, b, `select count(*)::int from oxbow.api_log where key_id = $1`, key.ID)
	}, waitAtMost, tick)
}

// Each surface says that what PostgreSQL refuses only for now can be tried again.
func TestRetryableErrors(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	id := b.add(t, ada, object{"content": "Ada rows"})
	m := b.over(t, ada, "/mcp", generations[0])
	made, _, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "x"})
	require.NoError(t, err)
	session, err := store.CreatePageSession(t.Context(), b.pool, "ada", made.ID, time.Hour)
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `
		create table public.code (code text);
		insert into public.code values ('');
		create function public.fail() returns trigger language plpgsql security definer as $$
		begin raise exception using errcode = (select code from public.code); end $$;
		create trigger a_fail before insert or update on oxbow.memories_fact for each row execute function public.fail()`)
	require.NoError(t, err)
	for _, code := range []string{"25006", "40001", "40P01", "53100", "53200", "53300", "55P03", "57014", "57P01", "57P02",
		"57P03", "08006"} {
		_, err := b.pool.Exec(t.Context(), `update public.code set code = $1`, code)
		require.NoError(t, err)
		a := b.do(t, ada, http.MethodPost, "/v1/memories", object{"content": "x"})
		require.Equal(t, 503, a.status, "%s: %s", code, a.body)
		require.Equal(t, "1", a.header.Get("Retry-After"), code)
		text, isError := m.call("add_memory", object{"content": "x"})
		require.True(t, isError, code)
		require.Contains(t, text, "try again", code)
		form := url.Values{"reason": {"x"}}.Encode()
		w := b.dial(t, http.MethodPost, "/memories/"+id+"/forget", "Cookie: oxbow-session="+session,
			"Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded",
			fmt.Sprint("Content-Length: ", len(form)))
		_, err = w.Write([]byte(form))
		require.NoError(t, err)
		require.Equal(t, "503 Service Unavailable", w.status(), code)
		found := ""
		for line := "x"; line != ""; found += line {
			line, err = w.in.ReadString('\n')
			require.NoError(t, err)
			line = strings.TrimSpace(line)
		}
		require.Contains(t, found, "Retry-After: 1", code)
	}
}
