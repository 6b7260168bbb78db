package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
)

// issuer is an OpenID provider.
type issuer struct {
	url     string
	signer  jose.Signer
	fetched atomic.Int64 // how often its keys were asked for

	mu   sync.Mutex
	key  jose.JSONWebKey
	down atomic.Bool // it does not send its keys
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.rotate(t, "k")
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"issuer": i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url,
			"token_endpoint": i.url, "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		i.fetched.Add(1)
		if i.down.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{i.key.Public()}})
	})
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	i.url = h.URL
	return i
}

// rotate replaces the key of the provider.
func (i *issuer) rotate(t *testing.T, id string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	i.mu.Lock()
	i.key.Key = private
	i.mu.Unlock()
	i.name(t, id)
}

// name gives the key of the provider another name.
func (i *issuer) name(t *testing.T, id string) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = jose.JSONWebKey{Key: i.key.Key, KeyID: id, Algorithm: "RS256", Use: "sig"}
	var err error
	i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: i.key}, nil)
	require.NoError(t, err)
}

// token returns a valid token for a user, with changed claims.
func (i *issuer) token(t *testing.T, user string, change object) string {
	t.Helper()
	claims := object{"iss": i.url, "aud": "oxbow", "sub": user, "exp": time.Now().Add(time.Hour).Unix(),
		"iat": time.Now().Unix()}
	for name, value := range change {
		claims[name] = value
	}
	signed, err := i.signer.Sign([]byte(jsonText(t, claims)))
	require.NoError(t, err)
	text, err := signed.CompactSerialize()
	require.NoError(t, err)
	return text
}

