package pages_test

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

// pageCases has a request for each route. It succeeds for its owner.
var pageCases = map[string]pageCase{
	"GET /login": {path: "/login"}, "POST /login": {path: "/login"}, "POST /logout": {path: "/logout"},
	"GET /signin": {path: "/signin"}, "GET /signin/callback": {path: "/signin/callback"},
	"POST /language": {path: "/language", form: url.Values{"language": {"zh"}}}, "/": {path: "/none"},
	"GET /{$}": {path: "/"},
}

// operatorCases are the cases of the operator's routes.
var operatorCases = map[string]pageCase{
	"GET /operator":          {path: "/operator"},
	"GET /operator/problems": {path: "/operator/problems"}, "GET /operator/history": {path: "/operator/history"},
	"GET /operator/reviews": {path: "/operator/reviews"}, "GET /operator/users": {path: "/operator/users"},
	"GET /operator/recall": {path: "/operator/recall?user=ada&q=cormorant"},
	"GET /operator/user":   {path: "/operator/user?id=ada"}, "GET /operator/keys": {path: "/operator/keys"},
	"POST /operator/jobs/{job}/retry": {path: "/operator/jobs/1/retry", form: url.Values{}},
	"POST /operator/jobs/retry":       {path: "/operator/jobs/retry", form: url.Values{"kind": {"embed"}}},
	"POST /operator/keys/{id}/revoke": {path: "/operator/keys/" + uuid.NewString() + "/revoke", form: url.Values{}},
}

// pageCase is a request to a route.
type pageCase struct {
	path string
	form url.Values // of a POST
}

// Every route is attacked without a session, with a revoked key, from another site and in another role. A new route
// without a case fails.
func TestRoutes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	all := maps.Clone(pageCases)
	maps.Copy(all, operatorCases)
	require.ElementsMatch(t, slices.Collect(maps.Keys(pages.Routes())), slices.Collect(maps.Keys(all)),
		"each route needs a case")
	ada, operator, out := s.signedIn(t, "ada"), s.signedIn(t, ""), s.visitor(t)
	revoked := s.signedIn(t, "ada")
	require.NoError(t, store.RevokeAPIKey(t.Context(), s.pool, revoked.key.ID))
	for pattern, role := range pages.Routes() {
		method, _, _ := strings.Cut(pattern, " ")
		c := all[pattern]
		send := func(b *browser, headers ...string) answer {
			a := b.do(t, method, c.path, c.form, headers...)
			require.Less(t, a.status, 500, "%s: %s", pattern, a.text)
			require.Contains(t, a.header.Get("Content-Security-Policy"), "default-src 'none'", pattern)
			require.NotContains(t, a.header.Get("Content-Security-Policy"), "unsafe", pattern)
			require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"), pattern)
			require.Equal(t, "no-referrer", a.header.Get("Referrer-Policy"), pattern)
			require.Equal(t, "no-store", a.header.Get("Cache-Control"), pattern)
			return a
		}
		if role == "" {
			continue
		}
		require.True(t, strings.HasPrefix(send(out).path, "/login"), pattern)
		require.True(t, strings.HasPrefix(send(revoked).path, "/login"), pattern)
		other := map[store.Role]*browser{store.RolePerson: operator, store.RoleOperator: ada}[role]
		if pattern != "GET /{$}" { // from where an operator is sent to the operator's pages
			require.Equal(t, 403, send(other).status, pattern)
		}
		if method == "POST" {
			require.Equal(t, 403, send(ada, "Sec-Fetch-Site", "cross-site").status, pattern)
		}
	}
}
