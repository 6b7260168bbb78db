package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// caller is who makes a request, and the user whom it concerns.
type caller struct {
	role     store.Role
	key      uuid.UUID // uuid.Nil for a token
	user     string    // "" if an app or an operator names none
	share    *share    // nil without a limit
	spending *spending // nil without a limit
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
	var refused error
	switch {
	case c.role == store.RolePerson && named && user != c.user:
		refused = huma.Error403Forbidden("the credential is another user's")
	case named:
		refused = store.ValidateUserID(user)
	}
	if c.role != store.RolePerson && refused == nil {
		c.user = user
	}
	if err := s.take(c); err != nil {
		return caller{}, err
	}
	return c, refused
}

// identifyFrom is identify for a request. It refuses an address with too many invalid credentials before it asks the
// database whose the next one is.
func (s *Server) identifyFrom(r *http.Request, credential string) (caller, error) {
	recent, known := s.keys.find(credential)
	if known && recent.fresh() {
		return recent.caller, nil
	}
	var c caller
	err := s.find(r, s.keys, credential, func(ctx context.Context) (err error) {
		c, err = s.identify(ctx, credential)
		return err
	})
	return c, err
}

// find runs a function that finds the holder of a credential. Before that, it refuses an address with too many invalid
// credentials or, if the credential was used recently, a holder with too many requests.
func (s *Server) find(r *http.Request, recent *keys, credential string, f func(context.Context) error) error {
	from := bucket{address: s.remote(r)}
	whose, check := from, func() error { return s.limits.check(from) }
	if c, known := recent.find(credential); known {
		whose, check = c.bucket(), func() error { return s.check(c.caller) }
	}
	share, leave := s.lookups.use(whose)
	defer leave()
	done, err := share.connect(r.Context())
	if err != nil {
		return err
	}
	defer done()
	if err := check(); err != nil {
		return err
	}
	err = f(r.Context())
	switch {
	case errors.Is(err, errNoCredential), errors.Is(err, store.ErrNoKey):
		_ = s.limits.take(from)
		recent.remove(credential)
	case errors.Is(err, errNoIssuer): // it may be a forged token
		_ = s.limits.take(from)
	}
	return err
}

// identify returns the holder of an API key or a token.
func (s *Server) identify(ctx context.Context, credential string) (caller, error) {
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
