package server

import (
	"context"
	"net/http"

	"github.com/oxbow-memory/oxbow/migrations"
)

// Health says whether the server can answer requests.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

func (s *Server) registerHealth() {
	handle(s, op("health", http.MethodGet, "/health", "health", "Check that the server reaches its database", noAuth),
		func(ctx context.Context, _ *nothing) (Health, error) {
			return Health{"ok"}, migrations.Check(ctx, s.own)
		})
}

// register registers all operations.
func (s *Server) register() {
	s.registerHealth()
	s.registerMemories()
	s.registerRecall()
}
