package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Replacement is the new version of a memory.
type Replacement = store.Replacement

// Change is an entry in the history of a memory.
type Change = store.Change

// Erased is the number of rows that an erasure deleted from a table.
type Erased = store.Erased

// Receipt describes an erasure without naming the user. The database keeps it, but not the Proof that finds it.
type Receipt = store.Receipt

// Supersede stores a new version of a memory and returns its id. The old version is kept: it was true until
// the ValidAt of the new one, and believed until now. The new version copies type, session, speaker, agent,
// source, category and importance. Errors: ErrNotFound, ErrForgotten, or ErrSuperseded if the memory
// already has a newer version. Of two concurrent calls, one gets ErrSuperseded.
func (c *Client) Supersede(ctx context.Context, userID string, id uuid.UUID, r Replacement) (
	created uuid.UUID, err error,
) {
	ctx, end := c.span(ctx, "Supersede")
	defer end(&err)
	err = c.InTx(ctx, userID, func(tx pgx.Tx) error {
		created, err = store.Supersede(ctx, tx, userID, id, r)
		return err
	})
	return created, err
}

// Forget hides a memory, and the summaries of conversations that mention it, from recall immediately and
// as of any time. Restore undoes it for 30 days; then the memory is erased. The reason may be empty, and is
// stored in the history. ErrNotFound if the user has no such memory.
func (c *Client) Forget(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Forget(ctx, tx, userID, id, reason, "") })
}

// Restore undoes Forget. ErrNotForgotten if the memory is not forgotten, ErrNotFound if it was erased.
func (c *Client) Restore(ctx context.Context, userID string, id uuid.UUID) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Restore(ctx, tx, userID, id, "") })
}

// Merge merges memories that say the same into one and returns its id. An empty content stands for the text of the
// last. Number and dates are added for episodes. One of the memories may be a merged memory, which the others join.
// Errors: ErrNotFound, or an *InvalidError if they are of several types, or if one is not current.
func (c *Client) Merge(ctx context.Context, userID string, ids []uuid.UUID, content string) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.Merge(ctx, tx, userID, ids, content) })
}

// Unmerge makes the originals of a merged memory current again, forgets it, and returns their ids. Errors: ErrNotFound,
// ErrForgotten, ErrSuperseded, or an *InvalidError if it is not a merged memory.
func (c *Client) Unmerge(ctx context.Context, userID string, id uuid.UUID) ([]uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]uuid.UUID, error) { return store.Unmerge(ctx, tx, userID, id) })
}

// Promote keeps a memory that would expire, such as the summary of a conversation, and revives an expired
// one. It reports whether it changed anything. The reason may be empty, and is stored in the history.
// ErrNotFound, ErrSuperseded or ErrForgotten if the memory cannot be kept.
func (c *Client) Promote(ctx context.Context, userID string, id uuid.UUID, reason string) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) { return store.Promote(ctx, tx, userID, id, reason) })
}

// Verify records that a person confirmed a memory or, if verified is false, withdraws that. Oxbow never forgets a
// verified memory by itself. The reason may be empty, and is stored in the history. Errors: ErrNotFound,
// ErrForgotten.
func (c *Client) Verify(ctx context.Context, userID string, id uuid.UUID, verified bool, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error {
		return store.Verify(ctx, tx, userID, id, verified, reason, "")
	})
}

// SetTier changes the tier of a memory: normal, core or system. The strength of core and system memories never
// falls. The reason may be empty, and is stored in the history. Errors: ErrNotFound, ErrForgotten.
func (c *Client) SetTier(ctx context.Context, userID string, id uuid.UUID, tier, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.SetTier(ctx, tx, userID, id, tier, reason) })
}

// History returns the history of a memory and of all its versions, in order. ErrNotFound if the user has
// no such memory.
func (c *Client) History(ctx context.Context, userID string, id uuid.UUID) ([]Change, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Change, error) { return store.History(ctx, tx, userID, id) })
}

// Versions returns all versions of a memory, including itself, in the order in which they became true:
// those that it superseded or contradicts, and those that superseded or contradict it. The text of a version
// of sensitivity 3 is "[sealed]"; Get opens it. ErrNotFound if the user has no such memory.
func (c *Client) Versions(ctx context.Context, userID string, id uuid.UUID) ([]Memory, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Memory, error) { return store.Versions(ctx, tx, userID, id) })
}
