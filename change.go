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

// Change is something that happened to a memory.
type Change = store.Change

// Said is a message that a memory was drawn from.
type Said = store.Said

// Erased is how many rows of a table were erased.
type Erased = store.Erased

// Receipt tells of an erasure, and nothing of whom it was. The database keeps it without the Proof, with which it is found again.
type Receipt = store.Receipt

// Supersede stores a new version of a memory and returns its id. The old version is kept: it was true until the new one's
// ValidAt, and was believed until now. Type, session, speaker, agent, source, category and importance are the old
// version's. ErrNotFound, ErrSuperseded (of two at once, one gets it) and ErrForgotten say why there can be none.
func (c *Client) Supersede(ctx context.Context, userID string, id uuid.UUID, r Replacement) (created uuid.UUID, err error) {
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

// Forget hides a memory from recall at once, as of any time, with the summaries of the conversations in which it was said. For 30 days Restore takes it back; then it is erased. The
// reason, which may be empty, is written into its history. ErrNotFound if the user has no such memory.
func (c *Client) Forget(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Forget(ctx, tx, userID, id, reason) })
}

// Restore takes a Forget back. ErrNotForgotten if the memory is not forgotten, ErrNotFound if it is gone.
func (c *Client) Restore(ctx context.Context, userID string, id uuid.UUID) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Restore(ctx, tx, userID, id) })
}

// Promote keeps a memory for good that was to expire, such as the summary of a conversation, and tells whether that changed
// anything; one that has expired holds again. The reason, which may be empty, is written into its history. ErrNotFound,
// ErrSuperseded and ErrForgotten say why it cannot be kept.
func (c *Client) Promote(ctx context.Context, userID string, id uuid.UUID, reason string) (changed bool, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		changed, err = store.Promote(ctx, tx, userID, id, reason)
		return err
	})
	return changed, err
}

// History returns what happened to a memory and to all its versions, older and newer, in order. ErrNotFound if the user
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

// Versions returns all versions of a memory, itself too, in the order in which they became true, each with both timelines: those
// that it superseded or contradicts, and those that superseded or contradict it. ErrNotFound if the user has no such memory.
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

// EraseMemory erases a memory with everything that refers to it: vector, search terms, history, links, sources, its
// place in jobs. It cannot be taken back. The receipt is the zero value if there is no such memory.
func (c *Client) EraseMemory(ctx context.Context, userID string, id uuid.UUID) (receipt Receipt, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		receipt, err = store.EraseMemory(ctx, tx, userID, id, rand.Text())
		return err
	})
	return receipt, err
}

// EraseUser erases everything of a user in one transaction: the rows of every table, jobs with their arguments and
// errors, history. It cannot be taken back. The receipt tells what each table lost. Uses that this client has not reported
// yet are dropped.
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

// FindReceipt returns the receipt that an erasure left, of a user, or with an id of one memory of theirs (uuid.Nil: of the user).
// Only who has the proof finds it. ErrNoReceipt if it proves nothing of the kind.
func (c *Client) FindReceipt(ctx context.Context, userID string, id uuid.UUID, proof string) (receipt Receipt, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		receipt, err = store.FindReceipt(ctx, tx, userID, id, proof)
		return err
	})
	return receipt, err
}
