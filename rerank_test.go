package oxbow_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
)

// scripted is a reranker that answers as the test says.
type scripted struct {
	answer func(ctx context.Context, documents []string) ([]oxbow.RerankScore, error)
	asked  [][]string
	query  string
}

func (*scripted) Model() string { return "scripted" }

func (s *scripted) Rerank(ctx context.Context, query string, documents []string) ([]oxbow.RerankScore, error) {
	s.asked, s.query = append(s.asked, documents), query
	return s.answer(ctx, documents)
}

// scores answers with scores in order.
func scores(values ...float64) func(context.Context, []string) ([]oxbow.RerankScore, error) {
	return func(context.Context, []string) (answer []oxbow.RerankScore, _ error) {
		for i, v := range values {
			answer = append(answer, oxbow.RerankScore{Index: i, Score: v})
		}
		return answer, nil
	}
}

func TestRerank(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, content := range []string{"Ann plays the cello.", "Ann sold her cello case.", "A cello was in the window of a shop."} {
		b.remember(t, oxbow.NewMemory{Content: content, Speaker: "Bo"})
	}
	b.work(t)
	q := oxbow.Query{UserID: "ann", Text: "Who plays the cello?", Now: time.Now()}
	plain, err := b.client.Recall(t.Context(), q)
	require.NoError(t, err)
	own := texts(plain)
	require.Len(t, own, 3)
	require.Nil(t, plain.Memories[0].Explain.Reranked)

	r := &scripted{}
	var observed []error
	client := newClient(t, b.pool, oxbow.WithReranker(r, oxbow.RerankOptions{Timeout: 20 * time.Millisecond, Weight: 1000,
		Observe: func(_ time.Duration, err error) { observed = append(observed, err) }}))
	ask := func(limit int) oxbow.Results {
		t.Helper()
		q.Limit = limit
		found, err := client.Recall(t.Context(), q)
		require.NoError(t, err)
		return found
	}

	r.answer = scores(1, 3, 2)
	found := ask(0)
	require.Equal(t, []string{own[1], own[2], own[0]}, texts(found))
	require.Equal(t, &oxbow.Reranked{Score: new(3.0), From: 2}, found.Memories[0].Explain.Reranked)
	require.Equal(t, plain.Memories[1].Score, found.Memories[0].Score, "the score stays recall's")
	require.Equal(t, []string{"Bo: " + own[0], "Bo: " + own[1], "Bo: " + own[2]}, r.asked[0])
	require.Equal(t, q.Text, r.query)
	require.Equal(t, []string{own[1]}, texts(ask(1)), "the pool is larger than the limit")

	half := newClient(t, b.pool, oxbow.WithReranker(r, oxbow.RerankOptions{Timeout: time.Minute}))
	fused, err := half.Recall(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, []string{own[1]}, texts(fused), "second and first")
	q.Limit = 3
	fused, err = half.Recall(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, []string{own[1], own[0], own[2]}, texts(fused), "by default both orders count the same")
	q.Limit = 0

	r.answer = scores(2, 2, 2)
	require.Equal(t, own, texts(ask(0)), "ties keep the order")
	r.answer = func(context.Context, []string) ([]oxbow.RerankScore, error) {
		return []oxbow.RerankScore{{Index: 2, Score: -5}}, nil
	}
	found = ask(0)
	require.Equal(t, []string{own[2], own[0], own[1]}, texts(found), "those without a score come last")
	require.Equal(t, &oxbow.Reranked{From: 1}, found.Memories[1].Explain.Reranked)
	require.Equal(t, make([]error, 4), observed)

	for name, answer := range map[string]func(context.Context, []string) ([]oxbow.RerankScore, error){
		"error":     func(context.Context, []string) ([]oxbow.RerankScore, error) { return nil, errors.New("down") },
		"no scores": scores(),
		"too many":  scores(1, 2, 3, 4),
		"NaN":       scores(3, math.NaN(), 1),
		"infinity":  scores(1, 2, math.Inf(1)),
		"twice": func(context.Context, []string) ([]oxbow.RerankScore, error) {
			return []oxbow.RerankScore{{Index: 1}, {Index: 1}}, nil
		},
		"below zero": func(context.Context, []string) ([]oxbow.RerankScore, error) {
			return []oxbow.RerankScore{{Index: -1}}, nil
		},
		"timeout": func(ctx context.Context, _ []string) ([]oxbow.RerankScore, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	} {
		r.answer, observed = answer, nil
		found := ask(2)
		require.Equal(t, own[:2], texts(found), name)
		want := "error"
		if name == "timeout" {
			want = "timeout"
		}
		require.Equal(t, &oxbow.Reranked{From: 1, Failed: want}, found.Memories[0].Explain.Reranked, name)
		require.Len(t, observed, 1)
		require.Error(t, observed[0], name)
	}

	ctx, cancel := context.WithCancel(t.Context())
	observed = nil
	r.answer = func(ctx context.Context, _ []string) ([]oxbow.RerankScore, error) {
		cancel()
		return nil, ctx.Err()
	}
	_, err = client.Recall(ctx, q)
	require.ErrorIs(t, err, context.Canceled, "the caller gave up")
	require.Empty(t, observed)

	r.asked = nil
	_, err = client.Recall(t.Context(), oxbow.Query{UserID: "bob", Text: "cello"})
	require.NoError(t, err)
	require.Empty(t, r.asked, "nothing to rank")
}

// A reranker or embedder that hangs is not waited for again and again, and the log says so once.
func TestHangingServersArePaused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	b.work(t)
	hang := func(ctx context.Context, _ []string) ([]oxbow.RerankScore, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	r, e := &scripted{answer: hang}, &hanging{Embedder: oxbow.LocalEmbedder()}
	var log bytes.Buffer
	client := newClient(t, b.pool, oxbow.WithReranker(r, oxbow.RerankOptions{Timeout: 5 * time.Millisecond}),
		oxbow.WithEmbedder(e), oxbow.WithEmbedTimeout(5*time.Millisecond),
		oxbow.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	q := oxbow.Query{UserID: "ann", Text: "Who plays the cello?"}
	for i := range 6 {
		found, err := client.Recall(t.Context(), q)
		require.NoError(t, err)
		want := "timeout"
		if i >= 3 {
			want = "paused"
			require.EqualError(t, found.Degraded,
				"embedding with local-v1 is paused: the last calls took too long, so recall does not wait for it")
		}
		require.Error(t, found.Degraded)
		require.Equal(t, &oxbow.Reranked{From: 1, Failed: want}, found.Memories[0].Explain.Reranked)
	}
	require.Len(t, r.asked, 3)
	require.EqualValues(t, 3, e.asked)
	require.Equal(t, 1, strings.Count(log.String(), "the reranker took too long several times"))
	require.Equal(t, 1, strings.Count(log.String(), "the embedder took too long several times"))
	require.Equal(t, 3, strings.Count(log.String(), "\n"), "and that the reranker failed: "+log.String())
}

// hanging is an embedder that does not answer.
type hanging struct {
	oxbow.Embedder
	asked int
}

func (h *hanging) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	h.asked++
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestRerankRanksOnlyThePool(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, content := range []string{"Ann plays the cello in an orchestra.", "Ann plays the cello in an orchestra",
		"Ann's cello is from " + strings.Repeat("far, ", 500) + "away."} {
		b.remember(t, oxbow.NewMemory{Content: content, Type: oxbow.TypeEpisodic})
	}
	b.work(t)
	r := &scripted{answer: scores(1, 2)}
	client := newClient(t, b.pool, oxbow.WithReranker(r, oxbow.RerankOptions{Pool: 50, Timeout: time.Minute, Weight: 1000}))
	q := oxbow.Query{UserID: "ann", Text: "Who plays the cello in an orchestra?"}
	found, err := client.Recall(t.Context(), q)
	require.NoError(t, err)
	require.Len(t, found.Memories, 3)
	require.Len(t, r.asked[0], 2, "a repetition stays last")
	require.NotZero(t, found.Memories[2].Explain.Repeats)
	require.Nil(t, found.Memories[2].Explain.Reranked)
	require.Equal(t, 2001, len([]rune(r.asked[0][1])), "the beginning of a long text")

	client = newClient(t, b.pool, oxbow.WithReranker(&scripted{answer: scores(1)}, oxbow.RerankOptions{Pool: 1}))
	q.MinScore = found.Memories[0].Explain.Relevance + 0.0001 // of the long one, which now comes first
	found, err = client.Recall(t.Context(), q)
	require.NoError(t, err)
	require.NotEmpty(t, found.Memories, "the minimum is of relevance")
	require.Less(t, len(found.Memories), 3)
}

func TestWithRerankerRefuses(t *testing.T) {
	t.Parallel()
	for _, o := range []oxbow.RerankOptions{{Pool: -1}, {Pool: 51}, {Timeout: -1}, {Weight: -1}, {Weight: math.NaN()}} {
		_, err := oxbow.New(setup(t).pool, oxbow.WithReranker(&scripted{}, o))
		require.ErrorContains(t, err, "WithReranker")
	}
	_, err := oxbow.New(setup(t).pool, oxbow.WithReranker(nil, oxbow.RerankOptions{}))
	require.ErrorContains(t, err, "the reranker is nil")
}

// texts returns the contents of the results in order.
func texts(found oxbow.Results) (contents []string) {
	for _, m := range found.Memories {
		contents = append(contents, m.Content)
	}
	return contents
}
