package oxbow

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/store"
)

// NewMessage is a conversation message to store.
type NewMessage = store.NewMessage

// Message is a stored conversation message.
type Message = store.Message

// AddMessages stores messages, of any users, creates sessions as needed, and returns the ids in the order of
// the messages. The worker extracts memories once a session has been quiet for a while. A message whose id
// exists is left unchanged, so the call can be repeated.
//
// An invalid value is an *InvalidError with the index of the message; nothing is stored then. A message that
// contains a secret is sealed or refused like a memory: see Remember.
func (c *Client) AddMessages(ctx context.Context, messages []NewMessage) (ids []uuid.UUID, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	ctx, end := c.span(ctx, "AddMessages", attribute.Int("oxbow.messages", len(messages)))
	defer end(&err)
	err = c.InTx(ctx, messages[0].UserID, func(tx pgx.Tx) error {
		messages, err := store.SealSecretMessages(ctx, tx, messages, c.sealer)
		if err != nil {
			return err
		}
		ids, err = store.AddMessages(ctx, tx, messages, c.sealer)
		return err
	})
	return ids, err
}

// Messages returns the messages of a conversation in order. The client's Sealer opens messages of
// sensitivity 3. If it cannot open some, their text is "[sealed]", and the error is ErrSealed.
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

// DeleteMessages deletes messages of a conversation for ever, all if it gets no ids, and returns their number. Summaries
// of the conversation are erased too; memories that were extracted from the messages stay.
func (c *Client) DeleteMessages(ctx context.Context, userID, sessionID string, ids ...uuid.UUID) (int64, error) {
	n, err := inUser(ctx, c, userID, func(tx pgx.Tx) (int64, error) {
		return store.DeleteMessages(ctx, tx, userID, sessionID, ids)
	})
	if err == nil {
		c.finishDeletion(ctx, userID)
	}
	return n, err
}

// EndSession ends a conversation: the worker extracts memories from it immediately, and then reflects on
// them. It reports whether the session was open. An unknown session is an *InvalidError.
func (c *Client) EndSession(ctx context.Context, userID, sessionID string) (open bool, err error) {
	ctx, end := c.span(ctx, "EndSession")
	defer end(&err)
	err = c.InTx(ctx, userID, func(tx pgx.Tx) error {
		open, err = store.EndSession(ctx, tx, userID, sessionID)
		return err
	})
	return open, err
}

// Fact is a fact about a user as known at a given time.
type Fact = store.KnownFact

// FactsOptions sets the times of Facts. The zero value means now.
type FactsOptions struct {
	// ValidAsOf is the time at which the facts were true. Default: now.
	ValidAsOf time.Time
	// BelievedAsOf is the time at which the system believed the facts. Default: now.
	BelievedAsOf time.Time
}

// Facts returns the facts about a user that were true at one time, as believed at another, earliest first.
func (c *Client) Facts(ctx context.Context, userID string, o FactsOptions) ([]Fact, error) {
	return inUser(ctx, c, userID, func(tx pgx.Tx) ([]Fact, error) {
		return store.FactsAsOf(ctx, tx, userID, o.ValidAsOf, o.BelievedAsOf)
	})
}
