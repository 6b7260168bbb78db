package oxbow

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Replacement is the new version of a memory.
type Replacement = store.Replacement

// Change is an entry in the history of a memory.
type Change = store.Change

// Erased says how many rows of a table an erasure deleted.
type Erased = store.Erased

// Receipt describes an erasure without naming the user. The database keeps it without the Proof, which finds it again.
type Receipt = store.Receipt

// Supersede stores a new version of a memory and returns its id. The old version is kept: it was true until the
// ValidAt of the new one, and believed until now. Type, session, speaker, agent, source, category and importance are
// copied from it. ErrNotFound, ErrForgotten, or ErrSuperseded if the memory has a newer version: of two calls at
// once, one gets that.
func (c *Client) Supersede(ctx context.Context, userID string, id uuid.UUID, r Replacement) (
	created uuid.UUID, err error,
) {
	ctx, end := c.span(ctx, "Supersede")
	defer end(&err)
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		if err := c.nameTrace(ctx); err != nil {
			return err
		}
		created, err = store.Supersede(ctx, tx, userID, id, r)
		return err
	})
	return created, err
}

// Forget hides a memory from recall at once, as of any time, with the summaries of the conversations that mention it.
// Restore undoes it for 30 days; then the memory is erased. The reason, which may be empty, is written into its
// history. ErrNotFound if the user has no such memory.
func (c *Client) Forget(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Forget(ctx, tx, userID, id, reason) })
}

// Restore undoes Forget. ErrNotForgotten if the memory is not forgotten, ErrNotFound if it was erased.
func (c *Client) Restore(ctx context.Context, userID string, id uuid.UUID) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Restore(ctx, tx, userID, id) })
}

// Promote keeps a memory that would expire, such as the summary of a conversation, and revives one that has expired. It
// reports whether it changed anything. The reason, which may be empty, is written into its history. ErrNotFound,
// ErrSuperseded or ErrForgotten if it cannot be kept.
func (c *Client) Promote(ctx context.Context, userID string, id uuid.UUID, reason string) (changed bool, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		changed, err = store.Promote(ctx, tx, userID, id, reason)
		return err
	})
	return changed, err
}

// History returns the history of a memory and of all its versions, older and newer, in order. ErrNotFound if the user
// has no such memory.
func (c *Client) History(ctx context.Context, userID string, id uuid.UUID) (changes []Change, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		changes, err = store.History(ctx, tx, userID, id)
		if err == nil && len(changes) == 0 {
			return fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
		}
		return err
	})
	return changes, err
}

// Versions returns all versions of a memory, itself included, in the order in which they became true: those that it
// superseded or contradicts, and those that superseded or contradict it. ErrNotFound if the user has no such memory.
func (c *Client) Versions(ctx context.Context, userID string, id uuid.UUID) (versions []Memory, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		versions, err = store.Versions(ctx, tx, userID, id)
		if err == nil && len(versions) == 0 {
			return fmt.Errorf("%w: %s of user %q", ErrNotFound, id, userID)
		}
		return err
	})
	return versions, err
}

// EraseMemory erases a memory with everything that refers to it: vector, search terms, history, links, sources, and
// its id in jobs. It cannot be undone. The receipt is the zero value if the user has no such memory.
func (c *Client) EraseMemory(ctx context.Context, userID string, id uuid.UUID) (receipt Receipt, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		receipt, err = store.EraseMemory(ctx, tx, userID, id, rand.Text())
		return err
	})
	return receipt, err
}

// EraseUser erases everything of a user in one transaction: rows of every table, history, and jobs with their arguments
// and errors. It cannot be undone. The receipt says how many rows each table lost. Uses that this client has not
// reported are dropped.
func (c *Client) EraseUser(ctx context.Context, userID string) (receipt Receipt, err error) {
	if c.uses != nil {
		c.uses.drop(userID)
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		receipt, err = store.EraseUser(ctx, tx, userID, rand.Text())
		return err
	})
	return receipt, err
}

// FindReceipt returns the receipt of the erasure of a memory, or of a user if id is uuid.Nil. It needs the proof that
// the erasure returned. ErrNoReceipt if the proof belongs to no such erasure.
func (c *Client) FindReceipt(ctx context.Context, userID string, id uuid.UUID, proof string) (
	receipt Receipt, err error,
) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		receipt, err = store.FindReceipt(ctx, tx, userID, id, proof)
		return err
	})
	return receipt, err
}
