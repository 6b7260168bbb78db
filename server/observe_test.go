package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/server"
	"github.com/oxbow-memory/oxbow/store"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *server.Config) { cfg.Reranker = broken{} })
	ada := b.key(t, store.RolePerson, "ada")
	b.add(t, ada, object{"content": "Ada rows"})
	b.work(t)
	recalled := b.do(t, ada, http.MethodPost, "/v1/recall", object{"query": "rows"})
	require.Contains(t, string(recalled.body), `"reranked":{"from":1,"failed":"error"}`)
	require.Equal(t, 422, b.do(t, ada, http.MethodPost, "/v1/recall", object{}).status)
	require.Equal(t, 401, b.do(t, "", http.MethodGet, "/v1/settings", nil).status)
	must[memories](b.over(t, ada, "/mcp", generations[0]), "list_memories", object{})
	recorder := httptest.NewRecorder()
	b.server.Metrics().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, 200, recorder.Code)
	text := recorder.Body.String()
	for _, line := range []string{
		`oxbow_requests_total{operation="add-memory",status="200",surface="http"} 1`,
		`oxbow_requests_total{operation="recall",status="422",surface="http"} 1`,
		`oxbow_requests_total{operation="list_memories",status="200",surface="mcp"} 1`,
		`oxbow_request_duration_seconds_count{operation="add-memory",surface="http"} 1`,
		`oxbow_requests_refused_total{status="401"} 1`,
		`oxbow_rerank_duration_seconds_count{outcome="failed"} 1`,
		`oxbow_server_connections_max{pool="requests"} 14`,
	} {
		require.Contains(t, text, line+"\n")
	}
	require.NotContains(t, text, `"ada"`)
	page, err := os.ReadFile("../docs/observability.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "`oxbow serve --metrics-addr")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	require.ElementsMatch(t, submatches(`(?m)^# TYPE (oxbow_\w+)`, text), submatches("\n\\| `(\\w+)` \\|", section))
}

// broken is a reranker that fails.
type broken struct{}

func (broken) Model() string { return "broken" }

func (broken) Rerank(context.Context, string, []string) ([]oxbow.RerankScore, error) {
	return nil, errors.New("broken")
}

// submatches returns the first group of each match.
func submatches(pattern, text string) (found []string) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

// A request continues the trace that its caller names, and so does the job that it causes.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	b := setup(t, func(c *server.Config) { c.TracerProvider = provider })
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ada := b.key(t, store.RolePerson, "ada")
	require.Equal(t, 200, b.do(t, ada, http.MethodPost, "/v1/memories", object{"content": "Ada rows"},
		"Traceparent", "00-"+trace+"-"+parent+"-01").status)
	must[memories](b.over(t, ada, "/mcp", generations[0]), "list_memories", object{})
	parents := map[string]string{}
	ids := map[string]string{}
	for _, span := range spans.GetSpans() {
		parents[span.Name], ids[span.Name] = span.Parent.SpanID().String(), span.SpanContext.SpanID().String()
		if span.Name == "http add-memory" {
			require.Equal(t, trace, span.SpanContext.TraceID().String())
		}
	}
	require.Equal(t, parent, parents["http add-memory"])
	require.Equal(t, ids["http add-memory"], parents["oxbow.Remember"])
	require.Contains(t, ids, "mcp list_memories")
	require.Equal(t, 1, pgtestOne[int](t, b, `select count(*)::int from oxbow.river_job where metadata::text like '%`+
		trace+`%'`))
}
