package pages_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/server/pages"
	"github.com/oxbow-memory/oxbow/store"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	s := setup(t)
	key := func(role store.Role, user string) url.Values {
		_, text, err := store.CreateAPIKey(t.Context(), s.pool, store.APIKey{Role: role, UserID: user, Name: "test"})
		require.NoError(t, err)
		return url.Values{"key": {" " + text + "\n"}}
	}
	b := s.visitor(t)
	require.Equal(t, "/login?next=%2Fmemories%3Fq%3Dx", b.get(t, "/memories?q=x").path)
	wrong := b.post(t, "/login", url.Values{"key": {"oxb_wrong"}})
	require.Equal(t, 401, wrong.status)
	require.Contains(t, wrong.text, "not valid")
	app := b.post(t, "/login", key(store.RoleApp, ""))
	require.Equal(t, 401, app.status)
	require.Contains(t, app.text, "acts for many people")
	require.Equal(t, 403, b.post(t, "/login", key(store.RolePerson, "ada"), "Sec-Fetch-Site", "cross-site").status)

	form := key(store.RolePerson, "ada")
	form.Set("next", "/memories?q=x")
	in := b.post(t, "/login", form)
	require.Equal(t, "/memories?q=x", in.path)
	require.Contains(t, in.text, "Signed in as ada")
	require.Equal(t, "/", b.get(t, "/login").path)
	require.Equal(t, "/login", b.post(t, "/logout", nil).path)
	require.Zero(t, one[int](t, s, `select count(*)::int from oxbow.page_sessions`))
	for _, elsewhere := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)",
		"/\t/evil.example"} {
		b, form := s.visitor(t), key(store.RolePerson, "ada")
		form.Set("next", elsewhere)
		require.Equal(t, "/", b.post(t, "/login", form).path, elsewhere)
	}
	operator := s.visitor(t)
	require.Equal(t, "/operator", operator.post(t, "/login", key(store.RoleOperator, "")).path)
	require.Equal(t, 403, operator.get(t, "/memories").status)

	last := answer{}
	for range 60 {
		if last = s.visitor(t).post(t, "/login", url.Values{"key": {"x"}}); last.status != 401 {
			break
		}
	}
	require.Equal(t, 429, last.status)
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada := s.signedIn(t, "ada")
	require.Equal(t, "/settings", ada.get(t, "/settings").path)
	require.NoError(t, store.RevokeAPIKey(t.Context(), s.pool, ada.key.ID))
	require.Equal(t, "/login?next=%2Fsettings", ada.get(t, "/settings").path, "the key is revoked")
	for _, sql := range []string{`update oxbow.page_sessions set expires_at = now()`,
		`update oxbow.api_keys set created_at = '2020-01-01', expires_at = '2020-01-02'`, `delete from oxbow.api_keys`} {
		ada := s.signedIn(t, "ada")
		_, err := s.pool.Exec(t.Context(), sql)
		require.NoError(t, err)
		require.Equal(t, "/login", ada.get(t, "/").path, sql)
	}
	_, err := s.pool.Exec(t.Context(), `select oxbow.trim_api(now() + interval '13 hours', 100)`)
	require.NoError(t, err)
	require.Zero(t, one[int](t, s, `select count(*)::int from oxbow.page_sessions`))
}

// The cookie cannot be read by scripts, and is for TLS only where there is TLS.
func TestCookie(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{"": "oxbow-session", "https://memory.example": "__Host-oxbow-session"} {
		s := setup(t, func(c *server.Config) { c.PublicURL = public })
		_, text, err := store.CreateAPIKey(t.Context(), s.pool,
			store.APIKey{Role: store.RolePerson, UserID: "ada", Name: "test"})
		require.NoError(t, err)
		b := s.visitor(t)
		b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		set := b.post(t, "/login", url.Values{"key": {text}}, "Sec-Fetch-Site", "", "Origin", "https://memory.example").header
		if public == "" {
			require.Empty(t, set.Get("Set-Cookie"), "the form is another site's")
			set = b.post(t, "/login", url.Values{"key": {text}}).header
		}
		cookie, err := http.ParseSetCookie(set.Get("Set-Cookie"))
		require.NoError(t, err)
		require.Equal(t, want, cookie.Name)
		require.Equal(t, public != "", cookie.Secure)
		require.True(t, cookie.HttpOnly)
		require.Equal(t, http.SameSiteLaxMode, cookie.SameSite)
		require.NotContains(t, one[string](t, s, `select hash::text from oxbow.page_sessions`), cookie.Value)
	}
}

