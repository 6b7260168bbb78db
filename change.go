package oxbow

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Replacement is the new version of a memory.
type Replacement = store.Replacement

// Change is something that happened to a memory.
type Change = store.Change

// Erased is how many rows of a table were erased.
type Erased = store.Erased

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

// Forget hides a memory from recall at once, as of any time. For 30 days Restore takes it back; then it is erased. The
// reason, which may be empty, is written into its history. ErrNotFound if the user has no such memory.
func (c *Client) Forget(ctx context.Context, userID string, id uuid.UUID, reason string) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Forget(ctx, tx, userID, id, reason) })
}

// Restore takes a Forget back. ErrNotForgotten if the memory is not forgotten, ErrNotFound if it is gone.
func (c *Client) Restore(ctx context.Context, userID string, id uuid.UUID) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Restore(ctx, tx, userID, id) })
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

// EraseMemory erases a memory with everything that refers to it: vector, search terms, history, links, sources, its
// place in jobs. It cannot be taken back. It returns how many rows that were, 0 if there is no such memory.
func (c *Client) EraseMemory(ctx context.Context, userID string, id uuid.UUID) (rows int64, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		rows, err = store.EraseMemory(ctx, tx, userID, id)
		return err
	})
	return rows, err
}

// EraseUser erases everything of a user in one transaction: the rows of every table, jobs with their arguments and
// errors, history. It cannot be taken back. It returns what each table lost, those that had nothing included. Uses that
// this client has not reported yet are dropped.
func (c *Client) EraseUser(ctx context.Context, userID string) (erased []Erased, err error) {
	if c.uses != nil {
		c.uses.drop(userID)
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		erased, err = store.EraseUser(ctx, tx, userID)
		return err
	})
	return erased, err
}
