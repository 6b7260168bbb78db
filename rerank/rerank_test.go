package rerank_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/rerank"
)

// request is what a server received.
type request struct {
	path, key string
	body      map[string]any
}

// serve starts a server that gives the answer and returns the requests.
func serve(t *testing.T, status int, answer string) (string, chan request) {
	t.Helper()
	got := make(chan request, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		got <- request{r.URL.Path, r.Header.Get("Authorization"), body}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, got
}

func open(t *testing.T, cfg rerank.Config) oxbow.Reranker {
	t.Helper()
	r, err := rerank.New(cfg)
	require.NoError(t, err)
	return r
}

func TestRequests(t *testing.T) {
	t.Parallel()
	url, got := serve(t, http.StatusOK, `{"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": -2}]}`)
	r := open(t, rerank.Config{URL: url + "/v2/", Model: "m", APIKey: "sk"})
	require.Equal(t, "m", r.Model())
	scores, err := r.Rerank(t.Context(), "q", []string{"a", "b"})
	require.NoError(t, err)
	require.Equal(t, []oxbow.RerankScore{{Index: 1, Score: 0.9}, {Index: 0, Score: -2}}, scores)
	require.Equal(t, request{"/v2/rerank", "Bearer sk",
		map[string]any{"model": "m", "query": "q", "documents": []any{"a", "b"}}}, <-got)

	r = open(t, rerank.Config{URL: url}) // without a model, and without a path
	require.Equal(t, url+"/rerank", r.Model())
	_, err = r.Rerank(t.Context(), "q", []string{"a"})
	require.NoError(t, err)
	require.Equal(t, request{"/rerank", "", map[string]any{"query": "q", "texts": []any{"a"}, "truncate": true}}, <-got)
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		answer string
		scores []oxbow.RerankScore
		says   string
	}{
		"TEI":            {200, `[{"index": 1, "score": 0.5, "text": "b"}]`, []oxbow.RerankScore{{Index: 1, Score: 0.5}}, ""},
		"Voyage":         {200, `{"data": [{"index": 0, "relevance_score": 0}]}`, []oxbow.RerankScore{{}}, ""},
		"nothing":        {200, `{}`, []oxbow.RerankScore{}, ""},
		"NaN":            {200, `[{"index": 0, "score": NaN}]`, nil, "/rerank: the answer is not a list of scores"},
		"no score":       {200, `[{"index": 0, "score": null}]`, nil, "result 1 of the answer has no index or no score"},
		"no index":       {200, `{"results": [{"relevance_score": 1}]}`, nil, "result 1 of the answer has no index or no score"},
		"text":           {200, `hello`, nil, "the answer is not a list of scores"},
		"key":            {401, `{"message": "bad key sk"}`, nil, "said: bad key (API key); check the API key"},
		"overloaded":     {503, ``, nil, "said: service unavailable"},
		"too many texts": {413, `{"error": "batch size 50 > maximum allowed batch size 32"}`, nil, "maximum allowed batch size 32"},
	} {
		url, _ := serve(t, c.status, c.answer)
		scores, err := open(t, rerank.Config{URL: url, Model: "m", APIKey: "sk"}).Rerank(t.Context(), "q", []string{"a", "b"})
		if c.says != "" {
			require.ErrorContains(t, err, c.says, name)
			require.NotContains(t, err.Error(), "sk\"", name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.scores, scores, name)
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body) // only then does the server notice that the client left
		<-r.Context().Done()
		close(ended)
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := open(t, rerank.Config{URL: s.URL}).Rerank(ctx, "q", []string{"a"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-ended
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"": `rerank URL "" is not`, "ftp://host": `"ftp://host" is not`, "host:80": "is not an http or https address",
	} {
		_, err := rerank.New(rerank.Config{URL: url})
		require.ErrorContains(t, err, says)
	}
	_, err := rerank.New(rerank.Config{URL: "http://u:secret@h:x?k=secret"})
	require.ErrorContains(t, err, `rerank URL "http://h:x" is not`)
	_, err = rerank.New(rerank.Config{URL: "http://h", APIKey: "a\nb"})
	require.ErrorContains(t, err, "line break")
}
