package oxbow

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// EraseMemory erases a memory and everything that refers to it: vector, search terms, history, links,
// sources, and its id in jobs. It cannot be undone. If the user has no such memory, the receipt is the
// zero value. Older transactions are treated as in EraseUser.
func (c *Client) EraseMemory(ctx context.Context, userID string, id uuid.UUID) (Receipt, error) {
	return c.erase(ctx, userID, id, func(tx pgx.Tx, proof string) error {
		return store.EraseMemory(ctx, tx, userID, id, proof)
	})
}

// EraseUser erases everything of a user in one transaction: the rows of every table, history, and jobs with
// their arguments and errors. It cannot be undone. The receipt lists the number of rows deleted from each
// table. Uses that this client has not yet reported are dropped.
//
// Transactions that began before the erasure committed may still store rows of the user. EraseUser waits up to 2
// seconds for those that have written, and erases these rows too. If older transactions are still open after that, the
// receipt has no CompletedAt, and the worker erases what they store. With WithTx, EraseUser does not wait: call
// FinishErasures after the commit, or leave it to the worker.
func (c *Client) EraseUser(ctx context.Context, userID string) (Receipt, error) {
	if c.uses != nil {
		c.uses.drop(userID)
	}
	return c.erase(ctx, userID, uuid.Nil, func(tx pgx.Tx, proof string) error {
		return store.EraseUser(ctx, tx, userID, proof)
	})
}

func (c *Client) erase(ctx context.Context, userID string, id uuid.UUID, erase func(tx pgx.Tx, proof string) error,
) (receipt Receipt, err error) {
	proof := rand.Text()
	find := func(tx pgx.Tx) error {
		found, err := store.FindReceipt(ctx, tx, userID, id, proof)
		if err == nil {
			receipt = found
		}
		if errors.Is(err, ErrNoReceipt) { // nothing was erased
			return nil
		}
		return err
	}
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		if err := erase(tx, proof); err != nil {
			return err
		}
		return find(tx)
	})
	if err != nil || c.tx != nil {
		return receipt, err
	}
	// The erasure is committed. An error from here on would lose the proof.
	if err = c.awaitOlder(ctx, userID); err == nil {
		err = c.on(ctx, userID, find)
	}
	if err != nil {
		c.log.WarnContext(ctx, "oxbow: an erasure stays open, the worker finishes it", "error", err)
	}
	return receipt, nil
}

const (
	writersTime = 2 * time.Second        // how long an erasure waits for older transactions that have written
	othersTime  = 200 * time.Millisecond // and for others, such as a backup, which rarely write
)

// awaitOlder erases what older transactions store, until none is left or it has waited long enough.
func (c *Client) awaitOlder(ctx context.Context, userID string) error {
	begun := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		left, err := c.finish(ctx, userID)
		waited := time.Since(begun)
		switch {
		case store.IsDeadlock(err): // with a job; the next attempt
		case err != nil || left.Open == 0 || waited > writersTime || left.Writing == 0 && waited > othersTime:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (c *Client) finish(ctx context.Context, userID string) (left store.OpenErasures, err error) {
	options := begin("begin isolation level read committed", userID, traceparent(ctx))
	err = c.inTx(ctx, options, func(tx pgx.Tx) error {
		left, err = store.FinishErasures(ctx, tx, userID)
		return err
	})
	return left, err
}

// FinishErasures erases what older transactions have stored: those that began before an erasure of the user, of a
// memory, of a file or of messages committed. It reports whether none of them is open any more. The worker does the
// same every minute. With WithTx, FinishErasures does nothing.
func (c *Client) FinishErasures(ctx context.Context, userID string) (finished bool, err error) {
	if err := store.ValidateUserID(userID); err != nil || c.tx != nil {
		return false, err
	}
	left, err := c.finish(ctx, userID)
	return err == nil && left.Open == 0, err
}

// finishDeletion finishes a deletion that is committed, so its error is only logged.
func (c *Client) finishDeletion(ctx context.Context, userID string) {
	if _, err := c.FinishErasures(ctx, userID); err != nil {
		c.log.WarnContext(ctx, "oxbow: a deletion stays open, the worker finishes it", "error", err)
	}
}

// FindReceipt returns the receipt of the erasure of a memory, or of a user if id is uuid.Nil. proof is the Proof that
// the erasure returned. FindReceipt returns ErrNoReceipt if proof does not belong to that erasure.
func (c *Client) FindReceipt(ctx context.Context, userID string, id uuid.UUID, proof string) (Receipt, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (Receipt, error) {
		return store.FindReceipt(ctx, tx, userID, id, proof)
	})
}
