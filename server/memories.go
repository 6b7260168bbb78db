package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// NewMemory is a memory to add.
type NewMemory struct {
	Content     string         `json:"content" minLength:"1" maxLength:"1048576" doc:"The text, or the caption of an image"`
	Type        string         `json:"memory_type,omitzero" enum:"fact,episodic,document" default:"fact" doc:"Only reflection makes traits"`
	ID          uuid.UUID      `json:"id,omitzero" doc:"Default: a new one"`
	ExternalID  string         `json:"external_id,omitzero" maxLength:"1024" doc:"Your own id: adding it again adds nothing"`
	ValidAt     time.Time      `json:"valid_at,omitzero" doc:"When it became true. Default: now"`
	InvalidAt   time.Time      `json:"invalid_at,omitzero" doc:"When it ceased to be true. Default: never"`
	ExpiresAt   time.Time      `json:"expires_at,omitzero" doc:"When it expires, in the future. Default: never"`
	SessionID   string         `json:"session_id,omitzero" maxLength:"1024" doc:"The conversation"`
	Speaker     string         `json:"speaker,omitzero" maxLength:"1024" doc:"Who said it"`
	AgentID     string         `json:"agent_id,omitzero" maxLength:"1024"`
	Source      string         `json:"source,omitzero" maxLength:"1024"`
	Category    string         `json:"category,omitzero" enum:"identity,stable_preference,short_preference,fact,skill,temporary" doc:"Default: the worker gives one to a fact"`
	Topic       string         `json:"topic,omitzero" maxLength:"255"`
	Verified    bool           `json:"verified,omitzero" doc:"A person confirmed it"`
	Importance  *float64       `json:"importance,omitempty" minimum:"0" maximum:"1" doc:"Default: 0.5"`
	Metadata    map[string]any `json:"metadata,omitempty"`
	Modality    string         `json:"modality,omitzero" enum:"text,image,audio,video,code,file" doc:"Default: text"`
	Reference   string         `json:"reference,omitzero" maxLength:"2048" doc:"Where you keep the image, recording or file"`
	Sensitivity int            `json:"sensitivity,omitzero" minimum:"0" maximum:"2" doc:"2 is never recalled"`
}

func (m NewMemory) of(user string) oxbow.NewMemory {
	n := oxbow.NewMemory{UserID: user, Content: m.Content, Type: oxbow.MemoryType(m.Type), ID: m.ID,
		ExternalID: m.ExternalID, ValidAt: m.ValidAt, InvalidAt: m.InvalidAt, ExpiresAt: m.ExpiresAt,
		SessionID: m.SessionID, Speaker: m.Speaker, AgentID: m.AgentID, Source: m.Source,
		Category: oxbow.Category(m.Category), Topic: m.Topic, Verified: m.Verified, Importance: m.Importance,
		Modality: oxbow.Modality(m.Modality), Reference: m.Reference, Sensitivity: m.Sensitivity}
	if m.Metadata != nil {
		n.Metadata = m.Metadata
	}
	return n
}

// Added is a memory that was added.
type Added struct {
	ID uuid.UUID `json:"id"`
	// OperationID is the id under which GET /operations/{id} tells what became of it.
	OperationID uuid.UUID `json:"operation_id" doc:"GET /operations/{id} tells what became of it"`
}

// MemoryID names a memory in the path.
type MemoryID struct {
	ID uuid.UUID `path:"id" doc:"The memory's id"`
}

// Page selects a page of a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	Cursor string `query:"cursor" doc:"next_cursor of the previous page"`
}

// Once makes a request that may be repeated.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"255" doc:"A request that is repeated within a day with the same key is done once"`
}

func (s *Server) registerMemories() {
	forUser(s, op("add-memory", http.MethodPost, "/memories", "memories", "Add a memory"), s.addMemory)
	forUser(s, op("add-memories", http.MethodPost, "/memories/batch", "memories",
		"Add up to 1,000 memories: all or none",
		bulk), s.addMemories)
	forUser(s, op("list-memories", http.MethodGet, "/memories", "memories", "List memories, the newest first"),
		s.listMemories)
	forUser(s, op("get-memory", http.MethodGet, "/memories/{id}", "memories", "Get a memory"), s.getMemory)
	forUser(s, op("list-versions", http.MethodGet, "/memories/{id}/versions", "memories",
		"List all versions of a memory, in the order in which they became true"),
		func(ctx context.Context, user string, in *MemoryID) (list[oxbow.Memory], error) {
			return listed(s.client.Versions(ctx, user, in.ID))
		})
	forUser(s, op("get-history", http.MethodGet, "/memories/{id}/history", "memories",
		"List the changes of a memory and its versions"),
		func(ctx context.Context, user string, in *MemoryID) (list[oxbow.Change], error) {
			return listed(s.client.History(ctx, user, in.ID))
		})
	forUser(s, op("list-related", http.MethodGet, "/memories/{id}/related", "memories",
		"List related memories, the most related first"),
		func(ctx context.Context, user string, in *near) (list[oxbow.Related], error) {
			return listed(s.client.Related(ctx, user, in.ID, in.Limit))
		})
	forUser(s, op("list-provenance", http.MethodGet, "/memories/{id}/provenance", "memories",
		"List the memories and messages from which a memory was made, nearest first"),
		func(ctx context.Context, user string, in *near) (list[oxbow.Origin], error) {
			return listed(s.client.Provenance(ctx, user, in.ID, in.Limit))
		})
}

