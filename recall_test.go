package oxbow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/embedding/providers"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/worker"
)

func TestRecall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2025, 10, 12, 8, 0, 0, 0, time.UTC)
	id := b.remember(t, oxbow.NewMemory{Content: "I play the cello in an orchestra.", Type: oxbow.TypeEpisodic,
		ValidAt: at, SessionID: "s1", Seq: new(int64(3)),
		Speaker: "Ann", AgentID: "coach", ExternalID: "D1", Category: oxbow.CategorySkill, Importance: new(0.9),
		Metadata: map[string]any{"context": "work", "n": 1}, Reference: "chat/1"})
	b.remember(t, oxbow.NewMemory{Content: "Ann sold her cello case."})
	b.remember(t, oxbow.NewMemory{Content: "Bob plays the cello.", UserID: "bob"})
	b.remember(t, oxbow.NewMemory{Content: "An old photograph of a cello.",
		ValidAt: time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC)})
	b.work(t)

	found, err := b.client.Recall(t.Context(), oxbow.Query{UserID: "ann", Text: "Who plays the cello in an orchestra?"})
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.Len(t, found.Memories, 3)
	first := found.Memories[0]
	require.NotNil(t, first.Explain.Text)
	require.NotNil(t, first.Explain.Vector)
	require.Equal(t, 1, first.Explain.Text.Rank)
	require.InDelta(t, 0.135, first.Explain.Importance, 1e-9)
	require.Equal(t, "s1", first.Explain.Session)
	require.Greater(t, first.Score, found.Memories[1].Score)
	require.True(t, first.ValidAt.Equal(at))
	first.Score, first.Explain, first.CreatedAt, first.ValidAt = 0, oxbow.Explanation{}, time.Time{}, time.Time{}
	require.Equal(t, oxbow.Result{ID: id, Type: oxbow.TypeEpisodic, Content: "I play the cello in an orchestra.",
		SessionID: "s1", Seq: 3, Speaker: "Ann",
		AgentID: "coach", ExternalID: "D1", Category: oxbow.CategorySkill, Importance: 0.9,
		Metadata: map[string]any{"context": "work", "n": 1.0}, Modality: oxbow.ModalityText, Reference: "chat/1"}, first)

	only := []string{"I play the cello in an orchestra."}
	for name, q := range map[string]oxbow.Query{
		"limit":       {Text: "orchestra cello", Limit: 1},
		"type":        {Text: "cello", Types: []oxbow.MemoryType{oxbow.TypeEpisodic}},
		"agent":       {Text: "cello", AgentID: "coach"},
		"context":     {Text: "cello", Contexts: []string{"work", "social"}},
		"metadata":    {Text: "cello", Metadata: map[string]int{"n": 1}},
		"words alone": {Text: "orchestra", WordsOnly: true, Embedding: slices.Repeat([]float32{1}, 1024)},
	} {
		require.Equal(t, only, recall(t, b.client, q), name)
	}
	require.Len(t, recall(t, b.client, oxbow.Query{Text: "cello", Types: []oxbow.MemoryType{}, Contexts: []string{}}),
		3,
		"empty lists ask for nothing")
	require.Empty(t, recall(t, b.client, oxbow.Query{Text: "cello", UserID: "nobody"}))
	require.Empty(t, recall(t, b.client, oxbow.Query{Text: "cello", BelievedAsOf: at}), "nothing was known then")

	vectors, err := oxbow.LocalEmbedder().Embed(t.Context(), []string{"cello"})
	require.NoError(t, err)
	require.Len(t, recall(t, b.client, oxbow.Query{Embedding: vectors[0]}), 3, "a vector of the application's own")
}

