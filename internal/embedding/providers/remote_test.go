package providers_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/provider"
)

const (
	dimension = 8
	key       = "sk-do-not-show-me"
)

// each runs a test against both providers.
func each(t *testing.T, test func(t *testing.T, server *embeddingtest.Server, cfg providers.Config)) {
	for _, protocol := range []string{provider.OpenAI, provider.Ollama} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			server := embeddingtest.New(t, dimension)
			cfg := providers.Config{Provider: protocol, Model: "model-x", Dimension: dimension,
				URL: server.OpenAIURL(), APIKey: key}
			if protocol == provider.Ollama {
				cfg.URL = server.OllamaURL()
			}
			test(t, server, cfg)
		})
	}
}

func open(t *testing.T, cfg providers.Config) embedding.Embedder {
	t.Helper()
	e, err := providers.Open(cfg)
	require.NoError(t, err)
	return e
}

func texts(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("text %d", i)
	}
	return list
}

// requireVector checks that got is the server's vector for text, with length 1.
func requireVector(t *testing.T, text string, got []float32) {
	t.Helper()
	want := embeddingtest.Vector(text, dimension)
	require.Len(t, got, dimension)
	var dot, length, wantLength float64
	for i := range want {
		dot += float64(want[i]) * float64(got[i])
		length += float64(got[i]) * float64(got[i])
		wantLength += float64(want[i]) * float64(want[i])
	}
	require.InDelta(t, 1, length, 1e-5)
	require.InDelta(t, 1, dot/math.Sqrt(wantLength), 1e-5, "another text's vector")
}

func requireError(t *testing.T, err error, kind embedding.Kind) *embedding.Error {
	t.Helper()
	var e *embedding.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, kind, e.Kind, e.Error())
	require.NotContains(t, e.Error(), key)
	require.NotContains(t, e.Error(), "\n")
	return e
}

func TestVectorsBelongToTheirTexts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		cfg.BatchSize = 3
		e := open(t, cfg)
		require.Equal(t, cfg.Provider+":model-x", e.Model())
		require.Equal(t, dimension, e.Dimension())
		asked := texts(7)
		if cfg.Provider == provider.OpenAI {
			server.Next(backwards(asked[:cfg.BatchSize]))
		}
		vectors, err := e.Embed(t.Context(), asked)
		require.NoError(t, err)
		require.Len(t, vectors, 7)
		for i, v := range vectors {
			requireVector(t, asked[i], v)
		}
		size, path := 3, "/v1/embeddings"
		if cfg.Provider == provider.Ollama {
			size, path = 1, "/api/embed"
		}
		requests := server.Requests()
		require.Len(t, requests, (7+size-1)/size)
		for _, r := range requests {
			require.Equal(t, embeddingtest.Request{Path: path, Authorization: "Bearer " + key, Model: "model-x",
				Texts: r.Texts}, r)
		}

		none, err := e.Embed(t.Context(), nil)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

func TestRequestFollowsConfiguration(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	server := embeddingtest.New(t, dimension)
	e := open(t, providers.Config{Provider: "openai", Model: "text-embedding-3-small", Dimension: dimension,
		URL: server.OpenAIURL() + "/"})
	_, err := e.Embed(t.Context(), texts(1))
	require.NoError(t, err)
	got := server.Requests()[0]
	require.Empty(t, got.Authorization, "no key is configured")
	require.Equal(t, dimension, got.Dimensions)
}

func TestPrefixes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		cfg.QueryPrefix, cfg.PassagePrefix = "query: ", "passage: "
		e := open(t, cfg)
		vectors, err := e.Embed(t.Context(), []string{"cello"})
		require.NoError(t, err)
		requireVector(t, "passage: cello", vectors[0])
		vectors, err = embedding.Queries(t.Context(), e, []string{"cello"})
		require.NoError(t, err)
		requireVector(t, "query: cello", vectors[0])
	})
}

func TestProviderIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault  embeddingtest.Fault
		status int
		after  time.Duration
		says   string
	}{
		"bad key":           {embeddingtest.Status(401, "incorrect API key"), 401, 0, "incorrect API key; check the API key"},
		"forbidden":         {embeddingtest.Status(403, ""), 403, 0, "forbidden; check the API key"},
		"key in the answer": {echoKey(), 401, 0, "incorrect key in Bearer (API key)"},
		"no such model": {embeddingtest.Status(404, "model not found"), 404, 0,
			`said: model not found; check the model "model-x" and the URL`},
		"bad request":   {embeddingtest.Status(400, "dimensions not supported"), 400, 0, "dimensions not supported"},
		"unprocessable": {echoRequest(), 422, 0, "unprocessable entity"},
		"rate limit":    {embeddingtest.TooManyRequests(7 * time.Second), 429, 7 * time.Second, "try again after 7s"},
		"no time given": {embeddingtest.TooManyRequests(-1), 429, 0, "rate limit reached"},
		"absurd time given": {embeddingtest.TooManyRequests(1000 * time.Hour), 429, 10 * time.Minute,
			"try again after 10m"},
		"server error":      {embeddingtest.Status(500, "internal"), 500, 0, "internal"},
		"redirect":          {redirect("http://example.invalid/"), 307, 0, "which is not followed"},
		"connection lost":   {embeddingtest.Drop(), 0, 0, "does not answer"},
		"answer broken off": {truncated(), 0, 0, "ended early"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
				server.Always(test.fault)
				vectors, err := open(t, cfg).Embed(t.Context(), []string{"my secret", "another"})
				require.Nil(t, vectors)
				e := requireError(t, err, embedding.Unavailable)
				require.Equal(t, test.status, e.Status)
				require.Equal(t, test.after, e.RetryAfter)
				require.ErrorContains(t, err, test.says)
				require.NotContains(t, err.Error(), "my secret")
				require.LessOrEqual(t, len(server.Requests()), 2, "one more than needed at most")
			})
		})
	}
}

func TestRetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		server.Always(overloaded(time.Now().Add(8 * time.Minute)))
		_, err := open(t, cfg).Embed(t.Context(), texts(1))
		e := requireError(t, err, embedding.Unavailable)
		require.InDelta(t, 8*time.Minute, e.RetryAfter, float64(time.Minute))
	})
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	e := open(t, providers.Config{Provider: "ollama", Model: "m", Dimension: dimension, URL: "http://user:" + key +
		"@" + address + "/?token=" + key})
	_, err = e.Embed(t.Context(), texts(1))
	_ = requireError(t, err, embedding.Unavailable)
	require.ErrorContains(t, err, "http://"+address+"/ does not answer")
	require.ErrorContains(t, err, "connection refused")
}

func TestProviderHangs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		server.Always(embeddingtest.Hang())
		cfg.Timeout = 100 * time.Millisecond
		_, err := open(t, cfg).Embed(t.Context(), texts(1))
		_ = requireError(t, err, embedding.Unavailable)
		require.ErrorContains(t, err, "no answer within 100ms")

		cfg.Timeout = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		<-server.Hanging() // the first request
		go func() {
			_, err := open(t, cfg).Embed(ctx, texts(1))
			done <- err
		}()
		<-server.Hanging()
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	})
}

func TestAnswerMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault embeddingtest.Fault
		says  string
	}{
		"short vector": {embeddingtest.ShortVector(), "a vector has 7 dimensions, but the configuration says 8"},
		"NaN":          {embeddingtest.NaN(), "cannot be read"},
		"all zero":     {embeddingtest.ZeroVector(), "all zero"},
		"all null":     {nullVector(), "all zero"},
		"infinite":     {hugeNumbers(), "cannot be read"},
		"garbage":      {embeddingtest.Garbage(), "cannot be read"},
		"empty object": {embeddingtest.Raw("{}"), "cannot be read"},
		"empty answer": {embeddingtest.Raw(""), "cannot be read"},
		"one less":     {embeddingtest.OneLess(), ""},
		"one more":     {embeddingtest.OneMore(), "vectors for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
				e := open(t, cfg)
				server.Next(test.fault)
				vectors, err := e.Embed(t.Context(), texts(3))
				require.Nil(t, vectors)
				_ = requireError(t, err, embedding.Invalid)
				require.ErrorContains(t, err, test.says)
				_, err = e.Embed(t.Context(), texts(3))
				require.NoError(t, err, "the next answer is fine")
			})
		})
	}
}

func TestContradictingPositions(t *testing.T) {
	t.Parallel()
	server := embeddingtest.New(t, 2)
	e := open(t, providers.Config{Provider: "openai", Model: "m", Dimension: 2, URL: server.OpenAIURL()})
	server.Next(embeddingtest.Raw(`{"data": [{"index": 1, "embedding": [1, 2]}, {"index": 1, "embedding": [3, 4]}]}`))
	_, err := e.Embed(t.Context(), texts(2))
	_ = requireError(t, err, embedding.Invalid)
	server.Next(embeddingtest.Raw(`{"data": [{"embedding": [3, 4]}, {"embedding": [4, 3]}]}`))
	vectors, err := e.Embed(t.Context(), texts(2))
	require.NoError(t, err, "a server may leave positions out")
	require.InDeltaSlice(t, []float32{0.6, 0.8}, vectors[0], 1e-6)
}

func TestOneBadTextDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		asked := texts(128)
		asked[5], asked[100] = "bad", "bad too"
		server.Refuse(func(texts []string) bool { return strings.Contains(strings.Join(texts, "|"), "bad") })
		vectors, err := open(t, cfg).Embed(t.Context(), asked)
		e := requireError(t, err, embedding.Permanent)
		require.Equal(t, []int{5, 100}, e.Texts)
		require.ErrorContains(t, err, "said: input is not acceptable")
		require.Len(t, vectors, 128)
		for i, v := range vectors {
			if i == 5 || i == 100 {
				require.Nil(t, v)
				continue
			}
			requireVector(t, asked[i], v)
		}
		if cfg.Provider == provider.OpenAI {
			require.LessOrEqual(t, len(server.Requests()), 30, "halves, not one by one")
		}
	})
}

func TestTooManyWordsAtOnce(t *testing.T) {
	t.Parallel()
	server := embeddingtest.New(t, dimension)
	server.Refuse(func(texts []string) bool { return len(strings.Join(texts, "")) > 100 })
	e := open(t, providers.Config{Provider: "openai", Model: "m", Dimension: dimension, URL: server.OpenAIURL()})
	asked := texts(64)
	vectors, err := e.Embed(t.Context(), asked)
	require.NoError(t, err)
	for i, v := range vectors {
		requireVector(t, asked[i], v)
	}
}

func TestLongTextIsEmbeddedByItsBeginning(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		server.Refuse(func(texts []string) bool { return len(strings.Join(texts, "")) > 4000 })
		long := strings.Repeat("长", 5000) // 15,000 bytes
		vectors, err := open(t, cfg).Embed(t.Context(), []string{"short", long})
		require.NoError(t, err)
		requireVector(t, "short", vectors[0])
		requests := server.Requests()
		kept := requests[len(requests)-1].Texts[0]
		require.True(t, strings.HasPrefix(long, kept) && len(kept) > 2000, "a beginning in whole characters")
		requireVector(t, kept, vectors[1])
	})
}

func TestFailureWhileHalving(t *testing.T) {
	t.Parallel()
	server := embeddingtest.New(t, dimension)
	e := open(t, providers.Config{Provider: "openai", Model: "m", Dimension: dimension, URL: server.OpenAIURL()})
	server.Next(embeddingtest.Status(400, "no"), embeddingtest.Fault{}, embeddingtest.TooManyRequests(time.Second))
	vectors, err := e.Embed(t.Context(), texts(4))
	require.Nil(t, vectors)
	require.Equal(t, 429, requireError(t, err, embedding.Unavailable).Status)
}

// When the time ends while texts are refused, what is known is returned.
func TestHalvingOutOfTime(t *testing.T) {
	t.Parallel()
	server := embeddingtest.New(t, dimension)
	e := open(t, providers.Config{Provider: "openai", Model: "m", Dimension: dimension, URL: server.OpenAIURL()})
	ctx, cancel := context.WithCancel(t.Context())
	asked := []string{"bad", "good", "late", "too late"}
	server.Refuse(func(texts []string) bool {
		if texts[0] == "late" {
			cancel()
		}
		return len(texts) > 1 || texts[0] == "bad"
	})
	vectors, err := e.Embed(ctx, asked)
	failed := requireError(t, err, embedding.Permanent)
	require.Equal(t, []int{0}, failed.Texts)
	require.Len(t, failed.Reasons, 1)
	requireVector(t, "good", vectors[1])
	require.Equal(t, [][]float32{nil, nil}, vectors[2:])
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, server *embeddingtest.Server, cfg providers.Config) {
		e := open(t, cfg)
		server.Refuse(func(texts []string) bool { return texts[0] == "bad" })
		var group sync.WaitGroup
		results := make(chan error, 20)
		for i := range 20 {
			group.Go(func() {
				text := fmt.Sprintf("t%d", i)
				if i%2 == 0 {
					text = "bad"
				}
				_, err := e.Embed(t.Context(), []string{text})
				if refused := (*embedding.Error)(nil); errors.As(err, &refused) != (i%2 == 0) {
					results <- fmt.Errorf("text %q: %w", text, errors.Join(err, errors.New("another call's outcome")))
				}
			})
		}
		group.Wait()
		close(results)
		for err := range results {
			require.NoError(t, err)
		}
	})
}
