package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/oxbow-memory/oxbow/internal/listen"
)

// tracerName is the instrumentation scope of the server's spans.
const tracerName = "github.com/oxbow-memory/oxbow/server"

// The values of the label surface.
const (
	surfaceHTTP = "http"
	surfaceMCP  = "mcp"
)

// metrics are the metrics of this process. No label identifies a user.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	reranks  *prometheus.HistogramVec
}

func newMetrics(s *Server) *metrics {
	m := &metrics{registry: prometheus.NewRegistry()}
	register := promauto.With(m.registry)
	m.requests = register.NewCounterVec(prometheus.CounterOpts{Name: "oxbow_requests_total",
		Help: "Requests of the HTTP API, and calls of tools over MCP."}, []string{"surface", "operation", "status"})
	m.duration = register.NewHistogramVec(prometheus.HistogramOpts{Name: "oxbow_request_duration_seconds",
		Help:    "Time until the answer.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}},
		[]string{"surface", "operation"})
	m.refused = register.NewCounterVec(prometheus.CounterOpts{Name: "oxbow_requests_refused_total",
		Help: "Requests that were refused before their operation began."}, []string{"status"})
	m.reranks = register.NewHistogramVec(prometheus.HistogramOpts{Name: "oxbow_rerank_duration_seconds",
		Help:    "Time until the reranker's answer. The outcome is ok, timeout or failed.",
		Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}}, []string{"outcome"})
	for name, pool := range map[string]*pgxpool.Pool{"requests": s.app, "keys": s.own} {
		labels := prometheus.Labels{"pool": name}
		register.NewGaugeFunc(prometheus.GaugeOpts{Name: "oxbow_server_connections_used", ConstLabels: labels,
			Help: "Connections in use."}, func() float64 { return float64(pool.Stat().AcquiredConns()) })
		register.NewGaugeFunc(prometheus.GaugeOpts{Name: "oxbow_server_connections_max", ConstLabels: labels,
			Help: "Maximum number of connections."}, func() float64 { return float64(pool.Stat().MaxConns()) })
		register.NewCounterFunc(prometheus.CounterOpts{Name: "oxbow_server_connection_waits_total", ConstLabels: labels,
			Help: "Times that a request waited for a connection."},
			func() float64 { return float64(pool.Stat().EmptyAcquireCount()) })
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// reranked counts a call of the reranker.
func (m *metrics) reranked(took time.Duration, err error) {
	outcome := "ok"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		outcome = "timeout"
	case err != nil:
		outcome = "failed"
	}
	m.reranks.WithLabelValues(outcome).Observe(took.Seconds())
}

// observe starts a span of an operation in the trace that the caller names, if any. ended also counts the request.
func (s *Server) observe(ctx context.Context, surface, operation string) (_ context.Context, ended func(status int)) {
	begun := time.Now()
	ctx, span := s.tracer.Start(ctx, surface+" "+operation, trace.WithSpanKind(trace.SpanKindServer))
	return ctx, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
		if s.metrics != nil {
			s.metrics.requests.WithLabelValues(surface, operation, strconv.Itoa(status)).Inc()
			s.metrics.duration.WithLabelValues(surface, operation).Observe(time.Since(begun).Seconds())
		}
	}
}

// observed observes the operations of the HTTP API.
func (s *Server) observed(ctx huma.Context, next func(huma.Context)) {
	inner, ended := s.observe(ctx.Context(), surfaceHTTP, ctx.Operation().OperationID)
	ctx = huma.WithContext(ctx, inner)
	defer func() { ended(ctx.Status()) }() // also if a stream is aborted
	next(ctx)
}

// inTrace puts the trace that a request names into its context.
func inTrace(r *http.Request) context.Context {
	return propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
}

// serveMetrics serves /metrics on the address of the configuration, if it has one, until stop is called.
func (s *Server) serveMetrics(ctx context.Context) (stop func(), err error) {
	if s.cfg.MetricsAddr == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.MetricsAddr)
	if err != nil {
		return nil, fmt.Errorf("serve metrics on %q: %w", s.cfg.MetricsAddr, err)
	}
	server := listen.New(listen.Config{Handler: s.Metrics(), Logger: s.log})
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.ErrorContext(ctx, "stopped serving metrics", "error", err)
		}
	}()
	s.log.InfoContext(ctx, "serving metrics", "address", listener.Addr().String())
	return func() { _ = server.Close() }, nil
}

// Metrics returns the handler of /metrics, which needs no credential. Run serves it on Config.MetricsAddr.
func (s *Server) Metrics() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry,
		promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError}))
	return mux
}
