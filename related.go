package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Related is a memory that is related to another, because both name the same people, places or things, or are facts
// about the same subject.
type Related = store.Related

// Origin is a memory or a message that a memory was made from.
type Origin = store.Origin

// Related returns the current memories that are related to a memory, at most maxResults (1 to 1,000), the most related
// first. It returns none for a forgotten memory. ErrNotFound if the user has no such memory.
func (c *Client) Related(ctx context.Context, userID string, id uuid.UUID, maxResults int) ([]Related, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Related, error) {
		return store.RelatedTo(ctx, tx, userID, id, maxResults)
	})
}

// Provenance returns the memories and messages that a memory was made from, at most maxResults (1 to 1,000), the
// nearest first: what it summarizes, merges, shortens, replaced or repeats, the evidence for a trait, and the messages
// in which it was said. It leaves out forgotten memories. ErrNotFound if the user has no such memory.
func (c *Client) Provenance(ctx context.Context, userID string, id uuid.UUID, maxResults int) ([]Origin, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Origin, error) {
		return store.Provenance(ctx, tx, userID, id, maxResults)
	})
}
