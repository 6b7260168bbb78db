package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// caller is who makes a request, and the user whom it concerns.
type caller struct {
	role store.Role
	key  uuid.UUID // uuid.Nil for a token
	user string    // "" if an app or an operator names none
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

var errNoCredential = huma.Error401Unauthorized(
	"the request needs a valid API key or token in the header Authorization: Bearer …")

var errNoIssuer = huma.Error503ServiceUnavailable("the issuer of tokens cannot be reached: try again later")

// authenticate returns the caller of a request. user is the user in the path, if named.
func (s *Server) authenticate(r *http.Request, user string, named bool) (caller, error) {
	scheme, credential, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || credential == "" {
		return caller{}, errNoCredential
	}
	c, err := s.identifyFrom(r, strings.TrimSpace(credential))
	if err != nil {
		return caller{}, err
	}
	if err := s.limits.take(c.bucket()); err != nil {
		return caller{}, err
	}
	switch {
	case c.role != store.RolePerson:
		c.user = user
	case named && user != c.user:
		return caller{}, huma.Error403Forbidden("the credential is another user's")
	}
	if named {
		if err := store.ValidateUserID(user); err != nil {
			return caller{}, err
		}
	}
	return c, nil
}

// identifyFrom is identify for a request. It refuses an address with too many invalid credentials before it asks the
// database whose the next one is.
func (s *Server) identifyFrom(r *http.Request, credential string) (caller, error) {
	if c, ok := s.keys.find(credential); ok {
		return c, nil
	}
	from := bucket{address: s.remote(r)}
	if err := s.limits.check(from); err != nil {
		return caller{}, err
	}
	c, err := s.identify(r.Context(), credential)
	if errors.Is(err, errNoCredential) {
		_ = s.limits.take(from)
	}
	return c, err
}

// identify returns the holder of an API key or a token.
func (s *Server) identify(ctx context.Context, credential string) (caller, error) {
	if c, ok := s.keys.find(credential); ok {
		return c, nil
	}
	key, err := store.FindAPIKey(ctx, s.own, credential)
	switch {
	case err == nil:
		if err := store.APIKeyUsed(ctx, s.own, key); err != nil {
			s.log.WarnContext(ctx, "cannot record that a key is used", "error", err)
		}
		c := caller{role: key.Role, key: key.ID, user: key.UserID}
		s.keys.add(credential, c)
		return c, nil
	case !errors.Is(err, store.ErrNoKey):
		return caller{}, err
	case s.tokens != nil:
		return s.tokens.identify(ctx, credential)
	}
	return caller{}, errNoCredential
}

const (
	issuerTimeout = 5 * time.Second // for an answer of the provider
	issuerRetry   = time.Second     // from a failure to the next attempt
)

// tokens verifies the tokens of an OpenID provider.
type tokens struct {
	issuer, audience, claim string

	mu     sync.Mutex
	found  *oidc.Provider // nil until it was reached
	failed error          // why it was not, at the time of the last attempt
	tried  time.Time
}

func newTokens(cfg Config) *tokens {
	if cfg.Issuer == "" {
		return nil
	}
	return &tokens{issuer: cfg.Issuer, audience: cfg.Audience, claim: cfg.UserClaim}
}

func (t *tokens) identify(ctx context.Context, token string) (caller, error) {
	provider, err := t.provider(ctx)
	if err != nil {
		return caller{}, errNoIssuer
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: t.audience}).Verify(ctx, token)
	if err != nil {
		return caller{}, errNoCredential
	}
	claims := map[string]any{}
	if err := verified.Claims(&claims); err != nil {
		return caller{}, errNoCredential
	}
	user, _ := claims[t.claim].(string)
	if store.ValidateUserID(user) != nil {
		return caller{}, huma.Error403Forbidden("the token has no user in its claim " + t.claim)
	}
	return caller{role: store.RolePerson, user: user}, nil
}

// provider returns the provider. It asks for its keys the first time that it is reached.
func (t *tokens) provider(ctx context.Context) (_ *oidc.Provider, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.found == nil && time.Since(t.tried) > issuerRetry {
		// The provider keeps its context, and the client in it, for later requests of keys.
		ctx = oidc.ClientContext(context.WithoutCancel(ctx), &http.Client{Timeout: issuerTimeout})
		t.found, t.failed = oidc.NewProvider(ctx, t.issuer)
		t.tried = time.Now()
	}
	return t.found, t.failed
}
