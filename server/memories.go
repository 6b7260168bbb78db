package server

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow"
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

type memoryID struct {
	ID uuid.UUID `path:"id" doc:"The memory's id"`
}

func (s *Server) registerMemories() {
	forUser(s, op("add-memory", http.MethodPost, "/memories", "memories", "Add a memory"), s.addMemory)
	forUser(s, op("get-memory", http.MethodGet, "/memories/{id}", "memories", "Get a memory"), s.getMemory)
}

func (s *Server) addMemory(ctx context.Context, user string, in *struct {
	Body NewMemory
}) (Added, error) {
	id, err := s.client.Remember(ctx, in.Body.of(user))
	return Added{id, id}, err
}

func (s *Server) getMemory(ctx context.Context, user string, in *memoryID) (oxbow.Memory, error) {
	return s.client.Get(ctx, user, in.ID)
}
