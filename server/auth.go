package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"golang.org/x/time/rate"

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
	c, err := s.identify(r.Context(), strings.TrimSpace(credential))
	if err != nil {
		return caller{}, err
	}
	if err := s.limits.take(c); err != nil {
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

// identify returns the holder of an API key or a token.
func (s *Server) identify(ctx context.Context, credential string) (caller, error) {
	key, err := store.FindAPIKey(ctx, s.own, credential)
	switch {
	case err == nil:
		return caller{role: key.Role, key: key.ID, user: key.UserID}, nil
	case !errors.Is(err, store.ErrNoKey):
		return caller{}, err
	case s.tokens != nil:
		return s.tokens.identify(ctx, credential)
	}
	return caller{}, errNoCredential
}

// tokens verifies the tokens of an OpenID provider.
type tokens struct {
	issuer, audience, claim string

	mu    sync.Mutex
	found *oidc.Provider // nil until it was reached
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
	if t.found == nil {
		// The provider keeps its context for later requests of keys.
		t.found, err = oidc.NewProvider(context.WithoutCancel(ctx), t.issuer)
	}
	return t.found, err
}

// limits limits the requests of each key, and of each user with a token.
type limits struct {
	perSecond rate.Limit
	burst     int

	mu   sync.Mutex
	each map[caller]*rate.Limiter
}

// maxLimited is the number of callers after which all are forgotten, which allows each one more burst.
const maxLimited = 100_000

func newLimits(perSecond float64, burst int) *limits {
	return &limits{perSecond: rate.Limit(perSecond), burst: burst, each: map[caller]*rate.Limiter{}}
}

func (l *limits) take(c caller) error {
	c.user = map[bool]string{true: c.user}[c.key == uuid.Nil]
	l.mu.Lock()
	limiter := l.each[c]
	if limiter == nil {
		if len(l.each) >= maxLimited {
			clear(l.each)
		}
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		l.each[c] = limiter
	}
	l.mu.Unlock()
	now := time.Now()
	if reservation := limiter.ReserveN(now, 1); reservation.DelayFrom(now) > 0 {
		wait := reservation.DelayFrom(now)
		reservation.CancelAt(now)
		return &retryAfter{wait}
	}
	return nil
}

// retryAfter reports too many requests.
type retryAfter struct{ wait time.Duration }

func (r *retryAfter) Error() string   { return "too many requests: wait as long as Retry-After says" }
func (r *retryAfter) GetStatus() int  { return http.StatusTooManyRequests }
func (r *retryAfter) seconds() string { return strconv.Itoa(int(math.Ceil(r.wait.Seconds()))) }
