package pages

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/store"
)

// visit is a request of somebody, and its answer.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	site    *Site
	route   route
	session store.PageSession // zero if nobody is signed in
	words   *words
	zone    *time.Location // of the person
	status  int            // of the answer
	logged  bool           // the log of accesses has it, or the person has no data any more, which the receipt proves
	about   []string       // the users whose data an operator sees
	end     func()         // ends the request
}

// view is what a template gets.
type view struct {
	*words
	Data any
	v    *visit
	main string
}

// render answers with a page.
func (v *visit) render(page string, data any) error { return v.renderAs(http.StatusOK, page, data) }

func (v *visit) renderAs(status int, page string, data any) error {
	var text bytes.Buffer
	if err := v.site.templates[page].ExecuteTemplate(&text, "layout", &view{v.words, data, v, page}); err != nil {
		return fmt.Errorf("render %s: %w", page, err)
	}
	v.status = status
	v.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v.w.WriteHeader(status)
	_, _ = v.w.Write(text.Bytes()) // the client may have disconnected
	return nil
}

// redirect answers a form with another page, which shows the text "done_" + done unless done is "".
func (v *visit) redirect(to, done string) error {
	if done != "" {
		to += "?done=" + done
	}
	v.status = http.StatusSeeOther
	http.Redirect(v.w, v.Request, to, v.status)
	return nil
}

// problem is what the page of an error shows.
type problem struct {
	Key    string // of the texts error_…
	Detail string // from the server; may be ""
}

// fail answers with the page of an error.
func (v *visit) fail(err error) {
	var status int
	var shown problem
	switch {
	case errors.Is(err, errSignedOut) && v.Method == http.MethodGet && v.URL.Path != "/":
		_ = v.redirect("/login?next="+url.QueryEscape(v.URL.RequestURI()), "")
		return
	case errors.Is(err, errSignedOut):
		_ = v.redirect("/login", "")
		return
	case errors.Is(err, errForbidden) && v.session.Role == store.RoleOperator && v.URL.Path == "/":
		_ = v.redirect("/operator", "")
		return
	case errors.Is(err, errForbidden):
		status, shown.Key = http.StatusForbidden, "forbidden"
	case errors.Is(err, errCrossSite):
		status, shown.Key = http.StatusForbidden, "cross_site"
	case errors.Is(err, errNoPage):
		status, shown.Key = http.StatusNotFound, "not_found"
	case errors.Is(err, errForm):
		status, shown = formStatus(err), problem{"refused", err.Error()}
	default:
		status, shown.Detail = v.site.Host.Problem(v.Context(), err)
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			v.w.Header().Set("Retry-After", "1")
		}
		switch {
		case status == http.StatusNotFound:
			shown.Key = "not_found"
		case status == http.StatusTooManyRequests:
			shown.Key = "too_many"
		case status >= 500:
			shown.Key = "broken"
		default:
			shown.Key = "refused"
		}
	}
	if err := v.renderAs(status, "error", shown); err != nil {
		v.status = http.StatusInternalServerError
		http.Error(v.w, "internal error", v.status)
	}
}

func formStatus(err error) int {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}

// id returns the id in the path.
func (v *visit) id() (uuid.UUID, error) {
	id, err := uuid.Parse(v.PathValue("id"))
	if err != nil {
		return id, errNoPage
	}
	return id, nil
}

// errForm is a form, or a query, that cannot be read.
var errForm = errors.New("the form cannot be read")

// parse reads the form and the query.
func (v *visit) parse() error {
	if err := v.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", errForm, err)
	}
	return nil
}

// value returns a field of the form or the query without space around it.
func (v *visit) value(name string) string { return strings.TrimSpace(v.Form.Get(name)) }

