package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/danielgtaylor/huma/v2"

	"github.com/oxbow-memory/oxbow/store"
)

const (
	issuerTimeout = 5 * time.Second // for an answer of the provider
	issuerRetry   = time.Second     // from a failure to the next attempt
	issuerKeep    = 5 * time.Second // for which an answer counts
	issuerAnswer  = 1 << 20         // bytes
)

// tokens verifies the tokens of an OpenID provider.
type tokens struct {
	issuer, audience, claim string
	documents               *sparing // of the provider

	mu     sync.Mutex
	found  *oidc.Provider // nil until it was reached
	failed error          // why it was not, at the time of the last attempt
	tried  time.Time
}

func newTokens(cfg Config) *tokens {
	if cfg.Issuer == "" {
		return nil
	}
	return &tokens{issuer: cfg.Issuer, audience: cfg.Audience, claim: cfg.UserClaim,
		documents: &sparing{kept: map[string]*kept{}}}
}

func (t *tokens) identify(ctx context.Context, token string) (caller, error) {
	provider, err := t.provider(ctx)
	if err != nil {
		return caller{}, errNoIssuer
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: t.audience}).Verify(ctx, token)
	if err != nil && t.documents.missing() { // perhaps the key is among those that the provider did not send
		return caller{}, errNoIssuer
	} else if err != nil {
		return caller{}, errNoCredential
	}
	user, err := t.userOf(verified)
	return caller{role: store.RolePerson, user: user}, err
}

// userOf returns the user whom a valid token names. An email address names a user only if the issuer has verified it:
// anybody can claim somebody else's address. A subject is the issuer's own name for a user.
func (t *tokens) userOf(token *oidc.IDToken) (string, error) {
	claims := map[string]any{}
	if err := token.Claims(&claims); err != nil {
		return "", errNoCredential
	}
	user, _ := claims[t.claim].(string)
	if store.ValidateUserID(user) != nil {
		return "", huma.Error403Forbidden("the token has no user in its claim " + t.claim)
	}
	verified := claims["email_verified"] == true || claims["email_verified"] == "true" // as some issuers write it
	if !verified && (t.claim == "email" || t.claim != "sub" && strings.Contains(user, "@")) {
		return "", huma.Error403Forbidden("the claim " + t.claim + " of the token is an address of mail, which needs the " +
			"claim email_verified with the value true")
	}
	return user, nil
}

// provider returns the provider. It fetches the configuration of the provider on first use, and tries again after a
// failure.
func (t *tokens) provider(ctx context.Context) (_ *oidc.Provider, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil && time.Since(t.tried) > issuerRetry {
		// The provider keeps its context, and the client in it, for later requests for keys.
		ctx = oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: issuerTimeout, Transport: t.documents})
		t.found, t.failed = oidc.NewProvider(ctx, t.issuer)
		t.tried = time.Now()
	}
	return t.found, t.failed
}

// sparing limits how often a provider is asked for the same document. Without it, each forged token that names an
// unknown key would cause a request to the provider.
type sparing struct {
	mu   sync.Mutex // held during a request, so that several at once are one
	kept map[string]*kept
}

// kept is an answer, or the failure to get one.
type kept struct {
	until  time.Time
	answer *http.Response
	body   []byte
	err    error
}

// RoundTrip implements http.RoundTripper.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.kept[r.URL.String()]
	if k == nil || !time.Now().Before(k.until) {
		k = fetch(r)
		s.kept[r.URL.String()] = k
	}
	if k.err != nil {
		return nil, k.err
	}
	answer := *k.answer
	answer.Body = io.NopCloser(bytes.NewReader(k.body))
	return &answer, nil
}

func fetch(r *http.Request) *kept {
	answer, err := http.DefaultTransport.RoundTrip(r)
	k := &kept{answer: answer, err: err}
	if err == nil {
		defer answer.Body.Close()
		k.body, k.err = io.ReadAll(io.LimitReader(answer.Body, issuerAnswer))
	}
	k.until = time.Now().Add(issuerRetry)
	if k.usable() {
		k.until = time.Now().Add(issuerKeep)
	}
	return k
}

func (k *kept) usable() bool { return k.err == nil && k.answer.StatusCode == http.StatusOK }

// missing reports whether a recent request to the provider failed.
func (s *sparing) missing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if !k.usable() && time.Now().Before(k.until) {
			return true
		}
	}
	return false
}
