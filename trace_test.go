package oxbow_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
	"github.com/oxbow-memory/oxbow/worker"
)

// recorded returns a provider of traces, and the exporter that records its spans.
func recorded(t *testing.T) (*sdktrace.TracerProvider, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return provider, spans
}

// workTraced runs a worker with an HTTP embedding provider until it is idle.
func workTraced(t *testing.T, b *bundle, provider trace.TracerProvider) {
	t.Helper()
	server := embeddingtest.New(t, 1024)
	_, err := b.pool.Exec(t.Context(),
		`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}' where key = 'embedding'`)
	require.NoError(t, err)
	w, err := worker.New(t.Context(), worker.Config{DatabaseURL: pgtest.As(t, b.dsn, "worker"), TracerProvider: provider,
		Embedding: worker.EmbeddingConfig{Provider: "openai", Model: "m", Dimension: 1024, URL: server.OpenAIURL(),
			Timeout: time.Minute}})
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, w.RunUntilIdle(t.Context(), nil))
}

// tree returns, for each span of a trace, its name and those of its ancestors, outermost first.
func tree(spans tracetest.SpanStubs, id trace.TraceID) map[string][]string {
	byID := map[trace.SpanID]tracetest.SpanStub{}
	for _, s := range spans {
		byID[s.SpanContext.SpanID()] = s
	}
	paths := map[string][]string{}
	for _, s := range spans {
		if s.SpanContext.TraceID() != id {
			continue
		}
		path := []string{s.Name}
		for parent, ok := byID[s.Parent.SpanID()]; ok; parent, ok = byID[parent.Parent.SpanID()] {
			path = append([]string{parent.Name}, path...)
		}
		paths[s.Name] = path
	}
	return paths
}

// One trace connects the application's own span, the client's call, the job, its calls of the provider, and
// the jobs that follow.
func TestTraceFromCallToProvider(t *testing.T) {
	t.Parallel()
	provider, spans := recorded(t)
	b := setup(t, oxbow.WithTracerProvider(provider))
	tracer := provider.Tracer("app")

	ctx, request := tracer.Start(t.Context(), "request")
	_, err := b.client.Remember(ctx, oxbow.NewMemory{UserID: "ada", Content: "Ada moved to 里斯本"})
	require.NoError(t, err)
	request.End()

	ctx, inTx := tracer.Start(t.Context(), "request in a transaction")
	tx := begin(t, b.pool)
	_, err = b.client.WithTx(tx).Remember(ctx, oxbow.NewMemory{UserID: "bob", Content: "Bob plays the cello"})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	inTx.End()

	ctx, commit := tracer.Start(t.Context(), "commit")
	tx = begin(t, b.pool)
	working, err := oxbow.NewWorkingMemory("bob", "s", 0)
	require.NoError(t, err)
	_, err = working.Add(oxbow.WorkingItem{Content: "Bob plays the flute", Importance: new(1.0)})
	require.NoError(t, err)
	_, err = b.client.WithTx(tx).CommitWorkingMemory(ctx, working, oxbow.CommitOptions{})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	commit.End()

	ctx, chat := tracer.Start(t.Context(), "chat")
	_, err = b.client.AddMessages(ctx, []oxbow.NewMessage{{UserID: "eve", SessionID: "s", Role: "user",
		Content: "我搬到了上海"}})
	require.NoError(t, err)
	_, err = b.client.EndSession(ctx, "eve", "s")
	require.NoError(t, err)
	chat.End()

	workTraced(t, b, provider)
	all := spans.GetSpans()
	remembered := tree(all, request.SpanContext().TraceID())
	require.Equal(t, []string{"request", "oxbow.Remember", "job embed", "embedder embed"}, remembered["embedder embed"])
	require.Equal(t, []string{"request", "oxbow.Remember", "job embed", "job check_trigger"},
		remembered["job check_trigger"])
	require.Equal(t, []string{"request in a transaction", "oxbow.Remember", "job embed", "embedder embed"},
		tree(all, inTx.SpanContext().TraceID())["embedder embed"])
	require.Contains(t, tree(all, commit.SpanContext().TraceID()), "job embed")
	said := tree(all, chat.SpanContext().TraceID())
	require.Contains(t, said["extractor extract"], "job extract")
	require.Equal(t, "chat", said["extractor extract"][0])
	require.Equal(t, "chat", said["job reflect"][0], "the end of a session is reflected on")
	require.Equal(t, []string{"job reflect", "reasoner reflect"},
		said["reasoner reflect"][len(said["reasoner reflect"])-2:])
	for _, s := range all {
		for _, a := range s.Attributes {
			for _, secret := range []string{"ada", "bob", "eve", "里斯本", "cello", "上海"} {
				require.NotContains(t, a.Value.String(), secret, s.Name)
			}
		}
	}
}

// With plain SQL a job starts a trace, or continues the one that oxbow.traceparent sets.
func TestTraceFromSQL(t *testing.T) {
	t.Parallel()
	provider, spans := recorded(t)
	b := setup(t)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	tx := begin(t, b.pool)
	for _, sql := range []string{`set local oxbow.traceparent = '` + parent + `'`,
		`insert into oxbow.memories (user_id, content) values ('ada', 'tea')`} {
		_, err := tx.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit(t.Context()))
	workTraced(t, b, provider)
	id, err := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	require.NoError(t, err)
	require.Equal(t, []string{"job embed", "embedder embed"}, tree(spans.GetSpans(), id)["embedder embed"])

	spans.Reset()
	_, err = b.pool.Exec(t.Context(), `insert into oxbow.memories (user_id, content) values ('ada', '绿茶')`)
	require.NoError(t, err)
	workTraced(t, b, provider)
	require.NotEmpty(t, spans.GetSpans())
	for _, s := range spans.GetSpans() {
		require.NotEqual(t, id, s.SpanContext.TraceID(), "the setting ended with its transaction")
	}
}

// A traceparent that is not valid W3C syntax is ignored.
func TestTraceIsChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, hostile := range []string{"", "x", `{"snoozes": 9}`,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01; drop table",
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		tx := begin(t, b.pool)
		_, err := tx.Exec(t.Context(), `select set_config('oxbow.traceparent', $1, true)`, hostile)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(), `insert into oxbow.memories (user_id, content) values ('ada', 'tea')`)
		require.NoError(t, err)
		_, err = tx.Exec(t.Context(),
			`insert into oxbow.messages (user_id, session_id, content) values ('ada', 's', 'tea');
				select oxbow.end_session('ada', 's')`)
		require.NoError(t, err)
		var traced int
		require.NoError(t, tx.QueryRow(t.Context(),
			`select count(*) from oxbow.river_job where metadata <> '{}'`).Scan(&traced))
		require.Zero(t, traced, hostile)
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

// Without a tracer provider or a parent span, nothing is traced.
func TestNoTrace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := b.client.Remember(t.Context(), oxbow.NewMemory{UserID: "ada", Content: "tea"})
	require.NoError(t, err)
	var traced int
	require.NoError(t, b.pool.QueryRow(t.Context(),
		`select count(*) from oxbow.river_job where metadata <> '{}'`).Scan(&traced))
	require.Zero(t, traced)
}
