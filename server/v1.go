package server

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// MemoryV1 is a memory as version 1 took it.
type MemoryV1 struct {
	Content  string         `json:"content" minLength:"1" maxLength:"1048576"`
	Type     string         `json:"memory_type,omitzero" enum:"general,fact,episodic,document,insight" default:"general" doc:"general is fact; insight becomes a trend without evidence, which is never recalled"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// SearchV1 is a search of version 1.
type SearchV1 struct {
	Query string   `json:"query" minLength:"1"`
	Limit int      `json:"limit,omitzero" minimum:"1" maximum:"1000" default:"10"`
	Types []string `json:"memory_types,omitempty" enum:"general,fact,episodic,document,insight,trait"`
}

func (s *Server) registerV1() {
	forUser(s, op("add-memory-v1", http.MethodPost, "/add_memory", "version 1", "Add a memory, as in version 1"),
		func(ctx context.Context, user string, in *struct{ Body MemoryV1 }) (added Added, err error) {
			err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
				added.ID, err = store.AddMemoryV1(ctx, tx, user, in.Body.Content, in.Body.Type, in.Body.Metadata)
				return err
			})
			added.OperationID = added.ID
			return added, err
		})
	forUser(s, op("search-v1", http.MethodPost, "/search", "version 1", "Recall memories, as in version 1"), s.searchV1)
}

// searchV1 is recall with the types of version 1, as oxbow.search is.
func (s *Server) searchV1(ctx context.Context, user string, in *struct {
	Body SearchV1
}) (list[oxbow.Result], error) {
	q := oxbow.Query{UserID: user, Text: in.Body.Query, Limit: in.Body.Limit}
	for _, name := range in.Body.Types {
		switch name {
		case "insight": // never recalled
		case "general":
			q.Types = append(q.Types, oxbow.TypeFact)
		default:
			q.Types = append(q.Types, oxbow.MemoryType(name))
		}
	}
	if len(in.Body.Types) > 0 && len(q.Types) == 0 {
		return listed[oxbow.Result](nil, nil)
	}
	found, err := s.client.Recall(ctx, q)
	return listed(found.Memories, err)
}
