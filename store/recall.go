package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// RecallParams holds the arguments of oxbow.recall. A nil argument means its default.
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
	MinScore                       *float64
	Mode                           *string
}

// Result is a memory that matches a query, with its score.
type Result struct {
	ID         uuid.UUID      `json:"id"`
	Type       MemoryType     `json:"memory_type"`
	Content    string         `json:"content"`
	Score      float64        `json:"score"` // comparable only within one recall
	ValidAt    time.Time      `json:"valid_at,omitzero"`
	InvalidAt  time.Time      `json:"invalid_at,omitzero"`
	CreatedAt  time.Time      `json:"created_at"`
	ExpiredAt  time.Time      `json:"expired_at,omitzero"`
	SessionID  string         `json:"session_id,omitzero"`
	Seq        int64          `json:"seq"`
	Speaker    string         `json:"speaker,omitzero"`
	AgentID    string         `json:"agent_id,omitzero"`
	ExternalID string         `json:"external_id,omitzero"`
	Category   Category       `json:"category,omitzero"`
	Importance float64        `json:"importance"`
	Metadata   map[string]any `json:"metadata"`
	Explain    Explanation    `json:"explain"`
	Modality   Modality       `json:"modality"`
	Reference  string         `json:"reference,omitzero"`
	// Attachments are images, recordings and files that belong to it, the latest 10, oldest first.
	Attachments []Attachment `json:"attachments,omitempty"`
}

// Attachment is an image, recording or file that belongs to a memory.
type Attachment struct {
	ID        uuid.UUID `json:"id"` // of the memory as which it was stored
	Modality  Modality  `json:"modality"`
	Reference string    `json:"reference"`
	Caption   string    `json:"caption"`
	At        time.Time `json:"at"`
}

// Explanation breaks a score down. The score is the weighted sum of the channel scores, times 1
// plus the sum of the bonuses, times 1 plus the share of the weight, times the factor of its modality.
type Explanation struct {
	Text *ChannelScore `json:"text,omitempty"` // BM25 over the words; nil if no word matched
	// Vector is the cosine similarity; nil if the memory was not near the query or has no vector.
	Vector *ChannelScore `json:"vector,omitempty"`
	// Entity scores the entities that the query names and their neighbours; nil if the memory names
	// none of them.
	Entity *ChannelScore `json:"entity,omitempty"`
	// Recency and Importance are bonuses between 0 and 0.15. StageBoost is 0.05, 0.15 or 0.25, by
	// the stage of a trait.
	Recency    float64 `json:"recency"`
	Importance float64 `json:"importance"`
	StageBoost float64 `json:"stage_boost,omitzero"`
	// Speaker is the bonus of the policy recall_speaker (default 0.5) if the query names the memory's speaker, or if the
	// memory has no speaker and the query names that of another candidate; else 0.
	Speaker float64 `json:"speaker,omitzero"`
	// Relevance says how well the memory answers the query, from 0 to 1. It is comparable between queries. It is the mean
	// of the share of the query's words that the memory has and of the similarity of the vectors; without vectors it is
	// the share alone.
	Relevance float64 `json:"relevance"`
	// Modality is the factor of the memory's modality (policies recall_image, …); zero stands for 1.
	Modality float64 `json:"modality,omitzero"`
	// Weight is nil for traits, whose confidence takes its place.
	Weight *WeightFactors `json:"weight,omitempty"`
	// Subtype, Stage, Confidence, Supporting and Contradicting describe a trait at the time of the
	// query. The last two count the memories that support and contradict it.
	Subtype       string  `json:"subtype,omitzero"`    // behavior, preference, core
	Stage         string  `json:"stage,omitzero"`      // emerging, established, core
	Confidence    float64 `json:"confidence,omitzero"` // between 0 and 1 exclusive
	Supporting    int     `json:"supporting,omitzero"`
	Contradicting int     `json:"contradicting,omitzero"`
	Session       string  `json:"session,omitzero"` // the conversation that the memory comes from
	// Repeats is the id of a better result that says the same. The memory comes after all that do not repeat another.
	Repeats uuid.UUID `json:"repeats,omitzero"`
	// Reranked is nil unless a reranker was asked about the memory.
	Reranked *Reranked `json:"reranked,omitempty"`
	// Level is summary, tag, trace or archive; empty for a full memory.
	Level string `json:"level,omitzero"`
	// LeftOut is the reason why a recall without a mode leaves the memory out; only in ModeDebug.
	LeftOut string `json:"left_out,omitzero"`
}

// Reranked is what a reranker did to a memory.
type Reranked struct {
	Score  *float64 `json:"score,omitempty"` // comparable only within one recall; nil if the reranker gave none
	From   int      `json:"from"`            // the rank before, from 1
	Failed string   `json:"failed,omitzero"` // timeout, error or paused: the order is recall's own
}

// WeightFactors are the factors of a memory's weight, which is their product (docs/weight.md).
type WeightFactors struct {
	// Share is what the weight adds to the score, between -0.3 and 0.3 (policy recall_weight).
	Share         float64 `json:"share"`
	Time          float64 `json:"time"`          // since the last activation: 1, falling towards 0
	Reinforcement float64 `json:"reinforcement"` // by mentions: 1 to 1.5
	Conflict      float64 `json:"conflict"`      // 1, or from 0.3 on after it was negated
	Importance    float64 `json:"importance"`    // of its category: 0.8 to 1.5
	Momentum      float64 `json:"momentum"`      // by mentions of the last days: 1 to 1.5
	Strength      float64 `json:"strength"`      // by use in replies: 0.7 to 1.6
}

// Weight is the product of the factors.
func (w WeightFactors) Weight() float64 {
	return w.Time * w.Reinforcement * w.Conflict * w.Importance * w.Momentum * w.Strength
}

// ChannelScore is the score of a memory in one channel, including the share from its neighbours in
// the conversation.
type ChannelScore struct {
	Score float64 `json:"score"`
	Rank  int     `json:"rank"` // from 1
}

// Recall calls oxbow.recall. It also returns the embedding model of the database.
func Recall(ctx context.Context, db DB, p RecallParams) ([]Result, EmbeddingModel, error) {
	return collectWithModel[Result](ctx, db, `
		select id, memory_type as type, content, score, valid_at, invalid_at, created_at, expired_at, session_id,
		       seq, speaker, agent_id, external_id, category, importance, metadata, explain,
		       modality, reference, attachments
		from oxbow.recall(user_id => $1, query => $2, embedding => $3, types => $4,
		       max_results => coalesce($5::integer, 10), contexts => $6, agent => $7, metadata_contains => $8,
		       valid_as_of => $9, believed_as_of => $10, now => $11, min_score => $12, mode => $13)`,
		p.UserID, p.Query, halfVector(p.Embedding), p.Types, p.Limit, p.Contexts, p.Agent, p.Metadata, p.ValidAsOf,
		p.BelievedAsOf, p.AtNow, p.MinScore, p.Mode)
}

// Touch records that a reply used the memories or, if used is false, that a recall returned them, at a moment (zero:
// now).
func Touch(ctx context.Context, db DB, userID string, ids []uuid.UUID, used bool, at time.Time) error {
	_, err := run(ctx, db, fmt.Sprintf("touch %d memories", len(ids)),
		`select oxbow.touch(user_id => $1, ids => $2, used => $3, at => coalesce($4::timestamptz, now()))`, userID, ids,
		used, null(at))
	return err
}
