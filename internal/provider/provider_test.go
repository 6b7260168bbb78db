package provider

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/oneline"
)

func TestClient(t *testing.T) {
	t.Parallel()
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/slow":
			<-r.Context().Done()
		case "/cut":
			w.Header().Set("Content-Length", "100")
		}
		_, _ = w.Write([]byte("key " + r.Header.Get("Authorization")))
	}))
	t.Cleanup(far.Close)
	ask := func(ctx context.Context, s Server, path string) (string, error) {
		recorded, x := Record(ctx)
		req, err := http.NewRequestWithContext(recorded, http.MethodGet, far.URL+path, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer of the library's")
		resp, err := s.Client().Do(req)
		if err == nil {
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, x.Answer, body)
		}
		require.Equal(t, "Bearer of the library's", req.Header.Get("Authorization"),
			"the caller's request stays as it is")
		return string(x.Answer), x.Err
	}

	with := Server{APIKey: "sk", Timeout: 10 * time.Second, MaxAnswer: 13}
	body, err := ask(t.Context(), with, "/")
	require.NoError(t, err)
	require.Equal(t, "key Bearer sk", body)
	body, err = ask(t.Context(), Server{Timeout: 10 * time.Second, MaxAnswer: 13}, "/")
	require.NoError(t, err)
	require.Equal(t, "key ", body)

	with.MaxAnswer = 12
	_, err = ask(t.Context(), with, "/")
	require.EqualError(t, err, "the answer has more than 12 bytes")
	with.MaxAnswer = 100
	_, err = ask(t.Context(), with, "/cut")
	require.ErrorContains(t, err, "the answer ended early")
	with.Timeout = 20 * time.Millisecond
	_, err = ask(t.Context(), with, "/slow")
	require.EqualError(t, err, "no answer within 20ms")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	with.Timeout = 10 * time.Second
	_, err = ask(ctx, with, "/slow")
	require.ErrorIs(t, err, context.DeadlineExceeded, "it was the caller who stopped waiting")
}

func TestProblem(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][2]string{
		`{"error":{"message":"slow\ndown, sk-1","code":"rate_limit"}}`: {"slow down, (API key)", "rate_limit"},
		`{"error":{"message":"no","code":429}}`:                        {"no", ""},
		`{"error":"no such model"}`:                                    {"no such model", ""},
		`{"message":"太多请求"}`:                                           {"太多请求", ""},
		`{"error":{},"detail":"of FastAPI"}`:                           {"of FastAPI", ""},
		`{"detail":[{"loc":["body"]}]}`:                                {"", ""},
		`{"input":"what was asked"}`:                                   {"", ""},
		`<html>`:                                                       {"", ""},
	} {
		message, code := Server{APIKey: "sk-1"}.Problem([]byte(body))
		require.Equal(t, want, [2]string{message, code}, body)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "1.5": 1500 * time.Millisecond, "-3": 0, "1e9": MaxRetryAfter, "86400": MaxRetryAfter, "soon": 0,
		"NaN": 0,
		at.Add(time.Minute).Format(http.TimeFormat): time.Minute, at.Add(-time.Minute).Format(http.TimeFormat): 0,
		at.Add(24 * time.Hour).Format(http.TimeFormat): MaxRetryAfter,
	} {
		require.Equal(t, want, retryAfter(http.Header{"Retry-After": {header}}, at), header)
	}
}

// FuzzRetryAfter checks that no server makes a worker wait forever, or for a negative time.
func FuzzRetryAfter(f *testing.F) {
	for _, header := range []string{"", "120", "-1", "1e300", "NaN", "+Inf", "Wed, 21 Oct 2099 07:28:00 GMT",
		"Mon, 01 Jan 0001 00:00:00 GMT"} {
		f.Add(header)
	}
	now := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		wait := retryAfter(http.Header{"Retry-After": {header}}, now)
		require.GreaterOrEqual(t, wait, time.Duration(0), header)
		require.LessOrEqual(t, wait, MaxRetryAfter, header)
	})
}

// FuzzProblem checks that a server's message becomes a short line for a log, without the key.
func FuzzProblem(f *testing.F) {
	f.Add([]byte(`{"error":{"message":"slow down, sk-secret-key"}}`))
	f.Add([]byte(`{"message":"\u001b[31m太多\u202e请求\n\ud800"}`))
	f.Add([]byte("{\"detail\":\"\x8c\"}"))
	f.Fuzz(func(t *testing.T, body []byte) {
		text, _ := Server{APIKey: "sk-secret-key"}.Problem(body)
		require.True(t, utf8.ValidString(text), "%q", text)
		require.False(t, strings.ContainsFunc(text, oneline.Unprintable), "%q", text)
		require.LessOrEqual(t, utf8.RuneCountInString(text), 301) // an ellipsis
		require.NotContains(t, text, "sk-secret-key")
	})
}
