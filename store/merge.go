package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Near is a memory that one of the given memories may be merged with.
type Near struct {
	Of uuid.UUID // that memory; itself is the first one near it
	reasoner.Held
	Kin    string // equal for memories that may become one: of the same type, speaker, agent and context
	Merged int    // how many memories it was merged from; 0: it is not a merged memory
	Needed int    // how many make a merge
}

// NearMemories returns, for each of the given memories that may be merged, itself and the memories most like it, at most
// limit. Their times are in the zone. It returns none if the user's memories are not merged.
func NearMemories(ctx context.Context, db DB, userID string, ids []uuid.UUID, limit int, zone *time.Location) ([]Near, error) {
	near, err := list[Near](ctx, db, "look for similar memories", `
		select of, id, type, content, speaker, category, at as time, similarity, kin, merged, needed
		  from oxbow.near_memories($1, $2, $3)`, userID, ids, limit)
	for i := range near {
		near[i].Time = near[i].Time.In(zone)
	}
	return near, err
}

// MergeMemories makes one memory with the given text of several of a user, in the caller's transaction. It returns
// ErrStale if one of them is no longer current.
func MergeMemories(ctx context.Context, tx DB, userID, actor string, ids []uuid.UUID, text string) error {
	_, err := run(ctx, tx, "merge memories", `select oxbow.merge_memories($1, $2, $3, $4)`, userID, actor, ids, text)
	return staleTarget(err)
}

// LockMerges blocks extractions, reconciliations and merges of the user until the transaction ends.
func LockMerges(ctx context.Context, tx DB, userID string) error { return lockWrites(ctx, tx, userID) }

// Merge makes one memory of several and returns its id.
func Merge(ctx context.Context, db DB, userID string, ids []uuid.UUID, content string) (uuid.UUID, error) {
	if err := text("content", content); err != nil {
		return uuid.Nil, err
	}
	return CollectOne[uuid.UUID](ctx, db, `select oxbow.merge(user_id => $1, ids => $2, content => nullif($3::text, ''))`,
		userID, ids, content)
}

// Unmerge makes the originals of a merged memory current again and returns their ids.
func Unmerge(ctx context.Context, db DB, userID string, id uuid.UUID) ([]uuid.UUID, error) {
	return CollectOne[[]uuid.UUID](ctx, db, `select oxbow.unmerge(user_id => $1, id => $2)`, userID, id)
}
