package worker

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
	"github.com/oxbow-memory/oxbow/internal/llm/llmtest"
)

// scrape returns the response of /metrics: the values by name and labels, and the text.
func scrape(t *testing.T, w *Worker) (map[string]float64, string) {
	t.Helper()
	w.gauges.mu.Lock()
	w.gauges.read = time.Time{} // drop the cached gauges
	w.gauges.mu.Unlock()
	recorder := httptest.NewRecorder()
	w.handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, recorder.Code)
	text := recorder.Body.String()
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cut := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(strings.TrimSpace(line[cut+1:]), 64)
		require.NoError(t, err, line)
		values[line[:cut]] = value
	}
	return values, text
}

func TestMetrics(t *testing.T) {
	b := setup(t)
	server := b.remote()
	chat := llmtest.New(t)
	b.cfg.Reasoner = ReasonerConfig{Provider: "openai", Model: "m", URL: chat.URL(), APIKey: "k"}
	server.Next(embeddingtest.Status(500, "try later, 暂不可用"))
	b.insert("zoë-秘密", "Ada plays the cello", "周末去植物园看兰花")
	b.exec(`insert into oxbow.messages (user_id, session_id, content) values ('zoë-秘密', 's', 'I moved to 里斯本');
		select oxbow.end_session('zoë-秘密', 's')`)
	w := b.worker()
	before, _ := scrape(t, w)
	require.Equal(t, 1.0, before[`oxbow_database_up`])
	require.Equal(t, 1.0, before[`oxbow_queue_jobs{kind="embed",state="available"}`])
	require.Equal(t, 1.0, before[`oxbow_messages_waiting`])
	require.Positive(t, before[`oxbow_embed_backlog_seconds`])
	require.Zero(t, before[`oxbow_jobs_total{kind="embed",outcome="completed"}`], "made before the first")
	require.Contains(t, before, `oxbow_jobs_total{kind="embed",outcome="completed"}`)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	require.Eventually(t, func() bool {
		b.exec(`update oxbow.river_job set state = 'available', scheduled_at = now()
			where state in ('scheduled', 'retryable')`)
		return b.count(`oxbow.memory_vectors`) >= 2 && b.count(`oxbow.messages where extracted_at is null`) == 0 &&
			b.count(`oxbow.reflection_cycles`) > 0
	}, 5*time.Minute, 200*time.Millisecond)
	stop()
	require.NoError(t, <-ended)

	after, text := scrape(t, w)
	for _, series := range []string{
		`oxbow_jobs_total{kind="embed",outcome="completed"}`,
		`oxbow_jobs_total{kind="extract",outcome="completed"}`,
		`oxbow_jobs_total{kind="reflect",outcome="completed"}`,
		`oxbow_job_duration_seconds_count{kind="embed"}`,
		`oxbow_job_wait_seconds_count{kind="embed"}`,
		`oxbow_provider_calls_total{model="openai:m",operation="embed",outcome="ok",provider="embedder"}`,
		`oxbow_provider_calls_total{model="openai:m",operation="embed",outcome="unavailable",provider="embedder"}`,
		`oxbow_provider_calls_total{model="openai/m",operation="reflect",outcome="ok",provider="reasoner"}`,
		`oxbow_provider_calls_total{model="openai/m",operation="extract",outcome="ok",provider="extractor"}`,
		`oxbow_provider_call_duration_seconds_count{model="openai:m",operation="embed",provider="embedder"}`,
		`oxbow_provider_tokens_total{direction="prompt",model="openai/m",operation="reflect"}`,
		`oxbow_reflection_cycles_total{kind="reflection"}`,
		`oxbow_provider_up{model="openai:m",provider="embedder"}`,
		`oxbow_pool_acquires_total`, `oxbow_pool_max_connections`, `process_start_time_seconds`, `go_goroutines`,
	} {
		require.Positive(t, after[series], series)
	}
	require.Equal(t, 2.0, after[`oxbow_memories_embedded_total`])
	require.Equal(t, 1.0, after[`oxbow_messages_extracted_total`])
	require.GreaterOrEqual(t, after[`oxbow_embed_lag_seconds_count`], 1.0)
	require.Zero(t, after[`oxbow_messages_waiting`])
	require.Zero(t, after[`oxbow_embed_backlog_seconds`])
	for _, secret := range []string{"zoë", "秘密", "cello", "里斯本", "try later"} {
		require.False(t, strings.Contains(text, secret), "%s: no label names a user or what is remembered", secret)
	}
}

// If the database is down, a scrape reports that, and all metrics that do not need it.
func TestMetricsWithoutDatabase(t *testing.T) {
	b := setup(t)
	w := b.worker()
	w.Close()
	values, _ := scrape(t, w)
	require.Zero(t, values[`oxbow_database_up`])
	require.Contains(t, values, `oxbow_database_up`)
	require.NotContains(t, values, `oxbow_inbox_memories`)
	require.Contains(t, values, `oxbow_jobs_total{kind="embed",outcome="failed"}`)
}

// Completed jobs do not slow a scrape down, because it reads only unfinished ones.
func TestMetricsOfLongQueue(t *testing.T) {
	b := setup(t)
	b.exec(`insert into oxbow.river_job (kind, queue, args, state, finalized_at, attempt)
		select 'embed', 'embed', '{}', 'completed', now(), 1 from generate_series(1, 50000)`)
	b.insert("ada", "one")
	w := b.worker()
	scrape(t, w) // warm up plans and catalog caches
	before := get[int64](b, `select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
		where relname = 'river_job'`)
	values, _ := scrape(t, w)
	require.Equal(t, 1.0, values[`oxbow_queue_jobs{kind="embed",state="available"}`])
	require.NotContains(t, values, `oxbow_queue_jobs{kind="embed",state="completed"}`)
	require.Less(t, get[int64](b, `select coalesce(sum(idx_tup_read), 0) from pg_stat_user_indexes
		where relname = 'river_job'`)-before, int64(1000))
}

// names returns the names of all metrics of a worker.
func names(w *Worker) (all []string) {
	fq := regexp.MustCompile(`fqName: "([^"]+)"`)
	descs := make(chan *prometheus.Desc, 1000)
	w.metrics.registry.Describe(descs)
	close(descs)
	for d := range descs {
		all = append(all, fq.FindStringSubmatch(d.String())[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}
