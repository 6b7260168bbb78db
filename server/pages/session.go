package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// sessionLifetime is how long somebody stays signed in.
const sessionLifetime = 12 * time.Hour

// secure reports whether browsers reach the server over TLS.
func (s *Site) secure(r *http.Request) bool { return strings.HasPrefix(s.Host.Base(r), "https:") }

// cookie returns a cookie that only this server gets. Lax, so that a link from elsewhere finds the session; forms of
// other sites are refused before it counts (http.CrossOriginProtection).
func (s *Site) cookie(r *http.Request, name, value string, lifetime time.Duration) *http.Cookie {
	c := &http.Cookie{Name: "oxbow-" + name, Value: value, Path: "/", MaxAge: int(lifetime.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: s.secure(r)}
	if c.Secure {
		c.Name = "__Host-" + c.Name
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// sent returns the value of a cookie that the browser sent.
func (s *Site) sent(r *http.Request, name string) string {
	if c, err := r.Cookie(s.cookie(r, name, "", 0).Name); err == nil {
		return c.Value
	}
	return ""
}

// resume finds the session of a visit, if there is one, and the person's time zone.
func (s *Site) resume(v *visit) (err error) {
	id := s.sent(v.Request, "session")
	if id == "" {
		return nil
	}
	session, err := s.Host.Session(v.Request, id)
	if errors.Is(err, store.ErrNoKey) {
		return nil
	} else if err != nil {
		return err
	}
	ctx, end, err := s.Host.Begin(v.Request, session)
	if err != nil {
		return err
	}
	v.Request, v.session, v.end = v.WithContext(ctx), session, end
	if session.UserID == "" {
		return nil
	}
	settings, err := s.settingsOf(v)
	if zone, unknown := time.LoadLocation(settings.Timezone); unknown == nil {
		v.zone = zone
	}
	return err
}

// begin starts a session.
func (s *Site) begin(v *visit, user string, key uuid.UUID) error {
	id, err := store.CreatePageSession(v.Context(), s.Operators, user, key, sessionLifetime)
	if err == nil {
		http.SetCookie(v.w, s.cookie(v.Request, "session", id, sessionLifetime))
	}
	return err
}

// loginForm is what the page of the login shows.
type loginForm struct {
	Next   string
	Issuer bool   // sign in there too
	Wrong  string // the key of a text
}

func (s *Site) login(v *visit) error {
	if v.session.Role != "" {
		return v.redirect("/", "")
	}
	return v.render("login", loginForm{Next: local(v.URL.Query().Get("next")), Issuer: s.ClientID != ""})
}

// enter signs in with a key.
func (s *Site) enter(v *visit) error {
	if err := s.Host.LimitLogin(v.Request); err != nil {
		return err
	}
	if err := v.parse(); err != nil {
		return err
	}
	form := loginForm{Next: local(v.value("next")), Issuer: s.ClientID != ""}
	key, err := store.FindAPIKey(v.Context(), s.Operators, v.value("key"))
	switch {
	case errors.Is(err, store.ErrNoKey):
		form.Wrong = "login_wrong"
	case err != nil:
		return err
	case key.Role == store.RoleApp: // it acts for whoever a path names, and a page names nobody
		form.Wrong = "login_app"
	default:
		_ = store.APIKeyUsed(v.Context(), s.Operators, key) // a sign-in matters more than its record
		if err := s.begin(v, key.UserID, key.ID); err != nil {
			return err
		}
		return v.redirect(form.Next, "")
	}
	return v.renderAs(http.StatusUnauthorized, "login", form)
}

// leave ends the session.
func (s *Site) leave(v *visit) error {
	if err := store.DeletePageSession(v.Context(), s.Operators, s.sent(v.Request, "session")); err != nil {
		return err
	}
	http.SetCookie(v.w, s.cookie(v.Request, "session", "", 0))
	return v.redirect("/login", "")
}

// local returns a path of this site, or / for anything else.
func local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") ||
		strings.ContainsAny(path, "\\\t\r\n") {
		return "/"
	}
	return path
}
