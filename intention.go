package oxbow

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow/store"
)

// NewIntention is what a person intends, has to do, or wants to be reminded of.
type NewIntention = store.NewIntention

// Intention is an intention that is open or due.
type Intention = store.Intention

// Intend stores an intention and returns its id. A worker makes it due at its time, announces it on the channel
// oxbow.due and at the webhooks, and shows it in Context. One with the same words that is still open gets the new time
// instead. An invalid value is an *InvalidError.
func (c *Client) Intend(ctx context.Context, userID string, n NewIntention) (uuid.UUID, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (uuid.UUID, error) { return store.Intend(ctx, tx, userID, n) })
}

// Upcoming returns at most limit (1 to 1,000) intentions of a user that are due or will be until the given time, the
// earliest first. The zero time selects all that are open or due, those without a time last.
func (c *Client) Upcoming(ctx context.Context, userID string, until time.Time, limit int) ([]Intention, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Intention, error) {
		return store.Upcoming(ctx, tx, userID, until, limit)
	})
}

// CompleteIntention marks an intention as done and reports whether it was open or due. Completing a recurring one ends
// it; complete its occurrence instead. ErrNoIntention if the user has no such intention. The reason may be empty.
func (c *Client) CompleteIntention(ctx context.Context, userID string, id uuid.UUID, reason string) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) {
		return store.CloseIntention(ctx, tx, userID, id, true, reason)
	})
}

// DropIntention marks an intention as dropped and reports whether it was open or due. It returns the errors of
// CompleteIntention.
func (c *Client) DropIntention(ctx context.Context, userID string, id uuid.UUID, reason string) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) {
		return store.CloseIntention(ctx, tx, userID, id, false, reason)
	})
}

// SnoozeIntention makes an intention due again at a later time, and reports whether it was open or due. It returns the
// errors of CompleteIntention, and an *InvalidError for a recurring one, whose occurrences can be snoozed.
func (c *Client) SnoozeIntention(ctx context.Context, userID string, id uuid.UUID, until time.Time) (bool, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) (bool, error) {
		return store.SnoozeIntention(ctx, tx, userID, id, until)
	})
}
