package oxbow

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/store"
)

// Message is something that was said in a conversation.
type Message = store.NewMessage

// AddMessages stores messages, and begins the sessions that are new. The worker makes memories of what is worth
// remembering, when a session has been quiet for a while. A message whose id is there already is left as it was, so that a
// repeated call adds nothing. It returns the ids in the order of the messages.
//
// An error of a wrong value is an *InvalidError that names the field; then nothing is stored.
func (c *Client) AddMessages(ctx context.Context, messages []Message) (ids []uuid.UUID, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	ctx, end := c.span(ctx, "AddMessages", attribute.Int("oxbow.messages", len(messages)))
	defer end(&err)
	err = c.on(ctx, messages[0].UserID, func(tx pgx.Tx) error {
		if err := c.nameTrace(ctx); err != nil {
			return err
		}
		ids, err = store.AddMessages(ctx, tx, messages, c.sealer)
		return err
	})
	return ids, err
}

// Messages returns what was said in a conversation, in its order. Messages of sensitivity 3 are opened with the client's keys; those
// that these do not open come without their text, and with an ErrSealed.
func (c *Client) Messages(ctx context.Context, userID, sessionID string) (said []Said, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		said, err = store.SessionSaid(ctx, tx, userID, sessionID)
		return err
	})
	for i := range said {
		if sealed := said[i].Open(userID, c.sealer); err == nil {
			err = sealed
		}
	}
	return said, err
}

// EndSession ends a conversation: what was said in it is extracted at once, and then reflected on. It tells whether the
// session was open; an *InvalidError says that there is none of that name.
func (c *Client) EndSession(ctx context.Context, userID, sessionID string) (open bool, err error) {
	ctx, end := c.span(ctx, "EndSession")
	defer end(&err)
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		if err := c.nameTrace(ctx); err != nil {
			return err
		}
		open, err = store.EndSession(ctx, tx, userID, sessionID)
		return err
	})
	return open, err
}

// Known is a fact as it was known at a moment.
type Known = store.Known

// FactsAsOf returns the facts that were true of a user at the moment valid, as far as was believed at the moment believed;
// zero: now. The earliest comes first.
func (c *Client) FactsAsOf(ctx context.Context, userID string, valid, believed time.Time) (facts []Known, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		facts, err = store.FactsAsOf(ctx, tx, userID, valid, believed)
		return err
	})
	return facts, err
}
