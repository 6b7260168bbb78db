package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// serve answers on Config.HealthAddr and Config.MetricsAddr until the returned function is called.
// Both may be the same.
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

// handler answers what health does, and
//
//	/metrics  in the form of Prometheus and OpenMetrics
func (w *Worker) handler() http.Handler {
	mux := w.health()
	mux.Handle("GET /metrics", promhttp.HandlerFor(w.metrics.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError}))
	return mux
}

// serveOn serves nothing where no address is given.
func (w *Worker) serveOn(ctx context.Context, what, addr string, handler http.Handler) (stop func(), err error) {
	if addr == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve %s on %q: %w", what, addr, err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			w.log.ErrorContext(ctx, what+" can no longer be asked for", "error", err)
		}
	}()
	w.log.InfoContext(ctx, "serving "+what, "address", listener.Addr().String())
	return func() { _ = server.Close() }, nil
}