// day returns a field that holds a date, or the zero time without one. The time is the end of that day for the person.
func (v *visit) day(name string) (time.Time, error) {
	text := v.value(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.ParseInLocation(time.DateOnly, text, v.zone)
	if err != nil || day.Year() < 1 || day.Year() > 9998 {
		return day, store.Invalid(name, text, "must be a date such as 2026-03-31")
	}
	return day.AddDate(0, 0, 1).Add(-time.Microsecond), nil
}

// The methods below are for templates.

// With returns the view with other data, for a template that another one includes.
func (p *view) With(data any) *view {
	inner := *p
	inner.Data = data
	return &inner
}

// Page returns the name of the page.
func (p *view) Page() string { return p.main }

// Section returns the current section of the navigation.
func (p *view) Section() string { return p.v.route.section }

// Role returns the role of who is signed in, "" for nobody.
func (p *view) Role() store.Role { return p.v.session.Role }

// User returns the id of the person who is signed in, "" for an operator.
func (p *view) User() string { return p.v.session.UserID }

// Navigation returns the sections of the role.
func (p *view) Navigation() []section { return navigation[p.Role()] }

// section is an entry of the navigation. Its text is nav_NAME.
type section struct{ Name, Path string }

var navigation = map[store.Role][]section{
	store.RolePerson: {{"traits", "/"}, {"facts", "/facts"}, {"memories", "/memories"}, {"wishes", "/wishes"}, {"profile", "/profile"},
		{"activity", "/activity"}, {"settings", "/settings"}},
	store.RoleOperator: operatorSections,
}

// Here returns the path and the query of the page, for a link back. Only a page that was read has one.
func (p *view) Here() string {
	if p.v.Method != http.MethodGet {
		return "/"
	}
	here := *p.v.URL
	q := here.Query()
	q.Del("done")
	here.RawQuery = q.Encode()
	return here.RequestURI()
}

// Done returns what a form did, "" if the page does not follow one.
func (p *view) Done() string { return p.texts["done_"+p.v.URL.Query().Get("done")] }

// Languages returns the languages that can be chosen.
func (p *view) Languages() []*words { return p.v.site.languages }

// Zones returns time zones to choose from; any other may be typed.
func (p *view) Zones() []string {
	return []string{"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "America/Chicago", "America/Denver",
		"America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Sao_Paulo", "America/Toronto",
		"Asia/Bangkok", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Kolkata", "Asia/Seoul", "Asia/Shanghai", "Asia/Singapore",
		"Asia/Taipei", "Asia/Tokyo", "Australia/Sydney", "Europe/Berlin", "Europe/Istanbul", "Europe/London",
		"Europe/Madrid", "Europe/Moscow", "Europe/Paris", "Europe/Rome", "Pacific/Auckland"}
}

// Asset returns the URL of a static file.
func (p *view) Asset(name string) string { return "/static/" + name + "?" + version }

// FeedbackKinds returns what a person can say of a memory or a trait.
func (p *view) FeedbackKinds() []string { return store.FeedbackKinds }

// Date formats a day in the person's time zone, "" for the zero time.
func (p *view) Date(at time.Time) string { return p.format(at, "date_layout") }

// Minute formats a time in the person's time zone, "" for the zero time.
func (p *view) Minute(at time.Time) string { return p.format(at, "minute_layout") }

func (p *view) format(at time.Time, layout string) string {
	if at.IsZero() {
		return ""
	}
	return at.In(p.v.zone).Format(p.texts[layout])
}

// ISO formats a day as form fields need it.
func (p *view) ISO(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.In(p.v.zone).Format(time.DateOnly)
}

// Short returns the beginning of a text, for a list.
func (p *view) Short(text string) string {
	n := 0
	for i := range text {
		if n++; n > 300 {
			return text[:i] + "…"
		}
	}
	return text
}

// Percent formats a share.
func (p *view) Percent(share float64) string { return strconv.Itoa(int(share*100+0.5)) + "%" }

func hashOf(text []byte) string {
	hash := sha256.Sum256(text)
	return hex.EncodeToString(hash[:8])
}
