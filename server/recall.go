package server

import (
	"context"
	"net/http"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Query says what to recall.
type Query struct {
	Query        string         `json:"query" minLength:"1" doc:"The question or the topic"`
	Limit        int            `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"10"`
	Types        []string       `json:"types,omitempty" enum:"fact,episodic,trait,document" doc:"Default: all"`
	Contexts     []string       `json:"contexts,omitempty" doc:"Of traits, or of the metadata of other memories"`
	AgentID      string         `json:"agent_id,omitzero"`
	Metadata     map[string]any `json:"metadata,omitempty" doc:"What the metadata must contain"`
	ValidAsOf    time.Time      `json:"valid_as_of,omitzero" doc:"What was true then. Default: now"`
	BelievedAsOf time.Time      `json:"believed_as_of,omitzero" doc:"What Oxbow believed then. Default: now"`
	MinScore     float64        `json:"min_score,omitzero" minimum:"0"`
	Mode         string         `json:"mode,omitzero" enum:"normal,review" doc:"Default: all current memories"`
	WordsOnly    bool           `json:"words_only,omitzero" doc:"Do not search by vectors"`
}

func (q Query) of(user string) oxbow.Query {
	n := oxbow.Query{UserID: user, Text: q.Query, Limit: q.Limit, Contexts: q.Contexts, AgentID: q.AgentID,
		ValidAsOf: q.ValidAsOf, BelievedAsOf: q.BelievedAsOf, MinScore: q.MinScore, Mode: oxbow.Mode(q.Mode),
		WordsOnly: q.WordsOnly}
	for _, t := range q.Types {
		n.Types = append(n.Types, oxbow.MemoryType(t))
	}
	if q.Metadata != nil {
		n.Metadata = q.Metadata
	}
	return n
}

// Recalled is the answer to a Query.
type Recalled struct {
	Memories []oxbow.Result `json:"memories" doc:"Best first"`
	Degraded string         `json:"degraded,omitzero" doc:"Why only words were searched"`
}

func (s *Server) registerRecall() {
	forUser(s, op("recall", http.MethodPost, "/recall", "recall", "Recall memories"), s.recall)
}

func (s *Server) recall(ctx context.Context, user string, in *struct {
	Body Query
}) (Recalled, error) {
	found, err := s.client.Recall(ctx, in.Body.of(user))
	r := Recalled{Memories: found.Memories}
	if found.Degraded != nil {
		r.Degraded = "the embedding provider is not available"
	}
	return r, err
}
