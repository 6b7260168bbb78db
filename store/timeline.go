package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// TimelineParams holds the arguments of oxbow.timeline. A nil argument means its default.
type TimelineParams struct {
	UserID    string
	Topic     string
	Embedding []float32
	Types     []MemoryType
	Limit     *int
}

// TimelineEntry is a fact or an episode in a timeline.
type TimelineEntry struct {
	ID        uuid.UUID  `json:"id"`
	Type      MemoryType `json:"memory_type"`
	Content   string     `json:"content"`
	Category  Category   `json:"category,omitzero"`
	Speaker   string     `json:"speaker,omitzero"`
	SessionID string     `json:"session_id,omitzero"`

	// ValidAt and InvalidAt bound the time the content was true in the world. CreatedAt and
	// ExpiredAt bound the time the system believed it.
	ValidAt   time.Time `json:"valid_at"`
	InvalidAt time.Time `json:"invalid_at,omitzero"`
	CreatedAt time.Time `json:"created_at"`
	ExpiredAt time.Time `json:"expired_at,omitzero"`

	Current      bool      `json:"current"`                // whether it is a fact that is true now
	SupersededBy uuid.UUID `json:"superseded_by,omitzero"` // the version that replaced it
	// ContradictedBy is the first memory that contradicts it without superseding it.
	ContradictedBy uuid.UUID `json:"contradicted_by,omitzero"`
	Score          float64   `json:"score"` // relevance to the topic; 1 is the highest

	Modality  Modality `json:"modality"`
	Reference string   `json:"reference,omitzero"`
}

// Timeline calls oxbow.timeline. It also returns the embedding model of the database.
func Timeline(ctx context.Context, db DB, p TimelineParams) ([]TimelineEntry, EmbeddingModel, error) {
	return collectWithModel[TimelineEntry](ctx, db, `
		select id, memory_type as type, content, category, speaker, session_id, valid_at, invalid_at,
		       created_at, expired_at, current, superseded_by, contradicted_by, score,
		       modality, reference
		  from oxbow.timeline(user_id => $1, topic => $2, embedding => $3, types => $4,
		       max_results => coalesce($5::integer, 50))`,
		p.UserID, p.Topic, halfVector(p.Embedding), p.Types, p.Limit)
}
