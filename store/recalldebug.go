package store

import (
	"context"

	"github.com/google/uuid"
)

// Considered is a memory that a recall returns, or leaves out.
type Considered struct {
	Result
	Place int `json:"place,omitzero"` // from 1; 0 if it is left out
	// LeftOut is the reason why it is left out; see oxbow.recall_debug in sql/code.
	LeftOut string `json:"left_out,omitzero"`
}

// RecallDebug calls oxbow.recall_debug: it returns what Recall returns, then up to further memories that it leaves out
// for each of several reasons, and the memories with the given ids. Only the schema's owner, the worker and operators
// may call it.
func RecallDebug(ctx context.Context, db DB, p RecallParams, further int, ids []uuid.UUID) (
	[]Considered, EmbeddingModel, error,
) {
	return collectWithModel[Considered](ctx, db, `
		select place, left_out, id, memory_type as type, content, score, valid_at, invalid_at, created_at, expired_at,
		       session_id, seq, speaker, agent_id, external_id, category, importance, metadata, explain, modality, reference,
		       attachments
		from oxbow.recall_debug(user_id => $1, query => $2, embedding => $3, types => $4,
		       max_results => coalesce($5::integer, 10), contexts => $6, agent => $7, metadata_contains => $8,
		       valid_as_of => $9, believed_as_of => $10, now => $11, min_score => $12, mode => $13, further => $14,
		       ids => $15)`,
		p.UserID, p.Query, halfVector(p.Embedding), p.Types, p.Limit, p.Contexts, p.Agent, p.Metadata, p.ValidAsOf,
		p.BelievedAsOf, p.AtNow, p.MinScore, p.Mode, further, ids)
}
