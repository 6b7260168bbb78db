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
}

// healthLife is for how long an answer about the health counts. It bounds what checks without a credential cost.
const (
	healthLife    = time.Second
	healthTimeout = 5 * time.Second
)

// health is the last check of the database.
type health struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// check checks the database, or returns the result of a check within the last second. It does not end with the request
// that asks, because others wait for its result.
func (h *health) check(ctx context.Context, check func(context.Context) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.at) > healthLife {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTimeout)
		defer cancel()
		h.err, h.at = check(ctx), time.Now()
	}
	return h.err
}

func (s *Server) registerHealth() {
	handle(s, op("health", http.MethodGet, "/health", "health", "Check that the server reaches its database", noAuth),
		func(ctx context.Context, _ *nothing) (Health, error) {
			return Health{"ok"}, s.health.check(ctx, func(ctx context.Context) error {
				err := store.Explain(migrations.Check(ctx, s.own))
				if errors.Is(err, context.DeadlineExceeded) {
					err = oxbow.ErrUnreachable
				}
				return err
			})
		})
}
