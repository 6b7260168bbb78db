package server_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/server"
)

// issuer is an OpenID provider.
type issuer struct {
	url    string
	signer jose.Signer
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	key := jose.JSONWebKey{Key: private, KeyID: "k", Algorithm: "RS256", Use: "sig"}
	i := &issuer{}
	i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, nil)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"issuer": i.url, "jwks_uri": i.url + "/keys", "authorization_endpoint": i.url,
			"token_endpoint": i.url, "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	})
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	i.url = h.URL
	return i
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
