package oxbow

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/store"
)

// NewMessage is a message of a conversation to store.
type NewMessage = store.NewMessage

// Message is a stored message of a conversation.
type Message = store.Message

// AddMessages stores messages of one user, and begins the sessions that are new. The worker extracts memories from a
// session once it has been quiet for a while. A message whose id exists is left as it is, so that the call can be
// repeated. It returns the ids in the order of the messages.
//
// A wrong value is an *InvalidError with the index of the message; then nothing is stored.
func (c *Client) AddMessages(ctx context.Context, messages []NewMessage) (ids []uuid.UUID, err error) {
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

// Messages returns the messages of a conversation in their order. The client's Sealer opens messages of sensitivity 3;
// those that it cannot open come without their text, and with ErrSealed.
func (c *Client) Messages(ctx context.Context, userID, sessionID string) (messages []Message, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		messages, err = store.Messages(ctx, tx, userID, sessionID)
		return err
	})
	for i := range messages {
		if sealed := messages[i].Open(userID, c.sealer); err == nil {
			err = sealed
		}
	}
	return messages, err
}

// EndSession ends a conversation: the worker extracts from it at once, and then reflects. It reports whether the
// session was open. An unknown session is an *InvalidError.
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

// Fact is a fact about a user as it was known at a moment.
type Fact = store.KnownFact

// FactsOptions says as of when Facts answers. The zero value is now.
type FactsOptions struct {
	// ValidAsOf is when the facts were true. Default: now.
	ValidAsOf time.Time
	// BelievedAsOf is when the system knew them. Default: now.
	BelievedAsOf time.Time
}

// Facts returns the facts that were true of a user at one moment, as the system believed at another. The earliest comes
// first.
func (c *Client) Facts(ctx context.Context, userID string, o FactsOptions) (facts []Fact, err error) {
	err = c.on(ctx, userID, func(tx pgx.Tx) error {
		facts, err = store.FactsAsOf(ctx, tx, userID, o.ValidAsOf, o.BelievedAsOf)
		return err
	})
	return facts, err
}
