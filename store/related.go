package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Related is a memory that names the same people, places or things as another, or is a fact about the same subject.
type Related struct {
	ID        uuid.UUID  `json:"id"`
	Type      MemoryType `json:"memory_type"`
	Content   string     `json:"content"`
	Weight    float64    `json:"weight"`   // 0 to 1
	ValidAt   time.Time  `json:"valid_at"` // when it became true or happened
	InvalidAt time.Time  `json:"invalid_at,omitzero"`
}

// RelatedTo returns the current memories that are related to a memory, at most limit, the most related first.
func RelatedTo(ctx context.Context, db DB, userID string, id uuid.UUID, limit int) ([]Related, error) {
	related, err := Collect[Related](ctx, db, `
		select memory_id as id, memory_type as type, content, weight, valid_at, invalid_at
		  from oxbow.related(user_id => $1, id => $2, max_results => $3)`, userID, id, limit)
	if err == nil && len(related) == 0 {
		err = checkMemory(ctx, db, userID, id)
	}
	return related, err
}

// Origin is a memory or a message from which a memory was made.
type Origin struct {
	Step     int       `json:"step"`      // 1 for a direct origin, 2 for an origin of one, and so on
	OriginOf uuid.UUID `json:"origin_of"` // the memory that was made from it
	// Relation is source (summarized), merged_from, compressed_from, supersedes (replaced), repeats (counted as a
	// repetition), evidence (of a trait), or said (in the message).
	Relation  string     `json:"relation"`
	MemoryID  uuid.UUID  `json:"memory_id,omitzero"`
	Type      MemoryType `json:"memory_type,omitzero"`
	MessageID uuid.UUID  `json:"message_id,omitzero"`
	SessionID string     `json:"session_id,omitzero"`
	Speaker   string     `json:"speaker,omitzero"`
	Content   string     `json:"content,omitzero"` // empty if it is sensitive
	At        time.Time  `json:"at"`
}

// Provenance returns the memories and messages from which a memory was made, at most limit, nearest first.
func Provenance(ctx context.Context, db DB, userID string, id uuid.UUID, limit int) ([]Origin, error) {
	origins, err := Collect[Origin](ctx, db, `
		select step, origin_of, relation, memory_id, memory_type as type, message_id, session_id, speaker, content, at
		  from oxbow.provenance(user_id => $1, id => $2, max_results => $3)`, userID, id, limit)
	if err == nil && len(origins) == 0 {
		err = checkMemory(ctx, db, userID, id)
	}
	return origins, err
}

// checkMemory returns ErrNotFound unless the user has the memory.
func checkMemory(ctx context.Context, db DB, userID string, id uuid.UUID) error {
	found, err := CollectOne[bool](ctx, db, `
		select exists (select from oxbow.memories m where m.user_id = $1::text and m.id = $2)`, userID, id)
	if err == nil && !found {
		err = notFound(userID, id)
	}
	return err
}
