package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/oxbow-memory/oxbow/internal/listen"
)

// serve serves Config.HealthAddr and Config.MetricsAddr until stop is called. The addresses may be equal.
func (w *Worker) serve(ctx context.Context) (stop func(), err error) {
	metrics := w.handler()
	if w.cfg.HealthAddr == w.cfg.MetricsAddr {
		return w.serveOn(ctx, "metrics and health", w.cfg.MetricsAddr, metrics)
	}
	stopHealth, err := w.serveOn(ctx, "health", w.cfg.HealthAddr, w.health())
	if err != nil {
		return nil, err
	}
	stopMetrics, err := w.serveOn(ctx, "metrics", w.cfg.MetricsAddr, metrics)
	if err != nil {
		stopHealth()
		return nil, err
	}
	return func() { stopHealth(); stopMetrics() }, nil
}

// handler returns the handler of health and
//
//	/metrics  Prometheus or OpenMetrics text
func (w *Worker) handler() http.Handler {
	mux := w.health()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.metrics.registry,
		promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError}))
	return mux
}

// serveOn serves handler on addr. An empty addr serves nothing.
func (w *Worker) serveOn(ctx context.Context, what, addr string, handler http.Handler) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve %s on %q: %w", what, addr, err)
	}
	server := listen.New(listen.Config{Handler: handler, Logger: w.log})
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			w.log.ErrorContext(ctx, "stopped serving "+what, "error", err)
		}
	}()
	w.log.InfoContext(ctx, "serving "+what, "address", listener.Addr().String())
	return func() { _ = server.Close() }, nil
}