func TestInvalidQueries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, test := range []struct {
		field, value string
		query        oxbow.Query
	}{
		{"user_id", `""`, oxbow.Query{Text: "x"}},
		{"text", `" "`, oxbow.Query{UserID: "ann", Text: " "}},
		{"text", `"\xff"`, oxbow.Query{UserID: "ann", Text: "\xff"}},
		{"text", `"a\x00"`, oxbow.Query{UserID: "ann", Text: "a\x00"}},
		{"text", `""`, oxbow.Query{UserID: "ann", WordsOnly: true, Embedding: make([]float32, 1024)}},
		{"", "", oxbow.Query{UserID: "ann", Text: "x", AgentID: "a\x00"}},
		{"", "", oxbow.Query{UserID: "ann", Text: "x", Now: time.Date(-9000, 1, 1, 0, 0, 0, 0, time.UTC)}},
		{"limit", `-1`, oxbow.Query{UserID: "ann", Text: "x", Limit: -1}},
		{"limit", `1001`, oxbow.Query{UserID: "ann", Text: "x", Limit: 1001}},
		{"min_score", `-1`, oxbow.Query{UserID: "ann", Text: "x", MinScore: -1}},
		{"min_score", `NaN`, oxbow.Query{UserID: "ann", Text: "x", MinScore: math.NaN()}},
		{"types", `"general"`, oxbow.Query{UserID: "ann", Text: "x",
			Types: []oxbow.MemoryType{oxbow.TypeFact, "general"}}},
		{"metadata", "[1]", oxbow.Query{UserID: "ann", Text: "x", Metadata: []int{1}}},
		{"embedding", "NaN at 1", oxbow.Query{UserID: "ann", Embedding: []float32{0, float32(math.NaN())}}},
		{"embedding", "3 dimensions", oxbow.Query{UserID: "ann", Embedding: []float32{1, 0, 0}}},
	} {
		_, err := b.client.Recall(t.Context(), test.query)
		bad, ok := errors.AsType[*oxbow.InvalidError](err)
		require.True(t, ok, "%s: %v", test.field, err)
		require.Equal(t, test.field, bad.Field)
		require.Contains(t, bad.Value, test.value)
	}
}

func TestRecallWithAnotherModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.remember(t, oxbow.NewMemory{})
	b.work(t)
	for _, dimension := range []int{1024, 512} {
		server := embeddingtest.New(t, dimension)
		other, err := providers.Open(providers.Config{Provider: "openai", URL: server.OpenAIURL(), Model: "m",
			Dimension: dimension})
		require.NoError(t, err)
		_, err = newClient(t, b.pool, oxbow.WithEmbedder(other)).Recall(t.Context(),
			oxbow.Query{UserID: "ann", Text: "cello"})
		mismatch, ok := errors.AsType[*oxbow.ModelMismatchError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, oxbow.EmbeddingModel{Model: "local-v1", Dimension: 1024}, mismatch.Database)
		require.Equal(t, oxbow.EmbeddingModel{Model: "openai:m", Dimension: dimension}, mismatch.Given)
		require.ErrorContains(t, err, "oxbow reembed")
	}
}

func TestRecallEmbedsWithTheQueryPrefix(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := embeddingtest.New(t, 1024)
	e, err := providers.Open(providers.Config{Provider: "openai", URL: server.OpenAIURL(), Model: "m", Dimension: 1024,
		QueryPrefix: "query: ", PassagePrefix: "passage: "})
	require.NoError(t, err)
	_, err = b.pool.Exec(t.Context(), `update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024,
		"query_prefix": "query: ", "passage_prefix": "passage: "}' where key = 'embedding'`)
	require.NoError(t, err)
	found, err := newClient(t, b.pool, oxbow.WithEmbedder(e)).Recall(t.Context(), oxbow.Query{UserID: "ann", Text: "cello"})
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.Equal(t, []string{"query: cello"}, server.Requests()[0].Texts)
}

// both is an embedder as langchaingo defines it.
type both struct{}

func (both) EmbedDocuments(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), errors.New("a question is not a document")
}
func (both) EmbedQuery(context.Context, string) ([]float32, error) { return []float32{3, 4}, nil }

func TestNewEmbedderTellsQuestionsFromDocuments(t *testing.T) {
	t.Parallel()
	e, err := oxbow.NewEmbedder(both{}, "own:m", 2)
	require.NoError(t, err)
	vectors, err := e.(oxbow.QueryEmbedder).EmbedQueries(t.Context(), []string{"cello"})
	require.NoError(t, err)
	require.Equal(t, [][]float32{{0.6, 0.8}}, vectors)
}

