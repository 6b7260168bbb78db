package pages

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/uuid"
	"golang.org/x/oauth2"
)

// signInLifetime is how long somebody may take at the issuer.
const signInLifetime = 10 * time.Minute

func (s *Site) oauth(v *visit) (*oauth2.Config, *oidc.Provider, error) {
	if s.ClientID == "" {
		return nil, nil, errNoPage
	}
	issuer, err := s.Host.Issuer(v.Context())
	if err != nil {
		return nil, nil, err
	}
	return &oauth2.Config{ClientID: s.ClientID, ClientSecret: s.ClientSecret, Endpoint: issuer.Endpoint(),
		RedirectURL: s.Host.Base(v.Request) + "/signin/callback", Scopes: []string{oidc.ScopeOpenID}}, issuer, nil
}

// signIn sends the visitor to the issuer (authorization code with PKCE). The cookie ties the answer to this browser.
func (s *Site) signIn(v *visit) error {
	config, _, err := s.oauth(v)
	if err != nil {
		return err
	}
	state, nonce, verifier := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	http.SetCookie(v.w, s.cookie(v.Request, "signin", strings.Join([]string{state, nonce, verifier}, "."), signInLifetime))
	return v.redirect(config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), "")
}

// signedIn takes the issuer's answer.
func (s *Site) signedIn(v *visit) error {
	if err := s.Host.LimitLogin(v.Request); err != nil {
		return err
	}
	config, issuer, err := s.oauth(v)
	if err != nil {
		return err
	}
	user, err := s.verified(v, config, issuer)
	http.SetCookie(v.w, s.cookie(v.Request, "signin", "", 0))
	if err != nil {
		s.Host.Note(v.Context(), "a sign-in at the issuer failed", "error", err)
		return v.renderAs(http.StatusUnauthorized, "login", loginForm{Next: "/", Issuer: true, Wrong: "login_issuer"})
	}
	if err := s.begin(v, user, uuid.Nil); err != nil {
		return err
	}
	return v.redirect("/", "")
}

// verified returns the user whom the issuer's answer names.
func (s *Site) verified(v *visit, config *oauth2.Config, issuer *oidc.Provider) (user string, err error) {
	parts := strings.Split(s.sent(v.Request, "signin"), ".")
	query := v.URL.Query()
	if len(parts) != 3 || subtle.ConstantTimeCompare([]byte(parts[0]), []byte(query.Get("state"))) != 1 {
		return "", errors.New("the answer belongs to no request of this browser")
	}
	token, err := config.Exchange(v.Context(), query.Get("code"), oauth2.VerifierOption(parts[2]))
	if err != nil {
		return "", err
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := issuer.Verifier(&oidc.Config{ClientID: s.ClientID}).Verify(v.Context(), raw)
	if err != nil {
		return "", err
	}
	if subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(parts[1])) != 1 {
		return "", errors.New("the token has another nonce")
	}
	return s.Host.User(id)
}
