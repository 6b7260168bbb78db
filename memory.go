package oxbow

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/oxbow-memory/oxbow/store"
)

// NewMemory is a memory to be remembered.
type NewMemory = store.NewMemory

// Memory is a memory as it is stored.
type Memory = store.Memory

// TraitState is what a trait has beyond other memories.
type TraitState = store.TraitState

// MemoryType is one of the four kinds of memory.
type MemoryType = store.MemoryType

const (
	Fact     = store.Fact     // discrete and objective; a newer fact supersedes it
	Episodic = store.Episodic // an event
	Trait    = store.Trait    // a lasting quality of the person, made by reflection only
	Document = store.Document // a piece of a file
)

// Remember stores a memory and, in the same transaction, the job that makes it recallable: a worker embeds it as soon
// as that is committed. It returns the memory's id. If the user has a memory of that type with that ExternalID already,
// nothing is stored and the id is that one's. A value that cannot be stored is an *InvalidError.
func (c *Client) Remember(ctx context.Context, m NewMemory) (_ uuid.UUID, err error) {
	ctx, end := c.span(ctx, "Remember")
	defer end(&err)
	ids, err := c.rememberMany(ctx, []NewMemory{m})
	if err != nil {
		if bad, ok := errors.AsType[*InvalidError](err); ok {
			bad.Index = -1
		}
		return uuid.Nil, err
	}
	return ids[0], nil
}

// RememberMany is Remember for many memories, also of several users, in a few statements: all are stored or none. The
// ids come in their order. An *InvalidError has the Index of the first memory that cannot be stored; then nothing was
// sent to the database.
func (c *Client) RememberMany(ctx context.Context, memories []NewMemory) (_ []uuid.UUID, err error) {
	ctx, end := c.span(ctx, "RememberMany", attribute.Int("oxbow.memories", len(memories)))
	defer end(&err)
	return c.rememberMany(ctx, memories)
}

func (c *Client) rememberMany(ctx context.Context, memories []NewMemory) ([]uuid.UUID, error) {
	if len(memories) == 0 {
		return nil, nil
	}
	batch, err := store.NewBatch(memories, c.sealer)
	if err != nil {
		return nil, err
	}
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	added, err := c.insert(ctx, batch)
	if err != nil {
		return nil, err
	}
	if added < int64(len(memories)) {
		for _, user := range batch.Users() {
			if err := c.on(ctx, user, func(db pgx.Tx) error { return batch.Resolve(ctx, db, user) }); err != nil {
				return nil, err
			}
		}
	}
	return batch.IDs, nil
}

// insert needs no transaction for a single statement, and no user: any role that may insert may do so for any user. Where it
// is traced, it needs one to say so.
func (c *Client) insert(ctx context.Context, batch *store.Batch) (added int64, err error) {
	if c.tx != nil {
		if err := c.nameTrace(ctx); err != nil {
			return 0, err
		}
		return batch.Insert(ctx, c.tx)
	}
	if batch.Statements() == 1 && traceparent(ctx) == "" {
		return batch.Insert(ctx, c.db)
	}
	err = c.inTx(ctx, traced(ctx), func(db pgx.Tx) error {
		added, err = batch.Insert(ctx, db)
		return err
	})
	return added, err
}

// Get returns a memory of the user by its id, forgotten and superseded ones too (ForgottenAt and ExpiredAt tell), or
// ErrNotFound. A memory of sensitivity 3 is opened with the client's keys; with ErrSealed it comes without its text.
func (c *Client) Get(ctx context.Context, userID string, id uuid.UUID) (Memory, error) {
	var m Memory
	err := c.on(ctx, userID, func(db pgx.Tx) (err error) {
		m, err = store.GetMemory(ctx, db, userID, id)
		return err
	})
	if err == nil {
		err = m.Open(c.sealer)
	}
	return m, err
}
