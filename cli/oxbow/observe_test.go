package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oxbow-memory/oxbow/internal/embedding/embeddingtest"
)

// The program, run with a provider over HTTP, serves metrics to Prometheus and sends traces to a
// collector.
func TestWorkIsObserved(t *testing.T) {
	t.Parallel()
	d := onDatabase(t)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	var traced, named atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" && strings.Contains(string(body), "embedder embed") {
			traced.Add(1)
		}
		if strings.Contains(string(body), string(hexBytes(trace))) && strings.Contains(string(body), "mine") {
			named.Add(1)
		}
	}))
	t.Cleanup(collector.Close)
	server := embeddingtest.New(t, 1024)
	d.exec(`update oxbow.settings set value = '{"model": "openai:m", "dimension": 1024}' where key = 'embedding'`)

	cmd := exec.CommandContext(t.Context(), os.Args[0], "work", "--embedding-provider", "openai", "--embedding-model",
		"m", "--embedding-dimension", "1024", "--embedding-url", server.OpenAIURL())
	cmd.Env = append(os.Environ(), "DATABASE_URL="+d.dsn, asProgram+"=1", "OXBOW_METRICS_ADDR=127.0.0.1:0",
		"OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_SERVICE_NAME=mine", "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_TRACES_SAMPLER=parentbased_always_on")
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(log)
	var address string
	for address == "" && lines.Scan() {
		if m := regexp.MustCompile(`msg="serving metrics" address=(\S+)`).FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	require.NotEmpty(t, address)
	go func() { _, _ = io.Copy(io.Discard, log) }()

	d.exec(`select set_config('oxbow.traceparent', '00-` + trace + `-b7ad6b7169203331-01', false);
		insert into oxbow.memories (user_id, content) values ('ada', '周末去植物园看兰花')`)
	get := func(path string) string {
		response, err := http.Get("http://" + address + path) // the test ends first
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(body)
	}
	require.Eventually(t, func() bool { return strings.Contains(get("/metrics"), "oxbow_memories_embedded_total 1\n") },
		5*time.Minute, 50*time.Millisecond)
	require.Contains(t, get("/readyz"), `"ready":true`)
	require.Equal(t, "ok\n", get("/healthz"))
	require.Eventually(t, func() bool { return traced.Load() > 0 && named.Load() > 0 }, 5*time.Minute,
		50*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// hexBytes decodes a hexadecimal text.
func hexBytes(text string) []byte {
	var raw []byte
	_, _ = fmt.Sscanf(text, "%x", &raw)
	return raw
}

func TestTracingVariables(t *testing.T) {
	for name, c := range map[string]struct{ value, says string }{
		"OTEL_EXPORTER_OTLP_PROTOCOL": {"grpc",
			`invalid OTEL_EXPORTER_OTLP_PROTOCOL "grpc": only http/protobuf is supported`},
		"OTEL_TRACES_EXPORTER": {"jaeger", `invalid OTEL_TRACES_EXPORTER "jaeger": expected otlp or none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, c.value)
			r := cli(t, "work", "--database-url", "postgres://h/d")
			require.Equal(t, exitUsage, r.code)
			require.Contains(t, r.err, c.says)
		})
	}
	for _, c := range []struct {
		exporter, endpoint, disabled string
		sends                        bool
	}{
		{"", "", "", false}, {"otlp", "", "", true}, {"", "http://h:4318", "", true}, {"none", "http://h:4318", "",
			false},
		{"otlp", "http://h:4318", "true", false},
	} {
		t.Setenv("OTEL_TRACES_EXPORTER", c.exporter)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.endpoint)
		t.Setenv("OTEL_SDK_DISABLED", c.disabled)
		sends, err := sendsTraces()
		require.NoError(t, err)
		require.Equal(t, c.sends, sends, "%+v", c)
	}
}
