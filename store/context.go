package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// ContextParams holds the arguments of oxbow.context_parts. A nil argument means its default.
type ContextParams struct {
	UserID    string
	Query     string
	Embedding []float32
	MaxTokens *int
	Types     []MemoryType
	Contexts  []string
	Agent     *string
	AtNow     *time.Time
	Include   []string
	SessionID *string
}

// ContextPart is one line of a prompt block.
type ContextPart struct {
	// Section is the subtype of a trait (core, preference, behavior), or memory for facts and
	// episodes.
	Section string     `json:"section"`
	ID      uuid.UUID  `json:"id"`
	Type    MemoryType `json:"memory_type"`
	Stage   string     `json:"stage,omitzero"` // of a trait: emerging, established, core
	At      time.Time  `json:"at,omitzero"`    // when a fact became true or an episode happened
	Text    string     `json:"text"`           // the memory on one line, shortened if long
	// Line is the line in the block. The first line of a section includes its heading.
	Line   string `json:"line"`
	Tokens int    `json:"tokens"` // the estimated length of Line

	Modality  Modality `json:"modality"`
	Reference string   `json:"reference,omitzero"`
}

// Context calls oxbow.context_parts. It also returns the embedding model of the database.
func Context(ctx context.Context, db DB, p ContextParams) ([]ContextPart, EmbeddingModel, error) {
	return collectWithModel[ContextPart](ctx, db, `
		select section, id, memory_type as type, stage, at, text, line, tokens, modality, reference
		from oxbow.context_parts(user_id => $1, query => $2, embedding => $3, max_tokens => coalesce($4::integer, 1000),
		  types => $5, contexts => $6, agent => $7, now => $8, include => $9, session_id => $10)`,
		p.UserID, p.Query, halfVector(p.Embedding), p.MaxTokens, p.Types, p.Contexts, p.Agent, p.AtNow, p.Include,
		p.SessionID)
}
