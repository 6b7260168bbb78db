package server

import (
	"context"
	"net/http"

	"github.com/oxbow-memory/oxbow/migrations"
	"github.com/oxbow-memory/oxbow/store"
)

// Health says whether the server can answer requests.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

func (s *Server) registerHealth() {
	handle(s, op("health", http.MethodGet, "/health", "health", "Check that the server reaches its database", noAuth),
		func(ctx context.Context, _ *nothing) (Health, error) {
			return Health{"ok"}, store.Explain(migrations.Check(ctx, s.own))
		})
}
