package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
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
	if err := cmp.Or(w.checkStill(ctx), w.checkWrites(ctx)); err != nil {
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

const (
	// writeLife is how long a successful write counts as proof that the worker can write.
	writeLife = 10 * time.Second
	// writeAgain is how long after a write a health check writes again. It bounds what checks cost.
	writeAgain = time.Second
	// writeKey is the setting that health checks write.
	writeKey = "worker.write"
)

// writes remembers the writes of health checks.
type writes struct {
	sync.Mutex
	tried, worked time.Time
	err           error // of the last one
}

// checkWrites returns an error unless a write succeeded within writeLife. A database that answers may be a replica, or
// have a full disk.
func (w *Worker) checkWrites(ctx context.Context) error {
	w.writes.Lock()
	defer w.writes.Unlock()
	if time.Since(w.writes.tried) > writeAgain {
		// Other checks wait for the result, so the write does not end with the check that started it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		w.writes.err = store.WriteSetting(ctx, w.pool, writeKey, w.cfg.applicationName())
		if w.writes.tried = time.Now(); w.writes.err == nil {
			w.writes.worked = w.writes.tried
		}
	}
	if time.Since(w.writes.worked) < writeLife {
		return nil
	}
	return w.writes.err
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
//	/readyz   200 if the worker works jobs, the database passes its checks, and a write worked in the last 10 seconds,
//	          otherwise 503; the body is Health as JSON
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