type near struct {
	MemoryID
	Limit int `query:"limit" minimum:"1" maximum:"1000" default:"50"`
}

func (s *Server) addMemory(ctx context.Context, user string, in *struct {
	Once
	Body NewMemory
}) (Added, error) {
	return once(ctx, s, user, in.Once, "add-memory", in.Body, func(c *oxbow.Client) (Added, error) {
		id, err := c.Remember(ctx, in.Body.of(user))
		return Added{id, id}, err
	})
}

// NewMemories are memories to add.
type NewMemories struct {
	Memories []NewMemory `json:"memories" minItems:"1" maxItems:"1000"`
}

func (s *Server) addMemories(ctx context.Context, user string, in *struct {
	Once
	Body NewMemories
}) (list[Added], error) {
	memories := make([]oxbow.NewMemory, len(in.Body.Memories))
	for i, m := range in.Body.Memories {
		memories[i] = m.of(user)
	}
	return once(ctx, s, user, in.Once, "add-memories", in.Body, func(c *oxbow.Client) (list[Added], error) {
		ids, err := c.RememberMany(ctx, memories)
		callerOf(ctx).spending.later(len(ids))
		added := make([]Added, len(ids))
		for i, id := range ids {
			added[i] = Added{id, id}
		}
		return list[Added]{Items: added}, err
	})
}

// once calls f, or returns its earlier answer if the request repeats one with the same key. The answer is stored in the
// transaction of f.
func once[O any](ctx context.Context, s *Server, user string, o Once, operation string, request any,
	f func(c *oxbow.Client) (O, error),
) (out O, err error) {
	if o.Key == "" {
		return f(s.client)
	}
	encoded, err := json.Marshal([]any{operation, request})
	if err != nil {
		return out, err
	}
	hash := sha256.Sum256(encoded)
	err = s.client.InTx(ctx, user, func(tx pgx.Tx) error {
		answer, err := store.AnswerOnce(ctx, tx, user, o.Key, hash[:], func() (json.RawMessage, error) {
			out, err := f(s.client.WithTx(tx))
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		})
		if err != nil {
			return err
		}
		return json.Unmarshal(answer, &out)
	})
	return out, err
}

func (s *Server) listMemories(ctx context.Context, user string, in *struct {
	Page
	Types     []string `query:"type" enum:"fact,episodic,trait,document" doc:"Only these types, separated by commas"`
	SessionID string   `query:"session_id" doc:"Only of this conversation"`
	AgentID   string   `query:"agent_id" doc:"Only of this agent"`
	All       bool     `query:"all" doc:"Also superseded, expired and forgotten memories"`
}) (page list[oxbow.Memory], err error) {
	l := store.Listing{Types: typesOf(in.Types), SessionID: in.SessionID, AgentID: in.AgentID, All: in.All,
		Cursor: in.Cursor, Limit: in.Limit}
	page.Items, page.Next, err = s.memories(ctx, user, l)
	return page, err
}

// memories returns a page of memories, fewer than the limit if they are large.
func (s *Server) memories(ctx context.Context, user string, l store.Listing) (found []oxbow.Memory, next string,
	err error,
) {
	err = paged(ctx, l.Limit, func(limit int) error {
		return s.client.InTx(ctx, user, func(tx pgx.Tx) error {
			l.Limit = limit
			found, next, err = store.ListMemories(ctx, tx, user, l)
			return err
		})
	})
	return found, next, err
}

// getMemory returns a memory. The server has no keys, so the text of a sealed one is "[sealed]".
func (s *Server) getMemory(ctx context.Context, user string, in *MemoryID) (oxbow.Memory, error) {
	m, err := s.client.Get(ctx, user, in.ID)
	if errors.Is(err, oxbow.ErrSealed) {
		err = nil
	}
	return m, err
}
