package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/oxbow-memory/oxbow/internal/reasoner"
)

// Near is a memory that may be merged with one of the given memories.
type Near struct {
	Of uuid.UUID // the given memory, which is also the first one near itself
	reasoner.Held
	Kin    string // equal for memories that may be merged: of the same type, speaker, agent and context
	Merged int    // the number of its originals; 0: it is not a merged memory
	Needed int    // the minimum number of memories for a merge
}

// Mergeable is a memory that may be merged with others.
type Mergeable struct {
	ID      uuid.UUID
	Content string
	Time    time.Time // when it was true or happened
}

// MemoriesToMerge returns those of the given memories that may be merged, with times in the zone, or none if merging is
// off for the user.
func MemoriesToMerge(ctx context.Context, db DB, userID string, ids []uuid.UUID,
	zone *time.Location) ([]Mergeable, error) {
	all, err := list[Mergeable](ctx, db, "read memories to merge",
		`select id, content, at as time from oxbow.memories_to_merge($1, $2)`, userID, ids)
	for i := range all {
		all[i].Time = all[i].Time.In(zone)
	}
	return all, err
}

// NoteGists writes the gists of memories, by which NearMemories finds them.
func NoteGists(ctx context.Context, db DB, userID string, ids []uuid.UUID, gists []string) error {
	_, err := run(ctx, db, "note what memories say", `select oxbow.note_gists($1, $2, $3)`, userID, ids, gists)
	return err
}

// NearMemories returns, for each of the given memories that may be merged, itself and the memories most like it, at
// most limit; if same is set, only those of the same gist. Their times are in the zone.
func NearMemories(ctx context.Context, db DB, userID string, ids []uuid.UUID, limit int, same bool,
	zone *time.Location) ([]Near, error) {
	near, err := list[Near](ctx, db, "look for similar memories", `
		select of, id, type, content, speaker, category, at as time, similarity, kin, merged, needed
		  from oxbow.near_memories($1, $2, $3, $4)`, userID, ids, limit, same)
	for i := range near {
		near[i].Time = near[i].Time.In(zone)
	}
	return near, err
}

// MergeMemories merges memories of a user into one with the given text, in the caller's transaction. It returns
// ErrStale if one of them is no longer current.
func MergeMemories(ctx context.Context, tx DB, userID, actor string, ids []uuid.UUID, text string) error {
	_, err := run(ctx, tx, "merge memories", `select oxbow.merge_memories($1, $2, $3, $4)`, userID, actor, ids, text)
	return staleTarget(err)
}

// LockMerges blocks extractions, reconciliations and merges of the user until the transaction ends.
func LockMerges(ctx context.Context, tx DB, userID string) error { return lockWrites(ctx, tx, userID) }

// Merge merges memories into one and returns its id.
func Merge(ctx context.Context, db DB, userID string, ids []uuid.UUID, content string) (uuid.UUID, error) {
	if err := Admit(ctx, db, Field{"content", content}); err != nil {
		return uuid.Nil, err
	}
	return CollectOne[uuid.UUID](ctx, db, `select oxbow.merge(user_id => $1, ids => $2, content => nullif($3::text, ''))`,
		userID, ids, content)
}

// Unmerge makes the originals of a merged memory current again and returns their ids.
func Unmerge(ctx context.Context, db DB, userID string, id uuid.UUID) ([]uuid.UUID, error) {
	return CollectOne[[]uuid.UUID](ctx, db, `select oxbow.unmerge(user_id => $1, id => $2)`, userID, id)
}
