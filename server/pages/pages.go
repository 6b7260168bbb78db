// Package pages serves Oxbow to people in a browser: a person's own data at /, and the operator's views at /operator.
// It is thin, like the API: a form is checked and becomes a call of the Go client as the database role oxbow_app with
// the session's user, and the answer is HTML.
//
// Pages work without JavaScript: links and forms that POST, redirect and GET. static/live.js only refreshes parts of a
// page (see its comment). Nothing is built and nothing comes from another host.
//
// To add a page:
//   - add a route to the list of its role (personRoutes, operatorRoutes), whose function loads the data and calls
//     visit.render with the name of a template, or changes something and calls visit.redirect;
//   - add templates/NAME.html, which defines "main" and gets a *view: data in .Data, texts by .T and .N;
//   - add its texts to both messages_*.json;
//   - add a case to pageCases in pages_test.go (or operatorCases), and to lab/browser. The tests enumerate the routes,
//     so a page without a case fails.
package pages

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

//go:embed templates static messages_*.json
var files embed.FS

// Host is what the pages need of the server.
type Host interface {
	// AdmitLog returns an error if the log of accesses cannot take another entry about a user now. Log adds an entry, and
	// FlushLog returns once all entries are written.
	AdmitLog(user string) error
	Log(entry store.Access)
	FlushLog(ctx context.Context) error
	// Export writes all data of the entry's user to a client. It stores the entry before the first byte; begun reports
	// whether it did.
	Export(ctx context.Context, entry store.Access, w http.ResponseWriter) (begun bool, err error)
	// Note writes to the log of the program what an operator changed, or why a sign-in failed. args are names and values.
	Note(ctx context.Context, text string, args ...any)
	// Session returns the session with an id, or store.ErrNoKey. It refuses an address with too many unknown ids.
	Session(r *http.Request, id string) (store.PageSession, error)
	// Begin begins a request of a session and returns its context, or an error if there are too many. end ends the
	// request.
	Begin(r *http.Request, session store.PageSession) (ctx context.Context, end func(), err error)
	// LimitLogin returns an error if the address of a request tries to sign in too often.
	LimitLogin(r *http.Request) error
	// Problem returns the status of an error, and a text that may be shown. It logs the rest.
	Problem(ctx context.Context, err error) (status int, text string)
	// Base returns the URL of the server as its clients know it, without a slash at the end.
	Base(r *http.Request) string
	// Issuer returns the OpenID provider.
	Issuer(ctx context.Context) (*oidc.Provider, error)
	// User returns the user whom a valid token names.
	User(token *oidc.IDToken) (string, error)
}

// Config configures a Site.
type Config struct {
	Host      Host
	Client    *oxbow.Client        // as oxbow_app
	Operators *pgxpool.Pool        // as oxbow_operator: sessions, and the operator's views
	Operator  *oxbow.Client        // on Operators
	Model     store.EmbeddingModel // as configured
	// ClientID and ClientSecret are those of the pages at the OpenID provider. Without an id, only keys sign in.
	ClientID, ClientSecret string
	PublicURL              string // "": that of the request
}

// Site serves the pages.
type Site struct {
	Config
	languages []*words
	templates map[string]*template.Template
	handler   http.Handler
	examined  examined
}

// route is a page, or the target of a form.
type route struct {
	pattern string // of http.ServeMux
	role    store.Role
	// operation is the name in the log of accesses: the operationId of the API that does the same, if there is one.
	operation string
	section   string // of the navigation that is marked as current
	serve     func(s *Site, v *visit) error
}

const (
	requestTimeout  = 30 * time.Second
	transferTimeout = 10 * time.Minute
	maxPublicForm   = 16 << 10 // bytes of a form that needs no credential
	maxForm         = 4 << 20  // bytes; the content of a memory has at most 1 MiB, and a form may need more for it
)

// New returns the pages. It does not connect to anything.
func New(cfg Config) *Site {
	s := &Site{Config: cfg, languages: readWords(), templates: readTemplates()}
	mux := http.NewServeMux()
	for _, r := range routes() {
		mux.HandleFunc(r.pattern, func(w http.ResponseWriter, request *http.Request) { s.answer(w, request, r) })
	}
	static, _ := fs.Sub(files, "static") // it is embedded
	mux.Handle("GET /static/", http.StripPrefix("/static/", cached(http.FileServerFS(static))))
	guard := http.NewCrossOriginProtection()
	if cfg.PublicURL != "" {
		_ = guard.AddTrustedOrigin(strings.TrimSuffix(cfg.PublicURL, "/")) // one with a path is none
	}
	guard.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, route{serve: func(*Site, *visit) error { return errCrossSite }})
	}))
	s.handler = secured(guard.Handler(mux))
	return s
}