// forged returns tokens for a user that must be refused.
func (i *issuer) forged(t *testing.T, user string) map[string]string {
	t.Helper()
	other := newIssuer(t)
	good := i.token(t, user, nil)
	parts := strings.Split(good, ".")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + "."
	return map[string]string{
		"another audience": i.token(t, user, object{"aud": "shop"}),
		"another issuer":   other.token(t, user, nil),
		"another's keys":   other.token(t, user, object{"iss": i.url}),
		"expired":          i.token(t, user, object{"exp": time.Now().Add(-time.Hour).Unix()}),
		"not signed":       none,
		"another payload":  parts[0] + "." + strings.Split(i.token(t, "mallory of "+user, nil), ".")[1] + "." + parts[2],
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := setup(t, func(c *server.Config) { c.Issuer, c.Audience = i.url, "oxbow" })
	ada := i.token(t, "ada", nil)
	id := b.add(t, ada, object{"content": "Ada rows"})
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/memories/"+id, nil).status)
	require.Equal(t, 200, b.do(t, ada, http.MethodGet, "/v1/users/ada/memories/"+id, nil).status)
	require.Equal(t, 404, b.do(t, i.token(t, "bob", nil), http.MethodGet, "/v1/memories/"+id, nil).status)
	require.Equal(t, 403, b.do(t, i.token(t, "bob", nil), http.MethodGet, "/v1/users/ada/memories/"+id, nil).status)
	require.Equal(t, 403, b.do(t, ada, http.MethodGet, "/v1/queue", nil).status)
	require.Equal(t, 403, b.do(t, i.token(t, "", nil), http.MethodGet, "/v1/settings", nil).status, "no user")
	for name, token := range i.forged(t, "ada") {
		require.Equal(t, 401, b.do(t, token, http.MethodGet, "/v1/settings", nil).status, name)
	}

	require.Equal(t, []string{"Ada rows"}, must[memories](b.over(t, ada, "/mcp", generations[0]),
		"list_memories", object{}).contents())
	require.Empty(t, must[memories](b.over(t, i.token(t, "bob", nil), "/mcp", generations[0]),
		"list_memories", object{}).contents())
	for name, token := range i.forged(t, "ada") {
		got := b.ask(t, "/mcp", map[string]string{"Authorization": "Bearer " + token})
		require.Equal(t, 401, got.status, name)
		require.Contains(t, got.header.Get("WWW-Authenticate"), "resource_metadata=", name)
	}

	down := setup(t, func(c *server.Config) { c.Issuer, c.Audience = "http://127.0.0.1:1", "oxbow" })
	refused := down.do(t, ada, http.MethodGet, "/v1/settings", nil)
	require.Equal(t, 503, refused.status)
	require.Equal(t, "1", refused.header.Get("Retry-After"))
}

// Forged tokens make the server ask for the provider's keys no more often than others, and a new key is found.
func TestForgedTokensCostTheIssuerNothing(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t), newIssuer(t)
	b := setup(t, func(c *server.Config) { c.RequestsPerSecond, c.Issuer, c.Audience = 1e6, i.url, "oxbow" })
	status := func(token string) int { return b.do(t, token, http.MethodGet, "/v1/settings", nil).status }
	begun := time.Now()
	require.Equal(t, 200, status(i.token(t, "ada", nil)))
	var all sync.WaitGroup
	for n := range 30 {
		other.name(t, "forged "+strconv.Itoa(n))
		forged := other.token(t, "ada", object{"iss": i.url})
		all.Go(func() {
			for range 10 {
				require.Equal(t, 401, status(forged))
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, i.fetched.Load(), 1+int64(time.Since(begun)/(5*time.Second)))

	old := i.token(t, "ada", nil)
	i.rotate(t, "k2")
	require.Eventually(t, func() bool { return status(i.token(t, "ada", nil)) == 200 }, waitAtMost, 10*tick)
	require.Equal(t, 401, status(old))
}

// An address of mail names a user only if the issuer says that it is verified.
func TestAddressesMustBeVerified(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	const address = "ada@example.com"
	for _, c := range []struct {
		claim  string
		change object
		status int
	}{
		{"email", object{"email": address, "email_verified": true}, 200},
		{"email", object{"email": address, "email_verified": "true"}, 200},
		{"email", object{"email": address, "email_verified": false}, 403},
		{"email", object{"email": address, "email_verified": "false"}, 403},
		{"email", object{"email": address, "email_verified": 1}, 403},
		{"email", object{"email": address}, 403},
		{"email", object{"email": "ada"}, 403},
		{"email", object{"email_verified": true}, 403},
		{"preferred_username", object{"preferred_username": address, "email_verified": false}, 403},
		{"preferred_username", object{"preferred_username": address, "email_verified": true}, 200},
		{"preferred_username", object{"preferred_username": "ada"}, 200},
		{"sub", object{"sub": address, "email_verified": false}, 200},
	} {
		b := setup(t, func(cfg *server.Config) { cfg.Issuer, cfg.Audience, cfg.UserClaim = i.url, "oxbow", c.claim })
		token := i.token(t, "1", c.change)
		require.Equal(t, c.status, b.do(t, token, http.MethodGet, "/v1/settings", nil).status, "%+v", c)
		require.Equal(t, c.status, b.ask(t, "/mcp", map[string]string{"Authorization": "Bearer " + token}).status, "%+v", c)
	}
}

// While the provider does not send its keys, nobody knows whether a token is valid.
func TestIssuerWithoutKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	b := setup(t, func(c *server.Config) { c.Issuer, c.Audience = i.url, "oxbow" })
	status := func() int { return b.do(t, i.token(t, "ada", nil), http.MethodGet, "/v1/settings", nil).status }
	i.down.Store(true)
	require.Equal(t, 503, status())
	i.down.Store(false)
	require.Eventually(t, func() bool { return status() == 200 }, waitAtMost, tick)

	// Meanwhile an address pays for its tokens, which may all be forged.
	b = setup(t, func(c *server.Config) { c.Issuer, c.Audience, c.RequestsPerSecond = i.url, "oxbow", 0.001 })
	i.down.Store(true)
	require.Equal(t, []int{503, 429}, []int{status(), status()})
}
