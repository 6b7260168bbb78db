package server_test

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// A key that the server remembers ends at once, whatever it is used for next.
func TestRememberedKeyEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	next := map[string]func(key string) answer{
		"statement": func(key string) answer {
			return b.do(t, key, http.MethodPost, "/v1/memories", object{"content": "Ada rows"})
		},
		"batch": func(key string) answer {
			return b.do(t, key, http.MethodPost, "/v1/recall", object{"query": "rows"})
		},
		"transaction": func(key string) answer { return b.do(t, key, http.MethodGet, "/v1/memories", nil) },
		"stream":      func(key string) answer { return b.do(t, key, http.MethodGet, "/v1/export", nil) },
	}
	ends := map[string]string{
		"revoked": `update oxbow.api_keys set revoked_at = now() where id = $1`,
		"expired": `update oxbow.api_keys set created_at = now() - interval '1 day', expires_at = now() where id = $1`,
		"erased":  `delete from oxbow.api_keys where id = $1`,
	}
	for name, ask := range next {
		for how, sql := range ends {
			key, text, err := store.CreateAPIKey(t.Context(), b.pool,
				store.APIKey{Role: store.RolePerson, UserID: "ada", Name: name})
			require.NoError(t, err)
			require.Equal(t, 200, ask(text).status)
			_, err = b.pool.Exec(t.Context(), sql, key.ID)
			require.NoError(t, err)
			for range 2 {
				refused := ask(text)
				require.Equal(t, 401, refused.status, "%s, %s", name, how)
				require.Contains(t, refused.header.Get("WWW-Authenticate"), `error="invalid_token"`)
			}
		}
	}
}

// An operator's key is not remembered, because operators also ask outside the users' transactions.
func TestOperatorKeyEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, text, err := store.CreateAPIKey(t.Context(), b.pool, store.APIKey{Role: store.RoleOperator, Name: "operator"})
	require.NoError(t, err)
	for _, path := range []string{"/v1/queue", "/v1/status", "/v1/users", "/v1/users/ada/memories"} {
		require.Equal(t, 200, b.do(t, text, http.MethodGet, path, nil).status)
	}
	require.NoError(t, store.RevokeAPIKey(t.Context(), b.pool, key.ID))
	for _, path := range []string{"/v1/queue", "/v1/status", "/v1/users", "/v1/users/ada/memories"} {
		require.Equal(t, 401, b.do(t, text, http.MethodGet, path, nil).status)
	}
}

// A key works although nobody can record that it does, and its use is recorded to the minute.
func TestLastUse(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.key(t, store.RolePerson, "ada")
	locked, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = locked.Exec(t.Context(), `select from oxbow.api_keys for update`)
	require.NoError(t, err)
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/settings", nil).status, "another transaction has the row")
	require.NoError(t, locked.Commit(t.Context()))
	_, err = b.pool.Exec(t.Context(), `revoke update on oxbow.api_keys from oxbow_operator`)
	require.NoError(t, err)
	require.Equal(t, 200, b.do(t, b.key(t, store.RolePerson, "bob"), http.MethodGet, "/v1/settings", nil).status)
	_, err = b.pool.Exec(t.Context(), `grant update on oxbow.api_keys to oxbow_operator`)
	require.NoError(t, err)
	require.Equal(t, 200, b.do(t, b.key(t, store.RolePerson, "eve"), http.MethodGet, "/v1/settings", nil).status)
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.api_keys
		where user_id = 'eve' and last_used_at > now() - interval '2 minutes'`))
}

// Guessing keys is limited by the address that tries. Behind a proxy, that is the address which the proxy names.
func TestInvalidKeysAreLimited(t *testing.T) {
	t.Parallel()
	hurry := func(c *server.Config) { c.RequestsPerSecond = 2; c.Hurry(time.Minute, 20*time.Millisecond) }
	b := setup(t, hurry)
	ada := b.key(t, store.RolePerson, "ada")
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/settings", nil).status)
	statusOf := func(b *bench, from string) int {
		return b.do(t, "oxb_nonsense", http.MethodGet, "/v1/settings", nil, "X-Forwarded-For", from).status
	}
	guess := func(b *bench, from string) {
		require.Equal(t, 401, statusOf(b, from))
		require.Eventually(t, func() bool { return statusOf(b, from) == 429 }, waitAtMost, tick)
	}
	guess(b, "192.0.2.1")
	require.Equal(t, 429, statusOf(b, "192.0.2.2"), "anybody can write this header")
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/settings", nil).status, "a key that is known")

	behind := setup(t, hurry, func(c *server.Config) { c.TrustedProxies = prefixes("127.0.0.0/8", "10.0.0.0/8") })
	guess(behind, "203.0.113.7, 192.0.2.1, 10.1.2.3")
	require.Equal(t, 429, statusOf(behind, "192.0.2.1"))
	require.Equal(t, 401, statusOf(behind, "192.0.2.2"), "another client of the proxy")
	guess(behind, "2001:db8::1")
	require.Equal(t, 429, statusOf(behind, "2001:db8::2"), "the same network")
	require.Equal(t, 401, statusOf(behind, "2001:db8:0:1::2"))
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
