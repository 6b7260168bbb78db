package store

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Community is a group of people and things that a user's memories connect with each other.
type Community struct {
	ID        uuid.UUID   `json:"id"`
	Names     []string    `json:"names"`   // at most 8 members, the most connected first
	Members   int         `json:"members"` // at least 3
	Summary   string      `json:"summary"` // the memories that connect most of them, one a line
	Sources   []uuid.UUID `json:"sources"` // these memories
	Version   int         `json:"version"` // of the summary
	UpdatedAt time.Time   `json:"updated_at"`
}

// Communities returns the communities of a user, the largest first, at most limit (1 to 1,000). With a query, only those
// with entities that it names.
func Communities(ctx context.Context, db DB, userID, query string, limit int) ([]Community, error) {
	return list[Community](ctx, db, "read communities", `
		select id, names, members, summary, sources, version, updated_at from oxbow.communities($1, $2, $3)`, userID,
		pointer(query), limit)
}

// Propagate moves at most limit entities whose edges changed to their communities, and returns how many it looked at.
func Propagate(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "find communities", `select oxbow.propagate($1)`, limit)
}

// SummarizeCommunities chooses the memories of at most limit communities that changed, and returns their number.
func SummarizeCommunities(ctx context.Context, db DB, limit int) (int, error) {
	return one[int](ctx, db, "summarize communities", `select oxbow.summarize_communities($1)`, limit)
}
