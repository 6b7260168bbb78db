package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Sentence is a sentence of an explanation: the origin of something, its basis, why it is kept, who used it, or when it
// fades.
type Sentence = store.Sentence

// Why explains a memory, a trait, an adjustment, an instruction, a skill or an intention, in sentences in the user's
// language (English or Chinese). ErrNotFound if the user has nothing of that id.
func (c *Client) Why(ctx context.Context, userID string, id uuid.UUID) ([]Sentence, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Sentence, error) { return store.Why(ctx, tx, userID, id, "") })
}
