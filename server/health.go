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

// register registers all operations.
func (s *Server) register() {
	s.registerHealth()
	s.registerMemories()
	s.registerChanges()
	s.registerMessages()
	s.registerRecall()
	s.registerTraits()
	s.registerDocuments()
	s.registerTransfer()
	s.registerUser()
	s.registerOperations()
	s.registerOperators()
	s.registerV1()
}
