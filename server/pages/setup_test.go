package pages_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

// site is a server on a database of its own.
type site struct {
	url    string
	pool   *pgxpool.Pool // as the owner
	client *oxbow.Client // as the owner
	server *server.Server
}

func setup(t testing.TB, change ...func(*server.Config)) *site {
	t.Helper()
	dsn := pgtest.Database(t)
	cfg := server.Config{DatabaseURL: pgtest.As(t, dsn, "server"), RequestsPerSecond: 1e6,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, c := range change {
		c(&cfg)
	}
	s, err := server.New(t.Context(), cfg)
	require.NoError(t, err)
	h := httptest.NewServer(s.Handler())
	t.Cleanup(func() { h.Close(); s.Close() })
	pool := pgtest.Open(t, dsn, "")
	client, err := oxbow.New(pool, oxbow.WithoutUseReports())
	require.NoError(t, err)
	return &site{h.URL, pool, client, s}
}

// browser keeps cookies and follows redirects. Its requests carry the headers that a browser sends.
type browser struct {
	*site
	client *http.Client
	key    store.APIKey
	text   string // of the key
}

func (s *site) visitor(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &browser{site: s, client: &http.Client{Jar: jar}}
}

// signedIn returns the browser of a person, or of an operator if user is "".
func (s *site) signedIn(t testing.TB, user string) *browser {
	t.Helper()
	role := store.RolePerson
	if user == "" {
		role = store.RoleOperator
	}
	key, text, err := store.CreateAPIKey(t.Context(), s.pool, store.APIKey{Role: role, UserID: user, Name: "test"})
	require.NoError(t, err)
	b := s.visitor(t)
	b.key = key
	b.text = text
	id, err := store.CreatePageSession(t.Context(), s.pool, user, key.ID, time.Hour) // the form is limited
	require.NoError(t, err)
	address, err := url.Parse(s.url)
	require.NoError(t, err)
	b.client.Jar.SetCookies(address, []*http.Cookie{{Name: "oxbow-session", Value: id, Path: "/"}})
	return b
}

// answer is a page.
type answer struct {
	status int
	path   string // after redirects
	header http.Header
	text   string
}

func (b *browser) get(t testing.TB, path string, headers ...string) answer {
	t.Helper()
	return b.do(t, http.MethodGet, path, nil, headers...)
}

func (b *browser) post(t testing.TB, path string, form url.Values, headers ...string) answer {
	t.Helper()
	return b.do(t, http.MethodPost, path, form, headers...)
}

func (b *browser) do(t testing.TB, method, path string, form url.Values, headers ...string) answer {
	t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, body)
	require.NoError(t, err)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := b.client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Request.URL.RequestURI(), response.Header, string(text)}
}

// one returns the value that a query selects.
func one[T any](t testing.TB, s *site, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, s.pool.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

const (
	waitAtMost = 20 * time.Second
	tick       = 20 * time.Millisecond
)
