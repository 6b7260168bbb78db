package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Related is a memory that names the same people, places or things as another, or is a fact about the same subject.
type Related = store.Related

// Origin is a memory or a message from which a memory was made.
type Origin = store.Origin

// Related returns the current memories that are related to a memory, at most maxResults (1 to 1,000), the most related
// first. It returns none for a forgotten memory. ErrNotFound if the user has no such memory.
func (c *Client) Related(ctx context.Context, userID string, id uuid.UUID, maxResults int) ([]Related, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Related, error) {
		return store.RelatedTo(ctx, tx, userID, id, maxResults)
	})
}

// Community is a group of people and things that a user's memories connect with each other.
type Community = store.Community

// Communities returns the communities of a user, the largest first, at most maxResults (1 to 1,000). With a query, only
// those with people or things that it names.
func (c *Client) Communities(ctx context.Context, userID, query string, maxResults int) ([]Community, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Community, error) {
		return store.Communities(ctx, tx, userID, query, maxResults)
	})
}

// Provenance returns the memories and messages from which a memory was made, at most maxResults (1 to 1,000), nearest
// first: the memories that it summarizes, merges, shortens, replaced or counts as repetitions, the evidence for a
// trait, and the messages in which it was said. It leaves out forgotten memories. ErrNotFound if the user has no such
// memory.
func (c *Client) Provenance(ctx context.Context, userID string, id uuid.UUID, maxResults int) ([]Origin, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Origin, error) {
		return store.Provenance(ctx, tx, userID, id, maxResults)
	})
}