// Handler returns the handler of all pages.
func (s *Site) Handler() http.Handler { return s.handler }

func routes() []route { return slices.Concat(publicRoutes, personRoutes, operatorRoutes) }

// Routes returns the patterns of all routes with the role that each needs, "" for none.
func Routes() map[string]store.Role {
	found := map[string]store.Role{}
	for _, r := range routes() {
		found[r.pattern] = r.role
	}
	return found
}

// readTemplates returns each page with the layout around it and the parts that it may include.
func readTemplates() map[string]*template.Template {
	layout := template.Must(template.ParseFS(files, "templates/layout.html", "templates/*parts.html"))
	found := map[string]*template.Template{}
	names, _ := fs.Glob(files, "templates/*.html")
	for _, name := range names {
		if base := strings.TrimSuffix(path.Base(name), ".html"); base != "layout" && !strings.HasSuffix(base, "parts") {
			found[base] = template.Must(template.Must(layout.Clone()).ParseFS(files, name))
		}
	}
	return found
}

// secured adds the headers that every answer has. Scripts and styles come from this server alone.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "+
			"img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// cached lets browsers keep a file whose URL has its version.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == version {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		next.ServeHTTP(w, r)
	})
}

// Errors of the pages. The server's Problem knows the others.
var (
	errSignedOut = errors.New("nobody is signed in")
	errForbidden = errors.New("the page is for another role")
	errCrossSite = errors.New("the form is another site's")
	errNoPage    = errors.New("no such page")
)

// answer serves a route, and logs who read or changed what.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, to route) {
	timeout := requestTimeout
	if to.operation == "export" {
		timeout = transferTimeout
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeout + requestTimeout))
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	form := int64(maxForm)
	if to.role == "" {
		form = maxPublicForm
	}
	r.Body = http.MaxBytesReader(w, r.Body, form)
	v := &visit{Request: r.WithContext(ctx), w: w, site: s, route: to, words: s.wordsOf(r), zone: time.UTC, end: func() {}}
	defer func() { v.end() }()
	defer s.log(v)
	err := s.admit(v)
	if err == nil && to.operation != "" {
		err = s.Host.AdmitLog(v.session.UserID)
	}
	if err == nil {
		err = to.serve(s, v)
	}
	if err != nil {
		v.fail(err)
	}
}

func (s *Site) log(v *visit) {
	if v.route.operation == "" || v.logged {
		return
	}
	about := v.about
	if v.session.UserID != "" {
		about = []string{v.session.UserID}
	}
	for _, user := range about {
		s.Host.Log(v.entry(user))
	}
}

// entry returns the entry of the log of accesses about a user.
func (v *visit) entry(user string) store.Access {
	return store.Access{UserID: user, At: time.Now(), KeyID: v.session.KeyID, Role: v.session.Role,
		Operation: v.route.operation, Target: v.PathValue("id"),
		Status: cmp.Or(v.status, http.StatusInternalServerError)} // no status: it panicked
}

// admit finds the session and checks that its role may use the route.
func (s *Site) admit(v *visit) error {
	if err := s.resume(v); err != nil {
		return err
	}
	if v.route.role == "" {
		return nil
	}
	if v.session.Role == "" {
		return errSignedOut
	}
	if v.session.Role != v.route.role {
		return errForbidden
	}
	return v.parse()
}

// publicRoutes need no session.
var publicRoutes = []route{
	{pattern: "GET /login", serve: (*Site).login},
	{pattern: "POST /login", serve: (*Site).enter},
	{pattern: "POST /logout", serve: (*Site).leave},
	{pattern: "GET /signin", serve: (*Site).signIn},
	{pattern: "GET /signin/callback", serve: (*Site).signedIn},
	{pattern: "POST /language", serve: (*Site).setLanguage},
	{pattern: "/", serve: func(*Site, *visit) error { return errNoPage }},
}

// version is the version of the static files.
var version = func() string {
	var all bytes.Buffer
	names, _ := fs.Glob(files, "static/*")
	for _, name := range names {
		text, _ := files.ReadFile(name)
		all.Write(text)
	}
	return "v=" + hashOf(all.Bytes())
}()
