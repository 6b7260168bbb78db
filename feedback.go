package oxbow

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// Answer is a reply, with the memories that were recalled for it and those that it used.
type Answer = store.Answer

// Feedback is what a person said about memories, traits or an answer.
type Feedback = store.Feedback

// Signal is what an application's own judge found about an answer.
type Signal = store.Signal

// Adjustment is a change that followed from feedback. It can be undone with Rollback.
type Adjustment = store.Adjusted

// Answered records a reply and returns its id, to which Feedback refers. Used memories count as used, the others as
// accessed, so Used need not be reported as well. Ids of unknown memories are left out. Answers are kept for the number
// of days in the policy answer_days. An invalid value is an *InvalidError.
func (c *Client) Answered(ctx context.Context, userID string, a Answer) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.RecordAnswer(ctx, tx, userID, a) })
}

// Feedback stores what a person said and returns the id of the signal. Recall leaves out wrong memories for similar
// questions at once. If IDs has one id, "outdated" ends a fact, and "not_about_me" forgets the memory or dissolves the
// trait. Weights and confidence change when several signals agree; Adjustments lists these changes.
//
// Errors: ErrNotFound, ErrNoAnswer, or an *InvalidError.
func (c *Client) Feedback(ctx context.Context, userID string, f Feedback) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) {
		return store.GiveFeedback(ctx, tx, userID, "user", f)
	})
}

// Signal stores what an application's own judge found, as the job judge does for conversations, and returns the
// id of the signal. It needs an AnswerID or Attributions.
//
// Errors: ErrNoAnswer, or an *InvalidError.
func (c *Client) Signal(ctx context.Context, userID string, s Signal) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.AddSignal(ctx, tx, userID, s) })
}

// Adjustments returns the adjustments of a user, newest first, at most limit (1 to 1,000), of one memory or trait, or
// of all if about is uuid.Nil.
func (c *Client) Adjustments(ctx context.Context, userID string, about uuid.UUID, limit int) ([]Adjustment, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Adjustment, error) {
		return store.Adjustments(ctx, tx, userID, about, limit)
	})
}

// Rollback undoes an adjustment. Undoing it again has no effect. ErrNoAdjustment if the user has no such adjustment.
func (c *Client) Rollback(ctx context.Context, userID string, id uuid.UUID) error {
	return c.on(ctx, userID, func(tx pgx.Tx) error { return store.Rollback(ctx, tx, userID, id) })
}
