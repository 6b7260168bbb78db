package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// RecallParams are the arguments of oxbow.recall; a nil is its default.
type RecallParams struct {
	UserID                         string
	Query                          string
	Embedding                      []float32
	Types                          []MemoryType
	Limit                          *int
	Contexts                       []string
	Agent                          *string
	Metadata                       json.RawMessage
	ValidAsOf, BelievedAsOf, AtNow *time.Time
}

// Result is a memory that answers a query, with its score.
type Result struct {
	ID         uuid.UUID      `json:"id"`
	Type       MemoryType     `json:"memory_type"`
	Content    string         `json:"content"`
	Score      float64        `json:"score"` // comparable within one recall only
	ValidAt    time.Time      `json:"valid_at,omitzero"`
	InvalidAt  time.Time      `json:"invalid_at,omitzero"`
	CreatedAt  time.Time      `json:"created_at"`
	ExpiredAt  time.Time      `json:"expired_at,omitzero"`
	SessionID  string         `json:"session_id,omitzero"`
	Seq        int64          `json:"seq"`
	Speaker    string         `json:"speaker,omitzero"`
	AgentID    string         `json:"agent_id,omitzero"`
	ExternalID string         `json:"external_id,omitzero"`
	Category   string         `json:"category,omitzero"`
	Importance float64        `json:"importance"`
	Metadata   map[string]any `json:"metadata"`
	Explain    Explanation    `json:"explain"`
}

// Explanation breaks a score down: the weighted sum of the channels, times 1 + the sum of the bonuses.
type Explanation struct {
	Text *ChannelScore `json:"text,omitempty"` // BM25 over the words; nil if no word matched
	// cosine similarity; nil if the memory was not near, or has no vector
	Vector *ChannelScore `json:"vector,omitempty"`
	// Entity is the score for the entities that the query names and their neighbours; nil if the memory names none.
	Entity *ChannelScore `json:"entity,omitempty"`
	// Recency and Importance are bonuses of 0 to 0.15; StageBoost is 0.05, 0.15 or 0.25 by the stage of a trait.
	Recency    float64 `json:"recency"`
	Importance float64 `json:"importance"`
	StageBoost float64 `json:"stage_boost,omitzero"`
	// The subtype, stage and confidence of a trait at the moment of the query, and how many memories support and
	// contradict it.
	Subtype       string  `json:"subtype,omitzero"`    // behavior, preference, core
	Stage         string  `json:"stage,omitzero"`      // emerging, established, core
	Confidence    float64 `json:"confidence,omitzero"` // in (0,1)
	Supporting    int     `json:"supporting,omitzero"`
	Contradicting int     `json:"contradicting,omitzero"`
	Session       string  `json:"session,omitzero"` // the conversation that the memory comes from
}

// ChannelScore is the score of a memory in one channel, what its neighbours in the conversation gave it included.
type ChannelScore struct {
	Score float64 `json:"score"`
	Rank  int     `json:"rank"` // from 1
}

// Recall calls oxbow.recall, and returns the model of the database's vectors as well.
func Recall(ctx context.Context, db DB, p RecallParams) ([]Result, EmbeddingModel, error) {
	return collectWithModel(ctx, db, scanResult, `
		select id, memory_type, content, score, valid_at, invalid_at, created_at, expired_at, session_id, seq, speaker,
		       agent_id, external_id, category, importance, metadata, explain
		from oxbow.recall(user_id => $1, query => $2, embedding => $3, types => $4, max_results => coalesce($5::integer, 10),
		       contexts => $6, agent => $7, metadata_contains => $8, valid_as_of => $9, believed_as_of => $10, now => $11)`,
		p.UserID, p.Query, halfVector(p.Embedding), p.Types, p.Limit, p.Contexts, p.Agent, p.Metadata, p.ValidAsOf,
		p.BelievedAsOf, p.AtNow)
}

func scanResult(row pgx.CollectableRow) (Result, error) {
	var r Result
	var validAt, invalidAt, expiredAt *time.Time
	var session, speaker, agent, externalID, category *string
	err := row.Scan(&r.ID, &r.Type, &r.Content, &r.Score, &validAt, &invalidAt, &r.CreatedAt, &expiredAt, &session, &r.Seq,
		&speaker, &agent, &externalID, &category, &r.Importance, &r.Metadata, &r.Explain)
	r.ValidAt, r.InvalidAt, r.ExpiredAt = or(validAt), or(invalidAt), or(expiredAt)
	r.SessionID, r.Speaker, r.AgentID = or(session), or(speaker), or(agent)
	r.ExternalID, r.Category = or(externalID), or(category)
	return r, err
}

// Touch reports that a reply used memories or, unless used, that recall returned them.
func Touch(ctx context.Context, db DB, userID string, ids []uuid.UUID, used bool) error {
	if _, err := db.Exec(ctx, `select oxbow.touch(user_id => $1, ids => $2, used => $3)`, userID, ids, used); err != nil {
		return fmt.Errorf("touch %d memories: %w", len(ids), Explain(err))
	}
	return nil
}
