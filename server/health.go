package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// Health says whether the server can answer requests.
type Health struct {
	Status string `json:"status" enum:"ok"`
	Writes bool   `json:"writes" doc:"Whether the database takes changes now"`
}

// healthLife is for how long an answer about the health counts. It bounds what checks without a credential cost.
const (
	healthLife    = time.Second
	healthTimeout = 5 * time.Second
)

// health is the last check of the database.
type health struct {
	mu     sync.Mutex
	at     time.Time
	writes bool
	err    error
}

// check checks the database, or returns the result of a check within the last second. It does not end with the request
// that asks, because others wait for its result.
func (h *health) check(ctx context.Context, check func(context.Context) (writes bool, err error)) (Health, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > healthLife {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
		defer cancel()
		h.writes, h.err = check(ctx)
		h.at = time.Now()
	}
	return Health{"ok", h.writes}, h.err
}

func (s *Server) registerHealth() {
	handle(s, op("health", http.MethodGet, "/health", "health",
		"Check that the server reaches its database, and whether it takes changes", noAuth),
		func(ctx context.Context, _ *nothing) (Health, error) { return s.health.check(ctx, s.examine) })
}

// examine reports whether the database can be read, and whether it takes changes.
func (s *Server) examine(ctx context.Context) (writes bool, err error) {
	err = store.Explain(migrations.Check(ctx, s.own))
	if errors.Is(err, context.DeadlineExceeded) {
		err = oxbow.ErrUnreachable
	}
	if err != nil {
		return false, err
	}
	failed := store.CheckWrites(ctx, s.own)
	if errors.Is(failed, store.ErrReadOnly) { // perhaps only the session, which the pool has closed
		failed = store.CheckWrites(ctx, s.own)
	}
	return failed == nil, nil
}
