package pages

import (
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// usersPage, keysPage and logPage are how many entries a page shows.
const (
	usersPage = 100
	keysPage  = 50
	logPage   = 50
)

// usersView is a page of the list of users.
type usersView struct {
	Sought  string // that was not found
	Users   []string
	Next    string // the last of them, if there are more
	Invalid bool   // the sought text cannot be an id
}

// users lists the users in order, or finds one.
func (s *Site) users(v *visit) error {
	page := usersView{Sought: v.value("find")}
	after := v.value("after")
	if page.Sought != "" {
		switch err := store.ValidateUserID(page.Sought); {
		case err != nil:
			page.Invalid = true
			return v.render("operator_users", page)
		default:
			p, err := store.PersonOf(v.Context(), s.Operators, page.Sought)
			if err != nil {
				return err
			}
			if p.Known {
				return v.redirect(userPath(page.Sought), "")
			}
		}
		after = page.Sought
	}
	var err error
	if page.Users, err = store.Users(v.Context(), s.Operators, after, usersPage); err != nil {
		return err
	}
	if n := len(page.Users); n == usersPage {
		page.Next = page.Users[n-1]
	}
	return v.render("operator_users", page)
}

// userView is the page of a user.
type userView struct {
	ID       string
	Person   store.Person
	Settings store.UserSettings
	Keys     []store.APIKey
	Log      []store.Access
	Next     uuid.UUID // the parameter before of the next page of the log
	Now      time.Time
}

// user shows a user's figures, keys and log.
func (s *Site) user(v *visit) error {
	page := userView{ID: v.Form.Get("id"), Now: time.Now()}
	if err := store.ValidateUserID(page.ID); err != nil {
		return errNoPage
	}
	before, err := v.idOf("before")
	if err != nil {
		return err
	}
	if page.Person, err = store.PersonOf(v.Context(), s.Operators, page.ID); err != nil {
		return err
	}
	if page.Keys, err = store.KeysOf(v.Context(), s.Operators, page.ID); err != nil {
		return err
	}
	if !page.Person.Known && len(page.Keys) == 0 {
		return errNoPage
	}
	v.about = []string{page.ID}
	if page.Settings, err = store.SettingsOf(v.Context(), s.Operators, page.ID); err != nil {
		return err
	}
	if err := s.Host.FlushLog(v.Context()); err != nil && !oxbow.IsRetryable(err) { // read what is there
		return err
	}
	if page.Log, err = store.AccessLog(v.Context(), s.Operators, page.ID, before, logPage); err != nil {
		return err
	}
	if len(page.Log) == logPage {
		page.Next = page.Log[logPage-1].ID
	}
	return v.render("operator_user", page)
}

// idOf returns a field that holds an id, or uuid.Nil without one.
func (v *visit) idOf(name string) (uuid.UUID, error) {
	text := v.value(name)
	if text == "" {
		return uuid.Nil, nil
	}
	id, err := uuid.Parse(text)
	if err != nil {
		return id, errNoPage
	}
	return id, nil
}

// keysView is a page of the list of keys.
type keysView struct {
	Keys []store.APIKey
	Next uuid.UUID // the parameter before of the next page
	Own  uuid.UUID // the key of this session
	Now  time.Time
}

// keys lists the keys of the API, the newest first.
func (s *Site) keys(v *visit) error {
	before, err := v.idOf("before")
	if err != nil {
		return err
	}
	page := keysView{Own: v.session.KeyID, Now: time.Now()}
	if page.Keys, err = store.APIKeys(v.Context(), s.Operators, before, keysPage); err != nil {
		return err
	}
	if len(page.Keys) == keysPage {
		page.Next = page.Keys[keysPage-1].ID
	}
	return v.render("operator_keys", page)
}

// revokeKey ends a key, and the sessions that it began.
func (s *Site) revokeKey(v *visit) error {
	id, err := v.id()
	if err != nil {
		return err
	}
	if err := store.RevokeAPIKey(v.Context(), s.Operators, id); err != nil {
		return err
	}
	s.Host.Note(v.Context(), "an operator revoked a key", "revoked", id, "key", v.session.KeyID)
	return v.redirect("/operator/keys", "key_revoked")
}

// userPath returns the URL of the page of a user.
func userPath(id string) string { return "/operator/user?id=" + url.QueryEscape(id) }
