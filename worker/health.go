package worker

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow/migrations"
)

// Health is the response of /readyz.
type Health struct {
	Ready    bool           `json:"ready"`
	Database string         `json:"database"` // "ok" or the problem
	Worker   string         `json:"worker"`
	Provider ProviderHealth `json:"provider"`
}

// ProviderHealth is the state of the embedding provider. A worker stays ready while its provider is
// down: memories are still indexed by their words, and another worker would have the same problem.
type ProviderHealth struct {
	Model    string    `json:"model"`
	Status   string    `json:"status"` // "ok", "not called yet" or the problem
	WorkedAt time.Time `json:"worked_at,omitzero"`
	RetryAt  time.Time `json:"retry_at,omitzero"`
}

// Health checks everything that the worker needs.
func (w *Worker) Health(ctx context.Context) Health {
	h := Health{Database: "ok", Worker: "ok", Provider: w.providerHealth()}
	if err := w.checkStill(ctx); err != nil {
		h.Database = err.Error()
	}
	if !w.started.Load() {
		h.Worker = "not working jobs"
	}
	h.Ready = h.Database == "ok" && h.Worker == "ok"
	return h
}

// checkStill repeats the checks of New, because a migration or a reembed may have run since.
func (w *Worker) checkStill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := migrations.Check(ctx, w.pool); err != nil {
		return err
	}
	return w.cfg.checkModel(ctx, w.pool, w.embedder)
}

func (w *Worker) providerHealth() ProviderHealth {
	s := w.provider.Status()
	h := ProviderHealth{Model: w.embedder.Model(), Status: "ok", WorkedAt: s.WorkedAt}
	switch {
	case s.Down():
		h.Status, h.RetryAt = s.Err.Error(), s.RetryAt
	case s.WorkedAt.IsZero():
		h.Status = "not called yet"
	}
	return h
}

// health returns the handler of
//
//	/healthz  200 while the process runs
//	/readyz   200 if the worker works jobs and the database passes its checks, otherwise 503; the body is
//	          Health as JSON
func (w *Worker) health() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, r *http.Request) {
		h := w.Health(r.Context())
		rw.Header().Set("Content-Type", "application/json")
		if !h.Ready {
			rw.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(rw).Encode(h) // the client may have disconnected
	})
	return mux
}