// provider is an OpenID provider that signs in ada at once.
type provider struct {
	url   string
	nonce string         // in the tokens; "": that of the request
	more  map[string]any // claims
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key := jose.JSONWebKey{Key: private, KeyID: "k", Algorithm: "RS256", Use: "sig"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	require.NoError(t, err)
	p := &provider{}
	var challenge, nonce string
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": p.url, "jwks_uri": p.url + "/keys", "authorization_endpoint": p.url + "/authorize",
			"token_endpoint": p.url + "/token", "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		challenge, nonce = q.Get("code_challenge"), q.Get("nonce")
		back := url.Values{"code": {"the code"}, "state": {q.Get("state")}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		hash := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != "the code" || base64.RawURLEncoding.EncodeToString(hash[:]) != challenge {
			http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
			return
		}
		if p.nonce != "" {
			nonce = p.nonce
		}
		claims := map[string]any{"iss": p.url, "aud": "pages", "sub": "ada", "nonce": nonce,
			"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix()}
		maps.Copy(claims, p.more)
		text, _ := json.Marshal(claims)
		signed, _ := signer.Sign(text)
		token, _ := signed.CompactSerialize()
		answer(w, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": token})
	})
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	p.url = h.URL
	return p
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	var noted bytes.Buffer
	s := setup(t, func(c *server.Config) {
		c.Issuer, c.Audience, c.ClientID = p.url, "oxbow", "pages"
		c.Logger = slog.New(slog.NewTextHandler(&noted, nil))
	})
	b := s.visitor(t)
	require.Contains(t, b.get(t, "/login").text, `href="/signin"`)
	in := b.get(t, "/signin")
	require.Equal(t, "/", in.path)
	require.Contains(t, in.text, "Signed in as ada")
	require.Equal(t, "ada", one[string](t, s, `select user_id from oxbow.page_sessions where key_id is null`))

	refused := func(b *browser, path, reason string) {
		t.Helper()
		a := b.get(t, path)
		require.Equal(t, 401, a.status, a.text)
		require.Contains(t, noted.String(), reason)
		require.Contains(t, a.text, "did not work")
		require.True(t, strings.HasPrefix(b.get(t, "/settings").path, "/login"))
	}
	refused(s.visitor(t), "/signin/callback?code=the+code&state=stolen", "no request of this browser")
	p.nonce = "another"
	refused(s.visitor(t), "/signin", "another nonce")
	require.Equal(t, 404, setup(t).visitor(t).get(t, "/signin").status, "without an issuer")
	var last answer
	for range 200 {
		if last = b.get(t, "/signin/callback"); last.status == 429 {
			break
		}
	}
	require.Equal(t, 429, last.status)
}

// People whose address the issuer has not verified are not signed in by it.
func TestSignInNeedsVerifiedAddress(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	s := setup(t, func(c *server.Config) {
		c.Issuer, c.Audience, c.ClientID, c.UserClaim = p.url, "oxbow", "pages", "email"
	})
	for _, more := range []map[string]any{{"email": "ada@example.com"},
		{"email": "ada@example.com", "email_verified": false}, {"email_verified": true}} {
		p.more = more
		require.Equal(t, 401, s.visitor(t).get(t, "/signin").status, "%v", more)
	}
	p.more = map[string]any{"email": "ada@example.com", "email_verified": true}
	require.Contains(t, s.visitor(t).get(t, "/signin").text, "Signed in as ada@example.com")
}

// Forms and queries that cannot be read are refused on every route, as 4xx.
func TestUnreadableForms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ada, operator := s.signedIn(t, "ada"), s.signedIn(t, "")
	send := func(b *browser, method, path, kind, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", kind)
		for _, c := range b.client.Jar.Cookies(r.URL) {
			r.AddCookie(c)
		}
		a, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		return a.StatusCode
	}
	const form = "application/x-www-form-urlencoded"
	for pattern, role := range pages.Routes() {
		method, path, found := strings.Cut(pattern, " ")
		if !found || path == "/logout" { // without a form, and the end of the session
			continue
		}
		b := ada
		if role == store.RoleOperator {
			b = operator
		}
		path = strings.NewReplacer("{$}", "", "{id}", "00000000-0000-4000-8000-000000000001", "{job}", "1", "{version}", "1").
			Replace(path)
		reads := role != "" || path == "/language"
		if method == http.MethodPost {
			for body, want := range map[string]int{strings.Repeat("a=1&", 20_000): 400, "a=%zz": 400,
				strings.Repeat("x", 5<<20): 413} {
				if role == "" && len(body) > 16<<10 { // without a credential, a form is small
					want = 413
				}
				got := send(b, method, path, form, body)
				require.True(t, got < 500 && (!reads || got == want), "%s: %d instead of %d", pattern, got, want)
			}
			require.Less(t, send(b, method, path, "multipart/form-data; boundary=x", strings.Repeat("--x\r\n\r\n", 10_000)), 500)
		}
		if role != "" {
			require.Equal(t, 400, send(b, method, path+"?"+strings.Repeat("a&", 20_000), form, ""), pattern)
		}
	}
}
