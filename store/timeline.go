package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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
	Category  string     `json:"category,omitzero"`
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
}

// Timeline calls oxbow.timeline. It also returns the embedding model of the database.
func Timeline(ctx context.Context, db DB, p TimelineParams) ([]TimelineEntry, EmbeddingModel, error) {
	return collectWithModel(ctx, db, scanTimelineEntry, `
		select id, memory_type, content, category, speaker, session_id, valid_at, invalid_at, created_at, expired_at, current,
		       superseded_by, contradicted_by, score
		  from oxbow.timeline(user_id => $1, topic => $2, embedding => $3, types => $4,
		       max_results => coalesce($5::integer, 50))`,
		p.UserID, p.Topic, halfVector(p.Embedding), p.Types, p.Limit)
}

func scanTimelineEntry(row pgx.CollectableRow) (e TimelineEntry, err error) {
	var invalidAt, expiredAt *time.Time
	var category, speaker, session *string
	var superseded, contradicted *uuid.UUID
	err = row.Scan(&e.ID, &e.Type, &e.Content, &category, &speaker, &session, &e.ValidAt, &invalidAt, &e.CreatedAt,
		&expiredAt,
		&e.Current, &superseded, &contradicted, &e.Score)
	e.InvalidAt, e.ExpiredAt = or(invalidAt), or(expiredAt)
	e.Category, e.Speaker, e.SessionID = or(category), or(speaker), or(session)
	e.SupersededBy, e.ContradictedBy = or(superseded), or(contradicted)
	return e, err
}