func TestRecallWhileTheProviderIsDown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	server := embeddingtest.New(t, 1024)
	cfg := providers.Config{Provider: "openai", URL: server.OpenAIURL(), Model: "m", Dimension: 1024}
	_, err := b.pool.Exec(t.Context(),
		`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}' where key = 'embedding'`)
	require.NoError(t, err)
	b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker"),
		Embedding: worker.EmbeddingConfig(cfg)})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))

	embedder, err := providers.Open(cfg)
	require.NoError(t, err)
	client := newClient(t, b.pool, oxbow.WithEmbedder(embedder), oxbow.WithEmbedTimeout(500*time.Millisecond))
	q := oxbow.Query{UserID: "ann", Text: "cello"}
	patient := newClient(t, b.pool, oxbow.WithEmbedder(embedder), oxbow.WithEmbedTimeout(time.Minute))
	found, err := patient.Recall(t.Context(), q)
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	require.NotNil(t, found.Memories[0].Explain.Vector)

	for name, fault := range map[string]embeddingtest.Fault{
		"status 503": embeddingtest.Status(503, "overloaded"), "hangs": embeddingtest.Hang(),
		"short vector": embeddingtest.ShortVector(),
		"NaN":          embeddingtest.NaN(), "garbage": embeddingtest.Garbage(),
		"refuses": embeddingtest.Status(400, "bad input"),
	} {
		server.Always(fault)
		found, err = client.Recall(t.Context(), q)
		require.NoError(t, err, name)
		require.ErrorContains(t, found.Degraded, "embedding with openai:m", name)
		require.Len(t, found.Memories, 1, "%s: found by its words", name)
		require.Nil(t, found.Memories[0].Explain.Vector)
	}

	server.Always(embeddingtest.Hang())
	for range len(server.Hanging()) {
		<-server.Hanging()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-server.Hanging()
		cancel()
	}()
	_, err = newClient(t, b.pool, oxbow.WithEmbedder(embedder)).Recall(ctx, q)
	require.ErrorIs(t, err, context.Canceled, "the caller gave up")
}

func TestUsesAreReported(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello."})
	b.work(t)
	app := b.app(t)
	require.NotEmpty(t, recall(t, app, oxbow.Query{Text: "cello"}))
	require.NotEmpty(t, recall(t, app, oxbow.Query{Text: "cello"}))
	app.Used("ann", id)
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.activity`), "recall writes nothing")
	require.NoError(t, app.Close(t.Context()))
	require.NoError(t, app.Close(t.Context()), "twice")
	require.Equal(t, 2, b.count(t,
		`select count(*) from oxbow.activity a, unnest(a.memory_ids) i where a.user_id = 'ann' and i = $1 and not a.used`, id))
	require.Equal(t, 1, b.count(t, `select count(*) from oxbow.activity a, unnest(a.memory_ids) i
		where a.user_id = 'ann' and i = $1 and a.used`,
		id))
	app.Used("ann", id) // ignored after Close

	silent := newClient(t, b.pool, oxbow.WithoutUseReports())
	require.NotEmpty(t, recall(t, silent, oxbow.Query{Text: "cello"}))
	silent.Used("ann", id)
	require.NoError(t, silent.Close(t.Context()))

	erasing := newClient(t, b.pool)
	erasing.Used("ann", id)
	require.NotEmpty(t, recall(t, erasing, oxbow.Query{Text: "cello"}))
	_, err := erasing.EraseUser(t.Context(), "ann")
	require.NoError(t, err)
	late := newClient(t, b.pool) // another process, unaware of the erasure
	late.Used("ann", id)
	require.NoError(t, errors.Join(erasing.Close(t.Context()), late.Close(t.Context())))
	require.Equal(t, 0, b.count(t, `select count(*) from oxbow.activity`))
}

// RecallDebug returns what Recall returns, and what it leaves out. It needs more rights.
func TestRecallDebug(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cello := b.remember(t, oxbow.NewMemory{Content: "Ann plays the cello in an orchestra."})
	sold := b.remember(t, oxbow.NewMemory{Content: "Ann sold her cello case."})
	bread := b.remember(t, oxbow.NewMemory{Content: "Bread is baked at dawn."})
	b.work(t)
	fresh := b.remember(t, oxbow.NewMemory{Content: "The cello is red."})
	operator := newClient(t, pgtest.Open(t, b.dsn, "oxbow_operator"), oxbow.WithoutUseReports())
	q := oxbow.Query{UserID: "ann", Text: "Who plays the cello?", Limit: 1, WordsOnly: true}
	found, err := operator.RecallDebug(t.Context(), q, bread)
	require.NoError(t, err)
	require.NoError(t, found.Degraded)
	got := map[uuid.UUID]string{}
	for _, m := range found.Memories {
		got[m.ID] = fmt.Sprint(m.Place, " ", m.LeftOut)
	}
	require.Equal(t, map[uuid.UUID]string{cello: "1 ", sold: "0 below the limit", fresh: "0 not indexed yet",
		bread: "0 no channel finds it"}, got)
	returned, err := operator.Recall(t.Context(), q)
	require.NoError(t, err)
	require.InDelta(t, returned.Memories[0].Score, found.Memories[0].Score, 1e-6)
	_, err = b.app(t).RecallDebug(t.Context(), q)
	require.ErrorIs(t, err, oxbow.ErrDenied)
	_, err = operator.RecallDebug(t.Context(), oxbow.Query{UserID: "ann"})
	var invalid *oxbow.InvalidError
	require.ErrorAs(t, err, &invalid)
}
